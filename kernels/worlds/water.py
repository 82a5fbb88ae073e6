"""The physics of Water world as look-ups: where the agent can be, which balls it touches, what a machine makes of it.

Positions of balls depend on time alone. Each axis of the agent has finitely many states (position, velocity), numbered
in the order in which they can first be reached, so that those within reach after t moves come first. A ball is touched
when ``dx dx + dy dy <= reach``; a table of balls that are near enough along each axis, by time, leaves few to look at.

A batch of Water worlds, each moved by one action.
"""

from typing import NamedTuple

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import LIVE

N_PUSHES = 5
DISTANCE, DISTANCE_BEFORE, CLOSER = 0, 1, 2  # what a machine may read of a move beside its label
NUMBER, READ, ADD, SUBTRACT, MULTIPLY, DIVIDE, LEAST, LARGEST = 0, 1, 2, 3, 4, 5, 6, 7  # words of a reward
CONSTANT, MINUS_READ = -1, -2  # rewards that need no words: a number, or minus a feature
STACK = 32  # numbers that a reward may hold while it is worked out


# fmt: off
class WaterTables(NamedTuple):
    """One world. C-contiguous, read-only. T is the step limit, n_b the number of balls."""

    next_x:  np.ndarray  # uint16  [n_x, 3]          state of the x axis after a push to the left, none, to the right
    next_y:  np.ndarray  # uint16  [n_y, 3]          the same of the y axis: down, none, up
    x:       np.ndarray  # float64 [n_x, 2]          position and velocity
    y:       np.ndarray  # float64 [n_y, 2]
    near_x:  np.ndarray  # uint16  [T + 1, n_x]      a bit per ball that is near enough along this axis after t moves
    near_y:  np.ndarray  # uint16  [T + 1, n_y]
    balls:   np.ndarray  # float64 [T + 1, n_b, 4]   x, y and velocities of balls after t moves
    colour:  np.ndarray  # uint8   [n_b]             colour of every ball
    colours: np.ndarray  # uint8   [2 ** n_b]        a bit per colour of a set of balls
    reach:   float       #                           square of the distance at which discs touch
    touch:   float       #                           that distance
    delayed: bool        #                           labels a move late, and velocity kept from the first action?
    start:   np.ndarray  # int64   [2]               where episodes begin


class Machines(NamedTuple):
    """One or more machines on a world. C-contiguous, read-only.

    An event is what guards tell apart: the colours of a label, and beside them a class for each feature that guards
    compare with numbers. State n_u stands for every terminal.
    """

    delta:   np.ndarray  # uint32  [n_e, n_u]        the state an event leads to
    outcome: np.ndarray  # uint8   [n_e, n_u]        LIVE, SUCCESS or FAILURE
    reward:  np.ndarray  # float64 [n_e, n_u]        what it pays, where that is a number
    words:   np.ndarray  # int32   [n_e, n_u]        CONSTANT, MINUS_READ, or which words tell what it pays
    reads:   np.ndarray  # int32   [n_e, n_u]        MINUS_READ: of which feature
    image:   np.ndarray  # uint8   [n_e, n_u]        can the event lead to a state?
    quiet:   np.ndarray  # uint8   [n_e]             does it keep every state?
    first_u: np.ndarray  # int64   [n_m]             start state of every machine
    feature: np.ndarray  # int64   [n_f, 3]          features read: kind, colour, stride of its class among events
    bounds:  np.ndarray  # float64 [n_f, n]          numbers it is compared with, ascending, infinity behind the last
    first:   np.ndarray  # int64   [n_p + 1]         words first[k] .. first[k + 1] - 1 are those of reward k
    word:    np.ndarray  # int64   [n_w]
    number:  np.ndarray  # float64 [n_w]             NUMBER: which; READ: which feature
    seen:    np.ndarray  # uint8   [n_c]             colours whose distances are read
    n_u:     int


class Scratch(NamedTuple):
    """Room to work in; all of it is overwritten."""

    before: np.ndarray  # float64 [n_c]
    after:  np.ndarray  # float64 [n_c]
    read:   np.ndarray  # float64 [n_f]
    stack:  np.ndarray  # float64 [STACK]
# fmt: on


@part
def pushed(physics, x, y, a):
    """Return where an action leads from a state of both axes."""
    return (
        np.int64(physics.next_x[x, 1 + np.int64(a == 2) - np.int64(a == 4)]),
        np.int64(physics.next_y[y, 1 + np.int64(a == 1) - np.int64(a == 3)]),
    )


@part
def touched(physics, t, x, y):
    """Return the balls, a bit each, that the agent touches after t moves."""
    near = np.int64(physics.near_x[t, x] & physics.near_y[t, y])
    found = np.int64(0)
    b = 0
    while near:
        if near & 1:
            dx, dy = physics.balls[t, b, 0] - physics.x[x, 0], physics.balls[t, b, 1] - physics.y[y, 0]
            if dx * dx + dy * dy <= physics.reach:
                found |= np.int64(1) << b
        near >>= 1
        b += 1
    return found


