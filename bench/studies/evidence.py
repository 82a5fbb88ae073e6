"""Figures of a result file by map, task and method, and exact facts about the same maps and machines.

Everything is computed from the file: its columns, and the maps and machines of the plan stored in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
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
from fastrm.results import Results, area, band, censored_percentile
from fastrm.schedules import final
from fastrm.worlds import APPENDIX_NEAREST, APPENDIX_SHORTEST, GridMap, kind_of_text, read_world

T = TypeVar("T")
Facts = dict[Plan, dict[Any, Any]]
"""Exact facts about the maps and machines of each plan."""
ONE, TWO, APPENDIX = "1a1b1c", "2a2b2c", "appendix"
TASKS = ("a", "a-b", "a-b-c")
MOST_RUNS = 10**7
"""Runs of a plan that is judged: figures lie in arrays with a place for every one of them, made or not."""


class Evidence:
    """Figures of runs by map, task and method, and exact facts about the maps and machines, each computed once.

    Facts follow from the plan alone. They are kept in `facts`, so that files of one plan share them.
    """

    def __init__(self, results: Results, facts: Facts) -> None:
        self.plan = plan = results.plan
        if plan.count > MOST_RUNS:
            raise ConfigError(f"{results.path}: a plan of {plan.count} runs; claims are judged on at most {MOST_RUNS}")
        check_is_plain(results, "claims")
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
