"""Which maps x tasks x methods x seeds: experiments as data and as TOML."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, Self

from fastrm.config import LearnerConfig, Profile, check_choice, check_number, check_whole
from fastrm.errors import ConfigError, FastrmError, did_you_mean
from fastrm.learners.training import ALGOS, Algo
from fastrm.machines.machine import KINDS, Kind
from fastrm.machines.task_terms import automaton
from fastrm.naming import parse_recipe
from fastrm.problems.terrain import METRICS, Metric
from fastrm.textfile import read_text

SUITES = (Path(__file__).parents[2] / "bench", Path(__file__).parents[1] / "suites")
REFERENCE = "$REFERENCE"
"""How a TOML file names the folder of the published data."""
SHORT_KINDS: dict[str, Kind] = {
    "bool": "boolean", "num-bool": "numeric-boolean", "num": "numeric", "pot": "potential", "dtg": "distance-to-go",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Method:
    """A learner on a kind of machine; written ``crm-rs-bool``, or ``crm-rs`` for tasks that are files.

    With ``@0.5`` at the end values start in the middle of the true ones, between the smallest (0) and the largest (1)
    value of a cell and state from which the task can be completed.

    >>> Method.parse("crm-rs-bool")
    Method(algo='crm', shaping=True, kind='boolean', start=None)
    >>> Method.parse("hrm-num@0.5").start
    0.5
    """

    algo: Algo
    shaping: bool = False
    kind: Kind | None = None
    start: float | None = None
    """Where initial values lie between the smallest and the largest true value; None for the learner's q_init."""

    @classmethod
    def parse(cls, label: str) -> Self:
        """Read a method's name."""
        name, at, start = str(label).partition("@")
        if at and not re.fullmatch(r"-?[0-9]{1,6}(\.[0-9]{1,6})?", start):
            raise ConfigError(f"method {label!r}: write where values start as in {name}@0.5")
        algo, _, rest = name.partition("-")
        shaping = rest == "rs" or rest.startswith("rs-")
        kind = rest.removeprefix("rs").removeprefix("-") if shaping else rest
        if algo not in ALGOS or (kind and kind not in SHORT_KINDS):
            known = [f"{a}{rs}-{k}" for a in ALGOS for rs in ("", "-rs") for k in SHORT_KINDS]
            raise ConfigError(
                f"method {label!r} is unknown{did_you_mean(str(label), known)}; "
                f"write qrm, crm or hrm, then -rs for shaping, then -{', -'.join(SHORT_KINDS)}, then @0.5 for a start"
            )
        if at and shaping:
            raise ConfigError(f"method {label!r}: shaping moves the values themselves; leave out -rs or @{start}")
        return cls(algo=algo, shaping=shaping, kind=SHORT_KINDS.get(kind), start=float(start) if at else None)

    @property
    def label(self) -> str:
        """The method's name."""
        short = [name for name, kind in SHORT_KINDS.items() if kind == self.kind]
        return "-".join([self.algo, *(["rs"] if self.shaping else []), *short]) + (
            "" if self.start is None else f"@{self.start:.12g}"
        )


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What to run: every map with every task, method and seed."""

    name: str
    setups: tuple[str, ...] = ()
    """Setups of generated maps, with their obstacles: ``1a1b``, ``1a1b walls 0.2``, ``1a1b maze``."""
    maps: int = 1
    """Maps generated per setup."""
    size: int = 41
    """Side of a generated map."""
    map_files: tuple[str, ...] = ()
    """Further maps, from files."""
    tasks: tuple[str, ...] = ()
    """Tasks such as ``a-b-c`` or ``{a,b}`` (see `fastrm.task`), built in the kind that the method asks for."""
    machine_files: tuple[str, ...] = ()
    """Tasks from files, for methods that name no kind."""
    rotate: bool = False
    """Several tasks at once: episodes play all tasks in turn."""
    methods: tuple[str, ...]
    """Names such as ``crm-rs-bool``."""
    seeds: int = 1
    """Runs per map, task and method."""
    steps: int = 100_000
    """Steps of a run."""
    root_seed: int = 0
    """Other root, other random numbers everywhere."""
    profile: str = "clean"
    """Semantics: ``clean`` or ``icarte2022``, or with single switches changed (see `Profile.named`)."""
    metric: Metric = "manhattan"
    """What distances measure."""
    closer: Literal["nearest", "any"] = "nearest"
    """What numeric-boolean machines call closer."""
    slip: float = 0.0
    """Probability that a move goes sideways."""
    scale: float = 0.01
    """Potential machines: what a step towards the end is worth."""
    terminal_rewards: Mapping[str, float | str] = field(default_factory=dict)
    """Terminal rewards by kind, in place of the paper's: a number, or ``"1.1 R*"`` for ``R* + 0.1 |R*|``, R* being the
    exact threshold of each map and task."""
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    """Settings of the learners."""

    def __post_init__(self) -> None:
        for name in ("setups", "map_files", "tasks", "machine_files", "methods"):
            _check_strings(name, getattr(self, name))
        if not isinstance(self.name, str) or not self.name:
            raise ConfigError(f"name={self.name!r}: must be a word")
        for setup in self.setups:
            parse_recipe(setup)
        for task in self.tasks:
            automaton(task)
        for name, high in (("maps", 10**6), ("seeds", 10**6), ("steps", 2**53)):
            check_whole(name, getattr(self, name), 1, high)
        check_whole("size", self.size, 3, 10_000)
        check_whole("root_seed", self.root_seed, 0, 2**64 - 1)
        Profile.named(self.profile)
        check_choice("metric", self.metric, METRICS)
        check_choice("closer", self.closer, ("nearest", "any"))
        check_number("slip", self.slip, 0, 1)
        check_number("scale", self.scale, 1e-100, 1e100)
        for kind, reward in self.terminal_rewards.items():
            check_choice("terminal_rewards", kind, KINDS)
            if isinstance(reward, str) and critical_factor(reward) is None:
                raise ConfigError(f"terminal_rewards.{kind}={reward!r}: must be a number, or such as '1.1 R*'")
            if not isinstance(reward, str):
                check_number(f"terminal_rewards.{kind}", reward)
        if not self.setups and not self.map_files:
            raise ConfigError("no maps: give setups or map_files")
        if not self.tasks and not self.machine_files:
            raise ConfigError("no tasks: give tasks or machine_files")
        if not isinstance(self.rotate, bool) or (self.rotate and self.tasks and self.machine_files):
            raise ConfigError(
                f"rotate={self.rotate!r}: must be true or false, and true for tasks or files, not for both"
            )
        if not self.methods:
            raise ConfigError("no methods: give a list such as ['crm-bool']")
        for method in map(Method.parse, self.methods):
            if self.tasks and method.kind is None:
                raise ConfigError(f"method {method.label!r} names no kind, but tasks {self.tasks} need one")
            if not self.tasks and method.kind is not None:
                raise ConfigError(f"method {method.label!r} names a kind, but machines from files have their own")
        _check_spelling("setups", [parse_recipe(setup) for setup in self.setups], self.setups)
        _check_spelling("tasks", ["".join(task.split()) for task in self.tasks], self.tasks)
        _check_spelling("methods", [Method.parse(label).label for label in self.methods], self.methods)

    @classmethod
    def load(cls, path: str | Path, reference: str | Path | None = None) -> Self:
        """Read a TOML file; names of map and machine files are relative to its folder.

        Those that begin with ``$REFERENCE`` lie in the folder of published data (see `reference_folder`). With ``base =
        "other.toml"`` it only says what differs from that file in the same folder.
        """
        table = _read_toml(Path(path))
        if "series" in table:
            raise ConfigError(f"{path}: a series of suites; run its parts: {table['series']}")
        folder = Path(path).parent
        try:
            learner = _learner(table.pop("learner", {}))
            lists: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}
            for key in ("map_files", "machine_files"):
                _check_strings(key, lists.setdefault(key, ()))
                lists[key] = tuple(_locate(name, folder, reference) for name in lists[key])
            lists.setdefault("name", Path(path).stem)
            if "methods" not in lists:
                raise ConfigError("no methods: give a list such as ['crm-bool']")
            return cls(**lists, learner=learner)
        except FastrmError as problem:
            raise ConfigError(f"{path}: {problem}") from None

    @classmethod
    def named(cls, name: str, reference: str | Path | None = None) -> Self:
        """Return a suite that comes with fastrm, or read a TOML file."""
        return cls.load(_find_suite(name), reference)

    def changed(self, **settings: int | None) -> Self:
        """Return the experiment with some settings replaced; None leaves one as it is."""
        given: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
        return replace(self, **given)


def series(name: str) -> list[str]:
    """Return the suites that a suite stands for: the parts of a series, or itself.

    >>> series("paper")
    ['paper']
    """
    parts = _read_toml(_find_suite(name)).get("series", [name])
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise ConfigError(f"{name}: series={parts!r}: must be a list of suites")
    return parts


def _find_suite(name: str) -> Path:
    if Path(name).suffix == ".toml":
        return Path(name)
    suites = {path.stem: path for folder in SUITES if folder.is_dir() for path in sorted(folder.glob("*.toml"))}
    if name not in suites:
        raise ConfigError(
            f"suite {name!r} is unknown{did_you_mean(name, suites)}; there are {_list(suites)}; or give a .toml"
        )
    return suites[name]


def _locate(name: str, folder: Path, reference: str | Path | None) -> str:
    """Return the path of a file named in a TOML file of some folder."""
    if not name.startswith(REFERENCE):
        return str(folder / name)
    return str(reference_folder(reference) / name.removeprefix(REFERENCE).lstrip("/"))


def reference_folder(named: str | Path | None = None) -> Path:
    """Return the folder with the published data of the reference implementation, named here or by the environment.

    Raises
    ------
    ConfigError
        When it is not named or not there.
    """
    chosen = named or os.environ.get("FASTRM_REFERENCE")
    if not chosen:
        raise ConfigError(
            "the published data of the reference implementation is needed: name its folder with --reference DIR or in "
            "FASTRM_REFERENCE"
        )
    if not Path(chosen).is_dir():
        raise ConfigError(f"{chosen}: no such folder; --reference or FASTRM_REFERENCE must name the published data")
    return Path(chosen)


def critical_factor(reward: float | str) -> float | None:
    """Read ``"1.1 R*"``; None if it is not of this form.

    A terminal reward of F R* means ``R* + (F - 1) |R*|``: beyond the threshold for F above 1, whatever its sign.

    >>> critical_factor("1.1 R*"), critical_factor(10_000.0)
    (1.1, None)
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?R\*", reward) if isinstance(reward, str) else None
    return None if match is None else float(match[1])


