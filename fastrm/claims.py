"""The ten claims of *Numeric Reward Machines*, judged on a result file.

Every claim is broken into *cases*, one yes or no each. A case rests on medians over the seeds of one map, task and
method: steps until the score first reached 0.9 (a run that never does is censored), the score settled on (the mean over
the last fifth of a run), and the share of runs whose greedy policy takes a shortest path. A map counts when all its
cases hold, for claims of the form *A beats B* when most do. Cases where two methods are equally fast to the tick, or
neither gets there, say nothing and are left out. Reasons come from the exact tools, applied to the maps and machines
that are stored in the file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

from fastrm.errors import ConfigError
from fastrm.evidence import Evidence
from fastrm.results import Results

Needs = Literal["all", "most"]

ONE, TWO = "1a1b1c", "2a2b2c"
TASKS = ("a", "a-b", "a-b-c")
LEARNERS = ("qrm", "crm", "hrm")
APPENDIX_SHORTEST, APPENDIX_NEAREST = (20, 26, 32), (20, 27, 40)


@dataclass(frozen=True)
class Case:
    """One comparison that a claim rests on."""

    where: str
    """The map, or what is compared where it is not about one map."""
    what: str
    """Task and methods."""
    holds: bool


@dataclass(frozen=True)
class Claim:
    """One claim of the paper and what a result file says about it."""

    number: int
    text: str
    unit: str
    """What is counted: maps, or comparisons over all maps."""
    needs: Needs
    """How many cases of a map must hold for the map to count."""
    cases: tuple[Case, ...]
    numbers: str
    """The numbers it rests on."""
    reason: str
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
        """``holds``, ``holds on k of n maps``, ``does not hold``, or ``not in this file``."""
        held, count = self.counts
        if not count:
            return "not in this file"
        if held == count:
            return "holds"
        return (
            f"holds {'on' if self.unit == 'maps' else 'in'} {held} of {count} {self.unit}" if held else "does not hold"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as plain data."""
        held, count = self.counts
        return {
            "number": self.number, "claim": self.text, "verdict": self.verdict, "unit": self.unit, "held": held,
            "of": count, "cases_held": sum(case.holds for case in self.cases), "cases": len(self.cases),
            "numbers": self.numbers, "reason": self.reason,
        }  # fmt: skip


def judge(results: Results) -> list[Claim]:
    """Judge the claims of the paper on a result file; what they need beside it is in the file.

    Raises
    ------
    ConfigError
        When the file has none of the paper's tasks and methods.
    """
    evidence = Evidence(results)
    claims = [_claim(evidence) for _claim in _CLAIMS]
    if not any(claim.cases for claim in claims):
        raise ConfigError(
            f"{results.path or 'these results'}: nothing to judge; the claims are about tasks {', '.join(TASKS)} on "
            f"setups {ONE} and {TWO} with methods such as crm-num (see the suite paper)"
        )
    return claims


def _claim_1(ev: Evidence) -> Claim:
    flat = ("qrm-bool", "crm-bool", "crm-rs-bool", "qrm-num-bool", "crm-num-bool")
    rows = [(g, t, m) for g in ev.maps() for t in TASKS for m in flat if ev.has(g, t, m)]
    cases = [Case(ev.name(g), f"{t} {m}", ev.finds_shortest(g, t, m)) for g, t, m in rows]
    shares = [
        f"{name} {_percent(ev.share_shortest(ev.maps(), TASKS, which))}"
        for name, which in (
            ("Boolean", flat[:3]), ("numeric-Boolean", flat[3:]), ("HRM of both kinds", ("hrm-bool", "hrm-num-bool"))
        )
    ]  # fmt: skip
    missed = [row for row, case in zip(rows, cases, strict=True) if not case.holds]
    right = sum(ev.verdict(*row) == "shortest" for row in missed)
    reason = ""
    if missed:
        reason = (
            f"in {right} of the {len(missed)} cases that fail the machine's optimal policies do take shortest paths"
        )
    return Claim(
        1, "Boolean and numeric-Boolean agents (QRM, CRM) end with shortest paths in all tasks", "maps", "all",
        tuple(cases), f"runs on shortest paths: {', '.join(shares)}", reason,
    )  # fmt: skip


