// Water world: the box with its balls, and episodes that can be played.

const LIVE = 0,
  SUCCESS = 1,
  FAILURE = 2,
  ARROWS = ["·", "↑", "→", "↓", "←"];

const LONGER = 2.5; // velocities are drawn for this many steps

function boxView(data) {
  const { side, radius, colours } = data.world;
  const kind = (colour) => "abcdef".indexOf(colour) % SYMBOLS.objects;
  const trail = svg("polyline", { class: "swim", points: "" }),
    ahead = svg("polyline", { class: "ahead", points: "" }),
    velocities = svg("path", { class: "velocity" });
  const agent = svg("circle", { class: "agent", r: radius });
  const balls = colours.map((colour) =>
    svg("g", { class: "ball" }, svg("circle", { class: `object-${kind(colour)}`, r: radius }), svg("text", {}, colour)),
  );
  const node = svg(
    "svg",
    { class: "box", viewBox: `0 0 ${side} ${side}`, role: "img", "aria-label": "the box with agent and balls" },
    ahead,
    trail,
    velocities,
    ...balls,
    agent,
  );
  const at = ([x, y]) => `translate(${x},${side - y})`,
    line = (path) => path.map(([x, y]) => `${x},${side - y}`).join(" ");
  // From the rim of a ball to where it would be.
  function arrow([x, y], next) {
    const [dx, dy] = next ? [next[0] - x, next[1] - y] : [0, 0],
      length = Math.hypot(dx, dy);
    if (!length) return "";
    const [from, to] = [radius / length, radius / length + LONGER].map((share) => [
      x + share * dx,
      side - y - share * dy,
    ]);
    return `M${from}L${to}`;
  }
  return {
    node,
    show(path, k) {
      trail.setAttribute("points", line(path.slice(0, k + 1)));
      ahead.setAttribute("points", line(path.slice(k)));
      agent.setAttribute("transform", at(path[k]));
      balls.forEach((ball, b) => ball.setAttribute("transform", at(data.balls[k][b])));
      const now = data.balls[k],
        next = data.balls[k + 1] || [];
      velocities.setAttribute(
        "d",
        [...now.map((ball, b) => arrow(ball, next[b])), arrow(path[k], path[k + 1])].join(""),
      );
    },
  };
}

function boxLegend() {
  const drawing = (...parts) => svg("svg", { class: "sample", viewBox: "0 0 56 36", "aria-hidden": "true" }, ...parts);
  const ball = svg(
    "g",
    { class: "ball", transform: "translate(28 18)" },
    svg("circle", { class: "object-0", r: 15 }),
    svg("text", {}, "a"),
  );
  const entries = [
    [drawing(svg("circle", { class: "agent", cx: 28, cy: 18, r: 15 })), "agent"],
    [drawing(ball), "ball: touching it reads its letter"],
    [drawing(svg("path", { class: "velocity", d: "M4 18h48" })), "velocity"],
    [drawing(svg("path", { class: "swim", d: "M4 18h48" })), "path so far"],
    [drawing(svg("path", { class: "ahead", d: "M4 18h48" })), "path to come"],
  ];
  return el("ul", { class: "legend" }, ...entries.map(([mark, words]) => el("li", {}, mark, el("span", {}, words))));
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
      panel(
        null,
        el("div", { class: "choices" }, ...choices),
        el("div", { class: "stage" }, box.node, film.bar),
        boxLegend(),
      ),
      el(
        "div",
        { class: "column" },
        panel("Machine", view.node),
        panel("Exactly", ...data.facts.map((fact) => el("p", {}, fact))),
        panel("Episode", film.list),
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
