"""One episode, step by step, in plain Python: what environments, games and pictures share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import ConfigError
from fastrm.kernels.contracts import LIVE, SUCCESS
from fastrm.problems.tabular import Problem, check_problem
from fastrm.worlds import Cell


@dataclass
class Episode:
    """An episode that goes on: the agent's cell, the machine's state, and what the last move led to."""

    problem: Problem
    task: int = 0
    """Which machine is played."""
    start: int | None = None
    """Number of the cell where it begins, by default the (first) start."""

    def __post_init__(self) -> None:
        check_problem(self.problem)
        tables = self.problem.tables
        self.s = self.problem.start if self.start is None else self.start
        self.u = int(tables.first_u[self.task])
        self.labels: tuple[str, ...] = ()
        self.reward, self.event, self.steps = 0.0, -1, 0
        self.terminated = self.success = False
        self.end = ""

    def step(self, action: int) -> None:
        """Move; read the label of the cell reached; let the machine pay and change its state."""
        self.labels = self.problem.terrain.labels(self.s, action)
        taken, u = self.problem.step(self.s, self.u, action), self.u
        self.s, self.u, self.event, self.reward = taken.s, taken.u, taken.event, taken.reward
        self.terminated, self.success, self.steps = not taken.is_live, taken.is_success, self.steps + 1
        self.end = self._terminal(taken.event, u) if self.terminated else ""

    def _terminal(self, event: int, u: int) -> str:
        """Return the name of the terminal that an event leads to, a word for moves that no edge is open for."""
        number = int(self.problem.ending[event, u])
        return self.problem.machines[self.problem.states[u][0]].terminals[number - 1] if number > 0 else "(no edge)"

    @property
    def cell(self) -> Cell:
        """Row and column of the agent, or the number of its cell where there are none."""
        return self.problem.terrain.cells_of([self.s])[0]

    @property
    def label(self) -> str:
        """What holds after the last move, as text."""
        return " ".join(self.labels)

    @property
    def state(self) -> str:
        """Name of the machine's state, ``(terminal)`` when it has reached one."""
        return "(terminal)" if self.u == self.problem.tables.n_u else self.problem.states[self.u][1]


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
    problem: Problem, path: Sequence[Cell], machine: int = 0, actions: Sequence[int] | None = None
) -> Iterator[Moment]:
    """Follow cells that an agent visited, and tell what its machine did meanwhile.

    Where several actions lead to a cell and mean different things, `actions` says which were taken; without them
    `find_actions` tells some that fit.
    """
    paid, episode = 0.0, Episode(problem, machine, problem.number_of(path[0]))
    yield Moment(path[0], episode.u, "", 0.0)
    for action in find_actions(problem, path, machine) if actions is None else actions:
        episode.step(action)
        paid += episode.reward
        yield Moment(episode.cell, episode.u, episode.label, paid, episode.success, episode.end)
        if episode.terminated:
            return


_Way = dict[tuple[int, int], tuple[tuple[int, int], int]]
"""Of every outcome and machine state that one step can lead to: those before it, and the action."""


def find_actions(problem: Problem, path: Sequence[Cell], machine: int = 0) -> list[int]:
    """Return actions that lead along cells.

    Where several lead to the same cell, the episode goes on until the path ends, and is over there if it can be: the
    task complete rather than failed.
    """
    check_problem(problem)
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
