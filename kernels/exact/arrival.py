"""When and how episodes end: the distribution over cells and machine states, pushed forward in time."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import FAR, LIVE, SUCCESS
from fastrm.kernels.episode import step

STRETCH = 64  # pairs that are looked at together
_NEVER = 1e-40  # so far below the last digit of any sum that leaving it out changes none


@part
def share_of(a, chosen, epsilon, slip, n_a):
    """Return the probability that play moves in direction a, exploring and sliding now and then."""
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
                    share = share_of(a, policy[s, v], epsilon, slip, tables.next_s.shape[1])
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
                    arrives = share_of(a, policy[s, v], epsilon, slip, tables.next_s.shape[1]) * mass[s, v]
                    s_next, v_next, e = step(tables, s, v, a)
                    total += arrives * worth[e, v]
                    if tables.outcome[e, v] == LIVE:
                        mass_next[s_next, v_next] += arrives
                        left += arrives
        mass, mass_next = mass_next, mass
    return total, left * (horizon - t)
