"""A water world as look-up tables: the states of each axis of the agent, and the balls at every time.

Both axes move alike, and independently: (position, velocity) -> pushed or not -> (position, velocity). From one start
only some 2 500 such pairs can be reached, as exact floats. They are numbered in the order in which they are first
reached, so that after t moves the agent is at one of the first `within[t]`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import MapError
from fastrm.kernels.water import WaterTables
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
    """Find all states of an axis that can be reached from a start, or from there with the velocity of one push.

    Raises
    ------
    MapError
        When there are too many.
    """

    def push(speed: float, direction: int) -> float:
        return max(-FASTEST, min(FASTEST, speed + PUSH * direction)) + 0.0

    number: dict[State, int] = {}
    following: list[tuple[State, State, State]] = []
    within: list[int] = []
    for roots in ([(position, velocity)], [(position, push(velocity, k)) for k in (-1, 1)]):
        frontier = [root for root in roots if root not in number]
        while frontier:
            for state in frontier:
                number.setdefault(state, len(number))
            found: dict[State, None] = {}
            for place, speed in frontier:
                one, two, three = (
                    _plain(move(place, push(speed, direction), side, radius)) for direction in (-1, 0, 1)
                )
                following.append((one, two, three))
                found |= dict.fromkeys(state for state in (one, two, three) if state not in number)
            if roots[0] == (position, velocity) and len(roots) == 1:
                within.append(len(number))
            frontier = list(found)
            if len(number) > MAX_STATES - 4:
                raise MapError(f"{source}: the agent can be in more than {MAX_STATES} states; take a smaller box")
        within += [len(number)] * (WATER_LIMIT + 1 - len(within)) if len(roots) == 1 else []
    table = np.array([[number[state] for state in row] for row in following], dtype=np.uint16)
    back, forth = number[position, push(velocity, -1)], number[position, push(velocity, 1)]
    at_start = (back, number[position, velocity], forth)
    return Axis(np.array(list(number)), table, np.array(within[: WATER_LIMIT + 1], dtype=np.int64), at_start)


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
    for array in physics:
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    return physics, axes[0], axes[1]
