"""One run, or many seeds of one run, of a learner on a compiled problem."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from fastrm.arrays import aligned_full
from fastrm.config import LearnerConfig, check_choice, check_whole
from fastrm.errors import ConfigError, did_you_mean
from fastrm.exact.unit import optimal_arps
from fastrm.kernels import crm, hrm, qrm, rng, rollout
from fastrm.kernels.contracts import N_ACTIONS, SUCCESS
from fastrm.kernels.episode import AGENT, EPISODE, TASK, Log, Rule, begin
from fastrm.learners.options import build_options, learned_rewards
from fastrm.problems.compiler import Problem, check_problem

Algo = Literal["qrm", "crm", "hrm"]
ALGOS: tuple[Algo, ...] = get_args(Algo)
Array = npt.NDArray[Any]
Cell = tuple[int, int]

PIECE_STEPS = 10_000_000
"""Steps, of all seeds together, between two looks at what else happens: a fraction of a second."""

SEMANTICS = {"qrm": 1, "crm": 1, "hrm": 1}
"""A number per learner that rises only when the same seed gives another curve."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """What one run learned and how."""

    algo: Algo
    seed: int
    shaping: bool
    config: LearnerConfig
    step: Array
    """Steps made at every tick, [tick]."""
    score: Array
    """Mean score of the last episodes, 1 at the optimum, NaN before the first episode ended, [tick]."""
    reward: Array
    """Sum of the machine's own rewards so far, [tick]."""
    completions: Array
    """Episodes that completed the task so far, [tick]."""
    episodes: Array
    """Episodes that ended so far, [tick]."""
    q: Array
    """Learned values: [cell, machine state, action], for HRM [cell, option, action]."""
    controller: Array | None
    """HRM: the controller's values, [cell, option]."""
    greedy_paths: tuple[tuple[Cell, ...], ...]
    """Cells visited by the greedy policy if nothing slips, per task; cut off when the task is not completed."""
    greedy_lengths: tuple[int | None, ...]
    """Steps the greedy policy takes to complete each task if nothing slips, None where it does not."""
    shortest: tuple[int, ...]
    """Length of a shortest path, per task."""
    episode_log: tuple[Array, Array] | None = None
    """On request: what every episode was paid, and its length."""

    def __repr__(self) -> str:
        last = f", score {self.score[-1]:.3f}" if self.score.size else ""
        name = self.algo + ("-rs" if self.shaping else "")
        return f"<Run {name} seed {self.seed}: greedy {self.greedy_length}, shortest {self.shortest[0]} steps{last}>"

    @property
    def greedy_length(self) -> int | None:
        """Steps the greedy policy takes to complete the (first) task, None if it does not."""
        return self.greedy_lengths[0]

    @property
    def greedy_path(self) -> tuple[Cell, ...]:
        """Cells visited by the greedy policy in the (first) task."""
        return self.greedy_paths[0]

    @property
    def solved(self) -> bool:
        """Whether the greedy policy takes a shortest path in every task."""
        return self.greedy_lengths == self.shortest


def train(
    problem: Problem,
    algo: Algo = "qrm",
    *,
    steps: int = 1_000_000,
    seed: int = 0,
    shaping: bool = False,
    optimum: Sequence[float] | None = None,
    episodes: bool = False,
    config: LearnerConfig | None = None,
    **settings: Any,
) -> Run:
    """Train one learner.

    Parameters
    ----------
    problem : Problem
        The compiled map and machines.
    algo : {"qrm", "crm", "hrm"}
        The learner.
    steps : int
        Environment steps.
    seed : int
        Seed of the run, below 2^64; the same seed gives the same run to the last bit.
    shaping : bool
        Learn from rewards shaped by the potentials of the machine.
    optimum : sequence of float, optional
        The unit of the score, per machine; by default the exact `optimal_arps` for this gamma and epsilon.
    episodes : bool
        Keep reward and length of every episode.
    config : LearnerConfig, optional
        The learner's settings.
    **settings
        Fields of `LearnerConfig` to change, such as ``gamma=0.99``.

    >>> import fastrm
    >>> grid = fastrm.GridMap.generate("1a1b", size=9, seed=1)
    >>> problem = fastrm.compile(grid, fastrm.RewardMachine.sequence("a-b"))
    >>> run = train(problem, algo="crm", steps=50_000, seed=0)
    >>> run.greedy_length == problem.shortest[0]
    True
    """
    return train_many(
        problem, algo, steps=steps, seeds=[seed], shaping=shaping, optimum=optimum, episodes=episodes, config=config,
        **settings,
    )[0]  # fmt: skip


