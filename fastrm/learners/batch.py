"""Several seeds of one learner, advanced together in pieces of any size.

What differs by kind of problem has a table with a row per kind: `begin_setting` (what kernels read), `begin_state`
(what they change), `fit_values` (what a run may begin with) and `roll_out` (what the greedy policy does). The rows of
maps, tables and agendas are here, those of Water world in `linear`.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from fastrm.arrays import Array, aligned_full, read_only
from fastrm.checks import check_known, check_truth, check_whole
from fastrm.config import LearnerConfig, Profile, log_ticks, multiple_of_reward
from fastrm.dispatch import add_row, by_kind
from fastrm.errors import ConfigError, shown
from fastrm.exact import ScoreUnit, score_units
from fastrm.kernels import rng
from fastrm.kernels.contracts import AGENT, EPISODE, N_ACTIONS, SUCCESS, TASK, Log, Rule, Setting, Span, State, Watch
from fastrm.kernels.episode import begin
from fastrm.learners import registry
from fastrm.learners.registry import Learner, Values
from fastrm.learners.runs import Run
from fastrm.problems import CellProblem, Problem, mean_length, unsupported
from fastrm.schedules import GRID, final, value_at


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
    """Return logs of `runs` runs, with room for `room` episodes each."""
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
    tick = config.tick_within(steps)
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


ARGUMENTS = ("steps", "shaping", "optimum", "episodes", "greedy", "warm_start", "callback", "progress", "config")
"""What `train` and `train_many` take beside settings."""


def configure(problem: Problem, config: LearnerConfig | None, settings: Mapping[str, Any], steps: int) -> LearnerConfig:
    """Return the settings of a run: those given, else those that fit the problem, else the paper's."""
    for name in settings:
        if name in ("profile", "metric", "slip", "start", "starts", "labels"):
            raise ConfigError(f"{name}: belongs to the problem; give it to fastrm.compile(grid, machine, {name}=...)")
        registry.check_shared(name)
        check_known(name, LearnerConfig.__dataclass_fields__, settings, ARGUMENTS)
    if config is not None and not isinstance(config, LearnerConfig):
        raise ConfigError(f"config={shown(config)}: must be a LearnerConfig")
    chosen = replace(config or LearnerConfig(), **settings).filled(problem.defaults(steps))
    if chosen.episode_limit > problem.longest_episode:
        where = registry.PLACES.get(problem.kind, problem.source)
        raise ConfigError(
            f"episode_limit={chosen.episode_limit}: on {where} it must be at most {problem.longest_episode}"
        )
    return replace(chosen, q_init=initial_value(problem, chosen.q_init))


def initial_value(problem: Problem, q_init: float | str) -> float:
    """Return the initial value, a number also where it is given as a multiple of the largest terminal reward."""
    multiple = multiple_of_reward(q_init)
    if multiple is None:
        return cast("float", q_init)
    rewards = [machine.terminal_reward for machine in problem.machines]
    known = [reward for reward in rewards if reward is not None]
    if not known:
        raise ConfigError(f"q_init={shown(q_init)}: {problem.source} pays no fixed reward at its end; give a number")
    return multiple * max(known)


def learned_rewards(problem: CellProblem, gamma: float, shaping: bool) -> Array:
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


def list_warm_starts(problem: Problem, learner: Learner, given: object, n: int) -> list[Run]:
    """Return the run that each of n runs begins with, none where they begin afresh.

    `given` is a run for all of them, or a list with a run for each.

    Raises
    ------
    ConfigError
        When it is neither, or when what was learned does not fit the problem or the learner.
    """
    if given is None:
        return []
    runs = [given] * n if isinstance(given, Run) else given
    if not isinstance(runs, Sequence) or not all(isinstance(run, Run) for run in runs) or len(runs) != n:
        raise ConfigError(f"warm_start={shown(given)}: must be a Run, or a list with a Run for each seed")
    if not hasattr(learner, "put"):
        raise ConfigError(f"warm_start: {learner.name} has no 'put', so it cannot begin with what was learned")
    for run in runs:
        check_numbers("warm_start", "q", run.q)
        fit_values(problem, learner, run)
    return list(runs)


