"""One machine on all events of a map: where every edge leads, what it pays, and that exactly one is open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from fastrm.arrays import Array
from fastrm.config import Profile
from fastrm.errors import MachineError, place
from fastrm.kernels.contracts import FAILURE, LIVE, SUCCESS
from fastrm.machines import RewardMachine
from fastrm.machines.language import TO_GO, Edge, Otherwise, describe, evaluate, leaves
from fastrm.problems.events import Events, Leaf
from fastrm.problems.terrain import Terrain

FELL_OFF = -1


class Part(NamedTuple):
    """One machine evaluated on all events; states are numbered within the machine."""

    delta: Array  # int64   [n_e, n_u]  next state, n_u for the end
    outcome: Array  # uint8   [n_e, n_u]
    reward: Array  # float64 [n_e, n_u]
    ending: Array  # int16   [n_e, n_u]


class Evaluator:
    """Evaluates the edges of one machine on all events and insists on exactly one open edge."""

    def __init__(
        self, machine: RewardMachine, events: Events, terrain: Terrain, profile: Profile, to_go: Array | None = None
    ) -> None:
        """`to_go` float64 [n_s, states + terminals] is needed where rewards read it."""
        self.machine, self.events, self.terrain, self.profile = machine, events, terrain, profile
        self.to_go = to_go
        self.values: dict[Any, Array] = {}
        self.number = {name: i for i, name in enumerate((*machine.states, *machine.terminals))}

    def run(self) -> Part:
        """Evaluate the whole machine."""
        part = self.blank()
        for v, edges in enumerate(self.edges_by_state()):
            self.run_state(part, v, edges)
        return part

    def blank(self) -> Part:
        """Allocate the tables of the machine."""
        shape = self.events.count, len(self.machine.states)
        return Part(
            delta=np.empty(shape, np.int64),
            outcome=np.full(shape, LIVE, np.uint8),
            reward=np.zeros(shape),
            ending=np.zeros(shape, np.int16),
        )

    def edges_by_state(self) -> list[list[Edge]]:
        """Return the edges that leave each state, in file order."""
        by_state: dict[str, list[Edge]] = {name: [] for name in self.machine.states}
        for edge in self.machine.edges:
            by_state[edge.source].append(edge)
        return list(by_state.values())

    def run_state(self, part: Part, v: int, edges: list[Edge]) -> None:
        """Fill in one state's column."""
        for edge, is_open in self.open_edges(edges):
            self.fill(part, v, edge, is_open)
        self.fall_off(part, v, edges)

    def column(self, expression: Any, dtype: type) -> Array:
        """Evaluate an expression on all events; equal expressions are evaluated once."""
        if expression not in self.values:
            value: Array = np.asarray(evaluate(expression, self.events.columns), dtype=dtype)
            self.values[expression] = np.broadcast_to(value, self.events.count)
        return self.values[expression]

    def reward(self, edge: Edge) -> Array:
        """Evaluate the reward of an edge on all events; steps to go count from the state it leads to."""
        if self.to_go is None or TO_GO not in leaves(edge.reward):
            return self.column(edge.reward, np.float64)
        key = edge.reward, edge.target
        if key not in self.values:
            self.values[key] = np.asarray(evaluate(edge.reward, self.features(edge)), dtype=np.float64)
        return self.values[key]

    def features(self, edge: Edge) -> Mapping[Leaf, Array]:
        """Return what the reward of an edge may read, per event."""
        if self.to_go is None or TO_GO not in leaves(edge.reward):
            return self.events.columns
        there = self.terrain.next_s.ravel()[self.events.example]
        return {**self.events.columns, TO_GO: self.to_go[there, self.number[edge.target]]}

    def open_edges(self, edges: list[Edge]) -> Iterable[tuple[Edge, Array]]:
        """Yield every edge of a state with the events that open it; the last mask left over is ``self.gap``."""
        taken = np.zeros(self.events.count, dtype=np.bool_)
        default = None
        for edge in edges:
            if isinstance(edge.guard, Otherwise):
                default = edge
                continue
            is_open = self.column(edge.guard, np.bool_)
            if (taken & is_open).any():
                self.report_overlap(edges, edge, int(np.flatnonzero(taken & is_open)[0]))
            taken |= is_open
            yield edge, is_open
        if default is not None:
            yield default, ~taken
            taken[:] = True
        self.gap = ~taken

    def fill(self, part: Part, v: int, edge: Edge, is_open: Array) -> None:
        """Enter where an edge leads and what it pays, on the events that open it."""
        where = np.flatnonzero(is_open)
        part.reward[where, v] = self.paid(edge, where)
        if edge.target in self.machine.terminals:
            part.delta[where, v] = len(self.machine.states)
            part.outcome[where, v] = SUCCESS if edge.target in self.machine.success else FAILURE
            part.ending[where, v] = 1 + self.machine.terminals.index(edge.target)
        else:
            part.delta[where, v] = self.number[edge.target]

    def paid(self, edge: Edge, where: Array) -> Array:
        """Return what an edge pays on some events, all of it finite."""
        reward: Array = self.reward(edge)[where] + 0.0  # never -0
        if not np.isfinite(reward).all():
            event = int(where[np.flatnonzero(~np.isfinite(reward))[0]])
            raise MachineError(
                f"{self.at(edge)}edge {describe(edge)} pays no finite reward for "
                f"{self.events.describe(event, self.terrain)}; change the reward so that it is a number there"
            )
        return reward

    def fall_off(self, part: Part, v: int, edges: list[Edge]) -> None:
        """Where no edge is open: an error, or the end of the episode in profiles that allow it."""
        where = np.flatnonzero(self.gap)
        if not where.size:
            return
        if not self.profile.falls_off:
            line = edges[0].line if edges else None
            raise MachineError(
                f"{place(self.machine.source, line)}state {self.machine.states[v]} has no open edge for "
                f"{self.events.describe(int(where[0]), self.terrain)}; add an 'otherwise' edge"
            )
        for edge in edges:  # the reference pays what the state's edge to a terminal pays
            if edge.target in self.machine.terminals:
                part.reward[where, v] = self.paid(edge, where)
        part.delta[where, v] = len(self.machine.states)
        part.outcome[where, v] = FAILURE
        part.ending[where, v] = FELL_OFF

    def report_overlap(self, edges: list[Edge], second: Edge, event: int) -> None:
        """Raise the error that names two edges open at once."""
        first = next(e for e in edges if not isinstance(e.guard, Otherwise) and self.column(e.guard, np.bool_)[event])
        lines = f" (line {first.line})" if first.line else ""
        raise MachineError(
            f"{self.at(second)}in state {second.source} the edges {describe(first)}{lines} and {describe(second)} are "
            f"both open for {self.events.describe(event, self.terrain)}; make the guards exclude each other"
        )

    def at(self, edge: Edge) -> str:
        """Return the ``file:line: `` of an edge."""
        return place(self.machine.source, edge.line)
