// The runs of a method, and one of them walked.

const RANKS = ["", "best", "median", "worst"];

function runsOf(data, arrays) {
  const column = (name) => arrays[`runs.${name}`];
  return Array.from(column("row"), (row, k) => ({
    row,
    group: data.groups[column("group")[k]],
    rank: RANKS[column("rank")[k]],
    map: data.maps[column("map")[k]],
    seed: column("seed")[k],
    settled: column("settled")[k],
    steps: column("steps")[k],
    length: column("length")[k] - 1,
    shortest: column("shortest")[k],
  }));
}

function runsDialog(data) {
  const body = el("div", {}),
    close = el("button", { type: "button", onclick: () => dialog.close() }, "Close");
  let pause = () => {}; // what plays stops when it is no longer seen
  const dialog = el(
    "dialog",
    { "aria-label": "runs of a method", onclose: () => pause() },
    el("div", { class: "dialog-head" }, close),
    body,
  );

  async function openRun(run, back) {
    const replay = data.replays[run.row],
      command = `fastrm replay ${data.shellFile} --run ${run.row} --out run-${run.row}.html`;
    const content = el("div", {});
    body.replaceChildren(
      el("h2", {}, `${run.group[2]} on ${run.group[0]}, map ${run.map}, task ${run.group[1]}, seed ${run.seed}`),
      el("p", {}, el("button", { type: "button", onclick: back }, "Back to the runs")),
      content,
    );
    if (replay) pause = (await mountExplain(content, replay)).episode.pause;
    else
      content.append(
        el(
          "p",
          {},
          "This page does not hold what the run learned. This command learns it again, to the last bit, and writes its page:",
        ),
        el("pre", { class: "command" }, command),
        copyButton("Copy the command", () => command),
      );
    dialog.scrollTop = 0;
  }

  function open(setup, task, label) {
    const runs = data.runs.filter(
      (run) => run.group[2] === label && (setup === null || (run.group[0] === setup && run.group[1] === task)),
    );
    const columns = [
      { name: "run", isNumber: false, value: (run) => run.row, text: (run) => `run ${run.row}` },
      { name: "rank", value: (run) => run.rank, text: (run) => run.rank },
      { name: "setup", value: (run) => run.group[0], text: (run) => run.group[0] },
      { name: "map", value: (run) => run.map, text: (run) => run.map },
      { name: "task", value: (run) => run.group[1], text: (run) => run.group[1] },
      { name: "seed", isNumber: true, value: (run) => run.seed, text: (run) => show(run.seed) },
      { name: "settled score", isNumber: true, value: (run) => run.settled, text: (run) => three(run.settled) },
      {
        name: "steps to 90 %",
        isNumber: true,
        value: (run) => (Number.isNaN(run.steps) ? Infinity : run.steps),
        text: (run) => (Number.isNaN(run.steps) ? "never" : shortSteps(run.steps)),
      },
      {
        name: "path",
        hint: "steps of the learned greedy policy, and of a shortest path",
        isNumber: true,
        value: (run) => (run.length < 0 ? "inf" : run.length),
        text: (run) => `${run.length < 0 ? "none" : run.length} of ${run.shortest}`,
      },
      {
        name: "walk",
        value: (run) => (data.replays[run.row] ? 0 : 1),
        text: (run) => (data.replays[run.row] ? "on this page" : "by a command"),
      },
    ];
    const again = () => {
      pause();
      open(setup, task, label);
    };
    body.replaceChildren(
      el("h2", {}, setup === null ? label : `${label} on ${setup}, task ${task}`),
      el(
        "p",
        { class: "soft" },
        `${data.allRuns ? "All runs" : "The best, the median and the worst run of every setup and task"}, by settled score. Click a run to walk what it learned.`,
      ),
      sortable(`runs of ${label}`, columns, runs, (run) => openRun(run, again)).node,
    );
    if (!dialog.open) dialog.showModal();
  }
  return { node: dialog, open };
}
