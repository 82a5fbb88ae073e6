"""Statistics of groups of runs: plain arrays in, numbers out.

Runs that never reach a threshold are *censored*: they count as later than every run that did, and are never dropped. A
percentile that falls among them is infinite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
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
