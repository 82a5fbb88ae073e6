// What the marks on a map mean.

function sample(kind) {
  return svg(
    "svg",
    { class: "sample", viewBox: "0 0 3 1", "aria-hidden": "true" },
    svg("polyline", { class: kind, points: "0.1,0.5 2.9,0.5" }),
  );
}

function legend(data, hasLearned) {
  const tile = (kind) => drawing(svg("path", { class: kind, d: "M.2 0h1v1h-1z" }));
  const drawing = (...parts) => svg("svg", { class: "sample", viewBox: "0 0 1.4 1", "aria-hidden": "true" }, ...parts);
  const entries = [[tile("wall"), "wall"]];
  if (data.map.fences.length)
    entries.push([drawing(svg("path", { class: "fence", d: "M.2 .5h1" })), "fence: a wall between two cells"]);
  entries.push([drawing(startMark({ transform: "translate(.7 .5) scale(.7)" })), "start: drag it anywhere"]);
  entries.push([drawing(svg("circle", { class: "agent", cx: 0.7, cy: 0.5, r: 0.3 })), "agent in the episode"]);
  if (data.map.objects.length)
    entries.push([drawing(objectMark(data.map.objects[0], 0, "translate(.7 .5)")), "object, by its letter"]);
  if (hasLearned) entries.push([tile("masked outlined"), "blank: never updated, or never visited"]);
  entries.push([
    drawing(svg("path", { class: "arrows", "stroke-width": 0.07, d: "M.4 .5h.6M1 .5l-.16 -.16M1 .5l-.16 .16" })),
    "best move",
  ]);
  const again = svg("text", { class: "letter", transform: "translate(.7 .5)" }, "∞");
  entries.push([
    drawing(svg("circle", { class: "again optimal", cx: 0.7, cy: 0.5, r: 0.4 }), again),
    "from here a track repeats itself",
  ]);
  if (data.verdict)
    entries.push([
      drawing(svg("circle", { class: "leaves", cx: 0.7, cy: 0.5, r: 0.4 })),
      "here the optimal policy leaves the shortest paths",
    ]);
  return el("ul", { class: "legend" }, ...entries.map(([mark, words]) => el("li", {}, mark, el("span", {}, words))));
}
