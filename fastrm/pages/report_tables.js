// The tables of a report: a row per method, setup and task, and every method compared with one.

const percent = (x) =>
  Number.isFinite(number(x)) ? `${(100 * number(x)).toFixed(number(x) === 1 || number(x) === 0 ? 0 : 1)} %` : "–";

const fixed = (x, digits) =>
  Number.isFinite(number(x))
    ? number(x)
        .toFixed(digits)
        .replace(/^-(?=0\.0*$)/, "")
        .replace("-", "−")
    : "–";

const three = (x) => fixed(x, 3);
const pValue = (p) => (number(p) < 1e-4 ? "< 0.0001" : show(Number(number(p).toPrecision(2))));

function summaryPanel(data, onmethod) {
  const over = [...new Set(data.summary.map((row) => row.over))].join(" or ");
  const several = (name, hint, keys, text) => ({
    name,
    hint,
    isNumber: true,
    value: (row) => row[keys[0]],
    text,
    csvNames: keys,
    csv: (row) => keys.map((key) => row[key]),
  });
  const columns = [
    { name: "method", value: (row) => row.method, text: (row) => row.method },
    { name: "setup", value: (row) => row.setup, text: (row) => row.setup },
    { name: "task", value: (row) => row.task, text: (row) => row.task },
    { name: "runs", isNumber: true, value: (row) => row.runs, text: (row) => show(row.runs) },
    { name: "maps", isNumber: true, value: (row) => row.maps, text: (row) => show(row.maps) },
    several(
      "settled score",
      "median (quartiles) of the mean score over the last tenth of a run",
      ["settled_50", "settled_25", "settled_75"],
      (row) => `${three(row.settled_50)} (${three(row.settled_25)} to ${three(row.settled_75)})`,
    ),
    several(
      "inter-quartile mean",
      `mean of the middle half of the runs, with its 95 % interval over ${over}`,
      ["iqm", "iqm_low", "iqm_high"],
      (row) => `${three(row.iqm)} [${three(row.iqm_low)}, ${three(row.iqm_high)}]`,
    ),
    several(
      `steps to 90 %${data.note ? "*" : ""}`,
      "median (quartiles) of the steps until the score first reached 0.9",
      ["steps_to_90_50", "steps_to_90_25", "steps_to_90_75"],
      (row) =>
        row.steps_to_90_25 === "inf"
          ? "never"
          : `${shortSteps(row.steps_to_90_50)} (${shortSteps(row.steps_to_90_25)} to ${shortSteps(row.steps_to_90_75)})`,
    ),
    ...("steps_to_lasting_shortest_50" in data.summary[0]
      ? [
          several(
            "steps to shortest",
            "median of the steps after which the greedy policy always took a shortest path, and first took one",
            ["steps_to_lasting_shortest_50", "steps_to_shortest_50"],
            (row) => `${shortSteps(row.steps_to_lasting_shortest_50)}, first ${shortSteps(row.steps_to_shortest_50)}`,
          ),
        ]
      : []),
    several(
      "shortest paths",
      `share of runs that end with a shortest path, with its 95 % interval over ${over}`,
      ["shortest_share", "shortest_share_low", "shortest_share_high"],
      (row) =>
        `${percent(row.shortest_share)} [${percent(row.shortest_share_low)}, ${percent(row.shortest_share_high)}]`,
    ),
  ];
  const table = sortable("summary of all methods", columns, data.summary, (row) =>
    onmethod(row.setup, row.task, row.method),
  );
  return {
    table,
    node: panel(
      "Summary",
      el(
        "p",
        { class: "soft" },
        `Round brackets hold quartiles of runs, square brackets 95 % intervals over ${over}. Click a heading to sort, a row to open its runs.${data.note ? ` ${data.note}.` : ""}`,
      ),
      table.node,
    ),
  };
}

