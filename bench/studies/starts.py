"""The study of suite paper-safe: what the paper's speed-up is made of, and which rewards are both fast and safe.

::

    python -m fastrm.bench.studies.starts results/paper-safe-one.h5 results/paper-safe-two.h5 results/paper-safe-zero.h5

It writes findings.md, starts.png and pareto.png into the folder of ``--out``. A *factor* says how many times fewer
steps one cell of the experiment needs than another: the geometric mean over runs and tasks of each map, then over maps,
with a 95 % interval over maps. Runs that never get there count with the whole length of the run, so that a factor
is a lower bound where the slower cell has some, and an upper bound where the faster one has.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fastrm import load, plots
from fastrm.arrays import Array
from fastrm.errors import ConfigError
from fastrm.experiments import method_of
from fastrm.results import Estimate, Results, by_map, interval_of_mean

from ..console import markdown_table
from .claim import Share
from .findings import certified, verdicts

Table = dict[str, Any]
"""A title, a head, and rows of words."""
PAPER = "2"
"""The paper's initial value."""
SAFE_FROM = "R"
"""The initial value above all true values."""
LEARNERS = ("crm", "qrm", "hrm")
TO_90, LASTING = "steps_to_90", "steps_to_lasting_shortest"
Side = tuple[str, str]
"""A method and an initial value."""


class Cell(NamedTuple):
    """Runs of one setup, method and initial value."""

    setup: str
    method: str
    start: str
    rows: Array


class Factor(NamedTuple):
    """How many times fewer steps, with its interval over maps."""

    middle: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.middle:.3g} [{self.low:.3g}, {self.high:.3g}]"


class Point(NamedTuple):
    """Speed and safety of the runs of one method from one initial value, on all tasks of a setup."""

    setup: str
    method: str
    start: str
    safe_maps: int
    """Maps on which every run ends with a shortest path."""
    maps: int
    safe_runs: float
    """Share of runs that do."""
    steps: Estimate
    """The median to lasting shortest paths."""
    on_front: bool
    """Whether no other point of its setup is as safe and sooner, or safer and as soon."""


class Starts:
    """Runs from several initial values, of one or several files, by setup, method and value."""

    def __init__(self, files: Sequence[Results]) -> None:
        self.files = files
        self.cells: dict[tuple[str, str, str], tuple[Results, Array]] = {}
        for results in files:
            if results.swept != ("q_init",):
                raise ConfigError(f"{results.path}: must sweep q_init, and nothing else")
            for (setup, method, start), rows in results.groups("setup", "method", "q_init"):
                if len(rows):
                    self.cells[setup, method, _plain(start)] = results, rows
        self.setups = list(dict.fromkeys(setup for setup, _, _ in self.cells))
        self.methods = list(dict.fromkeys(method for _, method, _ in self.cells))
        self.tasks = list(dict.fromkeys(task for results in files for task in results["task"].tolist()))

    def factor(self, setup: str, slow: Side, fast: Side, task: str = "", value: str = TO_90) -> Factor | None:
        """Return how many times fewer steps `fast` needs than `slow`."""
        gaps = self.gaps(setup, slow, fast, task, value)
        if gaps is None:
            return None
        low, high, *_ = interval_of_mean(gaps, np.arange(len(gaps)))
        return Factor(*(math.exp(end) for end in (gaps.mean(), low, high)))

    def gaps(self, setup: str, slow: Side, fast: Side, task: str = "", value: str = TO_90) -> Array | None:
        """Return the logarithm of that on every map; None where there are no such runs."""
        if {(setup, *slow), (setup, *fast)} - self.cells.keys():
            return None
        one, two = (self._log_steps(*self.cells[setup, method, start], task, value) for method, start in (slow, fast))
        return np.array([one[name] - two[name] for name in one if name in two])

    def _log_steps(self, results: Results, rows: Array, task: str, value: str) -> dict[str, float]:
        """Return the mean logarithm of the steps on every map."""
        if task:
            rows = rows[results["task"][rows] == task]
        steps = np.log(np.nan_to_num(results[value][rows], nan=float(results.plan.steps)))
        maps = results["grid"][rows]
        return dict(zip(np.unique(maps).tolist(), (float(group.mean()) for group in by_map(steps, maps)), strict=True))

    def points(self) -> list[Point]:
        """Return speed and safety of every method from every initial value."""
        found = []
        for results in self.files:
            curves = results.survival(LASTING, ("setup", "method", "q_init"))
            for (setup, method, start), curve in curves.items():
                solved, maps = (
                    results[name][self.cells[setup, method, _plain(start)][1]] for name in ("solved", "grid")
                )
                safe = [bool(values.all()) for values in by_map(solved, maps)]
                shares = sum(safe), len(safe), float(solved.mean())
                found.append(Point(setup, method, _plain(start), *shares, curve.median, False))
        return [one._replace(on_front=not any(_dominates(other, one) for other in found)) for one in found]


def _plain(start: float | str) -> str:
    """Return an initial value as it is written: 2 for 2.0."""
    return plots.value_text(start).removesuffix(".0")