def _read_toml(path: Path, is_base: bool = False) -> dict[str, Any]:
    """Read a TOML file and the one it builds on; tables are merged key by key."""
    text = read_text(path, ConfigError)
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise ConfigError(f"{path}: not TOML: {problem}") from None
    known = {f.name for f in fields(Experiment)} | {"base", "series"}
    for key in table:
        if key not in known:
            raise ConfigError(f"{path}: unknown key {key!r}{did_you_mean(key, known)}; there are {_list(known)}")
    if "base" not in table:
        return table
    base = table.pop("base")
    if is_base or not isinstance(base, str) or Path(base).name != base:
        raise ConfigError(f"{path}: base={base!r}: must name a TOML file in this folder that has no base itself")
    below = _read_toml(path.parent / base, is_base=True)
    for key, value in table.items():
        if isinstance(value, dict) and isinstance(below.get(key), dict):
            table[key] = {**below[key], **value}
    return {**below, "name": path.stem, **table}


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


def _check_spelling(name: str, meant: Sequence[object], written: tuple[str, ...]) -> None:
    """Refuse two spellings of the same thing, which would be run twice."""
    for k, item in enumerate(meant):
        if item in meant[:k]:
            raise ConfigError(f"{name}: {written[meant.index(item)]!r} and {written[k]!r} are the same")


def _list(names: Any) -> str:
    return ", ".join(sorted(names))
