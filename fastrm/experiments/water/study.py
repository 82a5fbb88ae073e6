"""A study on Water world: kinds of reward beside each other, on many worlds, with initial values set alike.

Worlds are the sample: figures are worked out per world, and intervals come from resampling worlds. Initial values lie
between the smallest (0) and the largest (1) value along a path with the fewest steps, so that no kind of reward has an
advantage by optimism alone.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fastrm.checks import check_choice, check_number, check_whole
from fastrm.errors import ConfigError, did_you_mean, printable, shown
from fastrm.learners import train
from fastrm.machines import SHORT_KINDS, RewardMachine, find_kind, task as build_task
from fastrm.problems import WaterProblem, compile
from fastrm.textfile import read_toml
from fastrm.worlds import COLOURS, WaterWorld

WAYS: dict[str, dict[str, Any]] = {
    "memory": {"features": "memory", "starts": "world"},
    "sight": {"features": "sight", "starts": "world"},
    "memory anywhere": {"features": "memory", "starts": "anywhere"},
    "sight anywhere": {"features": "sight", "starts": "anywhere"},
}
"""How it is learned: which features, and where episodes begin."""


@dataclass(frozen=True, kw_only=True)
class WaterStudy:
    """What is run: every combination of worlds, tasks, kinds, optimism, ways and seeds."""

    study: str = "water"
    worlds: int = 20
    """Generated worlds, seeds 0, 1, ..."""
    tasks: tuple[str, ...] = ("a-b",)
    """Sequences of colours; with ``!`` at the end any other ball fails, as in t9 and t10 of the reference."""
    kinds: tuple[str, ...] = ("bool", "num-bool", "num")
    optimism: tuple[float, ...] = (0.0, 0.5, 1.0)
    ways: tuple[str, ...] = ("memory",)
    algo: str = "crm"
    seeds: int = 1
    steps: int = 1_000_000

    def __post_init__(self) -> None:
        check_choice("study", self.study, ("water",))
        check_whole("worlds", self.worlds, 0, 10_000)
        check_whole("seeds", self.seeds, 1, 10_000)
        check_whole("steps", self.steps, 10_000, 10**12)
        check_choice("algo", self.algo, ("qrm", "crm"))
        for name in ("tasks", "kinds", "optimism", "ways"):
            values = getattr(self, name)
            if not isinstance(values, list | tuple) or not values or len(set(values)) < len(values):
                raise ConfigError(f"{name}={shown(values)}: must be a list of different entries")
            object.__setattr__(self, name, tuple(values))
        for task in self.tasks:
            strict_machine(task, "bool")
        for kind in self.kinds:
            check_choice("kinds", kind, ("bool", "num-bool", "num"))
        for value in self.optimism:
            check_number("optimism", value, -1000, 1000)
        object.__setattr__(self, "optimism", tuple(map(float, self.optimism)))  # as a table reads it back
        for way in self.ways:
            check_choice("ways", way, WAYS)

    @classmethod
    def load(cls, path: Path) -> WaterStudy:
        """Read a study from a TOML file.

        Raises
        ------
        ConfigError
            When the file is no study, naming the key.
        """
        source = printable(str(path))
        table = read_toml(path)
        known = [field.name for field in fields(cls)]
        for key in table:
            if key not in known:
                raise ConfigError(f"{source}: unknown key {shown(key)}{did_you_mean(key, known)}")
        try:
            return cls(**table)
        except ConfigError as problem:
            raise ConfigError(f"{source}: {problem}") from None

    def count(self, worlds: int) -> int:
        """Return the number of runs on so many worlds."""
        return worlds * len(self.tasks) * len(self.kinds) * len(self.optimism) * len(self.ways) * self.seeds

    def keys(self, unit: WaterUnit) -> Iterator[RunKey]:
        """Yield what tells the runs of a unit apart, in their order."""
        about = unit.name, unit.digest, unit.task
        for kind, optimism, way, seed in itertools.product(self.kinds, self.optimism, self.ways, range(self.seeds)):
            yield RunKey(*about, kind, optimism, way, seed, self.algo, self.steps)

    def units(self, worlds: Sequence[tuple[str, WaterWorld]]) -> list[WaterUnit]:
        """Return every world with every task, in the order in which they are run."""
        return [WaterUnit(name, world, task) for name, world in worlds for task in self.tasks]


class WaterUnit(NamedTuple):
    """A world and a task: what is searched once, and run in all kinds and ways."""

    name: str
    world: WaterWorld
    task: str

    @property
    def digest(self) -> str:
        """Digits that tell the world apart from others of the same name."""
        return hashlib.blake2b(repr(self.world.content).encode(), digest_size=6).hexdigest()


@dataclass(frozen=True)
class RunKey:
    """What tells a run apart from others."""

    world: str
    digest: str
    task: str
    kind: str
    optimism: float
    way: str
    seed: int
    algo: str
    steps: int


@dataclass(frozen=True)
class WaterRow(RunKey):
    """One run of a study, and what came of it."""

    q_init: float
    shortest: int
    """Fewest steps from the world's start."""
    greedy_length: int
    """Steps of the greedy policy from there, 0 where it does not complete the task."""
    area: float
    """Mean score over the whole run."""
    completions: int

    @property
    def key(self) -> RunKey:
        """What tells it apart from other runs."""
        return RunKey(**{field.name: getattr(self, field.name) for field in fields(RunKey)})


