// The parts of a report: what was run, what it says, curves, tables, comparisons, and single runs.

function provenancePanel(data) {
  const rows = data.provenance.map(([name, value]) => el("tr", {}, el("th", {}, name), el("td", {}, name === "command" || name === "experiment" ? el("code", {}, value) : value)));
  const [command] = data.provenance.filter(([name]) => name === "command");
  return panel("What was run", el("p", {}, data.about), command && el("p", {}, el("code", {}, command[1])),
    data.failures.length ? el("p", { class: "note" }, `${data.failures[0]} runs failed and are left out; the first: ${data.failures[1]}`) : null,
    el("details", {}, el("summary", {}, "Provenance"), el("table", { class: "facts" }, el("tbody", {}, ...rows))));
}

function claimsPanel(claims) {
  return panel("Claims of the paper", el("ol", { class: "claims" }, ...claims.map((claim) => el("li", { value: claim.number },
    el("p", {}, el("span", { class: `chip ${claim.chip}` }, claim.verdict), " ", claim.claim),
    el("p", { class: "soft" }, [claim.support, claim.cases ? `${claim.cases_held} of ${claim.cases} cases hold` : "", claim.numbers].filter(Boolean).join(" · ")),
    claim.reason || claim.failing.length ? el("details", {}, el("summary", {}, "Why"),
      claim.reason && el("p", {}, claim.reason),
      claim.failing.length ? el("p", { class: "soft" }, `Cases that do not hold${claim.failing.length < claim.cases - claim.cases_held ? ", the first" : ""}: ${claim.failing.join("; ")}`) : null) : null))));
}

function findingsPanel(tables) {
  return panel("Findings", ...tables.map((table) => [el("h3", {}, table.title), el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": table.title }, el("table", {},
    el("thead", {}, el("tr", {}, ...table.head.map((name) => el("th", {}, name)))),
    el("tbody", {}, ...table.rows.map((row) => el("tr", {}, ...row.map((cell) => el("td", {}, cell)))))))]));
}

function curvesPanel(data, arrays, onmethod) {
  const info = data.curves, starts = [...new Set(data.methods.map((method) => method.start))];
  const look = { band: "quartiles", logX: true, logY: false, methods: new Set() };
  const bands = unfold(arrays.bands, [data.groups.length, 3, info.steps.length], info.bandsRange, info.levels);
  const means = info.meanSteps.length ? unfold(arrays.means, [data.groups.length, 3, info.meanSteps.length], info.meansRange, info.levels) : [];
  const methods = new Map(data.methods.map((method) => [method.label, method]));
  const panels = new Map();
  data.groups.forEach(([setup, task, label], k) => {
    const key = JSON.stringify([setup, task]);
    if (!panels.has(key)) panels.set(key, []);
    panels.get(key).push({ method: methods.get(label), band: bands[k], mean: means[k] });
  });
  const ceilings = new Map(info.ceilings.map(([setup, task, level]) => [JSON.stringify([setup, task]), number(level)]));
  const charts = [...panels].map(([key, lines]) => {
    const [setup, task] = JSON.parse(key);
    return chart(`${setup}, task ${task}`, lines, info, ceilings.get(key), look, (method) => onmethod(setup, task, method.label));
  });
  const redraw = () => charts.forEach((one) => one.draw());
  const choose = (name, options, change) => el("div", { class: "choices", role: "group", "aria-label": name }, el("span", { class: "soft" }, name),
    ...options.map(([label, value, checked]) => control("radio", name, label, checked, () => { change(value); redraw(); })));
  const boxes = new Map();
  const toggles = data.methods.map((method) => {
    const box = el("input", { type: "checkbox", "aria-label": `show ${method.name}`, onchange: () => {
      if (box.checked) look.methods.add(method.label);
      else look.methods.delete(method.label);
      redraw();
    } });
    boxes.set(method.label, box);
    return el("li", {}, box, methodSample(method), el("button", { type: "button", class: "plain link", title: "open its runs", onclick: () => onmethod(null, null, method.label) }, method.name), el("span", { class: "soft" }, ` ${method.label}`));
  });
  function only(test) {
    look.methods = new Set(data.methods.filter(test).map((method) => method.label));
    boxes.forEach((box, label) => { box.checked = look.methods.has(label); });
    redraw();
  }
  const startChoice = starts.length > 1 ? choose("initial values", starts.map((start, k) => [start === null ? "as set" : start, start, k === 0]), (start) => only((method) => method.start === start)) : null;
  only((method) => method.start === starts[0]);
  const bandNames = Object.entries(BANDS).filter(([key]) => key !== "interval" || info.meanSteps.length);
  const node = panel("Learning curves",
    el("p", { class: "soft" }, "Score over training steps. A score of 1, the solid rule, is what the best policy earns that explores as much; the dashed rule is the most that any can settle at. Point at a panel, or focus it and use the arrow keys, to read values. Click a line or a name to open its runs."),
    el("div", { class: "toolbar no-print" },
      choose("band", bandNames.map(([key, label]) => [label, key, key === "quartiles"]), (value) => { look.band = value; }),
      choose("steps", [["logarithmic", true, true], ["linear", false, false]], (value) => { look.logX = value; }),
      choose("score", [["linear", false, true], ["logarithmic", true, false]], (value) => { look.logY = value; }), startChoice,
      el("div", { class: "choices" }, el("button", { type: "button", onclick: () => only(() => true) }, "All methods"), el("button", { type: "button", onclick: () => only(() => false) }, "None"))),
    el("ul", { class: "legend methods" }, ...toggles),
    el("div", { class: "plots" }, ...charts.map((one) => one.node)));
  return { node, bands, means };
}

