"""Dynamic programming where an action leads to one of several moves, and values are expectations.

Where moves slip these are three, where the world gives probabilities its outcomes m with theirs:

    q(s, u, a) = (1 - slip) w(s, u, a) + slip / 2 (w(s, u, a + 1) + w(s, u, a - 1)),   w = r + gamma v(s', u')
    q(s, u, a) = sum over m of p(m) w(s, u, m)

Actions form a circle: the one after the last is the first. `chance` is that of `Tables`.

Values are laid out as in `values`.
"""

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.episode import step
from fastrm.kernels.exact.search import n_actions
from fastrm.kernels.exact.values import EPS, action_value

_SWEEPS = 2000


@part
def sides(tables, a):
    """Return the actions after and before an action."""
    n_a = tables.next_s.shape[1]
    return a + 1 if a + 1 < n_a else 0, a - 1 if a > 0 else n_a - 1


@part
def mean_value(tables, chance, reward, gamma, slip, v, s, u, a):
    """Return q(s, u, a)."""
    if chance is not None:
        total = 0.0
        for k in range(chance.shape[2]):
            total += chance[s, a, k] * action_value(tables, reward, gamma, v, s, u, a * chance.shape[2] + k)
        return total
    after, before = sides(tables, a)
    straight = action_value(tables, reward, gamma, v, s, u, a)
    right = action_value(tables, reward, gamma, v, s, u, after)
    left = action_value(tables, reward, gamma, v, s, u, before)
    return (1.0 - slip) * straight + 0.5 * slip * (right + left)


@part
def _rounding(tables, chance, reward, gamma, slip, v, s, u, a):
    """Bound what rounding may have done to q(s, u, a): some operations a term, on numbers no larger than these."""
    if chance is not None:
        size, n_k = 0.0, chance.shape[2]
        for k in range(n_k):
            s_next, u_next, e = step(tables, s, u, a * n_k + k)
            size += chance[s, a, k] * (abs(reward[e, u]) + gamma * abs(v[s_next, u_next]))
        return (4.0 + n_k) * EPS * size
    size, (after, before) = 0.0, sides(tables, a)
    for move, share in ((a, 1.0 - slip), (after, 0.5 * slip), (before, 0.5 * slip)):
        s_next, u_next, e = step(tables, s, u, move)
        size += share * (abs(reward[e, u]) + gamma * abs(v[s_next, u_next]))
    return 5.0 * EPS * size


@jit
def sweep(tables, reward, gamma, slip, v, forwards):
    """Improve every value once, in place, in reading order or backwards. `v` is updated.

    Returns the largest change relative to the larger of the two values.
    """
    n_s, change = tables.next_s.shape[0], 0.0
    for k in range(n_s):
        s = k if forwards else n_s - 1 - k
        for u in range(tables.n_u):
            best = -np.inf
            for a in range(n_actions(tables.chance, tables.next_s.shape[1])):
                best = max(best, mean_value(tables, tables.chance, reward, gamma, slip, v, s, u, a))
            gap, scale = abs(best - v[s, u]), max(abs(best), abs(v[s, u]))
            if gap > change * scale:
                change = gap / scale
            v[s, u] = best
    return change


@part
def _residual(tables, reward, gamma, slip, v, s, u):
    """Bound by how much one exact improvement would change v(s, u)."""
    best, rounding = -np.inf, 0.0
    for a in range(n_actions(tables.chance, tables.next_s.shape[1])):
        best = max(best, mean_value(tables, tables.chance, reward, gamma, slip, v, s, u, a))
        rounding = max(rounding, _rounding(tables, tables.chance, reward, gamma, slip, v, s, u, a))
    return abs(best - v[s, u]) + rounding + EPS * (abs(best) + abs(v[s, u]))


@part
def _ahead(tables, bound, s, u, a):
    s_next, u_next, _ = step(tables, s, u, a)
    return bound[s_next, u_next]


@part
def _spread(tables, chance, gamma, slip, bound, s, u):
    """Return the largest discounted bound that an action can lead to."""
    most = 0.0
    if chance is not None:
        for a in range(chance.shape[1]):
            ahead = 0.0
            for k in range(chance.shape[2]):
                ahead += chance[s, a, k] * _ahead(tables, bound, s, u, a * chance.shape[2] + k)
            most = max(most, ahead * (1.0 + (2.0 + chance.shape[2]) * EPS))
        return gamma * most
    for a in range(tables.next_s.shape[1]):
        after, before = sides(tables, a)
        aside = _ahead(tables, bound, s, u, after) + _ahead(tables, bound, s, u, before)
        most = max(most, (1.0 - slip) * _ahead(tables, bound, s, u, a) + 0.5 * slip * aside)
    return gamma * most


@jit
def enclose(tables, reward, gamma, slip, v, residual, bound):
    """Bound how far `v` is from the optimum. `residual` and `bound` float64 [n_s, n_cols] are overwritten.

    If B(s, u) >= residual(s, u) + gamma E B(s', u') for all pairs and actions, the optimum is within v - B and v + B.
    Sweeps from 0 approach the least such B from below, until twice the result fulfils the condition everywhere. Where
    that takes too long, the largest residual over 1 - gamma serves.
    """
    n_s, n_u = tables.next_s.shape[0], tables.n_u
    bound[:, :] = 0.0
    residual[:, :] = 0.0
    largest = 0.0
    for s in range(n_s):
        for u in range(n_u):
            residual[s, u] = _residual(tables, reward, gamma, slip, v, s, u)
            largest = max(largest, residual[s, u])
    for count in range(_SWEEPS):
        for k in range(n_s):
            s = k if count % 2 == 0 else n_s - 1 - k
            for u in range(n_u):
                bound[s, u] = max(
                    bound[s, u], residual[s, u] + _spread(tables, tables.chance, gamma, slip, bound, s, u)
                )
        proven = True
        for s in range(n_s):
            for u in range(n_u):
                needed = residual[s, u] + 2.0 * _spread(tables, tables.chance, gamma, slip, bound, s, u)
                proven = proven and 2.0 * bound[s, u] >= needed * (1.0 + 8.0 * EPS)
        if proven:
            bound *= 2.0
            return
    bound[:, :n_u] = largest / (1.0 - gamma) * (1.0 + 1e-9)


@jit
def candidates(tables, reward, gamma, slip, v, error, mask):
    """Mark, a bit per action, all actions that may be optimal when `v` is off by at most `error`.

    `mask` uint16 [n_s, n_u] is overwritten. Every action that really is optimal is marked.
    """
    for s in range(tables.next_s.shape[0]):
        for u in range(tables.n_u):
            surely = -np.inf
            slack = _spread(tables, tables.chance, gamma, slip, error, s, u) * (1.0 + 8.0 * EPS)
            for a in range(n_actions(tables.chance, tables.next_s.shape[1])):
                q = mean_value(tables, tables.chance, reward, gamma, slip, v, s, u, a)
                surely = max(surely, q - slack - _rounding(tables, tables.chance, reward, gamma, slip, v, s, u, a))
            mask[s, u] = 0
            for a in range(n_actions(tables.chance, tables.next_s.shape[1])):
                q = mean_value(tables, tables.chance, reward, gamma, slip, v, s, u, a)
                if q + slack + _rounding(tables, tables.chance, reward, gamma, slip, v, s, u, a) >= surely:
                    mask[s, u] |= 1 << a
