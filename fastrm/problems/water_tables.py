"""A water world and machines on it as look-up tables.

Both axes of the agent move alike and independently: (position, velocity) -> pushed or not -> (position, velocity). From
one start only some 2 500 such pairs can be reached, as exact floats. They are numbered in the order in which they are
first reached, so that after t moves the agent is at one of the first `within[t]`. Balls are where time puts them.

An *event* is what guards can tell apart: the colours of a label, 64 sets of them, and a class for every feature that
some guard reads: one for each number it is compared with, and one for each gap between them. Rewards that read
distances are written as short programs for a stack machine, with bounds on what they pay.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, product

import numpy as np

from fastrm.arrays import Array, freeze
from fastrm.errors import MachineError, MapError, did_you_mean, place
from fastrm.kernels.worlds import water as kernel
from fastrm.kernels.worlds.water import Machines, WaterTables
from fastrm.machines import RewardMachine
from fastrm.machines.language import (
    Binary,
    Chain,
    Edge,
    Expression,
    Feature,
    Guard,
    Proposition,
    Unary,
    constant,
    describe,
    leaves,
    write,
)
from fastrm.problems.events import Evaluator, EventTable, Part, lay_side_by_side
from fastrm.worlds import COLOURS, FASTEST, PACE, PUSH, WATER_LIMIT, WaterWorld

MAX_STATES = 1 << 16

State = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Axis:
    """The states of one axis."""

    states: Array
    """float64 [n, 2]: position and velocity."""
    next: Array
    """uint16 [n, 3]: the state after a push backwards, none, a push forwards."""
    within: Array
    """int64 [limit + 1]: how many states can be reached by then, the first of all."""
    carried: tuple[int, int, int]
    """The states of an agent that stands at the start with the velocity of a push backwards, of none, forwards."""


def move(position: float, velocity: float, side: float, radius: float) -> State:
    """Return position and velocity of a disc after a step along one axis."""
    position = position + PACE * velocity
    if position - radius < 0:
        return radius, -velocity
    if position + radius > side:
        return side - radius, -velocity
    return position, velocity


def survey_axis(position: float, velocity: float, side: float, radius: float, source: str) -> Axis:
    """Find all states of an axis that can be reached from a start, or from there with the velocity of one push."""

    def push(speed: float, direction: int) -> float:
        return max(-FASTEST, min(FASTEST, speed + PUSH * direction)) + 0.0

    number: dict[State, int] = {}
    following: list[list[State]] = []

    def explore(frontier: Iterable[State]) -> Iterator[int]:
        """Number all states that can be reached; yield how many there are after each move."""
        while frontier := [state for state in dict.fromkeys(frontier) if state not in number]:
            for state in frontier:
                number[state] = len(number)
            rows = [[_plain(move(x, push(speed, k), side, radius)) for k in (-1, 0, 1)] for x, speed in frontier]
            following.extend(rows)
            if len(number) > MAX_STATES - 4:
                raise MapError(f"{source}: the agent can be in more than {MAX_STATES} states; take a smaller box")
            yield len(number)
            frontier = chain(*rows)

    back, forth = ((position, push(velocity, k)) for k in (-1, 1))
    within = list(explore([(position, velocity)]))
    within = (within + within[-1:] * WATER_LIMIT)[: WATER_LIMIT + 1]
    list(explore([back, forth]))  # their states come last, behind those of `within`
    table = np.array([[number[state] for state in row] for row in following], dtype=np.uint16)
    at_start = number[back], number[position, velocity], number[forth]
    return Axis(np.array(list(number)), table, np.array(within, dtype=np.int64), at_start)


def _plain(state: State) -> State:
    """Return a state without a negative zero, which would count as another one when written out."""
    return state[0], state[1] + 0.0


def ball_track(world: WaterWorld) -> Array:
    """Return x, y and velocities, float64 [limit + 1, balls, 4], of all balls after every move."""
    track = np.empty((WATER_LIMIT + 1, len(world.balls), 4))
    for b, ball in enumerate(world.balls):
        (x, y), (vx, vy) = ball.position, ball.velocity
        for t in range(WATER_LIMIT + 1):
            track[t, b] = x, y, vx, vy
            x, vx = move(x, vx, world.side, world.radius)
            y, vy = move(y, vy, world.side, world.radius)
    return track


def tabulate_physics(world: WaterWorld, delayed: bool) -> tuple[WaterTables, Axis, Axis]:
    """Return the tables of a world, and its axes."""
    axes = [survey_axis(world.agent[k], world.velocity[k], world.side, world.radius, world.source) for k in (0, 1)]
    track, touch = ball_track(world), 2 * world.radius
    near = []
    for k, axis in enumerate(axes):
        close = np.zeros((len(track), len(axis.states)), dtype=np.uint16)
        for b in range(len(world.balls)):
            gap = track[:, b, k, None] - axis.states[None, :, 0]
            close |= (gap * gap <= touch * touch).astype(np.uint16) << np.uint16(b)
        near.append(close)
    colour = np.array([COLOURS.index(ball.colour) for ball in world.balls], dtype=np.uint8)
    sets = np.arange(1 << len(colour))
    colours = np.zeros(len(sets), dtype=np.uint8)
    for b, number in enumerate(colour.tolist()):
        colours |= ((sets >> b & 1) << number).astype(np.uint8)
    physics = WaterTables(
        next_x=axes[0].next, next_y=axes[1].next, x=axes[0].states, y=axes[1].states, near_x=near[0], near_y=near[1],
        balls=track, colour=colour, colours=colours, reach=touch * touch, touch=touch, delayed=delayed,
        start=np.array([axes[0].carried[1], axes[1].carried[1]]),
    )  # fmt: skip
    freeze(physics)
    return physics, axes[0], axes[1]


_WORDS = {
    "+": kernel.ADD,
    "-": kernel.SUBTRACT,
    "*": kernel.MULTIPLY,
    "/": kernel.DIVIDE,
    "min": kernel.LEAST,
    "max": kernel.LARGEST,
}

Word = tuple[int, float]


class Programs:
    """Rewards in words, equal ones once."""

    def __init__(self, features: Sequence[Feature], side: float) -> None:
        self.features, self.farthest = list(features), side * math.sqrt(2.0)
        self.known: dict[Expression, int] = {}
        self.code: list[list[Word]] = []

    def add(self, reward: Expression, at: str) -> int:
        """Return the number of a reward; MachineError if it divides by a distance, is not finite, or too deep."""
        if reward not in self.known:
            self.check(reward, at)
            words = list(self._words(reward, at))
            height = top = 0
            for word, _ in words:
                top += 1 if word in (kernel.NUMBER, kernel.READ) else -1
                height = max(height, top)
            if height > kernel.STACK:
                raise MachineError(f"{at}the reward {write(reward)[:60]}... is too deep; write it more simply")
            self.known[reward] = len(self.code)
            self.code.append(words)
        return self.known[reward]

    def check(self, reward: Expression, at: str) -> None:
        """Raise MachineError for a reward that may not be finite."""
        low, high = reward_bounds(reward, self.farthest, at)
        if not (math.isfinite(low) and math.isfinite(high)):
            raise MachineError(f"{at}the reward {write(reward)} may not be finite; make its numbers smaller")

    def _words(self, node: Expression, at: str) -> list[Word]:
        if (value := constant(node)) is not None:
            return [(kernel.NUMBER, value)]
        match node:
            case Feature():
                return [(kernel.READ, float(self.features.index(node)))]
            case Unary("-", operand):
                return [(kernel.NUMBER, 0.0), *self._words(operand, at), (kernel.SUBTRACT, 0.0)]
            case Binary(sign, left, right) if sign in _WORDS:
                return [*self._words(left, at), *self._words(right, at), (_WORDS[sign], 0.0)]
            case Chain(sign, operands) if sign in _WORDS:
                words = self._words(operands[0], at)
                for operand in operands[1:]:
                    words += [*self._words(operand, at), (_WORDS[sign], 0.0)]
                return words
        raise MachineError(f"{at}the reward {write(node)} is not a number on Water world")

    def arrays(self) -> tuple[Array, Array, Array]:
        """Return where each reward begins, the words, and their numbers."""
        first = np.cumsum([0, *map(len, self.code)]).astype(np.int64)
        words = [word for code in self.code for word in code]
        return first, np.array([w for w, _ in words], dtype=np.int64), np.array([n for _, n in words], dtype=np.float64)


def reward_bounds(node: Expression, farthest: float, at: str = "") -> tuple[float, float]:
    """Return the least and the most that a reward can pay, distances being at most `farthest`."""
    if (value := constant(node)) is not None:
        return value, value
    match node:
        case Feature():
            return 0.0, farthest
        case Unary("-", operand):
            low, high = reward_bounds(operand, farthest, at)
            return -high, -low
        case Binary("/", _, right) if not constant(right):
            raise MachineError(f"{at}the reward {write(node)} divides by what may be 0; divide by a number")
        case Binary(sign, left, right):
            one, two = reward_bounds(left, farthest, at), reward_bounds(right, farthest, at)
            if sign == "/":
                sign, two = "*", (1.0 / two[0], 1.0 / two[0])
            if sign == "*":
                corners = [a * b for a in one for b in two]
                return min(corners), max(corners)
            return (one[0] + two[0], one[1] + two[1]) if sign == "+" else (one[0] - two[1], one[1] - two[0])
        case Chain(sign, operands):
            lows, highs = zip(*(reward_bounds(operand, farthest, at) for operand in operands), strict=True)
            fold = min if sign == "min" else max
            return fold(lows), fold(highs)
    return -math.inf, math.inf


MAX_EVENTS = 1 << 16
KINDS = {"d": kernel.DISTANCE, "d_before": kernel.DISTANCE_BEFORE, "closer": kernel.CLOSER}


@dataclass(frozen=True, eq=False)
class WaterEvents(EventTable):
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
    """Collect what machines read, and tabulate it; MachineError for what the world or the tables do not have."""
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


class WaterEvaluator(Evaluator):
    """Evaluates a machine on all events; rewards that read distances are noted as programs."""

    events: WaterEvents

    def __init__(self, machine: RewardMachine, events: WaterEvents, falls_off: bool, programs: Programs) -> None:
        super().__init__(machine, events, falls_off)
        shape = events.count, len(machine.states)
        self.programs = programs
        self.words, self.reads = np.full(shape, kernel.CONSTANT, dtype=np.int32), np.zeros(shape, dtype=np.int32)

    def pay(self, part: Part, v: int, edge: Edge, where: Array) -> None:
        """Enter what an edge pays: a number, minus a feature, or a program."""
        value = constant(edge.reward)
        if value is not None:
            part.reward[where, v] = value + 0.0
        elif (minus := _minus_feature(edge.reward)) is not None:
            self.words[where, v], self.reads[where, v] = kernel.MINUS_READ, self.events.features.index(minus)
            self.programs.check(edge.reward, self.at(edge))
        else:
            self.words[where, v] = self.programs.add(edge.reward, self.at(edge))


def tabulate_machines(machines: Sequence[RewardMachine], events: WaterEvents, falls_off: bool, side: float) -> Machines:
    """Return the tables of machines whose states lie side by side."""
    programs, features = Programs(events.features, side), events.features
    evaluators = [WaterEvaluator(machine, events, falls_off, programs) for machine in machines]
    parts = [evaluator.run() for evaluator in evaluators]
    n_u = sum(len(machine.states) for machine in machines)
    whole = lay_side_by_side(machines, parts, events.count, n_u)
    strides = np.cumprod([64, *(2 * len(numbers) + 1 for numbers in events.bounds)]).tolist()
    bounds = np.full((len(features), max(map(len, events.bounds), default=0)), np.inf)
    for f, numbers in enumerate(events.bounds):
        bounds[f, : len(numbers)] = numbers
    rows = [
        (KINDS[x.function], COLOURS.index(x.name), strides[f] if f < len(events.bounds) else 0)
        for f, x in enumerate(features)
    ]
    seen = np.zeros(len(COLOURS), dtype=np.uint8)
    seen[[row[1] for row in rows]] = 1
    first, word, number = programs.arrays()
    tables = Machines(
        delta=whole.delta, outcome=whole.outcome, reward=whole.reward,
        words=np.hstack([one.words for one in evaluators]), reads=np.hstack([one.reads for one in evaluators]),
        image=whole.image, quiet=whole.quiet.astype(np.uint8),
        first_u=np.array(whole.first_u, dtype=np.int64), feature=np.array(rows, dtype=np.int64).reshape(-1, 3),
        bounds=bounds, first=first, word=word, number=number, seen=seen, n_u=n_u,
    )  # fmt: skip
    freeze(tables)
    return tables


def _minus_feature(reward: Expression) -> Feature | None:
    match reward:
        case Unary("-", Feature() as feature):
            return feature
    return None
