"""Sentences about maps, and the verdict on each: a claim of the paper, or our own finding.

Maps are the sample. A sentence is judged by the *share* of maps that support it, with Wilson's 95 % interval:

==================  ==================================================================
holds               on at least 95 % of the maps, and the interval lies above 80 %
holds on most maps  the interval lies above 50 %
undecided           the interval contains 50 %
does not hold       the interval lies below 50 %
==================  ==================================================================

A sentence of several parts gets the worst of their verdicts. Its p-value is for "at most half of all maps like these
support it", by the exact binomial test, and the largest of its parts': they must all be true.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from fastrm.results import censored_percentile, interval_of_share

LEARNERS = ("qrm", "crm", "hrm")
HOLDS, HOLDS_ON_MOST, UNDECIDED, FAILS = "holds", "holds on most maps", "undecided", "does not hold"
VERDICTS = (FAILS, UNDECIDED, HOLDS_ON_MOST, HOLDS)
"""From the worst to the best."""
NEARLY_ALL, ABOVE, HALF = 0.95, 0.8, 0.5
"""What holds does so on this share of the maps, its interval above the second; on most maps, above the third."""


class Share(NamedTuple):
    """How many maps support a sentence, and how many there are.

    >>> Share(40, 60).verdict, str(Share(40, 60))
    ('holds on most maps', '40 of 60 maps, 67 % [54 %, 77 %]')
    """

    held: int
    of: int

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the share."""
        return interval_of_share(self.held, self.of)

    @property
    def verdict(self) -> str:
        """The verdict by the table above."""
        low, high = self.interval
        if self.held / self.of >= NEARLY_ALL and low > ABOVE:
            return HOLDS
        return HOLDS_ON_MOST if low > HALF else FAILS if high < HALF else UNDECIDED

    @property
    def p(self) -> float:
        """How likely this many maps or more support it where each does with probability one half."""
        favourable = sum(math.comb(self.of, k) for k in range(self.held, self.of + 1))
        return float(favourable / 2**self.of)

    def __str__(self) -> str:
        return self.describe("maps")

    def describe(self, unit: str) -> str:
        """Return the counts, the share and its interval."""
        low, high = self.interval
        share = f"{self.held / self.of:.0%} [{low:.0%}, {high:.0%}]".replace("%", " %")
        return f"{self.held} of {self.of} {unit}, {share}"


def worst(verdicts: Iterable[str]) -> str:
    """Return the verdict on a sentence of several parts."""
    return min(verdicts, key=VERDICTS.index)


@dataclass(frozen=True)
class Case:
    """One comparison that a claim rests on."""

    where: str
    """The map, or the pair of maps."""
    what: str
    """Task and methods."""
    holds: bool
    part: str = ""
    """Which part of the claim it is about, for claims that say several things."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One claim of the paper and what a result file says about it."""

    number: int
    text: str
    unit: str = "maps"
    """What is counted: maps, or pairs of maps."""
    needs: Literal["all", "most"] = "all"
    """How many cases of a map must hold for the map to count."""
    parts: tuple[str, ...] = ()
    """What the cases must cover for the whole claim to be judged."""
    cases: tuple[Case, ...] = ()
    numbers: str = ""
    """The numbers it rests on."""
    reason: str = ""
    """What the exact tools know about it, empty if nothing."""
    corrected_p: float | None = None
    """Its p-value after Holm's correction over all claims that were judged with it."""

    def share_of(self, part: str | None = None) -> Share:
        """Return how many maps support one part of the claim, or the whole."""
        units: dict[str, list[bool]] = {}
        for case in self.cases:
            if part is None or case.part == part:
                units.setdefault(case.where, []).append(case.holds)
        wanted = {name: len(cases) if self.needs == "all" else len(cases) // 2 + 1 for name, cases in units.items()}
        return Share(sum(sum(cases) >= wanted[name] for name, cases in units.items()), len(units))

    @property
    def shares(self) -> dict[str, Share]:
        """How many maps support each part that there are cases of."""
        return {part: self.share_of(part) for part in dict.fromkeys(case.part for case in self.cases)}

    @property
    def verdict(self) -> str:
        """The worst verdict on its parts, and which are missing; ``not in this file`` without any case."""
        if not self.cases:
            return "not in this file"
        shares = self.shares
        missing = [part for part in self.parts if part not in shares]
        word = worst(share.verdict for share in shares.values())
        return word + (f" (without {', '.join(missing)})" if missing else "")

    @property
    def p(self) -> float | None:
        """The largest p-value of its parts, for at most half of all maps like these supporting it."""
        return max((share.p for share in self.shares.values()), default=None)

    @property
    def support(self) -> str:
        """What share of maps supports it, with a 95 % interval; part by part."""
        shares = {part: share.describe(self.unit) for part, share in self.shares.items()}
        return "; ".join(f"{part}: {share}" if part else share for part, share in shares.items())

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as plain data."""
        held, count = self.share_of()
        return {
            "number": self.number, "claim": self.text, "verdict": self.verdict, "unit": self.unit, "held": held,
            "of": count, "support": self.support, "p": self.p, "corrected_p": self.corrected_p,
            "cases_held": sum(case.holds for case in self.cases), "cases": len(self.cases),
            "failing": [f"{case.where}: {case.what}" for case in self.cases if not case.holds],
            "numbers": self.numbers, "reason": self.reason,
        }  # fmt: skip


def format_p(p: float | None) -> str:
    """Format a p-value, or '-' for None."""
    return "-" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def percent(share: float) -> str:
    """Format a share, or 'no runs' for NaN."""
    return "no runs" if math.isnan(share) else f"{share:.0%}".replace("%", " %")


def number(value: float) -> str:
    """Format a number of steps or a reward, or 'never' for infinity."""
    if math.isinf(value):
        return "never"
    return f"{value:,.0f}".replace(",", " ") if abs(value) < 1e6 else f"{value / 1e6:.1f} million"


def span(values: Sequence[float], digits: int | None = None) -> str:
    """Format the range of some values, or the one value they share."""
    low, high = (number(v) if digits is None else f"{v:.{digits}f}" for v in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def ratio(steps: float, other: float) -> float:
    """Return the ratio of two numbers of steps, not both infinite."""
    return 0.0 if math.isinf(other) else steps / other


def middle(ratios: Sequence[float]) -> str:
    """Format the median of some ratios, of which some may be infinite."""
    median = censored_percentile(np.array(ratios), 50)
    if median == 0.0:
        return "no share (the other never gets there)"
    return "no finite share (it never gets there)" if math.isinf(median) else f"{median:.2f}"
