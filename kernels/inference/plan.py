"""What is best according to a machine that may be wrong, and what that is worth in truth."""

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import LIVE

SETTLED = 1e-9
"""Values have settled when none changes by more than this share of itself."""
MOST_SWEEPS = 10_000


@part
def _worth(world, machine, seen, unseen, gamma, value, s, v, a):
    """Return the value of an action: what the machine says that it pays, and the discounted value of what follows."""
    if not seen[s, a]:
        return unseen
    x = np.uint64(world.label[s, a])
    o = machine.output[x, v]
    if world.end[o]:
        return world.reward[o]
    return world.reward[o] + gamma * value[np.uint64(world.next_s[s, a]), np.uint64(machine.delta[x, v])]


@jit
def solve(world, machine, seen, unseen, gamma, value):
    """Overwrite `value` float64 [n_s, n_v] with the best values, by sweeps in place, up and down by turns.

    `seen` uint8 [n_s, room] marks the moves that were made; the others are worth `unseen`. Returns how many sweeps.
    """
    n_s, n_v = value.shape
    value[:, :] = 0.0
    for sweep in range(MOST_SWEEPS):
        is_settled = True
        for k in range(n_s * n_v):
            i = np.uint64(k if sweep % 2 == 0 else n_s * n_v - 1 - k)
            s, v = i // np.uint64(n_v), i % np.uint64(n_v)
            best = -np.inf
            for a in range(world.next_s.shape[1]):
                best = max(best, _worth(world, machine, seen, unseen, gamma, value, s, v, np.uint64(a)))
            is_settled &= abs(best - value[s, v]) <= SETTLED * abs(best)
            value[s, v] = best
        if is_settled:
            return sweep + 1
    return MOST_SWEEPS


@jit
def fill(world, machine, seen, unseen, gamma, value, q):
    """Overwrite the values of actions, ``q[s, a, v]``, of which the array may have more rows and columns."""
    n_s, n_v = value.shape
    for s in range(n_s):
        for a in range(world.next_s.shape[1]):
            for v in range(n_v):
                q[s, a, v] = _worth(
                    world, machine, seen, unseen, gamma, value, np.uint64(s), np.uint64(v), np.uint64(a)
                )


@jit
def follow(world, truth, machine, q, gamma, s, path):
    """Follow the best actions by ``q[s, v, a]`` from cell s, the last of several, while the true machine pays.

    `path` int64 is overwritten with the cells visited; its size bounds the length. Returns the number of steps, how the
    episode ended, and the discounted reward.
    """
    u, v, total, discount = np.uint64(0), np.uint64(0), 0.0, 1.0
    path[0] = s
    for n in range(1, path.size):
        best, chosen = -np.inf, np.uint64(0)
        for k in range(q.shape[2]):
            a = np.uint64(k)
            if q[s, v, a] >= best:
                best, chosen = q[s, v, a], a
        x = np.uint64(world.label[s, chosen])
        o = truth.output[x, u]
        total += discount * world.reward[o]
        discount *= gamma
        s, u, v = np.uint64(world.next_s[s, chosen]), np.uint64(truth.delta[x, u]), np.uint64(machine.delta[x, v])
        path[n] = s
        if world.end[o]:
            return n, world.end[o], total
    return path.size - 1, np.uint8(LIVE), total
