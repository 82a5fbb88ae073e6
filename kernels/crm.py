"""CRM: after every step one counterfactual update for each machine state.  q[run, s, a, u]."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit
from fastrm.kernels.agents import end_episode, mark_valid, move_on, record
from fastrm.kernels.policy import choose
from fastrm.kernels.rng import draw
from fastrm.kernels.td import sweep_ordered, sweep_quiet


@jit
def run(tables, reward, rule, agents, log, q, valid, n_ticks, tick, row):
    """Step all runs in lockstep for n_ticks x tick steps, logging from column `row` on (not at all if negative).

    `agents`, `log` and `q` float64 [n, n_s, n_a, n_cols] are updated; q is 0 from column n_u on. `valid` uint8 [n_cols]
    is scratch.
    """
    next_s, event, delta, own, partial = tables.next_s, tables.event, tables.delta, tables.reward, tables.partial
    n_u, n_quiet = np.uint64(tables.n_u), np.uint64(tables.n_quiet)
    for k in range(n_ticks):
        for _ in range(tick):
            for lane in range(agents.size):
                i = np.uint64(lane)
                me = agents[i]
                s, u = me["s"], me["u"]
                a = choose(q[i, s, 0, u], q[i, s, 1, u], q[i, s, 2, u], q[i, s, 3, u], draw(me), rule.explore_below)
                s_next, e = np.uint64(next_s[s, a]), np.uint64(event[s, a])
                u_next = u
                if e < n_quiet and (not rule.prune or me["last"] < n_quiet):
                    sweep_quiet(q, i, s, a, s_next, e, reward, rule.alpha, rule.gamma)
                else:
                    u_next = np.uint64(delta[e, u])
                    mark_valid(delta, partial, me["last"], rule.prune, n_u, valid)
                    sweep_ordered(q, i, s, a, s_next, e, reward, delta, valid, n_u, rule.alpha, rule.gamma)
                if move_on(me, own[e, u], s_next, u_next, e, rule.limit, n_u):
                    end_episode(tables, log, agents, i, e, u)
        if row >= 0:
            record(agents, log, row + k)
