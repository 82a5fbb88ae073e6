// The machine: its picture, made of shapes that Python chose, and states that can be clicked.

function machineView(machine, onState) {
  const boxes = new Map();
  const build = ([tag, attributes, text, children]) => svg(tag, attributes, text, ...children.map(build));
  const names = [...machine.states, ...machine.ends.success, ...machine.ends.failure];
  let picture = el("pre", { class: "machine-text" }, machine.text.join("\n"));
  if (machine.graph) {
    const [width, height] = machine.graph.size;
    const covers = Object.entries(machine.graph.boxes).map(([name, [x, y, w, h]]) => {
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
      svg("g", { class: "machine-shapes" }, ...machine.graph.shapes.map(build)),
      ...covers,
    );
    drawn.style.width = `${Math.round(width)}px`;
    // A picture scrolls rather than shrinks beyond what can be read.
    drawn.style.minWidth = `${Math.round(Math.min(width, width > 900 ? 1000 : 460))}px`;
    picture = el("div", { class: "machine" }, drawn);
  }
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
      if (!box || !picture.isConnected) return;
      const inner = box.getBoundingClientRect(),
        outer = picture.getBoundingClientRect();
      picture.scrollLeft += (inner.left + inner.right - outer.left - outer.right) / 2;
      picture.scrollTop += (inner.top + inner.bottom - outer.top - outer.bottom) / 2;
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
