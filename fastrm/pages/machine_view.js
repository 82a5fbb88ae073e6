// The machine: its picture, made of shapes that Python chose, and states that can be clicked.

function machineView(machine, onState) {
  const boxes = new Map();
  const build = ([tag, attributes, text, children]) => svg(tag, attributes, text, ...children.map(build));
  const names = [...machine.states, ...machine.ends.success, ...machine.ends.failure];
  let picture = el("pre", { class: "machine-text" }, machine.text.join("\n"));
  const graph = innerWidth < 600 && machine.narrow ? machine.narrow : machine.graph; // rows on a phone
  if (graph) {
    const [width, height] = graph.size;
    const covers = Object.entries(graph.boxes).map(([name, [x, y, w, h]]) => {
      const u = machine.states.indexOf(name),
        round = Math.min(w, h) / 2;
      const cover = svg("rect", {
        class: `state${u < 0 ? " end" : ""}`,
        x: x - 3,
        y: y - 3,
        width: w + 6,
        height: h + 6,
        rx: round + 3,
        ry: round + 3,
        role: u < 0 ? null : "button",
        tabindex: u < 0 ? null : 0,
        "aria-label": `machine state ${name}`,
        onclick: () => u >= 0 && onState(u),
        onkeydown: (event) => {
          if (u >= 0 && (event.key === "Enter" || event.key === " ")) {
            event.preventDefault();
            onState(u);
          }
        },
      });
      boxes.set(name, cover);
      return cover;
    });
    const drawn = svg(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "the machine" },
      svg("g", { class: "machine-shapes" }, ...graph.shapes.map(build)),
      ...covers,
    );
    drawn.style.width = `${Math.round(width)}px`;
    // A picture scrolls rather than shrinks beyond what can be read.
    drawn.style.minWidth = `${Math.round(Math.min(width, graph === machine.narrow ? 300 : width > 900 ? 1000 : 460))}px`;
    picture = el("div", { class: "machine" }, drawn);
  }
  // Of many states: the chosen one, what is done in it, and where its edges lead.
  const beside = machine.near && el("div", { class: "near" });
  const letters = [...new Set(machine.states.flatMap((name) => name.split("+")))]
    .filter((one) => one !== "none")
    .sort();
  function showNear(u) {
    const done = machine.states[u].split("+");
    const rows = machine.near[u].map(([target, ...texts]) => {
      const v = machine.states.indexOf(target);
      const name =
        v === u ? "stays" : v < 0 ? target : el("button", { type: "button", onclick: () => onState(v) }, target);
      return el("tr", {}, el("td", {}, texts.join("; ")), el("td", {}, v === u ? "" : "→"), el("td", {}, name));
    });
    beside.replaceChildren(
      machine.isNamedByDone
        ? el(
            "ul",
            { class: "ticks", "aria-label": "what is done" },
            ...letters.map((one) =>
              el("li", { class: done.includes(one) ? "done" : null }, one, done.includes(one) ? " ✓" : " –"),
            ),
          )
        : "",
      el("table", { class: "edges" }, el("tbody", {}, ...rows)),
    );
  }
  const whole = picture;
  if (beside)
    picture = el("div", {}, beside, el("details", {}, el("summary", {}, `all ${machine.states.length} states`), whole));

  // Edges that pay what a knob turns say what they pay now.
  const texts = [...picture.querySelectorAll("text")].map((node) => ({
    node,
    words: /^(.* : )(\S+)$/.exec(node.textContent),
  }));
  return {
    node: picture,
    repay(knobs, { R, r }) {
      for (const { node, words } of texts) {
        if (!words) continue;
        const own = Number(words[2]),
          paid = own === knobs.reward ? R : own === knobs.step ? r : null;
        if (paid !== null) node.textContent = words[1] + String(paid).replace("-", "−");
      }
    },
    select(u) {
      boxes.forEach((box, name) => box.classList.toggle("chosen", machine.states[u] === name));
      const box = boxes.get(machine.states[u]);
      if (beside) showNear(u);
      if (!box || !whole.offsetParent) return;
      const inner = box.getBoundingClientRect(),
        outer = whole.getBoundingClientRect();
      whole.scrollLeft += (inner.left + inner.right - outer.left - outer.right) / 2;
      whole.scrollTop += (inner.top + inner.bottom - outer.top - outer.bottom) / 2;
    },
    // The machine state an episode is in; an end by its kind, since several may share it.
    visit(u, outcome) {
      const ends = outcome === SUCCESS ? machine.ends.success : outcome === FAILURE ? machine.ends.failure : [];
      const here = u === null ? [] : u < machine.states.length ? [machine.states[u]] : ends;
      boxes.forEach((box, name) => box.classList.toggle("here", here.includes(name)));
    },
    name: (u, outcome) => (u < machine.states.length ? machine.states[u] : outcome === SUCCESS ? "success" : "failure"),
    names,
  };
}
