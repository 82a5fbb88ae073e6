"""Claims 1 to 4: who ends with shortest paths.

Claims 12 to 14: how alike runs, maps and methods are.

Kendall's W of k maps that rank n methods is 12 S / (k^2 (n^3 - n) - k T), where S is the sum of squared deviations of
the rank sums from their mean, and T the sum of t^3 - t over all groups of t tied methods. It is 0 where ranks are like
drawn at random and 1 where all maps rank alike.

Claims 5 to 11 and 15: who learns faster, and where it settles.

The claims of *Numeric Reward Machines*, judged on a result file.

Every claim is broken into *cases*, one yes or no each. A case rests on the seeds of one map, task and method: on the
median of the steps until the score first reached 0.9 (a run that never does counts as slower than all others), on the
median of the settled score (the mean over the last tenth of a run), on whether more than half of the runs end with a
greedy policy that takes a shortest path, or on the score over the whole run. A map supports a claim when all its cases
hold, in claims 6 and 7 when most do. Where a claim says *faster*, methods that are equally fast to the tick say nothing
and are left out; where it says *never slower* or *at least as well*, ties count for it. Two methods that both never get
there say nothing. Claim 6 compares maps of two setups: pairs of them are counted, the k-th map of one with the k-th of
the other. `fastrm.bench.studies.claim` has the words of a verdict, and the p-value of a claim. These are corrected by
Holm's method for the number of claims that a file says something about.
Reasons come from the exact tools, applied to the maps and machines that are stored in the file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import ConfigError, FastrmError
from fastrm.results import Results, holm, interval_of_gap

from .claim import LEARNERS, Case, Claim, middle, number, percent, ratio, span
from .evidence import APPENDIX, ONE, TASKS, TWO, Evidence, Facts
from .findings import Table, findings_tables

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


PATH_CLAIMS = (claim_1, claim_2, claim_3, claim_4)

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


LIKENESS_CLAIMS = (claim_12, claim_13, claim_14)

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


SPEED_CLAIMS = (claim_5, claim_6, claim_7, claim_8, claim_9, claim_10, claim_11, claim_15)


def judge(results: Results, facts: Facts | None = None) -> list[Claim]:
    """Judge the claims of the paper on a result file; what they need beside it is in the file.

    Parameters
    ----------
    results
        The result file.
    facts
        An empty dictionary at first. Hand the same one over for several files: those of equal plans then share the
        exact facts about their maps and machines, which take most of the time.

    Raises
    ------
    ConfigError
        When the file has none of the paper's tasks and methods.
    """
    evidence = Evidence(results, {} if facts is None else facts)
    claims = [judge_one(evidence) for judge_one in PATH_CLAIMS]
    timed = [judge_one(evidence) for judge_one in (*SPEED_CLAIMS, *LIKENESS_CLAIMS)]
    if not len(results["step"]):  # no ticks: nothing is known about who is faster
        timed = [replace(claim, cases=()) for claim in timed]
    judged = [claim if claim.cases else replace(claim, numbers="", reason="") for claim in (*claims, *timed)]
    if not any(claim.cases for claim in judged):
        raise ConfigError(
            f"{results.path or 'these results'}: nothing to judge; the claims are about tasks {', '.join(TASKS)} on "
            f"setups {ONE} and {TWO} with methods such as crm-num (see the suite paper)"
        )
    corrected = iter(holm([claim.p for claim in judged if claim.p is not None]))
    judged = [claim if claim.p is None else replace(claim, corrected_p=next(corrected)) for claim in judged]
    return sorted(judged, key=lambda claim: claim.number)


def is_plain(results: Results) -> bool:
    """Return whether methods are told apart by their names alone, as claims and findings need."""
    return not (results.swept or results.plan.warm_start)


def has_starts(results: Results) -> bool:
    """Return whether initial values are swept, which findings are about and claims are not."""
    return any(method.optimism is not None for method in results.plan.methods)


def judged(results: Results, exact: bool = True) -> tuple[list[Claim], list[Table]]:
    """Return the claims that a file says something about, or its findings; `exact` allows what takes half a minute."""
    if not is_plain(results):
        return [], []
    if has_starts(results):
        return [], list(findings_tables(results, exact=exact))
    try:
        return (judge(results) if exact else []), []
    except FastrmError:  # the file is not about them
        return [], []
