"""What an experiment means: the text of every map and machine, and numbered runs.

A plan can be sent to another process or machine as one string. It may come from a foreign file, so everything in it is
checked for type and range; what a learner or the compiler checks itself, such as the text of a map, is left to it. Runs
are numbered ``(((grid * tasks + task) * methods + method) * variants + variant) * seeds + seed``, a variant being a
combination of the values of swept settings; `Plan.shape` and `Plan.place` alone know that.

A run is identified by a hash of what determines its numbers: the map, the machines, the learner's semantics, and the
settings that this learner reads. What other learners read, and the version of fastrm, do not enter.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, cast

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_choice, check_number, check_truth, check_whole
from fastrm.config import LearnerConfig, Profile
from fastrm.errors import ConfigError, shown
from fastrm.exact import as_float, critical_reward, value_range
from fastrm.experiments.experiment import (
    MOST_RUNS,
    SETTINGS,
    Experiment,
    Method,
    Sweep,
    check_is_read,
    check_start,
    column_of,
    critical_factor,
    read_learner,
    read_warm_starts,
    stored_learner,
)
from fastrm.learners import registry
from fastrm.machines import KINDS, Kind, RewardMachine, task as build_task
from fastrm.machines.language import read
from fastrm.problems import METRICS, Metric, Problem, compile
from fastrm.resources import remember
from fastrm.worlds import (
    GridMap,
    count_starts,
    generate_world,
    kind_of_text,
    load_world,
    read_world,
    split_world,
    weigh,
    write_world,
)


def read_plan(text: str) -> dict[str, Any]:
    """Return the entries of a plan.

    Raises
    ------
    ConfigError
        When the text is no JSON, or an entry is missing, of the wrong type or out of range.
    """
    try:
        table = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise ConfigError("not JSON") from None
    if not isinstance(table, dict):
        raise ConfigError("no table of settings")
    if missing := [name for name in (*_SHAPES, *_RANGES, "metric") if name not in table]:
        raise ConfigError(f"lacks {missing[0]}")
    for name, (fits, what) in (_SHAPES | _MAY_BE).items():
        if name in table and not fits(table[name]):
            value = "" if what.startswith("a list") else f"={table[name]!r:.60}"
            raise ConfigError(f"{name}{value}: must be {what}")
    for name, (low, high) in _RANGES.items():
        check_whole(name, table[name], low, high)
    check_choice("metric", table["metric"], METRICS)
    check_number("slip", table.get("slip", 0.0), 0, 1)
    if table.get("optimism") is not None:
        check_number("optimism", table["optimism"], -1e6, 1e6)
    check_start(table.get("start"))
    check_truth("greedy_ticks", table.get("greedy_ticks", False))
    _check_parts(table)
    return table


def read_machine(text: str, source: str) -> RewardMachine:
    """Read a machine of a plan; its lines are nobody's, so that messages name only the source."""
    draft = read(text, source)
    return RewardMachine.from_draft(replace(draft, edges=tuple(replace(edge, line=None) for edge in draft.edges)))


def known_fields(kind: Any, table: dict[str, Any]) -> dict[str, Any]:
    """Return the entries of a table that are fields of a dataclass."""
    return {f.name: table[f.name] for f in fields(kind) if f.name in table}


def _is_name(value: object) -> bool:
    """Whether a text can stand in a column: columns of text end at a NUL and are UTF-8."""
    return isinstance(value, str) and "\0" not in value and not any("\ud800" <= c <= "\udfff" for c in value)


def _is_method(label: object) -> bool:
    return _is_name(label) and bool(Method.read(str(label)).algo)


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


def _list_of(fits: Callable[[Any], bool], least: int = 1) -> Callable[[object], bool]:
    """Return the test of a list whose items all fit, of which there are at least `least`."""
    return lambda value: isinstance(value, list) and len(value) >= least and all(map(fits, value))


def _row_of(*fits: Callable[[Any], bool]) -> Callable[[object], bool]:
    """Return the test of a list with an item for each of some tests."""
    return lambda row: (
        isinstance(row, list) and len(row) == len(fits) and all(fit(row[k]) for k, fit in enumerate(fits))
    )


