"""CRM: after every step one counterfactual update for each machine state.  q[run, s, a, u], 0 from column n_u on."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import BLOCK, NOTHING
from fastrm.kernels.episode import begin_episode, end_episode, mark_image, narrow_by, packed_move, record
from fastrm.kernels.policy import choose, slide
from fastrm.kernels.rng import draw
from fastrm.kernels.simd import column_ties
from fastrm.kernels.td import sweep_kept, sweep_ordered, sweep_quiet

_0, _1, _4 = np.uint64(0), np.uint64(1), np.uint64(4)


@part
def advance(i, setting, state, n_cols, n_steps):
    """Make some steps of run i."""
    tables, tasks, rule, reward = setting.tables, setting.tasks, setting.rule, setting.reward.reshape(-1)
    q, log, valid = state.q[i].reshape(-1), state.log, state.own.valid
    moves, delta, own, outcome = tables.moves, tables.delta.reshape(-1), tables.reward.reshape(-1), tables.outcome
    n_u, n_quiet, start = np.uint64(tables.n_u), np.uint64(tables.n_quiet), np.uint64(tables.start)
    me, partial = state.agents[i], tables.partial
    rng0, rng1, s, u, t, earned, narrow = me["rng0"], me["rng1"], me["s"], me["u"], me["t"], me["earned"], me["narrow"]
    quiet = n_quiet if narrow == NOTHING else _0
    for _ in range(n_steps):
        here = s * _4 * n_cols
        number, rng0, rng1 = draw(rng0, rng1)
        a = choose(column_ties(q, here + u, n_cols), number, rule.explore_below)
        direction, rng0, rng1 = slide(setting.slip, a, rng0, rng1)
        s, e = packed_move(moves, s, direction)
        v, row, there, paid = u, here + a * n_cols, s * _4 * n_cols, e * n_cols
        t += _1
        earned += own[paid + v]
        if e < quiet:
            sweep_quiet(q, row, there, n_cols, reward, paid, rule.alpha, rule.gamma)
        else:
            u = np.uint64(delta[paid + v])
            if narrow == NOTHING:
                sweep_ordered(q, row, there, n_cols, reward, paid, delta, n_u, rule.alpha, rule.gamma)
            else:
                mark_image(valid, delta, n_cols, n_u, narrow)
                sweep_kept(q, row, there, n_cols, reward, paid, delta, valid, n_u, rule.alpha, rule.gamma)
            narrow, quiet = narrow_by(rule.prune, partial, e, n_quiet)
        if u == n_u or t == rule.limit:
            end_episode(me, t, earned, outcome[e, v], tasks, log, i)
            s, u, t, earned = begin_episode(me, tasks, start)
            narrow, quiet = NOTHING, n_quiet
    me["rng0"], me["rng1"], me["s"], me["u"], me["t"], me["earned"], me["narrow"] = rng0, rng1, s, u, t, earned, narrow


@jit
def run(setting, state, span):
    """Go on for a span with every run. `state` is updated. A row of one block is compiled by itself, as a constant."""
    n_cols = setting.tables.reward.shape[1]
    for k in range(span.n_ticks):
        for i in range(state.agents.size):
            if n_cols == BLOCK:
                advance(i, setting, state, np.uint64(BLOCK), span.tick)
            else:
                advance(i, setting, state, np.uint64(n_cols), span.tick)
        record(state.agents, state.log, span, k)
