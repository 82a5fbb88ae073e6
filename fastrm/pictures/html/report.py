"""The page of a result file: what was run, what it says, curves, tables, and single runs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np

import fastrm
from fastrm.errors import ConfigError, FastrmError, did_you_mean, shown
from fastrm.pictures.curves import has_curves
from fastrm.pictures.html import page, still
from fastrm.pictures.html.explain import SCRIPTS
from fastrm.pictures.html.findings import findings_data
from fastrm.pictures.html.report_data import (
    Groups,
    comparisons,
    curves_data,
    methods_data,
    replays as replays_of,
    runs_arrays,
    runs_shown,
    summary_data,
    sweeps_data,
)
from fastrm.pictures.panels import groups_of
from fastrm.results import Results, band
from fastrm.studies import Claim, judge

PROVENANCE = ("command", "started", "ended", "fastrm", "git_commit", "machine", "semantics", "schema", "experiment")
OWN_SCRIPTS = ("table.js", "chart.js", "report_tables.js", "runs_dialog.js", "report.js", "report_page.js")
REPLAYS = 12
"""Runs whose tables a page holds; each takes about 15 kB and a second."""
MOST_REPLAYS = 100
_CHIPS = {"holds": "good", "holds on most maps": "mostly", "does not hold": "bad", "not in this file": "absent"}


def report_page(
    results: Results,
    *,
    claims: Sequence[Claim] | None = None,
    against: str | None = None,
    all_runs: bool = False,
    replays: int = REPLAYS,
    verdicts: bool = True,
) -> str:
    """Return a web page, in one file, about a result file.

    It shows what was run, the claims of the paper or the findings about initial values, learning curves, tables,
    comparisons, and single runs with what they learned.

    Parameters
    ----------
    results : Results
        A loaded result file.
    claims : sequence of Claim, optional
        The claims, where they have been judged already.
    against : str, optional
        The method that all others are compared with; the first by default.
    all_runs : bool
        List every run; by default the best, the median and the worst of each group.
    replays : int
        How many runs can be walked on the page; they are learned again.
    verdicts : bool
        Judge the claims, where they are not given, and add exact verdicts to the findings; takes up to half a minute.

    Raises
    ------
    ConfigError
        When there is nothing to show.
    """
    if not has_curves(results):
        raise ConfigError(f"{results.path or 'these results'}: no curves to show (no runs, all failed, or no ticks)")
    groups = groups_of(results)
    labels = list(dict.fromkeys(label for _, _, label in groups))
    base = against or labels[0]
    if base not in labels:
        raise ConfigError(
            f"against={shown(base)}: no such method{did_you_mean(base, labels)}; there are {', '.join(labels)}"
        )
    if isinstance(replays, bool) or not isinstance(replays, int) or not 0 <= replays <= MOST_REPLAYS:
        raise ConfigError(f"replays={shown(replays)}: must be a whole number from 0 to {MOST_REPLAYS}")
    curves, arrays = curves_data(results, groups)
    shown_runs = runs_shown(results, groups, everything=all_runs)
    maps, columns = runs_arrays(results, shown_runs)
    plain = not (results.swept or results.plan.warm_start)
    starts = plain and any(method.optimism is not None for method in results.plan.methods)
    judges = plain and not starts and (claims is not None or verdicts)
    name = str(json.loads(results.attributes["experiment"]).get("name", ""))
    file = results.path.name if results.path else "results.h5"
    data: dict[str, Any] = {
        "title": f"{name}: {file}",
        "about": f"{results!r}"[1:-1].removeprefix("Results "),
        "file": file,
        "shellFile": shlex.quote(file),
        "version": fastrm.__version__,
        "provenance": [[key, str(results.attributes[key])] for key in PROVENANCE if key in results.attributes],
        "failures": _failures(results),
        "groups": [list(key) for key in groups],
        "methods": methods_data(groups),
        "curves": curves,
        "summary": summary_data(results),
        "against": base,
        "comparisons": comparisons(results, groups, base),
        "claims": _claims(results, claims) if judges else [],
        "findings": findings_data(results, exact=verdicts) if starts else sweeps_data(results),
        "findingsTitle": "Findings" if starts else "Swept settings",
        "maps": maps,
        "allRuns": all_runs,
        "replays": replays_of(results, groups, shown_runs, replays),
        "arrays": page.pack(arrays | columns),
    }
    return page.assemble(data["title"], (*SCRIPTS, *OWN_SCRIPTS), data, _still(results, groups, data))


def _claims(results: Results, claims: Sequence[Claim] | None) -> list[dict[str, Any]]:
    """Return the claims as plain data; none where the file is not about them."""
    try:
        judged = judge(results) if claims is None else claims
    except FastrmError:
        return []
    found = []
    for claim in judged:
        row = claim.to_dict()
        row["failing"] = row["failing"][:20]
        found.append(row | {"chip": _CHIPS.get(claim.verdict, "unsure")})
    return found


def _failures(results: Results) -> list[Any]:
    errors = results["error"]
    failed = errors[errors != ""]
    return [len(failed), str(failed[0])] if len(failed) else []


def _still(results: Results, groups: Groups, data: dict[str, Any]) -> str:
    """Return the page without scripts: claims in words, medians as curves."""
    looks = {method["label"]: method for method in data["methods"]}
    steps = results["step"]
    ticks = np.unique(np.linspace(0, len(steps) - 1, 60).astype(np.int64))
    panels: dict[str, list[still.Line]] = {}
    for (setup, task, label), rows in groups.items():
        heights = band(results["score"][rows][:, ticks], [50])[0].tolist()
        line = label, looks[label]["kind"], looks[label]["dashes"], heights
        panels.setdefault(f"{setup}, task {task}", []).append(line)
    low, high = data["curves"]["bandsRange"]
    said = "".join(f"<li>{page.text(c['claim'])}: <b>{page.text(c['verdict'])}</b></li>" for c in data["claims"])
    return (
        f"<h1>{page.text(data['title'])}</h1><p>{page.text(data['about'])}</p><ol>{said}</ol>"
        f"<p>Median scores, from {low:.3g} to {high:.3g} upwards, over {steps[0]} to {steps[-1]} training steps. "
        f"With JavaScript this page also has tables, intervals and single runs.</p>"
        f"{still.still_curves(panels, low, high)}"
    )
