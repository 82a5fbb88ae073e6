"""What is best according to a machine that may be wrong, and what that is worth in truth."""

import numpy as np

from fastrm.kernels._jit import jit, part

SETTLED = 1e-9
"""Values have settled when none changes by more than this share of itself."""
MOST_SWEEPS = 10_000


@part
def _best(world, machine, seen, unseen, gamma, value, s, v):
    """Return the largest value of the actions in cell s and state v; moves that were not seen are worth `unseen`."""
    best = -np.inf
    for k in range(world.next_s.shape[1]):
        best = max(best, worth(world, machine, seen, unseen, gamma, value, s, v, np.uint64(k)))
    return best


@part
def worth(world, machine, seen, unseen, gamma, value, s, v, a):
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

    `seen` uint8 [n_s, n_a] marks the moves that were made. Returns the number of sweeps.
    """
    n_s, n_v = value.shape
    value[:, :] = 0.0
    for sweep in range(MOST_SWEEPS):
        is_settled = True
        for k in range(n_s * n_v):
            i = np.uint64(k if sweep % 2 == 0 else n_s * n_v - 1 - k)
            s, v = i // np.uint64(n_v), i % np.uint64(n_v)
            new = _best(world, machine, seen, unseen, gamma, value, s, v)
            is_settled &= abs(new - value[s, v]) <= SETTLED * abs(new)
            value[s, v] = new
        if is_settled:
            return sweep + 1
    return MOST_SWEEPS


@jit
def earned(world, truth, machine, seen, unseen, gamma, value, s, most):
    """Return the discounted reward of the policy that is best by `value`, from a start, while the truth pays.

    The first of several best actions is taken. It stops when the episode ends, or after `most` steps.
    """
    u, v, total, discount = np.uint64(0), np.uint64(0), 0.0, 1.0
    for _ in range(most):
        best, chosen = -np.inf, np.uint64(0)
        for k in range(world.next_s.shape[1]):
            a = np.uint64(k)
            found = worth(world, machine, seen, unseen, gamma, value, s, v, a)
            if found > best:
                best, chosen = found, a
        x = np.uint64(world.label[s, chosen])
        o = truth.output[x, u]
        total += discount * world.reward[o]
        if world.end[o]:
            break
        discount *= gamma
        s, u, v = np.uint64(world.next_s[s, chosen]), np.uint64(truth.delta[x, u]), np.uint64(machine.delta[x, v])
    return total
