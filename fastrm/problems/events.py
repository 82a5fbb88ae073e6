"""The moves of a world sorted into events, and machines evaluated on all of them.

A move is a pair (cell, action). Two moves on which all the propositions and features a machine reads agree are the same
*event* to it; every guard and every reward is evaluated once per event, and exactly one edge must be open. What a
machine reads must be there, and its task must be possible.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fastrm.arrays import Array
from fastrm.config import Profile
from fastrm.errors import FastrmWarning, MachineError, place
from fastrm.kernels.contracts import FAILURE, LIVE, SUCCESS
from fastrm.machines import RewardMachine
from fastrm.machines.language import (
    FEATURES,
    OF_SINGLE_OBJECTS,
    TO_GO,
    Chain,
    Edge,
    Expression,
    Feature,
    Guard,
    Otherwise,
    Proposition,
    Unary,
    describe,
    evaluate,
    leaves,
    write,
)
from fastrm.problems.terrain import Terrain

Leaf = Proposition | Feature

_DENSE_LIMIT = 1 << 62


class EventTable(ABC):
    """What guards can tell apart of a move, and how messages name it."""

    columns: dict[Leaf, Array]
    """The value of every proposition and feature, per event."""
    possible: Array | bool
    """Whether there can be such a move, per event or for all of them."""

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of events."""

    @abstractmethod
    def describe(self, event: int) -> str:
        """Name an event in a message."""


@dataclass(frozen=True)
class Events(EventTable):
    """All moves sorted into classes that no guard or reward can tell apart."""

    terrain: Terrain
    """Where the moves are made."""
    of_move: Array
    """int64 [n_s, n_a]: the event of every move."""
    columns: dict[Leaf, Array]
    """The value of every proposition and feature, per event."""
    example: Array
    """int64 [n_e]: one move of each event, as s * n_a + a."""
    possible = True

    @property
    def count(self) -> int:
        """Number of events."""
        return len(self.example)

    def describe(self, event: int) -> str:
        """Spell out an event by one move that causes it, what it leads onto, and what else the machine reads."""
        terrain = self.terrain
        s, a = divmod(int(self.example[event]), terrain.next_s.shape[1])
        here, there = terrain.cells_of([s, int(terrain.next_s[s, a])])
        way = "against a wall" if here == there else f"to {there}"
        holds = {
            leaf.name: bool(column[event]) for leaf, column in self.columns.items() if isinstance(leaf, Proposition)
        }
        facts = [
            f"{write(leaf)} {str(value).lower() if isinstance(value, bool) else f'= {value:g}'}"
            for leaf, column in self.columns.items()
            if isinstance(leaf, Feature) and (value := column[event].item()) is not None
        ]
        onto = [name for name, is_there in holds.items() if is_there]
        label = (
            f", onto {' and '.join(onto)}" if onto else f", onto a cell without {' or '.join(holds)}" if holds else ""
        )
        move = f"the move {terrain.actions[a // terrain.outcomes]} from {here} {way}"
        return f"{move}{label}{', where ' + ', '.join(facts) if facts else ''}"


def find_events(
    terrain: Terrain, leaves: Iterable[Leaf], after: Iterable[Array] = (), before: Iterable[Array] = ()
) -> Events:
    """Sort the moves of a map into events by the propositions and features named.

    Rewards may also depend on numbers that every machine state has its own of, such as the steps to go. `after` and
    `before` are columns of them, [n_s], in the cell that a move leads to or comes from: events mix no different ones.
    """
    n_s = len(terrain.cells)
    labels, moves = _Classes(n_s), _Classes(terrain.next_s.size)
    parted, read = {"after": _Classes(n_s), "before": _Classes(n_s), "move": moves}, _read_leaves(terrain, leaves)
    for leaf, (where, column) in reversed(read.items()):
        if isinstance(leaf, Proposition):
            (labels if where == "after" else moves).split(column, 2)
    parted["after"].split(labels.dense(), labels.bound)
    for leaf, (where, column) in read.items():
        if isinstance(leaf, Feature):
            parted[where].split(column, 2 if FEATURES[leaf.function].is_truth else int(column.max()) + 1)
    for where, columns in (("after", after), ("before", before)):
        for column in columns:
            values, rank = np.unique(column, return_inverse=True)
            parted[where].split(rank, len(values))
    origin, there = _ends(terrain, np.arange(terrain.next_s.size))
    moves.split(parted["after"].dense()[there], parted["after"].bound)
    if parted["before"].bound > 1:
        moves.split(parted["before"].dense()[origin], parted["before"].bound)
    event, example = moves.dense_with_example()
    return Events(terrain, event.reshape(terrain.next_s.shape), _columns(terrain, read, example), example)


