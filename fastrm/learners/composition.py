"""Columns that were learned once serve other agendas over the same objects, without learning anything more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from fastrm.arrays import Array
from fastrm.config import LearnerConfig
from fastrm.errors import ConfigError, shown
from fastrm.kernels.contracts import FAR, SUCCESS
from fastrm.kernels.exact import search
from fastrm.learners.batch import check_numbers
from fastrm.learners.coupled import agenda_of, check_cells, follow_columns, is_planned
from fastrm.learners.registry import Values
from fastrm.learners.runs import Run
from fastrm.machines import RewardMachine, task
from fastrm.machines.language import Agenda
from fastrm.problems import MOST_TOURED, CellProblem, Per, Terrain, find_tour, objects_of_columns
from fastrm.worlds import Cell


@dataclass(frozen=True)
class Composition:
    """What columns of another task make of a task."""

    task: str
    """The task."""
    length: int | None
    """Steps to complete it, None if it is not completed."""
    path: tuple[Cell, ...]
    """Cells visited; cut off when the task is not completed."""
    shortest: int | None
    """Length of a shortest path; None beyond 16 stages, where it is not known."""

    @property
    def regret(self) -> int | None:
        """Steps more than a shortest path takes; None if the task is not completed or that is not known."""
        return None if self.length is None or self.shortest is None else self.length - self.shortest


def compose(run: Run, text: str) -> Composition:
    """Complete a task with the columns of a run of ``coupled``, without learning.

    The columns say how to reach each object from everywhere, and the plan says in which order. Neither depends on the
    task that they were learned in, so any sequence, any order or agenda over the same objects can be asked for.

    Parameters
    ----------
    run : Run
        A run of ``coupled``.
    text : str
        A task of visits in turn and in any order (see `fastrm.task`) to objects that the run learned about.

    Returns
    -------
    Composition
        The path, its length, and the exact optimum.

    Raises
    ------
    ConfigError
        When the run is of another learner, the task is no agenda, or it asks for something that was not learned.

    Examples
    --------
    >>> import fastrm
    >>> problem = fastrm.compile(fastrm.GridMap.generate("1a1b1c1d", size=11, seed=2), fastrm.task("{a,b,c,d}"))
    >>> run = fastrm.train(problem, "coupled", steps=100_000)
    >>> answer = compose(run, "a-c-{b,d}")
    >>> answer.length, answer.regret
    (11, 0)
    """
    if not isinstance(run, Run) or run.algo != "coupled" or run.problem is None:
        raise ConfigError(f"run={run if isinstance(run, Run) else shown(run)}: must be a run of coupled")
    if isinstance(text, RewardMachine):
        raise ConfigError(f"task {shown(text)}: give the text of a task, such as 'a-{{b,c}}', not a machine")
    wanted = task(text).agenda
    if wanted is None:
        raise ConfigError(f"task {shown(text)}: must be visits in turn and in any order, such as a-{{b,c}}")
    problem = cast("CellProblem", run.problem)
    learned = agenda_of(problem)
    for target in wanted.targets:
        if target not in learned.targets:
            raise ConfigError(
                f"task {shown(text)}: {target} was not learned; the run knows {', '.join(learned.targets)}"
            )
    values = _chosen(problem, learned, wanted, run)
    path = np.empty(len(problem.terrain.cells) * len(wanted.targets) + 2, dtype=np.int64)
    length, outcome = follow_columns(problem.terrain, wanted, values, run.config.per, problem.start, path)
    is_done = outcome == SUCCESS
    cells = problem.terrain.cells_of(path[: (length if is_done else min(length, run.config.episode_limit)) + 1])
    is_known = len(wanted.targets) <= MOST_TOURED
    best = find_tour(problem.terrain, wanted).length if is_known else None
    return Composition(text, length if is_done else None, cells, best)


def _chosen(problem: CellProblem, learned: Agenda, wanted: Agenda, run: Run) -> Values:
    """Return the values of a run for the columns of another agenda."""
    known = {
        tuple(cells): k for k, (_, cells) in enumerate(objects_of_columns(problem.terrain, learned, run.config.per))
    }
    columns = objects_of_columns(problem.terrain, wanted, run.config.per)
    check_numbers("run", "q", run.q)
    shape = [len(problem.terrain.cells), len(known), problem.n_actions]
    if list(run.q.shape) != shape:
        raise ConfigError(f"run: q: has the shape {list(run.q.shape)}, and its problem needs {shape}")
    if "cell" not in run.more:
        raise ConfigError("run: lacks 'cell', where its columns were completed")
    check_cells("run", run.more["cell"], len(known), shape[0])
    old = np.array([known[tuple(cells)] for _, cells in columns])
    more = {"cell": run.more["cell"][old], "stage": np.array([i for i, _ in columns])}
    plan = "auto" if run.config.plan == "exact" else run.config.plan  # the other task may have more stages
    if is_planned(wanted, LearnerConfig(plan=plan)):
        more |= {"plans": np.array(0), "gamma": np.array(run.config.gamma)}
    return Values(np.ascontiguousarray(run.q[:, old]), more)


def true_columns(terrain: Terrain, agenda: Agenda, gamma: float, per: Per = "object") -> Values:
    """Return the columns that learning tends to where no move slips: gamma to the steps that are left after a move.

    All objects are known; a type with several objects counts as completed last at the first of them.
    """
    columns = objects_of_columns(terrain, agenda, per)
    q = np.empty((len(terrain.cells), len(columns), terrain.next_s.shape[1]))
    steps: Array = np.empty(len(terrain.cells), dtype=np.int32)
    for k, (_, cells) in enumerate(columns):
        search.flood(terrain.next_s, cells.astype(np.uint32), steps, np.empty(len(steps), dtype=np.uint32))
        q[:, k] = np.where(steps < FAR, float(gamma) ** steps, 0.0)[terrain.next_s]
    first, stage = (np.array(list(numbers)) for numbers in zip(*((cells[0], i) for i, cells in columns), strict=True))
    return Values(q, {"cell": first, "stage": stage, "plans": np.array(0), "gamma": np.array(float(gamma))})
