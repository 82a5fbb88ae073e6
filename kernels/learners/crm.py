"""CRM: after every step one counterfactual update for each machine state.  q[run, s, a, u], 0 from column n_u on."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import NOTHING
from fastrm.kernels.episode import begin_episode, end_episode, narrow_by, packed_move
from fastrm.kernels.lanes import fetch_ahead, flatten, go_on, row_width
from fastrm.kernels.policy import choose, slide
from fastrm.kernels.rng import draw
from fastrm.kernels.rows import column_ties, room
from fastrm.kernels.td import sweep_kept, sweep_ordered, sweep_quiet

_0, _1 = np.uint64(0), np.uint64(1)


@part
def own(state, i):
    """Return what belongs to run i."""
    return i, state.agents, state.log, state.q[i].reshape(-1), state.own


@part
def enter(world, mine):
    """Return the local variables of a run; events below `quiet` allow a sweep of whole rows."""
    me = mine[1][mine[0]]
    quiet = world.n_quiet if me["narrow"] == NOTHING else _0
    return me["rng0"], me["rng1"], me["s"] * room(world.actions), me["u"], me["t"], me["earned"], me["narrow"], quiet


@part
def leave(world, mine, x):
    """Put the local variables of a run back."""
    me = mine[1][mine[0]]
    me["rng0"], me["rng1"], site, me["u"], me["t"], me["earned"], me["narrow"], _ = x
    me["s"] = site // room(world.actions)


@part
def step(world, mine, x):
    """Make a step of one run; return its local variables."""
    i, agents, log, q, sweep = mine
    rng0, rng1, site, u, t, earned, narrow, quiet = x
    setting, rule, n_cols = world.setting, world.setting.rule, row_width(sweep.width)
    here = site * n_cols
    number, rng0, rng1 = draw(rng0, rng1)
    a = choose(column_ties(q, here + u, n_cols, world.actions), number, rule.explore_below, world.actions)
    direction, rng0, rng1 = slide(setting.slip, a, rng0, rng1, world.actions)
    site, e = packed_move(world.moves, site, direction)
    fetch_ahead(world, world.moves, site, q, _0, n_cols)
    v, row, there, paid = u, here + a * n_cols, site * n_cols, e * n_cols
    t += _1
    earned += world.own[paid + v]
    if e < quiet:
        sweep_quiet(q, row, there, n_cols, world.reward, paid, world)
        if t != rule.limit:
            return rng0, rng1, site, u, t, earned, narrow, quiet
    else:
        u = np.uint64(world.delta[paid + v])
        if narrow == NOTHING:
            sweep_ordered(q, row, there, n_cols, world.reward, paid, world.delta, world.n_u, world)
        else:
            sweep_kept(
                q, row, there, n_cols, world.reward, paid, world.delta, world.image, narrow * n_cols, world.n_u, world
            )
        narrow, quiet = narrow_by(rule.prune, setting.tables.partial, e, world.n_quiet)
    if u == world.n_u or t == rule.limit:
        me = agents[i]
        end_episode(me, t, earned, setting.tables.outcome[e, v], setting.tasks, log, i)
        rng0, rng1, site, u, t, earned = begin_episode(me, world, rng0, rng1)
        narrow, quiet = NOTHING, world.n_quiet
    return rng0, rng1, site, u, t, earned, narrow, quiet


@jit
def run(setting, state, span):
    """Go on for a span with every run. `state` is updated."""
    go_on(own, enter, step, leave, flatten(setting), state, span, row_width(state.own.width))
