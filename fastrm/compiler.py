"""Map x machines -> arrays. The only door into the kernels.

Every guard and every reward is evaluated once per event (see `fastrm.features`), so Boolean, numeric-Boolean and
numeric machines all become the same look-up tables: ``delta[event, state]`` and ``reward[event, state]``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastrm.arrays import aligned_full
from fastrm.config import Profile, check_number
from fastrm.errors import FastrmWarning, MachineError, MapError, did_you_mean, place
from fastrm.features import Events, Leaf, Metric, Terrain, find_events
from fastrm.formats.draft import Edge
from fastrm.guards import Chain, Feature, Guard, Otherwise, Proposition, Unary, evaluate, leaves
from fastrm.kernels import product
from fastrm.kernels.grid import UNREACHED
from fastrm.kernels.tables import BLOCK, FAILURE, LIVE, SUCCESS, Tables
from fastrm.machine import RewardMachine, describe
from fastrm.maps import GridMap

Array = npt.NDArray[Any]
FELL_OFF = -1


@dataclass(frozen=True, eq=False)
class Problem:
    """One map crossed with one or more machines, ready for the kernels."""

    terrain: Terrain
    """The numbered cells of the map."""
    machines: tuple[RewardMachine, ...]
    profile: Profile
    tables: Tables
    """The arrays the kernels read."""
    states: tuple[tuple[int, str], ...]
    """Machine and name of every state column."""
    ending: Array
    """int16 [n_e, n_u]: 0 while the task goes on, i + 1 in terminal i of the machine, -1 where no edge is open."""
    shortest: tuple[int, ...]
    """Length of a shortest path that completes the task of each machine."""
    slip: float = 0.0
    """Probability that a move goes sideways."""

    @property
    def grid(self) -> GridMap:
        """The map."""
        return self.terrain.grid

    def __repr__(self) -> str:
        n_s, n_e, n_u = len(self.terrain.cells), len(self.tables.reward), self.tables.n_u
        names = ", ".join(machine.name or machine.source for machine in self.machines)
        return f"<Problem {names} on {self.grid.source}: {n_s} cells, {n_u} machine states, {n_e} events>"


def compile(
    grid: GridMap,
    machine: RewardMachine | Sequence[RewardMachine],
    profile: str | Profile = "clean",
    metric: Metric = "manhattan",
    slip: float = 0.0,
) -> Problem:
    r"""Turn a map and one machine, or several for multi-task learning, into a `Problem`.

    Parameters
    ----------
    grid : GridMap
        The map.
    machine : RewardMachine or sequence of them
        The task, or the tasks that episodes take turns to play.
    profile : {"clean", "icarte2022"} or Profile
        How ambiguities of the literature are resolved.
    metric : {"manhattan", "geodesic"}
        What ``d(x)`` and ``closer(x)`` measure.
    slip : float
        Probability that a move goes sideways instead, to either side equally often.

    Raises
    ------
    MachineError
        When some move opens no edge or more than one, when a reward is not finite, or when the task cannot be
        completed on this map.

    >>> grid = GridMap.parse("XXXXX\nXA aX\nXXXXX")
    >>> compile(grid, RewardMachine.sequence("a", kind="numeric"))
    <Problem a numeric on <text>: 3 cells, 1 machine states, 3 events>
    """
    if not isinstance(grid, GridMap):
        raise MapError(f"grid={grid!r:.60}: must be a GridMap; make one with GridMap.parse, .load or .generate")
    machines = tuple(machine) if isinstance(machine, list | tuple) else (machine,)
    if not machines:
        raise MachineError("no machine to compile; give at least one")
    for item in machines:
        if not isinstance(item, RewardMachine):
            raise MachineError(
                f"machine={item!r:.60}: must be a RewardMachine; make one with .sequence, .parse or .load"
            )
    profile = profile if isinstance(profile, Profile) else Profile.named(profile)
    check_number("slip", slip, 0, 1)
    terrain = Terrain.survey(grid, metric)
    check_features(machines, terrain)
    events = find_events(terrain, leaves_read(machines))
    parts = [Evaluator(m, events, terrain, profile).run() for m in machines]
    problem = _assemble(terrain, machines, profile, events, parts, float(slip))
    _check_names(problem)
    return problem


class Part(NamedTuple):
    """One machine evaluated on all events; states are numbered within the machine."""

    delta: Array  # int64   [n_e, n_u]  next state, n_u for the end
    outcome: Array  # uint8   [n_e, n_u]
    reward: Array  # float64 [n_e, n_u]
    ending: Array  # int16   [n_e, n_u]


class Evaluator:
    """Evaluates the edges of one machine on all events and insists on exactly one open edge."""

    def __init__(self, machine: RewardMachine, events: Events, terrain: Terrain, profile: Profile) -> None:
        self.machine, self.events, self.terrain, self.profile = machine, events, terrain, profile
        self.values: dict[Any, Array] = {}

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
            part.delta[where, v] = self.machine.states.index(edge.target)

    def paid(self, edge: Edge, where: Array) -> Array:
        """Return what an edge pays on some events, all of it finite."""
        reward: Array = self.column(edge.reward, np.float64)[where] + 0.0  # never -0
        if not np.isfinite(reward).all():
            event = int(where[np.flatnonzero(~np.isfinite(reward))[0]])
            raise MachineError(
                f"{self.at(edge)}edge {describe(edge)} pays no finite reward "
                f"on {self.events.describe(event, self.terrain)}"
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
                f"{place(self.machine.source, line)}state {self.machine.states[v]} opens no edge "
                f"on {self.events.describe(int(where[0]), self.terrain)}; add an 'otherwise' edge"
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
            f"both open on {self.events.describe(event, self.terrain)}; make the guards exclude each other"
        )

    def at(self, edge: Edge) -> str:
        """Return the ``file:line: `` of an edge."""
        return place(self.machine.source, edge.line)


def _assemble(
    terrain: Terrain,
    machines: tuple[RewardMachine, ...],
    profile: Profile,
    events: Events,
    parts: list[Part],
    slip: float,
) -> Problem:
    """Lay the machines side by side, quiet events first, and find a shortest path for each."""
    counts = [len(machine.states) for machine in machines]
    n_u, n_e = sum(counts), events.count
    offsets = np.cumsum([0, *counts])
    n_cols = (n_u + BLOCK) // BLOCK * BLOCK
    delta = np.full((n_e, n_cols), n_u, dtype=np.uint32)
    outcome = np.zeros((n_e, n_cols), dtype=np.uint8)
    reward = np.zeros((n_e, n_cols))
    ending = np.zeros((n_e, n_u), dtype=np.int16)
    for offset, count, part in zip(offsets, counts, parts, strict=False):
        columns = slice(offset, offset + count)
        delta[:, columns] = np.where(part.delta == count, n_u, part.delta + offset)
        outcome[:, columns], reward[:, columns], ending[:, columns] = part.outcome, part.reward, part.ending
    quiet = (delta[:, :n_u] == np.arange(n_u)).all(axis=1)
    order = np.argsort(~quiet, kind="stable")
    rank = np.empty(n_e, dtype=np.uint32)
    rank[order] = np.arange(n_e, dtype=np.uint32)
    image = np.zeros((n_e, n_u + 1), dtype=np.bool_)
    np.put_along_axis(image, delta[:, :n_u].astype(np.int64), True, axis=1)
    partial: Array = np.logical_not(image[:, :n_u].all(axis=1)).astype(np.uint8)
    first_u = [offset + m.states.index(m.start) for offset, m in zip(offsets, machines, strict=False)]
    event = rank[events.of_move]
    tables = Tables(
        next_s=np.ascontiguousarray(terrain.next_s),
        event=event,
        moves=(event.astype(np.uint64) << np.uint64(32) | terrain.next_s).reshape(-1),
        delta=delta[order],
        outcome=outcome[order],
        reward=np.take(reward, order, axis=0, out=aligned_full(reward.shape)),
        partial=partial[order],
        first_u=np.array(first_u, dtype=np.uint32),
        own_score=np.array([machine.score == "own" for machine in machines], dtype=np.uint8),
        start=terrain.start,
        n_u=n_u,
        n_quiet=int(quiet.sum()),
    )
    states = tuple((i, name) for i, machine in enumerate(machines) for name in machine.states)
    for array in (*tables, ending):
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    shortest = tuple(_shortest(tables, int(u)) for u in tables.first_u)
    for machine, length in zip(machines, shortest, strict=True):
        if length < 0:
            raise MachineError(_why_impossible(machine, terrain))
    return Problem(terrain, machines, profile, tables, states, ending[order], shortest, slip)


def _shortest(tables: Tables, u: int) -> int:
    pairs = len(tables.next_s) * tables.n_u
    _, length = product.explore(tables, u, np.empty(pairs, np.int32), np.empty(pairs, np.int64))
    return -1 if length == UNREACHED else int(length)


def leaves_read(machines: Iterable[RewardMachine]) -> list[Leaf]:
    """Return the propositions and features that machines read, in order of appearance."""
    return list(dict.fromkeys(leaf for m in machines for edge in m.edges for leaf in _leaves_of(edge)))


def _leaves_of(edge: Edge) -> Iterable[Leaf]:
    yield from leaves(edge.guard)
    yield from leaves(edge.reward)


def check_features(machines: tuple[RewardMachine, ...], terrain: Terrain) -> None:
    """Refuse distances to object types that the map does not have, or that no way leads to."""
    for machine in machines:
        for edge in machine.edges:
            for leaf in _leaves_of(edge):
                missing = leaf.name not in terrain.grid.objects
                walled_off = terrain.metric == "geodesic" and not missing and not terrain.reachable(leaf.name)
                if isinstance(leaf, Feature) and (missing or walled_off):
                    raise MachineError(
                        f"{place(machine.source, edge.line)}edge {edge.source} -> {edge.target} uses "
                        f"{leaf.function}({leaf.name}); {_offers(terrain, leaf.name)}"
                    )


def _offers(terrain: Terrain, name: str) -> str:
    objects = terrain.grid.objects
    if name in objects:
        return f"every {name} of this map is walled off from the start"
    return f"this map offers {', '.join(objects) or 'no objects'}{did_you_mean(name, objects)}"


def _missing(machine: RewardMachine, terrain: Terrain) -> Iterable[tuple[Edge, str]]:
    """Yield the propositions that no move on this map can make true, with the first edge that reads each."""
    seen: set[str] = set()
    for edge in machine.edges:
        for leaf in _leaves_of(edge):
            if isinstance(leaf, Proposition) and leaf.name not in seen and not terrain.reachable(leaf.name):
                seen.add(leaf.name)
                yield edge, leaf.name


def _why_impossible(machine: RewardMachine, terrain: Terrain) -> str:
    """Say why no path on this map completes the task."""
    missing = list(_missing(machine, terrain))
    wanted = {leaf.name for edge in machine.edges for leaf in _wanted(edge.guard)}
    for edge, name in sorted(missing, key=lambda item: item[1] not in wanted):  # what only must not be there comes last
        return (
            f"{place(machine.source, edge.line)}edge {edge.source} -> {edge.target} uses '{name}'; "
            f"{_offers(terrain, name)}; the task cannot be completed on this map"
        )
    return (
        f"{machine.source}: no path on {terrain.grid.source} leads to a success state ({', '.join(machine.success)}); "
        "the task cannot be completed on this map"
    )


def _wanted(guard: Guard, negated: bool = False) -> Iterable[Proposition]:
    """Yield the propositions that help a guard to open by being true."""
    match guard:
        case Proposition() if not negated:
            yield guard
        case Unary("!", operand):
            yield from _wanted(operand, not negated)
        case Chain("&" | "|", operands):
            for operand in operands:
                yield from _wanted(operand, negated)


def _check_names(problem: Problem) -> None:
    """Warn about propositions that never hold on this map; the tasks can be completed without them."""
    for machine in problem.machines:
        for edge, name in _missing(machine, problem.terrain):
            warnings.warn(
                f"{place(machine.source, edge.line)}edge {edge.source} -> {edge.target} reads '{name}', "
                f"which this map never shows; {_offers(problem.terrain, name)}",
                FastrmWarning,
                stacklevel=3,
            )
