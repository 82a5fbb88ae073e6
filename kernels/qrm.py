"""QRM: Q-learning on cells x machine states, one update a step.  q[run, s, u, a], 0 for machine state n_u."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.episode import begin_episode, end_episode, packed_move, record
from fastrm.kernels.policy import choose, slide
from fastrm.kernels.rng import draw
from fastrm.kernels.simd import row_best, row_ties
from fastrm.kernels.td import td

_1, _4 = np.uint64(1), np.uint64(4)


@part
def advance(i, setting, state, n_steps):
    """Make some steps of run i."""
    tables, tasks, rule, reward = setting.tables, setting.tasks, setting.rule, setting.reward.reshape(-1)
    q, log, me = state.q[i].reshape(-1), state.log, state.agents[i]
    moves, delta, own, outcome = tables.moves, tables.delta.reshape(-1), tables.reward.reshape(-1), tables.outcome
    n_u, n_quiet, start = np.uint64(tables.n_u), np.uint64(tables.n_quiet), np.uint64(tables.start)
    n_cols, rows = np.uint64(tables.reward.shape[1]), n_u + _1
    rng0, rng1, s, u, t, earned = me["rng0"], me["rng1"], me["s"], me["u"], me["t"], me["earned"]
    for _ in range(n_steps):
        here = (s * rows + u) * _4
        number, rng0, rng1 = draw(rng0, rng1)
        a = choose(row_ties(q, here), number, rule.explore_below)
        direction, rng0, rng1 = slide(setting.slip, a, rng0, rng1)
        s, e = packed_move(moves, s, direction)
        paid = e * n_cols + u
        if e >= n_quiet:
            u = np.uint64(delta[paid])
        t += _1
        earned += own[paid]
        best = row_best(q, (s * rows + u) * _4)
        if t == rule.limit and not rule.bootstraps_at_limit:
            best = 0.0
        q[here + a] = td(q[here + a], reward[paid], best, rule.alpha, rule.gamma)
        if u == n_u or t == rule.limit:
            end_episode(me, t, earned, outcome[e, paid - e * n_cols], tasks, log, i)
            s, u, t, earned = begin_episode(me, tasks, start)
    me["rng0"], me["rng1"], me["s"], me["u"], me["t"], me["earned"] = rng0, rng1, s, u, t, earned


@jit
def run(setting, state, span):
    """Go on for a span with every run. `state` is updated."""
    for k in range(span.n_ticks):
        for i in range(state.agents.size):
            advance(i, setting, state, span.tick)
        record(state.agents, state.log, span, k)
