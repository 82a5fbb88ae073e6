"""What an experiment means: the text of every map and machine, and numbered runs.

A plan can be sent to another process or machine as one string. Runs are numbered
``((grid * tasks + task) * methods + method) * seeds + seed``.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self

from fastrm.config import LearnerConfig
from fastrm.errors import ConfigError
from fastrm.exact.solve import value_range
from fastrm.exact.thresholds import as_float, critical_reward
from fastrm.experiments.experiment import Experiment, Method, critical_factor
from fastrm.learners.training import SEMANTICS
from fastrm.machines.machine import KINDS, Kind, RewardMachine
from fastrm.machines.tasks import task as build_task
from fastrm.naming import generate_grid
from fastrm.problems.compiler import Problem, compile
from fastrm.problems.terrain import Metric
from fastrm.worlds.grid import GridMap

Machines = dict[str, list[list[str]]]


@dataclass(frozen=True)
class Plan:
    """An experiment with every map and machine written out."""

    experiment: dict[str, Any]
    """The settings, for the record."""
    grids: tuple[tuple[str, str, str], ...]
    """Setup, name and text of every map."""
    tasks: tuple[tuple[str, Machines], ...]
    """Name of every task and its machines, by kind (``""`` for machines from files): for each map, or once for all of
    them, the texts of the machines that are played in rotation."""
    methods: tuple[str, ...]
    seeds: int
    steps: int
    profile: str
    metric: Metric
    learner: LearnerConfig
    root_seed: int
    slip: float = 0.0

    @classmethod
    def of(cls, experiment: Experiment) -> Self:
        """Generate and read everything an experiment names, and check it."""
        grids = [
            (setup, str(k), generate_grid(setup, size=experiment.size, seed=k).render())
            for setup in experiment.setups
            for k in range(experiment.maps)
        ]
        for name in experiment.map_files:
            grids.append((Path(name).stem, Path(name).stem, GridMap.load(name).render()))
        wanted = {Method.parse(label).kind for label in experiment.methods} - {None}
        names = [(setup, name) for setup, name, _ in grids]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ConfigError(f"two maps are called {twice[0][1]!r}; give their files different names")
        tasks: list[tuple[str, Machines]] = [
            (task, {kind: _machines(experiment, task, kind, grids) for kind in KINDS if kind in wanted})
            for task in experiment.tasks
        ]
        for name in experiment.machine_files:
            tasks.append((Path(name).stem, {"": [[RewardMachine.load(name).write()]]}))
        if experiment.rotate:
            tasks = [_rotation(tasks)]
        settings = asdict(experiment)
        for key in ("map_files", "machine_files"):
            settings[key] = [Path(name).name for name in settings[key]]
        return cls(
            experiment=json.loads(json.dumps(settings)),
            grids=tuple(grids),
            tasks=tuple(tasks),
            methods=experiment.methods,
            seeds=experiment.seeds,
            steps=experiment.steps,
            profile=experiment.profile,
            metric=experiment.metric,
            learner=experiment.learner,
            root_seed=experiment.root_seed,
            slip=experiment.slip,
        )

    def to_json(self) -> str:
        """Return the plan as one string."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    @lru_cache(maxsize=8)
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote."""
        table = json.loads(text)
        table["learner"] = LearnerConfig(**table["learner"])
        for key in ("grids", "tasks"):
            table[key] = tuple(tuple(item) for item in table[key])
        table["methods"] = tuple(table["methods"])
        return cls(**table)

    def __hash__(self) -> int:
        return hash(self.digest)

    @cached_property
    def digest(self) -> str:
        """A hash of the whole plan and of the learners' semantics."""
        return _hash(self.to_json(), json.dumps(SEMANTICS, sort_keys=True))

    @property
    def count(self) -> int:
        """Number of runs."""
        return len(self.grids) * len(self.tasks) * len(self.methods) * self.seeds

    @property
    def ticks(self) -> int:
        """Rows of each run's log."""
        return self.steps // self.learner.tick

    def coordinates(self, run: int) -> tuple[int, int, int, int]:
        """Return grid, task, method and seed of a run."""
        rest, seed = divmod(run, self.seeds)
        rest, method = divmod(rest, len(self.methods))
        grid, task = divmod(rest, len(self.tasks))
        return grid, task, method, seed

    def machines(self, grid: int, task: int, method: int) -> tuple[str, ...]:
        """Return the machines that a method runs a task with on a map."""
        of_kind = self.tasks[task][1]
        texts = of_kind[""] if "" in of_kind else of_kind[Method.parse(self.methods[method]).kind or ""]
        return tuple(texts[grid if len(texts) > 1 else 0])

    def problem(self, grid: int, task: int, method: int) -> Problem:
        """Compile the problem of a run; the last few are kept."""
        return _problem(self.grids[grid][2], self.machines(grid, task, method), self.profile, self.metric, self.slip)

    def config(self, grid: int, task: int, method: int) -> LearnerConfig:
        """Return the settings of a run: the experiment's, with the initial values that the method asks for."""
        start = Method.parse(self.methods[method]).start
        if start is None:
            return self.learner
        low, high = _value_range(self.problem(grid, task, method), self.learner.gamma)
        return replace(self.learner, q_init=low + start * (high - low))

    def stream(self, grid: int, seed: int) -> int:
        """Return the 64-bit seed of a run: the same for all methods and tasks on a map."""
        return int(_hash("stream", str(self.root_seed), self.grids[grid][2], str(seed))[:16], 16)

    def run_id(self, run: int) -> str:
        """Return a hash, 16 hexadecimal digits, of everything that determines the numbers of a run."""
        grid, task, method, seed = self.coordinates(run)
        how = Method.parse(self.methods[method])
        whole = _hash(
            self.grids[grid][2], "\n".join(self.machines(grid, task, method)), self.profile, self.metric, how.algo,
            str(how.shaping), str(self.steps), str(self.stream(grid, seed)), str(SEMANTICS[how.algo]),
            json.dumps(asdict(self.learner), sort_keys=True),
            *([] if how.start is None else [f"start {how.start}"]), *([f"slip {self.slip}"] if self.slip else []),
        )  # fmt: skip
        return whole[:16]


