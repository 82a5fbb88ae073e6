"""Logs of every episode, in the published format, so that existing plotting scripts keep working.

``0.0.monitor.csv`` has a row per episode::

    # {"t_start": 1614835805.4, "env_id": "Office-single-v0"}
    r,l,t
    0.0,66,0.014107

A run is a pure function of its plan, so its episodes are computed when they are wanted instead of being kept.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import StoreError
from fastrm.experiments.execution.batches import request_of
from fastrm.experiments.plan import Plan
from fastrm.learners import trained
from fastrm.results import Disk
from fastrm.textfile import read_text

PUBLISHED_NAMES = {"qrm": "ql", "qrm-rs": "ql-rs"}
"""What the reference implementation calls our methods, where it calls them otherwise."""
MONITOR_FILE = "0.0.monitor.csv"
HEAD = "r,l,t"
_MICROSECOND = 1e-6


class Monitor(NamedTuple):
    """The episodes of one run."""

    reward: Array
    """What each episode paid."""
    length: Array
    """Its steps."""
    seconds: Array
    """Seconds since the start of the run."""
    about: dict[str, Any]
    """What the first line says."""

    def scores(self, steps: Array, optima: Sequence[float], window: int = 100) -> Array:
        """Return the mean of reward / length / optimum over the last episodes that ended at or before some steps.

        Episodes play the tasks whose optima are given in turn. The episode that crosses a step does not count; where
        none has ended yet the score is 0.
        """
        unit = np.resize(np.asarray(optima, dtype=np.float64), len(self.length))
        worth = np.concatenate([[0.0], np.cumsum(self.reward / self.length / unit)])
        ended = np.searchsorted(np.cumsum(self.length), steps, side="right")
        first = np.maximum(ended - window, 0)
        mean: Array = (worth[ended] - worth[first]) / np.maximum(ended - first, 1)
        return mean


def read_monitor(path: Path) -> Monitor:
    """Read a log of episodes.

    Raises
    ------
    StoreError
        Naming the line that is not as published.
    """
    lines = read_text(path, StoreError).splitlines()
    if len(lines) < 2 or not lines[0].startswith("#") or lines[1] != HEAD:
        raise StoreError(f"{path}: not a log of episodes; it must begin with a line '# {{...}}' and a line '{HEAD}'")
    try:
        about = json.loads(lines[0][1:])
    except ValueError:
        raise StoreError(f"{path}:1: the first line is not '# ' and JSON") from None
    rows = np.empty((len(lines) - 2, 3))
    for k, line in enumerate(lines[2:]):
        try:
            reward, length, seconds = map(float, line.split(","))
        except ValueError:
            raise StoreError(f"{path}:{k + 3}: expected reward,length,seconds, found {line[:60]!r}") from None
        rows[k] = reward, length, seconds
    wrong = ~np.isfinite(rows).all(axis=1) | (rows[:, 1] < 1) | (rows[:, 1] % 1 != 0)
    if wrong.any():
        k = int(np.flatnonzero(wrong)[0])
        raise StoreError(
            f"{path}:{k + 3}: an episode needs a finite reward and a whole length, found {lines[k + 2][:60]!r}"
        )
    if not len(rows):
        raise StoreError(f"{path}: no episodes")
    return Monitor(rows[:, 0], rows[:, 1].astype(np.int64), rows[:, 2], about if isinstance(about, dict) else {})


def write_monitor(reward: Array, length: Array, about: dict[str, Any]) -> str:
    """Write a log of episodes; time counts a microsecond a step, so that the same run gives the same text.

    >>> print(write_monitor(np.array([1.0, 0.0]), np.array([7, 1000]), {"env_id": "x"}), end="")
    # {"env_id": "x", "t_start": 0.0}
    r,l,t
    1.0,7,7e-06
    0.0,1000,0.001007
    """
    ends = np.cumsum(length)
    lines = [f"# {json.dumps({**about, 't_start': 0.0}, sort_keys=True)}", HEAD]
    for paid, steps, end in zip(reward.tolist(), length.tolist(), ends.tolist(), strict=True):
        lines.append(f"{_short(paid)},{steps},{round(end * _MICROSECOND, 6)}")
    return "\n".join(lines) + "\n"


def _short(number: float) -> str:
    """Write a number as Python does, but finite only."""
    if not math.isfinite(number):
        raise StoreError(f"an episode paid {number}; logs hold finite numbers")
    return repr(float(number))


def log_path(plan: Plan, run: int, folder: Path) -> Path:
    """Return where the log of a run goes: algorithm / settings / task / map / seed, algorithms named as published.

    Only swept settings have a folder of their own.
    """
    grid, task, method, variant, seed = plan.coordinates(run)
    label, config = plan.methods[method].label, plan.variants[variant]
    setup, name, _ = plan.grids[grid]
    where = name if name == setup else f"{setup}-{name}"
    name_of_task = quote(plan.tasks[task][0], safe="+,{}!() ")  # | and * are not for file names
    settings = [quote(f"{name}={getattr(config, name)}", safe="=(), ") for name in plan.swept]
    return folder.joinpath(PUBLISHED_NAMES.get(label, label), *settings, name_of_task, where, str(seed), MONITOR_FILE)


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
        grid, task, method, _, _ = plan.coordinates(run)
        ones = [1.0] * len(plan.problem(grid, task, method).machines)
        (finished,) = trained(**request_of(plan, [run]), optimum=ones, episodes=True)
        log = finished.episode_log
        disk, aside = Disk(), path.with_suffix(".tmp")
        disk.make_folder(path.parent)
        disk.remove(aside)  # left by a killed process, or a link that somebody put there
        disk.write(aside, (write_monitor(*log, about) if log else "").encode())
        disk.rename(aside, path)
    except OSError as problem_:
        raise StoreError(f"{path}: cannot be written: {problem_.strerror or problem_}") from None
    return True


def _first_line(path: Path) -> str:
    with path.open("rb") as file:
        return file.readline(10_000).decode("utf-8", "replace").rstrip("\n")