def read_events(terrain: Terrain, leaves: Iterable[Leaf], of_move: Array, example: Array) -> Events:
    """Return events that were found before, with the propositions and features named; none that counts steps to go."""
    return Events(terrain, of_move, _columns(terrain, _read_leaves(terrain, leaves), example), example)


def _read_leaves(terrain: Terrain, leaves: Iterable[Leaf]) -> dict[Leaf, tuple[str, Array]]:
    """Return where each leaf is known, by the cell before or after a move or by the move, and its values from 0.

    Propositions come first, and of those single objects, which part the objects of a type.
    """
    read: dict[Leaf, tuple[str, Array]] = {}
    for leaf in sorted(leaves, key=lambda leaf: 2 if isinstance(leaf, Feature) else len(leaf.name) > 1):
        if isinstance(leaf, Proposition):
            held = terrain.holds(leaf.name)
            read[leaf] = "after" if held.ndim == 1 else "move", held.ravel()
        elif (kind := FEATURES[leaf.function]).known != "state":
            read[leaf] = kind.known, getattr(terrain, kind.measure)(*leaf.names).ravel()
    return read


def _columns(terrain: Terrain, read: Mapping[Leaf, tuple[str, Array]], example: Array) -> dict[Leaf, Array]:
    """Return the value of every leaf per event: a truth, or a float, since rewards multiply numbers."""
    index = dict(zip(("before", "after", "move"), (*_ends(terrain, example), example), strict=True))
    is_number = {leaf: isinstance(leaf, Feature) and not FEATURES[leaf.function].is_truth for leaf in read}
    return {
        leaf: column[index[where]].astype(np.float64 if is_number[leaf] else np.bool_)
        for leaf, (where, column) in read.items()
    }


def _ends(terrain: Terrain, moves: Array) -> tuple[Array, Array]:
    """Return the cells before and after some moves."""
    return moves // terrain.next_s.shape[1], terrain.next_s.ravel()[moves]


class _Classes:
    """A partition of 0 .. n - 1, refined by one column of small integers after the other."""

    def __init__(self, size: int) -> None:
        self.key: Array = np.zeros(size, dtype=np.int64)
        self.bound = 1

    def split(self, column: Array, bound: int) -> None:
        """Part the elements whose values, all below `bound`, differ."""
        if self.bound * bound > _DENSE_LIMIT:
            self.dense()
        self.key = self.key * bound + column
        self.bound *= bound

    def dense(self) -> Array:
        """Renumber the classes 0, 1, 2, ... and return the class of every element."""
        return self.dense_with_example()[0]

    def dense_with_example(self) -> tuple[Array, Array]:
        """Like `dense`, also returning the first element of every class."""
        size = len(self.key)
        if self.bound <= 4 * size + 1024:
            first = np.full(self.bound, -1, dtype=np.int64)
            first[self.key[::-1]] = np.arange(size - 1, -1, -1)  # the last assignment, so the first element, wins
            used = np.flatnonzero(first >= 0)
            number = np.empty(self.bound, dtype=np.int64)
            number[used] = np.arange(used.size)
            self.key, example = number[self.key], first[used]
        else:
            _, example, inverse = np.unique(self.key, return_index=True, return_inverse=True)
            self.key = inverse.reshape(-1).astype(np.int64)
        self.bound = len(example)
        return self.key, example


