"""When and how episodes end: the distribution over cells and machine states, pushed forward in time.

The largest expected reward per step of any policy that must explore, by dynamic programming backwards in time.

With probability epsilon the action is uniformly random, else the policy's choice, which may depend on the time t since
the episode began. An episode that succeeds at step t is worth 1 / t, any other 0. In (s, u) after t steps an action is
worth b(a) = 1 / (t + 1) if it succeeds, V_{t+1}(s', u') if the episode goes on, else 0, and

    V_t(s, u) = epsilon / n_a sum_a b(a) + (1 - epsilon) max_a [(1 - slip) b(a) + slip / 2 (b(a - 1) + b(a + 1))],

where b(a) is the mean over the outcomes of a if the world gives their probabilities.

At the step limit V is 0; the ceiling is V_0 at the start, the mean over starts where there are several.
"""

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import FAR, LIVE, SUCCESS
from fastrm.kernels.episode import step
from fastrm.kernels.exact.search import n_actions

STRETCH = 64  # pairs that are looked at together
_NEVER = 1e-40  # so far below the last digit of any sum that leaving it out changes none


@part
def share_of(chance, s, a, chosen, epsilon, slip, n_a):
    """Return the probability that play makes move a of n_a, exploring and sliding now and then, or by chance."""
    if chance is not None:
        action, k = a // chance.shape[2], a % chance.shape[2]
        return (epsilon / chance.shape[1] + (1.0 - epsilon if action == chosen else 0.0)) * chance[s, action, k]
    turn = a - chosen if a >= chosen else a - chosen + n_a
    straight = 1.0 - slip if turn == 0 else 0.0
    straight += 0.5 * slip if turn == 1 else 0.0
    straight += 0.5 * slip if turn == n_a - 1 else 0.0
    return epsilon / n_a + (1.0 - epsilon) * straight