def _claim_2(ev: Evidence) -> Claim:
    cases, learned = [], []
    needs: dict[str, list[bool]] = {}
    for g in ev.maps():
        for m in ("qrm-num", "crm-num", "hrm-num"):
            if ev.has(g, "a", m):
                cases.append(Case(ev.name(g), f"a {m}", ev.finds_shortest(g, "a", m)))
        for t in TASKS[1:]:
            if not ev.has(g, t, "crm-num"):
                continue
            needs.setdefault(t, []).append(ev.critical_reward(g, t, "crm-num") >= 0)
            if ev.terminal_reward(g, t, "crm-num") == 0.0:
                learned.append(ev.finds_shortest(g, t, "crm-num"))
                cases.append(Case(ev.name(g), f"{t} crm-num", not learned[-1]))
            else:
                cases.append(Case(ev.name(g), f"{t} exact, R = 0", needs[t][-1]))
    share = ev.share_shortest(ev.maps(), ["a"], ["qrm-num", "crm-num", "hrm-num"])
    numbers = f"task a: {_percent(share)} of runs on shortest paths"
    if learned:
        numbers += f"; CRM with R = 0 finds shortest paths of longer tasks in {sum(learned)} of {len(learned)} cases"
    reason = ""
    if needs:
        counts = ", ".join(f"{t} on {sum(maps)} of {len(maps)}" for t, maps in needs.items())
        reason = f"procrastination: with R = 0 it is optimal not to take a shortest path ({counts} maps)"
    return Claim(
        2, "numeric finds shortest paths for task a with R = 0, and not for a-b and a-b-c", "maps", "all",
        tuple(cases), numbers, reason,
    )  # fmt: skip


def _claim_3(ev: Evidence) -> Claim:
    flat = ("qrm-num", "crm-num")
    rows = [(g, t, m) for g in ev.maps() for t in TASKS[1:] for m in flat if ev.has(g, t, m)]
    cases = [Case(ev.name(g), f"{t} {m}", ev.finds_shortest(g, t, m)) for g, t, m in rows]
    numbers, reasons = [], []
    for t in TASKS[1:]:
        grids = sorted({g for g, task, _ in rows if task == t})
        if not grids:
            continue
        method = next(m for m in flat if m in ev.plan.methods)
        needed = {g: ev.critical_reward(g, t, method) for g in grids}
        enough = [g for g in grids if ev.terminal_reward(g, t, method) > needed[g]]
        numbers.append(f"{t}: {_percent(ev.share_shortest(grids, [t], flat))} of runs on shortest paths")
        reasons.append(
            f"{t} needs R above {_number(min(needed.values()))} to {_number(max(needed.values()))}; what is paid is "
            f"enough on {len(enough)} of {len(grids)} maps, where {_percent(ev.share_shortest(enough, [t], flat))} of "
            "runs find them"
        )
    return Claim(
        3, "with R = 10 000 for a-b and 100 000 for a-b-c numeric (QRM, CRM) finds shortest paths", "maps", "all",
        tuple(cases), "; ".join(numbers), "; ".join(reasons),
    )  # fmt: skip


def _has_appendix_distances(ev: Evidence, grid: int) -> bool:
    """Whether a map has the distances of the paper's appendix, shortest and by way of the nearest objects."""
    if not all(ev.has(grid, task, "hrm-bool") for task in TASKS):
        return False
    shortest = tuple(ev.shortest(grid, task, "hrm-bool") for task in TASKS)
    nearest = tuple(ev.hrm_length(grid, task, "hrm-bool") for task in TASKS)
    return (shortest, nearest) == (APPENDIX_SHORTEST, APPENDIX_NEAREST)


def _claim_4(ev: Evidence) -> Claim:
    cases, agree, longer = [], 0, 0
    settled: dict[str, list[str]] = {}
    for g, m, t in product(ev.maps(), ("hrm-bool", "hrm-num-bool", "hrm-num"), TASKS[1:]):
        if not ev.has(g, t, m):
            continue
        steps, shortest = ev.length(g, t, m), ev.shortest(g, t, m)
        if _has_appendix_distances(ev, g):
            cases.append(Case(ev.name(g), f"{t} {m}", steps > shortest))
            settled.setdefault(m, []).append(_number(steps))
        elif ev.hrm_length(g, t, m) > shortest:
            longer += 1
            agree += steps > shortest
    numbers = ", ".join(f"{m} {' and '.join(steps)}" for m, steps in settled.items())
    reason = "each option of HRM ends at the nearest object for itself, whatever comes after"
    if longer:
        reason += f"; so it must take a longer route in {longer} cases on other maps too, and did in {agree}"
    return Claim(
        4, "on a map whose nearest a leads to longer routes (27 for 26, 40 for 32) all HRM methods settle on those",
        "maps", "all", tuple(cases), f"median steps for a-b and a-b-c: {numbers}" if cases else "",
        reason if cases else "",
    )  # fmt: skip


