"""The fifteen claims of *Numeric Reward Machines*, judged on a result file.

Claims 1 to 4 are about who ends with shortest paths, 5 to 11 and 15 about who learns faster and where it settles, 12 to
14 about how alike runs, maps and methods are.

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

Claim 13 reports Kendall's W. For k maps that rank n methods it is 12 S / (k^2 (n^3 - n) - k T), where S is the sum of
squared deviations of the rank sums from their mean, and T the sum of t^3 - t over all groups of t tied methods. It is 0
where ranks are like drawn at random and 1 where all maps rank alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Literal, TypeVar, cast

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import ConfigError, FastrmError
from fastrm.exact import as_float, critical_reward, guarantee, optimal_arps, solve
from fastrm.experiments import Plan, method_of
from fastrm.kernels.contracts import SUCCESS
from fastrm.learners import hrm_fixed_point
from fastrm.machines import RewardMachine
from fastrm.plots import check_is_plain
from fastrm.problems import TabularProblem, check_tabular, compile
from fastrm.results import Results, area, band, censored_percentile, holm, interval_of_gap
from fastrm.schedules import final
from fastrm.worlds import APPENDIX_NEAREST, APPENDIX_SHORTEST, GridMap, kind_of_text, read_world

from .claim import LEARNERS, Case, Claim, middle, number, percent, ratio, span
from .findings import Table, findings_tables

T = TypeVar("T")
Facts = dict[Plan, dict[Any, Any]]
"""Exact facts about the maps and machines of each plan."""
ONE, TWO, APPENDIX = "1a1b1c", "2a2b2c", "appendix"
TASKS = ("a", "a-b", "a-b-c")
MOST_RUNS = 10**7
"""Runs of a plan that is judged: figures lie in arrays with a place for every one of them, made or not."""
BOOLEAN = ("qrm-bool", "crm-bool", "crm-rs-bool")
NUMERIC_BOOLEAN = ("qrm-num-bool", "crm-num-bool")
NUMERIC = ("qrm-num", "crm-num")
HRM = ("hrm-bool", "hrm-num-bool", "hrm-num")
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
MARGIN = 0.005
"""Scores closer than this count as equal: the medians of six runs scatter that much."""
KINDS = {"bool": "Boolean", "rs-bool": "Boolean", "num-bool": "numeric-Boolean", "num": "numeric"}
NEW_KINDS = ("num-bool", "num")

PATH_CLAIMS = (1, 2, 3, 4)
"""Claims that runs without a single tick can support; all others are about curves."""


class Evidence:
    """Figures of runs by map, task and method, and exact facts about the maps and machines, each computed once.

    Facts follow from the plan alone. They are kept in `facts`, so that files of one plan share them.
    """

    def __init__(self, results: Results, facts: Facts) -> None:
        self.plan = plan = results.plan
        if plan.count > MOST_RUNS:
            raise ConfigError(f"{results.path}: a plan of {plan.count} runs; claims are judged on at most {MOST_RUNS}")
        check_is_plain(results, "claims")
        if not plan.grids[0][2]:
            plan.problem(0, 0, 0)  # raises: of runs that were made elsewhere no map is known
        self._memory = facts.setdefault(plan, {})
        self.gamma, self.epsilon = plan.learner.gamma, final(plan.learner.epsilon, plan.steps)
        fine = results["error"] == ""
        place = plan.place(results["run"][fine])

        def spread(column: Array) -> Array:
            whole = np.full(plan.shape, np.nan)
            whole[place] = column[fine]
            return whole[:, :, :, 0]  # one variant, as nothing is swept

        length = results["greedy_length"].astype(np.float64)
        self.ran = spread(np.ones(len(fine))) == 1.0
        self.steps_of_runs = spread(results["steps_to_90"])
        self.plateau_of_runs = spread(results.per_run_values("steps_to_plateau"))
        self.score_of_runs = spread(results.per_run_values("settled"))
        self.found_of_runs = spread(results["solved"].astype(np.float64))
        self.length_of_runs = spread(np.where(length < 0, np.nan, length))
        self._curves, self._ticks = results["score"], results["step"]
        self._row_of_runs = spread(np.arange(len(fine), dtype=np.float64))
        self.setups = self._once("setups", lambda: [self._setup(k) for k in range(len(plan.grids))])
        self.labels = [method.label for method in plan.methods]
        self._tasks = {name: k for k, (name, _) in enumerate(plan.tasks)}
        self._methods = {label: k for k, label in enumerate(self.labels)}

    def maps(self, *setups: str) -> list[int]:
        """Return the maps with these objects, such as ``2a2b2c``; by default all but those like the appendix."""
        return [k for k, setup in enumerate(self.setups) if setup in (setups or {*self.setups} - {APPENDIX})]

    def _setup(self, grid: int) -> str:
        """Return the objects of a map as a setup, or that it has the distances of the paper's appendix."""
        text = self.plan.grids[grid][2]
        objects = GridMap.parse(text).objects if kind_of_text(text) == "map" else {}
        setup = "".join(f"{len(cells)}{letter}" for letter, cells in objects.items())
        if setup != TWO:
            return setup
        problems = [self._compile(grid, RewardMachine.sequence(task)) for task in TASKS]
        if tuple(problem.shortest[0] for problem in problems) != APPENDIX_SHORTEST:
            return setup
        return APPENDIX if tuple(self.nearest_route(grid, task) for task in TASKS) == APPENDIX_NEAREST else setup

    def name(self, grid: int) -> str:
        """Return setup and name of a map."""
        setup, name, _ = self.plan.grids[grid]
        return setup if setup == name else f"{setup} {name}"

    def has(self, grid: int, task: str, *methods: str) -> bool:
        """Return whether all these were run at least once."""
        return task in self._tasks and all(
            m in self._methods and bool(self._seeds(self.ran, grid, task, m).any()) for m in methods
        )

    def ran_on(self, grids: Iterable[int], tasks: Iterable[str], methods: Iterable[str]) -> list[tuple[int, str, str]]:
        """Return map, task and method of all that were run at least once."""
        return [row for row in product(grids, tasks, methods) if self.has(*row)]

    def _seeds(self, cube: Array, grid: int, task: str, method: str) -> Array:
        seeds: Array = cube[grid, self._tasks[task], self._methods[method]]
        return seeds

    def values(self, cube: Array, grids: Iterable[int], task: str, method: str) -> Array:
        """Return one value per finished run."""
        parts = [self._seeds(cube, g, task, method)[self._seeds(self.ran, g, task, method)] for g in grids]
        return np.concatenate(parts) if parts else np.array([])

    def steps(self, grid: int, task: str, method: str) -> float:
        """Return the median steps to 90 %, infinite if most runs never get there."""
        return censored_percentile(self.values(self.steps_of_runs, [grid], task, method), 50)

    def steps_to_plateau(self, grid: int, task: str, method: str) -> float:
        """Return the median steps until a run has 98 % of what it settles at, whatever that is."""
        return censored_percentile(self.values(self.plateau_of_runs, [grid], task, method), 50)

    def runs(self, grid: int, task: str, method: str) -> int:
        """Return how many runs finished."""
        return len(self._rows(grid, task, method)) if self.has(grid, task, method) else 0

    def _rows(self, grid: int, task: str, method: str) -> Array:
        return self.values(self._row_of_runs, [grid], task, method).astype(np.int64)

    def quartiles(self, grid: int, task: str, method: str) -> Array:
        """Return the quartiles of the score over runs, as [quartile, tick]."""
        return band(self._curves[self._rows(grid, task, method)])

    def mean_gap(self, curves: Array) -> float:
        """Return how far apart the highest and the lowest of some curves [curve, tick] are, over the whole run."""
        if not len(self._ticks):
            return math.nan
        return float(area(np.ptp(curves, axis=0)[None], self._ticks)[0])

    def steps_of_maps(self, grids: Iterable[int], task: str, method: str) -> Array:
        """Return the mean steps to 90 % on every map, runs that never get there counting with their whole length."""
        parts = (self.values(self.steps_of_runs, [grid], task, method) for grid in grids)
        return np.array([np.where(np.isnan(part), float(self.plan.steps), part).mean() for part in parts])

    def locked(self, task: str, method: str) -> tuple[int, int]:
        """Return how many runs are locked in, of those on problems whose optimal policies all take shortest paths.

        A run is locked in that ends with a longer route, or none, although its reward is right: the first target whose
        value reached the start was kept.
        """
        sure = [g for g in self.maps() if self.has(g, task, method) and self.verdict(g, task, method) == "shortest"]
        found = self.values(self.found_of_runs, sure, task, method)
        return int((found == 0).sum()), len(found)

    def score(self, grid: int, task: str, method: str) -> float:
        """Return the median of the score settled on."""
        return float(np.median(self.values(self.score_of_runs, [grid], task, method)))

    def length(self, grid: int, task: str, method: str) -> float:
        """Return the median length of the greedy path, infinite if most do not complete the task."""
        return censored_percentile(self.values(self.length_of_runs, [grid], task, method), 50)

    def finds_shortest(self, grid: int, task: str, method: str) -> bool:
        """Return whether more than half of the runs end with a shortest path."""
        return float(np.mean(self.values(self.found_of_runs, [grid], task, method))) > 0.5

    def mostly_takes(self, grid: int, task: str, method: str, length: float) -> bool:
        """Return whether more than half of the runs end with a greedy path of this length."""
        return float(np.mean(self.values(self.length_of_runs, [grid], task, method) == length)) > 0.5

    def share_shortest(self, grids: Iterable[int], tasks: Iterable[str], methods: Iterable[str]) -> float:
        """Return the share of runs that end with a shortest path."""
        some = [self.values(self.found_of_runs, [g], t, m) for g, t, m in self.ran_on(grids, tasks, methods)]
        return float(np.mean(np.concatenate(some))) if some else math.nan

    def problem(self, grid: int, task: str, method: str) -> TabularProblem:
        """Return the compiled problem of a run."""
        kind = method_of(method).kind
        place = grid, self._tasks[task], self._methods[method]
        return self._once(("problem", grid, task, kind), lambda: check_tabular(self.plan.problem(*place)))

    def verdict(self, grid: int, task: str, method: str) -> str | None:
        """Return the exact verdict on the machine that a method was run with."""
        problem = self.problem(grid, task, method)
        return self._known(("verdict", problem), lambda: guarantee(problem, self.gamma).verdict)

    def critical_reward(self, grid: int, task: str, method: str) -> float | None:
        """Return R* of the machine that a method was run with, infinite where it is beyond floating point."""
        problem = self.problem(grid, task, method)
        return self._known(("critical", problem), lambda: as_float(critical_reward(problem, self.gamma)))

    def terminal_reward(self, grid: int, task: str, method: str) -> float:
        """Return what the machine pays at the end."""
        tables = self.problem(grid, task, method).tables
        return float(tables.reward[tables.outcome == SUCCESS].max())

    def hrm_length(self, grid: int, task: str, method: str) -> float:
        """Return the length of the path that HRM settles on, without training; infinite if it never completes."""
        problem, config = self.problem(grid, task, method), self.plan.learner
        length = self._known(("hrm", problem), lambda: hrm_fixed_point(problem, self.gamma, config=config).length)
        return math.inf if length is None else float(length)

    def nearest_route(self, grid: int, task: str) -> float:
        """Return the length of the route from nearest object to nearest object, infinite if there is none."""
        machine = RewardMachine.sequence(task)
        length = self._known(("nearest", grid, task), lambda: hrm_fixed_point(self._compile(grid, machine)).length)
        return math.inf if length is None else float(length)

    def shortest(self, grid: int, task: str, method: str) -> float:
        """Return the length of a shortest path."""
        return self.problem(grid, task, method).shortest[0]

    def own_optimum(self, grid: int, task: str, method: str) -> float | None:
        """Return the score of the machine's own optimal policy."""
        problem = self.problem(grid, task, method)

        def compute() -> float:
            return solve(problem, self.gamma).arps(self.epsilon) / optimal_arps(problem, self.gamma, self.epsilon)[0]

        return self._known(("own", problem), compute)

    def share_closer(self, grid: int, closer: Literal["nearest", "any"]) -> float:
        """Return the share of all moves that a numeric-boolean machine for task a pays as closer."""
        machine = RewardMachine.sequence("a", kind="numeric-boolean", closer=closer)
        tables = self._compile(grid, machine).tables
        return float(np.mean(tables.reward[tables.event, 0] > 0))

    def _compile(self, grid: int, machine: RewardMachine) -> TabularProblem:
        world = cast("GridMap", read_world(self.plan.grids[grid][2]))
        return compile(world, machine, self.plan.profile, self.plan.metric, start=self.plan.start)

    def _known(self, key: Any, compute: Callable[[], T]) -> T | None:
        """Compute an exact fact once; None where the exact tools do not reach."""
        try:
            return self._once(key, compute)
        except (FastrmError, OverflowError):
            self._memory[key] = None
            return None

    def _once(self, key: Any, compute: Callable[[], T]) -> T:
        if key not in self._memory:
            self._memory[key] = compute()
        known: T = self._memory[key]
        return known