@jit
def arrival(tables, worth, policy, u, epsilon, slip, horizon, tolerance, to_end, mass, gained, busy):
    """Return the expected reward per step of one episode of the epsilon-greedy policy, sum over t of P(T = t) / t.

    The distribution over (s, u) is pushed forward in time together with the reward gained so far; what has not ended
    after t steps adds less than its mass over t, and the sum stops when that falls below `tolerance` or at `horizon`.
    `worth` float64 [n_e, n_cols] is what a move pays; pairs with `to_end` FAR never end an episode and are dropped.

    On a large map play is, at any time, nearly always in a small part of it. So pairs are looked at in stretches, and
    only stretches that were reached are; what is less probable than `_NEVER` is dropped. `mass` and `gained` float64
    [2, n_s * n_cols] and `busy` uint8 [2, stretches] are zeros and left as such, except for what had not ended.

    Also returns the mass that had not ended, one that was dropped counting once for every step, the steps that were
    made, the probability of success, and the sum of t P(success at t).
    """
    n_cols, n_stretches = worth.shape[1], busy.shape[1]
    for s in tables.starts:
        first = np.int64(s) * n_cols + u
        mass[0, first] += 1.0 / tables.starts.size
        busy[0, first // STRETCH] = 1
    total, left, t, success, steps, dropped = 0.0, 1.0, 0, 0.0, 0.0, 0.0
    while t < horizon and left > tolerance * (t + 1):
        now, then = t % 2, (t + 1) % 2
        t += 1
        left = 0.0
        for stretch in range(n_stretches):
            if not busy[now, stretch]:
                continue
            busy[now, stretch] = 0
            for x in range(stretch * STRETCH, min((stretch + 1) * STRETCH, mass.shape[1])):
                here, brought = mass[now, x], gained[now, x]
                if here == 0.0:
                    continue
                mass[now, x] = gained[now, x] = 0.0
                if here < _NEVER:
                    dropped += here
                    continue
                s, v = x // n_cols, x % n_cols
                for a in range(tables.next_s.shape[1]):
                    share = share_of(tables.chance, s, a, policy[s, v], epsilon, slip, tables.next_s.shape[1])
                    if share == 0.0:
                        continue
                    s_next, v_next, e = step(tables, s, v, a)
                    arrives = share * here
                    brings = share * brought + arrives * worth[e, v]
                    if tables.outcome[e, v] != LIVE:
                        total += brings / t
                        if tables.outcome[e, v] == SUCCESS:
                            success += arrives
                            steps += arrives * t
                    elif to_end[s_next, v_next] < FAR:
                        y = np.int64(s_next) * n_cols + v_next
                        mass[then, y] += arrives
                        gained[then, y] += brings
                        busy[then, y // STRETCH] = 1
                        left += arrives
    return total, left + dropped * (t + 1), t, success, steps


@jit
def total_reward(tables, worth, policy, u, epsilon, slip, horizon, longest, tolerance, mass, mass_next):
    """Return the expected sum of rewards of one episode of the epsilon-greedy policy, cut off at `horizon`.

    The distribution over (s, u) is pushed forward in time until the steps still to be expected fall below `tolerance`,
    for at most `longest` steps; also returns a bound on the steps that were left out. `worth` float64 [n_e, n_cols] is
    what a move pays; `mass` and `mass_next` float64 [n_s, n_cols] are scratch.
    """
    n_s, n_u = tables.next_s.shape[0], tables.n_u
    mass[:, :] = 0.0
    for s in tables.starts:
        mass[s, u] += 1.0 / tables.starts.size
    total, left, t = 0.0, 1.0, 0
    while t < min(horizon, longest) and left * (horizon - t) > tolerance:
        t += 1
        mass_next[:, :] = 0.0
        left = 0.0
        for s in range(n_s):
            for v in range(n_u):
                if mass[s, v] == 0.0:
                    continue
                for a in range(tables.next_s.shape[1]):
                    share = share_of(tables.chance, s, a, policy[s, v], epsilon, slip, tables.next_s.shape[1])
                    arrives = share * mass[s, v]
                    s_next, v_next, e = step(tables, s, v, a)
                    total += arrives * worth[e, v]
                    if tables.outcome[e, v] == LIVE:
                        mass_next[s_next, v_next] += arrives
                        left += arrives
        mass, mass_next = mass_next, mass
    return total, left * (horizon - t)


@jit
def link(tables, pairs, number, links):
    """Overwrite `links` int64 [n, n_m] with what the moves of n pairs, given as s * n_u + u, lead to.

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


@part
def mean_ahead(chance, value, links, x, a):
    """Return what action a of pair x is worth, slips aside."""
    if chance is None:
        return value[links[x, a]]
    total = 0.0
    for k in range(chance.shape[2]):
        total += chance[x, a, k] * value[links[x, a * chance.shape[2] + k]]
    return total


@jit
def ceiling(links, chance, n_starts, epsilon, slip, limit, beyond, value, value_next):
    """Return the largest expected 1 / T of an episode that ends with success at step T <= limit.

    It begins in one of the first `n_starts` pairs, each as likely as the others. `links` are those of `link`, `chance`
    float64 [n, n_a, n_k] or None the probabilities of the outcomes of every pair's actions. An
    episode that goes on after the limit is worth `beyond`, 0 unless a bound is wanted. `value` and `value_next` float64
    [n + 2] are scratch.
    """
    n, n_a = links.shape[0], n_actions(chance, links.shape[1])
    value_next[:n] = beyond
    value[n] = value_next[n] = 0.0
    for t in range(limit, 0, -1):
        value_next[n + 1] = 1.0 / t
        for x in range(n):
            best, total = 0.0, 0.0
            for a in range(n_a):
                ahead = mean_ahead(chance, value_next, links, x, a)
                total += ahead
                if slip != 0.0:
                    after, before = links[x, a + 1 if a + 1 < n_a else 0], links[x, a - 1 if a > 0 else n_a - 1]
                    ahead = (1.0 - slip) * ahead + 0.5 * slip * (value_next[after] + value_next[before])
                best = max(best, ahead)
            value[x] = epsilon / n_a * total + (1.0 - epsilon) * best
        value, value_next = value_next, value
    return value_next[:n_starts].sum() / n_starts
