"""What every problem is: a world crossed with machines, whatever the world.

Three kinds exist: `TabularProblem` (maps and tables), `WaterProblem` (Water world) and `AgendaProblem` (tasks in any
order with more machine states than can be listed). Consumers use what is declared here, or a verb with a row per kind
(`fastrm.dispatch`); none of them asks for a class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict
from functools import cached_property
from typing import ClassVar

import numpy as np

from fastrm.config import Profile
from fastrm.errors import ConfigError, shown
from fastrm.machines import RewardMachine
from fastrm.worlds import Cell, GridMap


class Problem(ABC):
    """A world crossed with one or more machines; `fastrm.compile` makes one, learners and solvers take it."""

    kind: ClassVar[str]
    """The kind, by which learners are looked up."""
    machines: tuple[RewardMachine, ...]
    """The machines; with several, episodes play them in turn."""
    profile: Profile
    """How ambiguities of the literature are resolved."""
    slip = 0.0
    """Probability that a move goes sideways."""

    @cached_property
    def states(self) -> tuple[tuple[int, str], ...]:
        """Machine and name of every machine state that is listed."""
        return tuple((i, name) for i, machine in enumerate(self.machines) for name in machine.states)

    @property
    def stages(self) -> tuple[str, ...]:
        """What an agenda without machine states is made of; empty for other problems."""
        return ()

    @property
    @abstractmethod
    def source(self) -> str:
        """Where the world came from, for messages."""

    @property
    @abstractmethod
    def actions(self) -> tuple[str, ...]:
        """Names of the actions, by number."""

    @property
    @abstractmethod
    def shortest(self) -> tuple[float, ...]:
        """Fewest steps that complete the task of each machine."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of its arrays, about."""

    @property
    def known_shortest(self) -> tuple[float, ...]:
        """`shortest`, and NaN where it cannot be found."""
        return self.shortest

    @property
    def n_actions(self) -> int:
        """How many actions there are."""
        return len(self.actions)

    def defaults(self, steps: int) -> dict[str, object]:
        """Return the learner settings that fit this problem in a run of `steps`, used where none are given."""
        return {}

    @property
    def longest_episode(self) -> int:
        """The largest episode limit that learners may be given."""
        return 2**62

    def borrow(self, lender: Callable[[], Problem]) -> None:
        """Take what does not depend on rewards, if it is costly, from a problem of the same world and task."""
        return

    def at(self, gamma: float) -> Problem:
        """Return the problem with potentials, if any, paid at this discount."""
        return self

    @abstractmethod
    def episode(self, task: int = 0, start: int | None = None) -> Episode:
        """Begin an episode, to be played step by step."""

    @property
    @abstractmethod
    def refusal(self) -> str:
        """What to say where something needs another kind of problem."""

    def describe(self) -> dict[str, object]:
        """Return what `fastrm.compile` makes it of, as values that JSON holds."""
        return {
            "source": self.source,
            "machines": [[machine.write(), machine.source] for machine in self.machines],
            "profile": asdict(self.profile),
        }

    @property
    def is_quickly_solved(self) -> bool:
        """Whether exact answers about it exist and take about a second, so that thousands can be asked for."""
        return False

    @property
    def layout(self) -> GridMap | None:
        """The map that pictures of it show, None where there is none."""
        return None

    @property
    def facts(self) -> list[tuple[str, object]]:
        """What there is to know about it at a glance: names and numbers."""
        return [("world", self.source), ("machine states", len(self.states))]

    @property
    def start_cells(self) -> tuple[Cell, ...]:
        """The cells of its map in which episodes begin."""
        return ()

    def draw_start(self, random: np.random.Generator) -> int | None:
        """Return where an episode begins, for `episode`: one of several starts, None where there is only one."""
        return None

    def _repr_html_(self) -> str:
        """Show world, machines and key facts in a notebook."""
        from fastrm.pages import problem_card

        return problem_card(self)

    def names(self) -> str:
        """List the machines by name."""
        return ", ".join(machine.name or machine.source for machine in self.machines)


class Episode(ABC):
    """An episode in progress: where the agent is, the machine's state, and what the last move led to."""

    problem: Problem
    task: int
    """Which machine is played."""
    labels: tuple[str, ...]
    """What holds after the last move."""
    reward: float
    """What the last move paid."""
    steps: int
    terminated: bool
    success: bool
    """Whether the last move completed the task."""
    end: str
    """Name of the terminal that was reached, empty while the episode goes on."""

    @abstractmethod
    def step(self, action: int) -> None:
        """Make a move; let the machine read its labels, pay and change its state."""

    @property
    @abstractmethod
    def state(self) -> str:
        """Name of the machine's state, ``(terminal)`` when it has reached one."""

    @property
    @abstractmethod
    def observation(self) -> tuple[float, ...]:
        """Where the agent is: row and column, or position and velocity."""

    @property
    def label(self) -> str:
        """What holds after the last move, as text."""
        return " ".join(self.labels)


def unsupported(problem: object) -> ConfigError:
    """Return the error for a kind of problem that a verb has no row for, or for what is no problem at all."""
    if isinstance(problem, Problem):
        return ConfigError(problem.refusal)
    return ConfigError(f"problem={shown(problem)}: must be a Problem; make one with fastrm.compile(grid, machine)")
