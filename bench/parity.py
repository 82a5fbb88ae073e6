"""``parity``: our curves, optima and speeds beside those published with the reference implementation.

The published data is read from a folder that the user names; none of it is ours. Curves are compared in the published
metric at five steps spread evenly over each curve. A comparison is a two-sample Kolmogorov-Smirnov test by permutation
between our runs and the published ones; with N comparisons equality is rejected where a p-value times N falls below 1 %
(Bonferroni).

On Water world the published episodes stand beside the exact optimum. From the second episode on the reference starts an
agent with the velocity of the first action of the whole run, which its logs do not tell. So the fewest steps are the
least over all five. In the reference a wrong ball in the last state of t10 pays what success pays. An episode that was
paid sooner than any completion can be has fallen off in this way.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fastrm import plots
from fastrm.arrays import Array
from fastrm.config import Profile
from fastrm.errors import ConfigError, StoreError, printable
from fastrm.exact import optimal_arps
from fastrm.experiments import (
    MONITOR_FILE,
    Experiment,
    Interrupted,
    Method,
    Monitor,
    Plan,
    read_monitor,
    reference_folder,
    run as run_plan,
    suite_file,
)
from fastrm.learners import train_many
from fastrm.machines import RewardMachine
from fastrm.problems import Problem, compile
from fastrm.results import Results, permutation_p
from fastrm.textfile import read_text
from fastrm.worlds import PUSH, PUSHES, WATER_ACTIONS, GridMap, WaterWorld

from .console import (
    FAILED,
    INTERRUPTED,
    add_json,
    add_quiet,
    add_workers,
    new_console,
    new_table,
    print_json,
    print_message,
    writing,
)
from .progress import report_lines

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
WATER_WORLDS = ("M1", "M3")
"""Worlds whose episodes were published."""
LAST_EPISODES = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--reference", metavar="DIR", help="folder of the published data (default: FASTRM_REFERENCE)")
    parser.add_argument(
        "--out", type=Path, default=Path("results/parity"), metavar="DIR",
        help="folder for our runs, a table and a figure (default results/parity)",
    )  # fmt: skip
    parser.add_argument("--runs", type=int, default=60, metavar="N", help="our runs per curve (default 60)")
    add_workers(parser)
    parser.add_argument("--water", action="store_true", help="only score the published episodes of Water world")
    parser.add_argument("--ablation", action="store_true", help="switch off one quirk of profile icarte2022 at a time")
    add_json(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing, compare, print and draw; exit code 1 where equality is rejected."""
    if arguments.json and arguments.ablation:
        raise ConfigError("--json and --ablation do not go together; the table of --ablation is Markdown")
    folder = reference_folder(arguments.reference)
    if arguments.water:
        if arguments.ablation:
            raise ConfigError("--water and --ablation do not go together; --water runs nothing")
        water = score_water(folder)
        if arguments.json:
            print_json(water)
        else:
            print_water(water)
        return FAILED if water.impossible else 0
    check_folder(folder)
    optima = compare_optima(folder)
    with writing(arguments.out):
        arguments.out.mkdir(parents=True, exist_ok=True)
    try:
        if arguments.ablation:
            return ablate(folder, arguments)
        curves = compute(folder, arguments, PARITY_PROFILE)
    except Interrupted as stop:
        print_message(str(stop))
        return INTERRUPTED
    comparisons = [one for curve in curves for one in curve.compare()]
    write_table(arguments.out / "parity.csv", comparisons)
    figure = arguments.out / "parity.png" if plots.have_matplotlib() else None
    if figure is not None:
        plots.save(plots.parity_curves(curves), figure)
    water = score_water(folder) if (folder / "water").is_dir() else WaterScores()
    if arguments.json:
        report = {"optima": optima, "comparisons": comparisons, "rejected": rejected(comparisons)}
        print_json({**report, "speeds": compare_speeds(folder), "figure": figure, "water": water})
    elif not arguments.quiet:
        print_optima(optima)
        print_parity(curves, comparisons)
        sys.stdout.write(f"both curves in {printable(str(figure))}\n" if figure else "")
        print_speeds(compare_speeds(folder))
        if water.optima:
            print_water(water)
    return FAILED if rejected(comparisons) or water.impossible else 0


