"""One episode, step by step, in plain Python: what environments, games and pictures share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import ConfigError
from fastrm.kernels.contracts import LIVE, SUCCESS
from fastrm.problems.problem import Problem
from fastrm.problems.tabular import TabularEpisode, TabularProblem, check_tabular
from fastrm.worlds import Cell


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
    end: str = ""
    """Name of the terminal state that this step led to."""


def retrace(
    problem: TabularProblem, path: Sequence[Cell], machine: int = 0, actions: Sequence[int] | None = None
) -> Iterator[Moment]:
    """Follow cells that an agent visited, and tell what its machine did meanwhile.

    Where several actions lead to a cell and mean different things, `actions` says which were taken; without them
    `find_actions` tells some that fit.
    """
    check_tabular(problem)
    paid, episode = 0.0, TabularEpisode(problem, machine, problem.number_of(path[0]))
    yield Moment(path[0], episode.u, "", 0.0)
    for action in find_actions(problem, path, machine) if actions is None else actions:
        episode.step(action)
        paid += episode.reward
        yield Moment(episode.cell, episode.u, episode.label, paid, episode.success, episode.end)
        if episode.terminated:
            return


_Way = dict[tuple[int, int], tuple[tuple[int, int], int]]
"""Of every outcome and machine state that one step can lead to: those before it, and the action."""


def find_actions(problem: TabularProblem, path: Sequence[Cell], machine: int = 0) -> list[int]:
    """Return actions that lead along cells.

    Where several lead to the same cell, the episode goes on until the path ends, and is over there if it can be: the
    task complete rather than failed.
    """
    check_tabular(problem)
    s, reached = problem.number_of(path[0]), [int(problem.tables.first_u[machine])]
    ways: list[_Way] = []
    for here, there in itertools.pairwise(path):
        s_next = problem.number_of(there)
        actions = np.flatnonzero(problem.tables.next_s[s] == s_next).tolist()
        if not actions:
            raise ConfigError(f"no move leads from {here} to {there}")
        way: _Way = {}
        for u, a in itertools.product(reached, actions):
            taken = problem.step(s, u, a)
            way.setdefault((taken.outcome, taken.u), ((LIVE, u), a))
        ways.append(way)
        s, reached = s_next, [u for outcome, u in way if outcome == LIVE]
        if not reached:
            break
    chosen: list[int] = []
    last = min(ways[-1], key=lambda key: (key[0] != SUCCESS, key[0] == LIVE)) if ways else (LIVE, 0)
    for way in reversed(ways):
        last, action = way[last]
        chosen.append(action)
    return chosen[::-1]


def slide(problem: Problem, actions: Array, random: np.random.Generator) -> Array:
    """Return where moves really go: each sideways with the problem's probability of slipping."""
    if not problem.slip:
        return actions
    turns = np.where(random.random(actions.shape) < 0.5, 1, problem.n_actions - 1)
    turned: Array = (actions + np.where(random.random(actions.shape) < problem.slip, turns, 0)) % problem.n_actions
    return turned
