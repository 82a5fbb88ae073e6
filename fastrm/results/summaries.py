"""Numbers of groups of runs, and two methods compared run by run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_choice
from fastrm.errors import ConfigError
from fastrm.results.intervals import Interval, Over, by_map, interval_of, interval_of_mean, interval_of_share
from fastrm.results.stats import QUARTILES, censored_percentile, improvements, iqm

if TYPE_CHECKING:
    from fastrm.results.dataset import Results

SHARES = {"reached_90": "reached 90 % of the optimum", "shortest_share": "end with shortest paths"}
"""Shares of runs."""
SUMMARY = (
    "maps", "over", *(f"settled_{q:.0f}" for q in QUARTILES), "iqm", "iqm_low", "iqm_high", "area",
    *(f"steps_to_90_{q:.0f}" for q in QUARTILES), "steps_to_plateau_50",
    *(f"{share}{end}" for share in SHARES for end in ("", "_low", "_high")),
)  # fmt: skip
"""What `Results.summary` tells of every group, NaN where all its runs failed."""


@dataclass(frozen=True, kw_only=True)
class Paired:
    """Two methods on common random numbers."""

    one: str
    two: str
    value: str
    """What is compared."""
    pairs: int
    """Runs of either that share map, task and seed."""
    maps: int
    """Maps these are on."""
    over: Over
    """What intervals and p-value are over: maps, so that they speak of maps like these, or the seeds of one map, so
    that they speak of that map alone."""
    difference: float
    """Mean of the first minus the second: positive where the first has more. Of steps, more is worse."""
    low: float
    """Lower end of a 95 % interval of the difference."""
    high: float
    p: float
    """Two-sided p-value of a difference of 0, from the same equations as the interval: it is below 0.05 if and only if
    the interval excludes 0. NaN where a single map or pair gives none."""
    probability: float
    """How likely a run of the first is better than one of the second on the same map and task, ties counting half,
    averaged over maps. Better is more, of steps fewer."""
    probability_low: float
    """Lower end of a 95 % interval of the probability."""
    probability_high: float
    never: int = 0
    """Runs of either that never got there. They count with the whole length of the run, so that the difference is one
    of *restricted means*: of the steps within that length."""

    def __str__(self) -> str:
        what = f"restricted mean of {self.value}" if self.never else self.value
        p = "p < 0.0001" if self.p < 1e-4 else f"p {self.p:.2g}"
        return (
            f"{self.one} minus {self.two}, {what}: {self.difference:.6g} [{self.low:.6g}, {self.high:.6g}] "
            f"over {self.over} ({self.maps} map{'s' * (self.maps > 1)}, {self.pairs} pairs), {p}, "
            f"better with probability {self.probability:.3f} [{self.probability_low:.3f}, {self.probability_high:.3f}]"
        )


def summarise(results: Results, by: Sequence[str], over: Over | None) -> list[dict[str, Any]]:
    """Return a row of numbers per group of runs; see `Results.summary`."""
    if not isinstance(by, str | Sequence):
        raise ConfigError(f"by={by!r:.60}: must be a list of coordinates")
    settled, area, plateau = (results.per_run_values(name) for name in ("settled", "area", "steps_to_plateau"))
    steps, solved, maps = results["steps_to_90"], results["solved"].astype(np.float64), maps_of(results)
    rows = []
    by = (by,) if isinstance(by, str) else tuple(by)
    for key, chosen in results.groups(*by):
        row: dict[str, Any] = dict(zip(by, key, strict=True)) | {"runs": len(chosen)}
        if not len(chosen):
            rows.append(row | dict.fromkeys(SUMMARY, math.nan))
            continue
        where = check_over(maps[chosen], over)
        middle = interval_of(iqm, settled[chosen], where)
        row |= {"maps": len(np.unique(maps[chosen])), "over": middle.over}
        row |= {f"settled_{q:.0f}": float(np.percentile(settled[chosen], q)) for q in QUARTILES}
        row |= {"iqm": float(iqm(settled[chosen])), "iqm_low": middle.low, "iqm_high": middle.high}
        row["area"] = float(area[chosen].mean())
        row |= {f"steps_to_90_{q:.0f}": censored_percentile(steps[chosen], q) for q in QUARTILES}
        row["steps_to_plateau_50"] = censored_percentile(plateau[chosen], 50)
        for share, truth in zip(SHARES, (~np.isnan(steps[chosen]), solved[chosen]), strict=True):
            ends = interval_of_mean(truth.astype(np.float64), where)
            row |= {
                share: float(truth.mean()),
                f"{share}_low": max(ends.low, 0.0),
                f"{share}_high": min(ends.high, 1.0),
            }
        rows.append(row)
    return rows


def compare(results: Results, one: Any, two: Any, value: str, by: str, over: Over | None, **wanted: Any) -> Paired:
    """Compare two methods, or two values of a setting, run by run; see `Results.compare`."""
    check_choice("by", by, ("method", *results.swept))
    sides = [results.select(**wanted | {by: side}) for side in (one, two)]
    alike = [name for name in ("label", *results.swept) if name != ("label" if by == "method" else by)]
    found = []
    for side in sides:
        fine = np.flatnonzero(side["error"] == "")
        keys = zip(*(side[name][fine].tolist() for name in ("setup", "grid", "task", *alike, "seed")), strict=True)
        found.append(dict(zip(keys, side.per_run_values(value)[fine].tolist(), strict=True)))
    common = [key for key in found[0] if key in found[1]]
    one, two = (str(side) if by == "method" else f"{by} {side}" for side in (one, two))
    if not common:
        raise ConfigError(f"{one} and {two} have no runs on the same map, task and seed")
    pair = np.array([[side[key] for key in common] for side in found])
    is_steps = value.startswith("steps_to")
    if not is_steps and np.isnan(pair).any():
        raise ConfigError(f"{value}: some runs have none (they are shorter than a tick); nothing to compare")
    ranks = np.where(np.isnan(pair), np.inf, pair) * (-1.0 if is_steps else 1.0)
    strata, better = np.array(["/".join(map(str, key[:-1])) for key in common]), np.empty(len(common))
    for stratum in np.unique(strata):
        better[strata == stratum] = improvements(*ranks[:, strata == stratum])
    differences = np.subtract(*np.where(np.isnan(pair), float(results.plan.steps), pair))
    maps = check_over(np.array(["/".join(key[:2]) for key in common]), over)
    middle, probability = (
        float(np.mean([unit.mean() for unit in by_map(column, maps)])) for column in (differences, better)
    )
    room = _resolution(results, pair) if is_steps else 0.0
    interval, chance = _widened(interval_of_mean(differences, maps), middle, room), _interval_of_chance(better, maps)
    return Paired(
        one=one, two=two, value=value, pairs=len(common), maps=len(np.unique(maps)), over=interval.over,
        difference=middle, low=interval.low, high=interval.high, p=interval.p, probability=probability,
        probability_low=chance.low, probability_high=chance.high, never=int(np.isnan(pair).sum()),
    )  # fmt: skip


def _widened(interval: Interval, middle: float, room: float) -> Interval:
    """Return an interval that reaches at least so far on either side, with the p-value that belongs to it."""
    if math.isnan(interval.p):
        return interval
    p = interval.p if abs(middle) > room else 1.0
    return interval._replace(low=min(interval.low, middle - room), high=max(interval.high, middle + room), p=p)


def _interval_of_chance(better: Array, maps: Array) -> Interval:
    """Return an interval of a mean within [0, 1]; Wilson's where all values are 0 or all are 1 and show no spread."""
    interval = interval_of_mean(better, maps)
    if interval.low == interval.high and interval.low in (0.0, 1.0):
        count = len(better) if interval.over == "seeds" else len(np.unique(maps))
        low, high = interval_of_share(round(interval.low * count), count)
    else:
        low, high = max(interval.low, 0.0), min(interval.high, 1.0)
    return interval._replace(low=low, high=high)


def _resolution(results: Results, reached: Array) -> float:
    """Return half the mean distance of the ticks at which something was first seen; ticks tell no more apart."""
    if results.plan.learner.tick != "log":
        return float(results.plan.learner.tick) / 2
    ticks = results["step"]
    which = np.searchsorted(ticks, np.where(np.isnan(reached), ticks[-1], reached))
    return float(np.diff(ticks, prepend=0)[which].mean()) / 2


def maps_of(results: Results) -> Array:
    """Return setup and name of every run's map."""
    names: Array = np.char.add(np.char.add(results["setup"], "/"), results["grid"])
    return names


def check_over(maps: Array, over: Over | None) -> Array:
    """Refuse what intervals cannot be over; return the maps.

    Over seeds is for one map alone: seeds on one map say nothing about others.
    """
    if over is not None:
        check_choice("over", over, ("maps", "seeds"))
    count = len(np.unique(maps))
    if over == "seeds" and count > 1:
        raise ConfigError(f"over='seeds': speaks of one map, but there are {count}; select one with setup and grid")
    if over == "maps" and count == 1:
        raise ConfigError("over='maps': there is only one map; an interval over its seeds speaks of it alone")
    return maps
