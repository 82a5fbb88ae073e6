// Elements are made here and nowhere else. Text from data only ever becomes a text node, so it cannot act as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// Numbers that are not finite come as text, since JSON has none.
const number = (value) => (value === "inf" ? Infinity : value === "-inf" ? -Infinity : value === "nan" ? NaN : value);

function show(value) {
  const x = number(value);
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (!Number.isFinite(x)) return x > 0 ? "never" : "−∞";
  const size = Math.abs(x);
  const text =
    Number.isInteger(x) && size < 1e9
      ? grouped(x)
      : size >= 1e9 || (size > 0 && size < 1e-3)
        ? x.toExponential(2)
        : String(Number(x.toPrecision(6)));
  return text.replace("-", "−");
}

const steps = (n) => `${show(n)}\u00a0step${n === 1 ? "" : "s"}`;
const grouped = (n) => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");

// A label that is a control: a box to tick or a choice among several.
function control(type, name, label, checked, onchange, ...more) {
  return el(
    "label",
    { class: "control" },
    el("input", { type, name, checked, onchange }),
    ...more,
    el("span", {}, label),
  );
}

function panel(title, ...children) {
  return el("section", { class: "panel" }, title && el("h2", {}, title), ...children);
}

// A button that copies a text.
function copyButton(words, content) {
  const said = el("span", { class: "soft", "aria-live": "polite" });
  const button = el(
    "button",
    {
      type: "button",
      class: "no-print",
      onclick: async () => {
        const text = content();
        try {
          await navigator.clipboard.writeText(text);
        } catch {
          // not every browser lets a file from disk use the clipboard; a selected text it always does
          const area = el("textarea", { class: "hidden" });
          area.value = text;
          button.after(area);
          area.select();
          document.execCommand("copy");
          area.remove();
        }
        said.textContent = " copied";
        setTimeout(() => {
          said.textContent = "";
        }, 2000);
      },
    },
    words,
  );
  return el("p", { class: "copy" }, button, said);
}

// A button that changes between light and dark; at first the reader's system decides.
function themeButton() {
  const root = document.documentElement,
    isDark = () =>
      (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = el("button", { type: "button", class: "theme no-print" });
  const name = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.title = `show this page ${isDark() ? "light" : "dark"}`;
  };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    name();
  });
  name();
  return button;
}

document.getElementById("page").append(themeButton());
