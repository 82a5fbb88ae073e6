"""Claims 1 to 4: who ends with shortest paths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

from fastrm.studies.claim import Case, Claim, percent, span
from fastrm.studies.evidence import APPENDIX, TASKS, Evidence

BOOLEAN = ("qrm-bool", "crm-bool", "crm-rs-bool")
NUMERIC_BOOLEAN = ("qrm-num-bool", "crm-num-bool")
NUMERIC = ("qrm-num", "crm-num")
HRM = ("hrm-bool", "hrm-num-bool", "hrm-num")


def claim_1(ev: Evidence) -> Claim:
    """Boolean and numeric-Boolean end with shortest paths."""
    rows = [(g, t, m) for g, t, m in product(ev.maps(), TASKS, BOOLEAN + NUMERIC_BOOLEAN) if ev.has(g, t, m)]
    cases = [
        Case(ev.name(g), f"{t} {m}", ev.finds_shortest(g, t, m), "Boolean" if m in BOOLEAN else "numeric-Boolean")
        for g, t, m in rows
    ]
    kinds = {"Boolean": BOOLEAN, "numeric-Boolean": NUMERIC_BOOLEAN, "HRM of both kinds": HRM[:2]}
    shares = {name: ev.share_shortest(ev.maps(), TASKS, methods) for name, methods in kinds.items()}
    missed = [row for row, case in zip(rows, cases, strict=True) if not case.holds]
    right = sum(ev.verdict(*row) == "shortest" for row in missed)
    reason = ""
    if missed:
        reason = (
            f"{len(missed)} cases fail; in {right} of them the reward is right, as all optimal policies of the machine "
            "take shortest paths"
        )
    if locked := locked_in(ev, BOOLEAN + NUMERIC_BOOLEAN + HRM[:2]):
        reason += f"{'; ' if reason else ''}{locked}"
    return Claim(
        number=1,
        text="Boolean and numeric-Boolean agents (QRM, CRM) end with shortest paths in all tasks",
        parts=("Boolean", "numeric-Boolean"),
        cases=tuple(cases),
        numbers="runs on shortest paths: " + ", ".join(f"{name} {percent(share)}" for name, share in shares.items()),
        reason=reason,
    )


def locked_in(ev: Evidence, methods: Sequence[str]) -> str:
    """Say which share of runs each method locks in on a longer route although the reward is right."""
    shares = []
    for m in methods:
        counts = [ev.locked(t, m) for t in TASKS]
        locked, runs = (sum(count[k] for count in counts) for k in range(2))
        if runs:
            shares.append(f"{m} {percent(locked / runs)}")
    return f"locked in although the reward is right: {', '.join(shares)}" if shares else ""


def claim_2(ev: Evidence) -> Claim:
    """Numeric without terminal reward finds shortest paths for one target only."""
    cases, learned, exact = [], 0, 0
    misleads: dict[str, list[bool]] = {}
    for g, t in product(ev.maps(), TASKS):
        ran = [m for m in (*NUMERIC, "hrm-num") if ev.has(g, t, m)]
        paid_nothing = [m for m in ran if ev.terminal_reward(g, t, m) == 0.0]
        if t == "a":
            cases += [Case(ev.name(g), f"a {m}", ev.finds_shortest(g, t, m), "task a") for m in paid_nothing]
            continue
        if ran and (known := ev.critical_reward(g, t, ran[0])) is not None:
            misleads.setdefault(t, []).append(known >= 0)
            if not paid_nothing:
                exact += 1
                cases.append(Case(ev.name(g), f"{t}, exact", known >= 0, "longer tasks"))
        for m in paid_nothing:
            if m != "hrm-num":
                learned += 1
                cases.append(Case(ev.name(g), f"{t} {m}", not ev.finds_shortest(g, t, m), "longer tasks"))
    share = ev.share_shortest(ev.maps(), ["a"], [*NUMERIC, "hrm-num"])
    longer = f"{learned} cases by runs with R = 0, {exact} by the exact tools alone, as R = 0 was not run"
    counts = ", ".join(f"{t} on {sum(maps)} of {len(maps)}" for t, maps in misleads.items())
    return Claim(
        number=2,
        text="numeric finds shortest paths for task a with R = 0, and not for a-b and a-b-c",
        parts=("task a", "longer tasks"),
        cases=tuple(cases),
        numbers=f"task a: {percent(share)} of runs on shortest paths; a-b and a-b-c: {longer}",
        reason=f"procrastination: with R = 0 the optimum is no shortest path ({counts} maps)" if counts else "",
    )


def claim_3(ev: Evidence) -> Claim:
    """Numeric with terminal reward finds shortest paths."""
    rows = [(g, t, m) for g, t, m in product(ev.maps(), TASKS[1:], NUMERIC) if ev.has(g, t, m)]
    cases = [Case(ev.name(g), f"{t} {m}", ev.finds_shortest(g, t, m)) for g, t, m in rows]
    numbers, reasons = [], []
    for t in TASKS[1:]:
        method_on = {g: m for g, task, m in rows if task == t}
        if not method_on:
            continue
        paid = {g: ev.terminal_reward(g, t, m) for g, m in method_on.items()}
        share = percent(ev.share_shortest(method_on, [t], NUMERIC))
        numbers.append(f"{t} with R = {span(list(paid.values()))}: {share} of runs on shortest paths")
        needed = {g: known for g, m in method_on.items() if (known := ev.critical_reward(g, t, m)) is not None}
        enough = [g for g, known in needed.items() if paid[g] > known]
        if needed:
            share = percent(ev.share_shortest(enough, [t], NUMERIC))
            found = f", and there {share} of runs find them" if enough else ""
            reasons.append(
                f"{t} needs R above R* = {span(list(needed.values()))}, depending on the map; R is above it on "
                f"{len(enough)} of {len(needed)} maps{found}"
            )
    return Claim(
        number=3,
        text="numeric (QRM, CRM) finds shortest paths for a-b and a-b-c with a large R (the paper's: 10 000, 100 000)",
        cases=tuple(cases),
        numbers="; ".join(numbers),
        reason="; ".join([*reasons, *filter(None, [locked_in(ev, NUMERIC)])]),
    )


def claim_4(ev: Evidence) -> Claim:
    """HRM settles on the nearest objects."""
    cases, longer, took = [], 0, 0
    settled: dict[str, dict[str, list[float]]] = {}
    for g, m in product([*ev.maps(), *ev.maps(APPENDIX)], HRM):
        if not all(ev.has(g, t, m) for t in TASKS):
            continue
        shortest = tuple(ev.shortest(g, t, m) for t in TASKS)
        nearest = tuple(ev.nearest_route(g, t) for t in TASKS)
        as_in_appendix = ev.setups[g] == APPENDIX
        for k, t in enumerate(TASKS):
            if as_in_appendix and k:
                cases.append(Case(ev.name(g), f"{t} {m}", ev.mostly_takes(g, t, m, nearest[k])))
                settled.setdefault(m, {}).setdefault(t, []).append(ev.length(g, t, m))
            elif shortest[k] < (bound := ev.hrm_length(g, t, m)) < math.inf:
                longer += 1
                took += ev.mostly_takes(g, t, m, bound)
    reason = "an option of HRM goes to the object nearest to where it begins, whatever comes after"
    if longer:
        reason += f"; that makes the route longer in {longer} cases on other maps too, of which {took} took it"
    return Claim(
        number=4,
        text="on a map where going to the nearest a first takes 27 steps instead of 26 for a-b, and 40 instead of 32 "
        "for a-b-c, all HRM methods settle on the longer route",
        cases=tuple(cases),
        numbers="median steps on these maps: "
        + "; ".join(f"{m} " + ", ".join(f"{t} {span(steps)}" for t, steps in by.items()) for m, by in settled.items()),
        reason=reason,
    )


CLAIMS = (claim_1, claim_2, claim_3, claim_4)
