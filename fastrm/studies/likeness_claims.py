"""Claims 12 to 14: how alike runs, maps and methods are.

Kendall's W of k maps that rank n methods is 12 S / (k^2 (n^3 - n) - k T), where S is the sum of squared deviations of
the rank sums from their mean, and T the sum of t^3 - t over all groups of t tied methods. It is 0 where ranks are like
drawn at random and 1 where all maps rank alike.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from fastrm.arrays import Array
from fastrm.studies.claim import LEARNERS, Case, Claim, number
from fastrm.studies.evidence import ONE, TASKS, TWO, Evidence

SIMILAR = 0.05
"""Curves at most this far apart, averaged over the run, are called alike: a twentieth of the unit of the score."""
ALIKE_ORDER = 0.75
"""Share of pairs of methods in one order that is called alike: half-way from chance to all."""
FEWEST_RUNS = 4
"""Fewer runs have no quartiles."""
CATEGORIES = {
    "Boolean": ("qrm-bool", "crm-bool", "crm-rs-bool", "hrm-bool"),
    "numeric-Boolean": tuple(f"{learner}-num-bool" for learner in LEARNERS),
    "numeric": tuple(f"{learner}-num" for learner in LEARNERS),
}


def claim_12(ev: Evidence) -> Claim:
    """Runs on one map hardly differ."""
    cases = []
    widths: dict[str, list[float]] = {}
    for m, t, g in product(ev.labels, TASKS, ev.maps(ONE, TWO)):
        if ev.runs(g, t, m) >= FEWEST_RUNS:
            width = ev.mean_gap(ev.quartiles(g, t, m))
            cases.append(Case(ev.name(g), f"{t} {m}", width <= SIMILAR))
            widths.setdefault(m, []).append(width)
    every = [width for mine in widths.values() for width in mine]
    return Claim(
        number=12,
        text="the quartile bands over the runs on a map are narrow (mean width over the run at most "
        f"{SIMILAR}, for every task and method)",
        cases=tuple(cases),
        numbers=f"mean width {np.mean(every):.3f}, widest {max(every):.3f}; by method: "
        + ", ".join(f"{m} {np.mean(mine):.3f}" for m, mine in widths.items())
        if every
        else "",
    )


def claim_13(ev: Evidence) -> Claim:
    """Maps of a setup rank the methods alike."""
    cases, found = [], []
    for setup, t in product((ONE, TWO), TASKS):
        methods = [m for m in ev.labels if any(ev.has(g, t, m) for g in ev.maps(setup))]
        grids = [g for g in ev.maps(setup) if all(ev.has(g, t, m) for m in methods)]
        if len(methods) < 2 or len(grids) < 2:
            continue
        steps = np.array([[ev.steps(g, t, m) for m in methods] for g in grids])
        agreement = _agreement(steps)
        cases += [Case(ev.name(g), t, bool(share >= ALIKE_ORDER), setup)
                  for g, share in zip(grids, agreement, strict=True) if not math.isnan(share)]  # fmt: skip
        mean = f"{np.nanmean(agreement):.0%}".replace("%", " %") if not np.isnan(agreement).all() else "-"
        found.append(f"{setup} {t} W {kendall_w(steps):.2f}, {mean} of pairs")
    return Claim(
        number=13,
        text="relative performance is similar on all maps of a setup (in every task at least three quarters of the "
        "pairs of methods are ordered, by steps to 90 %, as on most other maps)",
        parts=(ONE, TWO),
        cases=tuple(cases),
        numbers="Kendall's W, and pairs ordered as on most other maps: " + "; ".join(found),
    )


def _agreement(steps: Array) -> Array:
    """Return, for steps [map, method], which share of pairs each map orders as most others do; ties are left out."""
    order = np.sign(np.subtract(*_pairs(_ranks(steps))))
    others = np.sign(order.sum(axis=0) - order)
    told = (order != 0) & (others != 0)
    with np.errstate(invalid="ignore"):
        shares: Array = ((order == others) & told).sum(axis=1) / told.sum(axis=1)
    return shares


def _pairs(values: Array) -> tuple[Array, Array]:
    one, two = np.triu_indices(values.shape[1], 1)
    return values[:, one], values[:, two]


def _ranks(values: Array) -> Array:
    """Return the ranks 1, 2, ... along the last axis; equal values share the mean of theirs."""
    above = (values[..., :, None] > values[..., None, :]).sum(axis=-1)
    equal = (values[..., :, None] == values[..., None, :]).sum(axis=-1)
    ranks: Array = above + (equal + 1) / 2
    return ranks


def kendall_w(values: Array) -> float:
    """Return Kendall's W of values [map, method], corrected for ties; NaN where all are tied.

    >>> kendall_w(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])), kendall_w(np.array([[1.0, 2.0], [2.0, 1.0]]))
    (1.0, 0.0)
    """
    ranks = _ranks(values)
    maps, methods = ranks.shape
    squares = float(((ranks.sum(axis=0) - maps * (methods + 1) / 2) ** 2).sum())
    equal = (values[:, :, None] == values[:, None, :]).sum(axis=-1)
    tied = float((equal.astype(np.float64) ** 2 - 1).sum())  # t methods of t^2 - 1 each
    whole = maps**2 * (methods**3 - methods) - maps * tied
    return 12 * squares / whole if whole else math.nan


def claim_14(ev: Evidence) -> Claim:
    """With one target, methods of one category are alike."""
    cases = []
    gaps: dict[str, list[float]] = {}
    times: dict[str, list[float]] = {}
    for (category, methods), g in product(CATEGORIES.items(), ev.maps(ONE, TWO)):
        ran = [m for m in methods if ev.has(g, "a", m)]
        if len(ran) < 2:
            continue
        gap = ev.mean_gap(np.array([ev.quartiles(g, "a", m)[1] for m in ran]))
        cases.append(Case(ev.name(g), category, gap <= SIMILAR, category))
        gaps.setdefault(category, []).append(gap)
        steps = [ev.steps(g, "a", m) for m in ran]
        times.setdefault(category, []).append(max(steps) - min(steps) if max(steps) < math.inf else math.inf)
    return Claim(
        number=14,
        text="in task a all methods of one feature category perform similarly (their median scores are at most "
        f"{SIMILAR} apart, averaged over the run)",
        parts=tuple(CATEGORIES),
        cases=tuple(cases),
        numbers="mean gap of the scores, and steps to 90 % between fastest and slowest on the median map: "
        + "; ".join(
            f"{category} {np.mean(found):.3f}, {number(float(np.median(times[category])))}"
            for category, found in gaps.items()
        ),
    )


CLAIMS = (claim_12, claim_13, claim_14)
