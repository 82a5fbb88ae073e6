// Learning curves: a panel per setup and task, a line per method, with a band around it.

const BOX = { width: 430, height: 262, left: 50, right: 12, top: 10, bottom: 42 };
const WIDE = { ...BOX, width: 900, height: 330 }; // of a panel that is alone
const ENDS = 92, // room for names at the ends of curves
  NAME_GAP = 11;
const BANDS = {
  quartiles: "median and quartiles of all runs",
  interval: "mean and its 95 % interval over maps (over seeds where there is one map)",
  none: "median alone",
};

function shortSteps(value) {
  const n = number(value);
  if (!Number.isFinite(n) || n < 1e3) return show(n);
  return n < 1e6 ? `${show(n / 1e3)}k` : `${show(n / 1e6)}M`;
}

// Python folded the signs of differences into whole numbers; see `_differences` in report.py.
function unfold(folded, shape, range, levels) {
  const [count, lines, ticks] = shape,
    [low, high] = range,
    values = [];
  let at = 0;
  for (let k = 0; k < count; k++) {
    values.push(
      Array.from({ length: lines }, () => {
        let level = 0;
        return Array.from({ length: ticks }, () => {
          const code = folded[at++];
          level += code & 1 ? -(code + 1) / 2 : code / 2;
          return low + ((high - low) * level) / levels;
        });
      }),
    );
  }
  return values;
}

function scaleOf(from, to, low, high, isLog) {
  const [a, b] = isLog ? [Math.log(low), Math.log(high)] : [low, high];
  return (value) => from + ((to - from) * ((isLog ? Math.log(Math.max(value, low)) : value) - a)) / (b - a || 1);
}

function ticksOf(low, high, isLog) {
  if (isLog) {
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
      ticks.push(...(high < 300 * low ? [1, 2, 5] : [1]).map((digit) => digit * 10 ** power));
    return ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
  }
  const rough = (high - low) / 4,
    unit = 10 ** Math.floor(Math.log10(rough)),
    step = [1, 2, 2.5, 5, 10].map((x) => x * unit).find((x) => x >= rough);
  return Array.from({ length: Math.floor((high - low) / step + 1.001) }, (_, k) =>
    Number((Math.ceil(low / step) * step + k * step).toPrecision(6)),
  );
}

// Move rising places apart, and into a range.
function spread(wanted, gap, low, high) {
  const places = [];
  wanted.forEach((place, k) => places.push(Math.max(place, k ? places[k - 1] + gap : low)));
  for (let k = places.length - 1, most = high; k >= 0; k--, most = places[k + 1] - gap)
    places[k] = Math.min(places[k], most);
  return places;
}