def _are_machines(by_kind: object) -> bool:
    """Return whether these are machines by kind: for every map, or once for all, a list that is played in rotation."""
    return isinstance(by_kind, dict) and all(map(_list_of(_list_of(_is_name)), by_kind.values()))


_SHAPES: dict[str, tuple[Callable[[object], bool], str]] = {
    "experiment": (_is_table, "a table"),
    "grids": (_list_of(_row_of(_is_name, _is_name, _is_name)), "a list of maps, each with setup, name and text"),
    "tasks": (_list_of(_row_of(_is_name, _are_machines)), "a list of tasks, each with a name and machines by kind"),
    "methods": (_list_of(_is_method), "a list of methods"),
    "profile": (lambda value: isinstance(value, str), "a word"),
    "learner": (_is_table, "a table"),
}
_RANGES = {"seeds": (1, 10**6), "steps": (1, 2**53), "root_seed": (0, 2**64 - 1)}
"""What every plan has: what its entries look like, and the range of its numbers."""
_MAY_BE: dict[str, tuple[Callable[[object], bool], str]] = {
    "sweep": (_list_of(_row_of(_is_name, _list_of(lambda _: True)), 0), "a list of settings, each with its values"),
    "warm_start": (_list_of(_row_of(_is_name, _is_name), 0), "a list of pairs of methods"),
}
"""What a plan may have."""


def _check_parts(table: dict[str, Any]) -> None:
    """Raise ConfigError unless the parts of a plan fit each other; what they name is checked where it is read."""
    sweep = table.get("sweep", [])
    swept, kinds = [name for name, _ in sweep], [Method.read(label).kind or "" for label in table["methods"]]
    if swept != [name for name in SETTINGS if name in swept]:
        raise ConfigError("sweep: must name settings of the learners, each once and in their order")
    names, replaceable = table.get("not_given", []), [x for x in LearnerConfig().not_given if x not in swept]
    if not isinstance(names, list) or not all(name in replaceable for name in names):
        raise ConfigError(f"not_given: must be a list of settings, of {', '.join(replaceable)}")
    for name, machines in table["tasks"]:
        for kind in [""] if "" in machines else kinds:
            if len(machines.get(kind, ())) not in (1, len(table["grids"])):
                raise ConfigError(f"tasks: {name!r:.60} lacks machines of kind {kind!r}")
    count = math.prod(len(table[name]) for name in ("grids", "tasks", "methods")) * table["seeds"]
    count *= math.prod(len(values) for _, values in sweep)
    if count > MOST_RUNS:
        raise ConfigError(f"speaks of {count} runs; at most {MOST_RUNS} can be read")


def identity_of(
    method: Method, config: LearnerConfig, profile: Profile, optimism: float | None, kind: str = "tabular"
) -> str:
    """Return what determines the numbers of a method beside world, machines, steps and seed, as JSON."""
    known = kind if method.algo in registry.names(kind) else "tabular"  # a run without a learner records its error
    learner = registry.find(method.algo, known)
    every = registry.own_settings(learner) | asdict(config) | asdict(profile)
    read = {name: every[name] for name in (*registry.COMMON, *learner.settings)}
    if optimism is not None:
        read["q_init"] = f"@{optimism}"
    given = [f"not given: {' '.join(config.not_given)}"] if kind == "water" else []  # there other defaults hold
    return json.dumps([method.algo, learner.semantics, method.shaping, read, *given], sort_keys=True)


