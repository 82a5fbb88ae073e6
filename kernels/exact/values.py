"""Dynamic programming on the product of cells and machine states.

Values are laid out v[s, column], 0 from column n_u on, so that q(s, u, a) = r(e, u) + gamma v[s', delta(e, u)] needs no
case for the end of an episode. Rewards are an argument: the machine's own, its Boolean twin, or any other of the same
shape.
"""

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.episode import step
from fastrm.kernels.exact.search import is_direct

EPS = 2.0**-52  # twice the rounding error of one operation, which covers the rounding of the bounds themselves
_EXCESS_SWEEPS = 2000


@part
def action_value(tables, reward, gamma, v, s, u, a):
    """Return q(s, u, a)."""
    s_next, u_next, e = step(tables, s, u, a)
    return reward[e, u] + gamma * v[s_next, u_next]


@jit
def sweep(tables, reward, gamma, v, policy, forwards):
    """Improve every value once, in place, in reading order or backwards.

    `v` and `policy` int8 [n_s, n_u] are updated; an action is replaced only by a better one. Returns the largest change
    relative to the larger of the two values.
    """
    n_s, change = tables.next_s.shape[0], 0.0
    for k in range(n_s):
        s = k if forwards else n_s - 1 - k
        for u in range(tables.n_u):
            best, choice = action_value(tables, reward, gamma, v, s, u, policy[s, u]), policy[s, u]
            for a in range(tables.next_s.shape[1]):
                q = action_value(tables, reward, gamma, v, s, u, a)
                if q > best:
                    best, choice = q, a
            policy[s, u] = choice
            gap, scale = abs(best - v[s, u]), max(abs(best), abs(v[s, u]))
            if gap > change * scale:
                change = gap / scale
            v[s, u] = best
    return change


@jit
def evaluate(tables, reward, gamma, policy, v, error, order, seen):
    """Work out the value of a policy exactly up to rounding, and bound the rounding.

    Every path of a deterministic policy ends or runs into a loop, whose value is a geometric series. `v` and `error`
    float64 [n_s, n_cols] are overwritten; `order` int64 [n_s * n_u] and `seen` int64 [n_s * n_u] are scratch.
    """
    n_u = tables.n_u
    v[:, :] = 0.0
    error[:, :] = 0.0
    seen[:] = 0
    mark = 0
    for first in range(seen.size):
        if seen[first]:
            continue
        mark += 1
        x, n, ends = first, 0, False
        while seen[x] == 0:
            seen[x] = mark
            order[n] = x
            n += 1
            s, u = x // n_u, x % n_u
            s_next, u_next, e = step(tables, s, u, policy[s, u])
            ends = u_next == n_u
            if ends:
                break
            x = np.int64(s_next) * n_u + u_next
        if not ends and seen[x] == mark:  # the path ran into itself: x begins a loop
            _close_loop(tables, reward, gamma, policy, v, error, order, n, x)
        for k in range(n - 1, -1, -1):
            s, u = order[k] // n_u, order[k] % n_u
            s_next, u_next, e = step(tables, s, u, policy[s, u])
            ahead = gamma * v[s_next, u_next]
            value = reward[e, u] + ahead
            if not ends and order[k] == x and v[s, u] != 0.0:
                continue  # the head of the loop is known already
            v[s, u] = value
            error[s, u] = gamma * error[s_next, u_next] + EPS * (abs(ahead) + abs(value))


@part
def _close_loop(tables, reward, gamma, policy, v, error, order, n, head):
    """Give the first pair of a loop its value, the series of the rewards around it. `v` and `error` are updated."""
    n_u = tables.n_u
    k = n - 1
    while order[k] != head:
        k -= 1
    total, size, discount = 0.0, 0.0, 1.0
    for j in range(k, n):
        s, u = order[j] // n_u, order[j] % n_u
        paid = reward[tables.event[s, policy[s, u]], u]
        total += discount * paid
        size += discount * abs(paid)
        discount *= gamma
    length = n - k
    s, u = head // n_u, head % n_u
    v[s, u] = total / (1.0 - discount)
    # the series, its sum and 1 - gamma^length each lose some rounding errors
    error[s, u] = EPS * (length + 2) * (size / (1.0 - discount)) * (1.0 + length * discount / (1.0 - discount))


@part
def _residual(tables, reward, gamma, v, s, u, a):
    """Bound how much better than v(s, u) an action is, rounding included."""
    s_next, u_next, e = step(tables, s, u, a)
    ahead = gamma * v[s_next, u_next]
    q = reward[e, u] + ahead
    return max(q - v[s, u], 0.0) + EPS * (abs(ahead) + abs(q) + abs(v[s, u]))


