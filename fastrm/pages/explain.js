// A problem explained: the map on the left, the machine and an episode on the right, and what is exactly true.

const TRACKS = {
  learned: "learned",
  optimal: "optimal policy",
  shortest: "shortest path",
  witness: "witness of the verdict",
};

function outcomeText(walk) {
  return walk.length === null ? describeEnd(walk) : steps(walk.length);
}

async function mountExplain(root, data) {
  const arrays = await unpack(data.arrays),
    world = makeWorld(data, arrays),
    gamma = data.gamma;
  const policies = {};
  for (const [key, info] of Object.entries(data.policies)) policies[key] = makePolicy(arrays, key, info);
  const main = policies.learned || (data.run ? null : policies.optimal); // whose values and arrows are shown
  const state = {
    start: world.start,
    u: world.first,
    heat: main ? "value" : "none",
    arrows: true,
    played: main && policies.learned ? "learned" : "optimal",
  };
  const shown = new Set(policies.learned ? ["learned", "optimal"] : ["optimal", "shortest"]);
  if (data.verdict && data.verdict.kind === "bad") shown.add("witness");
  let walks = {};

  const readout = el("p", { class: "readout" });
  const view = mapView(
    world,
    data,
    (s) => {
      state.start = s;
      walkAgain();
    },
    hover,
  );
  const machine = machineView(data.machine, (u) => chooseState(u));
  const episode = player(world, machine, (s, u, outcome, at) => {
    view.setAgent(at ? s : null);
    machine.visit(u, outcome);
    if (at && u < world.states && u !== state.u && following.checked) chooseState(u);
  });
  const stateSlider = el("input", {
    type: "range",
    min: 0,
    max: world.states - 1,
    value: state.u,
    "aria-label": "machine state shown on the map",
    oninput: () => chooseState(Number(stateSlider.value)),
  });
  const stateName = el("output", { class: "state-name" });
  const follows = control("checkbox", "", "follow the machine while playing", true, () => {});
  const following = follows.querySelector("input");
  const tracks = el("tbody", {});

  function hover(s) {
    if (s < 0) {
      readout.textContent = "Point at a cell to read it. Drag the start, or focus it and use the arrow keys.";
      return;
    }
    const [row, column] = world.cell(s),
      pair = s * world.states + state.u;
    const words = [`row ${row}, column ${column}`];
    if (world.label(s)) words.push(`object ${world.label(s)}`);
    if (main && main.value) {
      const level = main.value[pair];
      words.push(level ? `value about ${show(main.scale(state.u, level))}` : "value never updated");
      if (level) words.push(`greedy ${ACTIONS[main.action(s, main.option(world, s, state.u))]}`);
    }
    if (main && main.visits) words.push(main.visits[pair] ? "visited" : "never visited");
    readout.textContent = words.join(" · ");
  }

  function repaint() {
    const levels = main && state.heat === "visits" ? main.visits : main && state.heat === "value" ? main.value : null;
    view.showHeat(levels, state.u);
    view.showArrows(state.arrows ? main : null, state.u);
  }

  function chooseState(u) {
    state.u = u;
    stateSlider.value = u;
    stateName.textContent = data.machine.states[u];
    machine.select(u);
    repaint();
  }

  function witnessWalk() {
    const { path, loop } = data.verdict;
    return { cells: path.concat(loop.length ? [loop[0]] : []).map(([row, column]) => world.at(row, column)) };
  }

  function drawTracks() {
    const named = Object.keys(TRACKS).filter((key) => shown.has(key) && walks[key]);
    view.showTracks(named.map((name) => ({ name, cells: walks[name].cells })));
    view.showMark(shown.has("witness") && data.verdict ? data.verdict.leavesAt : null);
  }

  function walkAgain() {
    walks = {};
    for (const key of Object.keys(policies)) walks[key] = follow(world, policies[key], state.start, world.first, gamma);
    if (data.run && !data.run.isFollowed && state.start === world.start) {
      walks.learned = { cells: data.run.path.map(([row, column]) => world.at(row, column)), listed: data.run.length };
    }
    if (data.verdict) walks.witness = witnessWalk();
    tracks.replaceChildren(
      ...Object.keys(TRACKS)
        .filter((key) => walks[key])
        .map(trackRow),
    );
    view.setStart(state.start);
    drawTracks();
    episode.load(walks[state.played]);
  }

  function trackRow(key) {
    const walk = walks[key],
      own = key === "witness" || walk.actions === undefined;
    const tick = el("input", {
      type: "checkbox",
      checked: shown.has(key),
      "aria-label": `show ${TRACKS[key]}`,
      onchange: (event) => {
        if (event.target.checked) shown.add(key);
        else shown.delete(key);
        drawTracks();
      },
    });
    const choose = own
      ? ""
      : el("input", {
          type: "radio",
          name: "played",
          checked: state.played === key,
          "aria-label": `play ${TRACKS[key]}`,
          onchange: () => {
            state.played = key;
            episode.load(walks[key]);
          },
        });
    const length =
      key === "witness"
        ? data.verdict.length === null
          ? data.verdict.verdict
          : steps(data.verdict.length)
        : walk.actions
          ? outcomeText(walk)
          : walk.listed === null
            ? "does not complete the task"
            : steps(walk.listed);
    const name =
      key === "learned"
        ? `${TRACKS[key]} (${data.run.learner})`
        : key === "witness"
          ? `${TRACKS[key]}, from the map's start`
          : TRACKS[key];
    return el(
      "tr",
      {},
      el("td", {}, tick),
      el("td", {}, sample(`track ${key}`)),
      el("td", {}, name),
      el("td", { class: "number" }, length),
      el("td", { class: "number" }, own ? "" : show(walk.earned)),
      el("td", { class: "center" }, choose),
    );
  }

  const heats = [
    ["value", "values"],
    ["visits", "visits"],
    ["none", "plain"],
  ].filter(([key]) => key === "none" || (main && main[key]));
  const choices = el(
    "div",
    { class: "choices", role: "group", "aria-label": "what the map shows" },
    ...heats.map(([key, label]) =>
      control("radio", "heat", label, state.heat === key, () => {
        state.heat = key;
        repaint();
      }),
    ),
    main &&
      control("checkbox", "", "greedy arrows", true, (event) => {
        state.arrows = event.target.checked;
        repaint();
      }),
  );
  const notes = [];
  if (data.run && !data.run.isFollowed)
    notes.push(
      `The page does not know how ${data.run.learner} chooses, so what it learned is shown from the map's own start only.`,
    );
  if (data.slip)
    notes.push(
      `Moves slip with probability ${show(data.slip)}. The tracks show what happens when none does, and there is no verdict about shortest paths.`,
    );

  root.append(
    el(
      "div",
      { class: "columns" },
      el(
        "div",
        { class: "column" },
        panel(
          "",
          el("div", { class: "map-head" }, el("h2", {}, "Map, machine state ", stateName), choices),
          view.node,
          readout,
          legend(data, main),
        ),
        data.verdict && verdictPanel(data),
      ),
      el(
        "div",
        { class: "column" },
        panel(
          "Machine",
          machine.node,
          el("div", { class: "choices" }, el("label", { class: "control wide" }, "state shown ", stateSlider), follows),
        ),
        panel(
          "From this start",
          el(
            "table",
            { class: "tracks" },
            el(
              "thead",
              {},
              el("tr", {}, ...["show", "", "track", "length", "return", "play"].map((name) => el("th", {}, name))),
            ),
            tracks,
          ),
          el(
            "p",
            { class: "soft" },
            `Return is the reward discounted by ${show(gamma)} a step. Equal actions are settled in favour of the last of up, right, down, left.`,
          ),
          ...notes.map((note) => el("p", { class: "note" }, note)),
        ),
        panel("Episode", episode.node),
      ),
    ),
  );
  hover(-1);
  chooseState(world.first);
  walkAgain();
  return {
    world,
    policies,
    setStart(s) {
      state.start = s;
      walkAgain();
      return walks;
    },
    chooseState,
    episode,
  };
}
