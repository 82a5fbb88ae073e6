"""HRM: options for the edges of the machine, and a controller that chooses among them.

The options learn like the states of one more machine: option o, in column o, goes on while its machine state lasts and
ends in the worthless column n_o when that state is left. So their sweep is CRM's. q[run, s, a, option], 0 from
column n_o on, and controller[run, s, option].
"""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import NOTHING
from fastrm.kernels.episode import begin_episode, end_episode, narrow_by, packed_move
from fastrm.kernels.lanes import fetch_ahead, flatten, go_on, row_width
from fastrm.kernels.policy import choose, choose_among, slide
from fastrm.kernels.rng import draw
from fastrm.kernels.rows import column_ties, room
from fastrm.kernels.td import normal, sweep_kept, sweep_ordered, sweep_quiet

_0, _1 = np.uint64(0), np.uint64(1)


@part
def best_option(controller, values, first, u):
    """Return the value of the best option that leaves machine state u."""
    best = controller[values + first[u]]
    for o in range(first[u], first[u + _1]):
        best = max(best, controller[values + np.uint64(o)])
    return best


@part
def own(state, i):
    """Return what belongs to run i, and what options there are."""
    options = state.own.options
    learned = state.q[i].reshape(-1), state.own.controller[i].reshape(-1)
    tables = options.delta.reshape(-1), options.reward.reshape(-1), options.image.reshape(-1)
    return i, state.agents, state.log, state.own, learned, tables


@part
def enter(world, mine):
    """Return the local variables of a run: those of CRM, and those of its option."""
    me = mine[1][mine[0]]
    quiet = world.n_quiet if me["narrow"] == NOTHING else _0
    walk = me["rng0"], me["rng1"], me["s"] * room(world.actions), me["u"], me["t"], me["earned"], me["narrow"], quiet
    return walk, (me["option"], me["option_s"], me["option_return"], me["discount"])


@part
def leave(world, mine, x):
    """Put the local variables of a run back."""
    me = mine[1][mine[0]]
    me["rng0"], me["rng1"], site, me["u"], me["t"], me["earned"], me["narrow"], _ = x[0]
    me["s"] = site // room(world.actions)
    me["option"], me["option_s"], me["option_return"], me["discount"] = x[1]


@part
def step(world, mine, x):
    """Make a step of one run; return its local variables."""
    i, agents, log, hierarchy, (q, controller), (ends, earns, image) = mine
    (rng0, rng1, site, u, t, earned, narrow, quiet), (o, o_s, gain, discount) = x
    setting, rule, n_cols = world.setting, world.setting.rule, row_width(hierarchy.width)
    first, n_o = hierarchy.options.first, np.uint64(hierarchy.options.owner.size)
    if o == NOTHING:
        number, rng0, rng1 = draw(rng0, rng1)
        o_s, gain, discount = site // room(world.actions), 0.0, 1.0
        o = choose_among(controller, o_s * n_o, first[u], first[u + _1], number, rule.explore_below)
    here = site * n_cols
    number, rng0, rng1 = draw(rng0, rng1)
    a = choose(column_ties(q, here + o, n_cols, world.actions), number, rule.explore_below, world.actions)
    direction, rng0, rng1 = slide(setting.slip, a, rng0, rng1, world.actions)
    site, e = packed_move(world.moves, site, direction)
    fetch_ahead(world, world.moves, site, q, _0, n_cols)
    v, row, there, paid = u, here + a * n_cols, site * n_cols, e * n_cols
    t += _1
    earned += world.own[e * world.n_cols + v]
    gain += discount * world.reward[e * world.n_cols + v]
    discount *= rule.gamma
    if e < quiet:
        sweep_quiet(q, row, there, n_cols, earns, paid, world)
        if t != rule.limit:
            return (rng0, rng1, site, u, t, earned, narrow, quiet), (o, o_s, gain, discount)
        ended = False
    else:
        u = np.uint64(world.delta[e * world.n_cols + v])
        ended = ends[paid + o] == n_o  # by its own machine and state, whatever is played
        if narrow == NOTHING:
            sweep_ordered(q, row, there, n_cols, earns, paid, ends, n_o, world)
        else:
            sweep_kept(q, row, there, n_cols, earns, paid, ends, image, narrow * n_cols, n_o, world)
        narrow, quiet = narrow_by(rule.prune, setting.tables.partial, e, world.n_quiet)
    cut = t == rule.limit
    if ended or (cut and not rule.option_survives):
        if u != world.n_u and not (cut and rule.option_survives):
            gain += discount * best_option(controller, site // room(world.actions) * n_o, first, u)
        value = o_s * n_o + o
        controller[value] = normal(controller[value] + rule.controller_alpha * (gain - controller[value]))
        o = NOTHING
    if u == world.n_u or cut:
        me = agents[i]
        end_episode(me, t, earned, setting.tables.outcome[e, v], setting.tasks, log, i)
        rng0, rng1, site, u, t, earned = begin_episode(me, world, rng0, rng1)
        narrow, quiet = NOTHING, world.n_quiet
    return (rng0, rng1, site, u, t, earned, narrow, quiet), (o, o_s, gain, discount)


@jit
def run(setting, state, span):
    """Go on for a span with every run. `state` is updated."""
    go_on(own, enter, step, leave, flatten(setting), state, span, row_width(state.own.width))
