"""What an experiment means: the text of every map and machine, and numbered runs.

A plan can be sent to another process or machine as one string. Runs are numbered
``(((grid * tasks + task) * methods + method) * variants + variant) * seeds + seed``, a variant being a combination of
the values of swept settings; `Plan.shape` and `Plan.place` alone know that.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from fastrm.arrays import Array
from fastrm.config import LearnerConfig, Profile
from fastrm.exact import value_range
from fastrm.experiments.experiment import Experiment
from fastrm.experiments.identities import hash_of, identity_of
from fastrm.experiments.methods import Method, read_warm_starts
from fastrm.experiments.plan_text import known_fields, read_machine, read_plan
from fastrm.experiments.sweeps import Sweep, check_is_read, column_of, read_learner, stored_column, variants_of
from fastrm.experiments.written import Machines, grids_of, tasks_of
from fastrm.learners import registry
from fastrm.problems import Metric, Problem, compile
from fastrm.resources import remember
from fastrm.worlds import count_starts, read_world


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

    @classmethod
    def of(cls, experiment: Experiment) -> Self:
        """Generate and read everything an experiment names, and check it."""
        grids = grids_of(experiment)
        methods = tuple(Method.parse(label) for label in experiment.methods)
        tasks = tasks_of(experiment, {method.kind for method in methods}, grids)
        check_is_read(experiment.sweep, methods, experiment.optimism)
        settings = asdict(experiment)
        for key in ("map_files", "machine_files"):
            settings[key] = [Path(name).name for name in settings[key]]
        if not experiment.warm_start:  # as in files from before there were warm starts
            del settings["warm_start"]
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
        )

    def to_json(self) -> str:
        """Return the plan as one string."""
        table = asdict(self) | {"methods": [method.label for method in self.methods]}
        absent = {name for name in ("sweep", "start", "warm_start") if not table[name]}  # as in files from before
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
        table = known_fields(cls, read_plan(text))
        learner = known_fields(LearnerConfig, table["learner"]) | dict(table.get("sweep", ()))
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
        return hash_of(json.dumps([*rest, *self._where, *self.identities, *self.warm_start], sort_keys=True))

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """Numbers of maps, tasks, methods, variants and seeds; runs are numbered in this order, seeds fastest."""
        return len(self.grids), len(self.tasks), len(self.methods), len(self.variants), self.seeds

    @cached_property
    def variants(self) -> tuple[LearnerConfig, ...]:
        """The settings of every combination of the values of swept settings."""
        return variants_of(self.learner, self.sweep)

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

    def coordinate(self, name: str, runs: Array) -> Array:
        """Return one coordinate of runs, text as bytes."""
        places = self.place(runs)
        if name == "seed":
            return places[4].astype(np.int32)
        if name in self.swept:
            return stored_column(self.sweep, name, places[3])
        which = places[0 if name in ("setup", "grid") else 1 if name == "task" else 2]
        values = self.values(name)
        if name == "shaping":
            return np.array(values, dtype=np.int8)[which]
        column: Array = np.array([value.encode() for value in values], dtype=np.bytes_)[which]
        return column

    def attributes(self) -> dict[str, str]:
        """Return what a result file says of the plan."""
        semantics = {method.algo: registry.find(method.algo).semantics for method in self.methods}
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
        named = setup, self.source(task)
        settings = self.profile, self.metric, self.slip, 0.9, self.start
        return _problem(text, self.machines(grid, task, method), named, *settings)

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
        profile = Profile.named(self.profile)
        crossed = itertools.product(self.methods, self.variants)
        return tuple(identity_of(method, config, profile, self.optimism_of(method)) for method, config in crossed)

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
        identity = self.identities[method * len(self.variants) + variant]
        return hash_of(*texts, json.dumps(rest), identity, *before)[:16]


@remember()
def _problem(grid: str, texts: tuple[str, ...], named: tuple[str, str], *settings: Any) -> Problem:
    return compile(read_world(grid, named[0]), [read_machine(text, named[1]) for text in texts], *settings)


@lru_cache(maxsize=64)
def _value_range(plan: Plan, grid: int, task: int, method: int, gamma: float) -> tuple[float, float]:
    """Return the smallest and the largest true value, the same for every start and batch; no problem is kept for it."""
    return value_range(plan.problem(grid, task, method), gamma)