def print_water(water: WaterScores) -> None:
    """Print the tables."""
    console, records = new_console(), water.records
    for one in water.optima:
        rows = zip(WATER_ACTIONS, map(str, one.paid), map(str, one.completed), strict=True)
        heads = "velocity at the start", "paid", "completed"
        console.print(new_table(f"fewest steps of t10 on {one.world}", *heads, rows=rows))
    columns = ("world", "learner", "episodes", "paid", "best", "ratio", "settled", "ratio", "fell")
    table = new_table("published episodes of t10: steps, and their ratio to the fewest", *columns)
    for record in records:
        share = f"{record.paid / record.episodes:.0%}"
        steps = [
            f"{record.best}", f"{record.best / record.fewest_paid:.2f}", f"{record.settled:g}",
            f"{record.settled / record.fewest_paid:.2f}", f"{record.fell_off:.1%}",
        ] if record.paid else ["-"] * 5  # fmt: skip
        table.add_row(record.world, record.algorithm, f"{record.episodes:,}", share, *steps)
    console.print(table)
    attained = sorted({record.world for record in records if record.best == record.fewest_paid})
    console.print(
        "fell: paid sooner than any completion can be, so at least this share of all episodes paid\n"
        f"{len(water.impossible) or 'no'} best episode is shorter than the fewest steps; attained on "
        f"{', '.join(attained) or 'no world'}"
    )


def compute(folder: Path, arguments: argparse.Namespace, profile: str) -> list[Curves]:
    """Run, or load, our side of the comparison under a profile."""
    results = {}
    for domain, experiment in parity_experiments(folder, arguments.runs, profile).items():
        out = arguments.out / f"{domain}{'' if profile == PARITY_PROFILE else '-' + profile.replace(' ', '')}.h5"
        results[domain] = run_plan(
            Plan.of(experiment), out, workers=arguments.workers, report=report_lines(arguments.quiet),
            progress=not arguments.quiet,
        )  # fmt: skip
    return load_curves(folder, results)


def ablate(folder: Path, arguments: argparse.Namespace) -> int:
    """Run once more with every quirk of the profile switched off, and print a Markdown table."""
    whole = compute(folder, arguments, PARITY_PROFILE)
    sys.stdout.write(
        f"| profile | curves that change, of {len(whole)} | largest shift of our median | rejected against the "
        f"published | median p |\n|---|---|---|---|---:|\n{ablation_row(PARITY_PROFILE, whole, whole)}"
    )
    for switch in Profile.__dataclass_fields__:
        name = f"{PARITY_PROFILE} - {switch}"
        try:
            row = ablation_row(name, compute(folder, arguments, name), whole)
        except ConfigError as problem:
            row = f"| {name} | | | does not run: {problem} | |\n"
        sys.stdout.write(row)
        sys.stdout.flush()
    return 0


def write_table(path: Path, comparisons: Sequence[Comparison]) -> None:
    """Write every comparison as CSV."""
    with writing(path), path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["domain", "map", "algorithm", "step", "ours", "published", "p"])
        for one in comparisons:
            figures = (f"{value:.6g}" for value in (one.ours, one.published, one.p))
            writer.writerow([one.cell.domain, one.cell.grid, one.algorithm, one.step, *figures])


def print_optima(optima: Sequence[Pair]) -> None:
    """Print how far our exact optima are from the published estimates."""
    for domain in ("craft", "office"):
        some = [one for one in optima if one.name.startswith(domain)]
        worst = max(some, key=lambda one: abs(one.deviation))
        new_console().print(
            f"{len(some)} optima of {domain}: at most {abs(worst.deviation):.4%} from the published ones "
            f"({worst.name}: {worst.ours:.6f}, published {worst.published:.6f})"
        )


def print_parity(curves: Sequence[Curves], comparisons: Sequence[Comparison]) -> None:
    """Print medians and p-values at every compared step, and what follows from all of them."""
    console = new_console()
    usual_width, console.width = console.width, max(console.width, 175)
    shares = (f"{share:.0%}" for share in COMPARED_AT)
    title = "median score, ours / published (p-value), along the curve"
    table = new_table(title, "map", "algorithm", "runs", *shares, "median shift")
    out = {id(one) for one in rejected(comparisons)}
    for curve in curves:
        some = [one for one in comparisons if (one.cell, one.algorithm) == (curve.cell, curve.algorithm)]
        cells = [f"{one.ours:.3f}/{one.published:.3f} ({one.p:.2g})" for one in some]
        cells = [f"[red]{cell}[/]" if id(one) in out else cell for cell, one in zip(cells, some, strict=True)]
        shift = float(np.median([one.ours - one.published for one in some]))
        runs = f"{len(curve.ours)}/{len(curve.published)}"
        table.add_row(curve.cell.name, curve.algorithm, runs, *cells, f"{shift:+.4f}")
    console.print(table)
    console.width = usual_width
    smallest = min(one.p for one in comparisons)
    console.print(
        f"{len(comparisons)} comparisons: smallest p-value {smallest:.2g}, times their number "
        f"{smallest * len(comparisons):.2g}; median p-value {np.median([one.p for one in comparisons]):.2g}"
    )
    for one in rejected(comparisons):
        console.print(
            f"[red]rejected[/]: {one.cell.name} {one.algorithm} at {one.step} steps: {one.ours:.4f} against "
            f"{one.published:.4f}"
        )
    if not out:
        console.print(f"no comparison rejects equality at {REJECTION_LEVEL:.0%} after correcting for their number")


