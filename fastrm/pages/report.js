// The parts of a report: what was run, what it says, and learning curves.

function provenancePanel(data) {
  const rows = data.provenance.map(([name, value]) =>
    el(
      "tr",
      {},
      el("th", {}, name),
      el("td", {}, name === "command" || name === "experiment" ? el("code", {}, value) : value),
    ),
  );
  return panel(
    "Provenance",
    el(
      "details",
      {},
      el("summary", {}, "What was run, when and with what"),
      el("table", { class: "facts" }, el("tbody", {}, ...rows)),
    ),
  );
}

// What a reader wants to know first: how many runs, and the command as it was typed.
function reportHead(data) {
  const [command] = data.provenance.filter(([name]) => name === "command");
  return el(
    "header",
    {},
    el("h1", {}, data.title),
    el("p", { class: "soft" }, data.about, command && " · ", command && el("code", {}, command[1])),
    data.failures.length
      ? el("p", { class: "note" }, `${data.failures[0]} runs failed and are left out; the first: ${data.failures[1]}`)
      : null,
  );
}

function claimP(p) {
  return `p ${p < 0.001 ? "< 0.001" : p.toFixed(3)} (Holm)`;
}

function claimsPanel(claims, isOpen) {
  const held = claims.filter((claim) => claim.chip === "good").length;
  return panel(
    "Claims of the paper",
    el(
      "details",
      { open: isOpen },
      el("summary", {}, `${held} of ${claims.length} hold`),
      el(
        "ol",
        { class: "claims" },
        ...claims.map((claim) =>
          el(
            "li",
            { value: claim.number },
            el("p", {}, el("span", { class: `chip ${claim.chip}` }, claim.verdict), " ", claim.claim),
            el(
              "p",
              { class: "soft" },
              [
                claim.support,
                claim.cases ? claimP(claim.corrected_p) : "",
                claim.cases ? `${claim.cases_held} of ${claim.cases} cases hold` : "",
                claim.numbers,
              ]
                .filter(Boolean)
                .join(" · "),
            ),
            claim.reason || claim.failing.length
              ? el(
                  "details",
                  {},
                  el("summary", {}, "Why"),
                  claim.reason && el("p", {}, claim.reason),
                  claim.failing.length
                    ? el(
                        "p",
                        { class: "soft" },
                        `Cases that do not hold${claim.failing.length < claim.cases - claim.cases_held ? ", the first" : ""}: ${claim.failing.join("; ")}`,
                      )
                    : null,
                )
              : null,
          ),
        ),
      ),
    ),
  );
}

function findingsPanel(title, tables) {
  return panel(
    title,
    ...tables.map((table) => [
      el("h3", {}, table.title),
      el(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": table.title },
        el(
          "table",
          {},
          el("thead", {}, el("tr", {}, ...table.head.map((name) => el("th", {}, name)))),
          el("tbody", {}, ...table.rows.map((row) => el("tr", {}, ...row.map((cell) => el("td", {}, cell))))),
        ),
      ),
    ]),
  );
}

function curvesPanel(data, arrays, onmethod) {
  const info = data.curves,
    starts = [...new Set(data.methods.map((method) => method.start))];
  const look = { band: "quartiles", logX: true, logY: false, methods: new Set() };
  const bands = unfold(arrays.bands, [data.groups.length, 3, info.steps.length], info.bandsRange, info.levels);
  const means = info.meanSteps.length
    ? unfold(arrays.means, [data.groups.length, 3, info.meanSteps.length], info.meansRange, info.levels)
    : [];
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
    return chart(`${setup}, task ${task}`, lines, { ...info, isWide: panels.size === 1 }, ceilings.get(key), look, {
      method: isolate,
      read: (tick) => charts.forEach((one) => one.mark(tick)),
    });
  });
  // A click on a curve shows its method alone, another click all that were shown before.
  let before = null;
  function isolate(method) {
    const isAlone = before && look.methods.size === 1 && look.methods.has(method.label);
    const wanted = isAlone ? before : new Set([method.label]);
    before = isAlone ? null : before || new Set(look.methods);
    only((one) => wanted.has(one.label));
  }
  const redraw = () => charts.forEach((one) => one.draw());
  const choose = (name, options, change) =>
    el(
      "div",
      { class: "choices", role: "group", "aria-label": name },
      el("span", { class: "soft" }, name),
      ...options.map(([label, value, checked]) =>
        control("radio", name, label, checked, () => {
          change(value);
          redraw();
        }),
      ),
    );
  const boxes = new Map();
  const toggles = data.methods.map((method) => {
    const box = el("input", {
      type: "checkbox",
      "aria-label": `show ${method.name}`,
      onchange: () => {
        if (box.checked) look.methods.add(method.label);
        else look.methods.delete(method.label);
        redraw();
      },
    });
    boxes.set(method.label, box);
    return el(
      "li",
      {},
      box,
      methodSample(method),
      el(
        "button",
        {
          type: "button",
          class: "plain link",
          title: "open its runs",
          onclick: () => onmethod(null, null, method.label),
        },
        method.name,
      ),
      el("span", { class: "soft" }, ` ${method.label}`),
    );
  });
  function only(test) {
    look.methods = new Set(data.methods.filter(test).map((method) => method.label));
    boxes.forEach((box, label) => {
      box.checked = look.methods.has(label);
    });
    redraw();
  }
  const startChoice =
    starts.length > 1
      ? choose(
          "initial values",
          starts.map((start, k) => [start === null ? "as set" : start, start, k === 0]),
          (start) => only((method) => method.start === start),
        )
      : null;
  only((method) => method.start === starts[0]);
  const bandNames = Object.entries(BANDS).filter(([key]) => key !== "interval" || info.meanSteps.length);
  const node = panel(
    "Learning curves",
    el(
      "p",
      { class: "soft" },
      "A score of 1, the solid rule, is what the best policy earns that explores as much; the dashed rule is the most that any can settle at. Point at a panel, or focus it and use the arrow keys, to read values. Click a curve to see it alone, a name to open its runs. On a logarithmic axis scores below 0.01 are not drawn.",
    ),
    el(
      "div",
      { class: "toolbar no-print" },
      choose(
        "band",
        bandNames.map(([key, label]) => [label, key, key === "quartiles"]),
        (value) => {
          look.band = value;
        },
      ),
      choose(
        "steps",
        [
          ["logarithmic", true, true],
          ["linear", false, false],
        ],
        (value) => {
          look.logX = value;
        },
      ),
      choose(
        "score",
        [
          ["linear", false, true],
          ["logarithmic", true, false],
        ],
        (value) => {
          look.logY = value;
        },
      ),
      startChoice,
      el(
        "div",
        { class: "choices" },
        el("button", { type: "button", onclick: () => only(() => true) }, "All methods"),
        el("button", { type: "button", onclick: () => only(() => false) }, "None"),
      ),
    ),
    el("ul", { class: "legend methods" }, ...toggles),
    el("div", { class: panels.size === 1 ? "plots alone" : "plots" }, ...charts.map((one) => one.node)),
  );
  return { node, bands, means };
}
