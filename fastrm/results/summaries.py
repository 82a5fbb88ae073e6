"""Figures of groups of runs, and two methods compared run by run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fastrm.errors import ConfigError
from fastrm.results.stats import (
    QUARTILES,
    bootstrap_interval,
    censored_percentile,
    iqm,
    probability_of_improvement,
    sign_flip_p,
)

if TYPE_CHECKING:
    from fastrm.results.dataset import Results

SUMMARY = (
    *(f"score_{q:.0f}" for q in QUARTILES), "iqm", "iqm_low", "iqm_high", "area",
    *(f"steps_to_90_{q:.0f}" for q in QUARTILES), "reached_90", "shortest",
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
    difference: float
    """Mean of the first less the second."""
    low: float
    """Lower end of a 95 % interval of the difference, from a bootstrap within maps and tasks."""
    high: float
    p: float
    """Two-sided p-value of the difference, by random signs."""
    probability: float
    """How likely a run of the first is better than one of the second, averaged over maps and tasks."""


def summarise(results: Results, by: Sequence[str]) -> list[dict[str, Any]]:
    """Return a row of figures per group of runs; see `Results.summary`."""
    score, steps, solved = results.per_run_values("score"), results["steps_to_90"], results["solved"]
    areas, maps = results.per_run_values("area"), np.char.add(np.char.add(results["setup"], "/"), results["grid"])
    rows = []
    by = (by,) if isinstance(by, str) else tuple(by)
    for key, mine in results.groups(*by):
        row: dict[str, Any] = dict(zip(by, key, strict=True)) | {"runs": len(mine)}
        if not len(mine):
            row |= dict.fromkeys(SUMMARY, math.nan)
        else:
            row |= {f"score_{q:.0f}": float(np.percentile(score[mine], q)) for q in QUARTILES}
            low, high = bootstrap_interval(score[mine], maps[mine], rounds=500)
            row |= {"iqm": float(iqm(score[mine])), "iqm_low": low, "iqm_high": high}
            row["area"] = float(areas[mine].mean())
            row |= {f"steps_to_90_{q:.0f}": censored_percentile(steps[mine], q) for q in QUARTILES}
            row["reached_90"] = float(np.mean(~np.isnan(steps[mine])))
            row["shortest"] = float(np.mean(solved[mine]))
        rows.append(row)
    return rows


def compare(results: Results, one: str, two: str, value: str, **wanted: Any) -> Paired:
    """Compare two methods run by run; see `Results.compare`."""
    sides = [results.select(method=label, **wanted) for label in (one, two)]
    found = []
    for side in sides:
        fine = np.flatnonzero(side["error"] == "")
        keys = zip(*(side[name][fine].tolist() for name in ("setup", "grid", "task", "seed")), strict=True)
        found.append(dict(zip(keys, side.per_run_values(value)[fine].tolist(), strict=True)))
    common = [key for key in found[0] if key in found[1]]
    if not common:
        raise ConfigError(f"{one} and {two} have no runs on the same map, task and seed")
    pair = np.array([[side[key] for key in common] for side in found])
    sign = -1.0 if value.startswith("steps_to") else 1.0
    if sign > 0 and np.isnan(pair).any():
        raise ConfigError(f"{value}: some runs have none (they are shorter than a tick); nothing to compare")
    ranks = np.where(np.isnan(pair), np.inf, pair) * sign
    strata = np.array(["/".join(key[:3]) for key in common])
    chance = [probability_of_improvement(ranks[0, strata == s], ranks[1, strata == s]) for s in np.unique(strata)]
    differences = np.subtract(*np.where(np.isnan(pair), float(results.plan.steps), pair))
    low, high = bootstrap_interval(differences, strata, lambda v: v.mean(axis=-1))
    return Paired(
        one=one, two=two, value=value, pairs=len(common), difference=float(differences.mean()), low=low, high=high,
        p=sign_flip_p(differences), probability=float(np.mean(chance)),
    )  # fmt: skip