Found = tuple[Sequence[Case], str, str]
"""Cases, the numbers they rest on, and a reason."""
NOTHING: Found = ((), "", "")
CLAIMS: dict[int, Callable[[Evidence], Claim]] = {}
"""What judges every claim, by its number."""


def _claim(number: int, text: str, **about: Any) -> Callable[[Callable[[Evidence], Found]], None]:
    """Enter a claim, judged by a function that finds its cases; without cases it is bare."""

    def enter(find: Callable[[Evidence], Found]) -> None:
        def judge_one(ev: Evidence) -> Claim:
            cases, numbers, reason = find(ev)
            claim = Claim(number=number, text=text, cases=tuple(cases), **about)
            return replace(claim, numbers=numbers, reason=reason) if cases else claim

        CLAIMS[number] = judge_one

    return enter


def _steps_of_both(
    ev: Evidence, rows: Iterable[tuple[int, str, str, str]]
) -> Iterator[tuple[int, str, str, float, float]]:
    """Yield map, task, the first method, and the median steps to 90 % of both, where both were run."""
    for g, t, one, two in rows:
        if ev.has(g, t, one, two):
            yield g, t, one, ev.steps(g, t, one), ev.steps(g, t, two)


@_claim(1, "Boolean and numeric-Boolean agents (QRM, CRM) end with shortest paths in all tasks",
        parts=("Boolean", "numeric-Boolean"))  # fmt: skip
