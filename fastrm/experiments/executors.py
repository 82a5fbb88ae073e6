"""Where batches are computed: threads over GIL-free kernels, processes, or a Dask cluster.

A function for each opens a `Pool`, which takes batches and gives futures.
"""

from __future__ import annotations

import contextlib
import logging
import math
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Any, NamedTuple, TypeVar

from fastrm.checks import check_whole
from fastrm.errors import ConfigError, MissingExtra
from fastrm.experiments.batches import room_for, work
from fastrm.experiments.plan import Plan
from fastrm.kernels import compile_lock
from fastrm.learners import load_again, loaded_files, registry
from fastrm.resources import usable_cores
from fastrm.results import Frame

Item = TypeVar("Item")
Found = TypeVar("Found")
AnyExecutor = TypeVar("AnyExecutor", bound=Executor)

CONNECT = "10s"
SLOTS_SECONDS = 5.0


class Pool(NamedTuple):
    """Something that computes batches."""

    submit: Callable[[str, list[int]], Any]
    """Takes a plan as JSON and runs of it, gives a future of their columns and seconds."""
    capacity: Callable[[], int]
    """Returns how many batches it should be given at once."""
    stop: Callable[[], None]
    """Gives up what it has in flight."""
    losses: tuple[type[Exception], ...] = ()
    """What submitting or a future raises when workers are gone, so that a new pool can go on."""
    computed: Callable[[], int] = int
    """Returns how many steps it has made so far, of batches in flight too; 0 if it cannot tell."""
    trouble: Callable[[], str] = str
    """Returns why nothing is finished, if it knows; called only when nothing has been for a while."""


@dataclass(frozen=True)
class PoolSettings:
    """What a pool is opened with."""

    plan: Plan
    workers: int
    scheduler: str = ""


def in_threads(
    function: Callable[[Item], Found], items: Iterable[Item], workers: int | None = None
) -> Generator[Found, None, None]:
    """Yield what a function makes of each item, in their order; one thread per core unless `workers` says otherwise."""
    if workers is not None:
        check_whole("workers", workers, 1, 10_000)
    with _closed(ThreadPoolExecutor(workers or usable_cores(), thread_name_prefix="fastrm")) as executor:
        yield from executor.map(function, items)


@contextmanager
def _closed(executor: AnyExecutor) -> Iterator[AnyExecutor]:
    """Close an executor at the end, without what has not begun."""
    try:
        yield executor
    finally:
        executor.shutdown(cancel_futures=True)


@contextmanager
def threads(settings: PoolSettings) -> Iterator[Pool]:
    """Open threads of this process."""
    stopped, room = threading.Event(), room_for(settings.workers)
    computed: list[int] = []

    def submit(plan: str, runs: list[int]) -> Future[tuple[Frame, float]]:
        return executor.submit(work, plan, runs, stopped.is_set, room, computed.append)

    with _closed(ThreadPoolExecutor(settings.workers, thread_name_prefix="fastrm")) as executor:
        yield Pool(submit, lambda: 2 * settings.workers, stopped.set, computed=lambda: sum(computed))


@contextmanager
def processes(settings: PoolSettings) -> Iterator[Pool]:
    """Open processes on this machine; every kernel is compiled here first, so that they find machine code on disk."""
    grids = [0, *settings.plan.largest_grids.values()]  # large tables have kernels of their own
    chosen = tuple(settings.plan.grids[grid] for grid in grids)
    short = replace(settings.plan, grids=chosen, seeds=1, steps=1, sweep=())
    with compile_lock():
        work(short.to_json(), range(short.count))
    learners, room = _custom_learners(), room_for(settings.workers)
    spawn = get_context("spawn")
    counter = spawn.Value("q")
    executor = ProcessPoolExecutor(settings.workers, spawn, _begin_process, (counter,))

    def submit(plan: str, runs: list[int]) -> Future[tuple[Frame, float]]:
        return executor.submit(_work_elsewhere, learners, plan, runs, room)

    def stop() -> None:
        for process in list((getattr(executor, "_processes", None) or {}).values()):
            process.terminate()

    with _closed(executor):
        computed = counter.get_obj()  # read without its lock, which a killed process may hold
        yield Pool(
            submit, lambda: 2 * settings.workers, stop, losses=(BrokenExecutor,), computed=lambda: computed.value
        )


