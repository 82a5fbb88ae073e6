"""CRM: after every step one counterfactual update for each machine state.  q[run][s, a, u]."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import BLOCK, NOTHING, event_of, next_of
from fastrm.kernels.episode import begin_episode, end_episode, mark_image, narrow_by, record
from fastrm.kernels.policy import choose, slide
from fastrm.kernels.rng import draw
from fastrm.kernels.simd import column_ties
from fastrm.kernels.td import sweep_kept, sweep_ordered, sweep_quiet

_0, _1, _4 = np.uint64(0), np.uint64(1), np.uint64(4)


@part
def advance(i, tables, tasks, reward, rule, slip, agents, log, q, n_cols, valid, tick):
    """Make `tick` steps of run i."""
    moves, delta, own, outcome = tables.moves, tables.delta.reshape(-1), tables.reward.reshape(-1), tables.outcome
    n_u, n_quiet, start = np.uint64(tables.n_u), np.uint64(tables.n_quiet), np.uint64(tables.start)
    me, partial = agents[i], tables.partial
    rng0, rng1, s, u, t, earned, narrow = me["rng0"], me["rng1"], me["s"], me["u"], me["t"], me["earned"], me["narrow"]
    quiet = n_quiet if narrow == NOTHING else _0
    for _ in range(tick):
        here = s * _4 * n_cols
        number, rng0, rng1 = draw(rng0, rng1)
        a = choose(column_ties(q, here + u, n_cols), number, rule.explore_below)
        direction, rng0, rng1 = slide(slip, a, rng0, rng1)
        move = moves[s * _4 + direction]
        s, e = next_of(move), event_of(move)
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
            end_episode(me, t, earned, outcome[e, v], tasks, log.ring, log.ended, i)
            s, u, t, earned = begin_episode(me, tasks, start)
            narrow, quiet = NOTHING, n_quiet
    me["rng0"], me["rng1"], me["s"], me["u"], me["t"], me["earned"], me["narrow"] = rng0, rng1, s, u, t, earned, narrow


@jit
def run(tables, tasks, reward, rule, slip, agents, log, q, valid, n_ticks, tick, row):
    """Make n_ticks x tick steps of every run, logging from column `row` on (not at all if negative).

    `agents`, `log` and `q` float64 [n, n_s * n_a * n_cols] are updated; q is 0 from column n_u on. `slip` is as in
    `qrm`. `valid` uint8 [n_cols] is scratch. A row of one block is compiled by itself: its width is then a constant.
    """
    n_cols = tables.reward.shape[1]
    for k in range(n_ticks):
        for i in range(agents.size):
            if n_cols == BLOCK:
                advance(i, tables, tasks, reward, rule, slip, agents, log, q[i], np.uint64(BLOCK), valid, tick)
            else:
                advance(i, tables, tasks, reward, rule, slip, agents, log, q[i], np.uint64(n_cols), valid, tick)
        if row >= 0:
            record(agents, log, row + k)