def _claim_1(ev: Evidence) -> Found:
    rows = ev.ran_on(ev.maps(), TASKS, BOOLEAN + NUMERIC_BOOLEAN)
    cases = [
        Case(ev.name(g), f"{t} {m}", ev.finds_shortest(g, t, m), "Boolean" if m in BOOLEAN else "numeric-Boolean")
        for g, t, m in rows
    ]
    kinds = {"Boolean": BOOLEAN, "numeric-Boolean": NUMERIC_BOOLEAN, "HRM of both kinds": HRM[:2]}
    shares = {name: ev.share_shortest(ev.maps(), TASKS, methods) for name, methods in kinds.items()}
    missed = [row for row, case in zip(rows, cases, strict=True) if not case.holds]
    right = sum(ev.verdict(*row) == "shortest" for row in missed)
    why = f"in {right} of them the reward is right, as all optimal policies of the machine take shortest paths"
    reasons = f"{len(missed)} cases fail; {why}" if missed else "", locked_in(ev, BOOLEAN + NUMERIC_BOOLEAN + HRM[:2])
    numbers = ", ".join(f"{name} {percent(share)}" for name, share in shares.items())
    return cases, f"runs on shortest paths: {numbers}", "; ".join(filter(None, reasons))


def locked_in(ev: Evidence, methods: Sequence[str]) -> str:
    """Return the share of each method's runs that are locked in on a longer route although the reward is right."""
    shares = []
    for m in methods:
        counts = [ev.locked(t, m) for t in TASKS]
        locked, runs = (sum(count[k] for count in counts) for k in range(2))
        if runs:
            shares.append(f"{m} {percent(locked / runs)}")
    return f"locked in although the reward is right: {', '.join(shares)}" if shares else ""


