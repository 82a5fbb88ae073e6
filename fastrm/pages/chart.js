// Learning curves: a panel per setup and task, a line per method, with a band around it.

const BOX = { width: 380, height: 230, left: 42, right: 10, top: 10, bottom: 30 };
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
      ticks.push(10 ** power);
    return ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
  }
  const rough = (high - low) / 4,
    unit = 10 ** Math.floor(Math.log10(rough)),
    step = [1, 2, 2.5, 5, 10].map((x) => x * unit).find((x) => x >= rough);
  return Array.from({ length: Math.floor((high - low) / step + 1.001) }, (_, k) =>
    Number((Math.ceil(low / step) * step + k * step).toPrecision(6)),
  );
}

// One panel. `lines` are {method, band, mean}; `look` is what the reader chose.
function chart(title, lines, info, ceiling, look, onmethod) {
  const plot = svg("svg", {
    class: "chart",
    viewBox: `0 0 ${BOX.width} ${BOX.height}`,
    role: "img",
    tabindex: 0,
    "aria-label": `${title}: curves; left and right arrows read the values`,
  });
  const tip = el("div", { class: "tip", hidden: true });
  const hair = svg("line", { class: "hair", y1: BOX.top, y2: BOX.height - BOX.bottom, visibility: "hidden" });
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
    x = scaleOf(BOX.left, BOX.width - BOX.right, first, last, look.logX);
    y = scaleOf(BOX.height - BOX.bottom, BOX.top, bottom, high, look.logY);
    const parts = [];
    for (const value of ticksOf(bottom, high, look.logY)) {
      parts.push(
        svg("line", { class: "rule", x1: BOX.left, x2: BOX.width - BOX.right, y1: y(value), y2: y(value) }),
        svg("text", { class: "tick end", x: BOX.left - 6, y: y(value) + 3.5 }, show(value)),
      );
    }
    for (const value of ticksOf(first, last, look.logX)) {
      parts.push(
        svg("text", { class: "tick middle", x: x(value), y: BOX.height - BOX.bottom + 15 }, shortSteps(value)),
      );
    }
    parts.push(svg("line", { class: "unit", x1: BOX.left, x2: BOX.width - BOX.right, y1: y(1), y2: y(1) }));
    if (ceiling !== undefined)
      parts.push(
        svg("line", { class: "ceiling", x1: BOX.left, x2: BOX.width - BOX.right, y1: y(ceiling), y2: y(ceiling) }),
      );
    const inside = (value) => Math.min(high, Math.max(bottom, value)); // intervals may reach beyond the panel
    const point = (value, k) => `${x(steps_[k]).toFixed(1)},${y(inside(value)).toFixed(1)}`;
    const sides = shown.map(({ method, band, mean }) => {
      const [under, middle, over] = showsMean() ? mean : band;
      const area =
        look.band === "none"
          ? null
          : svg("polygon", {
              class: `band kind-${method.kind}`,
              points: [...under.map(point), ...over.map(point).reverse()].join(" "),
            });
      return [
        area,
        svg("polyline", {
          class: `curve kind-${method.kind}`,
          "stroke-dasharray": method.dashes,
          points: middle.map(point).join(" "),
        }),
        ...(method.dots ? dotsOf(middle, steps_, method) : []),
        svg(
          "polyline",
          { class: "grip", points: middle.map(point).join(" "), onclick: () => onmethod(method) },
          svg("title", {}, `${method.name}: open its runs`),
        ),
      ];
    });
    parts.push(...sides.map((side) => side[0]), ...sides.flatMap((side) => side.slice(1)));
    plot.replaceChildren(...parts.filter(Boolean), hair);
    tip.hidden = true;
    hair.setAttribute("visibility", "hidden");
  }

  // Dots mark shaping; they keep their distance on any axis.
  function dotsOf(values, steps_, method) {
    let before = -Infinity;
    return values.map((value, k) => {
      if (x(steps_[k]) < before + 26) return null;
      before = x(steps_[k]);
      return svg("circle", { class: `dot kind-${method.kind}`, cx: before, cy: y(value), r: 2.2 });
    });
  }

  function read(k) {
    const steps_ = stepsShown();
    tick = Math.max(0, Math.min(k, steps_.length - 1));
    const at = x(steps_[tick]);
    hair.setAttribute("x1", at);
    hair.setAttribute("x2", at);
    hair.setAttribute("visibility", "visible");
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
    tip.classList.toggle("left", at > BOX.width / 2);
  }

  plot.addEventListener("pointermove", (event) => {
    const box = plot.getBoundingClientRect(),
      at = ((event.clientX - box.left) / box.width) * BOX.width;
    const steps_ = stepsShown();
    let best = 0;
    steps_.forEach((step, k) => {
      if (Math.abs(x(step) - at) < Math.abs(x(steps_[best]) - at)) best = k;
    });
    read(best);
  });
  const leave = () => {
    tip.hidden = true;
    hair.setAttribute("visibility", "hidden");
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
  return { draw, read, node: el("figure", { class: "plot" }, el("figcaption", {}, title), plot, tip) };
}

function methodSample(method) {
  return svg(
    "svg",
    { class: "sample", viewBox: "0 0 28 18", "aria-hidden": "true" },
    svg("polyline", { class: `curve kind-${method.kind}`, "stroke-dasharray": method.dashes, points: "1,9 27,9" }),
    method.dots ? svg("circle", { class: `dot kind-${method.kind}`, cx: 14, cy: 9, r: 2.6 }) : null,
  );
}
