"""Result files of runs that were made elsewhere: by deep learners, or by programs of others.

Such a file opens, loads and plots like any other. Its plan says what the runs are called, and that nobody here can
repeat them.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fastrm.checks import check_whole, is_plain
from fastrm.config import LearnerConfig
from fastrm.errors import ConfigError, did_you_mean, shown
from fastrm.experiments.experiment import Method
from fastrm.experiments.plan import Plan, hash_of
from fastrm.problems import Problem
from fastrm.results import MAX_ERROR, PER_TICK, Frame, Results, empty_frame, load, write_frame
from fastrm.textfile import check_path

NAMES = ("setup", "grid", "task", "method")
"""What tells runs apart, beside their seeds."""
_OURS = ("run", "run_id")
"""Columns that fastrm numbers itself."""
MAX_NAME = 1000
"""Characters of a name: a result file is read back with names of at most 4096 bytes."""


class ForeignPlan(Plan):
    """The names of runs that were made elsewhere."""

    def attributes(self) -> dict[str, str]:
        """Return what a result file says of them; of learners that are not ours no semantics are known."""
        plan = self.to_json()
        experiment = json.dumps(self.experiment, sort_keys=True)
        return {"semantics": "{}", "experiment": experiment, "plan": plan, "identity": hash_of("foreign", plan)}

    def problem(self, grid: int, task: int, method: int) -> Problem:
        """Raise ConfigError: only names of maps and tasks are known."""
        raise ConfigError(
            f"{self.experiment['name']}: its runs were made elsewhere, and its file holds names of maps and tasks "
            "only; this needs the maps"
        )


def read_any_plan(text: str) -> Plan:
    """Return the plan that a result file holds, whether its runs were made here or elsewhere."""
    plan = Plan.from_json(text)
    return ForeignPlan.from_json(text) if plan.experiment.get("made") == "elsewhere" else plan


def write_runs(
    path: str | Path, runs: Sequence[Mapping[str, Any]], *, name: str, tick: int, about: Mapping[str, Any] | None = None
) -> Results:
    """Write runs that were made elsewhere to a result file, and load it.

    Parameters
    ----------
    path : str or Path
        The file; it is replaced if it is there.
    runs : sequence of mappings
        For each run its ``setup``, ``grid``, ``task``, ``method`` (such as ``dqn-bool``: a name, and a kind of reward)
        and ``seed``, from 0; and any variables of a result file, of those per tick as many values as there are ticks.
    name : str
        What the experiment is called.
    tick : int
        Steps between two values of a curve; the first is known after the first tick.
    about : mapping, optional
        What else to remember of the experiment, as JSON can hold it.

    Returns
    -------
    Results
        The loaded file.

    Raises
    ------
    ConfigError
        When a run lacks a name, has an unknown variable, or has curves of another length.

    Examples
    --------
    >>> import tempfile
    >>> run = {"setup": "1a", "grid": "0", "task": "a", "method": "dqn-bool", "seed": 0, "score": [0.2, 0.9]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = write_runs(f"{folder}/dqn.h5", [run], name="dqn", tick=1000)
    ...     print(results, results["step"], results["score"])
    <Results dqn: 1 runs (complete), 2 ticks> [1000 2000] [[0.2 0.9]]
    """
    check_path(path, ConfigError)
    if not isinstance(name, str) or not is_plain(name):
        raise ConfigError(f"name={shown(name)}: must be a text of one line")
    experiment = {**_check_about(about), "name": name, "made": "elsewhere"}
    check_whole("tick", tick, 1, 2**53)
    if not isinstance(runs, Sequence) or not runs or not all(isinstance(run, Mapping) for run in runs):
        raise ConfigError(f"runs={shown(runs)}: must be a list of runs, each a table of names and values")
    lengths = {_ticks(run, value) for run in runs for value in PER_TICK if value in run}
    if len(lengths) != 1:
        raise ConfigError(f"runs: curves have {sorted(lengths) or 'no'} values; each must have one for every tick")
    axes = [list(dict.fromkeys(_names(run, part) for run in runs)) for part in (("setup", "grid"), ("task",))]
    methods = [Method.read(label) for (label,) in dict.fromkeys(_names(run, ("method",)) for run in runs)]
    for run in runs:
        check_whole("seed", run.get("seed"), 0, 10**6 - 1)
    plan = ForeignPlan(
        experiment=experiment,
        grids=tuple((setup, grid, "") for setup, grid in axes[0]),
        tasks=tuple((task, {"": [[""]]}) for (task,) in axes[1]),
        methods=tuple(methods),
        seeds=int(max(run["seed"] for run in runs)) + 1,
        steps=tick * lengths.pop(),
        profile="clean",
        metric="manhattan",
        learner=LearnerConfig(tick=tick),
        root_seed=0,
    )
    labels = [method.label for method in methods]
    places = [
        (axes[0].index(_names(run, ("setup", "grid"))), axes[1].index(_names(run, ("task",))),
         labels.index(Method.read(run["method"]).label), 0, run["seed"])
        for run in runs
    ]  # fmt: skip
    numbers = [int(np.ravel_multi_index(place, plan.shape)) for place in places]
    order = np.argsort(numbers)
    if twice := [a for a, b in itertools.pairwise(sorted(numbers)) if a == b]:
        raise ConfigError(f"runs: {_describe(runs[numbers.index(twice[0])])} is given twice")
    frame = empty_frame(plan, [numbers[k] for k in order])
    longest = max(len(run["error"]) if isinstance(run.get("error"), str) else 1 for run in runs)
    frame["error"] = frame["error"].astype(f"S{max(1, min(longest, MAX_ERROR))}")
    for row, k in enumerate(order.tolist()):
        _fill(frame, row, runs[k])
    write_frame(Path(path), plan, frame)
    return load(path)


def _names(run: Mapping[str, Any], parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return some names of a run; raise ConfigError unless they are text."""
    for part in parts:
        text = run.get(part)
        if not isinstance(text, str) or not text or not is_plain(text) or len(text) > MAX_NAME:
            raise ConfigError(f"runs: {part}={shown(text)}: must be a name; every run has {', '.join(NAMES)}")
    return tuple(run[part] for part in parts)


def _ticks(run: Mapping[str, Any], value: str) -> int:
    """Return how many values a curve has; raise ConfigError unless it has one at least."""
    count = len(run[value]) if isinstance(run[value], Sequence | np.ndarray) and np.ndim(run[value]) else 0
    if not count:
        raise ConfigError(f"runs: {value}={shown(run[value])}: must be a list of values, one for every tick")
    return count


def _check_about(about: object) -> dict[str, Any]:
    """Return the entries of `about`; raise ConfigError unless JSON can hold them."""
    if about is not None and not (isinstance(about, Mapping) and all(isinstance(key, str) for key in about)):
        raise ConfigError(f"about={shown(about)}: must be a table of names and values")
    try:
        json.dumps(entries := dict(about or {}), sort_keys=True)
    except (TypeError, ValueError) as problem:
        raise ConfigError(f"about={shown(about)}: JSON cannot hold it: {problem}") from None
    return entries


def _describe(run: Mapping[str, Any]) -> str:
    return f"{' '.join(run[part] for part in NAMES)} seed {run['seed']}"


def _fill(frame: Frame, row: int, run: Mapping[str, Any]) -> None:
    """Write the values of a run into its row of a frame, in place."""
    for value in run.keys() - {*NAMES, "seed"}:
        if value not in frame or value in _OURS:
            known = [variable for variable in frame if variable not in _OURS]
            raise ConfigError(
                f"runs: no variable {shown(value)}{did_you_mean(value, known)}; there are {', '.join(known)}"
            )
        try:
            frame[value][row] = run[value]
        except (TypeError, ValueError):
            raise ConfigError(f"runs: {value}={shown(run[value])} of {_describe(run)}: does not fit") from None