@_claim(2, "numeric finds shortest paths for task a with R = 0, and not for a-b and a-b-c",
        parts=("task a", "longer tasks"))  # fmt: skip
def _claim_2(ev: Evidence) -> Found:
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
    counts = ", ".join(f"{t} on {sum(maps)} of {len(maps)}" for t, maps in misleads.items())
    return (
        cases,
        f"task a: {percent(share)} of runs on shortest paths; a-b and a-b-c: {learned} cases by runs with R = 0, "
        f"{exact} by the exact tools alone, as R = 0 was not run",
        f"procrastination: with R = 0 the optimum is no shortest path ({counts} maps)" if counts else "",
    )


@_claim(3, "numeric (QRM, CRM) finds shortest paths for a-b and a-b-c with a large R (the paper's: 10 000, 100 000)")
def _claim_3(ev: Evidence) -> Found:
    rows = ev.ran_on(ev.maps(), TASKS[1:], NUMERIC)
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
    return cases, "; ".join(numbers), "; ".join(filter(None, [*reasons, locked_in(ev, NUMERIC)]))


@_claim(4, "on a map where going to the nearest a first takes 27 steps instead of 26 for a-b, and 40 instead of 32 for "
        "a-b-c, all HRM methods settle on the longer route")  # fmt: skip
