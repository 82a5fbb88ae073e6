"""The page of a result file: what was run, what it says, curves, tables, comparisons, statistics, and single runs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import fastrm
from fastrm import plots
from fastrm.arrays import Array
from fastrm.checks import check_choice, check_whole
from fastrm.errors import ConfigError, FastrmError
from fastrm.experiments import Method, method_of, problem_of, replay
from fastrm.learners import acts_by_state
from fastrm.pages import page
from fastrm.pages.explain import SCRIPTS, explain_data
from fastrm.results import Results, band, holm, interval_of_mean, maps_of, mean_over_maps, methods_without

Groups = Mapping[plots.Group, Array]
"""Rows of the runs of every group that has some."""

MOST_TICKS, INTERVAL_TICKS = 240, 20
"""Ticks of a curve, and ticks at which the mean over maps gets its interval, which is resampled and takes a while."""
MOST_INTERVALS = 4000
OVERALL_TICKS = 80
"""Ticks of a survival curve."""
PRECISION = 2000
"""Levels between the lowest and the highest score: nobody sees more on a curve."""
PROVENANCE = ("command", "started", "ended", "fastrm", "git_commit", "machine", "semantics", "schema", "experiment")
OWN_SCRIPTS = ("table.js", "chart.js", "report_tables.js", "runs_dialog.js", "report.js", "report_page.js")
REPLAYS, MOST_REPLAYS = 12, 100
"""Runs whose tables a page holds, by default and at most; each takes about 15 kB and a second."""
_CHIPS = {"holds": "good", "holds on most maps": "mostly", "does not hold": "bad", "not in this file": "absent"}


def methods_data(groups: Groups) -> list[dict[str, Any]]:
    """Return name and look of every method; looks are those of the figures."""
    methods = {label: method_of(label) for _, _, label in groups}
    looks, found = plots.looks_of(list(methods.values())), []
    colours, kinds = _colour_each(methods), {method.kind for method in methods.values()}
    for label, method in methods.items():
        dashes = looks[label]["linestyle"]
        if label in colours and len(kinds) > 1:
            dashes = plots.palette.KIND_LINES[method.kind or "file"]
        colour = colours.get(label, plots.palette.COLOURS[list(plots.palette.KIND_LINES).index(method.kind or "file")])
        found.append({
            "label": label,
            "name": plots.name_of(label),
            "colour": plots.palette.COLOURS.index(colour),
            "dashes": "" if isinstance(dashes, str) else " ".join(f"{2 * part:g}" for part in dashes[1]),
            "dots": method.shaping,
            "start": None if method.optimism is None else f"{method.optimism:g}",
        })  # fmt: skip
    return found


def _colour_each(methods: Mapping[str, Method]) -> dict[str, str]:
    """Return a colour for every method, that of its learner unless it is taken; none where there are too many."""
    if len(methods) > len(plots.palette.COLOURS):
        return {}
    wanted = {label: plots.palette.PAGE_LEARNERS.get(m.algo, plots.palette.COLOURS[-2]) for label, m in methods.items()}
    first: dict[str, str] = {}
    for label, colour in wanted.items():
        first.setdefault(colour, label)
    free = [colour for colour in plots.palette.COLOURS if colour not in first]
    return {label: colour if first[colour] == label else free.pop(0) for label, colour in wanted.items()}


def curves_data(results: Results, groups: Groups) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return steps, ranges and ceilings of the curves, and quartiles over runs and means over maps as small numbers."""
    steps, score = results["step"], np.nan_to_num(results["score"], nan=0.0)
    chosen, few = (_spread(len(steps), most) for most in (MOST_TICKS, INTERVAL_TICKS))
    bands = np.array([band(score[rows][:, chosen]) for rows in groups.values()])
    has_means = len(groups) * len(few) <= MOST_INTERVALS
    maps = maps_of(results)
    means = np.array([_means(score[rows][:, few], maps[rows]) for rows in groups.values() if has_means])
    table = {
        "steps": steps[chosen].tolist(),
        "meanSteps": steps[few].tolist() if has_means else [],
        "levels": PRECISION,
        "ceilings": [[*panel, height] for panel, height in plots.ceilings_of(results, groups).items()],
    }
    arrays = {}
    for name, values in (("bands", bands), ("means", means)):  # intervals may reach far beyond the scores
        low = min(0.0, float(values.min(initial=0.0)))
        high = max(float(values.max(initial=0.0)), low + 1e-9)
        table[f"{name}Range"], arrays[name] = [low, high], _differences(values, low, high)
    return table, arrays


