"""What a suite with swept initial values shows: how often, how fast, and what the exact tools say beforehand.

Maps are the sample: runs on one map share its walls and targets, so every figure is worked out per map first, and its
95 % interval comes from resampling maps. A *problem* is a map with a task.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import ConfigError, MachineError
from fastrm.exact import guarantee
from fastrm.experiments import Plan, method_of
from fastrm.results import Results, by_map, censored_percentile, interval_of_mean
from fastrm.studies.claim import Share
from fastrm.studies.evidence import refuse_variants

Verdicts = dict[tuple[int, int, str], bool]
"""By grid, task and kind."""


class Estimate(NamedTuple):
    """A mean over maps with its interval, which a single map does not give (NaN)."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.2f}" + ("" if math.isnan(self.low) else f" [{self.low:.2f}, {self.high:.2f}]")


class Point(NamedTuple):
    """The runs of one method, on some maps and tasks, from one start."""

    setup: str
    method: str
    """The method without its initial values."""
    optimism: float | None
    runs: int
    shortest: Estimate
    """Share of runs that end with a shortest path."""
    area: Estimate
    """Mean score over the whole run: how soon and how well."""
    steps: tuple[float, float, float]
    """Quartiles of the steps to 90 % of the optimum, infinite where too few runs got there."""


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


def plain_label(label: str) -> str:
    """Return a method's name without its initial values.

    >>> plain_label("crm-pot@0.5")
    'crm-pot'
    """
    return method_of(label).at(None).label


def short_names(setups: Iterable[str]) -> dict[str, str]:
    """Return how to call setups that differ in their obstacles alone: by these.

    >>> short_names(["1a1b", "1a1b rooms"])
    {'1a1b': 'open', '1a1b rooms': 'rooms'}
    """
    named = list(dict.fromkeys(setups))
    alike = len(named) > 1 and len({name.split()[0] for name in named}) == 1
    return {name: (name.partition(" ")[2] or "open") if alike else name for name in named}


def sweep(results: Results, tasks: bool = False) -> Iterator[Point]:
    """Yield a point per setup, method and start; with `tasks` the setups are told apart by task, as in ``1a, task a``.

    Raises
    ------
    ConfigError
        When there are no finished runs.
    """
    _check(results)
    area, steps, solved = results.per_run_values("area"), results["steps_to_90"], results["solved"].astype(np.float64)
    by = ("setup", "task", "label") if tasks else ("setup", "label")
    names = short_names(results["setup"].tolist())
    for key, mine in results.groups(*by):
        if len(mine):
            label, maps = key[-1], results["grid"][mine]
            yield Point(
                setup=f"{names[key[0]]}, task {key[1]}" if tasks else names[key[0]],
                method=plain_label(label),
                optimism=method_of(label).optimism,
                runs=len(mine),
                shortest=share_over_maps(solved[mine], maps),
                area=over_maps(area[mine], maps),
                steps=tuple(censored_percentile(steps[mine], q) for q in (25, 50, 75)),  # type: ignore[arg-type]
            )


def differences(results: Results, pairs: Sequence[tuple[str, str]]) -> Iterator[Difference]:
    """Yield, per setup and start, how much one method is above another."""
    _check(results)
    area = results.per_run_values("area")
    runs: dict[tuple[str, str], dict[tuple[str, str, int], float]] = {}
    for (setup, label), mine in results.groups("setup", "label"):
        keys = zip(*(results[name][mine].tolist() for name in ("grid", "task", "seed")), strict=True)
        runs[setup, label] = dict(zip(keys, area[mine].tolist(), strict=True))
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


def verdicts(plan: Plan) -> Verdicts:
    """Say of every problem, by grid, task and kind, whether all optimal policies take shortest paths.

    Where tasks are played in turn, in all of them. Problems that cannot be completed, and agendas that have no machine
    states, are left out.
    """
    methods = {method.kind or "file": k for k, method in reversed(list(enumerate(plan.methods)))}
    found: Verdicts = {}
    for grid, task, kind in itertools.product(range(len(plan.grids)), range(len(plan.tasks)), reversed(methods)):
        with contextlib.suppress(MachineError):
            problem = plan.problem(grid, task, methods[kind])
            if problem.agenda is not None:
                continue
            each = (guarantee(problem, plan.learner.gamma, k).is_shortest for k in range(len(problem.machines)))
            found[grid, task, kind] = all(each)
    return found


def certified(plan: Plan, known: Verdicts) -> Iterator[Certified]:
    """Yield, per setup and kind, how many problems are certified."""
    names = short_names(grid[0] for grid in plan.grids)
    kinds = dict.fromkeys(kind for _, _, kind in known)
    for setup, kind in itertools.product(names, kinds):
        mine = [fine for (grid, _, one), fine in known.items() if (plan.grids[grid][0], one) == (setup, kind)]
        yield Certified(names[setup], kind, sum(mine), len(mine))


def agreement(results: Results, known: Verdicts) -> Iterator[Agreement]:
    """Yield, per start, how many runs end with a shortest path where problems are certified, and where not.

    Runs on problems without a verdict are left out.
    """
    plan, counts = results.plan, dict[float | None, list[int]]()
    fine = results["error"] == ""
    for run, solved in zip(results["run"][fine].tolist(), results["solved"][fine].tolist(), strict=True):
        grid, task, method, *_ = plan.coordinates(run)
        how = plan.methods[method]
        sure = known.get((grid, task, how.kind or "file"))
        if sure is None:
            continue
        count = counts.setdefault(how.optimism, [0] * 4)
        count[0 if sure else 2] += bool(solved)
        count[1 if sure else 3] += 1
    for optimism in sorted(counts, key=by_optimism):
        yield Agreement(optimism, *counts[optimism])


def by_optimism(optimism: float | None) -> float:
    """Return what to sort initial values by: those as set first."""
    return -math.inf if optimism is None else optimism


def over_maps(values: Array, maps: Array) -> Estimate:
    """Return the mean over maps of the mean on each, with an interval from resampling maps."""
    means = [group.mean() for group in by_map(values, maps)]
    if len(means) == 1:
        return Estimate(float(means[0]), math.nan, math.nan)
    interval = interval_of_mean(values, maps)
    return Estimate(float(np.mean(means)), interval.low, interval.high)


def share_over_maps(values: Array, maps: Array) -> Estimate:
    """Return what `over_maps` does of truth values; the interval of a share stays within 0 and 1."""
    share = over_maps(values, maps)
    return share._replace(low=max(share.low, 0.0), high=min(share.high, 1.0))


def share_above(gaps: Array, maps: Array) -> Share:
    """Return on how many maps the mean of some differences is above 0."""
    means = [float(group.mean()) for group in by_map(gaps, maps)]
    return Share(sum(mean > 0 for mean in means), len(means))


def _check(results: Results) -> None:
    refuse_variants(results, "findings")
    if not (results["error"] == "").any() or not len(results["step"]):
        raise ConfigError(f"{results.path or 'these results'}: no finished runs to tell of, or none of a tick")
