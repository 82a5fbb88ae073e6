"""A claim of the paper, the cases it rests on, and its verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fastrm.results import censored_percentile

ONE, TWO = "1a1b1c", "2a2b2c"
TASKS = ("a", "a-b", "a-b-c")
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

    @property
    def counts(self) -> tuple[int, int]:
        """Units that hold, of how many."""
        units: dict[str, list[bool]] = {}
        for case in self.cases:
            units.setdefault(case.where, []).append(case.holds)
        wanted = {name: len(cases) if self.needs == "all" else len(cases) // 2 + 1 for name, cases in units.items()}
        return sum(sum(cases) >= wanted[name] for name, cases in units.items()), len(units)

    @property
    def verdict(self) -> str:
        """``holds``, ``holds on k of n maps``, ``does not hold`` or ``not in this file``, and what is missing."""
        held, count = self.counts
        if not count:
            return "not in this file"
        said = f"holds {'on' if self.unit == 'maps' else 'in'} {held} of {count} {self.unit}"
        said = "holds" if held == count else said if held else "does not hold"
        missing = [part for part in self.parts if not any(case.part == part for case in self.cases)]
        return f"{said} (without {', '.join(missing)})" if missing else said

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as plain data."""
        held, count = self.counts
        return {
            "number": self.number, "claim": self.text, "verdict": self.verdict, "unit": self.unit, "held": held,
            "of": count, "cases_held": sum(case.holds for case in self.cases), "cases": len(self.cases),
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
