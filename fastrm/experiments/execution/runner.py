"""Running many batches: progress, signals, resumption.

Executors compute batches, which are pure; this process saves each as it arrives. A first Ctrl-C, SIGTERM or
SIGHUP (a closed terminal) lets batches in flight finish for at most two seconds, publishes what is done and ends with
`Interrupted`; a second one exits at once.
"""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fastrm.checks import check_choice, check_whole
from fastrm.errors import ConfigError, DiskError, FastrmWarning, StoreError, shown
from fastrm.experiments.episode_logs import write_log
from fastrm.experiments.execution.batches import workers_that_fit
from fastrm.experiments.execution.dispatch import Job, Progress, compute
from fastrm.experiments.execution.executors import ISOLATIONS, Means, in_threads
from fastrm.experiments.experiment import Experiment
from fastrm.experiments.methods import check_learner
from fastrm.experiments.plan import Plan
from fastrm.resources import usable_cores
from fastrm.results import Disk, Results, Store, load, merge_files
from fastrm.textfile import check_path

MOST_REPAIRS = 3
KILLED = 130


class Interrupted(Exception):
    """The run was stopped by a signal after everything finished had been saved."""

    def __init__(self, path: Path, done: int, count: int) -> None:
        super().__init__(
            f"interrupted: {done} of {count} runs are saved in {path}; the same command goes on from there"
        )


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
        Worker threads or processes; by default one for every core it may use.
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

    Returns
    -------
    Results
        The runs, loaded from the file. A run that failed is among them, with its error.

    Raises
    ------
    Interrupted
        After a signal, when everything finished has been saved.
    ConfigError
        When the experiment or another argument is bad.
    StoreError
        When the file holds another experiment, or cannot be written.
    """
    _check_arguments(experiment, out, scheduler, shard, fresh, report, disk)
    count = usable_cores() if workers is None else workers
    check_whole("workers", count, 1, 10_000)
    check_choice("isolation", isolation, ISOLATIONS)
    plan = experiment if isinstance(experiment, Plan) else Plan.of(_named(experiment))
    path = Path(out)
    if not path.parent.is_dir():
        raise StoreError(f"{path}: the folder {path.parent} does not exist; create it first")
    store = Store(path, plan, disk, fresh)
    try:
        with _signals() as signalled:
            todo = store.todo(shard)
            if len(todo) and not scheduler:
                count = workers_that_fit(plan, count)
            for _ in range(MOST_REPAIRS):
                compute(isolation, Means(plan, count, scheduler or ""), Job.of(plan, todo, store, report, signalled))
                stopping = signalled()
                todo = store.close(partial=stopping)
                if stopping:
                    raise Interrupted(path, int(store.done.sum()), plan.count)
                if not len(todo):
                    return load(path)
                warnings.warn(
                    f"{path}: {len(todo)} finished runs have vanished from it or from {store.parts.name}; they are "
                    "computed again",
                    FastrmWarning,
                    stacklevel=2,
                )
        raise DiskError(f"{store.parts}: finished batches vanish again and again; keep other programs away from it")
    except OSError as problem:
        raise DiskError(
            f"{path}: cannot be written: {problem.strerror or problem}; batches saved before are kept, make room and "
            "run the same command again"
        ) from None
    finally:
        store.abandon()


def merge(parts: Iterable[str | Path], out: str | Path, *, disk: Disk | None = None) -> Results:
    """Join result files of one experiment, such as those of shards, into another; what occurs twice must be the same.

    Raises
    ------
    StoreError
        When a file is damaged, or belongs to another experiment.
    """
    if not isinstance(parts, Iterable) or isinstance(parts, str | bytes):
        raise ConfigError(f"parts={parts!r:.60}: must be a list of result files")
    names = list(parts)
    for name in names:
        _check_path("part", name)
    _check_path("out", out)
    if not names:
        raise ConfigError("nothing to merge; name the result files of shards")
    paths = [Path(name) for name in names]
    plan = load(paths[0]).plan
    for method in plan.methods:
        check_learner(method.algo, str(paths[0]))
    merge_files(plan, paths, Path(out), disk)
    return load(out)


def write_episodes(plan: Plan, runs: Sequence[int], folder: Path, *, workers: int | None = None) -> int:
    """Write the episodes of some runs as logs in the published format; return how many were not there already."""
    return sum(in_threads(lambda run: write_log(plan, run, folder), runs, workers))


def _check_arguments(
    experiment: object, out: object, scheduler: object, shard: object, fresh: object, report: object, disk: object
) -> None:
    """Refuse arguments of the wrong type, in one line each."""
    if not isinstance(experiment, str | Path | Experiment | Plan):
        raise ConfigError(f"experiment={experiment!r:.60}: must be a suite's name, a TOML file, or an Experiment")
    _check_path("out", out)
    if scheduler is not None and not isinstance(scheduler, str):
        raise ConfigError(f"scheduler={scheduler!r:.60}: must be an address such as tcp://127.0.0.1:8786")
    if not isinstance(fresh, bool):
        raise ConfigError(f"fresh={fresh!r:.60}: must be True or False")
    if report is not None and not callable(report):
        raise ConfigError(f"report={report!r:.60}: must be a function that takes the Progress")
    if disk is not None and not isinstance(disk, Disk):
        raise ConfigError(f"disk={disk!r:.60}: must be a Disk")
    if shard is None:
        return
    if not isinstance(shard, tuple | list) or len(shard) != 2:
        raise ConfigError(f"shard={shard!r:.60}: must be a pair (i, N), such as (1, 4)")
    for name, value in zip(("shard's part", "shard's number of parts"), shard, strict=True):
        check_whole(name, value, 1, 10**9)
    if shard[0] > shard[1]:
        raise ConfigError(f"shard {shard[0]}/{shard[1]}: the part must be between 1 and the number of parts")


def _check_path(name: str, value: object) -> None:
    """Refuse what is not the name of a file."""
    try:
        check_path(value, ConfigError)
    except ConfigError as problem:
        quoted, reason = str(value) if isinstance(value, Path) else value, str(problem).rpartition("; ")[2]
        raise ConfigError(f"{name}={shown(quoted)}: must be the name of a file; {reason}") from None


def _named(experiment: str | Path | Experiment) -> Experiment:
    return experiment if isinstance(experiment, Experiment) else Experiment.named(str(experiment))


@contextmanager
def _signals() -> Iterator[Callable[[], bool]]:
    """Turn a first SIGINT, SIGTERM or SIGHUP into a flag; exit at once on a second one. ``nohup`` is respected."""
    seen: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def handle(number: int, _: Any) -> None:
        if seen:
            os._exit(KILLED)
        seen.append(number)

    hang_up = getattr(signal, "SIGHUP", None)  # not on Windows
    numbers = [signal.SIGINT, signal.SIGTERM]
    if hang_up is not None and signal.getsignal(hang_up) is not signal.SIG_IGN:
        numbers.append(hang_up)
    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield lambda: bool(seen)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