@jit
def excess(tables, reward, gamma, v, bound):
    """Bound from above how much the optimum exceeds `v`. `bound` float64 [n_s, n_cols], a first guess, is overwritten.

    If B(s, u) >= gamma B(s', u') + residual(s, u, a) for all pairs and actions, the optimum is at most v + B. Sweeps
    from 0 approach the least such B from below; they go on until twice the result fulfils the condition everywhere,
    which is checked. Where gamma is so near 1 that this takes too long, the largest residual over 1 - gamma serves: a
    move that stays where it is needs ln 2 / (1 - gamma) sweeps to come half-way.
    """
    n_s, n_u = tables.next_s.shape[0], tables.n_u
    for count in range(_EXCESS_SWEEPS if _EXCESS_SWEEPS * (1.0 - gamma) > 0.69 else 1):
        largest = 0.0
        for k in range(n_s):
            s = k if count % 2 == 0 else n_s - 1 - k
            for u in range(n_u):
                best = bound[s, u]
                for a in range(tables.next_s.shape[1]):
                    s_next, u_next, _ = step(tables, s, u, a)
                    residual = _residual(tables, reward, gamma, v, s, u, a)
                    largest = max(largest, residual)
                    best = max(best, gamma * bound[s_next, u_next] + residual)
                bound[s, u] = best
        if _doubled_is_bound(tables, reward, gamma, v, bound):
            bound *= 2.0
            return
    bound[:, :n_u] = largest / (1.0 - gamma) * (1.0 + 1e-9)


@part
def _doubled_is_bound(tables, reward, gamma, v, bound):
    """Return whether twice `bound` fulfils the condition of `excess`; if not, an early pair mostly fails."""
    for s in range(tables.next_s.shape[0]):
        for u in range(tables.n_u):
            for a in range(tables.next_s.shape[1]):
                s_next, u_next, _ = step(tables, s, u, a)
                ahead = gamma * bound[s_next, u_next]
                if 2.0 * bound[s, u] < (2.0 * ahead + _residual(tables, reward, gamma, v, s, u, a)) * (1.0 + EPS):
                    return False
    return True


@jit
def improve(tables, reward, gamma, v, policy):
    """Replace every action by a clearly better one. `policy` is updated. Returns how many were replaced."""
    replaced = 0
    for s in range(tables.next_s.shape[0]):
        for u in range(tables.n_u):
            best, choice = action_value(tables, reward, gamma, v, s, u, policy[s, u]), policy[s, u]
            for a in range(tables.next_s.shape[1]):
                q = action_value(tables, reward, gamma, v, s, u, a)
                if q > best and q - best > 8.0 * EPS * (abs(q) + abs(best)):
                    best, choice = q, a
            replaced += choice != policy[s, u]
            policy[s, u] = choice
    return replaced


@jit
def candidates(tables, reward, rounding, gamma, v, error, mask):
    """Mark, a bit per action, all actions that may be optimal when `v` is off by at most `error`.

    `reward` is off by at most `rounding` float64 [n_e, n_cols], which `error` has in it already. `mask` uint16
    [n_s, n_u] is overwritten. Every action that really is optimal is marked.
    """
    for s in range(tables.next_s.shape[0]):
        for u in range(tables.n_u):
            surely = -np.inf
            for a in range(tables.next_s.shape[1]):
                q, slack = _value_and_slack(tables, reward, rounding, gamma, v, error, s, u, a)
                surely = max(surely, q - slack)
            mask[s, u] = 0
            for a in range(tables.next_s.shape[1]):
                q, slack = _value_and_slack(tables, reward, rounding, gamma, v, error, s, u, a)
                if q + slack >= surely:
                    mask[s, u] |= 1 << a


@part
def _value_and_slack(tables, reward, rounding, gamma, v, error, s, u, a):
    s_next, u_next, e = step(tables, s, u, a)
    ahead = gamma * v[s_next, u_next]
    q = reward[e, u] + ahead
    return q, rounding[e, u] + gamma * error[s_next, u_next] + 2.0 * EPS * (abs(ahead) + abs(q))


@jit
def best_shortest(tables, reward, gamma, distance, order, v, policy):
    """Find the best return of a shortest path from every pair; `order` lists the pairs by distance.

    `v` float64 [n_s, n_cols] and `policy` int8 [n_s, n_u] are overwritten.
    """
    n_u = tables.n_u
    v[:, :] = 0.0
    for x in order:
        s, u = x // n_u, x % n_u
        best = -np.inf
        for a in range(tables.next_s.shape[1]):
            if is_direct(tables, distance, False, s, u, a):
                q = action_value(tables, reward, gamma, v, s, u, a)
                if q >= best:
                    best = q
                    policy[s, u] = a
        v[s, u] = best
