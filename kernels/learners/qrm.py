"""QRM: Q-learning on cells x machine states, one update a step.  q[run, u, s, a], 0 for machine state n_u."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import BLOCK
from fastrm.kernels.episode import begin_episode, end_episode, packed_move
from fastrm.kernels.lanes import fetch_ahead, flatten, go_on
from fastrm.kernels.policy import choose, slide
from fastrm.kernels.rng import draw
from fastrm.kernels.rows import room, row_best, row_ties
from fastrm.kernels.td import td

_1, _BLOCK = np.uint64(1), np.uint64(BLOCK)


@part
def own(state, i):
    """Return what belongs to run i."""
    return i, state.agents, state.log, state.q[i].reshape(-1)


@part
def enter(world, mine):
    """Return the local variables of a run; `column` is where the values of its machine state begin."""
    me = mine[1][mine[0]]
    site, column = me["s"] * room(world.actions), me["u"] * world.n_moves
    return me["rng0"], me["rng1"], site, me["u"], column, me["t"], me["earned"]


@part
def leave(world, mine, x):
    """Put the local variables of a run back."""
    me = mine[1][mine[0]]
    me["rng0"], me["rng1"], site, me["u"], _, me["t"], me["earned"] = x
    me["s"] = site // room(world.actions)


@part
def step(world, mine, x):
    """Make a step of one run; return its local variables."""
    i, agents, log, q = mine
    rng0, rng1, site, u, column, t, earned = x
    setting, rule = world.setting, world.setting.rule
    here = column + site
    number, rng0, rng1 = draw(rng0, rng1)
    a = choose(row_ties(q, here, world.actions), number, rule.explore_below, world.actions)
    direction, rng0, rng1 = slide(setting.slip, a, rng0, rng1, world.actions)
    site, e = packed_move(world.moves, site, direction)
    fetch_ahead(world, world.moves, site, q, column, _1)
    v, paid = u, e * world.n_cols + u
    t += _1
    earned += world.own[paid]
    old = q[here + a]
    if e < world.n_quiet and t != rule.limit:
        q[here + a] = td(old, world.reward[paid], row_best(q, column + site, world.actions), rule.alpha, rule.gamma)
        return rng0, rng1, site, u, column, t, earned
    u = np.uint64(world.delta[paid])
    column = u * world.n_moves
    cut = t == rule.limit
    best = 0.0 if cut and not rule.bootstraps_at_limit else row_best(q, column + site, world.actions)
    q[here + a] = td(old, world.reward[paid], best, rule.alpha, rule.gamma)
    if u == world.n_u or cut:
        me = agents[i]
        end_episode(me, t, earned, setting.tables.outcome[e, v], setting.tasks, log, i)
        rng0, rng1, site, u, t, earned = begin_episode(me, world, rng0, rng1)
        column = u * world.n_moves
    return rng0, rng1, site, u, column, t, earned


@jit
def run(setting, state, span):
    """Go on for a span with every run. `state` is updated."""
    go_on(own, enter, step, leave, flatten(setting), state, span, _BLOCK)