def study_worlds(study: WaterStudy, path: Path | None = None) -> list[tuple[str, WaterWorld]]:
    """Return the generated worlds of a study, or all worlds of a file in their place."""
    if path is not None:
        return [(name, WaterWorld.load(path, name)) for name in WaterWorld.names(path)]
    return [(f"seed{seed}", WaterWorld.generate(seed)) for seed in range(study.worlds)]


def run_unit(study: WaterStudy, unit: WaterUnit) -> list[WaterRow]:
    """Return the runs of a study on one world and task."""
    plain = compile(unit.world, strict_machine(unit.task, "bool"))
    shortest, actions = plain.shortest, plain.reached[0].actions
    rows: list[WaterRow] = []
    for kind, keys in itertools.groupby(study.keys(unit), key=attrgetter("kind")):
        problem = compile(unit.world, strict_machine(unit.task, kind))
        problem.__dict__["reached"] = plain.reached  # rewards do not change it
        low, high = value_range_on(problem, actions)
        for key in keys:
            q_init = low + key.optimism * (high - low)
            run = train(problem, key.algo, steps=key.steps, seed=key.seed, q_init=q_init, **WAYS[key.way])
            found = WaterRow(
                **asdict(key), q_init=float(run.config.q_init), shortest=shortest[0],
                greedy_length=int(run.greedy_length or 0), area=float(np.nan_to_num(run.score).mean()),
                completions=int(run.completions[-1]),
            )  # fmt: skip
            rows.append(found)
    return rows


def value_range_on(problem: WaterProblem, actions: Sequence[int], gamma: float = 0.9) -> tuple[float, float]:
    """Return the smallest and the largest discounted reward to come along a path."""
    to_come, found = 0.0, []
    for reward in reversed(problem.walk(actions).rewards.tolist()):
        to_come = reward + gamma * to_come
        found.append(to_come)
    return min(found), max(found)


def strict_machine(task: str, kind: str) -> RewardMachine:
    """Return the machine of a sequence of colours; with ``!`` at the end any other ball fails.

    >>> print(strict_machine("a-b!", "num-bool").write().splitlines()[7])
    u0 -> failed  when b | c | d | e | f                     reward 0
    """
    if not isinstance(task, str) or not task.removesuffix("!"):
        raise ConfigError(f"tasks: {shown(task)} is no task; write colours joined by '-', as in a-b or d-e-f!")
    targets = task.removesuffix("!").split("-")
    for colour in targets:
        check_choice(f"tasks: {task}", colour, COLOURS)
    if not task.endswith("!"):
        return build_task(task, kind=find_kind(SHORT_KINDS[kind]))
    last = {"bool": 1.0, "num-bool": 1000.0, "num": math.pow(10, len(targets) + 2)}[kind]
    arrive, fails = (0.1 if kind == "num-bool" else 0), (-last if kind == "num" else 0)
    states = " ".join(f"u{i}" for i in range(len(targets)))
    lines = [f"name {task} {kind}", f"states {states}", "start u0", "success done", "failure failed"]
    for i, target in enumerate(targets):
        others = " | ".join(colour for colour in COLOURS if colour != target)
        there, reward = ("done", last) if i + 1 == len(targets) else (f"u{i + 1}", arrive)
        lines.append(f"u{i} -> {there} when {target} & !({others}) reward {reward:g}")
        lines.append(f"u{i} -> failed when {others} reward {fails:g}")
        if kind == "num-bool":
            lines.append(f"u{i} -> u{i} when closer({target}) & !({target} | {others}) reward 0.1")
        lines.append(f"u{i} -> u{i} otherwise reward {f'-d({target})' if kind == 'num' else 0}")
    return RewardMachine.parse("\n".join(lines) + "\n", f"<{task} {kind}>")
