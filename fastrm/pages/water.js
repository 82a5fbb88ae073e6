// Water world: the box with its balls, and episodes that can be played.

const LIVE = 0,
  SUCCESS = 1,
  FAILURE = 2,
  ARROWS = ["·", "↑", "→", "↓", "←"];

function boxView(data) {
  const { side, radius, colours } = data.world;
  const trail = svg("polyline", { class: "swim", points: "" });
  const agent = svg("circle", { class: "agent", r: radius });
  const balls = colours.map((colour, b) =>
    svg(
      "g",
      { class: "ball" },
      svg("circle", { class: `ball-${"abcdef".indexOf(colour)}`, r: radius }),
      svg("text", {}, colour),
    ),
  );
  const node = svg(
    "svg",
    { class: "box", viewBox: `0 0 ${side} ${side}`, role: "img", "aria-label": "the box with agent and balls" },
    trail,
    ...balls,
    agent,
  );
  const at = ([x, y]) => `translate(${x},${side - y})`;
  return {
    node,
    show(path, k) {
      trail.setAttribute("points", path.slice(0, k + 1).map(([x, y]) => `${x},${side - y}`).join(" "));
      agent.setAttribute("transform", at(path[k]));
      balls.forEach((ball, b) => ball.setAttribute("transform", at(data.balls[k][b])));
    },
  };
}

function mountWater(page, data) {
  const box = boxView(data),
    view = machineView(data.machine, () => {});
  let episode = null;
  const world = {
    cell: (k) => episode.path[k].map((value) => Math.round(value)),
    label: (k) => (k ? episode.labels[k - 1] : ""),
  };
  const film = player(world, view, (k, u, outcome) => {
    box.show(episode.path, k);
    view.visit(u, outcome);
  });
  const choose = (name) => {
    episode = data.episodes[name];
    film.load({ ...episode, cells: episode.path.map((_, k) => k), loop: -1 });
  };
  const names = Object.keys(data.episodes);
  const choices = names.map((name, k) =>
    control("radio", "episode", data.episodes[name].title, k === 0, () => choose(name)),
  );
  page.append(
    el("header", {}, el("h1", {}, data.title), el("p", { class: "soft" }, data.about)),
    el(
      "div",
      { class: "columns" },
      panel(null, el("div", { class: "choices" }, ...choices), box.node),
      el(
        "div",
        { class: "column" },
        panel("Episode", film.bar, film.list),
        panel("Machine", view.node),
        panel("Exactly", ...data.facts.map((fact) => el("p", {}, fact))),
      ),
    ),
    el(
      "footer",
      {},
      data.command && el("p", {}, "Made by ", el("code", {}, data.command)),
      el("p", {}, `fastrm ${data.version}`),
    ),
  );
  choose(names[0]);
  window.fastrm = { choose, film, data };
}

mountWater(document.getElementById("page"), JSON.parse(document.getElementById("data").textContent));
document.body.dataset.ready = "yes";