def _claim_4(ev: Evidence) -> Found:
    cases, longer, took = [], 0, 0
    settled: dict[str, dict[str, list[float]]] = {}
    for g, m in product([*ev.maps(), *ev.maps(APPENDIX)], HRM):
        if not all(ev.has(g, t, m) for t in TASKS):
            continue
        for t in TASKS:
            if ev.setups[g] == APPENDIX and t != TASKS[0]:
                cases.append(Case(ev.name(g), f"{t} {m}", ev.mostly_takes(g, t, m, ev.nearest_route(g, t))))
                settled.setdefault(m, {}).setdefault(t, []).append(ev.length(g, t, m))
            elif ev.shortest(g, t, m) < (bound := ev.hrm_length(g, t, m)) < math.inf:
                longer += 1
                took += ev.mostly_takes(g, t, m, bound)
    reason = "an option of HRM goes to the object nearest to where it begins, whatever comes after"
    if longer:
        reason += f"; that makes the route longer in {longer} cases on other maps too, of which {took} took it"
    lengths = (f"{m} " + ", ".join(f"{t} {span(steps)}" for t, steps in by.items()) for m, by in settled.items())
    return cases, f"median steps on these maps: {'; '.join(lengths)}", reason


@_claim(5, "CRM is never slower than QRM")
def _claim_5(ev: Evidence) -> Found:
    cases, ratios, ties = [], [], 0
    rows = product(ev.maps(), TASKS, ("num-bool", "num", "bool"))
    for g, t, m, crm, qrm in _steps_of_both(ev, ((g, t, f"crm-{kind}", f"qrm-{kind}") for g, t, kind in rows)):
        if math.isinf(qrm) and math.isinf(crm):
            continue
        cases.append(Case(ev.name(g), f"{t} {m.removeprefix('crm-')}", crm <= qrm))
        ties += crm == qrm
        ratios.append(ratio(crm, qrm))
    if not cases:
        return NOTHING
    return cases, f"CRM needs {middle(ratios)} of QRM's steps to 90 % in the median case; {ties} cases are ties", ""


@_claim(6, "QRM and CRM learn faster on 2a2b2c than on 1a1b1c (in most comparisons of the k-th maps of both setups)",
        unit="pairs of maps", needs="most", parts=("Boolean", "numeric-Boolean", "numeric"))  # fmt: skip
def _claim_6(ev: Evidence) -> Found:
    rows = [(kind, f"{learner}-{kind}", t) for kind, learner, t in product(KINDS, ("qrm", "crm"), TASKS)]
    cases = [
        Case(f"{ev.name(one)}, {ev.name(two)}", f"{t} {m}", fast < slow, KINDS[kind])
        for (one, two), (kind, m, t) in product(zip(ev.maps(ONE), ev.maps(TWO), strict=False), rows)
        if ev.has(one, t, m) and ev.has(two, t, m)
        and (slow := ev.steps(one, t, m)) != (fast := ev.steps(two, t, m))
    ]  # fmt: skip
    numbers: dict[str, list[str]] = {}
    for _, m, t in rows:
        pooled = [[g for g in ev.maps(setup) if ev.has(g, t, m)] for setup in (ONE, TWO)]
        if all(pooled):
            first, second = (ev.steps_of_maps(grids, t, m) for grids in pooled)
            gap, (low, high) = float(second.mean() - first.mean()), interval_of_gap(second, first)
            numbers.setdefault(m, []).append(f"{t} {gap / 1000:+.0f} [{low / 1000:+.0f}, {high / 1000:+.0f}]")
    return (
        cases,
        "thousand steps to 90 % (restricted means) on 2a2b2c minus those on 1a1b1c, intervals over maps: "
        + "; ".join(f"{m} {', '.join(gaps)}" for m, gaps in numbers.items()),
        _routes(ev),
    )


def _routes(ev: Evidence) -> str:
    """Return how routes differ between the setups."""
    task = TASKS[-1]
    ran = {setup: ev.ran_on(ev.maps(setup), [task], ev.labels[:1]) for setup in (ONE, TWO)}
    if not all(ran.values()):
        return ""
    one, two = (float(np.median([ev.shortest(*row) for row in ran[setup]])) for setup in (ONE, TWO))
    longer = sum(ev.nearest_route(g, task) > ev.shortest(g, task, m) for g, _, m in ran[TWO])
    return (
        f"the shortest a-b-c route of the median map has {two:.0f} steps on 2a2b2c and {one:.0f} on 1a1b1c, but on "
        f"{longer} of {len(ran[TWO])} maps of 2a2b2c it does not lead from nearest object to nearest object"
    )


@_claim(7, "numeric-Boolean beats numeric on 1a1b1c, and on 2a2b2c numeric performs at least as well as "
        "numeric-Boolean (in most cases of a map)", needs="most", parts=(ONE, TWO))  # fmt: skip
