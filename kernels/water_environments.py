"""A batch of Water worlds, each moved by one action."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import LIVE
from fastrm.kernels.water import event_of, make_move, measure, paid, touched


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
def _begin(physics, carried, agents, i, u):
    x, y = physics.start[0], physics.start[1]
    if physics.delayed and agents.first[i] >= 0:
        x, y = carried[agents.first[i], 0], carried[agents.first[i], 1]
    state = agents.state
    state[i, 0], state[i, 1], state[i, 2], state[i, 3] = x, y, 0, u
    agents.touching[i] = touched(physics, 0, x, y)
    agents.waiting[i], agents.over[i] = 0, 0


@jit
def begin(physics, carried, agents, mask, first_u):
    """Begin an episode in the environments that `mask` marks, each in its machine state."""
    for i in range(mask.size):
        if mask[i]:
            _begin(physics, carried, agents, i, first_u[i])


@jit
def step(
    physics, machines, carried, limit, actions, first_u, agents, scratch, reward, terminated, truncated, event, label
):
    """Move every environment; one whose episode is over begins another instead, whatever its action.

    `reward`, `terminated`, `truncated`, `event` (-1 at a beginning) and `label`, a bit per colour, are overwritten.
    """
    reads, state = machines.feature.shape[0] > 0, agents.state
    for i in range(actions.size):
        if agents.over[i]:
            _begin(physics, carried, agents, i, first_u[i])
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