FELL_OFF = -1


class Part(NamedTuple):
    """One machine evaluated on all events; states are numbered within the machine."""

    delta: Array  # int64   [n_e, n_u]  next state, n_u for the end
    outcome: Array  # uint8   [n_e, n_u]
    reward: Array  # float64 [n_e, n_u]
    ending: Array  # int16   [n_e, n_u]


class SideBySide(NamedTuple):
    """The tables of several machines; columns behind the last state are padding and lead to the end."""

    delta: Array  # uint32  [n_e, width]  next state, n_u for every end
    outcome: Array  # uint8   [n_e, width]
    reward: Array  # float64 [n_e, width]
    ending: Array  # int16   [n_e, width]
    image: Array  # uint8   [n_e, width]  can the event lead to a state?
    quiet: Array  # bool    [n_e]         does it keep every state?
    first_u: list[int]  # start state of every machine


def lay_side_by_side(machines: Sequence[RewardMachine], parts: Sequence[Part], n_e: int, width: int) -> SideBySide:
    """Number the states of several machines one after the other."""
    offsets = np.cumsum([0, *(len(machine.states) for machine in machines)]).tolist()
    n_u = offsets[-1]
    delta, outcome = np.full((n_e, width), n_u, dtype=np.uint32), np.zeros((n_e, width), dtype=np.uint8)
    reward, ending = np.zeros((n_e, width)), np.zeros((n_e, width), dtype=np.int16)
    for (first, last), part in zip(pairwise(offsets), parts, strict=True):
        delta[:, first:last] = np.where(part.delta == last - first, n_u, part.delta + first)
        outcome[:, first:last], reward[:, first:last] = part.outcome, part.reward
        ending[:, first:last] = part.ending
    image = np.zeros((n_e, max(width, n_u + 1)), dtype=np.uint8)
    np.put_along_axis(image, delta[:, :n_u].astype(np.int64), 1, axis=1)
    quiet = (delta[:, :n_u] == np.arange(n_u)).all(axis=1)
    first_u = [offset + machine.states.index(machine.start) for offset, machine in zip(offsets, machines, strict=False)]
    return SideBySide(delta, outcome, reward, ending, np.ascontiguousarray(image[:, :width]), quiet, first_u)


