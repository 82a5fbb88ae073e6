"""HRM: options for the edges of the machine, and a controller that chooses among them.

The options learn like the states of one more machine: option o, in column o, goes on while its machine state lasts and
ends in the worthless column n_o when that state is left. So their sweep is CRM's. q[run, s, a, option], 0 from
column n_o on, and controller[run, s, option].
"""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import BLOCK, NOTHING
from fastrm.kernels.episode import begin_episode, end_episode, mark_image, narrow_by, packed_move, record
from fastrm.kernels.policy import choose, choose_among, slide
from fastrm.kernels.rng import draw
from fastrm.kernels.simd import column_ties
from fastrm.kernels.td import normal, sweep_kept, sweep_ordered, sweep_quiet

_0, _1, _4 = np.uint64(0), np.uint64(1), np.uint64(4)


@part
def best_option(controller, values, first, u):
    """Return the value of the best option that leaves machine state u."""
    best = controller[values + first[u]]
    for o in range(first[u], first[u + _1]):
        best = max(best, controller[values + np.uint64(o)])
    return best


@part
def advance(i, setting, state, n_cols, n_steps):
    """Make some steps of run i."""
    tables, tasks, rule, reward = setting.tables, setting.tasks, setting.rule, setting.reward.reshape(-1)
    q, controller, log = state.q[i].reshape(-1), state.own.controller[i].reshape(-1), state.log
    options, valid, keep = state.own.options, state.own.valid, state.own.keep
    moves, delta, own, outcome = tables.moves, tables.delta.reshape(-1), tables.reward.reshape(-1), tables.outcome
    owner, first, ends, earns = options.owner, options.first, options.delta.reshape(-1), options.reward.reshape(-1)
    n_u, n_quiet, start = np.uint64(tables.n_u), np.uint64(tables.n_quiet), np.uint64(tables.start)
    n_states, n_o = np.uint64(tables.reward.shape[1]), np.uint64(owner.size)
    me, partial = state.agents[i], tables.partial
    rng0, rng1, s, u, t, earned, narrow = me["rng0"], me["rng1"], me["s"], me["u"], me["t"], me["earned"], me["narrow"]
    o, o_s, gain, discount = me["option"], me["option_s"], me["option_return"], me["discount"]
    quiet = n_quiet if narrow == NOTHING else _0
    for _ in range(n_steps):
        if o == NOTHING:
            number, rng0, rng1 = draw(rng0, rng1)
            o = choose_among(controller, s * n_o, first[u], first[u + _1], number, rule.explore_below)
            o_s, gain, discount = s, 0.0, 1.0
        here = s * _4 * n_cols
        number, rng0, rng1 = draw(rng0, rng1)
        a = choose(column_ties(q, here + o, n_cols), number, rule.explore_below)
        direction, rng0, rng1 = slide(setting.slip, a, rng0, rng1)
        s, e = packed_move(moves, s, direction)
        v, row, there, paid = u, here + a * n_cols, s * _4 * n_cols, e * n_cols
        t += _1
        earned += own[e * n_states + v]
        gain += discount * reward[e * n_states + v]
        discount *= rule.gamma
        if e < quiet:
            sweep_quiet(q, row, there, n_cols, earns, paid, rule.alpha, rule.gamma)
            if t != rule.limit:
                continue
            ended = False
        else:
            u = np.uint64(delta[e * n_states + v])
            ended = ends[paid + o] == n_o  # by its own machine and state, whatever is played
            if narrow == NOTHING:
                sweep_ordered(q, row, there, n_cols, earns, paid, ends, n_o, rule.alpha, rule.gamma)
            else:
                mark_image(valid, delta, n_states, n_u, narrow)
                for j in range(n_o):
                    keep[j] = valid[owner[j]]
                sweep_kept(q, row, there, n_cols, earns, paid, ends, keep, n_o, rule.alpha, rule.gamma)
            narrow, quiet = narrow_by(rule.prune, partial, e, n_quiet)
        cut = t == rule.limit
        if ended or (cut and not rule.option_survives):
            if u != n_u and not (cut and rule.option_survives):
                gain += discount * best_option(controller, s * n_o, first, u)
            value = o_s * n_o + o
            controller[value] = normal(controller[value] + rule.controller_alpha * (gain - controller[value]))
            o = NOTHING
        if u == n_u or cut:
            end_episode(me, t, earned, outcome[e, v], tasks, log, i)
            s, u, t, earned = begin_episode(me, tasks, start)
            narrow, quiet = NOTHING, n_quiet
    me["rng0"], me["rng1"], me["s"], me["u"], me["t"], me["earned"], me["narrow"] = rng0, rng1, s, u, t, earned, narrow
    me["option"], me["option_s"], me["option_return"], me["discount"] = o, o_s, gain, discount


@jit
def run(setting, state, span):
    """Go on for a span with every run. `state` is updated. A row of one block is compiled by itself, as a constant."""
    n_cols = state.own.options.reward.shape[1]
    for k in range(span.n_ticks):
        for i in range(state.agents.size):
            if n_cols == BLOCK:
                advance(i, setting, state, np.uint64(BLOCK), span.tick)
            else:
                advance(i, setting, state, np.uint64(n_cols), span.tick)
        record(state.agents, state.log, span, k)
