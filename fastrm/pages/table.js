// A table that sorts by any column and copies itself as CSV.

const asCsv = (value) => (/[",\n]/.test(value) ? `"${value.replace(/"/g, '""')}"` : value);

// Columns are {name, hint, value: row -> text or number, text: row -> what is shown}.
function sortable(caption, columns, rows, onrow) {
  const body = el("tbody", {});
  let sorted = -1,
    falling = false,
    shown = rows;

  const heads = columns.map((column, k) =>
    el(
      "th",
      { scope: "col", title: column.hint || null, class: column.isNumber ? "number" : null },
      el("button", { type: "button", class: "plain", onclick: () => sortBy(k) }, column.name),
    ),
  );

  function order(a, b) {
    const [x, y] = [a, b].map(columns[sorted].value).map(number);
    if (typeof x === "number" && typeof y === "number") {
      // What never happened comes last, whichever way the table is sorted.
      if (!Number.isFinite(x) || !Number.isFinite(y)) return Number.isFinite(y) - Number.isFinite(x);
      return falling ? y - x : x - y;
    }
    return String(x).localeCompare(String(y), "en", { numeric: true }) * (falling ? -1 : 1);
  }

  function sortBy(k) {
    falling = sorted === k ? !falling : Boolean(columns[k].isNumber);
    sorted = k;
    shown = [...rows].sort(order);
    heads.forEach((head, i) =>
      i === k
        ? head.setAttribute("aria-sort", falling ? "descending" : "ascending")
        : head.removeAttribute("aria-sort"),
    );
    draw();
  }

  function draw() {
    body.replaceChildren(
      ...shown.map((row) =>
        el(
          "tr",
          onrow ? { class: "link", onclick: () => onrow(row) } : {},
          ...columns.map((column, k) => {
            const words = column.text(row);
            const cell =
              onrow && k === 0
                ? el(
                    "button",
                    {
                      type: "button",
                      class: "plain strong",
                      onclick: (event) => {
                        event.stopPropagation();
                        onrow(row);
                      },
                    },
                    words,
                  )
                : words;
            return el("td", { class: column.isNumber ? "number" : null }, cell);
          }),
        ),
      ),
    );
  }

  function csv() {
    const lines = [columns.flatMap((column) => column.csvNames || [column.name])];
    for (const row of shown)
      lines.push(
        columns.flatMap((column) =>
          (column.csv || ((r) => [column.value(r)]))(row).map((x) => (x === null ? "" : String(x))),
        ),
      );
    return `${lines.map((line) => line.map(asCsv).join(",")).join("\n")}\n`;
  }

  draw();
  return {
    csv,
    node: el(
      "div",
      {},
      el(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
        el("table", { class: "sortable" }, el("thead", {}, el("tr", {}, ...heads)), body),
      ),
      copyButton("Copy as CSV", csv),
    ),
  };
}