def train_many(
    problem: Problem,
    algo: Algo = "qrm",
    *,
    steps: int = 1_000_000,
    seeds: Sequence[int] = (0,),
    shaping: bool = False,
    optimum: Sequence[float] | None = None,
    episodes: bool = False,
    config: LearnerConfig | None = None,
    **settings: Any,
) -> list[Run]:
    """Train one learner with many seeds; every run equals the one `train` gives for its seed."""
    batch = Batch(
        problem, algo, steps=steps, seeds=seeds, shaping=shaping, optimum=optimum, episodes=episodes, config=config,
        **settings,
    )  # fmt: skip
    for _ in range(0, steps, piece := max(1, PIECE_STEPS // len(seeds))):  # Ctrl-C is noticed in between
        batch.advance(piece)
    return batch.results()


class Batch:
    """Several seeds of one learner, advanced in pieces of any size."""

    def __init__(
        self,
        problem: Problem,
        algo: Algo,
        *,
        steps: int,
        seeds: Sequence[int],
        shaping: bool = False,
        optimum: Sequence[float] | None = None,
        episodes: bool = False,
        config: LearnerConfig | None = None,
        **settings: Any,
    ) -> None:
        check_problem(problem)
        self.config = _configure(config, settings)
        problem = problem.at(self.config.gamma)
        self.problem, self.algo, self.shaping = problem, algo, shaping
        _check_request(algo, steps, seeds, shaping)
        self.seeds = [int(seed) for seed in seeds]
        self.steps, self.done = int(steps), 0
        self.reward = learned_rewards(problem, self.config.gamma, shaping)
        self.options = build_options(problem, self.reward, self.config) if algo == "hrm" else None
        self.tasks = np.zeros(len(problem.machines), dtype=TASK)
        self.tasks["first_u"], self.tasks["own_score"] = problem.tables.first_u, problem.tables.own_score
        self.tasks["optimum"] = _check_optimum(problem, self.config, optimum)
        self.q, self.controller = self._blank_tables()
        self.agents = np.zeros(len(self.seeds), dtype=AGENT)
        rng.seed_runs(self.agents, np.array(self.seeds, dtype=np.uint64))
        begin(self.agents, self.tasks, problem.tables.start)
        self.log = self._blank_log(self.steps if episodes else 0)
        columns = self.reward.shape[1], 0 if self.options is None else self.options.reward.shape[1]
        self.scratch = tuple(np.ones(n, dtype=np.uint8) for n in columns)

    def _blank_tables(self) -> tuple[Array, Array | None]:
        """Allocate Q in the layout of the learner's kernel, terminal and padding worth 0, and HRM's controller."""
        tables, start = self.problem.tables, float(self.config.q_init)
        n, n_s, n_u, n_cols = len(self.seeds), len(tables.next_s), tables.n_u, tables.reward.shape[1]
        if self.algo == "qrm":
            q = aligned_full((n, n_s, n_u + 1, N_ACTIONS), start)
            q[:, :, n_u] = 0.0
            return q, None
        controller = None
        if self.options is not None:
            n_u, n_cols = len(self.options.owner), self.options.reward.shape[1]
            controller = np.full((n, n_s, n_u), start)
        q = aligned_full((n, n_s, N_ACTIONS, n_cols), start)
        q[..., n_u:] = 0.0
        return q, controller

    def _blank_log(self, room: int) -> Log:
        n, ticks = len(self.seeds), self.steps // self.config.tick
        window = self.config.window or (100 if len(self.problem.machines) == 1 else 1000)
        return Log(
            ring=np.zeros((n, window)),
            ended=np.zeros((n, room), dtype=EPISODE),
            episodes=np.zeros((n, ticks), dtype=np.int64),
            completions=np.zeros((n, ticks), dtype=np.int64),
            reward=np.zeros((n, ticks)),
            score=np.full((n, ticks), math.nan),
        )

    def advance(self, steps: int) -> None:
        """Make so many more steps in every run, never beyond the end."""
        target, tick = min(self.done + steps, self.steps), self.config.tick
        while self.done < target:
            into = self.done % tick
            if into == 0 and target - self.done >= tick:
                n_ticks = (target - self.done) // tick
                self._call(n_ticks, tick, self.done // tick)
                self.done += n_ticks * tick
            else:
                piece = min(tick - into, target - self.done)
                self.done += piece
                self._call(1, piece, self.done // tick - 1 if self.done % tick == 0 else -1)

    def _call(self, n_ticks: int, tick: int, row: int) -> None:
        n, span = len(self.seeds), (n_ticks, tick, row)
        shared = self.problem.tables, self.tasks, self.reward.reshape(-1)
        rule = _rule(self.problem, self.config), slip_threshold(self.problem.slip)
        state = *rule, self.agents, self.log, self.q.reshape(n, -1)
        if self.algo == "qrm":
            qrm.run(*shared, *state, *span)
        elif self.algo == "crm":
            crm.run(*shared, *state, self.scratch[0], *span)
        elif self.controller is not None:
            hrm.run(*shared, self.options, *state, self.controller.reshape(n, -1), *self.scratch, *span)

    def results(self) -> list[Run]:
        """Return what the runs have learned so far."""
        return [self._result(i) for i in range(len(self.seeds))]

    def _result(self, i: int) -> Run:
        log, ended = self.log, int(self.agents["episodes"][i])
        q, controller = self.values(i)
        paths, lengths = zip(*self._roll_out(q, controller), strict=True)
        return Run(
            algo=self.algo,
            seed=self.seeds[i],
            shaping=self.shaping,
            config=self.config,
            step=(1 + np.arange(log.score.shape[1])) * self.config.tick,
            score=log.score[i],
            reward=log.reward[i],
            completions=log.completions[i],
            episodes=log.episodes[i],
            q=q,
            controller=controller,
            greedy_paths=paths,
            greedy_lengths=lengths,
            shortest=self.problem.shortest,
            episode_log=(log.ended["paid"][i, :ended], log.ended["length"][i, :ended]) if log.ended.size else None,
        )

    def values(self, i: int) -> tuple[Array, Array | None]:
        """Return run i's table as [cell, column, action] without terminal and padding, and the controller's."""
        n = self.problem.tables.n_u if self.options is None else len(self.options.owner)
        q = self.q[i] if self.algo == "qrm" else self.q[i].transpose(0, 2, 1)
        return np.ascontiguousarray(q[:, :n]), None if self.controller is None else self.controller[i].copy()

    def _roll_out(self, q: Array, controller: Array | None) -> Iterator[tuple[tuple[Cell, ...], int | None]]:
        problem = self.problem
        path = np.empty(len(problem.tables.next_s) * problem.tables.n_u + 2, dtype=np.int64)
        for u in problem.tables.first_u:
            if controller is None:
                length, outcome = rollout.follow(problem.tables, q, int(u), path)
            else:
                length, outcome = rollout.follow_options(problem.tables, self.options, q, controller, int(u), path)
            reached = outcome == SUCCESS
            shown = path[: length + 1] if reached else path[: min(length, self.config.episode_limit) + 1]
            cells = tuple((row, column) for row, column in problem.terrain.cells[shown].tolist())
            yield cells, int(length) if reached else None


def _rule(problem: Problem, config: LearnerConfig) -> Rule:
    profile = problem.profile
    return Rule(
        alpha=float(config.alpha),
        gamma=float(config.gamma),
        explore_below=np.uint64(math.floor(config.epsilon * 2**32)),
        limit=np.uint64(config.episode_limit),
        bootstraps_at_limit=profile.qrm_bootstraps_at_limit,
        option_survives=profile.option_survives_limit,
        prune=profile.prune,
        controller_alpha=float(config.controller_alpha),
    )


def slip_threshold(slip: float) -> np.uint64 | None:
    """Return the number that a draw must be below for a move to slip, None where nothing slips."""
    return np.uint64(math.floor(slip * 2**32)) if slip else None


def _configure(config: LearnerConfig | None, settings: dict[str, Any]) -> LearnerConfig:
    fields = LearnerConfig.__dataclass_fields__
    for name in settings:
        if name in ("profile", "metric", "slip"):
            raise ConfigError(f"{name}: is settled when compiling: fastrm.compile(grid, machine, {name}=...)")
        if name not in fields:
            raise ConfigError(f"{name}: no such setting{did_you_mean(name, fields)}; there are {', '.join(fields)}")
    if config is not None and not isinstance(config, LearnerConfig):
        raise ConfigError(f"config={config!r:.60}: must be a LearnerConfig")
    return replace(config or LearnerConfig(), **settings)


def _check_request(algo: str, steps: int, seeds: Sequence[int], shaping: bool) -> None:
    check_choice("algo", algo, ALGOS)
    check_whole("steps", steps, 1, 2**53)
    if not isinstance(seeds, Sequence | np.ndarray) or isinstance(seeds, str):
        raise ConfigError(f"seeds={seeds!r}: must be a list of seeds")
    if not len(seeds):
        raise ConfigError("seeds=[]: give at least one seed")
    for seed in seeds:
        check_whole("seed", seed, 0, 2**64 - 1)
    if not isinstance(shaping, bool):
        raise ConfigError(f"shaping={shaping!r}: must be True or False")


def _check_optimum(problem: Problem, config: LearnerConfig, optimum: Sequence[float] | None) -> Array:
    if optimum is None:
        unit = np.array(optimal_arps(problem, config.gamma, config.epsilon))
        if not (unit > 0).all():
            raise ConfigError("the best policy earns no reward per step to measure scores by; give optimum=[...]")
        return unit
    try:
        unit = np.array(optimum, dtype=np.float64)
    except (TypeError, ValueError):
        unit = np.array([])
    if unit.shape != (len(problem.machines),) or not (np.isfinite(unit) & (unit > 0)).all():
        raise ConfigError(f"optimum={optimum!r}: must be a positive number per machine ({len(problem.machines)})")
    return unit
