"""Machines on Water world as look-up tables over events.

An event is what guards can tell apart: the colours of a label, 64 sets of them, and beside them a class for every
feature that some guard reads. A feature has a class for each number it is compared with, and one for each gap between
them. Rewards that are no numbers are written as short programs for the kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import MachineError, did_you_mean, place
from fastrm.kernels.contracts import FAILURE, LIVE, SUCCESS
from fastrm.kernels.water import CLOSER, CONSTANT, DISTANCE, DISTANCE_BEFORE, MINUS_READ, Machines
from fastrm.machines import RewardMachine
from fastrm.machines.language import (
    Binary,
    Chain,
    Edge,
    Expression,
    Feature,
    Guard,
    Otherwise,
    Proposition,
    Unary,
    constant,
    describe,
    evaluate,
    leaves,
    write,
)
from fastrm.problems.water.rewards import Programs
from fastrm.worlds import COLOURS, WaterWorld

MAX_EVENTS = 1 << 16
KINDS = {"d": DISTANCE, "d_before": DISTANCE_BEFORE, "closer": CLOSER}
FELL_OFF = -1


@dataclass(frozen=True, eq=False)
class WaterEvents:
    """What guards can tell apart of a move."""

    features: tuple[Feature, ...]
    """All features read, those of guards first."""
    bounds: tuple[tuple[float, ...], ...]
    """What each feature of a guard is compared with, ascending; ``closer`` with one half."""
    columns: dict[Proposition | Feature, Array]
    """A value per event of every proposition, and of every feature of a guard."""
    possible: Array
    """bool [n_e]: can there be such a move?"""

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.possible)

    def describe(self, event: int) -> str:
        """Name an event in a message."""
        label = [colour for colour in COLOURS if self.columns[Proposition(colour)][event]]
        parts = [f"the label {', '.join(label)}" if label else "no label"]
        for feature in self.features[: len(self.bounds)]:
            value = self.columns[feature][event]
            parts.append(("" if value else "no ") + write(feature) if feature.function == "closer" else
                         f"{write(feature)} about {value:g}")  # fmt: skip
        return f"a move with {' and '.join(parts)}"


def find_water_events(machines: Sequence[RewardMachine], world: WaterWorld, delayed: bool) -> WaterEvents:
    """Collect what machines read, and tabulate it.

    Raises
    ------
    MachineError
        When a machine reads what this world does not have, or compares what cannot be tabulated.
    """
    compared: dict[Feature, set[float]] = {}
    read: dict[Feature, None] = {}
    for machine in machines:
        for edge in machine.edges:
            _check_edge(machine, edge, world)
            for feature, number in _comparisons(machine, edge, edge.guard):
                compared.setdefault(feature, set()).add(number)
            read |= dict.fromkeys(leaf for leaf in leaves(edge.reward) if isinstance(leaf, Feature))
    features = (*compared, *(feature for feature in read if feature not in compared))
    bounds = tuple(tuple(sorted(numbers)) for numbers in compared.values())
    count = 64
    for numbers in bounds:
        count *= 2 * len(numbers) + 1
    if count > MAX_EVENTS:
        raise MachineError(
            f"{machines[0].source}: guards tell {count} kinds of moves apart; Water world has room for {MAX_EVENTS}; "
            "compare fewer distances"
        )
    classes = list(product(*(map(_examples, reversed(bounds)))))  # the class of the first feature changes fastest
    values = np.array([tuple(reversed(values)) for values in classes]).reshape(len(classes), -1)
    columns: dict[Proposition | Feature, Array] = {}
    for c, colour in enumerate(COLOURS):
        columns[Proposition(colour)] = np.tile(np.arange(64) >> c & 1 != 0, len(classes))
    possible = np.ones(count, dtype=np.bool_)
    for f, feature in enumerate(compared):
        column = np.repeat(values[:, f], 64)
        columns[feature] = column > 0.5 if feature.function == "closer" else column
        possible &= (column >= 0) if feature.function != "closer" else (column != 0.5)
        if feature.function == "d" and not delayed:  # a ball is touched where it is seen
            possible &= ~(columns[Proposition(feature.name)] & (column > 0))
    return WaterEvents(features, bounds, columns, possible)


def _examples(numbers: tuple[float, ...]) -> list[float]:
    """Return a value of every class: below the first number, the number itself, above it, and so on.

    It is 0 where the class holds 0, so that a class of distances whose example is negative cannot occur, and one whose
    example is not 0 does not hold the distance of a ball that is touched.
    """
    found = [0.0 if numbers[0] > 0 else numbers[0] - 1.0]
    for one, two in zip(numbers, (*numbers[1:], max(numbers[-1], 0.0) + 2.0), strict=True):
        found += [one, 0.0 if one < 0 < two else (one + two) / 2]
    return found


def _check_edge(machine: RewardMachine, edge: Edge, world: WaterWorld) -> None:
    present = sorted({ball.colour for ball in world.balls})
    for leaf in (*leaves(edge.guard), *leaves(edge.reward)):
        where = f"{place(machine.source, edge.line)}edge {edge.source} -> {edge.target} uses {write(leaf)}"
        if isinstance(leaf, Feature) and leaf.function not in KINDS:
            raise MachineError(f"{where}; Water world has d(x), d_before(x) and closer(x) only")
        if leaf.name not in present:
            near = did_you_mean(leaf.name, present)
            raise MachineError(f"{where}; this world has balls of the colours {', '.join(present)}{near}")


def _comparisons(machine: RewardMachine, edge: Edge, guard: Guard) -> Iterable[tuple[Feature, float]]:
    """Yield the features of a guard and what each is compared with."""
    match guard:
        case Feature():
            yield guard, 0.5
        case Unary(_, operand):
            yield from _comparisons(machine, edge, operand)
        case Chain(_, operands):
            for operand in operands:
                yield from _comparisons(machine, edge, operand)
        case Binary(_, Feature() as feature, number) | Binary(_, number, Feature() as feature) if (
            bound := constant(number)
        ) is not None:
            yield feature, float(bound)
        case Binary():
            raise MachineError(
                f"{place(machine.source, edge.line)}edge {describe(edge)} compares {write(guard)}; on Water world a "
                "guard compares one distance with a number"
            )


class WaterEvaluator:
    """Evaluates machines on all events; states of all machines lie side by side."""

    def __init__(self, machines: Sequence[RewardMachine], events: WaterEvents, falls_off: bool, side: float) -> None:
        self.machines, self.events, self.falls_off = machines, events, falls_off
        self.programs = Programs(events.features, side)
        self.states = tuple((i, name) for i, m in enumerate(machines) for name in m.states)
        n_u = len(self.states)
        shape = events.count, n_u
        self.delta = np.full(shape, n_u, dtype=np.uint32)
        self.outcome = np.zeros(shape, dtype=np.uint8)
        self.reward = np.zeros(shape)
        self.words, self.reads = np.full(shape, CONSTANT, dtype=np.int32), np.zeros(shape, dtype=np.int32)
        self.ending = np.zeros(shape, dtype=np.int16)

    def run(self, seen_colours: int = len(COLOURS)) -> Machines:
        """Fill in and return the tables of all machines."""
        for u, (i, name) in enumerate(self.states):
            edges = [edge for edge in self.machines[i].edges if edge.source == name]
            self._run_state(self.machines[i], u, edges)
        n_u, features = len(self.states), self.events.features
        image = np.zeros((self.events.count, n_u + 1), dtype=np.uint8)
        np.put_along_axis(image, self.delta.astype(np.int64), 1, axis=1)
        strides = np.cumprod([64, *(2 * len(numbers) + 1 for numbers in self.events.bounds)]).tolist()
        width = max((len(numbers) for numbers in self.events.bounds), default=0)
        bounds = np.full((len(features), width), np.inf)
        for f, numbers in enumerate(self.events.bounds):
            bounds[f, : len(numbers)] = numbers
        rows = [
            (KINDS[x.function], COLOURS.index(x.name), strides[f] if f < len(self.events.bounds) else 0)
            for f, x in enumerate(features)
        ]
        seen = np.zeros(seen_colours, dtype=np.uint8)
        seen[[row[1] for row in rows]] = 1
        first_u = [self.states.index((i, m.start)) for i, m in enumerate(self.machines)]
        first, word, number = self.programs.arrays()
        tables = Machines(
            delta=self.delta, outcome=self.outcome, reward=self.reward, words=self.words, reads=self.reads,
            image=np.ascontiguousarray(image[:, :n_u]),
            quiet=(self.delta == np.arange(n_u)).all(axis=1).astype(np.uint8),
            first_u=np.array(first_u, dtype=np.int64), feature=np.array(rows, dtype=np.int64).reshape(-1, 3),
            bounds=bounds, first=first, word=word, number=number, seen=seen, n_u=n_u,
        )  # fmt: skip
        for array in tables:
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
        return tables

    def _run_state(self, machine: RewardMachine, u: int, edges: list[Edge]) -> None:
        taken, default = np.zeros(self.events.count, dtype=np.bool_), None
        opened: list[tuple[Edge, Array]] = []
        for edge in edges:
            if isinstance(edge.guard, Otherwise):
                default = edge
                continue
            holds = np.asarray(evaluate(edge.guard, self.events.columns), dtype=np.bool_)
            is_open = np.broadcast_to(holds, taken.shape)
            both = np.flatnonzero(taken & is_open & self.events.possible)
            if both.size:
                first = next(other for other, mask in opened if mask[both[0]])
                raise MachineError(
                    f"{place(machine.source, edge.line)}in state {edge.source} the edges {describe(first)} and "
                    f"{describe(edge)} are both open for {self.events.describe(int(both[0]))}; make the guards exclude "
                    "each other"
                )
            opened.append((edge, is_open))
            taken = taken | is_open
        if default is not None:
            opened.append((default, ~taken))
            taken = np.ones_like(taken)
        for edge, is_open in opened:
            self._fill(machine, u, edge, is_open)
        self._fall_off(machine, u, edges, ~taken)

    def _fill(self, machine: RewardMachine, u: int, edge: Edge, where: Array) -> None:
        self._pay(u, edge, where, place(machine.source, edge.line))
        if edge.target in machine.terminals:
            self.outcome[where, u] = SUCCESS if edge.target in machine.success else FAILURE
            self.ending[where, u] = 1 + machine.terminals.index(edge.target)
        else:
            self.delta[where, u] = self.states.index((self.states[u][0], edge.target))
            self.outcome[where, u] = LIVE

    def _pay(self, u: int, edge: Edge, where: Array, at: str) -> None:
        value = constant(edge.reward)
        if value is not None:
            self.reward[where, u] = value + 0.0
            return
        if (minus := _minus_feature(edge.reward)) is not None:
            self.words[where, u], self.reads[where, u] = MINUS_READ, self.events.features.index(minus)
            self.programs.check(edge.reward, at)
        else:
            self.words[where, u] = self.programs.add(edge.reward, at)

    def _fall_off(self, machine: RewardMachine, u: int, edges: list[Edge], where: Array) -> None:
        """End the episode where no edge is open; in the reference it pays what the edge to a terminal pays."""
        for edge in edges if self.falls_off else ():
            if edge.target in machine.terminals:
                self._pay(u, edge, where, place(machine.source, edge.line))
        self.outcome[where, u], self.ending[where, u] = FAILURE, FELL_OFF


def _minus_feature(reward: Expression) -> Feature | None:
    match reward:
        case Unary("-", Feature() as feature):
            return feature
    return None
