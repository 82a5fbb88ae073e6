"""The largest expected reward per step of any policy that must explore, by dynamic programming backwards in time.

With probability epsilon the action is uniformly random, else the policy's choice, which may depend on the time t since
the episode began. An episode that succeeds at step t is worth 1 / t, any other 0. In (s, u) after t steps an action is
worth b(a) = 1 / (t + 1) if it succeeds, V_{t+1}(s', u') if the episode goes on, else 0, and

    V_t(s, u) = epsilon / n_a sum_a b(a) + (1 - epsilon) max_a [(1 - slip) b(a) + slip / 2 (b(a - 1) + b(a + 1))].

At the step limit V is 0; the ceiling is V_0 at the start, the mean over starts where there are several.
"""

from __future__ import annotations

from fastrm.kernels._jit import jit
from fastrm.kernels.contracts import LIVE, SUCCESS
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
        for a in range(tables.next_s.shape[1]):
            s_next, u_next, e = step(tables, s, u, a)
            if tables.outcome[e, u] == LIVE:
                links[x, a] = number[s_next * n_u + u_next]
            else:
                links[x, a] = n + 1 if tables.outcome[e, u] == SUCCESS else n


@jit
def ceiling(links, n_starts, epsilon, slip, limit, beyond, value, value_next):
    """Return the largest expected 1 / T of an episode that ends with success at step T <= limit.

    It begins in one of the first `n_starts` pairs, each as likely as the others. `links` are those of `link`. An
    episode that goes on after the limit is worth `beyond`, 0 unless a bound is wanted. `value` and `value_next` float64
    [n + 2] are scratch.
    """
    n, n_a = links.shape
    value_next[:n] = beyond
    value[n] = value_next[n] = 0.0
    for t in range(limit, 0, -1):
        value_next[n + 1] = 1.0 / t
        for x in range(n):
            best, total = 0.0, 0.0
            for a in range(n_a):
                ahead = value_next[links[x, a]]
                total += ahead
                if slip != 0.0:
                    after, before = links[x, a + 1 if a + 1 < n_a else 0], links[x, a - 1 if a > 0 else n_a - 1]
                    ahead = (1.0 - slip) * ahead + 0.5 * slip * (value_next[after] + value_next[before])
                best = max(best, ahead)
            value[x] = epsilon / n_a * total + (1.0 - epsilon) * best
        value, value_next = value_next, value
    return value_next[:n_starts].sum() / n_starts
