"""What runs share, whether they learn tables or weights: rates, logs, and the pieces in which they advance.

Reward shaping: what learners learn from, the machines' own rewards or ``r + gamma Phi(u') - Phi(u)``.

Warm starts: a run begins with what another has learned, its columns matched by machine state.

Several seeds of one learner, advanced together in pieces of any size.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fastrm.arrays import Array, aligned_full
from fastrm.checks import check_known, check_truth, check_whole
from fastrm.config import LearnerConfig, Profile, log_ticks
from fastrm.errors import ConfigError, shown
from fastrm.exact import ScoreUnit, score_units
from fastrm.kernels import rng
from fastrm.kernels.contracts import AGENT, EPISODE, N_ACTIONS, SUCCESS, TASK, Log, Rule, Setting, Span, State
from fastrm.kernels.episode import begin
from fastrm.learners import registry
from fastrm.learners.registry import Learner, Values
from fastrm.learners.runs import Run
from fastrm.problems import Problem, check_problem, mean_length
from fastrm.schedules import GRID, final, value_at
from fastrm.worlds import Cell


def rule_at(profile: Profile, config: LearnerConfig, step: int) -> Rule:
    """Return how to learn from a step on."""
    return Rule(
        alpha=value_at(config.alpha, step),
        gamma=float(config.gamma),
        explore_below=threshold(value_at(config.epsilon, step)),
        limit=np.uint64(config.episode_limit),
        bootstraps_at_limit=profile.qrm_bootstraps_at_limit,
        option_survives=profile.option_survives_limit,
        prune=profile.prune,
        controller_alpha=value_at(config.controller_alpha, step),
    )


def threshold(probability: float) -> np.uint64:
    """Return what the upper half of a draw must be below for something of this probability to happen."""
    return np.uint64(math.floor(probability * 2**32))


def check_units(optimum: Sequence[float | ScoreUnit], machines: int) -> tuple[ScoreUnit, ...]:
    """Return what scores are measured by, as a user gave it: a positive number per machine, or such a unit."""
    try:
        units = tuple(unit if isinstance(unit, ScoreUnit) else ScoreUnit(float(unit)) for unit in optimum)
    except (TypeError, ValueError):
        units = ()
    if len(units) != machines or not all(math.inf > unit.one - unit.zero > 0 for unit in units):
        raise ConfigError(f"optimum={shown(optimum)}: must be a positive number per machine ({machines})")
    return units


def tabulate_tasks(first_u: Array, own_score: Sequence[bool] | Array, units: Sequence[ScoreUnit]) -> Array:
    """Return a row of `TASK` per machine."""
    tasks = np.zeros(len(units), dtype=TASK)
    tasks["first_u"], tasks["own_score"] = first_u, own_score
    tasks["by_total"] = [unit.by_total for unit in units]
    tasks["base"] = [unit.zero for unit in units]
    tasks["optimum"] = [unit.one - unit.zero for unit in units]
    return tasks


def blank_log(config: LearnerConfig, steps: int, machines: int, runs: int, room: int) -> Log:
    """Return logs of so many runs, with room for so many episodes each."""
    ticks = config.count_ticks(steps)
    window = config.window or (100 if machines == 1 else 1000)
    return Log(
        ring=np.zeros((runs, window)),
        ended=np.zeros((runs, room), dtype=EPISODE),
        episodes=np.zeros((runs, ticks), dtype=np.int64),
        completions=np.zeros((runs, ticks), dtype=np.int64),
        reward=np.zeros((runs, ticks)),
        score=np.full((runs, ticks), math.nan),
    )


def next_span(config: LearnerConfig, steps: int, done: int, target: int) -> Span:
    """Return the next piece of the way to a step: whole ticks, of equal length, or a part of one."""
    tick = config.tick
    if tick == "log":
        ticks = log_ticks(steps)
        row = bisect.bisect_right(ticks, done)
        end = ticks[row]
    else:
        row = done // tick
        end = (row + 1) * tick
        if done % tick == 0 and end <= target:
            return Span((target - done) // tick, tick, row)
    return Span(1, min(end, target) - done, row if end <= target else -1)


def check_settings(config: object, settings: Mapping[str, Any], more: tuple[str, ...] = ()) -> None:
    """Refuse what is no setting of a learner; `more` names others that could have been meant."""
    for name in settings:
        if name in ("profile", "metric", "slip"):
            raise ConfigError(f"{name}: belongs to the problem; give it to fastrm.compile(grid, machine, {name}=...)")
        check_known(name, (*LearnerConfig.__dataclass_fields__, *more))
    if config is not None and not isinstance(config, LearnerConfig):
        raise ConfigError(f"config={shown(config)}: must be a LearnerConfig")


def learned_rewards(problem: Problem, gamma: float, shaping: bool) -> Array:
    """Return the rewards to learn from, [event, column]; Phi is `RewardMachine.potentials` of every machine."""
    tables = problem.tables
    if not shaping:
        own: Array = tables.reward
        return own
    potential = np.zeros(tables.reward.shape[1])
    by_machine = [machine.potentials(gamma) for machine in problem.machines]
    potential[: tables.n_u] = [by_machine[number][name] for number, name in problem.states]
    shaped = aligned_full(tables.reward.shape)
    shaped[...] = tables.reward + gamma * potential[tables.delta] - potential
    shaped.flags.writeable = False
    return shaped


def check_warm_starts(problem: Problem, learner: Learner, given: object, n: int) -> list[Values] | None:
    """Return what each of n runs begins with, None where they begin anew.

    `given` is a run for all of them, or a list with a run for each.

    Raises
    ------
    ConfigError
        When it is neither, or when what was learned does not fit the problem or the learner.
    """
    if given is None:
        return None
    runs = [given] * n if isinstance(given, Run) else given
    if not isinstance(runs, Sequence) or not all(isinstance(run, Run) for run in runs) or len(runs) != n:
        raise ConfigError(f"warm_start={shown(given)}: must be a Run, or a list with a Run for each seed")
    if not hasattr(learner, "put"):
        raise ConfigError(f"warm_start: {learner.name} has no 'put', so it cannot begin with what was learned")
    return [_fitted(problem, learner, run) for run in runs]


def put_values(problem: Problem, learner: Learner, state: State, i: int, given: Values) -> None:
    """Let run i begin with values; raise ConfigError unless they are numbers in the shape that the learner needs."""
    wanted = learner.values(problem, state, i)
    _check_shape(learner, wanted, given)
    try:
        learner.put(problem, state, i, given)
    except KeyError as missing:
        if missing.args[0] not in wanted.more:
            raise
        raise ConfigError(f"warm_start: the run lacks {missing}, with which {learner.name} begins") from None


def check_numbers(what: str, name: str, array: object) -> None:
    """Raise ConfigError unless `array` is an array of finite numbers; messages call it `name` of `what`."""
    if not isinstance(array, np.ndarray | np.generic) or array.dtype.kind not in "fiu":
        found = f"an array of {array.dtype}" if isinstance(array, np.ndarray) else shown(array)
        raise ConfigError(f"{what}: {name}: must be an array of numbers, not {found}")
    if not np.isfinite(array).all():
        raise ConfigError(f"{what}: {name}: must be finite numbers, and {np.sum(~np.isfinite(array))} of them are not")


def _check_shape(learner: Learner, wanted: Values, given: Values) -> None:
    """Refuse values of another shape than the learner begins with, as other settings may give them."""
    both = wanted.more.keys() & given.more.keys()
    pairs = [("q", wanted.q, given.q), *((name, wanted.more[name], given.more[name]) for name in sorted(both))]
    for name, mine, theirs in pairs:
        check_numbers("warm_start", name, theirs)
        if np.shape(mine) != np.shape(theirs):
            raise ConfigError(
                f"warm_start: the run of {learner.name} has a table of shape {list(np.shape(theirs))}, and this one "
                f"needs {list(np.shape(mine))}; train the first run with the same settings, on a problem of this shape"
            )


def _fitted(problem: Problem, learner: Learner, run: Run) -> Values:
    """Return what a run learned with the columns in the order of a problem's states."""
    cells, actions = problem.tables.next_s.shape
    check_numbers("warm_start", "q", run.q)
    if run.q.ndim != 3:
        raise ConfigError(f"warm_start: q: must be an array by cell, column and action, not of {run.q.ndim} dimensions")
    if (run.q.shape[0], run.q.shape[2]) != (cells, actions):
        raise ConfigError(
            f"warm_start: the run has values of {run.q.shape[0]} cells and {run.q.shape[2]} actions, and the problem "
            f"has {cells} and {actions}"
        )
    agendas = [one.agenda.targets if one and one.agenda else () for one in (run.problem, problem)]
    states = () if problem.agenda else problem.states
    if agendas[0] != agendas[1] or sorted(run.states) != sorted(states):
        kind = "stages" if any(agendas) else "states"
        listed = [
            [*targets, *(name for _, name in of)] for targets, of in zip(agendas, (run.states, states), strict=True)
        ]
        names = [", ".join(each) for each in listed]
        raise ConfigError(f"warm_start: the run has values of the {kind} {names[0]}, and the problem has {names[1]}")
    source = registry.find(run.algo)
    if source.name == learner.name and run.states == states:
        return Values(run.q, run.more)
    if not (source.per_state and learner.per_state):
        raise ConfigError(
            f"warm_start: {source.name} and {learner.name} do not keep the same kind of values; begin with a run of "
            f"{learner.name} on a problem with the same states in the same order"
        )
    column = {state: k for k, state in enumerate(run.states)}
    return Values(run.q[:, [column[state] for state in problem.states]])


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
