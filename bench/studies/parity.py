"""Our learning curves, optima and speeds beside those published with the reference implementation.

The published data is read from a folder that the user names; none of it is ours. Curves are compared in the published
metric at five steps spread evenly over each curve. A comparison is a two-sample Kolmogorov-Smirnov test by permutation
between our runs and the published ones; with N comparisons equality is rejected where a p-value times N falls below 1 %
(Bonferroni).
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import ConfigError, StoreError
from fastrm.exact import optimal_arps
from fastrm.experiments import MONITOR_FILE, Experiment, Method, Monitor, read_monitor, suite_file
from fastrm.learners import train_many
from fastrm.machines import RewardMachine
from fastrm.problems import Problem, compile
from fastrm.results import Results, permutation_p
from fastrm.textfile import read_text
from fastrm.worlds import GridMap

ALGORITHMS = {"ql": "qrm", "ql-rs": "qrm-rs", "crm": "crm", "crm-rs": "crm-rs", "hrm": "hrm", "hrm-rs": "hrm-rs"}
"""Published names, and our names of the same methods."""
CRAFT_MAPS = ("M0", "M1", "M2", "M3", "M4", "M5")
TASKS = {"craft": 10, "office": 4}
PUBLISHED_RUNS = {"craft-single": 6, "office-single": 10, "craft": 6, "office": 10, "water-single": 2}
STEPS = {domain: 100_000 if "office" in domain else 2_000_000 for domain in PUBLISHED_RUNS}
"""Published runs of every curve, and their length; domains without ``single`` play all tasks in turn."""
COMPARED_AT = (0.1, 0.3, 0.5, 0.7, 0.9)
"""At which shares of a curve it is compared."""
REJECTION_LEVEL = 0.01
RUNS = 60
PARITY_PROFILE = "icarte2022"
MULTI_TASK_STEPS_PER_SECOND = 678.0
"""What the reference makes on the ten Craft tasks with CRM, as published."""


def published_runs(folder: Path, algorithm: str, domain: str, grid: str) -> list[Monitor]:
    """Read all runs of an algorithm on a map.

    Raises
    ------
    StoreError
        When the folder is not there or only half copied.
    """
    where = folder / "results" / algorithm / domain / grid
    numbers = sorted((path.name for path in where.iterdir() if path.is_dir()), key=_natural) if where.is_dir() else []
    if not numbers:
        raise StoreError(f"{where}: no runs; the folder of published data is missing or only half copied")
    files = [_present(where / number / MONITOR_FILE) for number in numbers]
    if len(numbers) < PUBLISHED_RUNS.get(domain, 0):
        raise StoreError(f"{where}: {len(numbers)} runs of {PUBLISHED_RUNS[domain]}; the folder is only half copied")
    logs = [read_monitor(file) for file in files]
    for file, log in zip(files, logs, strict=True):
        if log.length.sum() < 0.99 * STEPS.get(domain, 0):
            raise StoreError(f"{file}: ends after {log.length.sum()} of {STEPS[domain]} steps; cut off")
    return logs


def published_optima(folder: Path) -> dict[tuple[str, str, str], float]:
    """Read the published optima, by domain (craft, office), map and task."""
    path = _present(folder / "optimal_arps.json")
    try:
        table = json.loads(read_text(path, StoreError))
        maps = {("craft", name): table["craft"][name] for name in CRAFT_MAPS} | {("office", "M1"): table["office"]}
        optima = {(*place, f"t{k}"): float(x) for place, some in maps.items() for k, x in enumerate(some, start=1)}
    except (ValueError, KeyError, TypeError) as problem:
        raise StoreError(f"{path}: not the published optima ({type(problem).__name__}: {problem})") from None
    craft, office = (sum(domain == name for domain, _, _ in optima) for name in TASKS)
    if (craft, office) != (len(CRAFT_MAPS) * TASKS["craft"], TASKS["office"]):
        raise StoreError(f"{path}: {craft} and {office} optima; 60 and 4 were published")
    if min(optima.values()) <= 0:
        raise StoreError(f"{path}: an optimum is not positive")
    return optima


def map_file(folder: Path, name: str) -> Path:
    """Return the file of a Craft map."""
    return _present(folder / "maps" / f"map_{name[1:]}.txt")


def machine_file(folder: Path, domain: str, task: str) -> Path:
    """Return the file of a machine."""
    return _present(folder / "machines" / domain / f"{task}.txt")


def water_file(folder: Path) -> Path:
    """Return the file of the water worlds."""
    return _present(folder / "water" / "worlds.json")


def _present(path: Path) -> Path:
    if not path.is_file():
        raise StoreError(f"{path}: missing; the folder of published data is only half copied")
    return path


def _natural(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isascii() and name.isdigit() else (1 << 30, name)


@dataclass(frozen=True)
class PublishedCase:
    """A map and tasks whose curves were published."""

    domain: str
    grid: str
    tasks: tuple[str, ...]
    """What episodes play in turn."""
    ours: str
    """The map's name in our results."""
    window: int = 100
    """Episodes that a score is averaged over."""

    @property
    def name(self) -> str:
        """Domain and map."""
        return f"{self.domain} {self.grid}"


CASES = (
    PublishedCase("craft-single", "M1", ("t10",), "map_1"),
    PublishedCase("craft-single", "M2", ("t10",), "map_2"),
    PublishedCase("office-single", "M1", ("t3",), "office"),
    PublishedCase("craft", "M1", tuple(f"t{k}" for k in range(1, 11)), "map_1", 1000),
    PublishedCase("craft", "M2", tuple(f"t{k}" for k in range(1, 11)), "map_2", 1000),
    PublishedCase("office", "M1", tuple(f"t{k}" for k in range(1, 5)), "office", 400),
)