def _dominates(one: Point, two: Point) -> bool:
    """Return whether a point is at least as safe and as soon as another of its setup, and better in one of them."""
    if one.setup != two.setup:
        return False
    first, second = ((-point.safe_maps, point.steps.mean) for point in (one, two))
    return first != second and first[0] <= second[0] and first[1] <= second[1]


def name_of(method: str, start: str) -> str:
    """Return what tables call a method from an initial value."""
    return f"{method} from {start}"


def speedup_table(starts: Starts) -> Table:
    """Return what the speed-up of the paper's kinds over Boolean is made of, in steps to 90 %."""
    head = [
        "maps", "task", "methods", "the paper: both from 2", "kind alone: both from R", "both from 0.1 R",
        "both from 0.002 R", "start alone: Boolean from 2 to 0.002 R", "start alone: the kind from R to 2",
    ]  # fmt: skip
    rows = []
    for setup, task, learner, kind in itertools.product(
        starts.setups, ["", *starts.tasks], LEARNERS, ("num-bool", "num")
    ):
        base, other = f"{learner}-bool", f"{learner}-{kind}"
        pairs = [((base, start), (other, start)) for start in (PAPER, SAFE_FROM, "0.1 R")]
        low = "0.002 R" if kind == "num-bool" else ""  # 2 is 0.002 R of 1000; numeric machines have other R
        pairs += [
            ((base, low), (other, PAPER)),
            ((base, PAPER), (base, "0.002 R")),
            ((other, SAFE_FROM), (other, PAPER)),
        ]
        factors = [starts.factor(setup, slow, fast, task) for slow, fast in pairs]
        if factors[0] is not None:
            rows.append([setup, task or "all", f"{other} over {base}", *(str(factor or "") for factor in factors)])
    return {"title": "How many times fewer steps to 90 %, with 95 % intervals over maps", "head": head, "rows": rows}


def shares_table(starts: Starts) -> Table:
    """Return which share of the logarithm of the paper's speed-up the kind has by itself, from two initial values."""
    rows = []
    for setup, learner in itertools.product(starts.setups, LEARNERS):
        base, other = f"{learner}-bool", f"{learner}-num-bool"
        whole = starts.gaps(setup, (base, PAPER), (other, PAPER))
        parts = [((base, SAFE_FROM), (other, SAFE_FROM)), ((base, "0.002 R"), (other, PAPER))]
        found = [starts.gaps(setup, *pair) for pair in parts]
        if whole is not None:
            row = [str(starts.factor(setup, (base, PAPER), (other, PAPER))), *(share_text(g, whole) for g in found)]
            rows.append([setup, f"{other} over {base}", *row])
    return {
        "title": "Share of the logarithm of the speed-up that is the kind's by itself; the rest is the low start",
        "head": ["maps", "methods", "speed-up", "kind, if both start from R", "kind, if both start from 0.002 R"],
        "rows": rows,
    }


def share_text(part: Array | None, whole: Array) -> str:
    """Format the ratio of two means over maps with its interval, by resampling maps."""
    if part is None:
        return ""
    drawn = np.random.default_rng(0).integers(0, len(whole), (2000, len(whole)))
    low, high = np.percentile(part[drawn].mean(axis=1) / whole[drawn].mean(axis=1), [2.5, 97.5])
    return f"{part.mean() / whole.mean():.0%} [{low:.0%}, {high:.0%}]"


def kinds_table(starts: Starts) -> Table:
    """Return how much sooner every kind has lasting shortest paths than Boolean from the same initial value."""
    kinds = [method.removeprefix("crm-") for method in starts.methods if method.startswith("crm-")]
    rows = []
    for setup, learner, kind in itertools.product(starts.setups, LEARNERS, kinds):
        if kind == "bool":
            continue
        row = [setup, f"{learner}-{kind}"]
        for start in (PAPER, SAFE_FROM):
            pair = (f"{learner}-bool", start), (f"{learner}-{kind}", start)
            row.append(str(starts.factor(setup, *pair, value=LASTING) or ""))
        rows += [row] if any(row[2:]) else []
    return {
        "title": "How many times fewer steps to lasting shortest paths than Boolean from the same initial value",
        "head": ["maps", "method", "both from 2", "both from R"],
        "rows": rows,
    }


def safety_table(points: Sequence[Point]) -> Table:
    """Return, for every method, on how many maps all of its runs end with shortest paths, by initial value."""
    starts = list(dict.fromkeys(point.start for point in points))
    found = {(point.setup, point.method, point.start): point for point in points}
    rows = []
    for setup, method in dict.fromkeys((point.setup, point.method) for point in points):
        cells = [found.get((setup, method, start)) for start in starts]
        rows.append([setup, method, *(_safety(point) for point in cells)])
    return {
        "title": "Maps on which every run ends with a shortest path, and the share of all runs, by initial value",
        "head": ["maps", "method", *(f"from {start}" for start in starts)],
        "rows": rows,
    }


