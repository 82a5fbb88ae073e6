"""An experiment as data: maps x tasks x methods x settings x seeds.

A *method* is a learner on a kind of machine, as people name it. A *sweep* gives a setting of the learners several
values; swept settings are crossed with each other in the order of `LearnerConfig`, whatever the order of a file, and
the last one changes fastest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import InitVar, asdict, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self, cast

import numpy as np

from fastrm.checks import check_choice, check_number, check_truth, check_whole, is_plain
from fastrm.config import FigureConfig, LearnerConfig, Profile
from fastrm.errors import ConfigError, FastrmError, did_you_mean, printable, shown
from fastrm.learners import registry
from fastrm.machines import KINDS, SHORT_KINDS, Kind, KindName, check_offset, check_task, find_kind
from fastrm.problems import ANYWHERE, METRICS, Metric
from fastrm.textfile import check_path
from fastrm.worlds import parse_recipe

MOST_RUNS = 10**8
"""Runs of an experiment: some tables have a row per run, whether or not it was made."""


@dataclass(frozen=True, kw_only=True)
class Method:
    """A learner on a kind of machine; written ``crm-rs-bool``, or ``crm-rs`` for tasks that are files.

    ``crm-rs-boolean`` means the same; the short name is the one that is stored.

    With ``@0.5`` at the end values start in the middle of the true ones, between the smallest (0) and the largest (1)
    value of a cell and state from which the task can be completed.

    >>> Method.parse("crm-rs-bool")
    Method(algo='crm', shaping=True, kind='boolean', optimism=None)
    >>> Method.parse("hrm-num@0.5").optimism
    0.5
    >>> Method.parse("crm-numeric-boolean").label
    'crm-num-bool'
    >>> Method.parse("q-lambda-num-bool").algo
    'q-lambda'
    """

    algo: str
    shaping: bool = False
    kind: Kind | None = None
    optimism: float | None = None
    """Where initial values lie between the smallest (0) and the largest (1) true value; None for the q_init as set."""

    @classmethod
    def parse(cls, label: str, names_kind: bool = True, others: Collection[str] = ()) -> Self:
        """Read a method's name; its learner must be known.

        Raises
        ------
        ConfigError
            With the nearest name of a method that names a kind, or none, and is not among the others.
        """
        method = cls.read(label)
        if method.algo not in registry.names():
            raise _unknown(label, names_kind, others)
        return method

    @classmethod
    def read(cls, label: str) -> Self:
        """Read a method's name, such as a result file has, whether or not its learner is known here."""
        name, at, optimism = str(label).partition("@")
        if at and not re.fullmatch(r"-?[0-9]{1,6}(\.[0-9]{1,6})?", optimism):
            raise ConfigError(
                f"method {shown(label)}: after @ comes where initial values lie between the smallest (0) and "
                f"the largest (1) true value, as in {printable(name[:40])}@0.5"
            )
        kind = max((k for k in (*SHORT_KINDS, *KINDS) if name.endswith(f"-{k}")), key=len, default="")
        rest = name.removesuffix(f"-{kind}")
        algo = rest.removesuffix("-rs")
        shaping = algo != rest
        if at and shaping:
            raise ConfigError(
                f"method {shown(label)}: -rs (shaping) moves the initial values itself; leave out -rs or @{optimism}"
            )
        found = find_kind(cast(KindName, kind)) if kind else None
        return cls(algo=algo, shaping=shaping, kind=found, optimism=float(optimism) if at else None)

    @property
    def label(self) -> str:
        """The method's name."""
        short = [name for name, kind in SHORT_KINDS.items() if kind == self.kind]
        start = "" if self.optimism is None else f"@{self.optimism:.12g}"
        return "-".join([self.algo, *(["rs"] if self.shaping else []), *short]) + start

    def at(self, optimism: float | None) -> Self:
        """Return the method with other initial values.

        >>> Method.parse("crm-pot@0.5").at(None).label
        'crm-pot'
        """
        return replace(self, optimism=optimism)


