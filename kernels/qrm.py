"""QRM: Q-learning on cells x machine states, one update a step.  q[run, s, u, a], 0 for machine state n_u."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit
from fastrm.kernels.episode import begin_episode, end_episode, packed_move, record
from fastrm.kernels.policy import choose, slide
from fastrm.kernels.rng import draw
from fastrm.kernels.simd import row_best, row_ties
from fastrm.kernels.td import td

_1, _4 = np.uint64(1), np.uint64(4)


@jit
def run(setting, state, span):
    """Go on for a span with every run. `state` is updated."""
    tables, tasks, rule, reward = setting.tables, setting.tasks, setting.rule, setting.reward.reshape(-1)
    agents, log = state.agents, state.log
    moves, delta, own, outcome = tables.moves, tables.delta.reshape(-1), tables.reward.reshape(-1), tables.outcome
    n_cols = np.uint64(tables.reward.shape[1])
    n_u, n_quiet, start = np.uint64(tables.n_u), np.uint64(tables.n_quiet), np.uint64(tables.start)
    rows = n_u + _1
    for k in range(span.n_ticks):
        for i in range(agents.size):
            me = agents[i]
            rng0, rng1, s, u, t, earned = me["rng0"], me["rng1"], me["s"], me["u"], me["t"], me["earned"]
            mine = state.q[i].reshape(-1)
            for _ in range(span.tick):
                here = (s * rows + u) * _4
                number, rng0, rng1 = draw(rng0, rng1)
                a = choose(row_ties(mine, here), number, rule.explore_below)
                direction, rng0, rng1 = slide(setting.slip, a, rng0, rng1)
                s, e = packed_move(moves, s, direction)
                paid = e * n_cols + u
                if e >= n_quiet:
                    u = np.uint64(delta[paid])
                t += _1
                earned += own[paid]
                best = row_best(mine, (s * rows + u) * _4)
                if t == rule.limit and not rule.bootstraps_at_limit:
                    best = 0.0
                mine[here + a] = td(mine[here + a], reward[paid], best, rule.alpha, rule.gamma)
                if u == n_u or t == rule.limit:
                    end_episode(me, t, earned, outcome[e, paid - e * n_cols], tasks, log, i)
                    s, u, t, earned = begin_episode(me, tasks, start)
            me["rng0"], me["rng1"], me["s"], me["u"], me["t"], me["earned"] = rng0, rng1, s, u, t, earned
        record(agents, log, span, k)
