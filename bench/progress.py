"""Experiments before and while they run: the list of suites, the forecast of an experiment, and its progress."""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fastrm.checks import check_whole
from fastrm.errors import ConfigError, printable
from fastrm.progress import format_duration, is_watched

from .console import format_count, format_int, format_shape, format_values, print_json, print_message, print_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastrm.experiments import Plan, Progress

_log = logging.getLogger("fastrm.bench")


CALIBRATIONS, CALIBRATION_SECONDS = (3, 9), 1.0
"""The fewest and the most runs of a calibration, and the seconds after which there are no more."""
SIDE_BY_SIDE = 6
"""Seeds of a calibration, which learn side by side like those of an experiment."""
SHARING = 1.6
"""What workers lose at most by sharing caches and memory, and by saving."""


def report_lines(quiet: bool) -> Callable[[Progress], None] | None:
    """Return what an experiment reports to: a line at the start, and one after every tenth where there is no bar.

    With `quiet` that is None.
    """
    if quiet:
        return None
    has_bar, begun, last, saved = is_watched(), False, 0, 0

    def report(progress: Progress) -> None:
        nonlocal begun, last, saved
        progress = replace(progress, computed=progress.runs_done)  # what is saved counts here
        tenth = 10 * progress.computed // progress.runs
        if not begun:
            there = f"resuming: {progress.how_far} are there"
            print_message(there if progress.before else f"{format_count(progress.runs, 'run')} to do")
        elif last < tenth < 10 and not has_bar:
            print_message(f"{progress.how_far}, about {format_duration(progress.seconds_left or 0)} left")
        if progress.computed > saved:
            rate = progress.computed * progress.steps / max(progress.seconds, 1e-9) / 1e6
            failed = f", {format_int(progress.failed)} failed" if progress.failed else ""
            _log.info("%s saved%s, %.0f M steps/s with %d workers", progress.how_far, failed, rate, progress.workers)
        begun, last, saved = True, tenth, progress.computed

    return report


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What an experiment would run, how long it would take and how large its file would be."""

    name: str
    out: Path
    maps: tuple[str, ...]
    tasks: tuple[str, ...]
    methods: tuple[str, ...]
    sweep: dict[str, tuple[float | str, ...]]
    """Values of swept settings."""
    start: str | None
    """Where episodes begin if not in the cells that maps mark."""
    seeds: int
    steps: int
    """Steps of a run."""
    runs: int
    """Runs of the experiment, or of the shard."""
    workers: int
    cores: int
    """Cores that the workers share."""
    seconds: tuple[float, float]
    """At least and at most: from the fastest and the slowest of some short runs, whatever else the computer does."""
    memory_bytes: int
    """What is learned at the same time."""
    file_bytes: int
    """At most."""
    least_shards: int
    """How many files all runs need, since a file holds so much and no more."""


def forecast(plan: Plan, out: Path, workers: int | None, shard: tuple[int, int] | None = None) -> Forecast:
    """Forecast an experiment from a short calibration; workers beyond the cores of this machine save no time.

    The time of the processor is measured, not that of the clock, so that other programs hardly matter.
    """
    from fastrm.experiments import peak_bytes, work
    from fastrm.resources import usable_cores
    from fastrm.results import MAX_BYTES, bytes_of_run, runs_of_shard

    if workers is not None:
        check_whole("workers", workers, 1, 10_000)
    few = 100_000 if plan.learner.tick == "log" else 10 * plan.learner.tick
    tasks = tuple((task, {kind: texts[:1] for kind, texts in machines.items()}) for task, machines in plan.tasks)
    seeds = min(plan.seeds, SIDE_BY_SIDE)
    calibration = replace(plan, grids=plan.grids[:1], tasks=tasks, seeds=seeds, steps=min(plan.steps, few))
    frame, _ = work(calibration.to_json(), range(calibration.count))  # compile first
    failed = frame["error"][frame["error"] != b""]
    if failed.size:
        raise ConfigError(f"{failed.size} of {calibration.count} runs on the first map fail: {failed[0].decode()}")
    measured = list[float]()
    while len(measured) < CALIBRATIONS[0] or (len(measured) < CALIBRATIONS[1] and sum(measured) < CALIBRATION_SECONDS):
        begun = time.process_time()
        work(calibration.to_json(), range(calibration.count))
        measured.append(time.process_time() - begun)
    workers = workers or usable_cores()
    cores = min(workers, usable_cores())
    runs = len(runs_of_shard(plan, *shard)) if shard else plan.count
    share = runs * plan.steps / (calibration.count * calibration.steps * cores)
    return Forecast(
        name=str(plan.experiment["name"]),
        out=out,
        maps=tuple(f"{setup} {name}" for setup, name, _ in plan.grids),
        tasks=tuple(name for name, _ in plan.tasks),
        methods=tuple(method.label for method in plan.methods),
        start=plan.start,
        sweep={name: tuple(plan.values(name)) for name in plan.swept},
        seeds=plan.seeds,
        steps=plan.steps,
        runs=runs,
        workers=workers,
        cores=cores,
        seconds=(share * min(measured), share * max(measured) * SHARING),
        memory_bytes=int(peak_bytes(plan, workers)),
        file_bytes=runs * (300 + 12 * plan.ticks),
        least_shards=-(-runs * bytes_of_run(plan) // MAX_BYTES),
    )


def print_forecasts(found: Sequence[Forecast], *, json: bool) -> None:
    """Print forecasts."""
    if json:
        print_json(found[0] if len(found) == 1 else found)
        return
    for one in found:
        sizes = len(one.maps), len(one.tasks), len(one.methods)
        whole = math.prod((*sizes, *map(len, one.sweep.values()), one.seeds))
        shape = format_shape(*sizes, one.sweep, one.seeds)
        sys.stdout.write(f"{printable(one.name)}: {shape} = {format_count(whole, 'run')}\n")
        part = {} if one.runs == whole else {"shard": f"{format_int(one.runs)} of these runs"}
        lines = {
            "steps": f"{format_int(one.steps)} a run, {format_int(one.runs * one.steps)} in all",
            "time": f"about {format_range(*one.seconds)} with {format_count(one.workers, 'worker')} on "
            f"{format_count(one.cores, 'core')}",
            "memory": f"about {format_bytes(one.memory_bytes)} for what is learned",
            "file": f"{one.out}, at most {format_bytes(one.file_bytes)}"
            + f"; too much for one file, take at least {one.least_shards} shards" * (one.least_shards > 1),
            "maps": ", ".join(one.maps if len(one.maps) <= 8 else [*one.maps[:4], "...", *one.maps[-2:]]),
            "tasks": ", ".join(one.tasks),
            "methods": ", ".join(one.methods),
            **({"start": one.start} if one.start else {}),
            **{name: format_values(values) for name, values in one.sweep.items()},
        }
        print_pairs(part | lines)


def format_range(low: float, high: float) -> str:
    """Format a range of times, in one unit where both have the same.

    >>> format_range(0.2, 0.7), format_range(3, 9), format_range(80, 240)
    ('1 s', '3 to 9 s', '80 s to 4 min')
    """
    ends = [format_duration(seconds).split() for seconds in (low, high)]
    if ends[0] == ends[1]:
        return " ".join(ends[0])
    return " ".join([*ends[0][: 1 if ends[0][1] == ends[1][1] else 2], "to", *ends[1]])


def format_bytes(count: int) -> str:
    """Format a number of bytes.

    >>> format_bytes(900), format_bytes(106_400_000)
    ('1 kB', '106 MB')
    """
    if count < 1e6:
        return f"{-(-count // 1000)} kB"
    return f"{count / 1e6:.3g} MB" if count < 1e9 else f"{count / 1e9:.3g} GB"


def print_suites(*, json: bool) -> None:
    """Print the suites that come with fastrm."""
    from fastrm.experiments import list_suites

    suites = list_suites()
    if json:
        print_json(suites)
        return
    for suite in suites:
        steps = " to ".join(format_int(n) for n in sorted({min(suite.steps), max(suite.steps)}))
        sys.stdout.write(
            f"{suite.name:20}  {format_int(suite.runs):>6} runs of {steps} steps\n    {suite.description}\n"
        )
        sys.stdout.write("    It needs the published data; see --reference.\n" if suite.needs_reference else "")
