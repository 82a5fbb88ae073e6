// The page of one result file.

(async () => {
  const data = JSON.parse(document.getElementById("data").textContent),
    page = document.getElementById("page");
  const arrays = await unpack(data.arrays);
  data.runs = runsOf(data, arrays);
  const dialog = runsDialog(data),
    summary = summaryPanel(data, dialog.open),
    curves = curvesPanel(data, arrays, dialog.open),
    overall = overallPanel(data, arrays, dialog.open);
  page.append(
    reportHead(data),
    el(
      "div",
      { class: "column" },
      curves.node,
      data.claims.length && data.isPaper ? claimsPanel(data.claims, true) : null,
      data.findings.length ? findingsPanel(data.findingsTitle, data.findings) : null,
      overall.node,
      summary.node,
      data.comparisons.length ? comparisonPanel(data) : null,
      data.claims.length && !data.isPaper ? claimsPanel(data.claims, false) : null,
      provenancePanel(data),
    ),
    el("footer", {}, el("p", {}, `fastrm ${data.version}`)),
    dialog.node,
  );
  window.fastrm = {
    data,
    bands: curves.bands,
    means: curves.means,
    csv: summary.table.csv,
    overall,
    openRuns: dialog.open,
  };
  document.body.dataset.ready = "yes";
})();
