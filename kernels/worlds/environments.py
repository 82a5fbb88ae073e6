"""A batch of environments, each a cell, a machine state and a clock, moved by one action each."""

from fastrm.kernels._jit import jit
from fastrm.kernels.contracts import LIVE
from fastrm.kernels.episode import step as step_one


@jit
def step(tables, limit, actions, state, first_s, first_u, t, over, reward, terminated, truncated, event):
    """Move every environment; one whose episode is over is set back to its start instead, whatever its action.

    `state` int64 [n, 2] (cell and machine state), `t` and `over` are updated; `reward`, `terminated`, `truncated` and
    `event` (of the move, -1 at a reset) are overwritten. An episode is truncated after `limit` steps; one that ends on
    that very step is terminated as well.
    """
    for i in range(actions.size):
        if over[i]:
            state[i, 0], state[i, 1], t[i], over[i] = first_s[i], first_u[i], 0, 0
            reward[i], terminated[i], truncated[i], event[i] = 0.0, 0, 0, -1
            continue
        u = state[i, 1]
        state[i, 0], state[i, 1], e = step_one(tables, state[i, 0], u, actions[i])
        reward[i] = tables.reward[e, u]
        terminated[i] = tables.outcome[e, u] != LIVE
        t[i] += 1
        truncated[i] = t[i] >= limit
        over[i] = terminated[i] | truncated[i]
        event[i] = e