@part
def touched_anew(physics, t, x, y, touching):
    """Return the balls touched after t moves, and the colours of those that were not touched before the last."""
    now = touched(physics, t, x, y)
    return now, np.int64(physics.colours[now & ~touching])


@part
def make_move(physics, t, x, y, a, touching, waiting):
    """Make a move after t others, from states of both axes; `touching` and `waiting` are what the last one left.

    Return the states of both axes, the balls touched and the colours newly touched, which are those two of the next
    move, and what this move shows.
    """
    x, y = pushed(physics, x, y, a)
    now, fresh = touched_anew(physics, t + 1, x, y, touching)
    return x, y, now, fresh, waiting if physics.delayed else fresh


@part
def measure(physics, machines, t, x, y, out):
    """Overwrite `out` with the distance to the nearest ball of every colour that is read: 0 while one is touched."""
    for c in range(machines.seen.size):
        out[c] = np.inf
    for b in range(physics.colour.size):
        c = physics.colour[b]
        if machines.seen[c]:
            dx, dy = physics.balls[t, b, 0] - physics.x[x, 0], physics.balls[t, b, 1] - physics.y[y, 0]
            out[c] = min(out[c], dx * dx + dy * dy)
    for c in range(machines.seen.size):
        if machines.seen[c]:
            out[c] = max(0.0, np.sqrt(out[c]) - physics.touch)


@part
def event_of(machines, label, scratch):
    """Return the event of a move from its label and the distances before and after; `scratch.read` is overwritten."""
    e = np.int64(label)
    for f in range(machines.feature.shape[0]):
        kind, c = machines.feature[f, 0], machines.feature[f, 1]
        value = scratch.before[c] if kind == DISTANCE_BEFORE else scratch.after[c]
        if kind == CLOSER:
            value = np.float64(scratch.after[c] < scratch.before[c])
        scratch.read[f] = value
        if machines.feature[f, 2]:
            rank = 0
            for k in range(machines.bounds.shape[1]):
                rank += np.int64(value > machines.bounds[f, k]) + np.int64(value >= machines.bounds[f, k])
            e += rank * machines.feature[f, 2]
    return e


@part
def next_event(physics, machines, t, x, y, label, scratch):
    """Return the event of the last of t moves; distances after the one before are in `scratch`, which is updated."""
    if machines.feature.shape[0] > 0:
        for c in range(machines.seen.size):
            scratch.before[c] = scratch.after[c]
        measure(physics, machines, t, x, y, scratch.after)
    return event_of(machines, label, scratch)


@part
def paid(machines, e, u, scratch):
    """Return what an event pays in a state; `event_of` has put the features into `scratch`."""
    k = machines.words[e, u]
    if k == CONSTANT:
        return machines.reward[e, u]
    if k == MINUS_READ:
        return (0.0 - scratch.read[machines.reads[e, u]]) + 0.0
    stack, top = scratch.stack, 0
    for i in range(machines.first[k], machines.first[k + 1]):
        word = machines.word[i]
        if word == NUMBER:
            stack[top] = machines.number[i]
            top += 1
        elif word == READ:
            stack[top] = scratch.read[np.int64(machines.number[i])]
            top += 1
        else:
            top -= 1
            one, two = stack[top - 1], stack[top]
            if word == ADD:
                stack[top - 1] = one + two
            elif word == SUBTRACT:
                stack[top - 1] = one - two
            elif word == MULTIPLY:
                stack[top - 1] = one * two
            elif word == DIVIDE:
                stack[top - 1] = one / two
            elif word == LEAST:
                stack[top - 1] = min(one, two)
            else:
                stack[top - 1] = max(one, two)
    return stack[0] + 0.0


@jit
def pay(machines, e, u, scratch):
    """Return `paid`, for Python."""
    return paid(machines, e, u, scratch)


@jit
def walk(physics, machines, u, actions, scratch, states, labels, rewards):
    """Follow actions from the start in machine state u until the episode ends; return the moves made and the outcome.

    `states` int64 [n + 1, 3] gets both axes and the machine state after every move, `labels` uint8 [n] and `rewards`
    float64 [n] what each move showed and paid.
    """
    x, y = physics.start[0], physics.start[1]
    touching, waiting = touched(physics, 0, x, y), np.int64(0)
    states[0, 0], states[0, 1], states[0, 2] = x, y, u
    if machines.feature.shape[0] > 0:
        measure(physics, machines, 0, x, y, scratch.after)
    for n in range(actions.size):
        x, y, touching, waiting, label = make_move(physics, n, x, y, actions[n], touching, waiting)
        e = next_event(physics, machines, n + 1, x, y, label, scratch)
        outcome = machines.outcome[e, u]
        labels[n], rewards[n] = label, paid(machines, e, u, scratch)
        u = np.int64(machines.delta[e, u])
        states[n + 1, 0], states[n + 1, 1], states[n + 1, 2] = x, y, u
        if outcome != LIVE:
            return n + 1, np.int64(outcome)
    return actions.size, np.int64(LIVE)


