"""Statistics of groups of runs: plain arrays in, numbers out.

Runs that never reach a threshold are *censored*: they count as later than every run that did, and are never dropped. A
percentile that falls among them is infinite.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_number

QUARTILES = (25.0, 50.0, 75.0)


def band(curves: Array, percentiles: Sequence[float] = QUARTILES) -> Array:
    """Return percentiles over runs of curves [run, tick], as [percentile, tick]; before its first episode a run has 0.

    >>> band(np.array([[np.nan, 1.0], [0.5, 3.0], [1.0, 2.0]])).tolist()
    [[0.25, 1.5], [0.5, 2.0], [0.75, 2.5]]
    """
    result: Array = np.percentile(np.nan_to_num(curves, nan=0.0), percentiles, axis=0)
    return result


def censored_percentile(values: Array, percentile: float) -> float:
    """Return a percentile, interpolated linearly, of values among which NaN means *later than all others*.

    >>> censored_percentile(np.array([3.0, 1.0, np.nan]), 50)
    3.0
    >>> censored_percentile(np.array([3.0, 1.0, np.nan, np.nan]), 50)
    inf
    """
    ordered = np.sort(np.where(np.isnan(values), np.inf, values))
    place = percentile / 100 * (len(ordered) - 1)
    low, part = int(place), place - int(place)
    if part == 0:
        return float(ordered[low])
    return float(ordered[low] + part * (ordered[low + 1] - ordered[low])) if ordered[low + 1] < np.inf else np.inf


def ks_distance(one: Array, two: Array) -> float:
    """Return the largest gap between the empirical distributions of two samples (Kolmogorov-Smirnov).

    >>> ks_distance(np.array([1.0, 2.0]), np.array([1.0, 3.0]))
    0.5
    """
    everything = np.sort(np.concatenate([one, two]))
    below = [np.searchsorted(np.sort(sample), everything, side="right") / len(sample) for sample in (one, two)]
    return float(np.abs(below[0] - below[1]).max())


def permutation_p(one: Array, two: Array, rounds: int = 20_000, seed: int = 0) -> float:
    """Return how often a random division of the pooled values gives at least this `ks_distance`; ties are exact.

    The observed division counts as one of the rounds, so the result is never 0.
    """
    pooled = np.concatenate([one, two])
    order = np.argsort(pooled, kind="stable")
    last = np.append(np.diff(pooled[order]) > 0, True)  # compare only after the last of equal values
    random = np.random.default_rng(seed)
    mine = np.zeros((rounds, len(pooled)), dtype=np.bool_)
    mine[:, : len(one)] = True
    mine = random.permuted(mine, axis=1)
    mine[0] = np.isin(order, np.arange(len(one)))  # as observed
    inside = mine.cumsum(axis=1)[:, last]
    count = np.arange(1, len(pooled) + 1)[last]
    gaps = np.abs(inside / len(one) - (count - inside) / len(two)).max(axis=1)
    return float(np.mean(gaps >= gaps[0] - 1e-12))


def iqm(values: Array) -> Any:
    """Return the inter-quartile mean over the last axis: the mean without the lowest and the highest quarter.

    >>> float(iqm(np.array([100.0, 1.0, 2.0, 3.0])))
    2.5
    """
    ordered = np.sort(values, axis=-1)
    count = ordered.shape[-1]
    return ordered[..., count // 4 : count - count // 4].mean(axis=-1)


def improvements(one: Array, two: Array) -> Array:
    """Return what each pair of runs adds to the probability that a run of `one` exceeds a run of `two`, ties half.

    That is the share of `two` that its first run exceeds, plus the share of `one` that exceeds its second run, minus
    the probability. So the mean over pairs is the probability (Mann-Whitney U / n^2), and their spread gives its error.

    >>> improvements(np.array([1.0, 2.0]), np.array([1.0, 0.0])).tolist()
    [0.625, 1.125]
    """
    lost = _share_below(two, one)
    added: Array = _share_below(one, two) - lost + lost.mean()
    return added


def _share_below(values: Array, others: Array) -> Array:
    """Return which share of the others each value exceeds, ties counting half."""
    ordered = np.sort(others)
    twice = np.searchsorted(ordered, values, side="left") + np.searchsorted(ordered, values, side="right")
    return np.asarray(twice / (2 * len(others)))


def holm(p_values: Sequence[float]) -> Array:
    """Return p-values corrected for their number (Holm 1979), in the same order; those that are NaN stay NaN.

    With these, the chance of one or more findings below 5 % where there is nothing is at most 5 %.

    >>> holm([0.01, 0.04, 0.02]).tolist()
    [0.03, 0.04, 0.04]
    """
    for k, p in enumerate(p_values):
        if p == p:
            check_number(f"p_values[{k}]", p, 0, 1)
    given = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(given, kind="stable")[: np.isfinite(given).sum()]
    corrected = np.full(len(given), np.nan)
    factors = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(factors * given[order]), 1.0)
    return corrected


def steps_to(curves: Array, steps: Array, threshold: float) -> Array:
    """Return the step at which each curve first reaches a threshold, NaN where it never does.

    >>> steps_to(np.array([[0.1, 0.9], [0.1, 0.2]]), np.array([10, 20]), 0.5).tolist()
    [20.0, nan]
    """
    reached = np.nan_to_num(curves, nan=-np.inf) >= threshold
    first = reached.argmax(axis=1) if curves.shape[1] else np.zeros(len(curves), dtype=np.int64)
    return np.where(reached.any(axis=1), steps[first].astype(np.float64) if len(steps) else np.nan, np.nan)


def area(curves: Array, steps: Array) -> Array:
    """Return the mean height of each curve over its steps; before its first episode a run has 0.

    A tick stands for the steps since the one before.

    >>> area(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([10, 40])).tolist()
    [0.75, 0.25]
    """
    weights = np.diff(steps, prepend=0)
    heights = np.nan_to_num(curves)
    if (weights == weights[:1]).all():  # a plain mean, rounded as one
        return np.asarray(heights.mean(axis=1))
    return np.asarray((heights * weights).sum(axis=1) / steps[-1])


def settled(curves: Array, steps: Array) -> Array:
    """Return the mean height of each curve at the ticks in the last tenth of the steps.

    These are equally good samples of what the run settles at, however far apart they lie. Before its first episode a
    run has 0.

    >>> settled(np.array([[0.0, 1.0, 2.0]]), np.array([10, 95, 100])).tolist()
    [1.5]
    """
    last = steps > 0.9 * steps[-1]
    height: Array = np.nan_to_num(curves[:, last]).mean(axis=1)
    return height


def steps_to_plateau(curves: Array, steps: Array, share: float = 0.98) -> Array:
    """Return the step at which each curve first reaches a share of what it settles at, NaN where that is 0 or less."""
    height = settled(curves, steps)
    reached = np.nan_to_num(curves, nan=-np.inf) >= share * height[:, None]
    return np.where((height > 0) & reached.any(axis=1), steps[reached.argmax(axis=1)].astype(np.float64), np.nan)


PER_CURVE: dict[str, Callable[[Array, Array], Array]] = {
    "settled": settled,
    "area": area,
    "steps_to_plateau": steps_to_plateau,
}
"""Numbers that curves and their steps, of which there is at least one, give for every run."""


def share_of(name: object) -> float | None:
    """Return the share of the unit in a name such as ``steps_to_50`` or ``steps_to_0.5``; None for other names.

    >>> share_of("steps_to_50"), share_of("steps_to_0.25"), share_of("steps_to_plateau"), share_of("settled")
    (0.5, 0.25, None, None)
    """
    match = re.fullmatch(r"steps_to_(?:([0-9]{1,3})|(0\.[0-9]+))", name) if isinstance(name, str) else None
    if match is None or (match[1] and not 1 <= int(match[1]) <= 100):
        return None
    share = int(match[1]) / 100 if match[1] else float(match[2])
    return share if share > 0 else None