def print_speeds(speeds: Sequence[Pair]) -> None:
    """Print steps a second on one core, here and as published."""
    rows = ((s.name, *(f"{x:,.0f}" for x in (s.ours, s.published, s.ours / s.published))) for s in speeds)
    new_console().print(new_table("steps a second on one core", "", "ours", "published", "ratio", rows=rows))


def ablation_row(name: str, curves: Sequence[Curves], whole: Sequence[Curves]) -> str:
    """Return a row of the table of quirks: our curves without one against ours with all of them, and the published."""
    comparisons = [one for curve in curves for one in curve.compare()]
    changed = [k for k, (one, other) in enumerate(zip(curves, whole, strict=True)) if (one.ours != other.ours).any()]
    shift = "none"
    if changed:
        gaps = [np.median(curves[k].ours, axis=0) - np.median(whole[k].ours, axis=0) for k in changed]
        k = int(np.argmax([np.abs(gap).max() for gap in gaps]))
        at, curve = int(np.abs(gaps[k]).argmax()), curves[changed[k]]
        where = f"{curve.cell.name} {curve.algorithm} at {curve.steps[at]:,} steps".replace(",", " ")
        shift = f"{gaps[k][at]:+.3f} ({where})"
    out = rejected(comparisons)
    where = ", ".join(dict.fromkeys(f"{one.cell.name} {one.algorithm}" for one in out))
    rejections = f"{len(out)} of {len(comparisons)}: {where}" if out else "none"
    learners = ", ".join(dict.fromkeys(curves[k].algorithm for k in changed))
    changes = f"{len(changed)}: {learners}" if changed else "none"
    return f"| {name} | {changes} | {shift} | {rejections} | {np.median([one.p for one in comparisons]):.2f} |\n"


def published_runs(folder: Path, algorithm: str, domain: str, grid: str) -> list[Monitor]:
    """Read all runs of an algorithm on a map; StoreError where the folder is not there or only half copied."""
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


def load_map(folder: Path, name: str) -> GridMap:
    """Load a Craft map."""
    return GridMap.load(_present(folder / "maps" / f"map_{name[1:]}.txt"))


def load_machine(folder: Path, domain: str, task: str) -> RewardMachine:
    """Load the machine of a task."""
    return RewardMachine.load(_present(folder / "machines" / domain / f"{task}.txt"))


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
class Pair:
    """Our exact optimum beside a published estimate, or steps a second on one core, here and as published."""

    name: str
    ours: float
    published: float

    @property
    def deviation(self) -> float:
        """Relative difference."""
        return self.ours / self.published - 1.0


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
    for cell, algorithm in product(CASES, ALGORITHMS):
        published_runs(folder, algorithm, cell.domain, cell.grid)


def load_curves(folder: Path, results: dict[str, Results]) -> list[Curves]:
    """Bring our results and the published logs into one form; ConfigError where a run of ours failed."""
    optima, found = published_optima(folder), []
    for domain, some in results.items():
        if (broken := some["error"][some["error"] != ""]).size:
            raise ConfigError(f"{domain}: {broken[0]}")
    for cell, (algorithm, method) in product(CASES, ALGORITHMS.items()):
        if cell.domain in results:
            units = [optima[cell.domain.partition("-")[0], cell.grid, task] for task in cell.tasks]
            steps, scores = results[cell.domain].curves(method=method, grid=cell.ours)
            logs = published_runs(folder, algorithm, cell.domain, cell.grid)
            theirs = np.array([log.scores(steps, units, cell.window) for log in logs])
            found.append(Curves(cell, algorithm, steps, np.nan_to_num(scores), theirs))
    return found


