"""A path once more, with what the machine did meanwhile."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fastrm.errors import ConfigError
from fastrm.kernels.contracts import N_ACTIONS
from fastrm.problems.compiler import Problem
from fastrm.problems.episode import Walk

Cell = tuple[int, int]


class Moment(NamedTuple):
    """One step of an episode."""

    cell: Cell
    state: int
    """Column of the machine state, the number of states when the episode is over."""
    label: str
    paid: float
    """Sum of the rewards so far."""
    success: bool = False
    """Whether this step completed the task."""


def replay(problem: Problem, path: Sequence[Cell], machine: int = 0) -> Iterator[Moment]:
    """Follow cells that an agent visited, and tell what its machine did meanwhile."""
    walk, paid, cells = Walk(problem, machine), 0.0, problem.terrain.cells.tolist()
    yield Moment(path[0], walk.u, "", 0.0)
    for here, there in itertools.pairwise(path):
        actions = [a for a in range(N_ACTIONS) if tuple(cells[problem.tables.next_s[walk.s, a]]) == there]
        if not actions:
            raise ConfigError(f"no move leads from {here} to {there}")
        walk.step(actions[0])
        paid += walk.reward
        yield Moment(walk.cell, walk.u, walk.label, paid, walk.success)
        if walk.terminated:
            return
