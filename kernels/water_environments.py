"""A batch of Water worlds, each moved by one action."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import LIVE
from fastrm.kernels.water import event_of, measure, paid, pushed, touched


# fmt: off
class Swimmers(NamedTuple):
    """Where every environment stands. All of it is updated."""

    state:    np.ndarray  # int64 [n, 4]  states of both axes, time, machine state
    touching: np.ndarray  # int64 [n]     balls touched now
    waiting:  np.ndarray  # int64 [n]     delayed: colours that the next move shows
    first:    np.ndarray  # int64 [n]     delayed: first action of all, -1 before it
    over:     np.ndarray  # uint8 [n]     is its episode over, so that the next step begins another?
# fmt: on


@part
def _begin(pond, carried, swimmers, i, u):
    x, y = pond.start[0], pond.start[1]
    if pond.delayed and swimmers.first[i] >= 0:
        x, y = carried[swimmers.first[i], 0], carried[swimmers.first[i], 1]
    state = swimmers.state
    state[i, 0], state[i, 1], state[i, 2], state[i, 3] = x, y, 0, u
    swimmers.touching[i] = touched(pond, 0, x, y)
    swimmers.waiting[i], swimmers.over[i] = 0, 0


@jit
def begin(pond, carried, swimmers, mask, first_u):
    """Begin an episode in the environments that `mask` marks, each in its machine state."""
    for i in range(mask.size):
        if mask[i]:
            _begin(pond, carried, swimmers, i, first_u[i])


@jit
def step(
    pond, machines, carried, limit, actions, first_u, swimmers, scratch, reward, terminated, truncated, event, label
):
    """Move every environment; one whose episode is over begins another instead, whatever its action.

    `reward`, `terminated`, `truncated`, `event` (-1 at a beginning) and `label`, a bit per colour, are overwritten.
    """
    reads, state = machines.feature.shape[0] > 0, swimmers.state
    for i in range(actions.size):
        if swimmers.over[i]:
            _begin(pond, carried, swimmers, i, first_u[i])
            reward[i], terminated[i], truncated[i], event[i], label[i] = 0.0, 0, 0, -1, 0
            continue
        a, t, u = actions[i], state[i, 2], state[i, 3]
        if swimmers.first[i] < 0:
            swimmers.first[i] = a
        x, y = pushed(pond, state[i, 0], state[i, 1], a)
        if reads:
            measure(pond, machines, t, state[i, 0], state[i, 1], scratch.before)
            measure(pond, machines, t + 1, x, y, scratch.after)
        now = touched(pond, t + 1, x, y)
        fresh = np.int64(pond.colours[now & ~swimmers.touching[i]])
        shown = swimmers.waiting[i] if pond.delayed else fresh
        e = event_of(machines, shown, scratch)
        reward[i], event[i], label[i] = paid(machines, e, u, scratch), e, shown
        terminated[i] = machines.outcome[e, u] != LIVE
        truncated[i] = t + 1 >= limit
        state[i, 0], state[i, 1], state[i, 2], state[i, 3] = x, y, t + 1, machines.delta[e, u]
        swimmers.touching[i], swimmers.waiting[i] = now, fresh
        swimmers.over[i] = terminated[i] | truncated[i]


@jit
def observe(pond, state, per_side, per_speed, per_together, out):
    """Overwrite rows of `out` float32 with what agents see: own position and velocity, offset and velocity of balls.

    Positions are multiplied by `per_side`, velocities of the agent by `per_speed`, relative ones by `per_together`.
    Behind them stands a 1 for the machine state, and 0 for the others.
    """
    n_b = pond.colour.size
    for i in range(len(state)):
        t, u = state[i, 2], state[i, 3]
        px, vx = pond.x[state[i, 0], 0], pond.x[state[i, 0], 1]
        py, vy = pond.y[state[i, 1], 0], pond.y[state[i, 1], 1]
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = px * per_side, py * per_side, vx * per_speed, vy * per_speed
        for b in range(n_b):
            k = 4 + 4 * b
            out[i, k] = (pond.balls[t, b, 0] - px) * per_side
            out[i, k + 1] = (pond.balls[t, b, 1] - py) * per_side
            out[i, k + 2] = (pond.balls[t, b, 2] - vx) * per_together
            out[i, k + 3] = (pond.balls[t, b, 3] - vy) * per_together
        for v in range(4 + 4 * n_b, out.shape[1]):
            out[i, v] = np.float32(v - 4 - 4 * n_b == u)
