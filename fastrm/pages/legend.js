// What the marks on a map mean, and what is exactly true of the problem.

function sample(kind) {
  return svg(
    "svg",
    { class: "sample", viewBox: "0 0 3 1", "aria-hidden": "true" },
    svg("polyline", { class: kind, points: "0.1,0.5 2.9,0.5" }),
  );
}

function legend(data, main) {
  const tile = (kind) =>
    svg(
      "svg",
      { class: "sample", viewBox: "0 0 1.4 1", "aria-hidden": "true" },
      svg("path", { class: kind, d: "M.2 0h1v1h-1z" }),
    );
  const drawing = (...parts) => svg("svg", { class: "sample", viewBox: "0 0 1.4 1", "aria-hidden": "true" }, ...parts);
  const entries = [[tile("wall"), "wall"]];
  if (data.map.fences.length)
    entries.push([drawing(svg("path", { class: "fence", d: "M.2 .5h1" })), "fence: a wall between two cells"]);
  entries.push([drawing(startMark({ transform: "translate(.7 .5) scale(.7)" })), "start: drag it anywhere"]);
  entries.push([drawing(svg("circle", { class: "agent", cx: 0.7, cy: 0.5, r: 0.3 })), "agent in the episode"]);
  data.map.objects.forEach((letter, k) =>
    entries.push([
      drawing(svg("text", { class: `object object-${k % SYMBOLS.objects}`, x: 0.7, y: 0.5 }, letter)),
      `object ${letter}`,
    ]),
  );
  if (main) {
    const shades = Array.from({ length: HEAT_LEVELS }, (_, k) =>
      svg("path", { class: `heat-${k}`, d: `M${k / 4} 0h.26v1h-.26z` }),
    );
    const scale = svg(
      "svg",
      { class: "sample scale", viewBox: "0 0 3 1", preserveAspectRatio: "none", "aria-hidden": "true" },
      ...shades,
    );
    entries.push([scale, "values (or visits) in this machine state, low to high, as many cells of each shade"]);
    entries.push([tile("masked outlined"), "blank: never updated, or never visited"]);
    entries.push([
      drawing(svg("path", { class: "arrows", "stroke-width": 0.07, d: "M.4 .5h.6M1 .5l-.16 -.16M1 .5l-.16 .16" })),
      "greedy action",
    ]);
  }
  if (data.verdict && data.verdict.leavesAt)
    entries.push([
      drawing(svg("circle", { class: "leaves", cx: 0.7, cy: 0.5, r: 0.4 })),
      "the witness leaves the shortest paths here",
    ]);
  return el("ul", { class: "legend" }, ...entries.map(([mark, words]) => el("li", {}, mark, el("span", {}, words))));
}

function verdictPanel(data) {
  const v = data.verdict;
  return panel(
    "Exact verdict",
    el("p", {}, el("span", { class: `chip ${v.kind}` }, v.verdict), " ", v.meaning, v.reason ? ` ${v.reason}` : ""),
    v.leavesAt &&
      el(
        "p",
        {},
        `The witness leaves the shortest paths at row ${v.leavesAt[0]}, column ${v.leavesAt[1]}, in machine state ${v.state}.`,
      ),
    el(
      "table",
      { class: "facts" },
      el(
        "tbody",
        {},
        el(
          "tr",
          {},
          el("th", {}, "optimal"),
          el(
            "td",
            {},
            v.length === null ? "never completes the task" : steps(v.length),
            `, return ${show(v.optimalReturn)}`,
          ),
        ),
        el("tr", {}, el("th", {}, "shortest"), el("td", {}, `${steps(v.shortest)}, return ${show(v.shortestReturn)}`)),
        ...v.thresholds.map(([symbol, value, meaning]) =>
          el(
            "tr",
            {},
            el("th", {}, symbol),
            el("td", {}, el("strong", {}, value), el("span", { class: "soft" }, ` ${meaning}`)),
          ),
        ),
      ),
    ),
  );
}