def _safety(point: Point | None) -> str:
    return "" if point is None else f"{point.safe_maps} of {point.maps}, {point.safe_runs:.1%}"


def front_table(points: Sequence[Point], most: int = 8) -> Table:
    """Return the methods on the front of speed and safety, and the soonest of those that are safe on every map.

    A method is listed once, from the initial value with which it is soonest.
    """
    rows = []
    for setup in dict.fromkeys(point.setup for point in points):
        own = sorted((p for p in points if p.setup == setup), key=lambda point: point.steps.mean)
        front = {point.method: point for point in reversed(own) if point.on_front}
        safe = {point.method: point for point in reversed(own) if point.safe_maps == point.maps}
        soonest = sorted(safe.values(), key=own.index)[:most]
        for point in sorted({*front.values(), *soonest}, key=own.index):
            share = Share(point.safe_maps, point.maps).describe("maps")
            rows.append(
                [setup, name_of(point.method, point.start), share, _steps(point), "yes" if point.on_front else ""]
            )
    return {
        "title": "Methods on the front of speed and safety, and the soonest of those that never mislead",
        "head": ["maps", "method", "shortest paths in all runs", "median steps to lasting shortest paths", "on front"],
        "rows": rows,
    }


def _steps(point: Point) -> str:
    """Format the median steps with their interval, in thousands."""
    middle, low, high = ("never" if math.isinf(n) else f"{n / 1000:.0f}k" for n in point.steps)
    return f"{middle} [{low}, {high}]"


def zero_table(files: Sequence[Results]) -> Table:
    """Return how many runs end with shortest paths: offset with R = 0, numeric with R = 0 and with the paper's R."""
    rows = []
    for results in files:
        is_zero = results.plan.experiment["terminal_rewards"].get("numeric") == 0.0
        for (setup, task, *values, label), chosen in results.groups("setup", "task", *results.swept, "method"):
            method = method_of(label)
            if method.kind not in ("offset", "numeric") or not {*map(_plain, values)} <= {PAPER}:
                continue
            reward = "R 0" if is_zero or method.kind == "offset" else "the paper's R"
            safe = [bool(values.all()) for values in by_map(results["solved"][chosen], results["grid"][chosen])]
            rows.append([
                setup, task, method.algo.upper(), f"{method.kind}, {reward}",
                f"{results['solved'][chosen].mean():.1%}", Share(sum(safe), len(safe)).describe("maps"),
            ])  # fmt: skip
    rows.sort(key=lambda row: (row[0], row[1], LEARNERS.index(row[2].lower()), row[3]))
    return {
        "title": "Runs from 2 that end with a shortest greedy path",
        "head": ["maps", "task", "learner", "kind", "runs", "shortest paths in all runs"],
        "rows": rows,
    }


def certified_table(files: Sequence[Results]) -> Table:
    """Return on how many problems, a map with a task, all optimal policies take shortest paths."""
    rows = []
    for results in files:
        for row in certified(results.plan, verdicts(results.plan)):
            rows.append([results.plan.grids[0][0], row.kind, f"{row.shortest} of {row.problems}"])
    return {
        "title": "Problems on which all optimal policies take shortest paths (exact)",
        "head": ["maps", "kind", "problems"],
        "rows": rows,
    }


def findings(files: Sequence[Results], exact: bool = True) -> tuple[list[Table], list[Point], list[plots.StartSpot]]:
    """Return all tables, those of exact verdicts if so asked, and what the two figures show."""
    if not any(results.swept for results in files):
        raise ConfigError("no file sweeps q_init; name those of suite paper-safe")
    starts = Starts([results for results in files if results.swept])
    points, whole = starts.points(), [results for results in files if len(results.plan.variants) > 1]
    tables = [
        speedup_table(starts),
        shares_table(starts),
        kinds_table(starts),
        front_table(points),
        safety_table(points),
    ]
    spots = []
    for results in whole:
        names = ("setup", "task", "method", "q_init")
        for (setup, task, method, start), curve in results.survival(LASTING, names).items():
            spots.append(plots.StartSpot(setup, task, method, _plain(start), *curve.median))
    tables += [certified_table(whole)] if exact else []
    return [*tables, zero_table(files)], points, spots


def main() -> None:
    """Write tables and figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results/paper-safe"))
    arguments = parser.parse_args()
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    tables, points, spots = findings([load(path) for path in arguments.files])
    text = "\n".join(f"{table['title']}.\n\n{markdown_table(table['head'], table['rows'])}" for table in tables)
    (out / "findings.md").write_text(text)
    methods = [f"crm-{kind}" for kind in ("bool", "num-bool", "num", "offset", "local", "dtg")]
    plots.save(plots.draw_starts([spot for spot in spots if spot.method in methods]), out / "starts.png")
    shown = [
        plots.FrontSpot(p.setup, p.method, p.start, p.steps.mean, p.safe_maps / p.maps, p.on_front) for p in points
    ]
    plots.save(plots.draw_front(shown), out / "pareto.png")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
