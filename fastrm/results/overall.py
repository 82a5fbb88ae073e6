"""Statistics over all tasks of an experiment, with one interval over maps.

These are what Agarwal et al. (2021) ask of empirical work. Over all runs of a method, whatever the map and the task,

inter-quartile mean    mean of the middle half of the numbers
optimality gap         mean of ``max(1 - x, 0)``: how far runs fall short of the unit, those beyond it counting as 0
performance profile    share of runs above a threshold, for every threshold
survival curve         share of runs that have not got there yet, for every number of steps (Kaplan and Meier 1958)

Runs that never get there leave the survival curve at the end of the run; that is all that is known of them.

Every resample of a bootstrap draws as many maps as there are, setup by setup, and runs of each map, task by task. A
resample is a whole number per run, how often it was drawn: its *weight*. Ends of an interval are percentiles, at a
level widened for the number of maps as in `stats`. Where there is one map, runs are drawn, and intervals speak of it
alone.

The log-rank test compares, at every number of steps, how many runs of one method get there then with how many would
if both were alike. It is stratified: only runs of one setup and one task count against each other. Its usual p-value
takes runs for independent. A run's share of the statistic is its score residual (Lin and Wei 1989), so that the sums
of these over maps are independent, and the p-value over maps is that of their mean being 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_choice
from fastrm.errors import ConfigError, shown
from fastrm.results.schema import find_number
from fastrm.results.stats import LEVEL, Estimate, Over, interval_of_mean, iqm, maps_of, methods_without, student_point

if TYPE_CHECKING:
    from fastrm.results.dataset import Results

ROUNDS = 1000
MOST_WEIGHTS = 1 << 22
"""Weights in memory at a time."""
THRESHOLDS = 101
"""Of a performance profile, where none are given."""


def optimality_gap(values: Array, unit: float = 1.0) -> Any:
    """Return how far values fall short of a unit on average, over the last axis; those beyond it count as reaching it.

    >>> float(optimality_gap(np.array([0.5, 1.5])))
    0.25
    """
    return np.maximum(unit - values, 0.0).mean(axis=-1)


def performance_profile(values: Array, thresholds: Array) -> Array:
    """Return the share of values above each threshold.

    >>> performance_profile(np.array([0.2, 0.8, 1.0]), np.array([0.0, 0.8])).round(2).tolist()
    [1.0, 0.33]
    """
    beyond = np.searchsorted(np.sort(values), thresholds, side="right")
    return np.asarray(1 - beyond / len(values))


def kaplan_meier(times: Array, seen: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """Return the times of events, and the share that is left after each.

    Parameters
    ----------
    times : array
        When something was last known of each: the time of its event, or until when there was none.
    seen : array of bool
        Whether the event was seen.
    weights : array, [..., run], optional
        How often each counts. More than one row gives as many curves, [..., time].

    Examples
    --------
    >>> times, share = kaplan_meier(np.array([1, 2, 2, 3]), np.array([True, True, False, True]))
    >>> times.tolist(), share.tolist()
    ([1, 2, 3], [0.75, 0.5, 0.0])
    """
    weights = np.ones(len(times)) if weights is None else weights
    order = np.argsort(times, kind="stable")
    known, first = np.unique(times[order], return_index=True)
    if not len(known):
        return known, np.ones((*weights.shape[:-1], 0))
    leaving, events = (np.add.reduceat(w[..., order], first, axis=-1) for w in (weights, weights * seen))
    at_risk = leaving[..., ::-1].cumsum(axis=-1)[..., ::-1]
    left = np.cumprod(1 - events / np.maximum(at_risk, 1), axis=-1)
    has_event = np.logical_or.reduceat(seen[order], first)
    return known[has_event], left[..., has_event]


class LogRank(NamedTuple):
    """Whether two methods get there at the same rate."""

    one: str
    two: str
    value: str
    """What they get to, such as ``steps_to_90``."""
    runs: int
    maps: int
    ratio: float
    """How many times as often, at any number of steps, a run of `one` gets there next: observed over expected arrivals
    of either. Above 1 where `one` is sooner; NaN where none of `two` arrives."""
    chi_square: float
    """The usual statistic, of one degree of freedom."""
    p_of_runs: float
    """Its p-value, which takes all runs for independent."""
    p: float
    """The p-value over maps, or over the seeds of one map, as `over` says; NaN where there are fewer than two."""
    over: Over

    def __str__(self) -> str:
        p = "p < 0.0001" if self.p < 1e-4 else f"p {self.p:.2g}"
        return (
            f"{self.one} against {self.two}, {self.value}: rate ratio {self.ratio:.3g}, {p} over {self.over} "
            f"({self.maps} map{'s' * (self.maps > 1)}, {self.runs} runs; log-rank {self.chi_square:.3g})"
        )


class Arrivals(NamedTuple):
    """What a log-rank test counts."""

    observed: float
    expected: float
    variance: float
    both: float
    """Arrivals of both groups."""
    residuals: Array
    """Of every run; they add up to observed minus expected."""


def count_arrivals(times: Array, seen: Array, is_one: Array, strata: Array) -> Arrivals:
    """Return observed and expected arrivals of the first of two groups, stratum by stratum."""
    observed = expected = variance = both = 0.0
    residuals = np.zeros(len(times))
    for stratum in np.unique(strata):
        rows = np.flatnonzero(strata == stratum)
        _, place = np.unique(times[rows], return_inverse=True)
        z, event = is_one[rows].astype(np.float64), seen[rows].astype(np.float64)
        leaving, leaving_one, events, events_one = (
            np.bincount(place, weight) for weight in (np.ones(len(rows)), z, event, event * z)
        )
        at_risk, at_risk_one = (gone[::-1].cumsum()[::-1] for gone in (leaving, leaving_one))
        share = at_risk_one / at_risk
        observed, expected, both = observed + events_one.sum(), expected + (events * share).sum(), both + events.sum()
        spare = (at_risk - events) / np.maximum(at_risk - 1, 1)
        variance += (events * share * (1 - share) * spare).sum()
        hazard = np.cumsum(events / at_risk)
        due = np.cumsum(share * events / at_risk)
        residuals[rows] = event * (z - share[place]) - (z * hazard[place] - due[place])
    return Arrivals(observed, expected, variance, both, residuals)


class Sample(NamedTuple):
    """Runs of one method: a number of each, and what was resampled of them."""

    key: tuple[Any, ...]
    """Their coordinates."""
    values: Array
    setups: Array
    maps: Array
    tasks: Array

    @property
    def count_maps(self) -> int:
        """Number of maps."""
        return len(np.unique(self.maps))

    @property
    def over(self) -> Over:
        """What intervals are over."""
        return "maps" if self.count_maps > 1 else "seeds"

    @property
    def units(self) -> int:
        """The number of maps of the setup with fewest, setups of a single map aside; of runs, on one map."""
        if self.over == "seeds":
            return int(np.unique(self.tasks, return_counts=True)[1].min())
        counts = [len(np.unique(self.maps[self.setups == setup])) for setup in np.unique(self.setups)]
        return min((count for count in counts if count > 1), default=1)

    def intervals(self, statistic: Callable[[Array], Array], seed: int = 0) -> Array:
        """Return the ends of 95 % intervals of a statistic of weights [round, run] that gives [round, ...]."""
        blank = np.asarray(statistic(np.ones((1, len(self.values)), dtype=np.int64)))[0]
        units = self.units
        if units < 2:
            return np.full((2, *blank.shape), np.nan)
        drawn = np.concatenate([statistic(weights) for weights in self._weights(seed)])
        beyond = NormalDist().cdf(-math.sqrt(units / (units - 1)) * student_point(1 - LEVEL, units - 1))
        # without interpolation, as steps may be infinite
        ends: Array = np.percentile(drawn, [100 * beyond, 100 * (1 - beyond)], axis=0, method="nearest")
        return ends

    def _weights(self, seed: int) -> Iterator[Array]:
        """Yield how often runs are drawn, [round, run], a part of all rounds at a time."""
        random = np.random.default_rng(seed)
        setups = [np.unique(self.maps[self.setups == setup]) for setup in np.unique(self.setups)]
        cells = [
            (s, k, np.flatnonzero((self.maps == name) & (self.tasks == task)))
            for s, names in enumerate(setups)
            for k, name in enumerate(names)
            for task in np.unique(self.tasks[self.maps == name])
        ]
        at_once = max(1, MOST_WEIGHTS // len(self.values))
        for begin in range(0, ROUNDS, at_once):
            rounds = min(at_once, ROUNDS - begin)
            drawn = [random.multinomial(len(names), np.full(len(names), 1 / len(names)), rounds) for names in setups]
            weights = np.empty((rounds, len(self.values)), dtype=np.int64)
            for s, k, rows in cells:
                count = len(rows)
                weights[:, rows] = random.multinomial(drawn[s][:, k] * count, np.full(count, 1 / count))
            yield weights


def weighted_iqm(values: Array, weights: Array) -> Array:
    """Return the inter-quartile mean of values that count as often as they were drawn, [round].

    >>> weighted_iqm(np.array([100.0, 1.0, 2.0, 3.0]), np.array([[1, 1, 1, 1], [0, 2, 2, 0]])).tolist()
    [2.5, 1.5]
    """
    order = np.argsort(values, kind="stable")
    upto = weights[:, order].cumsum(axis=1)
    total = upto[:, -1:]
    cut = total // 4
    kept = np.diff(np.clip(upto, cut, total - cut), axis=1, prepend=cut)
    return np.asarray(kept @ values[order] / (total - 2 * cut)[:, 0])


def weighted_profile(values: Array, thresholds: Array, weights: Array) -> Array:
    """Return the share above each threshold of values that count as often as they were drawn, [round, threshold]."""
    order = np.argsort(values, kind="stable")
    upto = np.pad(weights[:, order].cumsum(axis=1), ((0, 0), (1, 0)))
    beyond: Array = upto[:, np.searchsorted(values[order], thresholds, side="right")] / upto[:, -1:]
    return 1 - beyond


class Profile(NamedTuple):
    """A performance profile with its 95 % interval at every threshold."""

    thresholds: Array
    share: Array
    """Of runs above each threshold."""
    low: Array
    high: Array


class Survival(NamedTuple):
    """A survival curve: the share of runs that have not got there, with its 95 % interval at every step."""

    steps: Array
    """Where the share falls, from 0 on."""
    share: Array
    low: Array
    high: Array
    median: Estimate
    """Steps after which half of the runs have got there; infinite where fewer ever do."""


def samples(results: Results, value: str, better: str, by: Sequence[str] | None) -> Iterator[Sample]:
    """Yield the runs of every method that did not fail, or of every group of runs.

    Raises
    ------
    ConfigError
        Unless `value` is a number of which more, or of which fewer, is better.
    """
    results.check_requested(value)
    if find_number(value, compared=True, columns=results.columns).better != better:
        needed = "steps, such as steps_to_90" if better == "fewer" else "a score, such as settled"
        raise ConfigError(f"{shown(value)}: must be {needed}")
    columns = results.per_run_values(value), results["setup"], maps_of(results), results["task"]
    for key, rows in results.groups(*_names(results, by)):
        if len(rows):
            if better == "more" and np.isnan(columns[0][rows]).any():
                raise ConfigError(f"{value}: some runs have none; select those that have")
            yield Sample(key, *(column[rows] for column in columns))


def _names(results: Results, by: Sequence[str] | None) -> tuple[str, ...]:
    """Return the coordinates that runs are grouped by."""
    if by is not None and not isinstance(by, str | Sequence):
        raise ConfigError(f"by={shown(by)}: must be a list of coordinates")
    return ("method", *results.swept) if by is None else (by,) if isinstance(by, str) else tuple(by)


def overall(results: Results, value: str, steps: str, by: Sequence[str] | None) -> list[dict[str, Any]]:
    """Return a row of numbers per method over all maps and tasks; see `Results.overall`."""
    rows, curves = [], survival(results, steps, by)
    for sample in samples(results, value, "more", by):
        scores, gaps = sample.values, np.maximum(1.0 - sample.values, 0.0)

        def both(weights: Array, scores: Array = scores, gaps: Array = gaps) -> Array:
            return np.stack([weighted_iqm(scores, weights), weights @ gaps / weights.sum(axis=1)], axis=-1)

        low, high = sample.intervals(both)
        row: dict[str, Any] = dict(zip(_names(results, by), sample.key, strict=True))
        row |= {"runs": len(scores), "maps": sample.count_maps, "over": sample.over}
        found = {
            "iqm": (float(iqm(scores)), low[0], high[0]),
            "gap": (float(optimality_gap(scores)), low[1], high[1]),
            steps: curves[sample.key].median,
        }
        for name, ends in found.items():
            row |= {name + end: float(number) for end, number in zip(("", "_low", "_high"), ends, strict=True)}
        rows.append(row)
    return rows


def profiles(
    results: Results, value: str, thresholds: Sequence[float] | Array | None, by: Sequence[str] | None
) -> dict[tuple[Any, ...], Profile]:
    """Return the performance profile of every method; see `Results.profiles`."""
    found = list(samples(results, value, "more", by))
    if thresholds is None:
        top = max((float(sample.values.max()) for sample in found), default=1.0)
        thresholds = np.linspace(0.0, max(top, 1.0), THRESHOLDS)
    try:
        at = np.asarray(thresholds, dtype=np.float64)
    except (TypeError, ValueError):
        at = np.empty((0, 0))
    if at.ndim != 1 or not np.isfinite(at).all():
        raise ConfigError(f"thresholds={shown(thresholds)}: must be a list of numbers")
    curves = {}
    for sample in found:

        def shares(weights: Array, values: Array = sample.values) -> Array:
            return weighted_profile(values, at, weights)

        curves[sample.key] = Profile(at, performance_profile(sample.values, at), *sample.intervals(shares))
    return curves


def survival(results: Results, value: str, by: Sequence[str] | None) -> dict[tuple[Any, ...], Survival]:
    """Return the survival curve of every method; see `Results.survival`."""
    curves = {}
    for sample in samples(results, value, "fewer", by):
        times, seen = _until(results, sample.values)
        steps, share = kaplan_meier(times, seen)

        def curve(weights: Array, times: Array = times, seen: Array = seen) -> Array:
            known, left = kaplan_meier(times, seen, weights)
            return np.concatenate([left, _median(known, left)[:, None]], axis=1)

        low, high = sample.intervals(curve)
        median = Estimate(float(_median(steps, share[None])[0]), float(low[-1]), float(high[-1]))
        ones = np.ones(1) if sample.units > 1 else np.full(1, np.nan)
        low, high = (np.concatenate([ones, end[:-1]]) for end in (low, high))
        curves[sample.key] = Survival(np.append(0.0, steps), np.append(1.0, share), low, high, median)
    return curves


def _until(results: Results, values: Array) -> tuple[Array, Array]:
    """Return when something was last known of runs, and whether they got there; NaN is never."""
    seen = ~np.isnan(values)
    return np.where(seen, values, float(results.plan.steps)), seen


def _median(steps: Array, left: Array) -> Array:
    """Return where each curve [curve, step] first falls to a half; infinite where it does not."""
    if not len(steps):
        return np.full(len(left), np.inf)
    reached = left <= 0.5 + 1e-12  # a share is a product of fractions
    return np.where(reached.any(axis=-1), steps[reached.argmax(axis=-1)], np.inf)


def log_rank(results: Results, one: Any, two: Any, value: str, by: str, **wanted: Any) -> LogRank:
    """Test whether two methods get there at the same rate; see `Results.log_rank`."""
    check_choice("by", by, results.coordinates)
    columns = []
    for side in (one, two):
        chosen = results.select(**wanted | {by: side})
        runs = [sample.values for sample in samples(chosen, value, "fewer", [by])]
        if not runs:
            raise ConfigError(f"{by}={shown(side)}: all of its runs failed; nothing to compare")
        fine = chosen["error"] == ""
        seeds = chosen["seed"].astype(np.str_)
        strata = _strata(chosen, by)
        columns.append((*_until(results, runs[0]), strata[fine], maps_of(chosen)[fine], seeds[fine]))
    times, seen, strata, maps, seeds = (np.concatenate(pair) for pair in zip(*columns, strict=True))
    found = count_arrivals(times, seen, np.arange(len(times)) < len(columns[0][0]), strata)
    other, other_expected = found.both - found.observed, found.both - found.expected
    count = len(np.unique(maps))
    _, unit = np.unique(maps if count > 1 else seeds, return_inverse=True)
    sums = np.bincount(unit, found.residuals)
    chi_square = (found.observed - found.expected) ** 2 / found.variance if found.variance > 0 else 0.0
    one, two = (str(side) if by == "method" else f"{by} {side}" for side in (one, two))
    return LogRank(
        one, two, value, runs=len(times), maps=count,
        ratio=found.observed / found.expected / (other / other_expected) if other and found.expected else math.nan,
        chi_square=chi_square, p_of_runs=2 * NormalDist().cdf(-math.sqrt(chi_square)),
        p=interval_of_mean(sums, np.arange(len(sums))).p, over="maps" if count > 1 else "seeds",
    )  # fmt: skip


def _strata(side: Results, by: str) -> Array:
    """Return what runs must share to count against each other: all that is neither the map, the seed nor `by`."""
    names = [name for name in ("setup", "task", *side.swept) if name != by]
    columns = [side[name].tolist() for name in names]
    if by != "method":
        rest = methods_without(side.plan, by)
        columns.append([rest[label] for label in side["method"].tolist()])
    return np.array(["/".join(map(str, key)) for key in zip(*columns, strict=True)])


def to_rliable(results: Results, value: str, by: Sequence[str] | None, over: Over) -> dict[str, Array]:
    """Return numbers by method, runs x tasks; see `Results.to_rliable`."""
    check_choice("over", over, ("maps", "seeds"))
    found: dict[str, Array] = {}
    first: dict[str, int] = {}
    for sample in samples(results, value, "more", by):
        label = ", ".join(map(str, sample.key))
        places = sample.setups if over == "maps" else sample.maps
        tasks = np.array([f"{place}/{task}" for place, task in zip(places, sample.tasks, strict=True)])
        columns = {str(task): sample.values[tasks == task] for task in dict.fromkeys(tasks.tolist())}
        sizes = {task: len(column) for task, column in columns.items()}
        first = first or sizes
        most = max(first.values())
        for task in {**first, **sizes}:
            if sizes.get(task, 0) != most:
                raise ConfigError(
                    f"{label}: {sizes.get(task, 0)} runs of {task}, and {most} of another; rliable needs as many of "
                    "each; select setups with equally many maps, and methods without failed runs"
                )
        found[label] = np.stack([*columns.values()], axis=-1)
    return found
