"""Experiments before and while they run: the list of suites, the forecast of an experiment, and its progress."""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fastrm.checks import check_whole
from fastrm.errors import ConfigError, printable

from .console import format_count, format_int, format_shape, format_values, print_json, print_message, print_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastrm.experiments import Plan, Progress

_log = logging.getLogger("fastrm.bench")
BAR = 20  # columns; the words beside it need the other 60 of a terminal

Report = Callable[["Progress"], None]


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Report | None]:
    """Yield what an experiment reports its progress to: a bar in a terminal, elsewhere a line after every tenth.

    With `quiet` that is None.
    """
    if not quiet and sys.stderr.isatty():
        with _bar() as report:
            yield report
    else:
        yield None if quiet else _lines()


def how_far(progress: Progress) -> str:
    """Return how many runs are done, those of earlier starts included."""
    return f"{format_int(progress.before + progress.runs_done)} of {format_int(progress.before + progress.runs)} runs"


def time_left(progress: Progress) -> str:
    """Return how long the rest will take, from what was done since the start; nothing where nothing was done.

    >>> from fastrm.experiments import Progress
    >>> time_left(Progress(runs=100, before=0, steps=1, runs_done=50, seconds=12.0))
    'about 12 s left'
    """
    if not progress.runs_done:
        return ""
    if progress.runs_done == progress.runs:
        return "saving"
    return f"about {format_duration(progress.seconds * (progress.runs - progress.runs_done) / progress.runs_done)} left"


def format_duration(seconds: float) -> str:
    """Format a time, in the unit that suits it.

    >>> format_duration(0.2), format_duration(90), format_duration(1000), format_duration(20_000)
    ('1 s', '90 s', '17 min', '5.6 h')
    """
    if seconds < 100:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _begin(progress: Progress) -> None:
    if progress.before:
        print_message(f"resuming: {how_far(progress)} are there")
    else:
        print_message(f"{format_count(progress.runs, 'run')} to do")


def _rate(progress: Progress) -> str:
    return f"{progress.runs_done * progress.steps / max(progress.seconds, 1e-9) / 1e6:.0f} M steps/s"


def _lines() -> Report:
    """Return a report that writes a line at the start and after every tenth of the work."""
    last = 0

    def report(progress: Progress) -> None:
        nonlocal last
        tenth = 10 * progress.runs_done // progress.runs
        if not progress.runs_done:
            _begin(progress)
        elif last < tenth < 10:
            print_message(f"{how_far(progress)}, {time_left(progress)}")
            last = tenth
        _log_batch(progress)

    return report


@contextmanager
def _bar() -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress as Bar, TextColumn

    columns = BarColumn(BAR), TextColumn("{task.description}")
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def report(progress: Progress) -> None:
            if not progress.runs_done:
                _begin(progress)
            words = how_far(progress), *((_rate(progress), time_left(progress)) if progress.runs_done else ())
            done, total = progress.before + progress.runs_done, progress.before + progress.runs
            bar.update(task, total=total, completed=done, description=f"{done / total:4.0%}, {', '.join(words)}")
            _log_batch(progress)

        yield report


def _log_batch(progress: Progress) -> None:
    if progress.runs_done:
        failed = f", {format_int(progress.failed)} failed" if progress.failed else ""
        _log.info("%s saved%s, %s with %d workers", how_far(progress), failed, _rate(progress), progress.workers)


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
    seconds: float
    memory_bytes: int
    """What is learned at the same time."""
    file_bytes: int
    """At most."""


def forecast(plan: Plan, out: Path, workers: int | None, shard: tuple[int, int] | None = None) -> Forecast:
    """Forecast an experiment from a short calibration; workers beyond the cores of this machine save no time."""
    from fastrm.experiments import peak_bytes, work
    from fastrm.resources import usable_cores

    if workers is not None:
        check_whole("workers", workers, 1, 10_000)
    few = 100_000 if plan.learner.tick == "log" else 10 * plan.learner.tick
    tasks = tuple((task, {kind: texts[:1] for kind, texts in machines.items()}) for task, machines in plan.tasks)
    calibration = replace(plan, grids=plan.grids[:1], tasks=tasks, seeds=1, steps=min(plan.steps, few))
    frame, _ = work(calibration.to_json(), range(calibration.count))  # compile first
    failed = frame["error"][frame["error"] != b""]
    if failed.size:
        raise ConfigError(f"{failed.size} of {calibration.count} runs on the first map fail: {failed[0].decode()}")
    begun = time.perf_counter()
    work(calibration.to_json(), range(calibration.count))
    per_step = (time.perf_counter() - begun) / (calibration.count * calibration.steps)
    workers = workers or usable_cores()
    cores = min(workers, usable_cores())
    part, parts = shard or (1, 1)
    runs = len(range(part - 1, plan.count // plan.seeds, parts)) * plan.seeds  # as `Store.todo` cuts them
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
        seconds=runs * plan.steps * per_step / cores,
        memory_bytes=int(peak_bytes(plan, workers)),
        file_bytes=runs * (300 + 12 * len(plan.step)),
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
            "time": f"about {format_duration(one.seconds)} with {format_count(one.workers, 'worker')} on "
            f"{format_count(one.cores, 'core')}",
            "memory": f"about {format_bytes(one.memory_bytes)} for what is learned",
            "file": f"{one.out}, at most {format_bytes(one.file_bytes)}",
            "maps": ", ".join(one.maps if len(one.maps) <= 8 else [*one.maps[:4], "...", *one.maps[-2:]]),
            "tasks": ", ".join(one.tasks),
            "methods": ", ".join(one.methods),
            **({"start": one.start} if one.start else {}),
            **{name: format_values(values) for name, values in one.sweep.items()},
        }
        print_pairs(part | lines)


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
