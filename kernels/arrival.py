"""When and how episodes end: the distribution over cells and machine states, pushed forward in time."""

from __future__ import annotations

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import FAR, LIVE, N_ACTIONS, SUCCESS
from fastrm.kernels.episode import step


@part
def share_of(a, chosen, epsilon, slip):
    """Return the probability that play moves in direction a, exploring and sliding now and then."""
    turn = (a - chosen) & (N_ACTIONS - 1)
    straight = 1.0 - slip if turn == 0 else 0.0 if turn == 2 else 0.5 * slip
    return epsilon / N_ACTIONS + (1.0 - epsilon) * straight


@jit
def arrival(tables, worth, policy, u, epsilon, slip, horizon, tolerance, to_end, mass, gained, mass_next, gained_next):
    """Return the expected reward per step of one episode of the epsilon-greedy policy, sum over t of P(T = t) / t.

    The distribution over (s, u) is pushed forward in time together with the reward gained so far; what has not ended
    after t steps adds less than its mass over t, and the sum stops when that falls below `tolerance` or at `horizon`.
    `worth` float64 [n_e, n_cols] is what a move pays; pairs with `to_end` FAR never end an episode and are dropped; the
    four float64 [n_s, n_cols] are scratch. Also returns what the mass that had not ended could at most have added, the
    probability of success, and the sum of t P(success at t).
    """
    n_s, n_u = tables.next_s.shape[0], tables.n_u
    mass[:, :] = 0.0
    gained[:, :] = 0.0
    mass[tables.start, u] = 1.0
    total, left, t, success, steps = 0.0, 1.0, 0, 0.0, 0.0
    while t < horizon and left > tolerance * (t + 1):
        t += 1
        mass_next[:, :] = 0.0
        gained_next[:, :] = 0.0
        left = 0.0
        for s in range(n_s):
            for v in range(n_u):
                if mass[s, v] == 0.0:
                    continue
                for a in range(N_ACTIONS):
                    share = share_of(a, policy[s, v], epsilon, slip)
                    if share == 0.0:
                        continue
                    s_next, v_next, e = step(tables, s, v, a)
                    arrives = share * mass[s, v]
                    brings = share * gained[s, v] + arrives * worth[e, v]
                    if tables.outcome[e, v] != LIVE:
                        total += brings / t
                        if tables.outcome[e, v] == SUCCESS:
                            success += arrives
                            steps += arrives * t
                    elif to_end[s_next, v_next] < FAR:
                        mass_next[s_next, v_next] += arrives
                        gained_next[s_next, v_next] += brings
                        left += arrives
        mass, mass_next = mass_next, mass
        gained, gained_next = gained_next, gained
    return total, left / (t + 1), success, steps


@jit
def total_reward(tables, worth, policy, u, epsilon, slip, horizon, longest, tolerance, mass, mass_next):
    """Return the expected sum of rewards of one episode of the epsilon-greedy policy, cut off at `horizon`.

    The distribution over (s, u) is pushed forward in time until the steps still to be expected fall below `tolerance`,
    for at most `longest` steps; also returns a bound on the steps that were left out. `worth` float64 [n_e, n_cols] is
    what a move pays; `mass` and `mass_next` float64 [n_s, n_cols] are scratch.
    """
    n_s, n_u = tables.next_s.shape[0], tables.n_u
    mass[:, :] = 0.0
    mass[tables.start, u] = 1.0
    total, left, t = 0.0, 1.0, 0
    while t < min(horizon, longest) and left * (horizon - t) > tolerance:
        t += 1
        mass_next[:, :] = 0.0
        left = 0.0
        for s in range(n_s):
            for v in range(n_u):
                if mass[s, v] == 0.0:
                    continue
                for a in range(N_ACTIONS):
                    arrives = share_of(a, policy[s, v], epsilon, slip) * mass[s, v]
                    s_next, v_next, e = step(tables, s, v, a)
                    total += arrives * worth[e, v]
                    if tables.outcome[e, v] == LIVE:
                        mass_next[s_next, v_next] += arrives
                        left += arrives
        mass, mass_next = mass_next, mass
    return total, left * (horizon - t)
