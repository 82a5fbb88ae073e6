// The page of one problem.

(async () => {
  const data = JSON.parse(document.getElementById("data").textContent),
    page = document.getElementById("page");
  const words = [];
  if (data.run)
    words.push(
      [data.run.learner, data.run.steps ? `${grouped(data.run.steps)} steps` : "", `seed ${data.run.seed}`]
        .filter(Boolean)
        .join(", "),
    );
  else words.push("the exact optimal policy");
  words.push(`discount ${show(data.gamma)}`);
  if (data.machine.task[1] > 1) words.push(`task ${data.machine.task[0]} of ${data.machine.task[1]}`);
  page.append(el("header", {}, el("h1", {}, data.title), el("p", { class: "soft" }, words.join(" · "))));
  const body = el("div", {});
  page.append(
    body,
    el(
      "footer",
      {},
      data.command && el("p", {}, "Made by ", el("code", {}, data.command)),
      el("p", {}, `fastrm ${data.version}`),
    ),
  );
  const view = await mountExplain(body, data, { hasAddress: true });
  window.fastrm = { ...view, follow, data };
  document.body.dataset.ready = "yes";
})();