function comparisonPanel(data) {
  const columns = [
    { name: "method", value: (row) => row.method, text: (row) => row.method },
    { name: "setup", value: (row) => row.setup, text: (row) => row.setup },
    { name: "task", value: (row) => row.task, text: (row) => row.task },
    {
      name: "better with probability",
      hint: "with its 95 % interval",
      isNumber: true,
      value: (row) => row.probability,
      csvNames: ["better with probability", "probability low", "probability high"],
      csv: (row) => [row.probability, ...row.probabilityEnds],
      text: (row) => [
        bar(number(row.probability), number(row.low) > 0 || number(row.high) < 0),
        ` ${three(row.probability)} [${row.probabilityEnds.map(three).join(", ")}]`,
      ],
    },
    {
      name: "difference",
      hint: "mean difference of the settled score with its 95 % interval",
      isNumber: true,
      value: (row) => row.difference,
      csvNames: ["difference", "low", "high"],
      csv: (row) => [row.difference, row.low, row.high],
      text: (row) => `${fixed(row.difference, 4)} [${fixed(row.low, 4)}, ${fixed(row.high, 4)}]`,
    },
    {
      name: "p",
      hint: "two-sided; below 0.05 where the interval excludes 0",
      isNumber: true,
      value: (row) => row.p,
      text: (row) => pValue(row.p),
    },
    {
      name: "p (Holm)",
      hint: "corrected for the number of comparisons in this table",
      isNumber: true,
      value: (row) => row.holm,
      text: (row) => pValue(row.holm),
    },
    { name: "over", value: (row) => row.over, text: (row) => row.over },
  ];
  return panel(
    `Compared with ${data.against}`,
    el(
      "p",
      { class: "soft" },
      `How likely a run settles higher than one of ${data.against} that is alike in all else; ties count half. Runs of a pair on the same map share their random numbers.`,
    ),
    sortable(`compared with ${data.against}`, columns, data.comparisons).node,
  );
}

// Statistics over all maps and tasks: a table, and two charts for every value of swept settings.
function overallPanel(data, arrays, onmethod) {
  const { rows, thresholds, steps } = data.overall,
    methods = new Map(data.methods.map((method) => [method.label, method])),
    over = [...new Set(rows.map((row) => row.over))].join(" or ");
  const ends = (name, hint, key, write) => ({
    name,
    hint: `${hint}, with its 95 % interval over ${over}`,
    isNumber: true,
    value: (row) => row[key],
    csvNames: [name, `${name} low`, `${name} high`],
    csv: (row) => [row[key], row[`${key}_low`], row[`${key}_high`]],
    text: (row) =>
      row[`${key}_low`] === "inf"
        ? "never"
        : `${write(row[key])} [${write(row[`${key}_low`])}, ${write(row[`${key}_high`])}]`,
  });
  const columns = [
    {
      name: "method",
      value: (row) => row.method,
      text: (row) => [methodSample(methods.get(row.method)), ` ${row.method}`],
    },
    ...(rows.some((row) => row.settings)
      ? [{ name: "settings", value: (row) => row.settings, text: (row) => row.settings }]
      : []),
    { name: "runs", isNumber: true, value: (row) => row.runs, text: (row) => show(row.runs) },
    ends("inter-quartile mean", "mean of the middle half of the settled scores", "iqm", three),
    ends("optimality gap", "how far settled scores fall short of 1 on average", "gap", three),
    ends("median steps to 90 %", "where the survival curve falls to a half", "steps_to_90", shortSteps),
    ...(rows.some((row) => "holm" in row)
      ? [
          {
            name: `rate ratio to ${data.against}`,
            hint: "how many times as often a run next reaches 90 %: log-rank test within setups and tasks",
            isNumber: true,
            value: (row) => row.ratio ?? "",
            text: (row) => ("ratio" in row ? fixed(row.ratio, 2) : ""),
          },
          {
            name: "p (Holm)",
            hint: `of the log-rank test, over ${over}, corrected for the number of tests in this table`,
            isNumber: true,
            value: (row) => row.holm ?? "",
            text: (row) => ("holm" in row ? pValue(row.holm) : ""),
          },
        ]
      : []),
  ];
  const curvesOf = (name, x) => unfold(arrays[name], [rows.length, 3, x.length], [0, 1], data.curves.levels);
  const kinds = [
    [
      "profiles",
      "settled score: share of runs above",
      thresholds,
      curvesOf("profiles", thresholds),
      false,
      (x) => `above ${three(x)}`,
    ],
    ["survival", "share of runs that have not reached 90 % yet", steps, curvesOf("survival", steps), true, undefined],
  ];
  const charts = [...new Set(rows.map((row) => row.settings))].flatMap((settings) =>
    kinds.map(([, title, x, curves, logX, reading]) => {
      const lines = rows
        .map((row, k) => ({ row, method: methods.get(row.method), band: curves[k] }))
        .filter((line) => line.row.settings === settings);
      const look = { band: lines.length > 4 ? "none" : "quartiles", logX, logY: false };
      look.methods = new Set(lines.map((line) => line.method.label));
      const info = {
        steps: x,
        meanSteps: [],
        bandsRange: [0, 1],
        reading,
        axes: [logX ? "training steps" : "settled score", "share of runs"],
      };
      return chart([settings, title].filter(Boolean).join(": "), lines, info, undefined, look, {
        method: (method) => onmethod(null, null, method.label),
      });
    }),
  );
  charts.forEach((one) => one.draw());
  const table = sortable("statistics over all tasks", columns, rows, (row) => onmethod(null, null, row.method));
  const node = panel(
    "Over all tasks",
    el(
      "p",
      { class: "soft" },
      `Runs on all maps and tasks together. Square brackets hold 95 % intervals over ${over}. Runs that never reach 90 % are censored at their end.`,
    ),
    intervalPlot(rows, methods),
    table.node,
    el("div", { class: "plots" }, ...charts.map((one) => one.node)),
  );
  return { node, csv: table.csv, curves: Object.fromEntries(kinds.map(([name, , , shares]) => [name, shares])) };
}

