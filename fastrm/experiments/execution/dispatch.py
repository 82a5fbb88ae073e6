"""Getting runs computed: batches go to workers, and are saved as they arrive; lost workers are replaced.

Batches in flight when workers are lost are computed again by new ones, unless workers die again and again without
finishing a batch.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import ConfigError, FastrmError, FastrmWarning, RunError
from fastrm.experiments.execution.batches import Stopped, make_batches
from fastrm.experiments.execution.executors import Means, Pool, await_any, open_pool
from fastrm.experiments.plan import Plan
from fastrm.results import Frame, Store

GRACE_SECONDS = 2.0
QUIET_SECONDS, MOST_QUIET_SECONDS = 10.0, 600.0
MOST_FRUITLESS = 3
_CURE = "finished batches are saved, the same command goes on from there"


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


@dataclass
class Job:
    """Runs to compute, and what has become of them."""

    plan: Plan
    store: Store
    progress: Progress
    report: Callable[[Progress], None]
    signalled: Callable[[], bool]
    left: Array
    """Whether a run is still to be computed."""
    begun: float = 0.0
    """When the first workers were ready."""

    @classmethod
    def of(
        cls,
        plan: Plan,
        todo: Array,
        store: Store,
        report: Callable[[Progress], None] | None,
        signalled: Callable[[], bool],
    ) -> Self:
        """Return the job of some runs of a plan."""
        left = np.zeros(plan.count, dtype=np.bool_)
        left[todo] = True
        progress = Progress(runs=len(todo), before=int(store.done.sum()), steps=plan.steps)
        return cls(plan, store, progress, report or (lambda _: None), signalled, left)

    def begin(self) -> None:
        """Take the time and report, when the first workers are ready."""
        if not self.begun:
            self.begun = time.perf_counter()
            self.tell()

    def tell(self) -> None:
        """Report how far it is."""
        self.progress.seconds = time.perf_counter() - self.begun
        self.report(self.progress)

    def save(self, frame: Frame, seconds: float) -> None:
        """Save a finished batch."""
        self.store.add(frame)
        self.left[frame["run"]] = False
        self.progress.runs_done += len(frame["run"])
        self.progress.failed += int((frame["error"] != b"").sum())
        self.progress.kernel_seconds += seconds


class _WorkersLost(Exception):
    """Workers are gone, and with them the batches they were given."""


def compute(isolation: str, means: Means, job: Job) -> None:
    """Compute runs. Where workers are lost, new ones go on, as long as that gets anything done."""
    if not job.left.any():
        return
    job.progress.workers = means.workers
    losses, fruitless = 0, 0
    while True:
        before = int(job.left.sum())
        try:
            with open_pool(isolation, means) as pool:
                job.begin()
                _drain(pool, job)
            return
        except _WorkersLost as loss:
            if job.signalled():
                return
            losses, fruitless = losses + 1, 0 if job.left.sum() < before else fruitless + 1
            if fruitless == MOST_FRUITLESS:
                raise RunError(f"{loss}, {fruitless} times in a row before a batch was finished; {_CURE}") from None
            warnings.warn(f"{loss}; new ones go on with what is left", FastrmWarning, stacklevel=3)
        except ConfigError as problem:  # the address was good once
            if not losses:
                raise
            raise RunError(f"{problem}; {_CURE}") from None


def _drain(pool: Pool, job: Job) -> None:
    """Keep the workers busy and save every batch as it arrives."""
    text, batches = job.plan.to_json(), make_batches(job.plan, np.flatnonzero(job.left))
    flying: set[Any] = set()
    stop_at, patience = None, _Patience(pool.trouble)
    while True:
        while not job.signalled() and len(flying) < pool.capacity() and (runs := next(batches, None)) is not None:
            flying.add(_guarded(pool, pool.submit, text, runs))
        if not flying:
            return
        finished = await_any(flying)
        flying -= finished
        losses = []
        for future in finished:  # all that is good first
            try:
                _save(pool, future, job, stopping=stop_at is not None)
            except _WorkersLost as loss:
                losses.append(loss)
        if losses:
            raise losses[0]
        if finished:
            job.tell()
        patience.passed(bool(finished))
        if job.signalled():
            now = time.perf_counter()
            if stop_at is None:
                stop_at = now + GRACE_SECONDS
                flying = {future for future in flying if not future.cancel()}
                pool.stop()
            elif now > stop_at:
                return


def _save(pool: Pool, future: Any, job: Job, stopping: bool) -> None:
    """Save a finished batch, or say why there is none."""
    try:
        frame, seconds = _guarded(pool, future.result)
    except Stopped:
        return
    except Exception:
        if stopping:  # a terminated process
            return
        raise
    job.save(frame, seconds)


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