def _claim_5(ev: Evidence) -> Claim:
    cases, ratios, ties = [], [], 0
    for g, t, kind in product(ev.maps(), TASKS, ("num-bool", "num", "bool")):
        if ev.has(g, t, f"qrm-{kind}", f"crm-{kind}"):
            qrm, crm = ev.steps(g, t, f"qrm-{kind}"), ev.steps(g, t, f"crm-{kind}")
            cases.append(Case(ev.name(g), f"{t} {kind}", crm <= qrm))
            ties += qrm == crm
            ratios += [crm / qrm] if math.isfinite(crm) and math.isfinite(qrm) else []
    numbers = f"{ties} cases are ties"
    if ratios:
        numbers += f"; CRM needs {np.median(ratios):.2f} of QRM's steps to 90 % (median case)"
    return Claim(5, "CRM is never slower than QRM", "maps", "all", tuple(cases), numbers, "")


def _claim_6(ev: Evidence) -> Claim:
    cases = []
    numbers: dict[str, list[str]] = {}
    for m, t in product(("crm-rs-bool", "qrm-num-bool", "crm-num-bool", "qrm-num", "crm-num"), TASKS):
        pooled = [[g for g in ev.maps(setup) if ev.has(g, t, m)] for setup in (ONE, TWO)]
        if not all(pooled):
            continue
        one, two = (ev.pooled_steps(grids, t, m) for grids in pooled)
        numbers.setdefault(m, []).append(f"{t} {_number(two / 1000)} to {_number(one / 1000)}")
        if one != two:
            cases.append(Case(f"{t} {m}", "2a2b2c faster", two < one))
    reason = ""
    grids = {setup: [g for g in ev.maps(setup) if ev.has(g, "a-b-c", "hrm-bool")] for setup in (ONE, TWO)}
    if cases and all(grids.values()):
        one, two = (np.median([ev.shortest(g, "a-b-c", "hrm-bool") for g in grids[setup]]) for setup in (ONE, TWO))
        longer = sum(ev.hrm_length(g, "a-b-c", "hrm-bool") > ev.shortest(g, "a-b-c", "hrm-bool") for g in grids[TWO])
        reason = (
            f"the shortest a-b-c route of the median map has {two:.0f} steps on 2a2b2c and {one:.0f} on 1a1b1c, but on "
            f"{longer} of {len(grids[TWO])} maps it does not lead by way of the nearest objects"
        )
    return Claim(
        6, "QRM and CRM learn faster on 2a2b2c than on 1a1b1c", "comparisons", "all", tuple(cases),
        "thousand steps to 90 %, 2a2b2c to 1a1b1c, medians: " + "; ".join(
            f"{m} {', '.join(parts)}" for m, parts in numbers.items()
        ) if numbers else "", reason,
    )  # fmt: skip


def _claim_7(ev: Evidence) -> Claim:
    cases, ties = [], 0
    won: dict[str, list[bool]] = {}
    for g, t, learner in product(ev.maps(ONE, TWO), TASKS, LEARNERS):
        if not ev.has(g, t, f"{learner}-num-bool", f"{learner}-num"):
            continue
        boolean, numeric = ev.steps(g, t, f"{learner}-num-bool"), ev.steps(g, t, f"{learner}-num")
        if boolean == numeric:
            ties += 1
            continue
        setup = ev.setups[g]
        holds = boolean < numeric if setup == ONE else numeric < boolean
        cases.append(Case(ev.name(g), f"{t} {learner}", holds))
        won.setdefault(f"{setup} {learner.upper()}", []).append(holds)
    numbers = "as claimed in " + ", ".join(f"{name} {sum(w)} of {len(w)}" for name, w in won.items())
    reason = ""
    if two := ev.maps(TWO):
        nearest, either = (np.mean([ev.share_closer(g, closer) for g in two]) for closer in ("nearest", "any"))
        reason = (
            f"closer = {ev.plan.experiment.get('closer')!r} here: on 2a2b2c {nearest:.0%} of all moves lead closer to "
            f"the nearest a, {either:.0%} to any a"
        )
    return Claim(
        7, "numeric-Boolean beats numeric on 1a1b1c, and numeric beats numeric-Boolean on 2a2b2c", "maps", "most",
        tuple(cases), f"{numbers} cases; {ties} ties" if cases else "", reason,
    )  # fmt: skip


