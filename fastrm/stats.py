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
