"""Intervals of groups of runs: over maps, where an experiment speaks of maps, or over the seeds of one map.

Runs on one map share its walls and objects, so they are not independent evidence about maps: the unit of replication is
the map. With m_k the mean on map k of K, the mean of the m_k has the standard error s / sqrt(K). A *bootstrap-t*
interval takes the quantiles of (m* - m) / s* over resamples of maps, and of runs within them, in place of the normal
ones; on skewed data and few maps it covers the truth more often than percentiles of m* do. One outlier among equal maps
can blow it up, so it never leaves the range of the m_k. Other statistics get the percentiles, at a level widened for
the number of maps (Hesterberg 2015: percentiles are as close as if K were K - 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np

from fastrm.arrays import Array

Over = Literal["maps", "seeds"]
LEVEL = 0.95
ROUNDS = 2000
FEW = 5
"""Fewer maps than this have too few resamples; their mean gets Student's interval."""


class Interval(NamedTuple):
    """A 95 % interval, and over what it was taken; NaN where a single map or run gives none."""

    low: float
    high: float
    over: Over


def interval_of_mean(values: Array, maps: Array, *, rounds: int = ROUNDS, seed: int = 0) -> Interval:
    """Return an interval of the mean over maps of the means on each; over seeds where there is one map.

    >>> skewed = np.array([0.0, 0.0, 0.1, 0.1, 0.2, 0.3, 0.8, 2.4])
    >>> interval = interval_of_mean(skewed, np.arange(8))
    >>> interval.over, bool(interval.high - skewed.mean() > skewed.mean() - interval.low)
    ('maps', True)
    """
    groups = by_map(values, maps)
    over: Over = "maps" if len(groups) > 1 else "seeds"
    units = groups if over == "maps" else [np.array([value]) for value in groups[0]]
    if len(units) < 2:
        return Interval(np.nan, np.nan, over)
    means = np.array([unit.mean() for unit in units])
    middle, error = float(means.mean()), float(means.std(ddof=1))
    if error == 0.0:
        return Interval(middle, middle, over)
    if len(units) < FEW:
        reach = _student(len(units) - 1) * error / math.sqrt(len(units))
        return Interval(middle - reach, middle + reach, over)
    random = np.random.default_rng(seed)
    again = _resample_means(units, rounds, random)
    spread = again.std(axis=1, ddof=1)
    fine = spread > 1e-9 * error  # a resample of one map only says nothing
    ratios = (again.mean(axis=1) - middle)[fine] / spread[fine]
    low, high = np.percentile(ratios, [50 * (1 + LEVEL), 50 * (1 - LEVEL)])
    ends = middle - float(low) * error, middle - float(high) * error
    return Interval(max(ends[0], float(means.min())), min(ends[1], float(means.max())), over)


def interval_of(
    statistic: Callable[[Array], Any], values: Array, maps: Array, *, rounds: int = 400, seed: int = 0
) -> Interval:
    """Return an interval of a statistic of all runs, such as the inter-quartile mean, over its last axis.

    Maps are resampled, and runs within them; where there is one map, its runs.
    """
    groups = by_map(values, maps)
    over: Over = "maps" if len(groups) > 1 else "seeds"
    count = len(groups) if over == "maps" else len(groups[0])
    if count < 2:
        return Interval(np.nan, np.nan, over)
    random = np.random.default_rng(seed)
    if over == "seeds":
        again = groups[0][random.integers(0, count, (rounds, count))]
    else:
        again = _resample_runs(groups, rounds, random)
    beyond = NormalDist().cdf(-np.sqrt(count / (count - 1)) * _student(count - 1))
    low, high = np.percentile(statistic(again), [100 * beyond, 100 * (1 - beyond)])
    return Interval(float(low), float(high), over)


def interval_of_gap(one: Array, two: Array, *, rounds: int = ROUNDS, seed: int = 0) -> tuple[float, float]:
    """Return an interval of the mean of one sample of maps less that of another, by bootstrap-t (Welch's error)."""
    random = np.random.default_rng(seed)
    again = [sample[random.integers(0, len(sample), (rounds, len(sample)))] for sample in (one, two)]

    def gap_and_error(first: Array, second: Array) -> tuple[Any, Any]:
        errors = [sample.var(axis=-1, ddof=1) / sample.shape[-1] for sample in (first, second)]
        return first.mean(axis=-1) - second.mean(axis=-1), np.sqrt(errors[0] + errors[1])

    if min(len(one), len(two)) < 2:
        return math.nan, math.nan
    gap, error = gap_and_error(one, two)
    if error == 0.0:
        return float(gap), float(gap)
    gaps, errors = gap_and_error(*again)
    fine = errors > 1e-9 * error
    low, high = np.percentile((gaps - gap)[fine] / errors[fine], [50 * (1 + LEVEL), 50 * (1 - LEVEL)])
    return float(gap - low * error), float(gap - high * error)


def interval_of_share(held: int, count: int) -> tuple[float, float]:
    """Return Wilson's interval of a share of independent units, such as maps.

    >>> tuple(round(end, 3) for end in interval_of_share(21, 30))
    (0.521, 0.833)
    """
    z = NormalDist().inv_cdf(0.5 + LEVEL / 2)
    middle = (held + z * z / 2) / (count + z * z)
    reach = z / (count + z * z) * math.sqrt(held * (count - held) / count + z * z / 4)
    return max(middle - reach, 0.0), min(middle + reach, 1.0)


def by_map(values: Array, maps: Array) -> list[Array]:
    """Return the values of every map, maps in order of their names."""
    order = np.argsort(maps, kind="stable")
    changes = np.flatnonzero(maps[order][1:] != maps[order][:-1]) + 1
    return np.split(values[order], changes) if len(values) else []


def _resample_runs(groups: list[Array], rounds: int, random: np.random.Generator) -> Array:
    """Draw maps, then as many runs of each as the map with most has: [round, map x run]."""
    sizes = np.array([len(group) for group in groups])
    table = np.zeros((len(groups), sizes.max()))
    for k, group in enumerate(groups):
        table[k, : len(group)] = group
    chosen = random.integers(0, len(groups), (rounds, len(groups)))
    within = (random.random((*chosen.shape, sizes.max())) * sizes[chosen][:, :, None]).astype(np.int64)
    drawn: Array = table[chosen[:, :, None], within].reshape(rounds, -1)
    return drawn


def _resample_means(groups: list[Array], rounds: int, random: np.random.Generator) -> Array:
    """Draw maps, and runs within them; return the mean of every drawn map, [round, map]."""
    most = max(len(group) for group in groups)
    means: Array = _resample_runs(groups, rounds, random).reshape(rounds, len(groups), most).mean(axis=2)
    return means


def _student(freedom: int) -> float:
    """Return the upper 2.5 % point of Student's t, to 1 %: in closed form up to 2, else by Cornish and Fisher."""
    tail = (1 - LEVEL) / 2
    if freedom == 1:
        return 1 / math.tan(math.pi * tail)
    if freedom == 2:
        return LEVEL / math.sqrt(2 * tail * (1 - tail))
    z = NormalDist().inv_cdf(0.5 + LEVEL / 2)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return float(z + sum(term / freedom**k for k, term in enumerate(terms, start=1)))
