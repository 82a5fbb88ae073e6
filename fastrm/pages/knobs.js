// Knobs for R, r and the discount, each above a strip that says where the verdict changes; and the finding in words.

// Slider stops of a reward: 0, two digits of every decade, and what the file itself says.
function rewardStops(own, top) {
  const last = Math.ceil(Math.log10(Math.max(Math.abs(own), top, 1e-3))),
    found = new Set([0, own]);
  for (let power = last - 6; power < last; power++) {
    for (let digits = 10; digits < 100; digits += digits < 20 ? 1 : digits < 50 ? 2 : 5) {
      const value = Number(`${digits}e${power - 1}`);
      found.add(value);
      if (own < 0) found.add(-value);
    }
  }
  return [...found].sort((a, b) => a - b);
}

function slide(name, hint, stops, format, onchange) {
  const strip = svg("svg", {
    class: "strip",
    viewBox: `0 0 ${stops.length} 1`,
    preserveAspectRatio: "none",
    "aria-hidden": "true",
  });
  const range = el("input", {
    type: "range",
    min: 0,
    max: stops.length - 1,
    "aria-label": hint,
    oninput: () => onchange(stops[Number(range.value)]),
  });
  const field = el("input", {
    type: "text",
    inputmode: "decimal",
    size: 8,
    "aria-label": `${hint}, as a number`,
    onchange: () => {
      const value = Number(field.value.replace(/[\s\u202f]/g, "").replace("−", "-"));
      if (field.value.trim() && Number.isFinite(value)) onchange(value);
      else field.value = format(stops[Number(range.value)]);
    },
  });
  return {
    node: el("div", { class: "knob", title: hint }, el("label", {}, el("b", {}, name), field), range, strip),
    set(value) {
      field.value = format(value);
      let near = 0;
      stops.forEach((stop, k) => {
        if (Math.abs(stop - value) < Math.abs(stops[near] - value)) near = k;
      });
      range.value = near;
      range.setAttribute("aria-valuetext", format(value));
    },
    // One rectangle per run of stops with the same verdict.
    paint(isGood) {
      const parts = [];
      stops.forEach((stop, k) => {
        const kind = isGood(stop) ? "good" : "bad",
          last = parts[parts.length - 1];
        if (last && last.kind === kind) last.width++;
        else parts.push({ kind, x: k, width: 1 });
      });
      strip.replaceChildren(
        ...parts.map(({ kind, x, width }) =>
          // thin where it is not so: the strip can be read without colours
          svg("rect", {
            class: `strip-${kind}`,
            x,
            width,
            ...(kind === "good" ? { height: 1 } : { y: 0.35, height: 0.3 }),
          }),
        ),
      );
    },
  };
}

// The panel of the finding; `onturn` is called with what was turned. Returns the node and a way to show a finding.
function knobsPanel(data, finder, onturn, ...buttons) {
  const knobs = data.knobs,
    chip = el("span", { class: "chip" }),
    words = el("p", { class: "finding", "aria-live": "polite" });
  const at = knobs.gammas.indexOf(data.gamma),
    critical = finder.find({ R: knobs.reward, r: knobs.step, stop: at }).critical;
  const plain = (value) => String(value).replace("-", "−");
  const controls = {};
  if (knobs.reward !== null)
    controls.R = slide(
      "R",
      "terminal reward R: what completing the task pays",
      rewardStops(knobs.reward, 4 * Math.max(critical || 0, knobs.reward)),
      plain,
      (R) => onturn({ R }),
    );
  if (knobs.step !== null)
    controls.r = slide(
      "r",
      "step reward r: what every other paid move pays",
      rewardStops(knobs.step, 20 * knobs.step),
      plain,
      (r) => onturn({ r: Math.max(0, r) }),
    );
  if (knobs.gammas.length > 1)
    controls.gamma = slide("γ", "discount γ: what a step later is worth", knobs.gammas, plain, (gamma) => {
      const near = knobs.gammas.reduce((best, one) => (Math.abs(one - gamma) < Math.abs(best - gamma) ? one : best));
      onturn({ stop: knobs.gammas.indexOf(near) });
    });
  const isGood = (setting) => finder.find(setting).verdict === "shortest";
  return {
    node: el(
      "section",
      { class: "panel finding-panel" },
      el("div", { class: "said" }, chip, words),
      el("div", { class: "knobs" }, ...Object.values(controls).map((one) => one.node)),
      el(
        "div",
        { class: "under" },
        el(
          "span",
          { class: "soft" },
          el("i", { class: "key strip-good" }),
          " every best policy takes a shortest path ",
          el("i", { class: "key strip-bad" }),
          " not so",
        ),
        ...buttons,
      ),
    ),
    show(setting, found, sentence) {
      chip.textContent = found.verdict;
      chip.className = `chip ${found.kind}`;
      words.textContent = sentence;
      const full = { ...setting, gamma: knobs.gammas[setting.stop] };
      for (const [name, one] of Object.entries(controls)) {
        one.set(full[name]);
        one.paint((value) =>
          isGood(name === "gamma" ? { ...setting, stop: knobs.gammas.indexOf(value) } : { ...setting, [name]: value }),
        );
      }
    },
  };
}

// The view in the address, so that a link keeps it.
const readAddress = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

function writeAddress(view) {
  const text = new URLSearchParams(Object.entries(view).filter(([, value]) => value !== null)).toString();
  history.replaceState(null, "", `#${text.replace(/%2C/g, ",")}`);
}

// A picture of an SVG as it looks now: computed styles become attributes, as a picture has no style sheet.
const KEPT = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-linecap",
  "stroke-linejoin",
  "stroke-dasharray",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "dominant-baseline",
  "paint-order",
  "visibility",
];

async function savePicture(node, name, ground, width = 1200) {
  const copy = node.cloneNode(true),
    olds = [node, ...node.querySelectorAll("*")],
    news = [copy, ...copy.querySelectorAll("*")];
  olds.forEach((old, k) => {
    const style = getComputedStyle(old);
    for (const key of KEPT) news[k].setAttribute(key, style.getPropertyValue(key));
    news[k].removeAttribute("class");
    news[k].removeAttribute("style");
  });
  const box = node.viewBox.baseVal,
    height = Math.round((width * box.height) / box.width);
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  await image.decode();
  const canvas = el("canvas", { width, height }),
    pen = canvas.getContext("2d");
  pen.fillStyle = getComputedStyle(ground).backgroundColor;
  pen.fillRect(0, 0, width, height);
  pen.drawImage(image, 0, 0, width, height);
  const link = el("a", { href: canvas.toDataURL("image/png"), download: name });
  link.click();
  return link.href;
}
