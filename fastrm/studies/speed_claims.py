"""Claims 5 to 11 and 15: who learns faster, and where it settles."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from fastrm.results import interval_of_gap
from fastrm.studies.claim import LEARNERS, Case, Claim, middle, number, percent, ratio, span
from fastrm.studies.evidence import APPENDIX, ONE, TASKS, TWO, Evidence

MARGIN = 0.005
"""Scores closer than this are not told apart: the medians of six runs scatter that much."""
KINDS = {"bool": "Boolean", "rs-bool": "Boolean", "num-bool": "numeric-Boolean", "num": "numeric"}
NEW_KINDS = ("num-bool", "num")


def claim_5(ev: Evidence) -> Claim:
    """CRM is never slower than QRM."""
    cases, ratios, ties = [], [], 0
    for g, t, kind in product(ev.maps(), TASKS, ("num-bool", "num", "bool")):
        if ev.has(g, t, f"qrm-{kind}", f"crm-{kind}"):
            qrm, crm = ev.steps(g, t, f"qrm-{kind}"), ev.steps(g, t, f"crm-{kind}")
            if math.isinf(qrm) and math.isinf(crm):
                continue
            cases.append(Case(ev.name(g), f"{t} {kind}", crm <= qrm))
            ties += crm == qrm
            ratios.append(ratio(crm, qrm))
    return Claim(
        number=5,
        text="CRM is never slower than QRM",
        cases=tuple(cases),
        numbers=f"CRM needs {middle(ratios)} of QRM's steps to 90 % in the median case; {ties} cases are ties"
        if cases
        else "",
    )


def claim_6(ev: Evidence) -> Claim:
    """Two objects of a type are learned faster than one."""
    cases = []
    for one, two in zip(ev.maps(ONE), ev.maps(TWO), strict=False):
        for kind, learner, t in product(KINDS, ("qrm", "crm"), TASKS):
            m = f"{learner}-{kind}"
            if (
                ev.has(one, t, m)
                and ev.has(two, t, m)
                and (slow := ev.steps(one, t, m)) != (fast := ev.steps(two, t, m))
            ):
                cases.append(Case(f"{ev.name(one)}, {ev.name(two)}", f"{t} {m}", fast < slow, KINDS[kind]))
    numbers: dict[str, list[str]] = {}
    for kind, learner, t in product(KINDS, ("qrm", "crm"), TASKS):
        m = f"{learner}-{kind}"
        pooled = [[g for g in ev.maps(setup) if ev.has(g, t, m)] for setup in (ONE, TWO)]
        if all(pooled):
            first, second = (ev.steps_of_maps(grids, t, m) for grids in pooled)
            gap, (low, high) = float(second.mean() - first.mean()), interval_of_gap(second, first)
            numbers.setdefault(m, []).append(f"{t} {gap / 1000:+.0f} [{low / 1000:+.0f}, {high / 1000:+.0f}]")
    return Claim(
        number=6,
        text="QRM and CRM learn faster on 2a2b2c than on 1a1b1c (in most comparisons of the k-th maps of both setups)",
        unit="pairs of maps",
        needs="most",
        parts=("Boolean", "numeric-Boolean", "numeric"),
        cases=tuple(cases),
        numbers="thousand steps to 90 % (restricted means) on 2a2b2c minus those on 1a1b1c, intervals over maps: "
        + "; ".join(f"{m} {', '.join(s)}" for m, s in numbers.items()),
        reason=_routes(ev),
    )


def _routes(ev: Evidence) -> str:
    """Say how routes differ between the setups."""
    task = TASKS[-1]
    ran = {setup: [(g, m) for g in ev.maps(setup) for m in ev.labels[:1] if ev.has(g, task, m)]
           for setup in (ONE, TWO)}  # fmt: skip
    if not all(ran.values()):
        return ""
    one, two = (float(np.median([ev.shortest(g, task, m) for g, m in ran[setup]])) for setup in (ONE, TWO))
    longer = sum(ev.nearest_route(g, task) > ev.shortest(g, task, m) for g, m in ran[TWO])
    return (
        f"the shortest a-b-c route of the median map has {two:.0f} steps on 2a2b2c and {one:.0f} on 1a1b1c, but on "
        f"{longer} of {len(ran[TWO])} maps of 2a2b2c it does not lead from nearest object to nearest object"
    )


def claim_7(ev: Evidence) -> Claim:
    """Numeric-Boolean beats numeric with one object of a type; with two, numeric is at least as fast."""
    cases, ties = [], dict.fromkeys((ONE, TWO), 0)
    as_claimed: dict[tuple[str, str], list[bool]] = {}
    for g, t, learner in product(ev.maps(ONE, TWO), TASKS, LEARNERS):
        if not ev.has(g, t, f"{learner}-num-bool", f"{learner}-num"):
            continue
        numeric_boolean, numeric = ev.steps(g, t, f"{learner}-num-bool"), ev.steps(g, t, f"{learner}-num")
        setup, is_tie = ev.setups[g], numeric_boolean == numeric
        if is_tie and math.isinf(numeric):
            continue
        ties[setup] += is_tie
        if is_tie and setup == ONE:
            continue
        holds = numeric_boolean < numeric if setup == ONE else numeric <= numeric_boolean
        cases.append(Case(ev.name(g), f"{t} {learner}", holds, setup))
        as_claimed.setdefault((setup, learner), []).append(holds)
    numbers = "; ".join(
        f"{setup} " + ", ".join(f"{learner.upper()} {sum(held)} of {len(held)}"
                                for (where, learner), held in as_claimed.items() if where == setup)
        for setup in dict.fromkeys(setup for setup, _ in as_claimed)
    )  # fmt: skip
    reason = ""
    if two := [g for g in ev.maps(TWO) if any(case.part == TWO for case in cases)]:
        nearest, either = (
            percent(float(np.mean([ev.share_closer(g, closer) for g in two]))) for closer in ("nearest", "any")
        )
        reason = (
            f"closer means {ev.plan.experiment.get('closer')} here: on 2a2b2c {nearest} of all moves lead closer to "
            f"the nearest a, {either} to any a"
        )
    return Claim(
        number=7,
        text="numeric-Boolean beats numeric on 1a1b1c, and on 2a2b2c numeric performs at least as well as "
        "numeric-Boolean (in most cases of a map)",
        needs="most",
        parts=(ONE, TWO),
        cases=tuple(cases),
        numbers=f"cases that are as claimed: {numbers}; ties: {ties[ONE]} on 1a1b1c left out, {ties[TWO]} on 2a2b2c "
        "count for the claim",
        reason=reason,
    )


def claim_8(ev: Evidence) -> Claim:
    """Numeric-Boolean settles below the optimum where several objects of a type are near."""
    cases, scores, gaps, own = [], [], [], []
    for g, learner in product(ev.maps(APPENDIX), LEARNERS):
        m, others = f"{learner}-num-bool", [o for o in (f"{learner}-bool", f"{learner}-rs-bool", f"{learner}-num")
                                            if ev.has(g, "a", o)]  # fmt: skip
        if not others or not ev.has(g, "a", m):
            continue
        score = ev.score(g, "a", m)
        gap = score - min(ev.score(g, "a", other) for other in others)
        cases.append(Case(ev.name(g), m, 0.9 <= score < 1.0 and gap < -MARGIN))
        scores.append(score)
        gaps.append(gap)
        if (known := ev.own_optimum(g, "a", m)) is not None:
            own.append(known)
    return Claim(
        number=8,
        text="numeric-Boolean settles slightly below 1.0 for task a on a 2a2b2c map with the distances of the appendix "
        f"(0.9 to 1.0, and more than {MARGIN} below the other kinds)",
        cases=tuple(cases),
        numbers=f"settled scores {span(scores, 3)}; minus the lowest of the other kinds on the same map {span(gaps, 3)}"
        if cases
        else "",
        reason=f"the optimal policy of the numeric-Boolean machine itself scores {span(own, 3)}" if own else "",
    )


def claim_9(ev: Evidence) -> Claim:
    """Differences grow with the task."""
    cases, spreads = [], []
    for g in ev.maps(ONE, TWO):
        methods = [m for m in ev.labels if all(ev.has(g, t, m) for t in TASKS)]
        if len(methods) < 2:
            continue
        steps = [[ev.steps(g, t, m) for m in methods] for t in TASKS]
        spread = [math.inf if math.isinf(max(row)) else max(row) - min(row) for row in steps]
        spreads.append(spread)
        for k in (1, 2):
            if spread[k] != spread[k - 1]:
                cases.append(Case(ev.name(g), f"{TASKS[k - 1]} to {TASKS[k]}", spread[k] > spread[k - 1]))
    numbers = ""
    if spreads:
        medians = ", ".join(f"{t} {number(s)}" for t, s in zip(TASKS, np.median(spreads, axis=0), strict=True))
        never = ", ".join(f"{t} {sum(math.isinf(s[k]) for s in spreads)}" for k, t in enumerate(TASKS))
        numbers = (
            f"steps to 90 % between fastest and slowest method on the median map: {medians}; maps where some method "
            f"never gets there, of {len(spreads)}: {never}"
        )
    return Claim(
        number=9, text="differences between methods grow from a to a-b to a-b-c", cases=tuple(cases), numbers=numbers
    )


def claim_10(ev: Evidence) -> Claim:
    """Methods with Boolean machines are slower than all with the new kinds."""
    cases: list[Case] = []
    ratios: dict[str, dict[str, list[float]]] = {}
    slow, misled = 0, 0
    for boolean, kind, learner, t, g in product(
        ("crm-rs-bool", "hrm-bool"), NEW_KINDS, LEARNERS, TASKS, ev.maps(ONE, TWO)
    ):
        m = f"{learner}-{kind}"
        if not ev.has(g, t, m, boolean) or (new := ev.steps(g, t, m)) == (old := ev.steps(g, t, boolean)):
            continue
        cases.append(Case(ev.name(g), f"{t} {m}", new < old, f"{boolean} against {KINDS[kind]}"))
        ratios.setdefault(boolean, {}).setdefault(m, []).append(ratio(new, old))
        if new > old:
            slow += 1
            misled += ev.verdict(g, t, m) != "shortest"
    return Claim(
        number=10,
        text="methods with Boolean machines (crm-rs-bool, hrm-bool) learn slower than all six with the new kinds",
        parts=tuple(f"{m} against {KINDS[kind]}" for m, kind in product(("crm-rs-bool", "hrm-bool"), NEW_KINDS)),
        cases=tuple(cases),
        numbers="steps to 90 %, median case, "
        + "; ".join(
            f"as a share of {boolean}'s: " + ", ".join(f"{m} {middle(values)}" for m, values in by.items())
            for boolean, by in ratios.items()
        ),
        reason=f"{slow} cases fail; in {misled} of them the machine's optimum is no shortest path" if slow else "",
    )


def claim_11(ev: Evidence) -> Claim:
    """Knowing the structure of the machine speeds up CRM and HRM."""
    cases, ties = [], 0
    ratios: dict[str, list[float]] = {}
    for learner, kind, t, g in product(("crm", "hrm"), ("bool", *NEW_KINDS), TASKS[1:], ev.maps(ONE, TWO)):
        m, plain = f"{learner}-{kind}", f"qrm-{kind}"
        if not ev.has(g, t, m, plain):
            continue
        knows, does_not = ev.steps(g, t, m), ev.steps(g, t, plain)
        if knows == does_not:
            ties += 1
            continue
        cases.append(Case(ev.name(g), f"{t} {m}", knows < does_not, f"{learner.upper()} {KINDS[kind]}"))
        ratios.setdefault(f"{m} {t}", []).append(ratio(knows, does_not))
    return Claim(
        number=11,
        text="knowing the structure speeds up learning: CRM and HRM reach 90 % sooner than QRM with the same machine "
        "(a-b and a-b-c; task a has no structure)",
        parts=tuple(f"{learner.upper()} {KINDS[kind]}" for learner, kind in product(("crm", "hrm"), NEW_KINDS)),
        cases=tuple(cases),
        numbers="steps to 90 % as a share of QRM's, median map: "
        + ", ".join(f"{name} {middle(values)}" for name, values in ratios.items())
        + f"; {ties} ties left out",
    )


def claim_15(ev: Evidence) -> Claim:
    """HRM with Boolean machines is fast, and settles on longer routes."""
    hrm, crm, faster, longer = "hrm-bool", "crm-rs-bool", "faster", "sub-optimal"
    cases, ratios, by_score = [], [], []
    for g, t in product(ev.maps(ONE, TWO), TASKS[1:]):  # in task a the two are alike (claim 14)
        if not ev.has(g, t, hrm, crm):
            continue
        if (mine := ev.steps_to_plateau(g, t, hrm)) != (other := ev.steps_to_plateau(g, t, crm)):
            cases.append(Case(ev.name(g), t, mine < other, faster))
            ratios.append(ratio(mine, other))
        if (mine := ev.steps(g, t, hrm)) != (other := ev.steps(g, t, crm)):
            by_score.append(mine < other)
    known = 0
    judged = [g for g in ev.maps(TWO) if all(ev.has(g, t, hrm) for t in TASKS)]
    for g in judged:
        misses = [t for t in TASKS if not ev.finds_shortest(g, t, hrm)]
        cases.append(Case(ev.name(g), ", ".join(misses) or "all tasks", bool(misses), longer))
        known += any(ev.shortest(g, t, hrm) < ev.hrm_length(g, t, hrm) < math.inf for t in TASKS)
    return Claim(
        number=15,
        text="HRM-Boolean is faster than CRM-rs-Boolean (in a-b and a-b-c it has 98 % of what it settles at sooner), "
        "but tends to sub-optimal policies (on 2a2b2c most runs of some task end with a longer route)",
        parts=(faster, longer),
        cases=tuple(cases),
        numbers=f"steps to 98 % of what it settles at, as a share of crm-rs-bool's, median case: {middle(ratios)}; by "
        f"steps to 90 % of the unit it is faster in {sum(by_score)} of {len(by_score)} cases"
        if ratios
        else "",
        reason=f"by the exact tools HRM settles on a longer route on {known} of {len(judged)} maps of 2a2b2c"
        if judged
        else "",
    )


CLAIMS = (claim_5, claim_6, claim_7, claim_8, claim_9, claim_10, claim_11, claim_15)
