"""A study on Water world: kinds of reward beside each other, on many worlds, with initial values set alike.

Worlds are the sample: figures are worked out per world, and intervals come from resampling worlds. Initial values lie
between the smallest (0) and the largest (1) value along a path with the fewest steps, so that no kind of reward has an
advantage by optimism alone.

The table of a study's runs: one row per run, in the order of the study; an interrupted study is resumed.
"""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, astuple, dataclass, fields
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fastrm.checks import check_choice, check_number, check_whole
from fastrm.errors import ConfigError, StoreError, did_you_mean, printable, shown
from fastrm.experiments.executors import in_threads
from fastrm.learners import train
from fastrm.machines import SHORT_KINDS, RewardMachine, find_kind, task as build_task
from fastrm.problems import WaterProblem, compile
from fastrm.resources import usable_cores, usable_memory
from fastrm.textfile import exists, read_text, read_toml
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


COLUMNS = tuple(field.name for field in fields(WaterRow))
UNIT_BYTES = 600_000_000
"""Memory that a search and a run may take at most."""
_KINDS: dict[str, Callable[[str], Any]] = {
    "optimism": float, "q_init": float, "area": float, "seed": int, "steps": int, "shortest": int,
    "greedy_length": int, "completions": int,
}  # fmt: skip


def read_table(path: Path) -> list[WaterRow]:
    """Read the runs of a study from their table; a last line that was cut off is passed over.

    Raises
    ------
    StoreError
        When the file is no such table.
    """
    source, (head, *lines) = printable(str(path)), read_text(path, StoreError).split("\n")
    if tuple(head.split(",")) != COLUMNS:
        raise StoreError(f"{source}: not a table of the runs of a study; write one with: fastrm water --out FILE")
    rows = []
    for number, line in enumerate(lines[:-1], start=2):
        try:
            (texts,) = csv.reader([line])
            values = [_KINDS.get(name, str)(text) for name, text in zip(COLUMNS, texts, strict=True)]
        except (ValueError, csv.Error):
            raise StoreError(f"{source}:{number}: not a run; the file is damaged") from None
        rows.append(WaterRow(*values))
    return rows


def fill_table(
    study: WaterStudy, worlds: Sequence[tuple[str, WaterWorld]], path: Path, *,
    workers: int | None = None, tell: Callable[[int], object] = lambda done: None,
) -> int:  # fmt: skip
    """Run a study, or what its table does not hold yet; return the number of runs in the table.

    Parameters
    ----------
    study : WaterStudy
        What is run.
    worlds : sequence of (str, WaterWorld)
        On which worlds, by name.
    path : Path
        The table. All runs of a world and a task are added at once, in the order of the study.
    workers : int, optional
        Threads, by default one per core, as far as memory goes. The table is the same to the byte.
    tell : callable, optional
        Called with the number of runs that are done.

    Raises
    ------
    ConfigError
        When the file holds runs of another study, or cannot be written.
    StoreError
        When it is no table of runs.
    """
    if workers is not None:
        check_whole("workers", workers, 1, 10_000)
    units = study.units(worlds)
    kept = _kept(study, units, path)
    begun, done = (_as_text([COLUMNS]) + _as_text(map(astuple, kept))).encode(), len(kept)
    threads = max(1, min(workers or usable_cores(), usable_memory() // UNIT_BYTES))
    with closing(_Table(path, begun)) as table:
        for rows in in_threads(lambda unit: run_unit(study, unit), units[done // _per_unit(study) :], threads):
            table.add(_as_text(map(astuple, rows)).encode())
            done += len(rows)
            tell(done)
    return done


class _Table:
    """A file of which a beginning is kept, and to which rows are added."""

    def __init__(self, path: Path, begun: bytes) -> None:
        self.path = path
        with self._told():
            self.file = path.open("r+b" if exists(path) else "w+b")
            if self.file.read(len(begun)) != begun:
                self.file.seek(0)
                self.file.write(begun)
            self.file.truncate(len(begun))
            self.file.seek(len(begun))
            self.file.flush()

    def add(self, text: bytes) -> None:
        """Add rows, so that they survive this process."""
        with self._told():
            self.file.write(text)
            self.file.flush()

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            reason = problem.strerror or problem
            raise ConfigError(f"{printable(str(self.path))}: cannot be written: {reason}") from None


def _kept(study: WaterStudy, units: Sequence[WaterUnit], path: Path) -> list[WaterRow]:
    """Return the runs that the table holds already, of whole units, if they are those of the study."""
    head = _as_text([COLUMNS])
    if not exists(path) or head.startswith(read_text(path, StoreError)):  # cut off while it was begun
        return []
    rows, keys = read_table(path), [key for unit in units for key in study.keys(unit)]
    if [row.key for row in rows] != keys[: len(rows)] or not read_text(path, StoreError).startswith(
        head + _as_text(map(astuple, rows))
    ):
        raise ConfigError(
            f"{printable(str(path))}: holds other runs than this study; remove it, or name another file with --out"
        )
    return rows[: len(rows) // _per_unit(study) * _per_unit(study)]


def _per_unit(study: WaterStudy) -> int:
    return study.count(1) // len(study.tasks)


def _as_text(rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