def rejected(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons that reject equality, corrected for their number."""
    return [one for one in comparisons if one.p * len(comparisons) < REJECTION_LEVEL]


def compare_optima(folder: Path) -> list[Pair]:
    """Compute all published optima exactly."""
    office = GridMap.load(suite_file("office.map"))
    found = []
    for (domain, name, task), published in published_optima(folder).items():
        grid = load_map(folder, name) if domain == "craft" else office
        ours = optimal_arps(compile(grid, load_machine(folder, domain, task), PARITY_PROFILE))[0]
        found.append(Pair(f"{domain} {name} {task}", ours, published))
    return found


def compare_speeds(folder: Path, steps: int = 2_000_000) -> list[Pair]:
    """Time one core on Craft M1: every published algorithm on t10, and CRM on ten tasks at once."""
    grid, tasks = load_map(folder, "M1"), [load_machine(folder, "craft", f"t{k}") for k in range(1, 11)]
    single, multi = compile(grid, tasks[-1], PARITY_PROFILE), compile(grid, tasks, PARITY_PROFILE)
    found = []
    for name, method in ALGORITHMS.items():
        logs = published_runs(folder, name, "craft-single", "M1")
        published = np.median([log.length.sum() / log.seconds[-1] for log in logs])
        found.append(Pair(f"craft-single {name}", _time(single, method, steps), float(published)))
    return [*found, Pair("craft-multi crm", _time(multi, "crm", steps), MULTI_TASK_STEPS_PER_SECOND)]


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


@dataclass(frozen=True)
class WaterOptimum:
    """Fewest steps of a task in the reference's own terms; at rest, and pushed up, right, down, left at the start."""

    world: str
    paid: tuple[int, ...]
    """To be paid, by completing the task or by falling off."""
    completed: tuple[int, ...]
    """To complete the task."""


@dataclass(frozen=True)
class WaterRecord:
    """The published episodes of one algorithm on one world."""

    world: str
    algorithm: str
    runs: int
    episodes: int
    paid: int
    """Episodes that were paid."""
    best: int
    """Steps of the shortest of them, 0 where none was."""
    settled: float
    """Median steps of the last 1000 of every run that were paid, NaN where none was."""
    fell_off: float
    """Share of the episodes paid that were shorter than any completion: at least this share fell off."""
    fewest_paid: int
    """Fewest steps to be paid, from any velocity."""
    fewest_completed: int
    """Fewest steps to complete the task, from any velocity."""


def water_optima(folder: Path) -> list[WaterOptimum]:
    """Search for the fewest steps on the worlds whose episodes were published."""
    machine, path = load_machine(folder, "water", "t10"), _present(folder / "water" / "worlds.json")
    found = []
    for name in WATER_WORLDS:
        worlds = [WaterWorld.load(path, name, (PUSH * x, PUSH * y)) for x, y in PUSHES]
        problems = [compile(world, machine, PARITY_PROFILE) for world in worlds]
        paid, completed = (tuple(getattr(one, name)[0] for one in problems) for name in ("soonest_paid", "shortest"))
        found.append(WaterOptimum(name, paid, completed))
    return found


class WaterScores(NamedTuple):
    """The optima of Water world, and the published episodes scored against them."""

    optima: Sequence[WaterOptimum] = ()
    records: Sequence[WaterRecord] = ()

    @property
    def impossible(self) -> list[WaterRecord]:
        """The records with an episode that is shorter than the optimum."""
        return [record for record in self.records if record.paid and record.best < record.fewest_paid]


def score_water(folder: Path) -> WaterScores:
    """Score the published episodes against the optima; StoreError where the folder is not there or half copied."""
    optima, records = water_optima(folder), []
    for optimum, algorithm in product(optima, ALGORITHMS):
        logs = published_runs(folder, algorithm, "water-single", optimum.world)
        lengths = [log.length[log.reward > 0] for log in logs]
        paid, last = np.concatenate(lengths), np.concatenate([steps[-LAST_EPISODES:] for steps in lengths])
        records.append(
            WaterRecord(
                world=optimum.world,
                algorithm=algorithm,
                runs=len(logs),
                episodes=sum(len(log.length) for log in logs),
                paid=len(paid),
                best=int(paid.min()) if paid.size else 0,
                settled=float(np.median(last)) if paid.size else math.nan,
                fell_off=float((paid < min(optimum.completed)).mean()) if paid.size else 0.0,
                fewest_paid=min(optimum.paid),
                fewest_completed=min(optimum.completed),
            )
        )
    return WaterScores(optima, records)