def _claim_7(ev: Evidence) -> Found:
    cases, ties = [], dict.fromkeys((ONE, TWO), 0)
    as_claimed: dict[str, dict[str, list[bool]]] = {}
    rows = ((g, t, f"{learner}-num", f"{learner}-num-bool")
            for g, t, learner in product(ev.maps(ONE, TWO), TASKS, LEARNERS))  # fmt: skip
    for g, t, m, numeric, numeric_boolean in _steps_of_both(ev, rows):
        setup, learner, is_tie = ev.setups[g], m.removesuffix("-num"), numeric_boolean == numeric
        if is_tie and math.isinf(numeric):
            continue
        ties[setup] += is_tie
        if is_tie and setup == ONE:
            continue
        holds = numeric_boolean < numeric if setup == ONE else numeric <= numeric_boolean
        cases.append(Case(ev.name(g), f"{t} {learner}", holds, setup))
        as_claimed.setdefault(setup, {}).setdefault(learner.upper(), []).append(holds)
    numbers = "; ".join(
        f"{setup} " + ", ".join(f"{learner} {sum(held)} of {len(held)}" for learner, held in by.items())
        for setup, by in as_claimed.items()
    )
    reason = ""
    if TWO in as_claimed:
        shares = ([ev.share_closer(g, closer) for g in ev.maps(TWO)] for closer in ("nearest", "any"))
        nearest, either = (percent(float(np.mean(some))) for some in shares)
        reason = (
            f"closer means {ev.plan.experiment.get('closer')} here: on 2a2b2c {nearest} of all moves lead closer to "
            f"the nearest a, {either} to any a"
        )
    ties_left_out = f"ties: {ties[ONE]} on 1a1b1c left out, {ties[TWO]} on 2a2b2c count for the claim"
    return cases, f"cases that are as claimed: {numbers}; {ties_left_out}", reason


@_claim(8, "numeric-Boolean settles slightly below 1.0 for task a on a 2a2b2c map with the distances of the appendix "
        f"(0.9 to 1.0, and more than {MARGIN} below the other kinds)")  # fmt: skip
def _claim_8(ev: Evidence) -> Found:
    cases, scores, gaps, own = [], [], [], []
    for g, learner in product(ev.maps(APPENDIX), LEARNERS):
        m = f"{learner}-num-bool"
        others = ev.ran_on([g], ["a"], [f"{learner}-{kind}" for kind in ("bool", "rs-bool", "num")])
        if not others or not ev.has(g, "a", m):
            continue
        score = ev.score(g, "a", m)
        gap = score - min(ev.score(*other) for other in others)
        cases.append(Case(ev.name(g), m, 0.9 <= score < 1.0 and gap < -MARGIN))
        scores.append(score)
        gaps.append(gap)
        if (known := ev.own_optimum(g, "a", m)) is not None:
            own.append(known)
    if not cases:
        return NOTHING
    return (
        cases,
        f"settled scores {span(scores, 3)}; minus the lowest of the other kinds on the same map {span(gaps, 3)}",
        f"the optimal policy of the numeric-Boolean machine itself scores {span(own, 3)}" if own else "",
    )


@_claim(9, "differences between methods grow from a to a-b to a-b-c")
def _claim_9(ev: Evidence) -> Found:
    cases, spreads = [], []
    for g in ev.maps(ONE, TWO):
        methods = [m for m in ev.labels if all(ev.has(g, t, m) for t in TASKS)]
        if len(methods) < 2:
            continue
        spread = [_spread([ev.steps(g, t, m) for m in methods]) for t in TASKS]
        spreads.append(spread)
        for k in (1, 2):
            if spread[k] != spread[k - 1]:
                cases.append(Case(ev.name(g), f"{TASKS[k - 1]} to {TASKS[k]}", spread[k] > spread[k - 1]))
    if not cases:
        return NOTHING
    medians = ", ".join(f"{t} {number(s)}" for t, s in zip(TASKS, np.median(spreads, axis=0), strict=True))
    never = ", ".join(f"{t} {sum(math.isinf(s[k]) for s in spreads)}" for k, t in enumerate(TASKS))
    return (
        cases,
        f"steps to 90 % between fastest and slowest method on the median map: {medians}; maps where some method never "
        f"gets there, of {len(spreads)}: {never}",
        "",
    )


def _spread(steps: Sequence[float]) -> float:
    """Return how many steps lie between the fastest and the slowest, infinite where one never gets there."""
    return math.inf if math.isinf(max(steps)) else max(steps) - min(steps)


