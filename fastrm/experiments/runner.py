"""Running many batches: progress, signals, resumption.

Executors compute batches, which are pure; this process saves each as it arrives. A first Ctrl-C or SIGTERM lets batches
in flight finish for at most two seconds, publishes what is done and ends with `Interrupted`; a second one leaves at
once.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastrm.arrays import Array
from fastrm.checks import check_choice, check_whole
from fastrm.errors import ConfigError, DiskError, FastrmError, StoreError
from fastrm.experiments.batches import Stopped, make_batches
from fastrm.experiments.episode_logs import write_log
from fastrm.experiments.executors import ISOLATIONS, Means, Pool, open_pool
from fastrm.experiments.experiment import Experiment
from fastrm.experiments.memory import workers_that_fit
from fastrm.experiments.plan import Plan
from fastrm.results import Disk, Results, Store, load, merge_files

GRACE_SECONDS = 2.0
KILLED = 130


class Interrupted(Exception):
    """The run was stopped by a signal after everything finished had been saved."""

    def __init__(self, path: Path, done: int, count: int) -> None:
        super().__init__(
            f"interrupted: {done} of {count} runs are saved in {path}; the same command goes on from there"
        )


@dataclass
class Progress:
    """What a running experiment reports after every batch."""

    runs: int
    """Runs to do now."""
    before: int
    """Runs that were done already."""
    steps: int
    """Steps of each."""
    runs_done: int = 0
    failed: int = 0
    kernel_seconds: float = 0.0
    """Seconds of all workers inside kernels."""
    seconds: float = 0.0
    workers: int = 1


def run(
    experiment: str | Path | Experiment | Plan,
    out: str | Path,
    *,
    workers: int | None = None,
    isolation: str = "thread",
    scheduler: str | None = None,
    shard: tuple[int, int] | None = None,
    fresh: bool = False,
    report: Callable[[Progress], None] | None = None,
    disk: Disk | None = None,
) -> Results:
    """Run an experiment, or what is left of it, and save it in one file.

    Parameters
    ----------
    experiment : str, Path, Experiment or Plan
        A suite's name, a TOML file, or an experiment.
    out : path
        The result file. What it holds already is not computed again.
    workers : int, optional
        Worker threads or processes; by default as many as there are cores.
    isolation : {"thread", "process"}
        Whether workers are threads or processes.
    scheduler : str, optional
        Address of a Dask scheduler to run on instead.
    shard : (int, int), optional
        Run only part i of N, counted from 1.
    fresh : bool
        Start over; a file that is there is kept as ``.bak``.
    report : callable, optional
        Called with the `Progress` at the start and after every batch.

    Raises
    ------
    Interrupted
        After a signal, when everything finished has been saved.
    """
    plan = experiment if isinstance(experiment, Plan) else Plan.of(_named(experiment))
    count = workers if workers is not None else os.cpu_count() or 1
    check_whole("workers", count, 1, 10_000)
    check_choice("isolation", isolation, ISOLATIONS)
    if shard is not None and not 1 <= shard[0] <= shard[1]:
        raise ConfigError(f"shard {shard[0]}/{shard[1]}: the part must be between 1 and the number of parts")
    path = Path(out)
    if not path.absolute().parent.is_dir():
        raise StoreError(f"{path}: the folder {path.parent} does not exist; create it first")
    store = Store(path, plan, disk, fresh)
    try:
        todo = store.todo(shard)
        if len(todo):
            count = workers_that_fit(plan, count) if scheduler is None else count
            progress = Progress(runs=len(todo), before=int(store.done.sum()), steps=plan.steps, workers=count)
            with open_pool(isolation, Means(plan, count, scheduler or "")) as pool:
                _drain(pool, plan, todo, store, progress, report)
        store.close()
    except Interrupted:
        store.close()
        raise
    except OSError as problem:
        store.abandon()
        raise DiskError(
            f"{path}: cannot be written: {problem.strerror or problem}; batches saved before are kept, make room and "
            "run the same command again"
        ) from None
    except BaseException:
        store.abandon()
        raise
    return load(store.path)


def merge(parts: Sequence[str | Path], out: str | Path, *, disk: Disk | None = None) -> Results:
    """Join result files of one experiment, such as those of shards, into another; what occurs twice must be the same.

    Raises
    ------
    StoreError
        When a file is damaged, or belongs to another experiment.
    """
    paths = [Path(part) for part in parts]
    merge_files(load(paths[0]).plan, paths, Path(out), disk)
    return load(out)


def write_episodes(plan: Plan, runs: Sequence[int], folder: Path, *, workers: int | None = None) -> int:
    """Write the episodes of some runs as logs in the published format; return how many were not there already."""
    with ThreadPoolExecutor(workers or os.cpu_count() or 1, thread_name_prefix="fastrm") as executor:
        return sum(executor.map(lambda run: write_log(plan, run, folder), runs))


def _named(experiment: str | Path | Experiment) -> Experiment:
    return experiment if isinstance(experiment, Experiment) else Experiment.named(str(experiment))


def _drain(
    pool: Pool,
    plan: Plan,
    todo: Array,
    store: Store,
    progress: Progress,
    report: Callable[[Progress], None] | None,
) -> None:
    """Keep the workers busy and save every batch as it arrives."""
    text, batches = plan.to_json(), make_batches(plan, todo)
    flying: set[Any] = set()
    begun, stop_at = time.perf_counter(), None
    with _signals() as signalled:
        if report is not None:
            report(progress)
        while True:
            while not signalled() and len(flying) < pool.capacity and (runs := next(batches, None)) is not None:
                flying.add(pool.submit(text, runs))
            if not flying:
                break
            finished, _ = wait(flying, timeout=0.1, return_when=FIRST_COMPLETED)
            flying -= finished
            for future in finished:
                _save(future, store, progress, stopping=stop_at is not None)
            progress.seconds = time.perf_counter() - begun
            if report is not None and finished:
                report(progress)
            if signalled():
                now = time.perf_counter()
                if stop_at is None:
                    stop_at = now + GRACE_SECONDS
                    flying = {future for future in flying if not future.cancel()}
                    pool.stop()
                elif now > stop_at:
                    break
        if signalled():
            raise Interrupted(store.path, int(store.done.sum()), plan.count)


def _save(future: Any, store: Store, progress: Progress, stopping: bool) -> None:
    try:
        frame, seconds = future.result()
    except Stopped:
        return
    except FastrmError:
        raise
    except Exception:
        if stopping:  # a terminated process
            return
        raise
    store.add(frame)
    progress.runs_done += len(frame["run"])
    progress.failed += int((frame["error"] != b"").sum())
    progress.kernel_seconds += seconds


@contextmanager
def _signals() -> Iterator[Callable[[], bool]]:
    """Turn a first SIGINT or SIGTERM into a flag; let a second one leave at once."""
    seen: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def handle(number: int, _: Any) -> None:
        if seen:
            os._exit(KILLED)
        seen.append(number)

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(seen)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
