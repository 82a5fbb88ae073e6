"""A claim of the paper, the cases it rests on, and its verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fastrm.results import censored_percentile, interval_of_share

LEARNERS = ("qrm", "crm", "hrm")


@dataclass(frozen=True)
class Case:
    """One comparison that a claim rests on."""

    where: str
    """The map, or what is compared where it is not about one map."""
    what: str
    """Task and methods."""
    holds: bool
    part: str = ""
    """Which part of the claim it is about, for claims that say several things."""
    is_sure: bool = True
    """For comparisons over all maps: whether the interval over maps excludes equality."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One claim of the paper and what a result file says about it."""

    number: int
    text: str
    unit: str = "maps"
    """What is counted: maps, or comparisons over all maps."""
    needs: Literal["all", "most"] = "all"
    """How many cases of a map must hold for the map to count."""
    parts: tuple[str, ...] = ()
    """What the cases must cover for the whole claim to be judged."""
    cases: tuple[Case, ...] = ()
    numbers: str = ""
    """The numbers it rests on."""
    reason: str = ""
    """What the exact tools know about it, empty if nothing."""

    def counts_of(self, part: str | None = None) -> tuple[int, int]:
        """Units that hold, of how many; of one part of the claim, or of the whole."""
        units: dict[str, list[bool]] = {}
        for case in self.cases:
            if part is None or case.part == part:
                units.setdefault(case.where, []).append(case.holds)
        wanted = {name: len(cases) if self.needs == "all" else len(cases) // 2 + 1 for name, cases in units.items()}
        return sum(sum(cases) >= wanted[name] for name, cases in units.items()), len(units)

    @property
    def counts(self) -> tuple[int, int]:
        """Units that hold, of how many."""
        return self.counts_of()

    @property
    def verdict(self) -> str:
        """``holds``, ``does not hold``, ``undecided`` or ``not in this file``, and what is missing.

        A claim about maps holds where more than half of all maps like these support each of its parts, as far as a 95 %
        interval can tell, and does not hold where less than half support one of them. A claim about comparisons over
        all maps holds where those that are sure all are as claimed, and does not hold where none of them is.
        """
        if not self.cases:
            return "not in this file"
        present = {case.part for case in self.cases}
        missing = [part for part in self.parts if part not in present]
        words = {self._word(part) for part in present}
        word = next(word for word in ("does not hold", "undecided", "holds") if word in words)
        return word + (f" (without {', '.join(missing)})" if missing else "")

    def _word(self, part: str) -> str:
        if self.unit == "maps":
            low, high = interval_of_share(*self.counts_of(part))
            return "holds" if low > 0.5 else "does not hold" if high < 0.5 else "undecided"
        sure = {case.holds for case in self.cases if case.is_sure}
        return "undecided" if len(sure) != 1 else "holds" if True in sure else "does not hold"

    @property
    def support(self) -> str:
        """What share of maps, or of comparisons, supports it, with a 95 % interval; part by part."""
        if self.unit != "maps":
            sure, (held, count) = [case.holds for case in self.cases if case.is_sure], self.counts
            return (
                f"{held} of {count} {self.unit}; of {len(sure)} that are sure, {sum(sure)} as claimed" if count else ""
            )
        shares = []
        for part in dict.fromkeys(case.part for case in self.cases):
            held, count = self.counts_of(part)
            low, high = interval_of_share(held, count)
            share = f"{held} of {count} maps, {held / count:.0%} [{low:.0%}, {high:.0%}]".replace("%", " %")
            shares.append(f"{part}: {share}" if part else share)
        return "; ".join(shares)

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as plain data."""
        held, count = self.counts
        return {
            "number": self.number, "claim": self.text, "verdict": self.verdict, "unit": self.unit, "held": held,
            "of": count, "support": self.support,
            "cases_held": sum(case.holds for case in self.cases), "cases": len(self.cases),
            "failing": [f"{case.where}: {case.what}" for case in self.cases if not case.holds],
            "numbers": self.numbers, "reason": self.reason,
        }  # fmt: skip


def percent(share: float) -> str:
    """Write a share."""
    return "no runs" if math.isnan(share) else f"{share:.0%}".replace("%", " %")


def number(value: float) -> str:
    """Write a number of steps or a reward."""
    if math.isinf(value):
        return "never"
    return f"{value:,.0f}".replace(",", " ") if abs(value) < 1e6 else f"{value / 1e6:.1f} million"


def span(values: Sequence[float], digits: int | None = None) -> str:
    """Write the range of some values, or the one value they share."""
    low, high = (number(v) if digits is None else f"{v:.{digits}f}" for v in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def ratio(mine: float, other: float) -> float:
    """Return the ratio of two numbers of steps, not both infinite."""
    return 0.0 if math.isinf(other) else mine / other


def middle(ratios: Sequence[float]) -> str:
    """Write the median of some ratios, of which some may be infinite."""
    median = censored_percentile(np.array(ratios), 50)
    if median == 0.0:
        return "no share (the other never gets there)"
    return "no finite share (it never gets there)" if math.isinf(median) else f"{median:.2f}"
