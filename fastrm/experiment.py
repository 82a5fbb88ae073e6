"""Which maps x tasks x methods x seeds: experiments as data and as TOML."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, Self

from fastrm.config import LearnerConfig, Profile, check_choice, check_number, check_whole
from fastrm.errors import ConfigError, did_you_mean
from fastrm.features import METRICS, Metric
from fastrm.machine import KINDS, Kind
from fastrm.maps import parse_setup
from fastrm.textfile import read_text
from fastrm.training import ALGOS, Algo

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
    terminal_rewards: Mapping[str, float | str] = field(default_factory=dict)
    """Terminal rewards by kind, in place of the paper's: a number, or ``"1.1 R*"`` for a multiple of the exact
    threshold of each map and task (see `critical_factor`)."""
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
            if critical_factor(reward) is None:
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
        """Read a TOML file; names of map and machine files are relative to its folder.

        With ``base = "other.toml"`` it only says what differs from that file in the same folder.
        """
        table = _read_toml(Path(path))
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


def critical_factor(reward: float | str) -> float | None:
    """Read ``"1.1 R*"``; None if it is not of this form.

    A terminal reward of F R* means ``R* + (F - 1) |R*|``: beyond the threshold for F above 1, whatever its sign.

    >>> critical_factor("1.1 R*"), critical_factor(10_000.0)
    (1.1, None)
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?R\*", reward) if isinstance(reward, str) else None
    return None if match is None else float(match[1])


def _read_toml(path: Path, is_base: bool = False) -> dict[str, Any]:
    """Read a TOML file and the one it builds on."""
    text = read_text(path, ConfigError)
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise ConfigError(f"{path}: not TOML: {problem}") from None
    if "base" not in table:
        return table
    base = table.pop("base")
    if is_base or not isinstance(base, str) or Path(base).name != base:
        raise ConfigError(f"{path}: base={base!r}: must name a TOML file in this folder that has no base itself")
    return {**_read_toml(path.parent / base, is_base=True), "name": path.stem, **table}


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
