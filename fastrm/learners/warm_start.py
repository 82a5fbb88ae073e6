"""Warm starts: a run begins with what another has learned, its columns matched by machine state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fastrm.errors import ConfigError, shown
from fastrm.kernels.contracts import State
from fastrm.learners import registry
from fastrm.learners.registry import Learner, Values
from fastrm.learners.runs import Run
from fastrm.problems import Problem


def check_warm_starts(problem: Problem, learner: Learner, given: object, n: int) -> list[Values] | None:
    """Return what each of n runs begins with, None where they begin anew.

    `given` is a run for all of them, or a list with a run for each.

    Raises
    ------
    ConfigError
        When it is neither, or when what was learned does not fit the problem or the learner.
    """
    if given is None:
        return None
    runs = [given] * n if isinstance(given, Run) else given
    if not isinstance(runs, Sequence) or not all(isinstance(run, Run) for run in runs) or len(runs) != n:
        raise ConfigError(f"warm_start={shown(given)}: must be a Run, or a list with a Run for each seed")
    if not hasattr(learner, "put"):
        raise ConfigError(f"warm_start: {learner.name} has no 'put', so it cannot begin with what was learned")
    return [_fitted(problem, learner, run) for run in runs]


def put_values(problem: Problem, learner: Learner, state: State, i: int, given: Values) -> None:
    """Let run i begin with values; raise ConfigError unless they are numbers in the shape that the learner needs."""
    wanted = learner.values(problem, state, i)
    _check_shape(learner, wanted, given)
    try:
        learner.put(problem, state, i, given)
    except KeyError as missing:
        if missing.args[0] not in wanted.more:
            raise
        raise ConfigError(f"warm_start: the run lacks {missing}, with which {learner.name} begins") from None


def check_numbers(what: str, name: str, array: object) -> None:
    """Raise ConfigError unless `array` is an array of finite numbers; messages call it `name` of `what`."""
    if not isinstance(array, np.ndarray | np.generic) or array.dtype.kind not in "fiu":
        found = f"an array of {array.dtype}" if isinstance(array, np.ndarray) else shown(array)
        raise ConfigError(f"{what}: {name}: must be an array of numbers, not {found}")
    if not np.isfinite(array).all():
        raise ConfigError(f"{what}: {name}: must be finite numbers, and {np.sum(~np.isfinite(array))} of them are not")


def _check_shape(learner: Learner, wanted: Values, given: Values) -> None:
    """Refuse values of another shape than the learner begins with, as other settings may give them."""
    both = wanted.more.keys() & given.more.keys()
    pairs = [("q", wanted.q, given.q), *((name, wanted.more[name], given.more[name]) for name in sorted(both))]
    for name, mine, theirs in pairs:
        check_numbers("warm_start", name, theirs)
        if np.shape(mine) != np.shape(theirs):
            raise ConfigError(
                f"warm_start: the run of {learner.name} has a table of shape {list(np.shape(theirs))}, and this one "
                f"needs {list(np.shape(mine))}; train the first run with the same settings, on a problem of this shape"
            )


def _fitted(problem: Problem, learner: Learner, run: Run) -> Values:
    """Return what a run learned with the columns in the order of a problem's states."""
    cells, actions = problem.tables.next_s.shape
    check_numbers("warm_start", "q", run.q)
    if run.q.ndim != 3:
        raise ConfigError(f"warm_start: q: must be an array by cell, column and action, not of {run.q.ndim} dimensions")
    if (run.q.shape[0], run.q.shape[2]) != (cells, actions):
        raise ConfigError(
            f"warm_start: the run has values of {run.q.shape[0]} cells and {run.q.shape[2]} actions, and the problem "
            f"has {cells} and {actions}"
        )
    agendas = [one.agenda.targets if one and one.agenda else () for one in (run.problem, problem)]
    states = () if problem.agenda else problem.states
    if agendas[0] != agendas[1] or sorted(run.states) != sorted(states):
        kind = "stages" if any(agendas) else "states"
        listed = [
            [*targets, *(name for _, name in of)] for targets, of in zip(agendas, (run.states, states), strict=True)
        ]
        names = [", ".join(each) for each in listed]
        raise ConfigError(f"warm_start: the run has values of the {kind} {names[0]}, and the problem has {names[1]}")
    source = registry.find(run.algo)
    if source.name == learner.name and run.states == states:
        return Values(run.q, run.more)
    if not (source.per_state and learner.per_state):
        raise ConfigError(
            f"warm_start: {source.name} and {learner.name} do not keep the same kind of values; begin with a run of "
            f"{learner.name} on a problem with the same states in the same order"
        )
    column = {state: k for k, state in enumerate(run.states)}
    return Values(run.q[:, [column[state] for state in problem.states]])
