"""The work of one batch: some runs of a plan in, their columns out. A pure function, the same on any worker.

Runs of a batch learn side by side, as many as its worker has memory for.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fastrm.arrays import Array
from fastrm.errors import FastrmError
from fastrm.exact import ScoreUnit, score_ceiling, score_units
from fastrm.experiments.plan import Plan
from fastrm.learners import SHARE_FOR_TABLES, Batch, Run, trained
from fastrm.resources import usable_memory
from fastrm.results import MAX_ERROR, Frame, empty_frame, fill_in
from fastrm.schedules import final

BATCH_STEPS = 60_000_000  # about a second; saving a batch takes a fortieth of that
BATCH_RUNS = 500
WARM_RUNS = 3
"""Runs that start with what others have learned are made so many at a time, as those others are kept meanwhile."""


class Stopped(Exception):
    """The batch was given up half-way."""


def make_batches(plan: Plan, runs: Array) -> Iterator[list[int]]:
    """Cut a list of runs into batches of about a second that share maps and machines where they can."""
    size = runs_per_batch(plan)
    for k in range(0, len(runs), size):
        yield runs[k : k + size].tolist()


def runs_per_batch(plan: Plan) -> int:
    """Return how many runs make a batch of about a second."""
    return max(1, min(BATCH_RUNS, BATCH_STEPS // plan.steps))


def room_for(workers: int, memory: int | None = None) -> int:
    """Return the bytes that each of some workers may fill with what runs learn; `memory` is that of this machine."""
    return int(SHARE_FOR_TABLES * (memory or usable_memory())) // workers


def bytes_of_largest_run(plan: Plan) -> int:
    """Return the bytes that a run on the largest map changes on its way; runs that cannot begin take none."""
    texts = [text for _, _, text in plan.grids]
    grid, sizes = texts.index(max(texts, key=len)), [1]
    for task, method in itertools.product(range(len(plan.tasks)), range(len(plan.methods))):
        for config in plan.variants:
            with contextlib.suppress(Exception):  # `work` will record it
                problem = plan.problem(grid, task, method)
                batch = Batch(
                    problem, plan.methods[method].algo, steps=plan.steps, seeds=(), config=config,
                    optimum=[1.0] * len(problem.machines),
                )  # fmt: skip
                sizes.append(batch.bytes_per_seed)
    return max(sizes)


def workers_that_fit(plan: Plan, workers: int) -> int:
    """Return how many of some workers there is memory for, with a run each and the copy that it hands out."""
    kept = WARM_RUNS if plan.warm_start else 0
    return max(1, min(workers, usable_memory() // ((2 + kept) * bytes_of_largest_run(plan))))


def peak_bytes(plan: Plan, workers: int) -> int:
    """Return the bytes that runs will take at most when so many workers share this machine."""
    size, runs = bytes_of_largest_run(plan), runs_per_batch(plan)
    busy = min(workers_that_fit(plan, workers), -(-plan.count // runs))
    at_once = max(1, min(runs, plan.seeds, room_for(workers) // size))
    return busy * (at_once + 1 + (WARM_RUNS if plan.warm_start else 0)) * size


def work(
    plan_json: str, runs: Sequence[int], stopped: Callable[[], bool] | None = None, room: int | None = None
) -> tuple[Frame, float]:
    """Compute some runs; return their columns and the seconds spent inside kernels.

    A run that fails is recorded with its error; the others go on. What they learn takes at most about `room` bytes.
    """
    plan = Plan.from_json(plan_json)
    frame = empty_frame(plan, list(runs))
    frame["run_id"][:] = [plan.run_id(run).encode() for run in runs]
    inside = 0.0
    for _, group in itertools.groupby(range(len(runs)), key=lambda k: plan.coordinates(runs[k])[:4]):
        rows = list(group)
        try:
            inside += _train(plan, [runs[k] for k in rows], frame, rows, stopped, room)
        except Stopped:
            raise
        except Exception as problem:  # recorded, not lost
            grid, task, *_ = plan.coordinates(runs[rows[0]])
            place = f"task {plan.tasks[task][0]} on map {' '.join(dict.fromkeys(map(str, plan.grids[grid][:2])))}"
            reason = reason_of(problem).removeprefix(f"{plan.source(task)}: ")
            messages = frame["error"].astype(f"S{MAX_ERROR}")
            messages[rows] = " ".join(f"{place}: {reason}".split()).encode("ascii", "replace")[:MAX_ERROR]
            frame["error"] = messages.astype(f"S{max(len(message) for message in messages)}")
    return frame, inside


def reason_of(problem: Exception) -> str:
    r"""Return what went wrong, in plain text; of a kernel that does not compile the innermost message and its line.

    >>> reason_of(ValueError("\x1b[1mno \x1b[0mgood"))
    'ValueError: no good'
    """
    if isinstance(problem, FastrmError):
        return str(problem)
    text, kind = re.sub(r"\x1b\[[0-9;]*m", "", str(problem)), type(problem)
    if not kind.__module__.startswith("numba."):
        return f"{kind.__name__}: {text}"
    where = re.search(r"at (\S+) \((\d+)\)", text) or re.search(r'File "([^"]+)", line (\d+)', text)
    message = re.split(
        r"\n\s*(?:There are \d+ candidate|During: |File \")", re.sub(r"Failed in \w+ mode[^\n]*\n", "", text)
    )[0]
    return f"{Path(where[1]).name}:{where[2]}: {message}" if where else f"{kind.__name__}: {message}"


def request_of(plan: Plan, runs: Sequence[int], **how: Any) -> dict[str, Any]:
    """Return what `trained` is asked for: the runs differ in their seeds only.

    Runs that another run comes before are asked for with that run, which is trained here; `how` is for its training.
    """
    place = plan.coordinates(runs[0])
    before = [source for run in runs if (source := plan.source_of(run)) is not None]
    return {
        **({"warm_start": list(train_runs(plan, before, **how))} if before else {}),
        "problem": plan.problem(place.grid, place.task, place.method),
        "algo": plan.methods[place.method].algo,
        "steps": plan.steps,
        "seeds": [plan.stream(place.grid, plan.coordinates(run).seed) for run in runs],
        "shaping": plan.methods[place.method].shaping,
        "config": plan.config(place),
    }


def train_runs(plan: Plan, runs: Sequence[int], **how: Any) -> Iterator[Run]:
    """Yield some runs that differ in their seeds only, as they are to the last bit; `how` is for `trained`."""
    unit, alone = _unit(plan, *_yardstick(plan, runs[0])), {name: how[name] for name in how if name != "episodes"}
    at_once = WARM_RUNS if plan.source_of(runs[0]) is not None else len(runs)
    for k in range(0, len(runs), at_once):
        yield from trained(**request_of(plan, runs[k : k + at_once], **alone), optimum=unit, **how)


def _yardstick(plan: Plan, run: int) -> tuple[int, int, float, float, int]:
    """Return what the unit of a run's score depends on: map, task, gamma, the last epsilon, and the episode limit."""
    place = plan.coordinates(run)
    config = plan.variants[place.variant]
    return place.grid, place.task, config.gamma, final(config.epsilon, plan.steps), config.episode_limit