@dataclass(frozen=True)
class Comparison:
    """Our runs and the published ones at one step of one curve."""

    cell: PublishedCase
    algorithm: str
    step: int
    ours: float
    """Median score of our runs."""
    published: float
    """Median score of the published runs."""
    p: float


@dataclass(frozen=True)
class Optimum:
    """Our exact optimum beside a published estimate."""

    name: str
    ours: float
    published: float

    @property
    def deviation(self) -> float:
        """Relative difference."""
        return self.ours / self.published - 1.0


@dataclass(frozen=True)
class Speed:
    """Steps a second on one core, here and as published."""

    name: str
    ours: float
    published: float


@dataclass(frozen=True)
class Curves:
    """Scores of our runs and of the published ones, [run, tick], at the same steps."""

    cell: PublishedCase
    algorithm: str
    steps: Array
    ours: Array
    published: Array

    def compare(self) -> list[Comparison]:
        """Compare at five steps."""
        ticks = [round(share * len(self.steps)) - 1 for share in COMPARED_AT]
        return [
            Comparison(self.cell, self.algorithm, int(self.steps[k]), float(np.median(self.ours[:, k])),
                       float(np.median(self.published[:, k])), permutation_p(self.ours[:, k], self.published[:, k]))
            for k in ticks
        ]  # fmt: skip


def parity_experiments(folder: Path, runs: int = RUNS, profile: str = PARITY_PROFILE) -> dict[str, Experiment]:
    """Return what has to be run, by domain."""
    found = {}
    for domain in dict.fromkeys(cell.domain for cell in CASES):
        experiment = Experiment.named(f"icarte-{domain if 'single' in domain else f'{domain}-multi'}", folder)
        wanted = {cell.ours for cell in CASES if cell.domain == domain}
        maps = tuple(name for name in experiment.map_files if Path(name).stem in wanted)
        found[domain] = replace(experiment, name=f"parity-{domain}", map_files=maps, seeds=runs, profile=profile)
    return found


def check_folder(folder: Path) -> None:
    """Read everything that will be compared, so that what is missing is known before anything is run."""
    published_optima(folder)
    for cell in CASES:
        for algorithm in ALGORITHMS:
            published_runs(folder, algorithm, cell.domain, cell.grid)


def load_curves(folder: Path, results: dict[str, Results]) -> list[Curves]:
    """Bring our results and the published logs into one form.

    Raises
    ------
    ConfigError
        When a run of ours failed.
    """
    optima = published_optima(folder)
    found = []
    for domain, some in results.items():
        if (broken := some["error"][some["error"] != ""]).size:
            raise ConfigError(f"{domain}: {broken[0]}")
    for cell in (case for case in CASES if case.domain in results):
        units = [optima[cell.domain.partition("-")[0], cell.grid, task] for task in cell.tasks]
        for algorithm, method in ALGORITHMS.items():
            steps, scores = results[cell.domain].curves(method=method, grid=cell.ours)
            logs = published_runs(folder, algorithm, cell.domain, cell.grid)
            theirs = np.array([log.scores(steps, units, cell.window) for log in logs])
            found.append(Curves(cell, algorithm, steps, np.nan_to_num(scores), theirs))
    return found


def rejected(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons that reject equality, corrected for their number."""
    return [one for one in comparisons if one.p * len(comparisons) < REJECTION_LEVEL]


def compare_optima(folder: Path) -> list[Optimum]:
    """Compute all published optima exactly."""
    office = GridMap.load(suite_file("office.map"))
    found = []
    for (domain, name, task), published in published_optima(folder).items():
        grid = GridMap.load(map_file(folder, name)) if domain == "craft" else office
        machine = RewardMachine.load(machine_file(folder, domain, task))
        ours = optimal_arps(compile(grid, machine, PARITY_PROFILE))[0]
        found.append(Optimum(f"{domain} {name} {task}", ours, published))
    return found


def compare_speeds(folder: Path, steps: int = 2_000_000) -> list[Speed]:
    """Time one core on Craft M1: every published algorithm on t10, and CRM on ten tasks at once."""
    grid = GridMap.load(map_file(folder, "M1"))
    tasks = [RewardMachine.load(machine_file(folder, "craft", f"t{k}")) for k in range(1, 11)]
    single, multi = compile(grid, tasks[-1], PARITY_PROFILE), compile(grid, tasks, PARITY_PROFILE)
    found = [
        Speed(f"craft-single {name}", _time(single, method, steps),
              float(np.median([_rate(log) for log in published_runs(folder, name, "craft-single", "M1")])))
        for name, method in ALGORITHMS.items()
    ]  # fmt: skip
    return [*found, Speed("craft-multi crm", _time(multi, "crm", steps), MULTI_TASK_STEPS_PER_SECOND)]


def _rate(log: Monitor) -> float:
    return float(log.length.sum() / log.seconds[-1])


def _time(problem: Problem, method: str, steps: int) -> float:
    """Return steps a second, the median of three after a first short run."""
    parsed = Method.parse(method)
    train_many(problem, parsed.algo, steps=1000, shaping=parsed.shaping)
    seconds = []
    for seed in range(3):
        begun = time.perf_counter()
        train_many(problem, parsed.algo, steps=steps, seeds=[seed], shaping=parsed.shaping)
        seconds.append(time.perf_counter() - begun)
    return steps / float(np.median(seconds))