// One panel. `lines` are {method, band, mean}; `look` is what the reader chose. Of `on`, `method` is called with a click
// on a curve, and `read` with the tick that is read, so that other panels show it too.
function chart(title, lines, info, ceiling, look, on) {
  const box = info.isWide ? WIDE : BOX,
    right = box.width - box.right - (lines.length <= 10 && !info.hasNoNames ? ENDS : 0),
    foot = box.height - box.bottom;
  const plot = svg("svg", {
    class: "chart",
    viewBox: `0 0 ${box.width} ${box.height}`,
    role: "img",
    tabindex: 0,
    "aria-label": `${title}: curves; left and right arrows read the values`,
  });
  const tip = el("div", { class: "tip", hidden: true });
  const hair = svg("line", { class: "hair", y1: box.top, y2: foot, visibility: "hidden" });
  let x,
    y,
    tick = 0,
    shown = [];

  const showsMean = () => look.band === "interval" && info.meanSteps.length > 0;
  const stepsShown = () => (showsMean() ? info.meanSteps : info.steps);

  function draw() {
    const steps_ = stepsShown();
    shown = lines.filter((line) => look.methods.has(line.method.label));
    const [low, high] = [info.bandsRange[0], Math.max(1.05, info.bandsRange[1])];
    const bottom = look.logY ? 0.01 : low;
    const first = look.logX ? steps_[0] : 0,
      last = Math.max(steps_[steps_.length - 1], first + 1);
    x = scaleOf(box.left, right, first, last, look.logX);
    y = scaleOf(foot, box.top, bottom, high, look.logY);
    const parts = [];
    for (const value of ticksOf(bottom, high, look.logY)) {
      parts.push(
        svg("line", { class: "rule", x1: box.left, x2: right, y1: y(value), y2: y(value) }),
        svg("text", { class: "tick end", x: box.left - 6, y: y(value) + 3.5 }, show(value)),
      );
    }
    for (const value of ticksOf(first, last, look.logX)) {
      parts.push(
        svg("line", { class: "rule", x1: x(value), x2: x(value), y1: foot, y2: foot + 4 }),
        svg("text", { class: "tick middle", x: x(value), y: foot + 15 }, shortSteps(value)),
      );
    }
    const [across, up] = info.axes || ["training steps", "score"],
      middle = (box.top + foot) / 2;
    parts.push(
      svg("text", { class: "tick middle axis", x: (box.left + right) / 2, y: box.height - 8 }, across),
      svg("text", { class: "tick middle axis", transform: `translate(12 ${middle}) rotate(-90)` }, up),
    );
    parts.push(svg("line", { class: "unit", x1: box.left, x2: right, y1: y(1), y2: y(1) }));
    if (ceiling !== undefined)
      parts.push(svg("line", { class: "ceiling", x1: box.left, x2: right, y1: y(ceiling), y2: y(ceiling) }));
    const inside = (value) => Math.min(high, Math.max(bottom, value)); // intervals may reach beyond the panel
    const point = (value, k) => `${x(steps_[k]).toFixed(1)},${y(inside(value)).toFixed(1)}`;
    // On a logarithmic axis a curve begins where it comes above the lowest line: below it nothing is drawn.
    const curve = (values) =>
      values.map((value, k) => (look.logY && value < bottom ? null : point(value, k))).filter(Boolean);
    const sides = shown.map(({ method, band, mean }) => {
      const [under, middle, over] = showsMean() ? mean : band;
      const area =
        look.band === "none"
          ? null
          : svg("polygon", {
              class: `band colour-${method.colour}`,
              points: [...under.map(point), ...over.map(point).reverse()].join(" "),
            });
      return [
        area,
        svg("polyline", {
          class: `curve colour-${method.colour}`,
          "stroke-dasharray": method.dashes,
          points: curve(middle).join(" "),
        }),
        ...(method.dots ? dotsOf(middle, steps_, method) : []),
        svg(
          "polyline",
          { class: "grip", points: curve(middle).join(" "), onclick: () => on.method(method) },
          svg("title", {}, `${method.name}: click to see it alone, click again for all`),
        ),
      ];
    });
    parts.push(...sides.map((side) => side[0]), ...sides.flatMap((side) => side.slice(1)));
    plot.replaceChildren(...parts.filter(Boolean), ...endNames(inside), hair);
    tip.hidden = true;
    hair.setAttribute("visibility", "hidden");
  }

  // Names at the ends of curves, apart from each other, with lines that lead to them.
  function endNames(inside) {
    if (right > box.width - ENDS) return [];
    const ends = shown.map(({ method, band, mean }) => ({
      method,
      at: y(inside((showsMean() ? mean : band)[1].at(-1))),
    }));
    ends.sort((a, b) => a.at - b.at);
    const places = spread(
      ends.map((end) => end.at),
      NAME_GAP,
      box.top + 4,
      foot,
    );
    return ends.flatMap(({ method, at }, k) => [
      svg("path", { class: `lead colour-${method.colour}`, d: `M${right + 2} ${at}L${right + 9} ${places[k]}h6` }),
      svg("text", { class: "tick", x: right + 18, y: places[k] + 3.5 }, method.label),
    ]);
  }

  // Dots mark shaping; they keep their distance on any axis.
  function dotsOf(values, steps_, method) {
    let before = -Infinity;
    return values.map((value, k) => {
      if (x(steps_[k]) < before + 26) return null;
      before = x(steps_[k]);
      return svg("circle", { class: `dot colour-${method.colour}`, cx: before, cy: y(value), r: 2.2 });
    });
  }

  // The line at a tick, -1 for none.
  function mark(k) {
    const at = k < 0 ? 0 : x(stepsShown()[k]);
    hair.setAttribute("x1", at);
    hair.setAttribute("x2", at);
    hair.setAttribute("visibility", k < 0 ? "hidden" : "visible");
    return at;
  }

  function read(k) {
    const steps_ = stepsShown();
    tick = Math.max(0, Math.min(k, steps_.length - 1));
    const at = mark(tick);
    if (on.read) on.read(tick);
    const readings = shown.map((line) => ({
      line,
      numbers: (showsMean() ? line.mean : line.band).map((values) => values[tick]),
    }));
    readings.sort((a, b) => b.numbers[1] - a.numbers[1]);
    tip.replaceChildren(
      el("b", {}, info.reading ? info.reading(steps_[tick]) : `${grouped(steps_[tick])} steps`),
      ...readings.map(({ line, numbers }) =>
        el(
          "div",
          {},
          methodSample(line.method),
          `${line.method.label} ${numbers[1].toFixed(3)}`,
          look.band === "none" ? "" : ` [${numbers[0].toFixed(3)}, ${numbers[2].toFixed(3)}]`,
        ),
      ),
    );
    tip.hidden = false;
    tip.classList.toggle("left", at > box.width / 2);
  }

  plot.addEventListener("pointermove", (event) => {
    const place = plot.getBoundingClientRect(),
      at = ((event.clientX - place.left) / place.width) * box.width;
    const steps_ = stepsShown();
    let best = 0;
    steps_.forEach((step, k) => {
      if (Math.abs(x(step) - at) < Math.abs(x(steps_[best]) - at)) best = k;
    });
    read(best);
  });
  const leave = () => {
    tip.hidden = true;
    mark(-1);
    if (on.read) on.read(-1);
  };
  plot.addEventListener("pointerleave", leave);
  plot.addEventListener("blur", leave);
  plot.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: -1, ArrowRight: 1, PageUp: 10, PageDown: -10 }[event.key];
    if (way) {
      event.preventDefault();
      read(tip.hidden ? tick : tick + way);
    }
  });
  return { draw, read, mark, node: el("figure", { class: "plot" }, el("figcaption", {}, title), plot, tip) };
}

function methodSample(method) {
  return svg(
    "svg",
    { class: "sample", viewBox: "0 0 28 18", "aria-hidden": "true" },
    svg("polyline", { class: `curve colour-${method.colour}`, "stroke-dasharray": method.dashes, points: "1,9 27,9" }),
    method.dots ? svg("circle", { class: `dot colour-${method.colour}`, cx: 14, cy: 9, r: 2.6 }) : null,
  );
}
