"""Running an experiment: batches go to workers, each is saved as it arrives, and what is saved is never made again.

Executors compute batches, which are pure. Batches in flight when workers are lost are computed again by new ones,
unless workers die repeatedly without finishing a batch. A first Ctrl-C, SIGTERM or SIGHUP (a closed terminal) lets
batches in flight finish for at most two seconds, publishes what is done and ends with `Interrupted`; a second one exits
at once.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_choice, check_truth, check_whole
from fastrm.errors import ConfigError, DiskError, FastrmError, FastrmWarning, RunError, StoreError, shown
from fastrm.experiments.batches import Pace, Stopped, make_batches, workers_that_fit, write_log
from fastrm.experiments.executors import EXECUTORS, Pool, PoolSettings, await_any, in_threads, open_pool
from fastrm.experiments.experiment import Experiment, check_learner
from fastrm.experiments.plan import Plan
from fastrm.progress import Bar, watching
from fastrm.resources import usable_cores
from fastrm.results import Disk, Frame, Results, Store, check_fits, load, merge_files
from fastrm.textfile import check_path

GRACE_SECONDS = 2.0
QUIET_SECONDS, MOST_QUIET_SECONDS = 10.0, 600.0
MOST_FRUITLESS = 3
BAR_SECONDS = 0.5
"""When a bar appears; what is done sooner needs none."""
_CURE = "finished batches are saved, the same command goes on from there"


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far an experiment is, as it reports while it runs.

    >>> progress = Progress(runs=100, before=20, steps=1000, computed=50, runs_done=40, seconds=12.0)
    >>> progress.how_far, progress.seconds_left
    ('70 of 120 runs', 12.0)
    """

    runs: int
    """Runs to do now."""
    before: int
    """Runs that were done already, by an earlier start."""
    steps: int
    """Steps of each run."""
    made: int = 0
    """Steps that are made now, of runs that go on too."""
    computed: int = 0
    """Runs that are computed, whether or not they are saved: as many as these steps make."""
    runs_done: int = 0
    """Runs that are saved."""
    failed: int = 0
    """Saved runs that failed."""
    kernel_seconds: float = 0.0
    """Seconds of all workers inside kernels, for saved runs."""
    seconds: float = 0.0
    """Seconds since the workers were ready."""
    workers: int = 1
    """How many workers there are."""

    @property
    def how_far(self) -> str:
        """How many runs are computed, those of earlier starts included."""
        done, count = (f"{self.before + n:,}".replace(",", " ") for n in (self.computed, self.runs))
        return f"{done} of {count} runs"

    @property
    def seconds_left(self) -> float | None:
        """How long the rest will take, from what was made since the start; None where nothing was."""
        made = max(self.made, self.computed * self.steps)
        return self.seconds * (self.runs * self.steps - made) / made if made else None


