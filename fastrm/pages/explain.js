// A problem explained: the finding and its knobs, the map with its player, the machine, and what is exactly true.

async function mountExplain(root, data, { hasAddress = false } = {}) {
  const arrays = await unpack(data.arrays),
    world = makeWorld(data, arrays),
    knobs = data.knobs,
    finder = knobs && makeFinder(knobs),
    solver = data.policies.optimal ? null : makeSolver(world);
  const policies = {};
  for (const [key, info] of Object.entries(data.policies)) policies[key] = makePolicy(arrays, key, info);
  if (solver) policies.shortest = plainPolicy(world, solver.shortest);
  const setting = knobs && { R: knobs.reward, r: knobs.step, stop: knobs.gammas.indexOf(data.gamma) };
  const learned = policies.learned;
  const state = {
    start: world.start,
    u: world.first,
    heat: learned ? "learned" : "optimal",
    arrows: true,
    played: learned ? "learned" : "optimal",
  };
  const shown = new Set(learned ? ["learned", "optimal"] : ["optimal", "shortest"]);
  let walks = {},
    found = null;

  const readout = el("p", { class: "readout" });
  const view = mapView(world, data, chooseStart, hover);
  const machine = machineView(data.machine, (u) => chooseState(u));
  const episode = player(world, machine, (s, u, outcome, at, isRestart) => {
    view.setAgent(at ? s : null);
    machine.visit(u, outcome);
    if ((at || isRestart) && u < world.states && u !== state.u && following.checked) chooseState(u);
    tell();
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
  const facts = el("div", {});
  const scale = scaleBar();

  // What the map shows in a machine state: levels of cells, and the numbers at the ends of the scale.
  function heatOf(u) {
    if (state.heat === "plain") return null;
    if (state.heat === "optimal" && solver) {
      const values = Float64Array.from({ length: world.count }, (_, s) => valueAt(s, u));
      return levelsOf(values);
    }
    const from = policies[state.heat === "visits" ? "learned" : state.heat],
      column = state.heat === "visits" ? from.visits : from.value;
    const level = Uint8Array.from({ length: world.count }, (_, s) => column[s * world.states + u]);
    return { level, ends: state.heat === "visits" ? null : [1, LEVELS >> 1, LEVELS].map((one) => from.scale(u, one)) };
  }

  const valueAt = (s, u) => solver.value[s * world.states + u] - (world.phi ? world.phi(s, u) : 0);
  const arrowsFrom = () => (state.heat === "optimal" || !learned ? policies.optimal : learned);

  function hover(s) {
    if (s < 0) {
      readout.textContent = "Point at a cell to read it. Drag the start, or focus it and use the arrow keys.";
      return;
    }
    const [row, column] = world.cell(s),
      policy = arrowsFrom(),
      words = [`row ${row}, column ${column}`];
    if (world.label(s)) words.push(`object ${world.label(s)}`);
    if (policy === policies.optimal && solver) words.push(`value ${show(valueAt(s, state.u))}`);
    else {
      const level = policy.value[s * world.states + state.u];
      words.push(level ? `value about ${show(policy.scale(state.u, level))}` : "value never updated");
    }
    words.push(`best move ${ACTIONS[policy.action(s, policy.option(world, s, state.u))]}`);
    if (policy.visits) words.push(policy.visits[s * world.states + state.u] ? "visited" : "never visited");
    readout.textContent = words.join(" · ");
  }

  function repaint() {
    const heat = heatOf(state.u);
    view.showHeat(heat && heat.level);
    view.showArrows(state.arrows ? arrowsFrom() : null, state.u);
    scale.set(heat && heat.ends, state.heat);
  }

  function chooseState(u) {
    state.u = u;
    stateSlider.value = u;
    stateName.textContent = data.machine.states[u];
    machine.select(u);
    repaint();
    tell();
  }

  function drawTracks() {
    const named = Object.keys(TRACKS).filter((key) => shown.has(key) && walks[key]);
    view.showTracks(named.map((name) => ({ name, cells: walks[name].cells, loops: walks[name].loop >= 0 })));
    view.showMark(shown.has("optimal") && solver ? solver.leavesAt(walks.optimal) : null);
  }

  function onshow(key, isShown) {
    if (isShown) shown.add(key);
    else shown.delete(key);
    drawTracks();
    repaint();
  }

  function onplay(key) {
    state.played = key;
    episode.load(walks[key]);
  }

  function solveNow() {
    if (!solver) return;
    world.gamma = setting ? knobs.gammas[setting.stop] : data.gamma;
    if (setting) {
      world.pay(setting.R, setting.r);
      machine.repay(knobs, setting);
    }
    solver.solve(world.paid, world.gamma);
    found = finder && finder.find(setting);
    const from = (prefer) => {
      policies.optimal = plainPolicy(world, solver.settle(world.paid, world.gamma, prefer));
      return follow(world, policies.optimal, world.start, world.first);
    };
    // Where rounding hides which of two actions is better, the exact verdict decides.
    const isShortest = found && found.verdict === "shortest";
    let walk = from(isShortest ? "shortest" : found && found.isTied ? "other" : null);
    if (found && !isShortest && !found.isTied && (walk.length === null) !== (found.length === null))
      walk = from("other");
    if (found)
      panelOfFinding.show(setting, found, inWords(world, knobs, { ...setting, gamma: world.gamma }, found, walk));
  }

  function turn(change) {
    Object.assign(setting, change);
    if (state.heat === "learned" && learned) chooseHeat("optimal");
    solveNow();
    walkAgain();
    repaint();
    facts.replaceChildren(factsTable(data, setting, found, solver, walks, world));
  }

  function chooseHeat(key) {
    state.heat = key;
    choices.check(key);
  }
  function chooseStart(s) {
    state.start = s;
    walkAgain();
    view.showArrows(state.arrows ? arrowsFrom() : null, state.u);
  }

  function walkAgain() {
    walks = {};
    for (const key of Object.keys(TRACKS))
      if (policies[key]) walks[key] = follow(world, policies[key], state.start, world.first);
    if (data.run && !data.run.isFollowed && state.start === world.start) {
      walks.learned = { cells: data.run.path.map(([row, column]) => world.at(row, column)), listed: data.run.length };
    }
    tracks.replaceChildren(
      ...Object.keys(TRACKS)
        .filter((key) => walks[key])
        .map((key) => trackRow(data, key, walks[key], shown.has(key), state.played === key, { onshow, onplay })),
    );
    view.setStart(state.start);
    drawTracks();
    episode.load(walks[state.played]);
  }

  function tell() {
    if (!hasAddress || !isMounted) return;
    const full = setting && { R: setting.R, r: setting.r, gamma: knobs.gammas.length > 1 ? world.gamma : null };
    writeAddress({ ...full, start: world.cell(state.start).join(","), state: state.u, step: episode.at() });
  }

  function readView() {
    const given = readAddress(),
      whole = (text, below) => (/^\d+$/.test(text || "") && Number(text) < below ? Number(text) : null);
    if (setting) {
      for (const name of ["R", "r"])
        if (setting[name] !== null && given[name] && Number.isFinite(Number(given[name])))
          setting[name] = Number(given[name]);
      const stop = knobs.gammas.indexOf(Number(given.gamma));
      if (stop >= 0) setting.stop = stop;
      if (
        learned &&
        (given.R || given.gamma) &&
        (setting.R !== knobs.reward || knobs.gammas[setting.stop] !== data.gamma)
      )
        chooseHeat("optimal");
    }
    const [row, column] = (given.start || "").split(",").map(Number),
      s = Number.isInteger(row) && Number.isInteger(column) ? world.at(row, column) : -1;
    if (s >= 0) state.start = s;
    return { u: whole(given.state, world.states), step: whole(given.step, 1e6) };
  }

  const choices = heatChoices(learned, (heat, arrows) => {
    Object.assign(state, { heat, arrows });
    repaint();
  });
  const picture = () =>
    savePicture(view.node, `${data.machine.name}.png`.replace(/[^\w.{}()+ -]/g, "_"), view.node.closest(".panel"));
  const buttons = [
    hasAddress && copyButton("Copy link", () => location.href),
    el("button", { type: "button", class: "no-print", onclick: picture }, "Save map as PNG"),
  ];
  const panelOfFinding = finder && knobsPanel(data, finder, turn, ...buttons);

  root.append(
    panelOfFinding ? panelOfFinding.node : "",
    el(
      "div",
      { class: "columns" },
      el(
        "div",
        { class: "column" },
        panel(
          "",
          el(
            "div",
            { class: "map-head" },
            el("h2", {}, data.machine.isNamedByDone ? "Map, done: " : "Map, machine state ", stateName),
            choices.node,
          ),
          el("div", { class: "stage" }, view.node, episode.bar),
          scale.node,
          readout,
          legend(data, Boolean(learned)),
        ),
      ),
      el(
        "div",
        { class: "column" },
        panel(
          "Machine",
          machine.node,
          el(
            "div",
            { class: "choices" },
            world.states > 1 && el("label", { class: "control wide" }, "state shown ", stateSlider),
            follows,
          ),
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
            "Return: the sum of rewards, each worth γ times less a step later; of a loop, all its rounds. Equally good moves are settled in favour of the last of up, right, down, left.",
          ),
          ...notesOf(data).map((note) => el("p", { class: "note" }, note)),
        ),
        data.verdict && panel("Exactly", facts),
        panel("Episode", episode.list),
      ),
    ),
  );
  let isMounted = false;
  hover(-1);
  const { u, step } = hasAddress ? readView() : { u: null, step: null };
  solveNow();
  walkAgain();
  if (step) episode.go(step);
  chooseState(u === null ? world.first : u);
  if (data.verdict) facts.replaceChildren(factsTable(data, setting, found, solver, walks, world));
  isMounted = true;
  return {
    world,
    policies,
    solver,
    finder,
    setting,
    chooseState,
    episode,
    turn,
    picture,
    setStart: (s) => (chooseStart(s), walks),
    valueAt,
    walks: () => walks,
    found: () => found,
  };
}