// A row per method: the inter-quartile mean of its settled scores, and the interval around it.
function intervalPlot(rows, methods) {
  const [left, width, line] = [190, 900, 20],
    height = rows.length * line + 40,
    ends = rows.flatMap((row) => [number(row.iqm_low), number(row.iqm_high), number(row.iqm)]).filter(Number.isFinite),
    low = Math.min(...ends),
    high = Math.max(...ends, low + 0.01),
    x = scaleOf(left, width - 20, low - 0.04 * (high - low), high + 0.04 * (high - low), false);
  const parts = ticksOf(low, high, false).flatMap((tick) => [
    svg("line", { class: "rule", x1: x(tick), x2: x(tick), y1: 6, y2: height - 34 }),
    svg("text", { class: "tick middle", x: x(tick), y: height - 20 }, show(tick)),
  ]);
  rows.forEach((row, k) => {
    const y = 16 + k * line,
      method = methods.get(row.method),
      [from, to] = [row.iqm_low, row.iqm_high].map((end) =>
        Number.isFinite(number(end)) ? number(end) : number(row.iqm),
      );
    parts.push(
      svg(
        "text",
        { class: "tick end", x: left - 10, y: y + 3.5 },
        [row.method, row.settings].filter(Boolean).join(", "),
      ),
      svg("line", { class: `whisker colour-${method.colour}`, x1: x(from), x2: x(to), y1: y, y2: y }),
      svg("circle", { class: `dot colour-${method.colour}`, cx: x(number(row.iqm)), cy: y, r: 4 }),
    );
  });
  const name = "inter-quartile mean of settled scores, with its 95 % interval";
  parts.push(svg("text", { class: "tick middle axis", x: (left + width) / 2, y: height - 5 }, name));
  return svg(
    "svg",
    { class: "intervals", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": name },
    ...parts,
  );
}

// Coloured where the interval of the difference excludes 0, grey where nothing can be said.
function bar(share, isSure) {
  return svg(
    "svg",
    { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "bar-ground", width: 100, height: 10 }),
    svg("rect", {
      class: !isSure ? "bar-unsure" : share >= 0.5 ? "bar-good" : "bar-bad",
      x: Math.min(50, 100 * share),
      width: Math.abs(100 * share - 50),
      height: 10,
    }),
  );
}
