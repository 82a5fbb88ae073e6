"""How much of the memory an experiment takes: runs of a batch learn side by side, as many as there is room for."""

from __future__ import annotations

import contextlib
import itertools

from fastrm.errors import FastrmError
from fastrm.experiments.batches import runs_per_batch
from fastrm.experiments.plan import Plan
from fastrm.learners import SHARE_FOR_TABLES, Batch
from fastrm.resources import usable_memory


def room_for(workers: int, memory: int | None = None) -> int:
    """Return the bytes that each of some workers may fill with what runs learn; `memory` is that of this machine."""
    return int(SHARE_FOR_TABLES * (memory or usable_memory())) // workers


def bytes_of_largest_run(plan: Plan) -> int:
    """Return the bytes that a run on the largest map changes on its way; runs that cannot begin take none."""
    texts = [text for _, _, text in plan.grids]
    grid, sizes = texts.index(max(texts, key=len)), [1]
    for task, method in itertools.product(range(len(plan.tasks)), range(len(plan.methods))):
        with contextlib.suppress(FastrmError):
            problem = plan.problem(grid, task, method)
            batch = Batch(
                problem, plan.methods[method].algo, steps=plan.steps, seeds=(), config=plan.learner,
                optimum=[1.0] * len(problem.machines),
            )  # fmt: skip
            sizes.append(batch.bytes_per_seed)
    return max(sizes)


def workers_that_fit(plan: Plan, workers: int) -> int:
    """Return how many of some workers there is memory for, with a run each and the copy that it hands out."""
    return max(1, min(workers, usable_memory() // (2 * bytes_of_largest_run(plan))))


def peak_bytes(plan: Plan, workers: int) -> int:
    """Return the bytes that runs will take at most when so many workers share this machine."""
    size, runs = bytes_of_largest_run(plan), runs_per_batch(plan)
    busy = min(workers_that_fit(plan, workers), -(-plan.count // runs))
    at_once = max(1, min(runs, plan.seeds, room_for(workers) // size))
    return busy * (at_once + 1) * size
