"""Logs of every episode, in the published format, so that existing plotting scripts keep working.

A run is a pure function of its plan, so its episodes are computed when they are wanted instead of being kept.
"""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

from fastrm.errors import StoreError
from fastrm.experiments.experiment import Method
from fastrm.experiments.monitor_files import NAME, write_monitor
from fastrm.experiments.plan import Plan
from fastrm.learners.training import Batch
from fastrm.studies.published import ALGORITHMS

_PUBLISHED = {ours: theirs for theirs, ours in ALGORITHMS.items()}


def log_path(plan: Plan, run: int, folder: Path) -> Path:
    """Return where the log of a run goes: algorithm / task / map / seed, algorithms named as published."""
    grid, task, method, seed = plan.coordinates(run)
    label = plan.methods[method]
    setup, name, _ = plan.grids[grid]
    where = name if name == setup else f"{setup}-{name}"
    name_of_task = quote(plan.tasks[task][0], safe="+,{}!() ")  # | and * are not for file names
    return folder / _PUBLISHED.get(label, label) / name_of_task / where / str(seed) / NAME


def write_log(plan: Plan, run: int, folder: Path) -> bool:
    """Compute a run once more and write its episodes; return False where they are there already.

    Raises
    ------
    StoreError
        When the folder cannot be written.
    """
    path, about = log_path(plan, run, folder), {"env_id": plan.experiment["name"], "run_id": plan.run_id(run)}
    try:
        if path.is_file() and _first_line(path) == f"# {json.dumps({**about, 't_start': 0.0}, sort_keys=True)}":
            return False
        grid, task, method, seed = plan.coordinates(run)
        how = Method.parse(plan.methods[method])
        problem = plan.problem(grid, task, method)
        batch = Batch(
            problem, how.algo, steps=plan.steps, seeds=[plan.stream(grid, seed)], shaping=how.shaping, episodes=True,
            optimum=[1.0] * len(problem.machines), config=plan.config(grid, task, method),
        )  # fmt: skip
        batch.advance(plan.steps)
        log = batch.results()[0].episode_log
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_suffix(".tmp")
        aside.write_text(write_monitor(*log, about) if log else "")
        aside.replace(path)
    except OSError as problem_:
        raise StoreError(f"{path}: cannot be written: {problem_.strerror or problem_}") from None
    return True


def _first_line(path: Path) -> str:
    with path.open() as file:
        return file.readline().rstrip("\n")
