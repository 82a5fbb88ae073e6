"""The work of one batch: some runs of a plan in, their columns out. A pure function, the same on any worker.

Runs of a batch learn side by side, as many as its worker has memory for. Logs of every episode are computed when they
are wanted instead of being kept, in the published format, so that existing plotting scripts keep working:
``0.0.monitor.csv`` has a row per episode::

    # {"t_start": 1614835805.4, "env_id": "Office-single-v0"}
    r,l,t
    0.0,66,0.014107
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import FastrmError, MachineError, StoreError
from fastrm.exact import ScoreUnit, score_ceiling, score_units
from fastrm.experiments.plan import Plan
from fastrm.learners import SHARE_FOR_TABLES, Batch, Run, iter_runs, registry
from fastrm.problems import Problem
from fastrm.resources import usable_memory
from fastrm.results import MAX_ERROR, Disk, Frame, bytes_of_run, empty_frame, fill_in
from fastrm.schedules import final
from fastrm.textfile import read_text

BATCH_SECONDS, BATCH_STEPS = 1.0, 60_000_000
"""How long a batch should take, and how many steps that usually are; saving a batch takes a fortieth of that."""
BATCH_RUNS, BATCH_BYTES = 10_000, 1 << 26
"""Most runs of a batch, and most bytes of their columns."""
RUN_STEPS = 6_000
"""Steps in the time that a run takes besides its own: to begin it, look at its policy, and fill in its row."""
WARM_RUNS = 3
"""Runs that start with what others have learned are made this many at a time, since those others are kept meanwhile."""


Between = Callable[[float, int, int], None]
"""What `iter_runs` calls after every piece."""


class Stopped(Exception):
    """The batch was given up half-way."""


class Pace:
    """How long runs take, by task and method, as finished batches tell.

    The first batch of a kind may have loaded or compiled its kernel, so it tells nothing.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self._usual = plan, steps_of_run(plan) / BATCH_STEPS
        self._seconds: dict[int, float] = {}

    def kinds(self, runs: Array) -> Array:
        """Return a number for the task and the method of each of some runs."""
        return np.asarray(np.ravel_multi_index(self.plan.place(runs)[1:3], self.plan.shape[1:3]))

    def learn(self, runs: Array, seconds: float) -> None:
        """Take note of the seconds that a batch spent inside kernels."""
        for kind in np.unique(self.kinds(runs)).tolist():
            known = self._seconds.get(kind, -1.0)
            self._seconds[kind] = math.inf if known < 0 else min(known, seconds / len(runs))

    def seconds(self, runs: Array) -> Array:
        """Return how long runs will take; those of which nothing is known count more, so that they show soon."""
        kinds, which = np.unique(self.kinds(runs), return_inverse=True)
        known = [self._seconds.get(kind, math.inf) for kind in kinds.tolist()]
        unknown = self._usual * (2 if self._seconds else 10)
        return np.array([unknown if math.isinf(one) else max(one, self._usual) for one in known])[which]


def make_batches(plan: Plan, runs: Array, pace: Pace | None = None) -> Iterator[list[int]]:
    """Cut a list of runs into batches of about a second that share maps and machines where they can."""
    pace, most, k = pace or Pace(plan), runs_per_batch(plan), 0
    while k < len(runs):
        batch = runs[k : k + most]
        batch = batch[: max(1, int(np.searchsorted(np.cumsum(pace.seconds(batch)), BATCH_SECONDS, side="right")))]
        k += len(batch)
        yield batch.tolist()


def steps_of_run(plan: Plan) -> int:
    """Return how many steps of the fastest learner take as long as a run of the slowest one here."""
    return plan.steps * max(registry.slowness(method.algo) for method in plan.methods) + RUN_STEPS


