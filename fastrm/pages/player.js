// An episode, step by step: what was read, what was paid, and the machine's state.

const MOST_ROWS = 500,
  AT_ONCE = 120; // rows; more are listed once the hand rests

function player(world, machine, onMoment) {
  let walk = null,
    at = 0,
    timer = 0,
    listing = 0;
  const body = el("tbody", {}),
    said = el("p", { class: "moment", "aria-live": "polite" });
  const slider = el("input", {
    type: "range",
    min: 0,
    value: 0,
    "aria-label": "step of the episode",
    oninput: () => go(Number(slider.value)),
  });
  const button = (text, onclick, hint) => el("button", { type: "button", onclick, title: hint }, text);
  const play = button("Play", toggle, "play or pause the episode");
  const box = el(
    "div",
    { class: "rows", tabindex: 0, role: "region", "aria-label": "all steps" },
    el(
      "table",
      { class: "steps" },
      el(
        "thead",
        {},
        el("tr", {}, ...["step", "cell", "move", "label", "state", "reward", "sum"].map((name) => el("th", {}, name))),
      ),
      body,
    ),
  );

  function pause() {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play";
  }

  function toggle() {
    if (timer) return pause();
    if (at >= walk.actions.length) go(0);
    play.textContent = "Pause";
    timer = setInterval(
      () => {
        if (at >= walk.actions.length) pause();
        else go(at + 1);
      },
      Math.max(30, Math.min(250, 15000 / (walk.actions.length || 1))),
    );
    return undefined;
  }

  function outcomeAt(k) {
    return k === walk.actions.length ? walk.outcome : LIVE;
  }

  function rowOf(k, sum) {
    const [row, column] = world.cell(walk.cells[k]);
    const name = machine.name(walk.states[k], outcomeAt(k));
    const words = k
      ? [
          k,
          `${row}, ${column}`,
          ARROWS[walk.actions[k - 1]],
          world.label(walk.cells[k]) || "–",
          name,
          show(walk.rewards[k - 1]),
          show(sum),
        ]
      : [0, `${row}, ${column}`, "", "", name, "", "0"];
    return el(
      "tr",
      {
        onclick: () => {
          pause();
          go(k);
        },
      },
      ...words.map((word) => el("td", {}, String(word))),
    );
  }

  function go(k, isRestart = false) {
    at = Math.max(0, Math.min(k, walk.actions.length));
    slider.value = at;
    for (const old of body.querySelectorAll(".now")) old.classList.remove("now");
    const line = body.children[at];
    if (line) {
      line.classList.add("now");
      box.scrollTop = line.offsetTop - box.clientHeight / 2; // only the list scrolls, never the page
    }
    const sum = walk.rewards.slice(0, at).reduce((total, paid) => total + paid, 0);
    const name = machine.name(walk.states[at], outcomeAt(at));
    said.textContent =
      at === 0
        ? `start, machine state ${name}`
        : `step ${at} of ${walk.actions.length}: label ${world.label(walk.cells[at]) || "none"}, reward ${show(walk.rewards[at - 1])}, ` +
          `sum ${show(sum)}, machine state ${name}` +
          (at === walk.actions.length && walk.loop >= 0 ? "; from here it repeats itself" : "");
    onMoment(walk.cells[at], walk.states[at], outcomeAt(at), at, isRestart);
  }

  function list() {
    let sum = 0;
    const count = Math.min(walk.cells.length, MOST_ROWS);
    const lines = Array.from({ length: count }, (_, k) => rowOf(k, k ? (sum += walk.rewards[k - 1]) : 0));
    if (count < walk.cells.length)
      lines.push(
        el("tr", {}, el("td", { colspan: 7 }, `the first ${MOST_ROWS} of ${walk.cells.length - 1} steps are listed`)),
      );
    body.replaceChildren(...lines);
    if (body.children[at]) body.children[at].classList.add("now");
  }

  return {
    bar: el(
      "div",
      { class: "player" },
      el(
        "div",
        { class: "buttons" },
        button(
          "Restart",
          () => {
            pause();
            go(0, true);
          },
          "back to the start",
        ),
        button(
          "Back",
          () => {
            pause();
            go(at - 1);
          },
          "one step back",
        ),
        play,
        button(
          "Step",
          () => {
            pause();
            go(at + 1);
          },
          "one step on",
        ),
        slider,
      ),
      said,
    ),
    list: box,
    load(next) {
      pause();
      walk = next;
      slider.max = walk.actions.length;
      clearTimeout(listing);
      if (walk.cells.length <= AT_ONCE) list();
      else {
        body.replaceChildren();
        listing = setTimeout(list, 150);
      }
      go(0);
    },
    go,
    at: () => at,
    pause,
  };
}