def put_values(problem: Problem, learner: Learner, state: State, i: int, run: Run) -> None:
    """Let run i begin with what another learned; raise ConfigError unless it has the shape that the learner needs."""
    wanted = learner.values(problem, state, i)
    try:
        learner.put(problem, state, i, fit_values(problem, learner, run, wanted))
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


def _check_shape(learner: Learner, wanted: Values | None, given: Values) -> Values:
    """Return values of the shape that the learner begins with; other settings may give others."""
    if wanted is None or getattr(learner, "any_size", False):
        return given
    both = wanted.more.keys() & given.more.keys()
    pairs = [("q", wanted.q, given.q), *((name, wanted.more[name], given.more[name]) for name in sorted(both))]
    for name, mine, theirs in pairs:
        check_numbers("warm_start", name, theirs)
        if np.shape(mine) != np.shape(theirs):
            raise ConfigError(
                f"warm_start: the run of {learner.name} has a table of shape {list(np.shape(theirs))}, and this one "
                f"needs {list(np.shape(mine))}; train the first run with the same settings, on a problem of this shape"
            )
    return given


@by_kind
def fit_values(problem: Problem, learner: Learner, run: Run, wanted: Values | None = None) -> Values:
    """Return what a run learned as the learner needs it on a problem, `wanted` being what it begins with otherwise.

    Raises
    ------
    ConfigError
        When it does not fit.
    """
    raise unsupported(problem)


@add_row(fit_values, CellProblem)
def fit_table(problem: CellProblem, learner: Learner, run: Run, wanted: Values | None = None) -> Values:
    """Return the values of a run with the columns in the order of a problem's states."""
    cells, actions = len(problem.tables.next_s), problem.n_actions
    if run.q.ndim != 3:
        raise ConfigError(f"warm_start: q: must be an array by cell, column and action, not of {run.q.ndim} dimensions")
    if (run.q.shape[0], run.q.shape[2]) != (cells, actions):
        raise ConfigError(
            f"warm_start: the run has values of {run.q.shape[0]} cells and {run.q.shape[2]} actions, and the problem "
            f"has {cells} and {actions}"
        )
    check_columns(problem, run)
    source = registry.find(run.algo)
    if source.name == learner.name and run.states == problem.states:
        return _check_shape(learner, wanted, Values(run.q, run.more))
    if not (source.per_state and learner.per_state):
        raise ConfigError(
            f"warm_start: {source.name} and {learner.name} do not keep the same kind of values; begin with a run of "
            f"{learner.name} on a problem with the same states in the same order"
        )
    column = {state: k for k, state in enumerate(run.states)}
    return _check_shape(learner, wanted, Values(run.q[:, [column[state] for state in problem.states]]))


def check_columns(problem: Problem, run: Run) -> None:
    """Raise ConfigError unless a run has values of the states, or of the stages, that a problem has."""
    stages = run.problem.stages if run.problem else ()
    if stages != problem.stages or sorted(run.states) != sorted(problem.states):
        kind = "stages" if stages or problem.stages else "states"
        both = (stages, run.states), (problem.stages, problem.states)
        names = [", ".join([*targets, *(name for _, name in states)]) for targets, states in both]
        raise ConfigError(f"warm_start: the run has values of the {kind} {names[0]}, and the problem has {names[1]}")


class Greedy(NamedTuple):
    """What the greedy policy does in a task, from the (first) start."""

    path: tuple[Any, ...]
    length: float | None
    """Steps to complete the task, the mean over starts; None if it does not, from some start."""
    actions: tuple[int, ...] | None = None
    """The actions, where they are known."""


@by_kind
def begin_setting(
    problem: Problem, learner: Learner, config: LearnerConfig, units: Sequence[ScoreUnit], shaping: bool
) -> Any:
    """Return what the kernels of a learner read, the same for all runs."""
    raise unsupported(problem)


@by_kind
def begin_state(
    problem: Problem, learner: Learner, config: LearnerConfig, setting: Any, seeds: Sequence[int], log: Log
) -> State:
    """Return what the kernels of a learner change, as runs begin: a row per seed."""
    raise unsupported(problem)


@by_kind
def roll_out(problem: Problem, learner: Learner, config: LearnerConfig, values: Values) -> list[Greedy]:
    """Return what the greedy policy does in every task."""
    raise unsupported(problem)


