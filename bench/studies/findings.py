"""Findings of a suite with swept initial values: how often and how fast methods succeed, and exact verdicts.

Maps are the sample: runs on one map share its walls and targets, so every figure is worked out per map first, and its
95 % interval comes from resampling maps. A *problem* is a map with a task.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import MachineError
from fastrm.exact import guarantee
from fastrm.experiments import Plan, method_of
from fastrm.plots import StartPoint, by_optimism, check_findings, short_names, start_points
from fastrm.results import Estimate, Results, by_map, over_maps, share_over_maps

from .claim import Share

PAIRS = (("crm-dtg", "crm-bool"), ("crm-dtg", "crm-num-bool"), ("crm-dtg", "crm-num"), ("crm-pot", "crm-bool"))
"""What is compared, where the file has it."""
PAPER_PAIRS = (("crm-num-bool", "crm-bool"), ("crm-num", "crm-bool"))
"""What is compared where the file has none of those."""
Table = dict[str, Any]
"""A title, a head, and rows of words."""
Verdicts = dict[tuple[int, int, str], bool]
"""By grid, task and kind."""


class Certified(NamedTuple):
    """How many problems the exact tools call shortest."""

    setup: str
    kind: str
    shortest: int
    problems: int


class Agreement(NamedTuple):
    """Runs from one start: how many end with a shortest path where the exact tools say so, and elsewhere."""

    optimism: float | None
    shortest: int
    certified: int
    """Runs on certified problems."""
    shortest_elsewhere: int
    others: int


class Learned(NamedTuple):
    """What the runs of one method have learned, whether or not their paths are shortest ones."""

    setup: str
    method: str
    optimism: float | None
    complete: Estimate
    """Share of runs whose greedy policy completes the task."""
    length: Estimate | None
    """Length of its path in those runs, in shortest paths; None where there are none."""
    settled: Estimate
    """Mean score over the last tenth of the steps."""
    maps: Share
    """Maps on which it completes the task in most runs; its verdict is that on "the method learns the task"."""


class Difference(NamedTuple):
    """Two methods on the same maps, tasks, seeds and start."""

    setup: str
    one: str
    two: str
    optimism: float | None
    area: Estimate
    """Mean difference of the area under the score."""
    probability: float
    """Share of pairs of runs in which `one` is above `two`, ties counting half."""
    above: Share
    """Maps on which `one` is above `two` on average; its verdict is that on "`one` is above `two`"."""


def differences(
    results: Results, pairs: Sequence[tuple[str, str]] | None = None, tasks: bool = False
) -> Iterator[Difference]:
    """Yield, per setup and start, how much one method is above another; with `tasks` for each task by itself."""
    check_findings(results)
    if pairs is None:
        known = {method_of(label).at(None).label for label in results["method"].tolist()}
        pairs = PAIRS if any(known.issuperset(pair) for pair in PAIRS) else PAPER_PAIRS
    if tasks:
        for task in dict.fromkeys(results["task"].tolist()):
            for found in differences(results.select(task=task), pairs):
                yield found._replace(setup=f"{found.setup}, task {task}")
        return
    area = results.per_run_values("area")
    runs: dict[tuple[str, str], dict[tuple[str, str, int], float]] = {}
    for (setup, label), rows in results.groups("setup", "method"):
        keys = zip(*(results[name][rows].tolist() for name in ("grid", "task", "seed")), strict=True)
        runs[setup, label] = dict(zip(keys, area[rows].tolist(), strict=True))
    starts = sorted({method_of(label).optimism for _, label in runs}, key=by_optimism)
    names = short_names(setup for setup, _ in runs)
    for setup, (one, two), optimism in itertools.product(dict.fromkeys(s for s, _ in runs), pairs, starts):
        first, second = (runs.get((setup, method_of(x).at(optimism).label), {}) for x in (one, two))
        common = [key for key in first if key in second]
        if common:
            gap = np.array([first[key] - second[key] for key in common])
            probability = float(np.mean((gap > 0) + 0.5 * (gap == 0)))
            maps = np.array([key[0] for key in common])
            yield Difference(
                names[setup], one, two, optimism, over_maps(gap, maps), probability, share_above(gap, maps)
            )


def learned(results: Results, tasks: bool = False) -> Iterator[Learned]:
    """Yield, per setup, method and start, whether its greedy policies complete the task at all; `tasks` each apart."""
    check_findings(results)
    length = results["greedy_length"] / results["shortest"]
    complete, settled = (results["greedy_length"] > 0).astype(np.float64), results.per_run_values("settled")
    names = short_names(results["setup"].tolist())
    for key, rows in results.groups(*(("setup", "task", "method") if tasks else ("setup", "method"))):
        if len(rows):
            method, maps, done = method_of(key[-1]), results["grid"][rows], rows[complete[rows] > 0]
            yield Learned(
                setup=f"{names[key[0]]}, task {key[1]}" if tasks else names[key[0]],
                method=method.at(None).label,
                optimism=method.optimism,
                complete=share_over_maps(complete[rows], maps),
                length=over_maps(length[done], results["grid"][done]) if len(done) else None,
                settled=over_maps(np.nan_to_num(settled[rows]), maps),
                maps=share_above(complete[rows] - 0.5, maps),
            )


def verdicts(plan: Plan) -> Verdicts:
    """Return for every problem, by grid, task and kind, whether all optimal policies take shortest paths.

    Where tasks are played in turn, in all of them. Problems that cannot be completed are left out, and those whose
    exact answers take long or do not exist: Water world, agendas that have no machine states, and moves by chance.
    """
    methods = {method.kind or "file": k for k, method in reversed(list(enumerate(plan.methods)))}
    found: Verdicts = {}
    for grid, task, kind in itertools.product(range(len(plan.grids)), range(len(plan.tasks)), reversed(methods)):
        with contextlib.suppress(MachineError):
            problem = plan.problem(grid, task, methods[kind])
            if not (problem.is_quickly_solved and problem.is_certain):
                continue
            each = (guarantee(problem, plan.learner.gamma, k).is_shortest for k in range(len(problem.machines)))
            found[grid, task, kind] = all(each)
    return found


def certified(plan: Plan, known: Verdicts) -> Iterator[Certified]:
    """Yield, per setup and kind, how many problems are certified."""
    names = short_names(grid[0] for grid in plan.grids)
    kinds = dict.fromkeys(kind for _, _, kind in known)
    for setup, kind in itertools.product(names, kinds):
        found = [fine for (grid, _, one), fine in known.items() if (plan.grids[grid][0], one) == (setup, kind)]
        yield Certified(names[setup], kind, sum(found), len(found))


def agreement(results: Results, known: Verdicts) -> Iterator[Agreement]:
    """Yield, per start, how many runs end with a shortest path where problems are certified, and where not.

    Runs on problems without a verdict are left out.
    """
    plan, counts = results.plan, dict[float | None, list[int]]()
    fine = results["error"] == ""
    for run, solved in zip(results["run"][fine].tolist(), results["solved"][fine].tolist(), strict=True):
        grid, task, k, *_ = plan.coordinates(run)
        method = plan.methods[k]
        sure = known.get((grid, task, method.kind or "file"))
        if sure is None:
            continue
        count = counts.setdefault(method.optimism, [0] * 4)
        count[0 if sure else 2] += bool(solved)
        count[1 if sure else 3] += 1
    for optimism in sorted(counts, key=by_optimism):
        yield Agreement(optimism, *counts[optimism])


def share_above(gaps: Array, maps: Array) -> Share:
    """Return on how many maps the mean of some differences is above 0."""
    means = [float(group.mean()) for group in by_map(gaps, maps)]
    return Share(sum(mean > 0 for mean in means), len(means))


def findings_tables(
    results: Results, by_task: bool = False, exact: bool = True, lengths: bool = False
) -> Iterator[Table]:
    """Yield what a file with swept initial values shows; `exact` adds what needs the verdict on every problem.

    `lengths` begins with what was learned where paths are not shortest ones.
    """
    if lengths:
        yield {
            "title": "Whether methods learn the task: runs whose greedy policy completes it, the length of its path in "
            "shortest paths, and the settled score, with 95 % intervals over maps. The verdict is on the policy "
            "completing the task in most runs, by the share of maps on which it does",
            "head": ["maps", "method", "start", "complete", "length", "settled", "learns the task"],
            "rows": [
                [
                    row.setup, row.method, _start(row.optimism), str(row.complete), str(row.length or "-"),
                    str(row.settled), f"{row.maps}: {row.maps.verdict}",
                ]
                for row in learned(results, by_task)
            ],
        }  # fmt: skip
    points = list(start_points(results, tasks=by_task))
    yield _by_start(
        "Share of runs that end with a shortest path, by start of the values; 95 % interval over maps",
        ("maps", "method"),
        {(point.setup, point.method, point.optimism): str(point.shortest) for point in points},
    )
    yield _by_start(
        "Steps to 90 % of the optimum: median (quartiles), in thousands",
        ("maps", "method"),
        {(point.setup, point.method, point.optimism): _steps(point) for point in points},
    )
    if gaps := list(differences(results)):
        yield _by_start(
            "Difference of the mean score over the whole run on the same maps, tasks and seeds, with its 95 % "
            "interval over maps, and the share of pairs of runs in which the first is above (ties count half). The "
            "verdict is on the first being above, by the share of maps on which it is on average",
            ("maps", "one minus the other"),
            {
                (g.setup, f"{g.one} - {g.two}", g.optimism): f"{g.area} ({g.probability:.1%}): {g.above.verdict}"
                for g in gaps
            },
        )
    if exact and results.plan.slip:
        yield {"title": "Verdicts about shortest paths are for moves that do not slip", "head": [], "rows": []}
    elif exact:
        yield from _exact_tables(results)


def _exact_tables(results: Results) -> Iterator[Table]:
    known = verdicts(results.plan)
    if not known:
        return
    rows = list(certified(results.plan, known))
    kinds, setups = (list(dict.fromkeys(getattr(row, name) for row in rows)) for name in ("kind", "setup"))
    counted = {(row.setup, row.kind): f"{row.shortest} of {row.problems}" for row in rows}
    yield {
        "title": "Problems on which all optimal policies take shortest paths (exact, before any learning)",
        "head": ["maps", *kinds],
        "rows": [[setup, *(counted[setup, kind] for kind in kinds)] for setup in setups],
    }
    yield {
        "title": "Runs that end with a shortest path, where a problem is certified and where it is not",
        "head": ["", "certified", "not certified"],
        "rows": [
            [_start(r.optimism), f"{r.shortest} of {r.certified}", f"{r.shortest_elsewhere} of {r.others}"]
            for r in agreement(results, known)
        ],
    }


def _by_start(title: str, head: tuple[str, str], cells: dict[tuple[str, str, float | None], str]) -> Table:
    """Return a table with a row for each pair of names and a column for each start of the values."""
    starts = sorted({start for _, _, start in cells}, key=by_optimism)
    rows = dict.fromkeys((one, two) for one, two, _ in cells)
    return {
        "title": title,
        "head": [*head, *map(_start, starts)],
        "rows": [[*row, *(cells.get((*row, start), "") for start in starts)] for row in rows],
    }


def _steps(point: StartPoint) -> str:
    low, middle, high = ("never" if math.isinf(n) else f"{n / 1000:.0f}" for n in point.steps)
    return middle if low == middle == high else f"{middle} ({low} to {high})"


def _start(start: float | None) -> str:
    return "q_init as set" if start is None else f"start {start:g}"
