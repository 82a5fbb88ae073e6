// The values of a map: levels for its shades, and the scale below it.

// Levels of one machine state's values from 1 on, equally many cells on each, equal values on the same; `at` has the
// value of a level. As `_levels` in explain.py.
function levelsOf(values) {
  const [low, high] = values.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]),
    place = (value) => Math.round((1e9 * (value - low)) / (high - low || 1)); // rounding errors make no shades
  const places = Float64Array.from(values, place),
    sorted = Float64Array.from(places).sort(),
    known = new Map();
  for (let k = 0, n = sorted.length; k < n;) {
    let end = k;
    while (end < n && sorted[end] === sorted[k]) end++;
    known.set(sorted[k], 1 + Math.min(LEVELS - 1, Math.floor((LEVELS * (k + end)) / (2 * n))));
    k = end;
  }
  const middle = low + (sorted[sorted.length >> 1] / 1e9) * (high - low);
  return { level: Uint8Array.from(places, (one) => known.get(one)), ends: [low, middle, high] };
}

// The shades of the map with numbers: the lowest value, the middle one, the highest.
function scaleBar() {
  const shades = Array.from({ length: HEAT_LEVELS }, (_, k) =>
    svg("path", { class: `heat-${k}`, d: `M${k} 0h1.04v1h-1.04z` }),
  );
  const bar = svg(
      "svg",
      { viewBox: `0 0 ${HEAT_LEVELS} 1`, preserveAspectRatio: "none", "aria-hidden": "true" },
      ...shades,
    ),
    numbers = el("div", { class: "scale-numbers" });
  const node = el("div", { class: "scale" }, bar, numbers);
  return {
    node,
    set(ends, what) {
      node.hidden = what === "plain";
      const words = ends ? ends.map(show) : ["seldom", "", "often"];
      numbers.replaceChildren(
        ...[words[0], ends ? `half of the cells below ${words[1]}` : "", words[2]].map((word) => el("span", {}, word)),
      );
    },
  };
}

// What the map shows; `onchange` is called with the shades and whether there are arrows.
function heatChoices(learned, onchange) {
  const kinds = [
    [learned && "learned", "learned values"],
    ["optimal", learned ? "optimal values" : "values"],
    [learned && learned.visits && "visits", "visits"],
    ["plain", "plain"],
  ].filter(([key]) => key);
  const arrows = control("checkbox", "", "best moves", true, () => tell());
  const boxes = kinds.map(([key, label], k) => control("radio", "heat", label, k === 0, () => tell()));
  const [inputs, isArrowed] = [boxes.map((box) => box.querySelector("input")), arrows.querySelector("input")];
  const tell = () => onchange(kinds[inputs.findIndex((input) => input.checked)][0], isArrowed.checked);
  return {
    node: el("div", { class: "choices", role: "group", "aria-label": "what the map shows" }, ...boxes, arrows),
    check(key) {
      inputs.forEach((input, k) => {
        input.checked = kinds[k][0] === key;
      });
    },
  };
}
