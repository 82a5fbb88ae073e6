"""A path once more, with what the machine did meanwhile."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fastrm.compiler import Problem
from fastrm.errors import ConfigError
from fastrm.kernels.tables import LIVE, N_ACTIONS, SUCCESS

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
    tables = problem.tables
    number = {(row, column): k for k, (row, column) in enumerate(problem.terrain.cells.tolist())}
    u, paid = int(tables.first_u[machine]), 0.0
    yield Moment(path[0], u, "", 0.0)
    for here, there in itertools.pairwise(path):
        s, s_next = number[here], number[there]
        actions = [a for a in range(N_ACTIONS) if tables.next_s[s, a] == s_next]
        if not actions:
            raise ConfigError(f"no move leads from {here} to {there}")
        e = int(tables.event[s, actions[0]])
        paid += float(tables.reward[e, u])
        over, success = tables.outcome[e, u] != LIVE, bool(tables.outcome[e, u] == SUCCESS)
        u = tables.n_u if over else int(tables.delta[e, u])
        tile = problem.terrain.grid.rows[there[0]][there[1]]
        yield Moment(there, u, tile if tile in problem.terrain.grid.objects else "", paid, success)
        if over:
            return
