"""The largest expected reward per step of any policy that must explore, by dynamic programming backwards in time.

With probability epsilon the action is uniformly random, else the policy's choice, which may depend on the time t since
the episode began. An episode that succeeds at step t is worth 1 / t, any other 0. In (s, u) after t steps an action is
worth b(a) = 1 / (t + 1) if it succeeds, V_{t+1}(s', u') if the episode goes on, else 0, and

    V_t(s, u) = epsilon / 4 sum_a b(a) + (1 - epsilon) max_a [(1 - slip) b(a) + slip / 2 (b(a - 1) + b(a + 1))].

At the step limit V is 0; the ceiling is V_0 at the start.
"""

from __future__ import annotations

from fastrm.kernels._jit import jit
from fastrm.kernels.contracts import LIVE, N_ACTIONS, SUCCESS
from fastrm.kernels.episode import step


@jit
def link(tables, pairs, number, links):
    """Overwrite `links` int64 [n, n_a] with what the actions of n pairs, given as s * n_u + u, lead to.

    That is another of the pairs, n where nothing can be gained any more, or n + 1 for success. `number` int64
    [n_s * n_u] is scratch.
    """
    n, n_u = pairs.size, tables.n_u
    number[:] = n
    for x in range(n):
        number[pairs[x]] = x
    for x in range(n):
        s, u = pairs[x] // n_u, pairs[x] % n_u
        for a in range(N_ACTIONS):
            s_next, u_next, e = step(tables, s, u, a)
            if tables.outcome[e, u] == LIVE:
                links[x, a] = number[s_next * n_u + u_next]
            else:
                links[x, a] = n + 1 if tables.outcome[e, u] == SUCCESS else n


@jit
def ceiling(links, epsilon, slip, limit, beyond, value, value_next):
    """Return the largest expected 1 / T of an episode from pair 0 that ends with success at step T <= limit.

    `links` are those of `link`. An episode that goes on after the limit is worth `beyond`, 0 unless a bound is wanted.
    `value` and `value_next` float64 [n + 2] are scratch.
    """
    n = links.shape[0]
    value_next[:n] = beyond
    value[n] = value_next[n] = 0.0
    for t in range(limit, 0, -1):
        value_next[n + 1] = 1.0 / t
        for x in range(n):
            up, right = value_next[links[x, 0]], value_next[links[x, 1]]
            down, left = value_next[links[x, 2]], value_next[links[x, 3]]
            if slip == 0.0:
                best = max(max(up, right), max(down, left))
            else:
                along, across = 1.0 - slip, 0.5 * slip
                best = max(
                    max(along * up, along * down) + across * (left + right),
                    max(along * right, along * left) + across * (up + down),
                )
            value[x] = 0.25 * epsilon * (up + right + down + left) + (1.0 - epsilon) * best
        value, value_next = value_next, value
    return value_next[0]