@functools.lru_cache(maxsize=64)
def _unit(plan: Plan, grid: int, task: int, gamma: float, epsilon: float, limit: int) -> tuple[ScoreUnit, ...]:
    """Return the unit of the score; all kinds of machine for a task share it, so the first method's will do."""
    return score_units(plan.problem(grid, task, 0), gamma, epsilon, limit)


@functools.lru_cache(maxsize=64)
def _ceiling(plan: Plan, grid: int, task: int, gamma: float, epsilon: float, limit: int) -> float:
    """Return the ceiling of the reward per step, NaN where there is none; like the unit it belongs to map and task.

    Over several tasks it is a mean, weighted so that ceiling / unit is what the mean of their scores can reach.
    """
    try:
        units = [unit.one for unit in _unit(plan, grid, task, gamma, epsilon, limit)]
        found = score_ceiling(plan.problem(grid, task, 0), epsilon, limit)
        mean = sum(units) / len(units)
        return sum(mean / unit * ceiling for unit, ceiling in zip(units, found, strict=True)) / len(units)
    except Exception:  # the runs are fine without it
        return math.nan


def _train(
    plan: Plan,
    runs: Sequence[int],
    frame: Frame,
    rows: Sequence[int],
    stopped: Callable[[], bool] | None,
    room: int | None,
) -> float:
    """Train the seeds of one map, task, method and variant; fill in their rows of the frame."""
    inside = 0.0

    def between(seconds: float) -> None:
        nonlocal inside
        inside += seconds
        if stopped is not None and stopped():
            raise Stopped

    ceiling = functools.partial(_ceiling, plan, *_yardstick(plan, runs[0]))
    for row, run in zip(rows, train_runs(plan, runs, room=room, between=between), strict=True):
        fill_in(frame, row, run)
        frame["ceiling"][row] = ceiling()
    return inside
