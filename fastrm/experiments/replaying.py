"""Any run of a result file, once more: it is a pure function of its plan, so what the file leaves out is computed.

Where one of several runs is asked for by rank, a higher settled score is better; equal ones are told apart by fewer
steps to 90 %, then by their order in the file.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_choice, check_truth, check_whole
from fastrm.errors import ConfigError, StoreError, printable, shown
from fastrm.experiments.batches import train_runs
from fastrm.experiments.experiment import check_learner
from fastrm.learners import Run, registry
from fastrm.problems import Problem
from fastrm.results import PER_TICK, Results

RANKS = ("best", "median", "worst")


def replay(results: Results, which: int | str, *, episodes: bool = False, **wanted: Any) -> Run:
    """Compute a run of a result file once more, to the last bit, with all that it learned.

    Parameters
    ----------
    results : Results
        A loaded file, or some runs of it.
    which : int or {"best", "median", "worst"}
        The row of the run, or its rank by settled score. Of an even number the median is the better one in the middle.
    episodes : bool
        Keep reward and length of every episode.
    **wanted
        Coordinates as in `Results.select`, such as ``method="crm-bool", task="a-b"``: rows and ranks are then those
        of the selected runs.

    Raises
    ------
    ConfigError
        When there is no such run, it failed, or its learner is not known here.
    StoreError
        When the learner has changed its semantics since, or the curves are not those of the file.

    >>> import fastrm, tempfile
    >>> tiny = fastrm.Experiment(name="tiny", setups=("1a",), size=7, tasks=("a",), methods=("crm-bool",), seeds=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = fastrm.run(tiny, out=f"{folder}/tiny.h5")
    >>> worst = results.replay("worst", method="crm-bool", task="a")
    >>> worst.solved, worst.q.shape
    (True, (25, 1, 4))
    """
    check_truth("episodes", episodes)
    row = find_row(results, which, **wanted)
    _check_learner(results, row)
    (run,) = train_runs(results.plan, [_number(results, row)], episodes=episodes)
    for name in PER_TICK:
        if name not in results.columns:  # nobody asked for it
            continue
        stored, found = results[name][row], getattr(run, name)
        if not np.array_equal(stored, found, equal_nan=stored.dtype.kind == "f"):
            commit = _attribute(results, "git_commit")[:12] or "unknown"
            raise StoreError(
                f"{_place(results, row)}: its {name} is not that of the file; use the version that wrote it: fastrm "
                f"{_attribute(results, 'fastrm')}, commit {commit}"
            )
    return run


def find_row(results: Results, which: int | str, **wanted: Any) -> int:
    """Return the row of a run that did not fail, by its row among the selected runs or its rank; see `replay`."""
    if not isinstance(which, str):
        check_whole("run", which, 0, 2**62)
    else:
        check_choice("run", which, RANKS)
    chosen = results.select(**wanted) if wanted else results
    if isinstance(which, str):
        k = _by_rank(chosen, which)
    elif which >= chosen.runs:
        there = f"0 to {chosen.runs - 1}" if chosen.runs else "none"
        raise ConfigError(f"run={which}: no such row{' among those selected' if wanted else ''}; there are {there}")
    else:
        k = int(which)
    row = int(np.flatnonzero(results["run"] == chosen["run"][k])[0])
    if error := str(results["error"][row]):
        raise ConfigError(f"{_place(results, row)} failed, there is nothing to replay: {printable(error)}")
    return row


def problem_of(results: Results, row: int) -> Problem:
    """Return the problem that a run was made on."""
    place = results.plan.coordinates(_number(results, row))
    return results.plan.problem(place.grid, place.task, place.method)


def _by_rank(results: Results, rank: str) -> int:
    """Return the best, median or worst of the runs that did not fail."""
    fine = np.flatnonzero(results["error"] == "")
    if not len(fine):
        raise ConfigError(f"run={rank!r}: {'all of these runs failed' if results.runs else 'there are no runs'}")
    settled, steps = results.per_run_values("settled")[fine], results["steps_to_90"][fine]
    order: Array = np.lexsort((np.where(np.isnan(steps), np.inf, steps), -settled))  # stable: then as in the file
    return int(fine[order[{"best": 0, "median": (len(fine) - 1) // 2, "worst": len(fine) - 1}[rank]]])


def _check_learner(results: Results, row: int) -> None:
    """Raise an error unless the learner of a run is known and does what it did then."""
    algo = str(results["algo"][row])
    check_learner(algo, _place(results, row))
    kind = results.plan.kinds[results.plan.coordinates(_number(results, row)).grid]
    stored = json.loads(results.attributes["semantics"])
    there, here = stored.get(algo if kind == "tabular" else f"{algo} on {kind}"), registry.find(algo, kind).semantics
    if there != here:
        raise StoreError(
            f"{_place(results, row)}: learner {shown(algo)} has semantics {there} in the file and {here} here; "
            f"use fastrm {_attribute(results, 'fastrm')}, which wrote it"
        )


def _number(results: Results, row: int) -> int:
    return int(results["run"][row])


def _place(results: Results, row: int) -> str:
    """Name a run in a message."""
    return f"{printable(str(results.path or 'these results'))}: run {_number(results, row)}"


def _attribute(results: Results, name: str) -> str:
    return printable(str(results.attributes.get(name, "")))
