"""Intervals of groups of runs: over maps, where an experiment speaks of maps, or over the seeds of one map.

Runs on one map share its walls and objects, so they are not independent evidence about maps: the unit of replication is
the map. With m_k the mean on map k of K, the mean m of the m_k has the standard error e = s / sqrt(K).

Student's interval m +- q e excludes the truth far too often where the m_k are skewed: in a sample without the rare
large values, m and s are both too small. Johnson (1978) moves both ends towards the long tail, by b (1 + 2 q^2) e with
b = skewness / (6 sqrt(K)). Few maps need two additions, calibrated by simulation on normal, exponential, lognormal and
t3 populations and 10 to 100 maps:

- The skewness of few maps is too small and uncertain. It is multiplied by (1 + 12/K)^2, with K at least 10, up to 8.
- Outliers of a symmetric population look like skewness. So the end on the short side is no nearer than Student's
  one-sided end, and no nearer than his two-sided end where the skewness is 2 or more.

Other populations were not used for it. There p is below 5 % in 1 to 2 % of draws of 10 maps on bounded symmetric data,
in 4 to 5 % on gamma, Laplace and chi-square data, and in 10 to 19 % where a fifth of the maps decides. With 30 maps it
is in 2 to 7 %.

The p-value solves the same equations for the level at which an end is 0, so that it is below 5 % if and only if the
95 % interval excludes 0. Other statistics get percentiles over resamples of maps, and of runs within them, at a level
widened for the number of maps (Hesterberg 2015: percentiles are as close as if K were K - 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np

from fastrm.arrays import Array

Over = Literal["maps", "seeds"]
LEVEL = 0.95
ROUNDS = 2000
MOST_SKEWED = 8.0


class Interval(NamedTuple):
    """A 95 % interval, and over what it was taken; NaN where a single map or run gives none."""

    low: float
    high: float
    over: Over
    p: float = math.nan
    """Two-sided p-value of a mean of 0; NaN for other statistics."""


def interval_of_mean(values: Array, maps: Array) -> Interval:
    """Return an interval of the mean over maps of the means on each; over seeds where there is one map.

    >>> skewed = np.array([0.0, 0.0, 0.1, 0.1, 0.2, 0.3, 0.8, 2.4])
    >>> interval = interval_of_mean(skewed, np.arange(8))
    >>> interval.over, bool(interval.high - skewed.mean() > skewed.mean() - interval.low), round(interval.p, 3)
    ('maps', True, 0.13)
    """
    groups = by_map(values, maps)
    over: Over = "maps" if len(groups) > 1 else "seeds"
    means = np.array([group.mean() for group in groups]) if over == "maps" else groups[0]
    count = len(means)
    if count < 2:
        return Interval(math.nan, math.nan, over)
    middle, spread = float(means.mean()), float(means.std())
    if spread == 0.0:
        return Interval(middle, middle, over, float(middle == 0.0))
    error = spread / math.sqrt(count - 1)
    skewness = float((((means - middle) / spread) ** 3).mean())
    shift = min((1 + 12 / max(count, 10)) ** 2 * abs(skewness), MOST_SKEWED) / (6 * math.sqrt(count))
    share = min(0.5 + abs(skewness) / 4, 1.0)  # of Student's p-value: a half is that of one side
    t, freedom = abs(middle) / error, count - 1
    p = _p_on_long_side(t, shift, freedom) if middle * skewness < 0 else _p_on_short_side(t, shift, share, freedom)
    long, short = _reaches(shift, share, freedom)
    below, above = (short, long) if skewness > 0 else (long, short)
    return Interval(middle - below * error, middle + above * error, over, p)


def _reaches(shift: float, share: float, freedom: int) -> tuple[float, float]:
    """Return how many standard errors an interval reaches on the long and on the short side."""
    q = student_point(1 - LEVEL, freedom)
    top = min(q, 1 / (4 * shift)) if shift else q  # beyond, a larger q would shorten the reach
    short = max(top - shift * (1 + 2 * top**2), student_point((1 - LEVEL) / share, freedom))
    return q + shift * (1 + 2 * q**2), short


def _p_on_long_side(reach: float, shift: float, freedom: int) -> float:
    """Return the p-value at which q + shift (1 + 2 q^2) is the reach."""
    rest = reach - shift
    return student_p(2 * rest / (1 + math.sqrt(1 + 8 * shift * rest)), freedom) if rest > 0 else 1.0


def _p_on_short_side(reach: float, shift: float, share: float, freedom: int) -> float:
    """Return the p-value at which q - shift (1 + 2 q^2) is the reach, or Student's where that is larger."""
    root = 1 - 8 * shift * (reach + shift)
    shifted = student_p(2 * (reach + shift) / (1 + math.sqrt(root)), freedom) if root >= 0 else 0.0
    return max(shifted, share * student_p(reach, freedom))


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
    beyond = NormalDist().cdf(-math.sqrt(count / (count - 1)) * student_point(1 - LEVEL, count - 1))
    low, high = np.percentile(statistic(again), [100 * beyond, 100 * (1 - beyond)])
    return Interval(float(low), float(high), over)


def interval_of_gap(one: Array, two: Array, *, rounds: int = ROUNDS, seed: int = 0) -> tuple[float, float]:
    """Return an interval of the mean of one sample of maps minus that of another, by bootstrap-t (Welch's error)."""
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


@lru_cache
def student_point(p: float, freedom: int) -> float:
    """Return the point that Student's t exceeds on either side with probability p / 2.

    >>> round(student_point(0.05, 9), 6)
    2.262157
    """
    point, step = 0.0, math.inf
    while step > 1e-12 * point:  # Newton's method, from the left of a convex function
        density = _scale(freedom) / math.sqrt(freedom) * (1 + point**2 / freedom) ** (-(freedom + 1) / 2)
        step = (student_p(point, freedom) - p) / density
        point += step
    return point


def student_p(t: float, freedom: int) -> float:
    """Return how likely the size of Student's t exceeds a number: an integral of sin(x)^(freedom - 1)."""
    end = math.atan2(math.sqrt(freedom), abs(t))
    places, weights = _gauss()
    return min(_scale(freedom) * end * float(weights @ np.sin(end * places) ** (freedom - 1)), 1.0)


def _scale(freedom: int) -> float:
    return 2 / math.sqrt(math.pi) * math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))


@cache
def _gauss() -> tuple[Array, Array]:
    """Return places and weights of a Gauss-Legendre rule on [0, 1]."""
    places, weights = np.polynomial.legendre.leggauss(80)
    return (places + 1) / 2, weights / 2