const percent = (x) => (Number.isFinite(number(x)) ? `${(100 * number(x)).toFixed(number(x) === 1 || number(x) === 0 ? 0 : 1)} %` : "–");
const fixed = (x, digits) => (Number.isFinite(number(x)) ? number(x).toFixed(digits).replace(/^-(?=0\.0*$)/, "").replace("-", "−") : "–");
const three = (x) => fixed(x, 3);

function summaryPanel(data, onmethod) {
  const over = [...new Set(data.summary.map((row) => row.over))].join(" or ");
  const several = (name, hint, keys, text) => ({ name, hint, isNumber: true, value: (row) => row[keys[0]], text, csvNames: keys, csv: (row) => keys.map((key) => row[key]) });
  const columns = [
    { name: "method", value: (row) => row.label, text: (row) => row.label },
    { name: "setup", value: (row) => row.setup, text: (row) => row.setup },
    { name: "task", value: (row) => row.task, text: (row) => row.task },
    { name: "runs", isNumber: true, value: (row) => row.runs, text: (row) => show(row.runs) },
    { name: "maps", isNumber: true, value: (row) => row.maps, text: (row) => show(row.maps) },
    several("settled score", "median (quartiles) of the mean score over the last tenth of a run", ["settled_50", "settled_25", "settled_75"],
      (row) => `${three(row.settled_50)} (${three(row.settled_25)} to ${three(row.settled_75)})`),
    several("inter-quartile mean", `mean of the middle half of the runs, with its 95 % interval over ${over}`, ["iqm", "iqm_low", "iqm_high"],
      (row) => `${three(row.iqm)} [${three(row.iqm_low)}, ${three(row.iqm_high)}]`),
    several("steps to 90 %", "median (quartiles) of the steps until the score first reached 0.9", ["steps_to_90_50", "steps_to_90_25", "steps_to_90_75"],
      (row) => `${shortSteps(number(row.steps_to_90_50)).replace("neverM", "never")} (${shortSteps(number(row.steps_to_90_25)).replace("neverM", "never")} to ${shortSteps(number(row.steps_to_90_75)).replace("neverM", "never")})`),
    several("shortest paths", `share of runs that end with a shortest path, with its 95 % interval over ${over}`, ["shortest_share", "shortest_share_low", "shortest_share_high"],
      (row) => `${percent(row.shortest_share)} [${percent(row.shortest_share_low)}, ${percent(row.shortest_share_high)}]`),
  ];
  const table = sortable("summary of all methods", columns, data.summary, (row) => onmethod(row.setup, row.task, row.label));
  return { table, node: panel("Summary", el("p", { class: "soft" }, `Round brackets hold quartiles of runs, square brackets 95 % intervals over ${over}. Click a heading to sort, a row to open its runs.`), table.node) };
}