def _machines(experiment: Experiment, task: str, kind: Kind, grids: Sequence[tuple[str, str, str]]) -> list[list[str]]:
    """Build the machine of a task: one for all maps, or one per map where the reward depends on it."""

    def build(terminal: float | None) -> RewardMachine:
        return build_task(
            task, kind=kind, closer=experiment.closer, terminal_reward=terminal, scale=experiment.scale
        )  # fmt: skip

    reward = experiment.terminal_rewards.get(kind)
    if not isinstance(reward, str):
        return [[build(reward).write()]]
    if experiment.slip:
        raise ConfigError(f"terminal_rewards.{kind}={reward!r}: R* is for moves that do not slip; give a number")
    texts = []
    for _, _, text in grids:
        problem = compile(GridMap.parse(text), build(0.0), experiment.profile, experiment.metric)
        critical = as_float(critical_reward(problem, experiment.learner.gamma))
        if math.isinf(critical):
            raise ConfigError(f"terminal_rewards.{kind}={reward!r}: R* of a map is beyond floating point")
        factor = critical_factor(reward) or 1.0
        if critical == 0 != factor - 1.0:
            raise ConfigError(f"terminal_rewards.{kind}={reward!r}: R* of task {task} is 0 and has no multiples")
        texts.append([build(critical + (factor - 1.0) * abs(critical)).write()])
    return texts


def _rotation(tasks: Sequence[tuple[str, Machines]]) -> tuple[str, Machines]:
    """Join tasks into one that plays their machines in turn."""
    joined: Machines = {}
    for kind in tasks[0][1]:
        texts = [machines[kind] for _, machines in tasks]
        joined[kind] = [[machine for text in together for machine in text] for together in zip(*texts, strict=True)]
    names = [name for name, _ in tasks]
    return "+".join(names) if len(names) < 4 else f"{names[0]}..{names[-1]}", joined


@lru_cache(maxsize=64)
def _problem(grid: str, machines: tuple[str, ...], profile: str, metric: Metric, slip: float) -> Problem:
    return compile(GridMap.parse(grid), [RewardMachine.parse(text) for text in machines], profile, metric, slip)


_value_range = lru_cache(maxsize=64)(value_range)  # the same for every start and batch of a problem


def _hash(*parts: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode())
    return digest.hexdigest()