class Evaluator(ABC):
    """Evaluates the edges of one machine on all events, of which each must open exactly one edge."""

    def __init__(self, machine: RewardMachine, events: EventTable, falls_off: bool) -> None:
        self.machine, self.events, self.falls_off = machine, events, falls_off
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
            np.empty(shape, np.int64), np.full(shape, LIVE, np.uint8), np.zeros(shape), np.zeros(shape, np.int16)
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

    def open_edges(self, edges: list[Edge]) -> Iterable[tuple[Edge, Array]]:
        """Yield every edge of a state with the events that open it; the last mask left over is ``self.gap``."""
        taken = np.zeros(self.events.count, dtype=np.bool_)
        default = None
        for edge in edges:
            if isinstance(edge.guard, Otherwise):
                default = edge
                continue
            is_open = self.column(edge.guard, np.bool_)
            both = np.flatnonzero(taken & is_open & self.events.possible)
            if both.size:
                self.report_overlap(edges, edge, int(both[0]))
            taken |= is_open
            yield edge, is_open
        if default is not None:
            yield default, ~taken
            taken[:] = True
        self.gap = ~taken

    def fill(self, part: Part, v: int, edge: Edge, is_open: Array) -> None:
        """Enter where an edge leads and what it pays, on the events that open it."""
        where = np.flatnonzero(is_open)
        self.pay(part, v, edge, where)
        if edge.target in self.machine.terminals:
            part.delta[where, v] = len(self.machine.states)
            part.outcome[where, v] = SUCCESS if edge.target in self.machine.success else FAILURE
            part.ending[where, v] = 1 + self.machine.terminals.index(edge.target)
        else:
            part.delta[where, v] = self.number[edge.target]

    @abstractmethod
    def pay(self, part: Part, v: int, edge: Edge, where: Array) -> None:
        """Enter what an edge pays on some events."""

    def fall_off(self, part: Part, v: int, edges: list[Edge]) -> None:
        """End the episode where no edge is open; the reference pays there what the edge to a terminal pays."""
        where = np.flatnonzero(self.gap)
        for edge in edges if self.falls_off else ():
            if edge.target in self.machine.terminals:
                self.pay(part, v, edge, where)
        part.delta[where, v] = len(self.machine.states)
        part.outcome[where, v] = FAILURE
        part.ending[where, v] = FELL_OFF

    def report_overlap(self, edges: list[Edge], second: Edge, event: int) -> None:
        """Raise the error that names two edges open at once."""
        first = next(e for e in edges if not isinstance(e.guard, Otherwise) and self.column(e.guard, np.bool_)[event])
        lines = f" (line {first.line})" if first.line else ""
        raise MachineError(
            f"{self.at(second)}in state {second.source} the edges {describe(first)}{lines} and {describe(second)} are "
            f"both open for {self.events.describe(event)}; make the guards exclude each other"
        )

    def at(self, edge: Edge) -> str:
        """Return the ``file:line: `` of an edge."""
        return place(self.machine.source, edge.line)


class TableEvaluator(Evaluator):
    """Evaluates a machine on the moves between numbered cells, where rewards are numbers per event."""

    events: Events

    def __init__(self, machine: RewardMachine, events: Events, profile: Profile, to_go: Array | None = None) -> None:
        """`to_go` float64 [n_s, states + terminals] is needed where rewards read it."""
        super().__init__(machine, events, profile.falls_off)
        self.to_go = to_go

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
        there = self.events.terrain.next_s.ravel()[self.events.example]
        return {**self.events.columns, TO_GO: self.to_go[there, self.number[edge.target]]}

    def pay(self, part: Part, v: int, edge: Edge, where: Array) -> None:
        """Enter what an edge pays on some events, all of it finite."""
        reward: Array = self.reward(edge)[where] + 0.0  # never -0
        if not np.isfinite(reward).all():
            event = int(where[np.flatnonzero(~np.isfinite(reward))[0]])
            raise MachineError(
                f"{self.at(edge)}edge {describe(edge)} pays no finite reward for "
                f"{self.events.describe(event)}; change the reward so that it is a number there"
            )
        part.reward[where, v] = reward

    def fall_off(self, part: Part, v: int, edges: list[Edge]) -> None:
        """Raise MachineError where no edge is open, except in profiles that end the episode there."""
        where = np.flatnonzero(self.gap)
        if where.size and not self.falls_off:
            line = edges[0].line if edges else None
            raise MachineError(
                f"{place(self.machine.source, line)}state {self.machine.states[v]} has no open edge for "
                f"{self.events.describe(int(where[0]))}; add an 'otherwise' edge"
            )
        super().fall_off(part, v, edges)


def leaves_by_edge(machine: RewardMachine) -> Iterator[tuple[Edge, Leaf]]:
    """Yield the propositions and features that a machine reads, each with its edge."""
    return ((edge, leaf) for edge in machine.edges for leaf in (*leaves(edge.guard), *leaves(edge.reward)))


def leaves_read(machines: Iterable[RewardMachine]) -> list[Leaf]:
    """Return the propositions and features that machines read, in order of appearance."""
    return list(dict.fromkeys(leaf for machine in machines for _, leaf in leaves_by_edge(machine)))