class Computation:
    """Runs of a plan to compute, and what has become of them."""

    begun = 0.0
    """When the first workers were ready."""

    def __init__(
        self, plan: Plan, todo: Array, store: Store, report: Callable[[Progress], None], signalled: Callable[[], bool]
    ) -> None:
        self.plan, self.store, self.report, self.signalled = plan, store, report, signalled
        self.progress = Progress(runs=len(todo), before=int(store.done.sum()), steps=plan.steps)
        self.pace = Pace(plan)
        self.left = np.zeros(plan.count, dtype=np.bool_)  # still to be computed
        self.left[todo] = True

    def begin(self) -> None:
        """Take the time and report, when the first workers are ready."""
        if not self.begun:
            self.begun = time.perf_counter()
            self.report_progress()

    def report_progress(self, made: int = 0) -> None:
        """Report how many steps are made, which are at least those of saved runs."""
        runs, done, steps = self.progress.runs, self.progress.runs_done, self.progress.steps
        made = min(max(made, done * steps), runs * steps)
        seconds = time.perf_counter() - self.begun
        self.progress = replace(self.progress, made=made, computed=made // steps, seconds=seconds)
        self.report(self.progress)

    def save(self, frame: Frame, seconds: float) -> None:
        """Save a finished batch."""
        self.store.add(frame)
        self.left[frame["run"]] = False
        self.pace.learn(frame["run"], seconds)
        now = self.progress
        self.progress = replace(
            now,
            runs_done=now.runs_done + len(frame["run"]),
            failed=now.failed + int((frame["error"] != b"").sum()),
            kernel_seconds=now.kernel_seconds + seconds,
        )


class _WorkersLost(Exception):
    """Workers are gone, and with them the batches they were given."""


def compute(isolation: str, settings: PoolSettings, computation: Computation) -> None:
    """Compute runs. Where workers are lost, new ones go on, as long as that gets anything done."""
    if not computation.left.any():
        return
    computation.progress = replace(computation.progress, workers=settings.workers)
    losses, fruitless = 0, 0
    while True:
        before = int(computation.left.sum())
        try:
            with open_pool(isolation, settings) as pool:
                computation.begin()
                _drain(pool, computation)
            return
        except _WorkersLost as loss:
            if computation.signalled():
                return
            losses, fruitless = losses + 1, 0 if computation.left.sum() < before else fruitless + 1
            if fruitless == MOST_FRUITLESS:
                raise RunError(f"{loss}, {fruitless} times in a row before a batch was finished; {_CURE}") from None
            warnings.warn(f"{loss}; new ones go on with what is left", FastrmWarning, stacklevel=3)
        except ConfigError as problem:  # the address was good once
            if not losses:
                raise
            raise RunError(f"{problem}; {_CURE}") from None


def _drain(pool: Pool, computation: Computation) -> None:
    """Keep the workers busy and save every batch as it arrives."""
    plan = computation.plan
    text, batches = plan.to_json(), make_batches(plan, np.flatnonzero(computation.left), computation.pace)
    pending: set[Any] = set()
    stop_at, patience, before = None, _Patience(pool.trouble), computation.progress.runs_done * plan.steps
    while True:
        while (
            not computation.signalled() and len(pending) < pool.capacity() and (runs := next(batches, None)) is not None
        ):
            pending.add(_guarded(pool, pool.submit, text, runs))
        if not pending:
            return
        finished = await_any(pending)
        pending -= finished
        losses = []
        for future in finished:  # all that is good first
            try:
                _save(pool, future, computation, stopping=stop_at is not None)
            except _WorkersLost as loss:
                losses.append(loss)
        if losses:
            raise losses[0]
        made = before + pool.computed()
        if finished or made > computation.progress.made:
            computation.report_progress(made)
        patience.passed(bool(finished))
        if computation.signalled():
            now = time.perf_counter()
            if stop_at is None:
                stop_at = now + GRACE_SECONDS
                pending = {future for future in pending if not future.cancel()}
                pool.stop()
            elif now > stop_at:
                return


def _save(pool: Pool, future: Any, computation: Computation, stopping: bool) -> None:
    """Save a finished batch, or say why there is none."""
    try:
        frame, seconds = _guarded(pool, future.result)
    except Stopped:
        return
    except Exception:
        if stopping:  # a terminated process
            return
        raise
    computation.save(frame, seconds)


def _guarded(pool: Pool, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call something that workers are behind; tell lost workers from what is wrong with a batch."""
    try:
        return function(*arguments)
    except (Stopped, FastrmError):
        raise
    except pool.losses as problem:
        reason = str(problem).splitlines()[0][:200] if str(problem) else type(problem).__name__
        raise _WorkersLost(f"workers were lost ({reason})") from None
    except Exception as problem:
        reason = " ".join(f"{type(problem).__name__}: {problem}".split())[:200]
        raise RunError(f"a worker failed: {reason}; {_CURE}") from problem


class _Patience:
    """Says what keeps batches from being finished: after a while, then ever less often."""

    def __init__(self, trouble: Callable[[], str]) -> None:
        self._trouble = trouble
        self.passed(True)

    def passed(self, finished: bool) -> None:
        """Take note of whether a batch was finished, and speak if none was for long."""
        now = time.monotonic()
        if finished:
            self._since, self._next = now, now + QUIET_SECONDS
        elif now > self._next:
            self._next = now + min(now - self._since, MOST_QUIET_SECONDS)
            if trouble := self._trouble():
                warnings.warn(f"{trouble} ({now - self._since:.0f} s so far)", FastrmWarning, stacklevel=4)


MOST_REPAIRS = 3
KILLED = 130


class Interrupted(KeyboardInterrupt):
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
    progress: bool = True,
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
        Run only part i of N, counted from 1; N is at most the number of runs. All parts are equally long.
    fresh : bool
        Start over; a file that is there is kept as ``.bak``.
    report : callable, optional
        Called with the `Progress` at the start and whenever runs are computed or saved. What it raises ends the
        experiment; saved runs are kept.
    progress : bool
        Show a bar in a terminal or a notebook. Anywhere else nothing is shown.

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
    _check_arguments(experiment, out, scheduler, shard, report, disk)
    check_truth("fresh", fresh)
    check_truth("progress", progress)
    count = usable_cores() if workers is None else workers
    check_whole("workers", count, 1, 10_000)
    check_choice("isolation", isolation, EXECUTORS)
    if not isinstance(experiment, Experiment | Plan):
        experiment = Experiment.named(str(experiment))
    plan = Plan.of(experiment) if isinstance(experiment, Experiment) else experiment
    path = Path(out)
    if not path.parent.is_dir():
        raise StoreError(f"{path}: the folder {path.parent} does not exist; create it first")
    store = Store(path, plan, disk, fresh)
    try:
        with _signals() as signalled, watching(progress, BAR_SECONDS) as bar:
            todo = store.todo(shard)
            check_fits(plan, len(todo) + int(store.done.sum()))
            if len(todo) and not scheduler:
                count = workers_that_fit(plan, count)
            for _ in range(MOST_REPAIRS):
                computation = Computation(plan, todo, store, _watched(report, bar), signalled)
                compute(isolation, PoolSettings(plan, count, scheduler or ""), computation)
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


def _watched(report: Callable[[Progress], None] | None, bar: Bar | None) -> Callable[[Progress], None]:
    """Return what progress is reported to: the bar and the user's function."""

    def both(progress: Progress) -> None:
        if bar is not None:
            failed = f", {progress.failed} failed" if progress.failed else ""
            before, todo = progress.steps * progress.before, progress.steps * progress.runs
            bar.update(before + progress.made, before + todo, progress.how_far + failed, before)
        if report is not None:
            report(progress)

    return both


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
    experiment: object, out: object, scheduler: object, shard: object, report: object, disk: object
) -> None:
    """Raise ConfigError for an argument of the wrong type."""
    if not isinstance(experiment, str | Path | Experiment | Plan):
        raise ConfigError(f"experiment={experiment!r:.60}: must be a suite's name, a TOML file, or an Experiment")
    _check_path("out", out)
    if scheduler is not None and not isinstance(scheduler, str):
        raise ConfigError(f"scheduler={scheduler!r:.60}: must be an address such as tcp://127.0.0.1:8786")
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
    """Raise ConfigError unless `value` names a file."""
    try:
        check_path(value, ConfigError)
    except ConfigError as problem:
        quoted, reason = str(value) if isinstance(value, Path) else value, str(problem).rpartition("; ")[2]
        raise ConfigError(f"{name}={shown(quoted)}: must be the name of a file; {reason}") from None


@contextmanager
def _signals() -> Iterator[Callable[[], bool]]:
    """Turn a first SIGINT, SIGTERM or SIGHUP into a flag; exit at once on a second one. ``nohup`` is respected."""
    seen: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def handle(number: int, _: Any) -> None:
        if seen:
            if os.isatty(2):
                os.write(2, b"\x1b[?25h")  # show the cursor, which a bar hides
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