@contextmanager
def dask(settings: PoolSettings) -> Iterator[Pool]:
    """Open the cluster of a Dask scheduler."""
    try:
        from distributed import Client, KilledWorker
    except ImportError:
        raise MissingExtra("a scheduler needs Dask; install it with: pip install 'fastrm[dask]'") from None
    try:
        client = Client(settings.scheduler, timeout=CONNECT)
    except Exception as problem:  # whatever an address can be wrong with
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise ConfigError(f"scheduler {settings.scheduler}: cannot be reached: {reason}") from None
    executor, learners = client.get_executor(pure=False, retries=3), _custom_learners()
    seen = [0, -math.inf]

    def slots() -> int:
        """Return the threads of all workers; they come and go, and asking takes a while."""
        if time.monotonic() - seen[1] > SLOTS_SECONDS:
            with contextlib.suppress(OSError):  # the scheduler is gone, as futures will tell
                workers = client.scheduler_info(n_workers=-1)["workers"].values()
                seen[:] = sum(worker["nthreads"] for worker in workers), time.monotonic()
        return int(seen[0])

    def submit(plan: str, runs: list[int]) -> Any:
        return executor.submit(_work_on_cluster, learners, plan, runs)

    def trouble() -> str:
        return "" if slots() else f"scheduler {settings.scheduler}: no workers; waiting for one to come"

    with _quiet("distributed.client"), client:
        yield Pool(
            submit,
            lambda: max(4, 3 * slots()),
            lambda: executor.shutdown(wait=False),
            losses=(CancelledError, KilledWorker, OSError),
            trouble=trouble,
        )


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """Keep a library from logging the traceback of a loss, which is said in one line here."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


EXECUTORS = {"thread": threads, "process": processes}
"""Where batches are computed on this machine, by what workers are."""


def open_pool(isolation: str, settings: PoolSettings) -> AbstractContextManager[Pool]:
    """Open the pool of workers that computes batches: at the scheduler's address if there is one, else here."""
    return (dask if settings.scheduler else EXECUTORS[isolation])(settings)


def await_any(futures: set[Any]) -> set[Any]:
    """Wait for one of some futures, for a tenth of a second at most; return those that are finished."""
    return set(wait(futures, timeout=0.1, return_when=FIRST_COMPLETED).done)


class CustomLearners(NamedTuple):
    """Learners that do not come with fastrm."""

    files: tuple[tuple[str, str], ...]
    """Path and content of the files that were named on the command line."""
    classes: tuple[tuple[str, str, dict[str, Any]], ...]
    """Module, class and attributes of the rest."""


def _custom_learners() -> CustomLearners:
    return CustomLearners(loaded_files(), registry.custom_learners())


def _work_elsewhere(learners: CustomLearners, plan: str, runs: list[int], room: int) -> tuple[Frame, float]:
    """Do the work of a batch in another process, which must load custom learners first."""
    load_again(learners.files)
    registry.register_all(learners.classes)
    return work(plan, runs, room=room, computed=_count)


def _work_on_cluster(learners: CustomLearners, plan: str, runs: list[int]) -> tuple[Frame, float]:
    """Do the work of a batch on a worker of a cluster, within what the cluster lets a thread of it use."""
    from distributed import get_worker

    worker = get_worker()
    room = room_for(worker.state.nthreads, worker.memory_manager.memory_limit)
    return _work_elsewhere(learners, plan, runs, room)


_counter: Any = None
"""In a worker process: the steps that all of them have made."""


def _begin_process(counter: Any) -> None:
    """Leave Ctrl-C to the parent, and count steps for it."""
    global _counter
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _counter = counter


def _count(steps: int) -> None:
    if _counter is not None:  # else on a cluster, whose batches are counted when they arrive
        with _counter.get_lock():
            _counter.value += steps
