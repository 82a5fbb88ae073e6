"""The work of one batch: some runs of a plan in, their columns out. A pure function, the same on any worker."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from fastrm.errors import FastrmError
from fastrm.exact.unit import optimal_arps
from fastrm.experiments.experiment import Method
from fastrm.experiments.plan import Plan
from fastrm.learners.training import PIECE_STEPS, Batch
from fastrm.results.hdf5 import Frame, empty_frame

Array = npt.NDArray[Any]

BATCH_STEPS = 60_000_000  # about a second; saving a batch takes a fortieth of that
BATCH_RUNS = 500


class Stopped(Exception):
    """The batch was given up half-way."""


def make_batches(plan: Plan, runs: Array) -> Iterator[list[int]]:
    """Cut a list of runs into batches of about a second that share maps and machines where they can."""
    size = max(1, min(BATCH_RUNS, BATCH_STEPS // plan.steps))
    for k in range(0, len(runs), size):
        yield runs[k : k + size].tolist()


def work(plan_json: str, runs: Sequence[int], stopped: Callable[[], bool] | None = None) -> tuple[Frame, float]:
    """Compute some runs; return their columns and the seconds spent inside kernels.

    A run that fails is recorded with its error; the others go on.
    """
    plan = Plan.from_json(plan_json)
    frame = empty_frame(plan, len(runs))
    frame["run"][:] = runs
    frame["run_id"][:] = [plan.run_id(run).encode() for run in runs]
    inside = 0.0
    for _, rows in itertools.groupby(range(len(runs)), key=lambda k: plan.coordinates(runs[k])[:3]):
        which = list(rows)
        try:
            inside += _train(plan, [runs[k] for k in which], frame, which, stopped)
        except Stopped:
            raise
        except Exception as problem:  # recorded, not lost
            said = str(problem) if isinstance(problem, FastrmError) else f"{type(problem).__name__}: {problem}"
            grid, task, _, _ = plan.coordinates(runs[which[0]])
            said = f"task {plan.tasks[task][0]} on map {plan.grids[grid][0]} {plan.grids[grid][1]}: {said}"
            for name in ("score", "reward", "steps_to_90", "optimal_arps"):
                frame[name][which] = np.nan  # never, not at once
            frame["greedy_length"][which] = -1
            messages = frame["error"].astype("S200")
            messages[which] = " ".join(said.split()).encode("ascii", "replace")[:200] or b"unknown"
            frame["error"] = messages.astype(f"S{max(len(message) for message in messages)}")
    return frame, inside


@lru_cache(maxsize=64)
def _unit(plan: Plan, grid: int, task: int) -> tuple[float, ...]:
    """Return the unit of the score; all kinds of machine for a task share it, so the first method's will do."""
    return optimal_arps(plan.problem(grid, task, 0), plan.learner.gamma, plan.learner.epsilon)


def _train(
    plan: Plan, runs: Sequence[int], frame: Frame, rows: Sequence[int], stopped: Callable[[], bool] | None
) -> float:
    """Train the seeds of one map, task and method; fill in their rows of the frame."""
    grid, task, method, _ = plan.coordinates(runs[0])
    problem, how = plan.problem(grid, task, method), Method.parse(plan.methods[method])
    unit = _unit(plan, grid, task)
    seeds = [plan.stream(grid, plan.coordinates(run)[3]) for run in runs]
    batch = Batch(
        problem,
        how.algo,
        steps=plan.steps,
        seeds=seeds,
        shaping=how.shaping,
        optimum=unit,
        config=plan.config(grid, task, method),
    )
    piece, inside = max(1, PIECE_STEPS // len(seeds)), 0.0
    for _ in range(0, plan.steps, piece):
        start = time.perf_counter()
        batch.advance(piece)
        inside += time.perf_counter() - start
        if stopped is not None and stopped():
            raise Stopped
    frame["shortest"][rows] = sum(problem.shortest)
    frame["optimal_arps"][rows] = sum(unit) / len(unit)
    for row, run in zip(rows, batch.results(), strict=True):
        lengths = run.greedy_lengths
        frame["greedy_length"][row] = -1 if None in lengths else sum(n for n in lengths if n is not None)
        frame["solved"][row] = run.solved
        reached = np.flatnonzero(run.score >= 0.9)
        frame["steps_to_90"][row] = run.step[reached[0]] if reached.size else np.nan
        for name in ("score", "reward", "completions", "episodes"):
            frame[name][row] = getattr(run, name)
    return inside
