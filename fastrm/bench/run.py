"""``run``: run an experiment, or go on with it."""

from __future__ import annotations

import argparse
import re
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fastrm.bench.console import (
    FAILED,
    INTERRUPTED,
    all_failed,
    print_summary,
    progress_bar,
    say_failures,
)
from fastrm.checks import check_whole
from fastrm.errors import ConfigError, StoreError, printable

if TYPE_CHECKING:
    from fastrm.experiments import Experiment, Plan

CHANGES = ("steps", "seeds", "maps")
"""Settings of a suite that the command line may replace."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("suite", metavar="SUITE", help="paper, quick, icarte, beyond, or a .toml file")
    parser.add_argument("--out", type=Path, metavar="FILE", help="result file (default SUITE.h5)")
    parser.add_argument("-j", "--workers", type=int, metavar="N", help="workers (default: all cores it may use)")
    parser.add_argument("--isolation", choices=("thread", "process"), default="thread", help="threads or processes")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="run on the Dask cluster at ADDRESS")
    parser.add_argument("--shard", metavar="i/N", help="run only part i of N; join the parts with 'merge'")
    for name in CHANGES:
        parser.add_argument(f"--{name}", type=int, metavar="N", help=f"{name} instead of the suite's")
    parser.add_argument("--reference", metavar="DIR", help="published data, for icarte (default: FASTRM_REFERENCE)")
    parser.add_argument("--episodes", type=Path, metavar="DIR", help="also write every episode as 0.0.monitor.csv")
    parser.add_argument(
        "--report", action="store_true", help="then draw the figures and judge the paper's claims, or tell findings"
    )
    parser.add_argument("--fresh", action="store_true", help="start over; an old file is kept as .bak")
    parser.add_argument("--dry-run", action="store_true", help="say what would run, how long and how large")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment, or each of a series, and print a summary."""
    from fastrm.experiments import read_suite

    changes = {name: getattr(arguments, name) for name in CHANGES}
    experiments = read_suite(arguments.suite, arguments.reference, **changes)
    if len(experiments) > 1 and arguments.out:
        names = ", ".join(experiment.name for experiment in experiments)
        raise ConfigError(f"{arguments.suite} is a series; --out goes with one of {names}")
    worst = 0
    for experiment in experiments:
        code = run_one(experiment, arguments)
        if code == INTERRUPTED:
            return code
        worst = max(worst, code)
    return worst


def run_one(experiment: Experiment, arguments: argparse.Namespace) -> int:
    """Run one experiment and print a summary."""
    from fastrm.bench.plot import folder_of
    from fastrm.bench.reporting import report_on
    from fastrm.experiments import Interrupted, Plan, run as run_plan, write_episodes

    plan = Plan.of(experiment)
    shard = parse_shard(arguments.shard)
    out = arguments.out or default_path(experiment.name, shard)
    if arguments.dry_run:
        print_forecast(plan, out, arguments.workers)
        return 0
    with progress_bar(quiet=arguments.quiet) as report:
        try:
            results = run_plan(
                plan, out, workers=arguments.workers, isolation=arguments.isolation, scheduler=arguments.scheduler,
                shard=shard, fresh=arguments.fresh, report=report,
            )  # fmt: skip
        except Interrupted as stop:
            sys.stderr.write(f"fastrm: {stop}\n")
            return INTERRUPTED
        except StoreError as problem:
            hint = " (--out names another file, --fresh starts over)" if "start over" in str(problem) else ""
            raise type(problem)(f"{problem}{hint}") from None
    if arguments.episodes is not None:
        written = write_episodes(plan, results["run"].tolist(), arguments.episodes, workers=arguments.workers)
        if not arguments.quiet:
            sys.stderr.write(f"fastrm: {written} logs of episodes in {arguments.episodes}\n")
    if arguments.report and not all_failed(results):
        report_on(results, folder_of(out), quiet=arguments.quiet)
    if not arguments.quiet and not arguments.report:
        print_summary(results)
        return FAILED if (results["error"] != "").any() else 0
    return FAILED if say_failures(results) else 0


def print_forecast(plan: Plan, out: Path, workers: int | None = None) -> None:
    """Print what a plan would run, how long it would take and how large the file would be, from a short calibration."""
    from rich.console import Console

    from fastrm.experiments import peak_bytes, work
    from fastrm.resources import usable_cores

    if workers is not None:
        check_whole("workers", workers, 1, 10_000)
    console = Console(highlight=False, markup=False, emoji=False)
    few = 100_000 if plan.learner.tick == "log" else 10 * plan.learner.tick
    calibration = replace(plan, grids=plan.grids[:1], seeds=1, steps=min(plan.steps, few))
    work(calibration.to_json(), range(calibration.count))  # compile first
    begun = time.perf_counter()
    work(calibration.to_json(), range(calibration.count))
    per_step = (time.perf_counter() - begun) / (calibration.count * calibration.steps)
    steps, cores = plan.count * plan.steps, workers or usable_cores()
    size = plan.count * (300 + 12 * len(plan.step))
    console.print(
        f"{len(plan.grids)} maps x {len(plan.tasks)} tasks x {len(plan.methods)} methods x {plan.seeds} seeds = "
        f"{plan.count} runs of {plan.steps:,} steps: {steps / 1e9:.3g} billion steps"
    )
    seconds, memory = steps * per_step / cores, peak_bytes(plan, cores)
    console.print(
        f"about {seconds:.0f} s on {cores} cores, {memory / 1e6:.0f} MB of memory for what is learned, "
        f"at most {size / 1e6:.1f} MB in {printable(str(out))}",
        soft_wrap=True,
    )
    for setup, name, _ in plan.grids:
        console.print(printable(f"  map {setup} {name}"))
    tasks, methods = (name for name, _ in plan.tasks), (method.label for method in plan.methods)
    console.print(printable(f"  tasks {', '.join(tasks)}; methods {', '.join(methods)}"))


def default_path(name: str, shard: tuple[int, int] | None) -> Path:
    """Return where the results of a suite go: the folder ``results`` where there is one, else here."""
    suffix = "" if shard is None else f".shard-{shard[0]}-of-{shard[1]}"
    folder = Path("results")
    return (folder if folder.is_dir() else Path()) / f"{name}{suffix}.h5"


def parse_shard(text: str | None) -> tuple[int, int] | None:
    """Read ``i/N``."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise ConfigError(f"--shard {text}: expected i/N with i from 1 to N, such as 1/4")
    return int(match[1]), int(match[2])
