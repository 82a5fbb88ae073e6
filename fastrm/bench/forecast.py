"""What could be run, and what it would take: the packaged suites, and the forecast of an experiment."""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fastrm.bench.console import counted, print_json, print_pairs, shape_in_words, spaced, words_of
from fastrm.bench.progress import duration
from fastrm.checks import check_whole
from fastrm.errors import ConfigError, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastrm.experiments import Plan


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
    many = workers or usable_cores()
    cores = min(many, usable_cores())
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
        workers=many,
        cores=cores,
        seconds=runs * plan.steps * per_step / cores,
        memory_bytes=int(peak_bytes(plan, many)),
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
        shape = shape_in_words(*sizes, one.sweep, one.seeds)
        sys.stdout.write(f"{printable(one.name)}: {shape} = {counted(whole, 'run')}\n")
        part = {} if one.runs == whole else {"shard": f"{spaced(one.runs)} of these runs"}
        lines = {
            "steps": f"{spaced(one.steps)} a run, {spaced(one.runs * one.steps)} in all",
            "time": f"about {duration(one.seconds)} with {counted(one.workers, 'worker')} on "
            f"{counted(one.cores, 'core')}",
            "memory": f"about {size(one.memory_bytes)} for what is learned",
            "file": f"{one.out}, at most {size(one.file_bytes)}",
            "maps": ", ".join(one.maps if len(one.maps) <= 8 else [*one.maps[:4], "...", *one.maps[-2:]]),
            "tasks": ", ".join(one.tasks),
            "methods": ", ".join(one.methods),
            **({"start": one.start} if one.start else {}),
            **{name: words_of(values) for name, values in one.sweep.items()},
        }
        print_pairs(part | lines)


def size(count: int) -> str:
    """Write a number of bytes.

    >>> size(900), size(106_400_000)
    ('1 kB', '106 MB')
    """
    return (
        f"{-(-count // 1000)} kB"
        if count < 1e6
        else f"{count / 1e6:.3g} MB"
        if count < 1e9
        else f"{count / 1e9:.3g} GB"
    )


def print_suites(*, json: bool) -> None:
    """Print the suites that come with fastrm."""
    from fastrm.experiments import list_suites

    suites = list_suites()
    if json:
        print_json(suites)
        return
    for suite in suites:
        steps = " to ".join(spaced(n) for n in sorted({min(suite.steps), max(suite.steps)}))
        sys.stdout.write(f"{suite.name:20}  {spaced(suite.runs):>6} runs of {steps} steps\n    {suite.description}\n")
        sys.stdout.write("    It needs the published data; see --reference.\n" if suite.needs_reference else "")