def _spread(ticks: int, most: int) -> Array:
    """Choose ticks, with the first and the last: where there are too many, evenly on a linear and on a log axis."""
    if ticks <= most:
        return np.arange(ticks)
    wanted = np.concatenate([np.geomspace(1, ticks, most // 2), np.linspace(1, ticks, most // 2)])
    chosen: Array = np.unique(np.round(wanted).astype(np.int64)) - 1
    return chosen


def _means(score: Array, maps: Array) -> Array:
    """Return the mean over maps with its interval, [low, mean, high] by tick."""
    columns = []
    for values in score.T:
        middle, ends = mean_over_maps(values, maps), interval_of_mean(values, maps)[:2]
        low, high = (end if np.isfinite(end) else middle for end in ends)
        columns.append([low, middle, high])
    return np.array(columns).T


def _differences(values: Array, low: float, high: float) -> Array:
    """Return levels as differences along the last axis, signs folded in: 0, -1, 1, -2, 2 become 0, 1, 2, 3, 4."""
    level = np.round(PRECISION * (values - low) / (high - low)).astype(np.int64)
    step = np.diff(level, axis=-1, prepend=0)
    folded: Array = np.where(step < 0, -2 * step - 1, 2 * step).astype(np.uint16)
    return folded


def comparisons(results: Results, groups: Groups, against: Any, by: str = "method") -> list[dict[str, Any]]:
    """Compare every group with the one that has another value of a coordinate: settled scores, run by run."""
    rest, values = methods_without(results.plan, by), results[by]
    columns = {name: results[name] for name in ("setup", "task", *results.swept) if name != by}
    panel, last, rows = results, dict[str, Any](), list[dict[str, Any]]()
    for (setup, task, label), (first, *_) in groups.items():
        wanted = {name: column[first] for name, column in columns.items()}
        if by != "method":
            wanted["method"] = [other for other in rest if rest[other] == rest[label]]
        if wanted != last:  # the methods of a panel share one selection
            last, panel = wanted, results.select(**wanted)
        if values[first] == against:
            continue
        try:
            pair = panel.compare(values[first], against, by=by)
        except FastrmError:  # no such runs on the same map and seed
            continue
        rows.append({
            "setup": setup, "task": task, "method": label, "over": pair.over,
            "probability": pair.probability, "probabilityEnds": [pair.probability_low, pair.probability_high],
            "difference": pair.difference, "low": pair.low, "high": pair.high, "p": pair.p,
        })  # fmt: skip
    corrected = holm([row["p"] for row in rows])
    return [row | {"holm": float(p)} for row, p in zip(rows, corrected, strict=True)]


def overall_data(results: Results, against: str | None) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return statistics over all tasks, a row per method and swept setting, and their curves as small numbers.

    Rows say how each method compares with `against`, a method, by a log-rank test.
    """
    names, steps = ("method", *results.swept), results["step"]
    rows, profiles, curves = results.overall(), results.profiles(), results.survival()
    ticks = steps[_spread(len(steps), OVERALL_TICKS)]
    shares: dict[str, list[Any]] = {"profiles": [], "survival": []}
    tests = []
    for row in rows:
        key = tuple(row[name] for name in names)
        settings = {name: row[name] for name in results.swept}
        profile, curve = profiles[key], curves[key]
        places = np.searchsorted(curve.steps, ticks, side="right") - 1
        for name, found, chosen in (("profiles", profile, slice(None)), ("survival", curve, places)):
            low, share, high = found.low[chosen], found.share[chosen], found.high[chosen]
            shares[name].append([np.where(np.isnan(low), share, low), share, np.where(np.isnan(high), share, high)])
        row["settings"] = plots.with_settings("", settings).removeprefix(", ")
        if against in (None, row["method"]):
            continue
        try:
            test = results.log_rank(row["method"], against, **settings)
        except ConfigError:  # no such runs with these settings
            continue
        row |= {"ratio": test.ratio, "p": test.p}
        tests.append(row)
    for row, p in zip(tests, holm([row["p"] for row in tests]), strict=True):
        row["holm"] = float(p)
    thresholds = next(iter(profiles.values())).thresholds
    return (
        {"rows": rows, "thresholds": thresholds.tolist(), "steps": ticks.tolist()},
        {name: _differences(np.array(values), 0.0, 1.0) for name, values in shares.items()},
    )


def summary_data(results: Results) -> list[dict[str, Any]]:
    """Return the summary, tasks named as in the groups."""
    rows = [row for row in results.summary() if row["runs"]]
    return [
        row | {"task": plots.with_settings(row["task"], {name: row[name] for name in results.swept})} for row in rows
    ]


def sweeps_data(results: Results) -> list[dict[str, Any]]:
    """Return two tables for every swept setting, with a column per value: settled score, and steps to 90 %."""
    tables = []
    for setting in results.swept:
        points = list(plots.sweep_points(results, setting))
        over = " or ".join(dict.fromkeys(point.over for point in points))
        values = list(dict.fromkeys(point.value for point in points))
        rows = dict.fromkeys((p.setup, p.task, p.method) for p in points)
        for name, what in (("settled", "Settled score"), ("steps", "Steps to 90 %")):
            cells = {(p.setup, p.task, p.method, p.value): _cell(p, name) for p in points}
            tables.append({
                "title": f"{what} by {setting}: median of runs, with its 95 % interval over {over}",
                "head": ["setup", "task", "method", *(f"{setting} {plots.value_text(value)}" for value in values)],
                "rows": [[*row, *(cells.get((*row, value), "") for value in values)] for row in rows],
            })  # fmt: skip
    return tables


def _cell(point: plots.SweepPoint, name: str) -> str:
    """Format an outcome with its interval, where it has one."""

    def write(number: float) -> str:
        if name == "settled":
            return f"{number:.3f}"
        return "never" if np.isinf(number) else f"{number:,.0f}".replace(",", " ")

    ends = getattr(point, name)
    low, middle, high = map(write, ends)
    return middle if np.isnan(ends[0]) or low == middle == high else f"{middle} [{low}, {high}]"


class Shown(NamedTuple):
    """A run that a page lists."""

    group: int
    row: int
    """In the file."""
    rank: int
    """1 for the best of its group, 2 for the median, 3 for the worst, else 0."""


def runs_shown(results: Results, groups: Groups, *, everything: bool) -> list[Shown]:
    """Return the runs of every group from best to worst: all of them, or the best, the median and the worst.

    A higher settled score is better, then fewer steps to 90 %, then the order of the file.
    """
    settled, late = results.per_run_values("settled"), np.nan_to_num(results["steps_to_90"], nan=np.inf)
    found = []
    for group, rows in enumerate(groups.values()):
        order = rows[np.lexsort((late[rows], -settled[rows]))].tolist()
        places = (0, (len(order) - 1) // 2, len(order) - 1)
        ranks = {order[place]: rank for rank, place in reversed(list(enumerate(places, start=1)))}
        shown = order if everything else [order[place] for place in dict.fromkeys(places)]
        found += [Shown(group, row, ranks.get(row, 0)) for row in shown]
    return found


def runs_arrays(results: Results, shown: Sequence[Shown]) -> tuple[list[str], dict[str, Array]]:
    """Return the names of maps, and a column per number of the runs listed."""
    group, rows, rank = np.array(shown).T
    names, place = np.unique(results["grid"][rows], return_inverse=True)
    columns = {
        "group": group,
        "row": rows,
        "rank": rank,
        "map": place.reshape(-1),
        "seed": results["seed"][rows],
        "length": results["greedy_length"][rows] + 1,  # 0 where the task is not completed
        "shortest": results["shortest"][rows],
    }
    arrays = {f"runs.{name}": page.smallest(column) for name, column in columns.items()}
    arrays["runs.settled"] = results.per_run_values("settled")[rows].astype(np.float32)
    arrays["runs.steps"] = results["steps_to_90"][rows]
    return [str(name) for name in names], arrays


def replays_data(results: Results, groups: Groups, shown: Sequence[Shown], most: int) -> dict[str, Any]:
    """Train at most `most` runs again and return the data of their pages, by row.

    Runs that do not complete their task come first, then the worst, the median and the best of every method; of equal
    ones the last task, as it is the longest.
    """
    tasks = list(dict.fromkeys(task for _, task, _ in groups))
    of_group = [tasks.index(task) for _, task, _ in groups]
    ranked = [run for run in shown if run.rank]
    unsolved = results["greedy_length"] < 0
    ranked.sort(key=lambda run: (not unsolved[run.row], (3, 2, 1).index(run.rank), -of_group[run.group]))
    found: dict[str, Any] = {}
    for run in ranked:
        if len(found) == most:
            break
        try:
            place = results.plan.coordinates(int(results["run"][run.row]))
            if not acts_by_state(results.plan.methods[place.method].algo):
                continue  # no values per machine state to walk by
            found[str(run.row)] = explain_data(problem_of(results, run.row), replay(results, run.row), brief=True)
        except ConfigError:  # too large for a page, or a learner that is not known here
            continue
    return found


def report_page(
    results: Results,
    *,
    claims: Sequence[Mapping[str, Any]] = (),
    findings: Sequence[Mapping[str, Any]] = (),
    against: str | float | None = None,
    by: str = "method",
    all_runs: bool = False,
    replays: int = REPLAYS,
) -> str:
    """Return a web page, in one file, about a result file.

    It shows what was run, learning curves, claims and findings where they are given, tables, comparisons, and single
    runs with what they learned.

    Parameters
    ----------
    results : Results
        A loaded result file.
    claims : sequence of mappings, optional
        Claims that were judged on the file: `Claim.to_dict` of `fastrm.bench.studies` makes one.
    findings : sequence of mappings, optional
        Tables to show, each with a ``title``, a ``head`` and ``rows`` of words.
    against : str or number, optional
        The method that all others are compared with; the first by default. With `by`, a value of that coordinate.
    by : str
        What comparisons are by; see `Results.compare`.
    all_runs : bool
        List every run; by default the best, the median and the worst of each group.
    replays : int
        How many runs can be walked on the page; they are learned again.

    Raises
    ------
    ConfigError
        When there is nothing to show.
    """
    if not plots.has_curves(results):
        raise ConfigError(f"{results.path or 'these results'}: no curves to show (no runs, or all failed)")
    groups = plots.groups_of(results)
    check_choice("by", by, results.coordinates)
    first = next(value for (value,), rows in results.groups(by) if len(rows))
    base = results.select(**{by: first if against is None else against})[by][0]
    check_whole("replays", replays, 0, MOST_REPLAYS)
    curves, arrays = curves_data(results, groups)
    shown_runs = runs_shown(results, groups, everything=all_runs)
    maps, columns = runs_arrays(results, shown_runs)
    overall, shares = overall_data(results, str(base) if by == "method" else None)
    name = str(json.loads(results.attributes["experiment"]).get("name", ""))
    failed = results["error"][results["error"] != ""]
    file = results.path.name if results.path else "results.h5"
    data: dict[str, Any] = {
        "title": f"{name}: {file}",
        "about": f"{results!r}"[1:-1].removeprefix("Results "),
        "file": file,
        "shellFile": shlex.quote(file),
        "version": fastrm.__version__,
        "provenance": [[key, str(results.attributes[key])] for key in PROVENANCE if key in results.attributes],
        "failures": [len(failed), str(failed[0])] if len(failed) else [],
        "groups": [list(key) for key in groups],
        "methods": methods_data(groups),
        "curves": curves,
        "summary": summary_data(results),
        "overall": overall,
        "note": results.schedule_note,
        "against": base if by == "method" else f"{by} {base}",
        "comparisons": comparisons(results, groups, base, by),
        "isPaper": name == "paper",
        "claims": [
            {**claim, "failing": claim["failing"][:20], "chip": _CHIPS.get(claim["verdict"], "unsure")}
            for claim in claims
        ],
        "findings": list(findings) or sweeps_data(results),
        "findingsTitle": "Findings" if findings else "Swept settings",
        "maps": maps,
        "allRuns": all_runs,
        "replays": replays_data(results, groups, shown_runs, replays),
        "arrays": page.pack(arrays | shares | columns),
    }
    return page.assemble(data["title"], (*SCRIPTS, *OWN_SCRIPTS), data, _still(results, groups, data), data["about"])


def _still(results: Results, groups: Groups, data: dict[str, Any]) -> str:
    """Return the page without scripts: medians as curves, claims in words."""
    looks = {method["label"]: method for method in data["methods"]}
    steps = results["step"]
    ticks = np.unique(np.linspace(0, len(steps) - 1, 60).astype(np.int64))
    panels: dict[str, list[page.Line]] = {}
    for (setup, task, label), rows in groups.items():
        heights = band(results["score"][rows][:, ticks], [50])[0].tolist()
        line = label, looks[label]["colour"], looks[label]["dashes"], heights
        panels.setdefault(f"{setup}, task {task}", []).append(line)
    low, high = data["curves"]["bandsRange"]
    claims = "".join(f"<li>{page.text(c['claim'])}: <b>{page.text(c['verdict'])}</b></li>" for c in data["claims"])
    return (
        f"<h1>{page.text(data['title'])}</h1><p>{page.text(data['about'])}</p>"
        f"<p>Median scores, from {low:.3g} to {high:.3g} upwards, over {steps[0]} to {steps[-1]} training steps. "
        f"With JavaScript this page also has tables, intervals and single runs.</p>"
        f"{page.still_curves(panels, low, high)}<ol>{claims}</ol>"
    )
