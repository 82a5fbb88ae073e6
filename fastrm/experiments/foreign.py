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

from fastrm.checks import check_whole
from fastrm.config import LearnerConfig
from fastrm.errors import ConfigError, did_you_mean, shown
from fastrm.experiments.experiment import Method
from fastrm.experiments.plan import Plan, hash_of
from fastrm.results import PER_TICK, Frame, Results, empty_frame, load, write_frame

NAMES = ("setup", "grid", "task", "method")
"""What tells runs apart, beside their seeds."""


class ForeignPlan(Plan):
    """The names of runs that were made elsewhere."""

    def attributes(self) -> dict[str, str]:
        """Return what a result file says of them; of learners that are not ours no semantics are known."""
        plan = self.to_json()
        experiment = json.dumps(self.experiment, sort_keys=True)
        return {"semantics": "{}", "experiment": experiment, "plan": plan, "identity": hash_of("foreign", plan)}


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
    check_whole("tick", tick, 1, 2**53)
    if not isinstance(runs, Sequence) or not runs or not all(isinstance(run, Mapping) for run in runs):
        raise ConfigError(f"runs={shown(runs)}: must be a list of runs, each a table of names and values")
    lengths = {len(run[value]) for run in runs for value in PER_TICK if value in run}
    if len(lengths) != 1:
        raise ConfigError(f"runs: curves have {sorted(lengths) or 'no'} values; each must have one for every tick")
    axes = [list(dict.fromkeys(_names(run, part) for run in runs)) for part in (("setup", "grid"), ("task",))]
    methods = [Method.read(label) for (label,) in dict.fromkeys(_names(run, ("method",)) for run in runs)]
    for run in runs:
        check_whole("seed", run.get("seed"), 0, 10**6 - 1)
    plan = ForeignPlan(
        experiment={**(about or {}), "name": name, "made": "elsewhere"},
        grids=tuple((setup, grid, "") for setup, grid in axes[0]),
        tasks=tuple((task, {"": [[""]]}) for (task,) in axes[1]),
        methods=tuple(methods),
        seeds=max(run["seed"] for run in runs) + 1,
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
    for row, k in enumerate(order.tolist()):
        _fill(frame, row, runs[k])
    write_frame(Path(path), plan, frame)
    return load(path)


def _names(run: Mapping[str, Any], parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return some names of a run; raise ConfigError unless they are text."""
    for part in parts:
        if not isinstance(run.get(part), str) or not run[part]:
            raise ConfigError(f"runs: {part}={shown(run.get(part))}: must be a name; every run has {', '.join(NAMES)}")
    return tuple(run[part] for part in parts)


def _describe(run: Mapping[str, Any]) -> str:
    return f"{' '.join(run[part] for part in NAMES)} seed {run['seed']}"


def _fill(frame: Frame, row: int, run: Mapping[str, Any]) -> None:
    """Write the values of a run into its row of a frame, in place."""
    for value in run.keys() - {*NAMES, "seed"}:
        if value not in frame:
            raise ConfigError(
                f"runs: no variable {shown(value)}{did_you_mean(value, frame)}; there are {', '.join(frame)}"
            )
        try:
            frame[value][row] = run[value]
        except (TypeError, ValueError):
            raise ConfigError(f"runs: {value}={shown(run[value])} of {_describe(run)}: does not fit") from None
