"""QRM: Q-learning on cells x machine states, one update a step.  q[run, s, u, a]."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit
from fastrm.kernels.agents import end_episode, move_on, record
from fastrm.kernels.policy import choose, max4
from fastrm.kernels.rng import draw
from fastrm.kernels.td import td

_1 = np.uint64(1)


@jit
def run(tables, reward, rule, agents, log, q, n_ticks, tick, row):
    """Step all runs in lockstep for n_ticks x tick steps, logging from column `row` on (not at all if negative).

    `agents`, `log` and `q` float64 [n, n_s, n_u + 1, n_a] are updated; q is 0 in row n_u.
    """
    next_s, event, delta, own = tables.next_s, tables.event, tables.delta, tables.reward
    n_u, n_quiet = np.uint64(tables.n_u), np.uint64(tables.n_quiet)
    for k in range(n_ticks):
        for _ in range(tick):
            for lane in range(agents.size):
                i = np.uint64(lane)
                me = agents[i]
                s, u = me["s"], me["u"]
                a = choose(q[i, s, u, 0], q[i, s, u, 1], q[i, s, u, 2], q[i, s, u, 3], draw(me), rule.explore_below)
                s_next, e = np.uint64(next_s[s, a]), np.uint64(event[s, a])
                u_next = u
                if e >= n_quiet:
                    u_next = np.uint64(delta[e, u])
                best = max4(q[i, s_next, u_next, 0], q[i, s_next, u_next, 1],
                            q[i, s_next, u_next, 2], q[i, s_next, u_next, 3])  # fmt: skip
                if not rule.bootstraps_at_limit and me["t"] + _1 == rule.limit:
                    best = 0.0
                q[i, s, u, a] = td(q[i, s, u, a], reward[e, u], best, rule.alpha, rule.gamma)
                if move_on(me, own[e, u], s_next, u_next, e, rule.limit, n_u):
                    end_episode(tables, log, agents, i, e, u)
        if row >= 0:
            record(agents, log, row + k)
