"""Which maps x tasks x methods x seeds: experiments as data, as TOML, and as a plan of numbered runs.

An `Experiment` says what is wanted. A `Plan` holds what that means: the text of every map and machine, so that it can
be sent to another process or machine as one string, and the identity of every run. Runs are numbered
``((grid * tasks + task) * methods + method) * seeds + seed``.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, Self

from fastrm.compiler import Problem, compile
from fastrm.config import LearnerConfig, Profile, check_choice, check_number, check_whole
from fastrm.errors import ConfigError, did_you_mean
from fastrm.features import METRICS, Metric
from fastrm.machine import KINDS, Kind, RewardMachine
from fastrm.maps import GridMap, parse_setup
from fastrm.textfile import read_text
from fastrm.training import ALGOS, SEMANTICS, Algo

SUITES = (Path(__file__).parents[1] / "bench", Path(__file__).parent / "suites")
SHORT_KINDS: dict[str, Kind] = {"bool": "boolean", "num-bool": "numeric-boolean", "num": "numeric"}


@dataclass(frozen=True, kw_only=True)
class Method:
    """A learner on a kind of machine; written ``crm-rs-bool``, or ``crm-rs`` for tasks that are files.

    >>> Method.parse("crm-rs-bool")
    Method(algo='crm', shaping=True, kind='boolean')
    >>> Method.parse("hrm-num").label
    'hrm-num'
    """

    algo: Algo
    shaping: bool = False
    kind: Kind | None = None

    @classmethod
    def parse(cls, label: str) -> Self:
        """Read a method's name."""
        algo, _, rest = str(label).partition("-")
        shaping = rest == "rs" or rest.startswith("rs-")
        kind = rest.removeprefix("rs").removeprefix("-") if shaping else rest
        if algo not in ALGOS or (kind and kind not in SHORT_KINDS):
            known = [f"{a}{rs}-{k}" for a in ALGOS for rs in ("", "-rs") for k in SHORT_KINDS]
            raise ConfigError(
                f"method {label!r} is unknown{did_you_mean(str(label), known)}; "
                f"write qrm, crm or hrm, then -rs for shaping, then -{', -'.join(SHORT_KINDS)}"
            )
        return cls(algo=algo, shaping=shaping, kind=SHORT_KINDS.get(kind))

    @property
    def label(self) -> str:
        """The method's name."""
        short = [name for name, kind in SHORT_KINDS.items() if kind == self.kind]
        return "-".join([self.algo, *(["rs"] if self.shaping else []), *short])


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What to run: every map with every task, method and seed."""

    name: str
    setups: tuple[str, ...] = ()
    """Setups of generated maps."""
    maps: int = 1
    """Maps generated per setup."""
    size: int = 41
    """Side of a generated map."""
    map_files: tuple[str, ...] = ()
    """Further maps, from files."""
    tasks: tuple[str, ...] = ()
    """Sequences such as ``a-b-c``, built in the kind that the method asks for."""
    machine_files: tuple[str, ...] = ()
    """Tasks from files, for methods that name no kind."""
    methods: tuple[str, ...]
    """Names such as ``crm-rs-bool``."""
    seeds: int = 1
    """Runs per map, task and method."""
    steps: int = 100_000
    """Steps of a run."""
    root_seed: int = 0
    """Other root, other random numbers everywhere."""
    profile: str = "clean"
    """Semantics: ``clean`` or ``icarte2022``."""
    metric: Metric = "manhattan"
    """What distances measure."""
    closer: Literal["nearest", "any"] = "nearest"
    """What numeric-boolean machines call closer."""
    terminal_rewards: Mapping[str, float] = field(default_factory=dict)
    """Terminal rewards by kind, in place of the paper's."""
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    """Settings of the learners."""

    def __post_init__(self) -> None:
        for name in ("setups", "map_files", "tasks", "machine_files", "methods"):
            _check_strings(name, getattr(self, name))
        if not isinstance(self.name, str) or not self.name:
            raise ConfigError(f"name={self.name!r}: must be a word")
        for setup in self.setups:
            parse_setup(setup)
        for name, high in (("maps", 10**6), ("seeds", 10**6), ("steps", 2**53)):
            check_whole(name, getattr(self, name), 1, high)
        check_whole("size", self.size, 3, 10_000)
        check_whole("root_seed", self.root_seed, 0, 2**64 - 1)
        Profile.named(self.profile)
        check_choice("metric", self.metric, METRICS)
        check_choice("closer", self.closer, ("nearest", "any"))
        for kind, reward in self.terminal_rewards.items():
            check_choice("terminal_rewards", kind, KINDS)
            check_number(f"terminal_rewards.{kind}", reward)
        if not self.setups and not self.map_files:
            raise ConfigError("no maps: give setups or map_files")
        if not self.tasks and not self.machine_files:
            raise ConfigError("no tasks: give tasks or machine_files")
        for method in map(Method.parse, self.methods):
            if self.tasks and method.kind is None:
                raise ConfigError(f"method {method.label!r} names no kind, but tasks {self.tasks} need one")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a TOML file; names of map and machine files are relative to its folder."""
        text = read_text(path, ConfigError)
        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as problem:
            raise ConfigError(f"{path}: not TOML: {problem}") from None
        known = {f.name for f in fields(cls)}
        for key in table:
            if key not in known:
                raise ConfigError(f"{path}: unknown key {key!r}{did_you_mean(key, known)}; there are {_list(known)}")
        folder = Path(path).parent
        try:
            learner = _learner(table.pop("learner", {}))
            lists: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}
            for key in ("map_files", "machine_files"):
                _check_strings(key, lists.setdefault(key, ()))
                lists[key] = tuple(str(folder / name) for name in lists[key])
            lists.setdefault("name", Path(path).stem)
            if "methods" not in lists:
                raise ConfigError("no methods: give a list such as ['crm-bool']")
            return cls(**lists, learner=learner)
        except ConfigError as problem:
            raise ConfigError(f"{path}: {problem}") from None

    @classmethod
    def named(cls, name: str) -> Self:
        """Return a suite that comes with fastrm, or read a TOML file."""
        if Path(name).suffix == ".toml":
            return cls.load(name)
        suites = {path.stem: path for folder in SUITES if folder.is_dir() for path in sorted(folder.glob("*.toml"))}
        if name not in suites:
            raise ConfigError(
                f"suite {name!r} is unknown{did_you_mean(name, suites)}; there are {_list(suites)}; or give a .toml"
            )
        return cls.load(suites[name])

    def changed(self, **settings: int | None) -> Self:
        """Return the experiment with some settings replaced; None leaves one as it is."""
        given: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
        return replace(self, **given)


@dataclass(frozen=True)
class Plan:
    """An experiment with every map and machine written out."""

    experiment: dict[str, Any]
    """The settings, for the record."""
    grids: tuple[tuple[str, str, str], ...]
    """Setup, name and text of every map."""
    tasks: tuple[tuple[str, dict[str, str]], ...]
    """Name of every task and its machine's text, by kind (``""`` for a machine from a file)."""
    methods: tuple[str, ...]
    seeds: int
    steps: int
    profile: str
    metric: Metric
    learner: LearnerConfig
    root_seed: int

    @classmethod
    def of(cls, experiment: Experiment) -> Self:
        """Generate and read everything an experiment names, and check it."""
        grids = [
            (setup, str(k), GridMap.generate(setup, size=experiment.size, seed=k).render())
            for setup in experiment.setups
            for k in range(experiment.maps)
        ]
        for name in experiment.map_files:
            grids.append((Path(name).stem, Path(name).stem, GridMap.load(name).render()))
        tasks: list[tuple[str, dict[str, str]]] = []
        wanted = {Method.parse(label).kind for label in experiment.methods} - {None}
        for task in experiment.tasks:
            machines: dict[str, str] = {
                kind: RewardMachine.sequence(
                    task, kind=kind, closer=experiment.closer, terminal_reward=experiment.terminal_rewards.get(kind)
                ).write()
                for kind in KINDS
                if kind in wanted
            }
            tasks.append((task, machines))
        for name in experiment.machine_files:
            tasks.append((Path(name).stem, {"": RewardMachine.load(name).write()}))
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

    def machine_text(self, task: int, method: int) -> str:
        """Return the machine that a method runs a task with."""
        kind = Method.parse(self.methods[method]).kind
        machines = self.tasks[task][1]
        return machines[""] if "" in machines else machines[kind or ""]

    def problem(self, grid: int, task: int, method: int) -> Problem:
        """Compile the problem of a run; the last few are kept."""
        return _problem(self.grids[grid][2], self.machine_text(task, method), self.profile, self.metric)

    def stream(self, grid: int, seed: int) -> int:
        """Return the 64-bit seed of a run: the same for all methods and tasks on a map."""
        return int(_hash("stream", str(self.root_seed), self.grids[grid][2], str(seed))[:16], 16)

    def run_id(self, run: int) -> str:
        """Return a hash, 16 hexadecimal digits, of everything that determines the numbers of a run."""
        grid, task, method, seed = self.coordinates(run)
        how = Method.parse(self.methods[method])
        whole = _hash(
            self.grids[grid][2], self.machine_text(task, method), self.profile, self.metric, how.algo,
            str(how.shaping), str(self.steps), str(self.stream(grid, seed)), str(SEMANTICS[how.algo]),
            json.dumps(asdict(self.learner), sort_keys=True),
        )  # fmt: skip
        return whole[:16]


@lru_cache(maxsize=64)
def _problem(grid: str, machine: str, profile: str, metric: Metric) -> Problem:
    return compile(GridMap.parse(grid), RewardMachine.parse(machine), profile, metric)


def _hash(*parts: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode())
    return digest.hexdigest()


def _learner(table: Any) -> LearnerConfig:
    known = {f.name for f in fields(LearnerConfig)}
    if not isinstance(table, dict):
        raise ConfigError(f"learner={table!r}: must be a table")
    for key in table:
        if key not in known:
            raise ConfigError(f"unknown key 'learner.{key}'{did_you_mean(key, known)}; there are {_list(known)}")
    return LearnerConfig(**table)


def _check_strings(name: str, value: object) -> None:
    if not isinstance(value, tuple) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{name}={value!r}: must be a list of strings")
    if len(set(value)) < len(value):
        raise ConfigError(f"{name}: an item is given twice")


def _list(names: Any) -> str:
    return ", ".join(sorted(names))
