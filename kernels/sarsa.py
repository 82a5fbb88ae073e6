"""SARSA: the value of what is really done next, exploration included.  q[run, u, s, a], 0 for machine state n_u."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import BLOCK, N_ACTIONS, NOTHING
from fastrm.kernels.episode import begin_episode, end_episode, packed_move
from fastrm.kernels.lanes import fetch_ahead, flatten, go_on
from fastrm.kernels.policy import choose, slide
from fastrm.kernels.qrm import own
from fastrm.kernels.rng import draw
from fastrm.kernels.simd import row_ties
from fastrm.kernels.td import td

_1, _4, _BLOCK = np.uint64(1), np.uint64(N_ACTIONS), np.uint64(BLOCK)


@part
def enter(world, mine):
    """Return the local variables of a run: those of QRM, and the action that is chosen already, or NOTHING."""
    me = mine[1][mine[0]]
    return me["rng0"], me["rng1"], me["s"] * _4, me["u"], me["u"] * world.n_s * _4, me["t"], me["earned"], me["option"]


@part
def leave(mine, x):
    """Put the local variables of a run back."""
    me = mine[1][mine[0]]
    me["rng0"], me["rng1"], s4, me["u"], _, me["t"], me["earned"], me["option"] = x
    me["s"] = s4 // _4


@part
def step(world, mine, x):
    """Make a step of one run; return its local variables."""
    i, agents, log, q = mine
    rng0, rng1, s4, u, column, t, earned, a = x
    setting, rule = world.setting, world.setting.rule
    here = column + s4
    if a == NOTHING:
        number, rng0, rng1 = draw(rng0, rng1)
        a = choose(row_ties(q, here), number, rule.explore_below)
    direction, rng0, rng1 = slide(setting.slip, a, rng0, rng1)
    s4, e = packed_move(world.moves, s4, direction)
    fetch_ahead(setting.far, world.moves, s4, q, column, _1)
    v, paid = u, e * world.n_cols + u
    t += _1
    earned += world.own[paid]
    if e >= world.n_quiet:
        u = np.uint64(world.delta[paid])
        column = u * world.n_s * _4
    ends, cut = u == world.n_u, t == rule.limit
    a_next, ahead = NOTHING, 0.0
    if not ends and (not cut or rule.bootstraps_at_limit):
        number, rng0, rng1 = draw(rng0, rng1)
        a_next = choose(row_ties(q, column + s4), number, rule.explore_below)
        ahead = q[column + s4 + a_next]
    q[here + a] = td(q[here + a], world.reward[paid], ahead, rule.alpha, rule.gamma)
    if ends or cut:
        me = agents[i]
        end_episode(me, t, earned, setting.tables.outcome[e, v], setting.tasks, log, i)
        s4, u, t, earned = begin_episode(me, setting.tasks, world.start)
        column, a_next = u * world.n_s * _4, NOTHING
    return rng0, rng1, s4, u, column, t, earned, a_next


@jit
def run(setting, state, span):
    """Go on for a span with every run. `state` is updated."""
    go_on(own, enter, step, leave, flatten(setting), state, span, _BLOCK)
