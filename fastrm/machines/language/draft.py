"""A reward machine as it was written down, before anything about it has been checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fastrm.machines.language.agendas import Agenda
from fastrm.machines.language.expressions import Expression, Guard, Otherwise, write


@dataclass(frozen=True)
class Edge:
    """One edge: in state `source`, when `guard` is open, pay `reward` and go to `target`."""

    source: str
    target: str
    guard: Guard
    reward: Expression
    line: int | None = field(default=None, compare=False)
    """Line of the file the edge was read from, for messages."""


@dataclass(frozen=True)
class Draft:
    """States, edges and terminals by name, in file order."""

    start: str
    """The state in which every episode begins."""
    states: tuple[str, ...]
    """The states that are not terminal; learners sweep them in this order."""
    edges: tuple[Edge, ...]
    """All edges, in file order."""
    success: tuple[str, ...]
    """Terminal states that complete the task."""
    failure: tuple[str, ...] = ()
    """Terminal states that end the episode without completing the task."""
    score: Literal["task", "own"] = "task"
    """How an episode is scored: 1 for completing the task, or by the rewards the machine itself pays."""
    potential: float = 0.0
    """c: every edge also pays gamma Phi(s', u') - Phi(s, u), where Phi is -c times the fewest steps to success."""
    name: str = ""
    """What the machine is called, empty if it has no name."""
    source: str = field(default="<machine>", compare=False)
    """Where the machine came from, for messages."""
    large: Agenda | None = None
    """The whole task where it has too many machine states to list; there are no edges then."""

    def statements(self) -> list[tuple[str, str, str, int]]:
        """Return state, target, text and reward of the agendas of a `large` machine, one after the other."""
        parts = self.large.statements() if self.large is not None else None
        ends = zip(self.states, (*self.states[1:], self.success[0]), parts or (), strict=parts is not None)
        return [(u, v, f"agenda {' '.join(words)}", int(v in self.success)) for u, v, words in ends]

    @property
    def terminals(self) -> tuple[str, ...]:
        """All terminal states, successes first."""
        return self.success + self.failure


def describe(edge: Edge) -> str:
    """Name an edge in a message: ``u0 -> u1 (when a)``."""
    guard = write(edge.guard)
    guard = guard if len(guard) <= 80 else guard[:77] + "..."
    return f"{edge.source} -> {edge.target} ({guard if isinstance(edge.guard, Otherwise) else 'when ' + guard})"