def _claim_8(ev: Evidence) -> Claim:
    rows = [(g, f"{learner}-num-bool") for g in ev.maps(TWO) for learner in LEARNERS]
    rows = [(g, m) for g, m in rows if ev.has(g, "a", m)]
    scores = [ev.score(g, "a", m) for g, m in rows]
    cases = [Case(ev.name(g), m, 0.9 <= score < 1.0) for (g, m), score in zip(rows, scores, strict=True)]
    numbers = reason = ""
    if rows:
        other = [ev.score(g, "a", m) for g in ev.maps(TWO) for m in ("crm-rs-bool", "crm-num") if ev.has(g, "a", m)]
        numbers = f"settled scores {min(scores):.3f} to {max(scores):.3f}, median {np.median(scores):.3f}"
        numbers += f"; the other kinds {min(other):.3f} to {max(other):.3f}" if other else ""
        own = [ev.own_optimum(g, "a", m) for g, m in rows]
        reason = f"the optimal policy of the numeric-Boolean machine itself scores {min(own):.3f} to {max(own):.3f}"
    return Claim(
        8, "numeric-Boolean settles slightly below 1.0 (0.9 to 1.0) for task a on 2a2b2c", "maps", "all",
        tuple(cases), numbers, reason,
    )  # fmt: skip


def _claim_9(ev: Evidence) -> Claim:
    cases, spreads = [], []
    for g in ev.maps(ONE, TWO):
        methods = [m for m in ev.plan.methods if all(ev.has(g, t, m) for t in TASKS)]
        if len(methods) < 2:
            continue
        steps = [[min(ev.steps(g, t, m), float(ev.plan.steps)) for m in methods] for t in TASKS]
        spread = [max(row) - min(row) for row in steps]
        spreads.append(spread)
        for k in (1, 2):
            cases.append(Case(ev.name(g), f"{TASKS[k - 1]} to {TASKS[k]}", spread[k] > spread[k - 1]))
    numbers = ""
    if spreads:
        medians = ", ".join(f"{t} {_number(s)}" for t, s in zip(TASKS, np.median(spreads, axis=0), strict=True))
        numbers = f"steps to 90 % between the fastest and the slowest method, median map: {medians}"
    return Claim(9, "differences between methods grow from a to a-b to a-b-c", "maps", "all", tuple(cases), numbers, "")


def _claim_10(ev: Evidence) -> Claim:
    cases: list[Case] = []
    ratios: dict[str, list[float]] = {"num-bool": [], "num": []}
    slow, misled = 0, 0
    for g, t, kind in product(ev.maps(ONE, TWO), TASKS, ("num-bool", "num")):
        if not ev.has(g, t, f"crm-{kind}", "crm-rs-bool"):
            continue
        new, boolean = ev.steps(g, t, f"crm-{kind}"), ev.steps(g, t, "crm-rs-bool")
        if new == boolean:
            continue
        cases.append(Case(ev.name(g), f"{t} {kind}", new < boolean))
        if math.isfinite(boolean):
            ratios[kind].append(new / boolean)
        if new > boolean:
            slow += 1
            misled += ev.verdict(g, t, f"crm-{kind}") != "shortest"
    numbers = ", ".join(
        f"crm-{kind} needs {np.median(values):.2f} of crm-rs-bool's steps (median case)"
        for kind, values in ratios.items() if values
    )  # fmt: skip
    reason = ""
    if slow:
        reason = f"in {misled} of the {slow} cases that fail the machine's own optimum is not a shortest path"
    return Claim(
        10, "both new kinds learn faster than Boolean with shaping (CRM)", "maps", "all", tuple(cases), numbers, reason
    )


_CLAIMS = (
    _claim_1, _claim_2, _claim_3, _claim_4, _claim_5, _claim_6, _claim_7, _claim_8, _claim_9, _claim_10,
)  # fmt: skip


def _percent(share: float) -> str:
    return "none" if math.isnan(share) else f"{share:.0%}"


def _number(value: float) -> str:
    if math.isinf(value):
        return "never"
    return f"{value:,.0f}".replace(",", " ") if abs(value) < 1e6 else f"{value / 1e6:.1f} million"