@_claim(10, "methods with Boolean machines (crm-rs-bool, hrm-bool) learn slower than all six with the new kinds",
        parts=tuple(f"{m} against {KINDS[kind]}" for m, kind in product(("crm-rs-bool", "hrm-bool"), NEW_KINDS))
)  # fmt: skip
def _claim_10(ev: Evidence) -> Found:
    cases: list[Case] = []
    ratios: dict[str, dict[str, list[float]]] = {}
    slow, misled = 0, 0
    for boolean, kind in product(("crm-rs-bool", "hrm-bool"), NEW_KINDS):
        rows = ((g, t, f"{learner}-{kind}", boolean)
                for learner, t, g in product(LEARNERS, TASKS, ev.maps(ONE, TWO)))  # fmt: skip
        for g, t, m, new, old in _steps_of_both(ev, rows):
            if new == old:
                continue
            cases.append(Case(ev.name(g), f"{t} {m}", new < old, f"{boolean} against {KINDS[kind]}"))
            ratios.setdefault(boolean, {}).setdefault(m, []).append(ratio(new, old))
            if new > old:
                slow += 1
                misled += ev.verdict(g, t, m) != "shortest"
    shares = (
        f"as a share of {boolean}'s: " + ", ".join(f"{m} {middle(values)}" for m, values in by.items())
        for boolean, by in ratios.items()
    )
    return (
        cases,
        f"steps to 90 %, median case, {'; '.join(shares)}",
        f"{slow} cases fail; in {misled} of them the machine's optimum is no shortest path" if slow else "",
    )


@_claim(11, "knowing the structure speeds up learning: CRM and HRM reach 90 % sooner than QRM with the same machine "
        "(a-b and a-b-c; task a has no structure)",
        parts=tuple(f"{learner.upper()} {KINDS[kind]}" for learner, kind in product(("crm", "hrm"), NEW_KINDS))
)  # fmt: skip
def _claim_11(ev: Evidence) -> Found:
    cases, ties = [], 0
    ratios: dict[str, list[float]] = {}
    for learner, kind in product(("crm", "hrm"), ("bool", *NEW_KINDS)):
        rows = ((g, t, f"{learner}-{kind}", f"qrm-{kind}") for t, g in product(TASKS[1:], ev.maps(ONE, TWO)))
        for g, t, m, knows, does_not in _steps_of_both(ev, rows):
            if knows == does_not:
                ties += 1
                continue
            cases.append(Case(ev.name(g), f"{t} {m}", knows < does_not, f"{learner.upper()} {KINDS[kind]}"))
            ratios.setdefault(f"{m} {t}", []).append(ratio(knows, does_not))
    shares = ", ".join(f"{name} {middle(values)}" for name, values in ratios.items())
    return cases, f"steps to 90 % as a share of QRM's, median map: {shares}; {ties} ties left out", ""


@_claim(12, f"the quartile bands over the runs on a map are narrow (mean width over the run at most {SIMILAR}, for "
        "every task and method)")  # fmt: skip
def _claim_12(ev: Evidence) -> Found:
    cases = []
    widths: dict[str, list[float]] = {}
    for m, t, g in product(ev.labels, TASKS, ev.maps(ONE, TWO)):
        if ev.runs(g, t, m) >= FEWEST_RUNS:
            width = ev.mean_gap(ev.quartiles(g, t, m))
            cases.append(Case(ev.name(g), f"{t} {m}", width <= SIMILAR))
            widths.setdefault(m, []).append(width)
    if not cases:
        return NOTHING
    every = [width for some in widths.values() for width in some]
    by_method = ", ".join(f"{m} {np.mean(some):.3f}" for m, some in widths.items())
    return cases, f"mean width {np.mean(every):.3f}, widest {max(every):.3f}; by method: {by_method}", ""


@_claim(13, "relative performance is similar on all maps of a setup (in every task at least three quarters of the "
        "pairs of methods are ordered, by steps to 90 %, as on most other maps)", parts=(ONE, TWO))  # fmt: skip
def _claim_13(ev: Evidence) -> Found:
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
        mean = "-" if np.isnan(agreement).all() else percent(float(np.nanmean(agreement)))
        found.append(f"{setup} {t} W {kendall_w(steps):.2f}, {mean} of pairs")
    return cases, f"Kendall's W, and pairs ordered as on most other maps: {'; '.join(found)}", ""


def _agreement(steps: Array) -> Array:
    """Return, for steps [map, method], which share of pairs each map orders as most others do; ties are left out."""
    ranks = _ranks(steps)
    one, two = np.triu_indices(ranks.shape[1], 1)
    order = np.sign(ranks[:, one] - ranks[:, two])
    others = np.sign(order.sum(axis=0) - order)
    ordered = (order != 0) & (others != 0)
    with np.errstate(invalid="ignore"):
        shares: Array = ((order == others) & ordered).sum(axis=1) / ordered.sum(axis=1)
    return shares


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