function comparisonPanel(data) {
  const columns = [
    { name: "method", value: (row) => row.label, text: (row) => row.label },
    { name: "setup", value: (row) => row.setup, text: (row) => row.setup },
    { name: "task", value: (row) => row.task, text: (row) => row.task },
    { name: "better with probability", isNumber: true, value: (row) => row.probability, text: (row) => [bar(number(row.probability)), ` ${three(row.probability)}`] },
    { name: "difference", hint: "mean difference of the settled score with its 95 % interval", isNumber: true, value: (row) => row.difference, csvNames: ["difference", "low", "high"], csv: (row) => [row.difference, row.low, row.high],
      text: (row) => `${fixed(row.difference, 4)} [${fixed(row.low, 4)}, ${fixed(row.high, 4)}]` },
    { name: "p", hint: "two-sided, by random signs", isNumber: true, value: (row) => row.p, text: (row) => show(Number(number(row.p).toPrecision(2))) },
    { name: "over", value: (row) => row.over, text: (row) => row.over },
  ];
  return panel(`Compared with ${data.against}`, el("p", { class: "soft" }, `How likely a run of a method settles higher than one of ${data.against} on the same map and task; ties count half. Runs of a pair share their random numbers.`),
    sortable(`methods compared with ${data.against}`, columns, data.comparisons).node);
}

function bar(share) {
  return svg("svg", { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "bar-ground", width: 100, height: 10 }), svg("rect", { class: share >= 0.5 ? "bar-good" : "bar-bad", x: Math.min(50, 100 * share), width: Math.abs(100 * share - 50), height: 10 }));
}

// The runs of a method, and one of them walked.
function runsDialog(data) {
  const body = el("div", {}), close = el("button", { type: "button", onclick: () => dialog.close() }, "Close");
  let pause = () => {}; // what plays stops when it is no longer seen
  const dialog = el("dialog", { "aria-label": "runs of a method", onclose: () => pause() }, el("div", { class: "dialog-head" }, close), body);

  async function openRun(run, back) {
    const replay = data.replays[run.row], command = `fastrm replay ${data.shellFile} --run ${run.row} --out run-${run.row}.html`;
    const content = el("div", {});
    body.replaceChildren(el("h2", {}, `${run.group[2]} on ${run.group[0]}, map ${run.map}, task ${run.group[1]}, seed ${run.seed}`),
      el("p", {}, el("button", { type: "button", onclick: back }, "Back to the runs")), content);
    if (replay) pause = (await mountExplain(content, replay)).episode.pause;
    else content.append(el("p", {}, "This page does not hold what the run learned. This command learns it again, to the last bit, and writes its page:"), el("pre", { class: "command" }, command), copyButton("Copy the command", () => command));
    dialog.scrollTop = 0;
  }

  function open(setup, task, label) {
    const runs = data.runs.filter((run) => run.group[2] === label && (setup === null || (run.group[0] === setup && run.group[1] === task)));
    const columns = [
      { name: "run", isNumber: false, value: (run) => run.row, text: (run) => `run ${run.row}` },
      { name: "rank", value: (run) => run.rank, text: (run) => run.rank },
      { name: "setup", value: (run) => run.group[0], text: (run) => run.group[0] },
      { name: "map", value: (run) => run.map, text: (run) => run.map },
      { name: "task", value: (run) => run.group[1], text: (run) => run.group[1] },
      { name: "seed", isNumber: true, value: (run) => run.seed, text: (run) => show(run.seed) },
      { name: "settled score", isNumber: true, value: (run) => run.settled, text: (run) => three(run.settled) },
      { name: "steps to 90 %", isNumber: true, value: (run) => (run.steps === "nan" ? "inf" : run.steps), text: (run) => (run.steps === "nan" ? "never" : shortSteps(run.steps)) },
      { name: "path", hint: "steps of the learned greedy policy, and of a shortest path", isNumber: true, value: (run) => (run.length < 0 ? "inf" : run.length), text: (run) => `${run.length < 0 ? "none" : run.length} of ${run.shortest}` },
      { name: "walk", value: (run) => (data.replays[run.row] ? 0 : 1), text: (run) => (data.replays[run.row] ? "on this page" : "by a command") },
    ];
    const again = () => {
      pause();
      open(setup, task, label);
    };
    body.replaceChildren(el("h2", {}, setup === null ? label : `${label} on ${setup}, task ${task}`),
      el("p", { class: "soft" }, `${data.allRuns ? "All runs" : "The best, the median and the worst run of every setup and task"}, by settled score. Click a run to walk what it learned.`),
      sortable(`runs of ${label}`, columns, runs, (run) => openRun(run, again)).node);
    if (!dialog.open) dialog.showModal();
  }
  return { node: dialog, open };
}
