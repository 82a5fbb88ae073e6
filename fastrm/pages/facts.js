// The tables beside the map: its tracks, and what is exactly true.

const TRACKS = { learned: "learned", optimal: "optimal policy", shortest: "shortest path" };

function trackRow(data, key, walk, isShown, isPlayed, { onshow, onplay }) {
  const isListed = walk.actions === undefined,
    length = isListed ? walk.listed : walk.length,
    name = TRACKS[key];
  const box = el("input", {
    type: "checkbox",
    checked: isShown,
    "aria-label": `show ${name}`,
    onchange: () => onshow(key, box.checked),
  });
  const choose = el("input", {
    type: "radio",
    name: "played",
    checked: isPlayed,
    "aria-label": `play ${name}`,
    onchange: () => onplay(key),
  });
  const end = isListed ? "does not complete the task" : describeEnd(walk);
  return el(
    "tr",
    {},
    el("td", {}, box),
    el("td", {}, sample(`track ${key}`)),
    el("td", {}, key === "learned" ? `${name} (${data.run.learner})` : name),
    el("td", { class: "number" }, length === null ? end : steps(length)),
    el("td", { class: "number" }, isListed ? "" : show(walk.earned)),
    el("td", { class: "center" }, isListed ? "" : choose),
  );
}

// What is exactly true, for the knobs as they are; numbers that hold for the file's own rewards only are left out
// once these have been turned.
function factsTable(data, setting, found, solver, walks, world) {
  const v = data.verdict,
    isOwn =
      !setting || (setting.R === data.knobs.reward && setting.r === data.knobs.step && world.gamma === data.gamma);
  const rows = [];
  if (isOwn) {
    rows.push(["verdict", `${v.verdict}. ${v.meaning}${v.reason ? ` ${v.reason}` : ""}`]);
    rows.push([
      "optimal",
      `${v.length === null ? "never completes the task" : steps(v.length)}, return ${show(v.optimalReturn)}`,
    ]);
    rows.push(["shortest", `${steps(v.shortest)}, return ${show(v.shortestReturn)}`]);
    rows.push(
      ...v.thresholds.map(([symbol, value, meaning]) => [
        symbol,
        [el("strong", {}, value), el("span", { class: "soft" }, ` ${meaning}`)],
      ]),
    );
  } else {
    rows.push(["verdict", found.verdict]);
    if (found.critical !== null)
      rows.push([
        "R*",
        [
          el("strong", {}, show(found.critical)),
          el("span", { class: "soft" }, " above this terminal reward every optimal policy takes a shortest path"),
        ],
      ]);
    rows.push(["shortest", steps(data.knobs.fewest)]);
  }
  return el(
    "table",
    { class: "facts" },
    el("tbody", {}, ...rows.map(([name, value]) => el("tr", {}, el("th", {}, name), el("td", {}, value)))),
  );
}

// What a reader should know beside the numbers.
function notesOf(data) {
  const notes = [];
  if (data.run && !data.run.isFollowed)
    notes.push(
      `The page does not know how ${data.run.learner} chooses, so what it learned is shown from the map's own start only.`,
    );
  if (data.slip)
    notes.push(
      `Moves slip with probability ${show(data.slip)}. The tracks show what happens when none does, and there is no verdict about shortest paths.`,
    );
  if (data.starts > 1) notes.push(`Episodes begin in one of ${data.starts} cells; the finding is about the first.`);
  return notes;
}
