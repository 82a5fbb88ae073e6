"""Several seeds of one learner, advanced together in pieces of any size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fastrm.checks import check_truth, check_whole
from fastrm.config import LearnerConfig
from fastrm.exact import ScoreUnit, score_units
from fastrm.kernels import rng
from fastrm.kernels.contracts import AGENT, N_ACTIONS, SUCCESS, Setting, State
from fastrm.kernels.episode import begin
from fastrm.learners import registry
from fastrm.learners.pieces import (
    blank_log,
    check_settings,
    check_units,
    next_span,
    rule_at,
    tabulate_tasks,
    threshold,
)
from fastrm.learners.registry import Values
from fastrm.learners.runs import Run
from fastrm.learners.shaping import learned_rewards
from fastrm.learners.warm_start import check_warm_starts, put_values
from fastrm.problems import Problem, check_problem, mean_length
from fastrm.schedules import GRID, final
from fastrm.worlds import Cell

CACHED_BYTES = 1 << 20
"""Tables of this size lie in the cache; the neighbours of a cell in larger ones are fetched ahead."""


class Batch:
    """Several seeds of one learner, advanced in pieces of any size; `start` begins anew with others."""

    def __init__(
        self,
        problem: Problem,
        algo: str,
        *,
        steps: int,
        seeds: Sequence[int],
        shaping: bool = False,
        optimum: Sequence[float | ScoreUnit] | None = None,
        episodes: bool = False,
        config: LearnerConfig | None = None,
        **settings: Any,
    ) -> None:
        self.learner = registry.find(algo)
        check_problem(problem, may_be_large=getattr(self.learner, "takes_large", False))
        check_settings(config, settings)
        self.config = replace(config or LearnerConfig(), **settings)
        check_whole("steps", steps, 1, 2**53)
        check_truth("shaping", shaping)
        check_truth("episodes", episodes)
        self.problem, self.shaping = problem.at(self.config.gamma), shaping
        self.steps, self.episodes = int(steps), episodes
        self.units = _check_optimum(self.problem, self.config, self.steps, optimum)
        self.setting = self._settle()
        self.start(())  # arrays of no run at all show how large those of one are
        self.bytes_per_seed = _bytes_per_row(self.state)
        if _bytes_per_row(self.state.q) > CACHED_BYTES:
            self.setting = self.setting._replace(far=True)
        self.start(seeds)

    def start(self, seeds: Sequence[int], warm_start: object = None) -> None:
        """Begin anew with these seeds; `warm_start` is a run, or one for each, whose values they begin with."""
        for seed in seeds:
            check_whole("seed", seed, 0, 2**64 - 1)
        self.seeds, self.done = [int(seed) for seed in seeds], 0
        agents = np.zeros(len(self.seeds), dtype=AGENT)
        rng.seed_runs(agents, np.array(self.seeds, dtype=np.uint64))
        begin(agents, self.setting.tasks, self.problem.tables.starts, self.setting.several)
        q, own = self.learner.begin(self.problem, self.setting.reward, self.config, len(self.seeds))
        room = self.steps if self.episodes else 0
        log = blank_log(self.config, self.steps, len(self.problem.machines), len(self.seeds), room)
        self.state = State(agents, log, q, own)
        for i, values in enumerate(check_warm_starts(self.problem, self.learner, warm_start, len(self.seeds)) or ()):
            put_values(self.problem, self.learner, self.state, i, values)

    def _settle(self) -> Setting:
        """Put together what stays the same."""
        problem, config = self.problem, self.config
        return Setting(
            tables=problem.tables,
            tasks=tabulate_tasks(problem.tables.first_u, problem.tables.own_score, self.units),
            reward=learned_rewards(problem, config.gamma, self.shaping),
            rule=rule_at(problem.profile, config, 0),
            slip=threshold(problem.slip) if problem.slip else None,
            far=None,
            actions=_count_of_actions(problem),
            several=True if problem.tables.starts.size > 1 else None,
        )

    def advance(self, steps: int) -> None:
        """Make so many more steps in every run, never beyond the end."""
        target = min(self.done + steps, self.steps)
        while self.done < target:
            span = next_span(self.config, self.steps, self.done, self._settle_rates(target))
            self.done += span.n_ticks * span.tick
            self.learner.advance(self.setting, self.state, span)

    def _settle_rates(self, target: int) -> int:
        """Give rates that follow a schedule their values; return up to which step they hold."""
        if not self.config.is_scheduled:
            return target
        self.setting = self.setting._replace(rule=rule_at(self.problem.profile, self.config, self.done))
        return min(target, (self.done // GRID + 1) * GRID)

    def results(self) -> list[Run]:
        """Return what the runs have learned so far."""
        return [self.result(i) for i in range(len(self.seeds))]

    def values(self, i: int) -> Values:
        """Return what run i has learned so far."""
        return self.learner.values(self.problem, self.state, i)

    def result(self, i: int) -> Run:
        """Return run i as it stands."""
        log, ended, values = self.state.log, int(self.state.agents["episodes"][i]), self.values(i)
        paths, lengths = zip(*self._roll_out(values), strict=True)
        return Run(
            algo=self.learner.name,
            seed=self.seeds[i],
            shaping=self.shaping,
            config=self.config,
            steps=self.done,
            step=self.config.steps_at_ticks(self.steps),
            score=log.score[i],
            reward=log.reward[i],
            completions=log.completions[i],
            episodes=log.episodes[i],
            states=() if self.problem.agenda is not None else self.problem.states,
            q=values.q,
            more=values.more,
            greedy_paths=paths,
            greedy_lengths=lengths,
            shortest=_known_shortest(self.problem),
            unit=tuple(unit.one for unit in self.units),
            episode_log=(log.ended["paid"][i, :ended], log.ended["length"][i, :ended]) if log.ended.size else None,
            problem=self.problem,
        )

    def _roll_out(self, values: Values) -> Iterator[tuple[tuple[Cell, ...], float | None]]:
        """Yield path, from the first start, and length of the greedy policy in every task."""
        problem = self.problem
        parts = problem.tables.n_u if problem.agenda is None else len(problem.agenda.targets)
        path = np.empty(len(problem.tables.next_s) * parts + 2, dtype=np.int64)
        for u in problem.tables.first_u:
            lengths: list[int | None] = []
            for s in problem.tables.starts:
                length, outcome = self.learner.follow(problem, values, int(s), int(u), path)
                lengths.append(int(length) if outcome == SUCCESS else None)
                if len(lengths) == 1:
                    last = length if outcome == SUCCESS else min(length, self.config.episode_limit)
                    cells = problem.terrain.cells_of(path[: last + 1])
                if lengths[-1] is None:
                    break
            reached = [length for length in lengths if length is not None]
            yield cells, mean_length(reached) if len(reached) == problem.tables.starts.size else None


def _known_shortest(problem: Problem) -> tuple[float, ...]:
    """Return the lengths of shortest paths, NaN for an agenda too large to know one."""
    tour = None if problem.agenda is None else problem.tour
    return problem.shortest if tour is None or tour.is_shortest else (math.nan,)


def _count_of_actions(problem: Problem) -> tuple[np.uint64, ...] | None:
    """Return the number of actions as kernels want it: None for four, else once for each block of four."""
    n = problem.n_actions
    return None if n == N_ACTIONS else (np.uint64(n),) * (problem.room // N_ACTIONS)


def _bytes_per_row(arrays: Any) -> int:
    """Return the bytes that a row more would take in nested tuples of arrays, of which those with rows have none."""
    if isinstance(arrays, tuple):
        return sum(_bytes_per_row(array) for array in arrays)
    if not isinstance(arrays, np.ndarray) or arrays.ndim == 0 or len(arrays):
        return 0
    row: tuple[int, ...] = arrays.shape[1:]
    return int(arrays.dtype.itemsize) * math.prod(row)


def _check_optimum(
    problem: Problem, config: LearnerConfig, steps: int, optimum: Sequence[float | ScoreUnit] | None
) -> tuple[ScoreUnit, ...]:
    if optimum is None:
        return score_units(problem, config.gamma, final(config.epsilon, steps), config.episode_limit)
    return check_units(optimum, len(problem.machines))
