"""QRM: Q-learning on cells x machine states, one update a step.  q[run][s, u, a]."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit
from fastrm.kernels.contracts import event_of, next_of
from fastrm.kernels.episode import begin_episode, end_episode, record
from fastrm.kernels.policy import choose, slide
from fastrm.kernels.rng import draw
from fastrm.kernels.simd import row_best, row_ties
from fastrm.kernels.td import td

_1, _4 = np.uint64(1), np.uint64(4)


@jit
def run(tables, tasks, reward, rule, slip, agents, log, q, n_ticks, tick, row):
    """Make n_ticks x tick steps of every run, logging from column `row` on (not at all if negative).

    `agents`, `log` and `q` float64 [n, n_s * (n_u + 1) * n_a] are updated; q is 0 for machine state n_u. A move slips
    when the upper half of a draw is below `slip`, floor(probability 2^32), or never if that is None.
    """
    moves, delta, own, outcome = tables.moves, tables.delta.reshape(-1), tables.reward.reshape(-1), tables.outcome
    n_cols = np.uint64(tables.reward.shape[1])
    n_u, n_quiet, start = np.uint64(tables.n_u), np.uint64(tables.n_quiet), np.uint64(tables.start)
    rows = n_u + _1
    for k in range(n_ticks):
        for i in range(agents.size):
            me = agents[i]
            rng0, rng1, s, u, t, earned = me["rng0"], me["rng1"], me["s"], me["u"], me["t"], me["earned"]
            mine = q[i]
            for _ in range(tick):
                here = (s * rows + u) * _4
                number, rng0, rng1 = draw(rng0, rng1)
                a = choose(row_ties(mine, here), number, rule.explore_below)
                direction, rng0, rng1 = slide(slip, a, rng0, rng1)
                move = moves[s * _4 + direction]
                s, e = next_of(move), event_of(move)
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
                    end_episode(me, t, earned, outcome[e, paid - e * n_cols], tasks, log.ring, log.ended, i)
                    s, u, t, earned = begin_episode(me, tasks, start)
            me["rng0"], me["rng1"], me["s"], me["u"], me["t"], me["earned"] = rng0, rng1, s, u, t, earned
        if row >= 0:
            record(agents, log, row + k)