# fmt: off
class WaterAgents(NamedTuple):
    """Where every environment stands. All of it is updated."""

    state:    np.ndarray  # int64 [n, 4]  states of both axes, time, machine state
    touching: np.ndarray  # int64 [n]     balls touched now
    waiting:  np.ndarray  # int64 [n]     delayed: colours that the next move shows
    first:    np.ndarray  # int64 [n]     delayed: first action of all, -1 before it
    over:     np.ndarray  # uint8 [n]     is its episode over, so that the next step begins another?
# fmt: on


@part
def _begin(physics, carried, starts, agents, i, u):
    x, y = physics.start[0], physics.start[1]
    if physics.delayed and agents.first[i] >= 0:
        x, y = carried[agents.first[i], 0], carried[agents.first[i], 1]
    if starts.shape[0]:
        x, y = starts[i, 0], starts[i, 1]
    state = agents.state
    state[i, 0], state[i, 1], state[i, 2], state[i, 3] = x, y, 0, u
    agents.touching[i] = touched(physics, 0, x, y)
    agents.waiting[i], agents.over[i] = 0, 0


@jit
def begin(physics, carried, starts, agents, mask, first_u):
    """Begin an episode in the environments that `mask` marks, each in its machine state.

    `starts` int64 [n, 2] are the states of both axes in which each begins; empty where the world says where.
    """
    for i in range(mask.size):
        if mask[i]:
            _begin(physics, carried, starts, agents, i, first_u[i])


@jit
def step(physics, machines, carried, starts, limit, actions, first_u, agents, scratch, reward, terminated, truncated,
         event, label, every):  # fmt: skip
    """Move every environment; one whose episode is over begins another instead, whatever its action.

    `reward`, `terminated`, `truncated`, `event` (-1 at a beginning) and `label`, a bit per colour, are overwritten, and
    `every` float64 [n or 0, n_u] with what the move pays in every machine state, kept at a beginning.
    """
    reads, state = machines.feature.shape[0] > 0, agents.state
    for i in range(actions.size):
        if agents.over[i]:
            _begin(physics, carried, starts, agents, i, first_u[i])
            reward[i], terminated[i], truncated[i], event[i], label[i] = 0.0, 0, 0, -1, 0
            continue
        a, t, u = actions[i], state[i, 2], state[i, 3]
        if agents.first[i] < 0:
            agents.first[i] = a
        x, y, now, fresh, shown = make_move(
            physics, t, state[i, 0], state[i, 1], a, agents.touching[i], agents.waiting[i]
        )
        if reads:
            measure(physics, machines, t, state[i, 0], state[i, 1], scratch.before)
            measure(physics, machines, t + 1, x, y, scratch.after)
        e = event_of(machines, shown, scratch)
        reward[i], event[i], label[i] = paid(machines, e, u, scratch), e, shown
        if every.shape[0] > 0:
            for v in range(every.shape[1]):
                every[i, v] = paid(machines, e, v, scratch)
        terminated[i] = machines.outcome[e, u] != LIVE
        truncated[i] = t + 1 >= limit
        state[i, 0], state[i, 1], state[i, 2], state[i, 3] = x, y, t + 1, machines.delta[e, u]
        agents.touching[i], agents.waiting[i] = now, fresh
        agents.over[i] = terminated[i] | truncated[i]


@jit
def observe(physics, state, per_side, per_speed, per_together, out):
    """Overwrite rows of `out` float32 with what agents see: own position and velocity, offset and velocity of balls.

    Positions are multiplied by `per_side`, velocities of the agent by `per_speed`, relative ones by `per_together`.
    Behind them stands a 1 for the machine state, and 0 for the others.
    """
    n_b = physics.colour.size
    for i in range(len(state)):
        t, u = state[i, 2], state[i, 3]
        px, vx = physics.x[state[i, 0], 0], physics.x[state[i, 0], 1]
        py, vy = physics.y[state[i, 1], 0], physics.y[state[i, 1], 1]
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = px * per_side, py * per_side, vx * per_speed, vy * per_speed
        for b in range(n_b):
            k = 4 + 4 * b
            out[i, k] = (physics.balls[t, b, 0] - px) * per_side
            out[i, k + 1] = (physics.balls[t, b, 1] - py) * per_side
            out[i, k + 2] = (physics.balls[t, b, 2] - vx) * per_together
            out[i, k + 3] = (physics.balls[t, b, 3] - vy) * per_together
        for v in range(4 + 4 * n_b, out.shape[1]):
            out[i, v] = np.float32(v - 4 - 4 * n_b == u)