def hash_of(*parts: str) -> str:
    """Return a hash of some texts, 32 hexadecimal digits."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode())
    return digest.hexdigest()


Machines = dict[str, list[list[str]]]
"""By kind (``""`` for machines from files): for each map, or once for all of them, the texts played in rotation."""


def machines_of(
    experiment: Experiment, task: str, kind: Kind, grids: Sequence[tuple[str, str, str]]
) -> list[list[str]]:
    """Build the machine of a task: one for all maps, or one per map where the reward depends on it."""

    def build(terminal: float | None) -> RewardMachine:
        offset = cast('Literal["size", "legs"] | float', experiment.offset)
        return build_task(
            task, kind=kind, closer=experiment.closer, terminal_reward=terminal, scale=experiment.scale, offset=offset
        )

    reward = experiment.terminal_rewards.get(kind)
    if not isinstance(reward, str):
        return [[build(reward).write()]]
    if experiment.slip:
        raise ConfigError(f"terminal_rewards.{kind}={reward!r}: R* is for moves that do not slip; give a number")
    if "gamma" in dict(experiment.sweep):
        raise ConfigError(f"terminal_rewards.{kind}={reward!r}: R* depends on gamma, which has several values here")
    texts = []
    for _, _, text in grids:
        world = cast("GridMap", read_world(text))
        problem = compile(world, build(0.0), experiment.profile, experiment.metric, start=experiment.start)
        try:
            critical = as_float(critical_reward(problem, experiment.first_learner.gamma))
        except ConfigError as fault:
            raise ConfigError(f"terminal_rewards.{kind}={reward!r}: {fault}") from None
        if math.isinf(critical):
            raise ConfigError(f"terminal_rewards.{kind}={reward!r}: R* is beyond floating point; give a number")
        factor = critical_factor(reward) or 1.0
        if critical == 0 != factor - 1.0:
            raise ConfigError(f"terminal_rewards.{kind}={reward!r}: R* of task {task} is 0; give a number")
        texts.append([build(critical + (factor - 1.0) * abs(critical)).write()])
    return texts


def grids_of(experiment: Experiment) -> list[tuple[str, str, str]]:
    """Return setup, name and text of every map: generate some, read the others."""
    grids = [
        (setup, str(k), write_world(generate_world(setup, size=experiment.size, seed=k)))
        for setup in experiment.setups
        for k in range(experiment.maps)
    ]
    for name in experiment.map_files:
        file, world = split_world(name)
        grids.append((Path(file).stem, world or Path(file).stem, write_world(load_world(name))))
    names = [(setup, name) for setup, name, _ in grids]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ConfigError(f"two maps are called {twice[0][1]!r}; give their files different names")
    return grids


def tasks_of(
    experiment: Experiment, kinds: Collection[str | None], grids: Sequence[tuple[str, str, str]]
) -> list[tuple[str, Machines]]:
    """Return name and machines of every task, in the kinds that methods ask for."""
    tasks: list[tuple[str, Machines]] = [
        (task, {kind: machines_of(experiment, task, kind, grids) for kind in KINDS if kind in kinds})
        for task in experiment.tasks
    ]
    for name in experiment.machine_files:
        tasks.append((Path(name).stem, {"": [[RewardMachine.load(name).write()]]}))
    return [rotation_of(tasks)] if experiment.rotate else tasks


def rotation_of(tasks: Sequence[tuple[str, Machines]]) -> tuple[str, Machines]:
    """Join tasks into one that plays their machines in turn."""
    joined: Machines = {}
    for kind in tasks[0][1]:
        texts = [machines[kind] for _, machines in tasks]
        joined[kind] = [[machine for text in together for machine in text] for together in zip(*texts, strict=True)]
    names = [name for name, _ in tasks]
    return "+".join(names) if len(names) < 4 else f"{names[0]}..{names[-1]}", joined


def kind_of_problem(text: str) -> str:
    """Return the kind of problem that a world makes, by which learners are looked up."""
    return "water" if kind_of_text(text) == "water" else "tabular"


def check_worlds(experiment: Experiment, methods: Sequence[Method], grids: Sequence[tuple[str, str, str]]) -> None:
    """Raise ConfigError for settings that some world does not have, and for methods that learn in no world."""
    waters = [name for _, name, text in grids if kind_of_text(text) == "water"]
    if waters and (experiment.slip or experiment.metric != "manhattan"):
        raise ConfigError(f"slip, metric: are for maps, and {waters[0]!r} is a water world; leave them out")
    for method in methods if len(waters) == len(grids) else ():
        if method.algo not in registry.names("water") or method.shaping:
            known = ", ".join(registry.names("water"))
            raise ConfigError(f"method {shown(method.label)}: Water world has the learners {known}, without shaping")


class Place(NamedTuple):
    """Where a run stands in its plan."""

    grid: int
    task: int
    method: int
    variant: int
    """Which combination of the values of swept settings; 0 where nothing is swept."""
    seed: int


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
    methods: tuple[Method, ...]
    seeds: int
    steps: int
    profile: str
    metric: Metric
    learner: LearnerConfig
    root_seed: int
    slip: float = 0.0
    optimism: float | None = None
    start: str | None = None
    """Where episodes begin: ``anywhere``, or where the maps say."""
    sweep: Sweep = ()
    """Settings of the learners with several values, and these; `learner` has the first of each."""
    warm_start: tuple[tuple[str, str], ...] = ()
    """Methods that start with what another has learned, and that other, by their labels."""
    greedy_ticks: bool = False
    """Whether runs look at the greedy policy at every tick; what they learn is the same."""

    @classmethod
    def of(cls, experiment: Experiment) -> Self:
        """Generate and read everything an experiment names, and check it."""
        grids = grids_of(experiment)
        methods = tuple(Method.parse(label) for label in experiment.methods)
        tasks = tasks_of(experiment, {method.kind for method in methods}, grids)
        check_worlds(experiment, methods, grids)
        check_is_read(experiment.sweep, methods, experiment.optimism, {kind_of_problem(text) for _, _, text in grids})
        settings = asdict(experiment)
        if isinstance(experiment.learner, LearnerConfig):
            settings["learner"] = stored_learner(experiment.learner)
        for key in ("map_files", "machine_files"):
            settings[key] = [Path(name).name for name in settings[key]]
        for key in ("warm_start", "figure", "greedy_ticks"):
            if not settings[key]:  # as in files from before there was such a setting
                del settings[key]
        return cls(
            experiment=json.loads(json.dumps(settings)),
            grids=tuple(grids),
            tasks=tuple(tasks),
            methods=methods,
            seeds=experiment.seeds,
            steps=experiment.steps,
            profile=experiment.profile,
            metric=experiment.metric,
            learner=experiment.first_learner,
            root_seed=experiment.root_seed,
            slip=experiment.slip,
            optimism=experiment.optimism,
            start=experiment.start,
            sweep=experiment.sweep,
            warm_start=tuple(experiment.warm_start.items()),
            greedy_ticks=experiment.greedy_ticks,
        )

    @property
    def requests(self) -> tuple[str, ...]:
        """Which of the values on request the runs have: ``greedy_ticks`` and ``learned machines``."""
        learned = any(method.algo in registry.OF_MACHINES for method in self.methods)
        return ("greedy_ticks",) * self.greedy_ticks + ("learned machines",) * learned

    def to_json(self) -> str:
        """Return the plan as one string."""
        table = asdict(self) | {"methods": [method.label for method in self.methods]}
        absent = {
            name for name in ("sweep", "start", "warm_start", "greedy_ticks") if not table[name]
        }  # as in files from before
        table["learner"] = stored_learner(self.learner, {name for name, _ in self.sweep})
        if "water" in self.kinds:
            table["not_given"] = self.learner.not_given
        return json.dumps({name: value for name, value in table.items() if name not in absent}, sort_keys=True)

    @classmethod
    @lru_cache(maxsize=8)
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote, in any version: what is unknown here is left out, what is missing defaults.

        Raises
        ------
        ConfigError
            When something in it has the wrong type or is out of range; the text may come from a foreign file.
        """
        written = read_plan(text)
        table, absent = known_fields(cls, written), written.get("not_given", ())
        learner = known_fields(LearnerConfig, table["learner"]) | dict(table.get("sweep", ()))
        learner = {name: value for name, value in learner.items() if name not in absent}
        table["learner"], table["sweep"] = read_learner(learner)
        for key in ("grids", "tasks"):
            table[key] = tuple(tuple(item) for item in table[key])
        table["warm_start"] = read_warm_starts(dict(table.get("warm_start", ())), table["methods"])
        table["methods"] = tuple(Method.read(label) for label in table["methods"])
        return cls(**table)

    def __hash__(self) -> int:
        return self._number

    @cached_property
    def _number(self) -> int:
        """Tells plans apart in caches, also where their learners are not known."""
        return hash(self.to_json())

    @cached_property
    def digest(self) -> str:
        """A hash of what determines the numbers of all runs."""
        labels = [method.label for method in self.methods]
        rest = self.grids, self.tasks, labels, self.seeds, self.steps, self.metric, self.root_seed, self.slip
        more = ["greedy_ticks"] * self.greedy_ticks
        return hash_of(json.dumps([*rest, *self._where, *self.identities, *self.warm_start, *more], sort_keys=True))

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """Numbers of maps, tasks, methods, variants and seeds; runs are numbered in this order, seeds fastest."""
        return len(self.grids), len(self.tasks), len(self.methods), len(self.variants), self.seeds

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kind of problem that every world makes, by which learners are looked up."""
        return tuple(kind_of_problem(text) for _, _, text in self.grids)

    @property
    def largest_grids(self) -> dict[str, int]:
        """The world with the largest tables, of every kind of problem."""
        by_size = sorted(range(len(self.grids)), key=lambda grid: weigh(self.grids[grid][2]))
        return {self.kinds[grid]: grid for grid in by_size}

    @cached_property
    def variants(self) -> tuple[LearnerConfig, ...]:
        """The settings of every combination of the values of swept settings."""
        crossed = itertools.product(*(values for _, values in self.sweep))
        return tuple(replace(self.learner, **dict(zip(self.swept, values, strict=True))) for values in crossed)

    @cached_property
    def has_means(self) -> bool:
        """Whether lengths are means: some map has several starts."""
        return self.start is not None or any(count_starts(text) > 1 for _, _, text in self.grids)

    @property
    def swept(self) -> tuple[str, ...]:
        """The swept settings; each is a coordinate of the runs."""
        return tuple(name for name, _ in self.sweep)

    @property
    def count(self) -> int:
        """Number of runs."""
        return math.prod(self.shape)

    def place(self, runs: Array) -> tuple[Array, ...]:
        """Return grid, task, method, variant and seed of runs."""
        return np.unravel_index(runs, self.shape)

    def coordinates(self, run: int) -> Place:
        """Return the place of a run."""
        return Place(*(int(index) for index in self.place(np.array(run))))

    @property
    def ticks(self) -> int:
        """Number of ticks."""
        return self.learner.count_ticks(self.steps)

    @property
    def step(self) -> Array:
        """Steps made at every tick."""
        return self.learner.steps_at_ticks(self.steps)

    def values(self, name: str) -> Sequence[Any]:
        """Return the values of one coordinate along its axis: one per map, task, method, swept value or seed."""
        if name in self.swept:
            return column_of(dict(self.sweep)[name])
        if name in ("setup", "grid"):
            return [grid[("setup", "grid").index(name)] for grid in self.grids]
        if name == "task":
            return [task for task, _ in self.tasks]
        if name == "seed":
            return range(self.seeds)
        if name == "shaping":
            return [int(method.shaping) for method in self.methods]
        return [(method.kind or "file") if name == "kind" else getattr(method, name) for method in self.methods]

    def axis(self, name: str, runs: Array) -> Array:
        """Return which of the `values` of a coordinate each of some runs has."""
        places = self.place(runs)
        if name in self.swept:
            sizes = [len(values) for _, values in self.sweep]
            return np.unravel_index(places[3], sizes)[self.swept.index(name)]
        return places[{"setup": 0, "grid": 0, "task": 1, "seed": 4}.get(name, 2)]

    def coordinate(self, name: str, runs: Array) -> Array:
        """Return one coordinate of runs, text as bytes."""
        which, kind = self.axis(name, runs), np.int8 if name == "shaping" else None
        if name == "seed":
            return which.astype(np.int32)
        values = [value.encode() if isinstance(value, str) else value for value in self.values(name)]
        column: Array = np.array(values, dtype=kind)[which]
        return column

    def attributes(self) -> dict[str, str]:
        """Return what a result file says of the plan."""
        algos = {method.algo for method in self.methods}
        semantics = {algo: registry.find(algo).semantics for algo in algos}
        if "water" in self.kinds:
            semantics |= {f"{algo} on water": registry.find(algo, "water").semantics for algo in registry.LINEAR}
        return {
            "semantics": json.dumps(semantics, sort_keys=True),
            "experiment": json.dumps(self.experiment, sort_keys=True),
            "plan": self.to_json(),
            "identity": self.digest,
        }

    def machines(self, grid: int, task: int, method: int) -> tuple[str, ...]:
        """Return the machines that a method runs a task with on a map."""
        of_kind = self.tasks[task][1]
        texts = of_kind[""] if "" in of_kind else of_kind[self.methods[method].kind or ""]
        return tuple(texts[grid if len(texts) > 1 else 0])

    def problem(self, grid: int, task: int, method: int) -> Problem:
        """Compile the problem of a run; the last few are kept."""
        setup, _, text = self.grids[grid]
        machines, named = self.machines(grid, task, method), (setup, self.source(task))
        found = _problem(text, machines, named, self.profile, self.metric, self.slip, 0.9, self.start)
        if machines != self.machines(grid, task, 0):  # another kind of reward for the same task
            found.borrow(lambda: self.problem(grid, task, 0))
        return found

    def source(self, task: int) -> str:
        """Return how messages name a task: by the key and the entry of the experiment that it comes from."""
        name, machines = self.tasks[task]
        return f"{'machine_files' if '' in machines else 'tasks'}: {name}"

    def config(self, place: Place) -> LearnerConfig:
        """Return the settings of a run: those of its variant, with the initial values that the method asks for."""
        grid, task, method, variant, _ = place
        config, optimism = self.variants[variant], self.optimism_of(self.methods[method])
        if optimism is None:
            return config
        low, high = _value_range(self, grid, task, method, config.gamma)
        return replace(config, q_init=low + optimism * (high - low))

    def source_of(self, run: int) -> int | None:
        """Return the run whose values a run starts with, None for one that starts afresh."""
        place, labels = self.coordinates(run), [method.label for method in self.methods]
        source = dict(self.warm_start).get(labels[place.method])
        if source is None:
            return None
        return int(np.ravel_multi_index(place._replace(method=labels.index(source)), self.shape))

    def optimism_of(self, method: Method) -> float | None:
        """Return where a method's initial values lie between the true ones, None for the q_init as set."""
        return self.optimism if method.optimism is None and not method.shaping else method.optimism

    def stream(self, grid: int, seed: int) -> int:
        """Return the 64-bit seed of a run: the same for all methods and tasks on a map."""
        return int(hash_of("stream", str(self.root_seed), self.grids[grid][2], str(seed))[:16], 16)

    @cached_property
    def identities(self) -> tuple[str, ...]:
        """What determines the numbers of every method and variant beside map, machines, steps and seed, as JSON."""
        return tuple(identity for kind in sorted(set(self.kinds)) for identity in self._identities[kind])

    @cached_property
    def _identities(self) -> dict[str, list[str]]:
        """The identities on every kind of problem."""
        profile, tick = Profile.named(self.profile), self.learner.tick_within(self.steps)
        return {
            kind: [
                identity_of(method, replace(config, tick=tick), profile, self.optimism_of(method), kind)
                for method, config in itertools.product(self.methods, self.variants)
            ]
            for kind in dict.fromkeys(self.kinds)
        }

    @property
    def _where(self) -> tuple[str, ...]:
        """Where episodes begin, if not where the maps say; part of a run's identity."""
        return () if self.start is None else (self.start,)

    def run_id(self, run: int) -> str:
        """Return a hash, 16 hexadecimal digits, of everything that determines the numbers of a run."""
        grid, task, method, variant, seed = self.coordinates(run)
        texts = self.grids[grid][2], *self.machines(grid, task, method)
        rest = self.metric, self.slip, self.steps, self.stream(grid, seed), *self._where
        before = () if (source := self.source_of(run)) is None else (self.run_id(source),)
        identity = self._identities[self.kinds[grid]][method * len(self.variants) + variant]
        return hash_of(*texts, json.dumps(rest), identity, *before)[:16]


@remember()
def _problem(grid: str, texts: tuple[str, ...], named: tuple[str, str], *settings: Any) -> Problem:
    return compile(read_world(grid, named[0]), [read_machine(text, named[1]) for text in texts], *settings)


@lru_cache(maxsize=64)
def _value_range(plan: Plan, grid: int, task: int, method: int, gamma: float) -> tuple[float, float]:
    """Return the smallest and the largest true value, the same for every start and batch; no problem is kept for it."""
    return value_range(plan.problem(grid, task, method), gamma)