def runs_per_batch(plan: Plan) -> int:
    """Return how many runs a batch of about a second has at most."""
    return max(1, min(BATCH_RUNS, BATCH_BYTES // bytes_of_run(plan), BATCH_STEPS // steps_of_run(plan)))


def room_for(workers: int, memory: int | None = None) -> int:
    """Return the bytes that each of some workers may fill with what runs learn; `memory` is that of this machine."""
    return int(SHARE_FOR_TABLES * (memory or usable_memory())) // workers


def bytes_of_largest_run(plan: Plan) -> int:
    """Return the bytes that a run on the largest map changes on its way; runs that cannot begin take none."""
    sizes, grids = [1], plan.largest_grids.values()
    for grid, task, method in itertools.product(grids, range(len(plan.tasks)), range(len(plan.methods))):
        for config in plan.variants:
            with contextlib.suppress(Exception):  # `work` will record it
                problem = plan.problem(grid, task, method)
                batch = Batch(
                    problem, plan.methods[method].algo, steps=plan.steps, config=config,
                    optimum=[1.0] * len(problem.machines),
                )  # fmt: skip
                sizes.append(batch.bytes_per_seed)
    return max(sizes)


def workers_that_fit(plan: Plan, workers: int) -> int:
    """Return how many of some workers there is memory for, with a run each and the copy that it hands out."""
    kept = WARM_RUNS if plan.warm_start else 0
    return max(1, min(workers, usable_memory() // ((2 + kept) * bytes_of_largest_run(plan))))


def peak_bytes(plan: Plan, workers: int) -> int:
    """Return the most bytes that runs will take when `workers` share this machine."""
    size, runs = bytes_of_largest_run(plan), runs_per_batch(plan)
    busy = min(workers_that_fit(plan, workers), -(-plan.count // runs))
    at_once = max(1, min(runs, plan.seeds, room_for(workers) // size))
    return busy * (at_once + 1 + (WARM_RUNS if plan.warm_start else 0)) * size


def work(
    plan_json: str,
    runs: Sequence[int],
    stopped: Callable[[], bool] | None = None,
    room: int | None = None,
    computed: Callable[[int], object] = int,
) -> tuple[Frame, float]:
    """Compute some runs; return their columns and the seconds spent inside kernels.

    A run that fails is recorded with its error; the others go on. What they learn takes at most about `room` bytes.
    `computed` is called with how many more steps are made, each time that some are; those of failed runs count as made.
    """
    plan = Plan.from_json(plan_json)
    frame = empty_frame(plan, list(runs))
    frame["run_id"][:] = [plan.run_id(run).encode() for run in runs]
    inside = 0.0
    for _, group in itertools.groupby(range(len(runs)), key=lambda k: plan.coordinates(runs[k])[:4]):
        rows, made = list(group), _Count(computed)
        try:
            inside += _train(plan, [runs[k] for k in rows], frame, rows, stopped, room, made)
        except Stopped:
            raise
        except Exception as problem:  # recorded, not lost
            grid, task, *_ = plan.coordinates(runs[rows[0]])
            place = f"task {plan.tasks[task][0]} on map {' '.join(dict.fromkeys(map(str, plan.grids[grid][:2])))}"
            reason = reason_of(problem).removeprefix(f"{plan.source(task)}: ")
            messages = frame["error"].astype(f"S{MAX_ERROR}")
            messages[rows] = " ".join(f"{place}: {reason}".split()).encode("ascii", "replace")[:MAX_ERROR]
            frame["error"] = messages.astype(f"S{max(len(message) for message in messages)}")
        made.reach(len(rows) * plan.steps)
    return frame, inside


class _Count:
    """How many steps some runs have made."""

    def __init__(self, tell: Callable[[int], object]) -> None:
        self._tell, self._told = tell, 0

    def reach(self, steps: int) -> None:
        """Tell what is new."""
        if steps > self._told:
            self._tell(steps - self._told)
            self._told = steps


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
    """Return what `iter_runs` is asked for: the runs differ in their seeds only.

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
    """Yield some runs that differ in their seeds only, as they are to the last bit; `how` is for `iter_runs`."""
    unit, between = _unit(plan, *_yardstick(plan, runs[0])), how.pop("between", None)
    alone = {name: how[name] for name in how if name != "episodes"} | {"between": between and _shifted(between, None)}
    how = how | {"greedy": plan.greedy_ticks}
    at_once = WARM_RUNS if plan.source_of(runs[0]) is not None else len(runs)
    for k in range(0, len(runs), at_once):
        request = request_of(plan, runs[k : k + at_once], **alone)
        counted = between and _shifted(between, k * plan.steps)
        yield from iter_runs(**request, optimum=unit, between=counted, **how)


def _shifted(between: Between, before: int | None) -> Between:
    """Return `between` told of steps beside those `before`; None for steps that do not count, of other runs."""
    return lambda seconds, made, total: between(seconds, 0 if before is None else before + made, total)


def _yardstick(plan: Plan, run: int) -> tuple[int, int, float, float, int]:
    """Return what the unit of a run's score depends on: map, task, gamma, the last epsilon, and the episode limit."""
    place = plan.coordinates(run)
    config = plan.variants[place.variant]
    return place.grid, place.task, config.gamma, final(config.epsilon, plan.steps), config.episode_limit


@functools.lru_cache(maxsize=64)
def _unit(plan: Plan, grid: int, task: int, gamma: float, epsilon: float, limit: int) -> tuple[ScoreUnit, ...]:
    """Return the unit of the score."""
    return score_units(_any_problem(plan, grid, task), gamma, epsilon, limit)


def _any_problem(plan: Plan, grid: int, task: int) -> Problem:
    """Return a problem of a task on a map; units and ceilings are those of every kind, and some may be refused."""
    refusals: list[MachineError] = []
    for method in range(len(plan.methods)):
        try:
            return plan.problem(grid, task, method)
        except MachineError as refusal:
            refusals.append(refusal)
    raise refusals[0]


@functools.lru_cache(maxsize=64)
def _ceiling(plan: Plan, grid: int, task: int, gamma: float, epsilon: float, limit: int) -> float:
    """Return the ceiling of the reward per step, NaN where there is none; like the unit it belongs to map and task.

    Over several tasks it is a mean, weighted so that ceiling / unit is what the mean of their scores can reach.
    """
    try:
        units = [unit.one for unit in _unit(plan, grid, task, gamma, epsilon, limit)]
        found = score_ceiling(_any_problem(plan, grid, task), epsilon, limit)
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
    count: _Count,
) -> float:
    """Train the seeds of one map, task, method and variant; fill in their rows of the frame."""
    inside = 0.0

    def between(seconds: float, made: int, _: int) -> None:
        nonlocal inside
        inside += seconds
        count.reach(made)
        if stopped is not None and stopped():
            raise Stopped

    ceiling = functools.partial(_ceiling, plan, *_yardstick(plan, runs[0]))
    for row, run in zip(rows, train_runs(plan, runs, room=room, between=between), strict=True):
        fill_in(frame, row, run)
        frame["ceiling"][row] = ceiling()
    return inside


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
    if not np.isfinite(reward).all():
        raise StoreError(f"an episode paid {reward[~np.isfinite(reward)][0]}; logs hold finite numbers")
    ends = np.cumsum(length)
    lines = [f"# {json.dumps({**about, 't_start': 0.0}, sort_keys=True)}", HEAD]
    for paid, steps, end in zip(reward.tolist(), length.tolist(), ends.tolist(), strict=True):
        lines.append(f"{float(paid)!r},{steps},{round(end * _MICROSECOND, 6)}")
    return "\n".join(lines) + "\n"


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
        (finished,) = iter_runs(**request_of(plan, [run]), optimum=ones, episodes=True)
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
