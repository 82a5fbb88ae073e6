// The map: walls, fences, objects, a heat of values, greedy arrows, tracks, and a start that can be moved.

const HEAT_LEVELS = SYMBOLS.heatLevels;
const DENSE = 56; // cells along a side beyond which arrows thin out

const startMark = (attributes) =>
  svg("g", { class: "start", ...attributes }, svg("circle", { r: 0.62 }), svg("path", { d: SYMBOLS.start }));

// A disc with the letter of an object; `transform` places and scales it.
const objectMark = (letter, kind, transform) =>
  svg(
    "g",
    { class: "mark", transform },
    svg("circle", { class: `disc object-${kind % SYMBOLS.objects}`, r: 0.46 }),
    svg("text", { class: "letter" }, letter),
  );

function mapView(world, data, onStart, onHover) {
  const layers = {
    ground: svg("path", { class: "ground" }),
    masked: svg("path", { class: "masked" }),
    heat: svg("g", {}),
    walls: svg("path", { class: "wall" }),
    fences: svg("path", { class: "fence" }),
    arrows: svg("path", { class: "arrows" }),
    tracks: svg("g", {}),
    objects: svg("g", {}),
    mark: svg("g", {}),
    agent: svg("circle", { class: "agent", r: 0.3, visibility: "hidden" }),
    start: startMark({ tabindex: 0, role: "application" }),
  };
  const picture = svg(
    "svg",
    {
      class: "map",
      viewBox: `0 0 ${world.width} ${world.height}`,
      role: "group",
      "aria-label": "the map",
    },
    ...Object.values(layers),
  );
  // Marks keep a size that can be seen, however small the cells are.
  const grow = Math.max(1, Math.max(world.width, world.height) / 45);
  picture.style.setProperty("--grow", grow);
  const tile = (row, column) => `M${column} ${row}h1v1h-1z`;
  const middle = (s, shift = 0) =>
    world
      .cell(s)
      .map((place) => place + 0.5 + shift)
      .reverse();

  let walls = "";
  data.map.rows.forEach((line, row) =>
    [...line].forEach((letter, column) => {
      if (letter === data.map.wall) walls += tile(row, column);
      const kind = data.map.objects.indexOf(letter);
      if (kind >= 0) {
        const at = `translate(${column + 0.5} ${row + 0.5}) scale(${grow})`;
        layers.objects.append(objectMark(letter, kind, at));
      }
    }),
  );
  layers.walls.setAttribute("d", walls);
  layers.fences.setAttribute(
    "d",
    data.map.fences
      .map(([row, column, below]) => (below ? `M${column} ${row + 1}h1` : `M${column + 1} ${row}v1`))
      .join(""),
  );
  const tiles = Array.from({ length: world.count }, (_, s) => tile(...world.cell(s)));
  layers.ground.setAttribute("d", tiles.join(""));
  let covered = new Set(); // cells below tracks

  // One path per shade keeps large maps quick: a dozen elements, however many cells.
  function showHeat(levels) {
    const paths = Array(HEAT_LEVELS).fill("");
    let masked = "";
    for (let s = 0; levels && s < world.count; s++) {
      const level = levels[s];
      if (level) paths[Math.floor(((level - 1) * HEAT_LEVELS) / LEVELS)] += tiles[s];
      else masked += tiles[s];
    }
    layers.heat.replaceChildren(...paths.map((d, k) => svg("path", { class: `heat-${k}`, d })));
    layers.masked.setAttribute("d", masked);
  }

  // No arrow lies below an object or a track.
  function showArrows(policy, u) {
    const every = Math.max(1, Math.ceil(Math.max(world.width, world.height) / DENSE));
    const long = 0.27 * every,
      head = 0.15 * every;
    let d = "";
    for (let s = 0; policy && s < world.count; s++) {
      const [row, column] = world.cell(s);
      if (row % every || column % every || covered.has(s) || world.label(s)) continue;
      if (policy.value && !policy.value[s * world.states + u]) continue;
      const [y, x] = OFFSETS[policy.action(s, policy.option(world, s, u))],
        [cx, cy] = [column + 0.5, row + 0.5];
      const tip = [cx + long * x, cy + long * y];
      d += `M${cx - long * x} ${cy - long * y}L${tip}`;
      for (const side of [1, -1]) d += `M${tip}L${tip[0] - head * (x + side * y)} ${tip[1] - head * (y + side * x)}`;
    }
    layers.arrows.setAttribute("d", d);
    layers.arrows.setAttribute("stroke-width", 0.07 * every);
  }

  // Tracks lie a little beside one another, so that none hides another.
  function showTracks(tracks) {
    covered = new Set(tracks.flatMap(({ cells }) => cells));
    const parts = tracks.map(({ name, cells, loops }, k) => {
      const shift = (k - (tracks.length - 1) / 2) * 0.16 * grow;
      const points = cells
        .map((s) =>
          middle(s, shift)
            .map((x) => x.toFixed(2))
            .join(","),
        )
        .join(" ");
      const [x, y] = middle(cells[cells.length - 1], shift);
      const again = loops && [
        svg("circle", { class: `again ${name}`, cx: x, cy: y, r: 0.3 * grow }),
        svg("text", { class: "letter", transform: `translate(${x} ${y}) scale(${grow})` }, "∞"),
      ];
      return [svg("polyline", { class: "casing", points }), svg("polyline", { class: `track ${name}`, points }), again];
    });
    layers.tracks.replaceChildren(...parts.flat(2).filter(Boolean));
  }

  function showMark(cell) {
    layers.mark.replaceChildren(
      ...(cell ? [svg("circle", { class: "leaves", cx: cell[1] + 0.5, cy: cell[0] + 0.5, r: 0.66 * grow })] : []),
    );
  }

  function place(node, s) {
    const [x, y] = middle(s);
    node.setAttribute("transform", `translate(${x} ${y}) scale(${grow})`);
  }

  function setStart(s) {
    place(layers.start, s);
    const [row, column] = world.cell(s);
    layers.start.setAttribute("aria-label", `start cell, row ${row}, column ${column}; the arrow keys move it`);
  }

  function setAgent(s) {
    layers.agent.setAttribute("visibility", s === null ? "hidden" : "visible");
    if (s !== null) place(layers.agent, s);
  }

  function under(event) {
    const box = picture.getBoundingClientRect();
    const row = Math.floor(((event.clientY - box.top) / box.height) * world.height);
    return world.at(row, Math.floor(((event.clientX - box.left) / box.width) * world.width));
  }

  let dragged = false;
  picture.addEventListener("pointerdown", (event) => {
    const s = under(event);
    // A finger that moves over the map scrolls the page, unless it holds the start.
    if (s < 0 || event.button || (event.pointerType === "touch" && !event.target.closest(".start"))) return;
    dragged = true;
    picture.setPointerCapture(event.pointerId);
    onStart(s);
  });
  picture.addEventListener("pointermove", (event) => {
    const s = under(event);
    if (dragged && s >= 0) onStart(s);
    onHover(s);
  });
  for (const end of ["pointerup", "pointercancel"])
    picture.addEventListener(end, () => {
      dragged = false;
    });
  picture.addEventListener("click", (event) => {
    const s = under(event);
    if (s >= 0 && String(world.cell(s)) !== String(layers.start.cell)) onStart(s);
  });
  picture.addEventListener("pointerleave", () => onHover(-1));
  layers.start.addEventListener("keydown", (event) => {
    const a = ["ArrowUp", "ArrowRight", "ArrowDown", "ArrowLeft"].indexOf(event.key);
    if (a < 0) return;
    event.preventDefault();
    let [row, column] = layers.start.cell;
    do {
      row += OFFSETS[a][0];
      column += OFFSETS[a][1];
    } while (row >= 0 && column >= 0 && row < world.height && column < world.width && world.at(row, column) < 0);
    if (world.at(row, column) >= 0) onStart(world.at(row, column));
  });
  return {
    node: picture,
    showHeat,
    showArrows,
    showTracks,
    showMark,
    setAgent,
    setStart(s) {
      layers.start.cell = world.cell(s);
      setStart(s);
    },
  };
}