@_claim(14, "in task a all methods of one feature category perform similarly (their median scores are at most "
        f"{SIMILAR} apart, averaged over the run)", parts=tuple(CATEGORIES))  # fmt: skip
def _claim_14(ev: Evidence) -> Found:
    cases = []
    gaps: dict[str, list[float]] = {}
    times: dict[str, list[float]] = {}
    for (category, methods), g in product(CATEGORIES.items(), ev.maps(ONE, TWO)):
        ran = ev.ran_on([g], ["a"], methods)
        if len(ran) < 2:
            continue
        gap = ev.mean_gap(np.array([ev.quartiles(*row)[1] for row in ran]))
        cases.append(Case(ev.name(g), category, gap <= SIMILAR, category))
        gaps.setdefault(category, []).append(gap)
        times.setdefault(category, []).append(_spread([ev.steps(*row) for row in ran]))
    found = (f"{name} {np.mean(gap):.3f}, {number(float(np.median(times[name])))}" for name, gap in gaps.items())
    return (
        cases,
        f"mean gap of the scores, and steps to 90 % between fastest and slowest on the median map: {'; '.join(found)}",
        "",
    )


@_claim(15, "HRM-Boolean is faster than CRM-rs-Boolean (in a-b and a-b-c it has 98 % of what it settles at sooner), "
        "but tends to sub-optimal policies (on 2a2b2c most runs of some task end with a longer route)",
        parts=("faster", "sub-optimal"))  # fmt: skip
def _claim_15(ev: Evidence) -> Found:
    hrm, crm = "hrm-bool", "crm-rs-bool"
    cases, ratios, by_score = [], [], []
    rows = ((g, t, hrm, crm) for g, t in product(ev.maps(ONE, TWO), TASKS[1:]))  # in task a both are alike (claim 14)
    for g, t, _, *scores in _steps_of_both(ev, rows):
        one, two = (ev.steps_to_plateau(g, t, m) for m in (hrm, crm))
        if one != two:
            cases.append(Case(ev.name(g), t, one < two, "faster"))
            ratios.append(ratio(one, two))
        if scores[0] != scores[1]:
            by_score.append(scores[0] < scores[1])
    known = 0
    judged = [g for g in ev.maps(TWO) if all(ev.has(g, t, hrm) for t in TASKS)]
    for g in judged:
        misses = [t for t in TASKS if not ev.finds_shortest(g, t, hrm)]
        cases.append(Case(ev.name(g), ", ".join(misses) or "all tasks", bool(misses), "sub-optimal"))
        known += any(ev.shortest(g, t, hrm) < ev.hrm_length(g, t, hrm) < math.inf for t in TASKS)
    numbers, reason = "", ""
    if ratios:
        numbers = (
            f"steps to 98 % of what it settles at, as a share of crm-rs-bool's, median case: {middle(ratios)}; by "
            f"steps to 90 % of the unit it is faster in {sum(by_score)} of {len(by_score)} cases"
        )
    if judged:
        reason = f"by the exact tools HRM settles on a longer route on {known} of {len(judged)} maps of 2a2b2c"
    return cases, numbers, reason


def judge(results: Results, facts: Facts | None = None) -> list[Claim]:
    """Judge the claims of the paper on a result file; ConfigError where it has none of their tasks and methods.

    `facts` is an empty dictionary at first. Hand the same one over for several files: those of equal plans then share
    the exact facts about their maps and machines, which take most of the time.
    """
    evidence = Evidence(results, {} if facts is None else facts)
    judged = [judge_one(evidence) for judge_one in CLAIMS.values()]
    if len(results["step"]) < 2:  # nothing is known about who is faster
        judged = [c if c.number in PATH_CLAIMS else replace(c, cases=(), numbers="", reason="") for c in judged]
    if not any(claim.cases for claim in judged):
        raise ConfigError(
            f"{results.path or 'these results'}: nothing to judge; the claims are about tasks {', '.join(TASKS)} on "
            f"setups {ONE} and {TWO} with methods such as crm-num (see the suite paper)"
        )
    corrected = iter(holm([claim.p for claim in judged if claim.p is not None]))
    return [claim if claim.p is None else replace(claim, corrected_p=next(corrected)) for claim in judged]


def is_plain(results: Results) -> bool:
    """Return whether names alone distinguish the methods, as claims and findings need."""
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