def cross_methods(learners: tuple[str, ...], kinds: tuple[str, ...]) -> list[str]:
    """Return the names of all methods made of a learner, shaped or not, and a kind; of learners alone without kinds.

    Raises
    ------
    ConfigError
        When a learner or a kind is unknown, or there are kinds alone.
    """
    for name, value in (("learners", learners), ("kinds", kinds)):
        _check_strings(name, value)
    if kinds and not learners:
        raise ConfigError(f"kinds={shown(kinds)}: go with learners, such as learners = ['crm']; methods name their own")
    found = [_find_kind("kinds", kind) for kind in kinds]
    _check_spelling("kinds", found, kinds)
    crossed = []
    for learner in learners:
        method = Method.read(learner)
        if method.kind is not None:
            cure = replace(method, kind=None).label
            raise ConfigError(f"learners: {shown(learner)} names a kind of reward; write {cure}, and the kind in kinds")
        if method.algo not in registry.names():
            near, known = did_you_mean(method.algo, registry.names()), ", ".join(registry.names())
            raise ConfigError(f"learners: {shown(learner)} is unknown{near}; there are {known}")
        crossed += [replace(method, kind=kind) for kind in found] or [method]
    return [method.label for method in crossed]


def read_warm_starts(given: object, methods: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Read which method starts with what another has learned; return the pairs in the order of the methods.

    Raises
    ------
    ConfigError
        When one of them is not a method of the experiment, or a method would start with what it learns itself.

    >>> read_warm_starts({"crm-numeric": "crm-bool"}, ["crm-bool", "crm-num"])
    (('crm-num', 'crm-bool'),)
    """
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for pair in given.items() for name in pair):
        raise ConfigError(f"warm_start={shown(given)}: must be a table such as {{crm-num = 'crm-bool'}}")
    found: dict[str, str] = {}
    for pair in given.items():
        one, source = (Method.read(label).label for label in pair)
        for label in (one, source):
            if label not in methods:
                near = did_you_mean(label, _fitting_in(given, pair[0], label == source, methods))
                raise ConfigError(f"warm_start: {shown(label)} is not among the methods{near}; add it to them")
        if one in found:
            raise ConfigError(f"warm_start: {shown(one)} is given twice; leave one out")
        found[one] = source
    for label in found:
        chain = [label]
        while (source := found.get(chain[-1], "")) and source not in chain:
            chain.append(source)
        if source:
            way = " <- ".join([*chain[chain.index(source) :], source])
            raise ConfigError(f"warm_start: {way} leads back to where it began; leave one out")
    return tuple((label, found[label]) for label in methods if label in found)


def _fitting_in(given: Mapping[str, str], key: str, is_source: bool, methods: Sequence[str]) -> list[str]:
    """Return the methods that would do as one side of the pair of `key`, where nothing else is wrong."""
    rest = dict(given)
    source = rest.pop(key)

    def check(method: str) -> None:
        check_warm_pairs(read_warm_starts(rest | ({key: method} if is_source else {method: source}), methods))

    others = *rest, *rest.values(), key if is_source else source
    if any(Method.read(label).label not in methods for label in others):
        return []
    return [method for method in methods if (is_source or method not in rest) and is_accepted(check, method)]


def is_accepted(function: Callable[..., object], *arguments: Any) -> bool:
    """Return whether a function takes some arguments, so that they may be suggested."""
    try:
        function(*arguments)
    except FastrmError:
        return False
    return True


def check_kind(label: str) -> None:
    """Raise ConfigError if the learner of a method cannot learn its kind of reward, or from shaped rewards."""
    method = Method.read(label)
    kinds = getattr(registry.find(method.algo), "kinds", None)
    if kinds is None:
        return
    cure = replace(method, shaping=False, kind=kinds[0] if method.kind else None).label
    if method.shaping:
        raise ConfigError(f"method {shown(method.label)}: {method.algo} learns no shaped rewards; write {cure}")
    if method.kind is not None and method.kind not in kinds:
        raise ConfigError(
            f"method {shown(method.label)}: {method.algo} learns tasks of kind {', '.join(kinds)} alone; write {cure}"
        )


def check_warm_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Raise ConfigError for warm starts between learners that keep different kinds of values."""
    for label, source in pairs:
        one, two = (registry.find(Method.read(name).algo) for name in (label, source))
        if one.name != two.name and not (one.per_state and two.per_state):
            raise ConfigError(
                f"warm_start: {label} cannot start with what {source} has learned: {two.name} and {one.name} do not "
                f"keep the same kind of values; name a method of {one.name}"
            )
        if not hasattr(one, "put"):
            raise ConfigError(f"warm_start: {one.name} has no 'put', so it cannot begin with what was learned")


def check_learner(algo: str, source: str) -> None:
    """Raise ConfigError unless a learner of a result file is known here."""
    if algo not in registry.names():
        raise ConfigError(
            f"{printable(source)}: learner {shown(algo)} is not known here; name its file with --learner FILE, or make "
            "it known with fastrm.register"
        )


def _unknown(label: object, names_kind: bool, others: Collection[str]) -> ConfigError:
    algos, end = registry.names(), "".join(str(label).partition("@")[1:])
    kinds = [f"-{kind}" for kind in (*SHORT_KINDS, *KINDS)] if names_kind else [""]
    known = (f"{a}{rs}{kind}{end}" for a in algos for rs in ("", "-rs") for kind in kinds)
    taken = {Method.read(other).label for other in others}
    fitting = [name for name in known if is_accepted(check_kind, name) and Method.read(name).label not in taken]
    return ConfigError(
        f"method {shown(label)} is unknown{did_you_mean(str(label), fitting)}; write a learner ({', '.join(algos)}, or "
        f"your own with --learner FILE), then -rs if it is shaped, "
        f"then a kind of reward (-{', -'.join(SHORT_KINDS)}), then @0.5 if initial values "
        "are to lie half-way between the true ones"
    )


method_of = cache(Method.read)
"""Return the method of a label in a result file; each label is read once."""

Sweep = tuple[tuple[str, tuple[Any, ...]], ...]
"""Settings and their values."""
SETTINGS = tuple(field.name for field in fields(LearnerConfig))
MOST_VARIANTS = 10_000
"""Combinations of values; each is a learner's whole configuration in memory."""


def read_learner(given: object) -> tuple[LearnerConfig, Sweep]:
    """Read settings of the learners, lists meaning several values; return them with the first ones, and the sweep.

    Raises
    ------
    ConfigError
        When a setting is unknown, its values are none or doubled, or one of them is out of range.

    >>> learner, sweep = read_learner({"alpha": [0.1, 0.5], "epsilon": 0.2})
    >>> learner.alpha, learner.epsilon, sweep
    (0.1, 0.2, (('alpha', (0.1, 0.5)),))
    """
    if isinstance(given, LearnerConfig):
        return given, ()
    if not isinstance(given, Mapping):
        raise ConfigError(f"learner={shown(given)}: must be a table of settings, such as LearnerConfig(tick=1000)")
    for name in given:
        if name not in SETTINGS:
            registry.check_shared(str(name))
            fitting = {*SETTINGS} - given.keys() - ({"tick"} if _is_list(given[name]) else set())
            near, known = did_you_mean(name, fitting), ", ".join(sorted(SETTINGS))
            raise ConfigError(f"unknown key 'learner.{str(name)[:40]}'{near}; there are {known}")
    lists = {name: _values(name, given[name]) for name in SETTINGS if name in given and _is_list(given[name])}
    plain = {name: value for name, value in given.items() if name not in lists}
    learner = LearnerConfig(**plain, **{name: values[0] for name, values in lists.items()})
    sweep = tuple((name, _checked(learner, name, values)) for name, values in lists.items())
    count = math.prod(len(values) for _, values in sweep)
    if count > MOST_VARIANTS:
        raise ConfigError(f"learner: its lists cross to {count} combinations; at most {MOST_VARIANTS} can be run")
    return learner, sweep


def check_is_read(sweep: Sweep, methods: Sequence[Method], optimism: float | None, kinds: Collection[str]) -> None:
    """Raise ConfigError for a setting that no method reads: all its values would give the same runs."""
    for name, _ in sweep:
        readers = [
            method
            for method in methods
            if name in (*registry.COMMON, *registry.settings_of(method.algo, kinds))
            and (name != "q_init" or method.shaping or (method.optimism is None and optimism is None))
        ]
        if not readers:
            labels = ", ".join(method.label for method in methods)
            raise ConfigError(f"{name}: none of the methods ({labels}) reads it, so that its values make no difference")


def stored_learner(learner: LearnerConfig, swept: Collection[str] = ()) -> dict[str, Any]:
    """Return settings as files hold them: newer ones only where they are not the default."""
    usual = LearnerConfig()
    newer = {name for name in ("features",) if name not in swept and getattr(learner, name) == getattr(usual, name)}
    return {name: value for name, value in asdict(learner).items() if name not in newer}


def column_of(values: Sequence[Any]) -> list[Any]:
    """Return the values of a setting as its coordinate holds them: as numbers, or all as text where some are text.

    >>> column_of([0, 5]), column_of([0.1, "linear(1, 0.1, 5000)"]), column_of([False, True])
    ([0.0, 5.0], ['0.1', 'linear(1, 0.1, 5000)'], ['false', 'true'])
    """
    if any(isinstance(value, str | bool) for value in values):
        return [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
    return [float(value) for value in values]


def check_start(start: object) -> None:
    """Raise ConfigError for a start that not every map has; only "anywhere" is one."""
    if start is not None and not (isinstance(start, str) and start == ANYWHERE):
        raise ConfigError(
            f"start={shown(start)}: must be {ANYWHERE!r}; without it episodes begin in the cells that the maps mark"
        )


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)


def _values(name: str, given: Any) -> tuple[Any, ...]:
    """Return the values of a list, as plain Python has them."""
    if name == "tick":
        raise ConfigError("tick: takes one value, as all runs of a file have their ticks in common")
    values = tuple(value.item() if isinstance(value, np.generic) else value for value in given)
    if not values:
        raise ConfigError(f"{name}=[]: an empty list; give the values to run")
    return values


def _checked(learner: LearnerConfig, name: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values as the configuration keeps them; refuse what it does not take, and what occurs twice."""
    if None in values:
        raise ConfigError(f"{name}: a list holds values; leave out None")
    kept = tuple(getattr(replace(learner, **{name: value}), name) for value in values)
    column = column_of(kept)
    for k, value in enumerate(column):
        if value in column[:k]:
            raise ConfigError(f"{name}: {values[k]} is given twice; leave one out")
    return kept


MAX_NAME = 200  # bytes; file systems allow 255, and endings such as .part.h5 are added
MAX_ITEM = 4096  # characters of a setup, a task, a method or a path
MAX_MAP_TEXT, MAP_OVERHEAD = 256 * 2**20, 1000  # bytes; what a small map takes beside its text


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What to run: every map with every task, method and seed.

    Raises
    ------
    ConfigError
        When a setting has the wrong type, is out of range, or is missing.

    Examples
    --------
    >>> small = Experiment(name="small", setups=("1a1b",), maps=2, tasks=("a-b",), methods=("crm-bool",), seeds=3)
    >>> small.steps, small.learner.tick
    (100000, 10000)
    >>> replace(small, learner={"alpha": [0.1, 0.5], "epsilon": [0.05, 0.1, 0.2]}).runs
    36
    >>> replace(small, methods=(), learners=("qrm", "crm-rs"), kinds=("bool", "num")).methods
    ('qrm-bool', 'qrm-num', 'crm-rs-bool', 'crm-rs-num')
    """

    name: str
    """What the experiment and its result file are called."""
    setups: tuple[str, ...] = ()
    """Setups of generated maps, with their obstacles: ``1a1b``, ``1a1b walls 0.2``, ``1a1b maze``; or of point masses:
    ``point 1a1b``."""
    maps: int = 1
    """Maps generated per setup."""
    size: int = 41
    """Side of a generated map."""
    map_files: tuple[str, ...] = ()
    """Further maps, from files; worlds that `TableWorld.save` wrote end in ``.json``, and ``worlds.json:M1`` is a Water
    world."""
    tasks: tuple[str, ...] = ()
    """Tasks such as ``a-b-c`` or ``{a,b}`` (see `fastrm.task`), built in the kind that the method asks for."""
    machine_files: tuple[str, ...] = ()
    """Tasks from files, for methods that name no kind."""
    rotate: bool = False
    """Several tasks at once: episodes play all tasks in turn."""
    methods: tuple[str, ...] = ()
    """Names such as ``crm-rs-bool``."""
    learners: InitVar[tuple[str, ...]] = ()
    """Further methods, as a product: each of these learners, such as ``crm`` or ``crm-rs``, with each of `kinds`."""
    kinds: InitVar[tuple[str, ...]] = ()
    """Kinds of reward for `learners`, such as ``bool``; none where tasks are files."""
    seeds: int = 1
    """Runs per map, task and method."""
    steps: int = 100_000
    """Steps of a run."""
    greedy_ticks: bool = False
    """Look at every tick how long the greedy policy takes: variables ``greedy_curve``, ``steps_to_shortest`` and
    ``steps_to_lasting_shortest``. Runs take a few per cent longer."""
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
    start: str | None = None
    """Where episodes begin: ``anywhere``, or in the start cells that the maps mark."""
    scale: float = 0.01
    """Machines with a potential: what a step towards the end is worth."""
    offset: str | float = "size"
    """Machines of the kinds offset and local-potential: how far each target after the next one counts as being:
    ``size`` (the largest distance of the map), ``legs`` (as far as it is from the target before it), or a number."""
    terminal_rewards: Mapping[str, float | str] = field(default_factory=dict)
    """Terminal rewards by kind, in place of the paper's: a number, or ``"1.1 R*"`` for ``R* + 0.1 |R*|``, R* being the
    exact threshold of each map and task."""
    optimism: float | None = None
    """Where initial values lie between the smallest (0) and the largest (1) true value, for methods without shaping
    that do not say it themselves; without it the learner's ``q_init`` counts."""
    warm_start: Mapping[str, str] = field(default_factory=dict)
    """Methods that start with the values that another method has learned, on the same map and task with the same seed
    and settings: ``{crm-num = "crm-bool"}``."""
    learner: LearnerConfig | Mapping[str, Any] = field(default_factory=LearnerConfig)
    """Settings of the learners. A list of values in place of one makes a sweep: every run is made with each of them."""
    figure: Mapping[str, Any] = field(default_factory=dict)
    """How figures of the results look. It changes no run, and no ``run_id``."""

    def __post_init__(self, learners: tuple[str, ...], kinds: tuple[str, ...]) -> None:
        for name in ("setups", "map_files", "tasks", "machine_files", "methods"):
            _check_strings(name, getattr(self, name))
        object.__setattr__(self, "methods", (*self.methods, *cross_methods(learners, kinds)))
        _check_name(self.name)
        for setup in self.setups:
            parse_recipe(setup)
        for task in self.tasks:
            check_task(task)
        for name, high in (("maps", 10**6), ("seeds", 10**6), ("steps", 2**53)):
            check_whole(name, getattr(self, name), 1, high)
        check_truth("greedy_ticks", self.greedy_ticks)
        check_whole("size", self.size, 3, 10_000)
        _check_text(self.setups, self.maps, self.size)
        check_whole("root_seed", self.root_seed, 0, 2**64 - 1)
        Profile.named(self.profile)
        check_choice("metric", self.metric, METRICS)
        check_choice("closer", self.closer, ("nearest", "any"))
        check_number("slip", self.slip, 0, 1)
        check_start(self.start)
        check_number("scale", self.scale, 1e-100, 1e100)
        check_offset(self.offset)
        if self.optimism is not None:
            check_number("optimism", self.optimism, -1e6, 1e6)
        learner, sweep = read_learner(self.learner)
        object.__setattr__(self, "learner", stored_learner(learner) | dict(sweep) if sweep else learner)
        if not isinstance(self.terminal_rewards, Mapping):
            raise ConfigError(
                f"terminal_rewards={shown(self.terminal_rewards)}: must be a table such as {{numeric = 100}}"
            )
        paid = [_find_kind("terminal_rewards", kind) for kind in self.terminal_rewards]
        _check_spelling("terminal_rewards", paid, tuple(self.terminal_rewards))
        object.__setattr__(self, "terminal_rewards", dict(zip(paid, self.terminal_rewards.values(), strict=True)))
        for kind, reward in self.terminal_rewards.items():
            if isinstance(reward, str) and critical_factor(reward) is None:
                raise ConfigError(f"terminal_rewards.{kind}={shown(reward)}: must be a number, or such as '1.1 R*'")
            if not isinstance(reward, str):
                check_number(f"terminal_rewards.{kind}", reward)
        if not self.setups and not self.map_files:
            raise ConfigError("no maps: give setups such as ['1a1b1c'], or map_files")
        if not self.tasks and not self.machine_files:
            raise ConfigError("no tasks: give tasks such as ['a-b-c'], or machine_files")
        if not isinstance(self.rotate, bool) or (self.rotate and self.tasks and self.machine_files):
            raise ConfigError(
                f"rotate={shown(self.rotate)}: must be true or false; true goes with tasks or machine_files, not both"
            )
        if not self.methods:
            raise ConfigError("no methods: give a list such as ['crm-bool'], or learners and kinds")
        methods = [Method.parse(label, bool(self.tasks), {*self.methods} - {label}) for label in self.methods]
        for method in methods:
            check_kind(method.label)
            if self.tasks and method.kind is None:
                named = shown(replace(method, kind="boolean").label)
                raise ConfigError(
                    f"method {shown(method.label)} names no kind of reward, but tasks {shown(self.tasks)} need one; "
                    + ("give kinds such as ['bool']" if learners else f"write such as {named}")
                )
            if not self.tasks and method.kind is not None:
                raise ConfigError(
                    f"method {shown(method.label)} names a kind of reward, but machine_files have their own; "
                    + ("leave out kinds" if kinds else f"write {shown(replace(method, kind=None).label)}")
                )
        _check_spelling("setups", [parse_recipe(setup) for setup in self.setups], self.setups)
        _check_spelling("tasks", ["".join(task.split()) for task in self.tasks], self.tasks)
        _check_spelling("methods", [method.label for method in methods], self.methods)
        object.__setattr__(self, "methods", tuple(method.label for method in methods))  # one spelling in files
        object.__setattr__(self, "warm_start", dict(read_warm_starts(self.warm_start, self.methods)))
        check_warm_pairs(self.warm_start.items())
        try:
            FigureConfig.read(self.figure, self.methods)
        except ConfigError as problem:
            raise ConfigError(f"figure: {problem}") from None
        _check_count(self)

    @property
    def runs(self) -> int:
        """Number of runs: maps x tasks x methods x values of every swept setting x seeds."""
        maps = len(self.setups) * self.maps + len(self.map_files)
        tasks = 1 if self.rotate else len(self.tasks) + len(self.machine_files)
        variants = math.prod(len(values) for _, values in self.sweep)
        return maps * tasks * len(self.methods) * variants * self.seeds

    @property
    def sweep(self) -> Sweep:
        """Settings of the learners with several values, and these."""
        return read_learner(self.learner)[1]

    @property
    def first_learner(self) -> LearnerConfig:
        """Settings of the learners, with the first value of those that have several."""
        return read_learner(self.learner)[0]

    @classmethod
    def load(cls, path: str | Path, reference: str | Path | None = None) -> Experiment:
        """Read a TOML file; names of map and machine files are relative to its folder.

        Parameters
        ----------
        path : path
            The file.
        reference : path, optional
            The folder of published data, for names that begin with ``$REFERENCE``.

        Raises
        ------
        ConfigError
            Naming the file and the key.
        """
        from fastrm.experiments.suites import read_experiment

        return read_experiment(Path(check_path(path, ConfigError)), reference)

    @classmethod
    def named(cls, name: str, reference: str | Path | None = None) -> Experiment:
        """Return a suite that comes with fastrm, such as ``paper`` or ``quick``, or read a TOML file.

        Raises
        ------
        ConfigError
            With the nearest name of a suite.
        """
        from fastrm.experiments.suites import find_suite, read_experiment

        return read_experiment(find_suite(name, series=False), reference)


def _find_kind(key: str, name: str) -> Kind:
    try:
        return find_kind(cast(KindName, name))
    except ConfigError as problem:
        raise ConfigError(f"{key}: {problem}") from None


def critical_factor(reward: float | str) -> float | None:
    """Read ``"1.1 R*"``; None if it is not of this form.

    A terminal reward of F R* means ``R* + (F - 1) |R*|``: beyond the threshold for F above 1, whatever its sign.

    >>> critical_factor("1.1 R*"), critical_factor(10_000.0)
    (1.1, None)
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?R\*", reward) if isinstance(reward, str) else None
    return None if match is None else float(match[1])


def _check_name(name: object) -> None:
    """Raise ConfigError for a name that a result file cannot have."""
    if not isinstance(name, str) or not name or not is_plain(name) or name != name.strip():
        raise ConfigError(f"name={shown(name)}: must be a word of printable characters")
    if "/" in name or "\\" in name or name in (".", ".."):
        raise ConfigError(f"name={shown(name)}: must not hold / or \\, as result files are named after it")
    if len(name.encode(errors="replace")) > MAX_NAME:
        raise ConfigError(f"name={shown(name)}: longer than {MAX_NAME} bytes, and result files are named after it")


def _check_text(setups: Sequence[str], maps: int, size: int) -> None:
    """Raise ConfigError, before any map is made, for more than a plan can hold as text."""
    total = 0
    for setup in setups:
        fenced = parse_recipe(setup).layout != "open"
        total += maps * ((4 if fenced else 1) * size * (size + 1) + MAP_OVERHEAD)
    if total > MAX_MAP_TEXT:
        raise ConfigError(
            f"maps={maps}: maps of size {size} for {len(setups)} setups take {total // 2**20} MiB of text, more than "
            f"{MAX_MAP_TEXT // 2**20}; lower maps or size, or make several experiments"
        )


def _check_count(experiment: Experiment) -> None:
    """Raise ConfigError for more runs than a plan may have."""
    if experiment.runs > MOST_RUNS:
        raise ConfigError(
            f"seeds={experiment.seeds}: makes {experiment.runs} runs, and an experiment has at most {MOST_RUNS}; take "
            "fewer maps or seeds, or several experiments"
        )


def _check_strings(name: str, value: object) -> None:
    if not isinstance(value, tuple) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{name}={shown(value)}: must be a list of strings")
    for item in value:
        if not is_plain(item) or len(item) > MAX_ITEM:
            raise ConfigError(f"{name}: {shown(item)}: must be at most {MAX_ITEM} printable characters")
    if len(set(value)) < len(value):
        twice = next(item for k, item in enumerate(value) if item in value[:k])
        raise ConfigError(f"{name}: {shown(twice)} is given twice; leave one out")


def _check_spelling(name: str, meant: Sequence[object], written: tuple[str, ...]) -> None:
    """Raise ConfigError for two spellings of the same thing, which would be run twice."""
    for k, item in enumerate(meant):
        if item in meant[:k]:
            one, two = shown(written[meant.index(item)]), shown(written[k])
            raise ConfigError(f"{name}: {one} and {two} mean the same, and would be run twice; leave one out")