def check_features(machines: tuple[RewardMachine, ...], terrain: Terrain) -> None:
    """Raise MachineError for distances that the map does not have: no object, no path, or several objects."""
    for machine in machines:
        read = [(edge.line, f"edge {edge.source} -> {edge.target}", leaf) for edge, leaf in leaves_by_edge(machine)]
        for one in machine.state_potentials:
            read += [(one.line, f"potential {one.state}", leaf) for leaf in leaves(one.value)]
        for line, reader, leaf in read:
            if isinstance(leaf, Proposition):
                continue
            for name in leaf.names:
                where = f"{place(machine.source, line)}{reader} uses {write(leaf)}"
                if not terrain.is_measurable(leaf.function, name):
                    raise MachineError(f"{where}; {terrain.offers(name)}")
                if leaf.function in OF_SINGLE_OBJECTS and (count := terrain.places(name)) != 1:
                    them = name if terrain.is_map else f"cells with {name}"
                    raise MachineError(
                        f"{where}, and there are {count} {them}: rewards of the kind offset can mislead where a type "
                        "has several objects; use the kind local-potential"
                    )


def evaluate_on_cells(expression: Expression, terrain: Terrain) -> Array:
    """Evaluate an expression that reads no move on all cells, float64 [n_s]."""
    read = {leaf: column for leaf, (_, column) in _read_leaves(terrain, leaves(expression)).items()}
    value: Array = np.asarray(evaluate(expression, read), dtype=np.float64)
    return np.broadcast_to(value, len(terrain.cells))


def _missing(machine: RewardMachine, terrain: Terrain) -> list[tuple[Edge, str]]:
    """Return the propositions that no move on this map can make true, with the first edge that reads each."""
    first: dict[str, Edge] = {}
    for edge, leaf in leaves_by_edge(machine):
        if isinstance(leaf, Proposition):
            first.setdefault(leaf.name, edge)
    return [(edge, name) for name, edge in first.items() if not terrain.reachable(name)]


def why_impossible(machine: RewardMachine, terrain: Terrain, searched: int) -> str:
    """Return why no path on this map completes the task, of which `searched` pairs of cell and state can be reached."""
    if walled_in := terrain.why_walled_in():
        return f"{terrain.source}: {walled_in}"
    missing = _missing(machine, terrain)
    wanted = {leaf.name for edge in machine.edges if leads_on(edge, machine) for leaf in wanted_by(edge.guard)}
    for edge, name in sorted(missing, key=lambda item: item[1] not in wanted):  # what only must not be there comes last
        return (
            f"{place(machine.source, edge.line)}edge {edge.source} -> {edge.target} uses '{name}'; "
            f"{terrain.offers(name)}; the task cannot be completed on this map"
        )
    return (
        f"{machine.source}: no path on {terrain.source} leads to a success state ({', '.join(machine.success)}): "
        f"none of the {searched} pairs of a cell and a machine state that can be reached leads to a success; the task "
        "cannot be completed on this map"
    )


def leads_on(edge: Edge, machine: RewardMachine) -> bool:
    """Return whether an edge may lead towards success: it is neither a loop nor an edge to a failure."""
    return edge.target not in machine.failure and edge.target != edge.source


def wanted_by(guard: Guard, negated: bool = False) -> Iterable[Proposition]:
    """Yield the propositions that help a guard to open by being true."""
    match guard:
        case Proposition() if not negated:
            yield guard
        case Unary("!", operand):
            yield from wanted_by(operand, not negated)
        case Chain("&" | "|", operands):
            for operand in operands:
                yield from wanted_by(operand, negated)


def check_names(machines: Iterable[RewardMachine], terrain: Terrain) -> None:
    """Warn about propositions that never hold on this map; the tasks can be completed without them."""
    for machine in machines:
        for edge, name in _missing(machine, terrain):
            warnings.warn(
                f"{place(machine.source, edge.line)}edge {edge.source} -> {edge.target} reads '{name}', "
                f"which never holds on the map {terrain.source}; {terrain.offers(name)}",
                FastrmWarning,
                stacklevel=3,
            )