@add_row(begin_setting, CellProblem)
def begin_table_setting(
    problem: CellProblem, learner: Learner, config: LearnerConfig, units: Sequence[ScoreUnit], shaping: bool
) -> Setting:
    """Return what the kernels of tables read."""
    tables, n = problem.tables, problem.n_actions
    setting = Setting(
        tables=tables,
        tasks=tabulate_tasks(tables.first_u, tables.own_score, units),
        reward=learned_rewards(problem, config.gamma, shaping),
        rule=rule_at(problem.profile, config, 0),
        slip=threshold(problem.slip) if problem.slip else None,
        chance=lay_out_chance(problem),
        far=None,
        actions=None if n == N_ACTIONS else (np.uint64(n),) * (problem.room // N_ACTIONS),
    )
    values = learner.begin(problem, setting.reward, config, 0)[0]
    is_far = setting.chance is None and bytes_per_row(values) > CACHED_BYTES
    return setting._replace(far=True) if is_far else setting


def lay_out_chance(problem: CellProblem) -> Array | None:
    """Return the thresholds of outcomes, a row for every action that the tables of kernels have room for."""
    if problem.thresholds is None:
        return None
    n_s, n_a, n_k = problem.thresholds.shape
    rows = np.zeros((n_s, problem.room, n_k), dtype=np.uint64)
    rows[:, :n_a] = problem.thresholds
    return read_only(rows.reshape(-1, n_k))


@add_row(begin_state, CellProblem)
def begin_table_state(
    problem: CellProblem, learner: Learner, config: LearnerConfig, setting: Setting, seeds: Sequence[int], log: Log
) -> State:
    """Return the agents and tables of some runs."""
    agents = np.zeros(len(seeds), dtype=AGENT)
    rng.seed_runs(agents, np.array(seeds, dtype=np.uint64))
    begin(agents, setting.tasks, problem.tables.starts)
    return State(agents, log, *learner.begin(problem, setting.reward, config, len(seeds)))


@add_row(roll_out, CellProblem)
def roll_out_tables(problem: CellProblem, learner: Learner, config: LearnerConfig, values: Values) -> list[Greedy]:
    """Follow the greedy policy of a table from every start."""
    found, tables = [], problem.tables
    path = np.empty(len(tables.next_s) * problem.columns + 2, dtype=np.int64)
    for u in tables.first_u:
        lengths: list[int] = []
        for s in tables.starts:
            length, outcome = learner.follow(problem.likely, values, int(s), int(u), path)
            if not lengths:
                last = length if outcome == SUCCESS else min(length, config.episode_limit)
                cells = problem.terrain.cells_of(path[: last + 1])
            if outcome != SUCCESS:
                break
            lengths.append(int(length))
        found.append(Greedy(cells, mean_length(lengths) if len(lengths) == tables.starts.size else None))
    return found


CACHED_BYTES = 1 << 20
"""Tables of this size lie in the cache; the neighbours of a cell in larger ones are fetched ahead."""


class Batch:
    """Several seeds of one learner, advanced in pieces of any size; `start` begins again with other seeds."""

    def __init__(
        self,
        problem: Problem,
        algo: str,
        *,
        steps: int,
        seeds: Sequence[int] = (),
        shaping: bool = False,
        optimum: Sequence[float | ScoreUnit] | None = None,
        episodes: bool = False,
        greedy: bool = False,
        config: LearnerConfig | None = None,
        **settings: Any,
    ) -> None:
        if not isinstance(problem, Problem):
            raise unsupported(problem)
        self.learner = registry.find(algo, problem.kind)
        check_whole("steps", steps, 1, 2**53)
        check_truth("shaping", shaping)
        check_truth("episodes", episodes)
        check_truth("greedy", greedy)
        self.config = config = configure(problem, config, settings, int(steps))
        self.problem, self.shaping = problem.at(config.gamma), shaping
        self.steps, self.episodes, self.greedy = int(steps), episodes, greedy
        if optimum is None:
            last_epsilon = final(config.epsilon, self.steps)
            self.units = score_units(self.problem, config.gamma, last_epsilon, config.episode_limit)
        else:
            self.units = check_units(optimum, len(problem.machines))
        self.setting = begin_setting(self.problem, self.learner, config, self.units, shaping)
        self.bytes_per_seed = bytes_per_row(self._begin(()))  # arrays of no run at all show how large those of one are
        self.bytes_per_seed += 8 * config.count_ticks(self.steps) if greedy else 0
        if hasattr(self.learner, "grown_bytes"):
            self.bytes_per_seed += self.learner.grown_bytes(self.problem, config, self.steps)
        if len(seeds):
            self.start(seeds)

    def start(self, seeds: Sequence[int], warm_start: object = None) -> None:
        """Begin with these seeds; `warm_start` is a run, or one for each, whose values they begin with."""
        for seed in seeds:
            check_whole("seed", seed, 0, 2**64 - 1)
        self.seeds, self.done = [int(seed) for seed in seeds], 0
        self.state = self._begin(self.seeds)
        for i, run in enumerate(list_warm_starts(self.problem, self.learner, warm_start, len(self.seeds))):
            put_values(self.problem, self.learner, self.state, i, run)
        if self.greedy:
            self.curve = np.full((len(self.seeds), self.config.count_ticks(self.steps)), math.nan)
            by_chance = getattr(self.setting, "chance", None) is not None
            if hasattr(self.learner, "view") and not by_chance:  # else `advance` looks at every tick
                seen = Watch(*self.learner.view(self.problem, self.state), length=self.curve)
                self.state = self.state._replace(watch=seen)

    def _begin(self, seeds: Sequence[int]) -> State:
        room = self.steps if self.episodes else 0
        log = blank_log(self.config, self.steps, len(self.problem.machines), len(seeds), room)
        return begin_state(self.problem, self.learner, self.config, self.setting, seeds, log)

    def advance(self, steps: int) -> None:
        """Advance every run by `steps`, never beyond the end."""
        target = min(self.done + steps, self.steps)
        while self.done < target:
            span = next_span(self.config, self.steps, self.done, self._settle_rates(target))
            looks = self.greedy and self.state.watch is None
            span = span._replace(n_ticks=1) if looks else span
            self.done += span.n_ticks * span.tick
            self.learner.advance(self.setting, self.state, span)
            if looks and span.row >= 0:
                self.curve[:, span.row] = [self._greedy_length(i) for i in range(len(self.seeds))]

    def _greedy_length(self, i: int) -> float:
        """Return the steps of run i's greedy policy as it is now, summed over tasks; NaN if it completes not all."""
        if hasattr(self.learner, "lengths"):
            lengths = self.learner.lengths(self.problem, self.setting, self.state, i)
        else:
            greedy = roll_out(self.problem, self.learner, self.config, self.values(i))
            lengths = [found.length for found in greedy]
        return sum(math.nan if length is None else length for length in lengths)

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
        """Return run i as it is now."""
        log, ended, values = self.state.log, int(self.state.agents["episodes"][i]), self.values(i)
        greedy = roll_out(self.problem, self.learner, self.config, values)
        step = self.config.steps_at_ticks(self.steps)
        now = np.searchsorted(step, self.done, side="right")
        return Run(
            algo=self.learner.name,
            seed=self.seeds[i],
            shaping=self.shaping,
            config=self.config,
            steps=self.done,
            step=step[:now],
            score=log.score[i, :now],
            reward=log.reward[i, :now],
            completions=log.completions[i, :now],
            episodes=log.episodes[i, :now],
            states=self.problem.states,
            q=values.q,
            more=values.more,
            greedy_paths=tuple(found.path for found in greedy),
            greedy_lengths=tuple(found.length for found in greedy),
            known_actions=tuple(found.actions for found in greedy),
            shortest=self.problem.known_shortest,
            unit=tuple(unit.one for unit in self.units),
            episode_log=(log.ended["paid"][i, :ended], log.ended["length"][i, :ended]) if log.ended.size else None,
            greedy_curve=self.curve[i, :now] if self.greedy else None,
            problem=self.problem,
        )


def bytes_per_row(arrays: Any) -> int:
    """Return the bytes that a row more would take in nested tuples of arrays, of which those with rows have none."""
    if isinstance(arrays, tuple):
        return sum(bytes_per_row(array) for array in arrays)
    if not isinstance(arrays, np.ndarray) or arrays.ndim == 0 or len(arrays):
        return 0
    size: int = arrays.dtype.itemsize * math.prod(arrays.shape[1:])
    return size
