"""QRM: Q-learning on cells x machine states, one update a step.  q[run, u, s, a], 0 for machine state n_u."""

import numpy as np

from fastrm.kernels._jit import frame, jit, part
from fastrm.kernels.episode import next_episode, packed_move
from fastrm.kernels.lanes import SIDE_BY_SIDE, fetch_ahead, flatten, go_on
from fastrm.kernels.policy import choose, slide
from fastrm.kernels.rng import draw
from fastrm.kernels.rows import room, row_best, row_ties
from fastrm.kernels.td import td

_1 = np.uint64(1)


@part
def own(state, i):
    """Return what belongs to run i."""
    return i, state.agents, state.log, state.q[i].reshape(-1), state.own


@part
def enter(world, lane):
    """Return the local variables of a run; `column` is where the values of its machine state begin."""
    me = lane[1][lane[0]]
    site, column = me["s"] * room(world.actions), me["u"] * world.n_moves
    return me["rng0"], me["rng1"], site, me["u"], column, me["t"], me["earned"]


@part
def leave(world, lane, x):
    """Write the local variables of a run back to its record."""
    me = lane[1][lane[0]]
    me["rng0"], me["rng1"], site, me["u"], _, me["t"], me["earned"] = x
    me["s"] = site // room(world.actions)


@part
def step(world, lane, x):
    """Make one step of a run; return its new local variables."""
    q, rule = lane[3], world.setting.rule
    rng0, rng1, site, u, column, t, earned = x
    here = column + site
    # one draw decides whether to explore and which of the best actions to take
    number, rng0, rng1 = draw(rng0, rng1)
    a = choose(row_ties(q, here, world.actions), number, rule.explore_below, world.actions)
    # the move may slip, but what is learned is the value of the action that was chosen
    direction, rng0, rng1 = slide(world.setting.slip, world.setting.chance, site, a, rng0, rng1, world.actions)
    site, e = packed_move(world.moves, site, direction)
    fetch_ahead(world, world.moves, site, q, column, _1)
    v, edge = u, e * world.n_cols + u
    t += _1
    earned += world.own[edge]
    old = q[here + a]
    # nearly every step: the machine stays in its state and the episode goes on, so nothing else needs to be read
    if e < world.n_quiet and t != rule.limit:
        q[here + a] = td(old, world.reward[edge], row_best(q, column + site, world.actions), rule.alpha, rule.gamma)
        return rng0, rng1, site, u, column, t, earned
    # the machine may change its state, and the value ahead is that of the new one; a terminal is worth 0
    u = np.uint64(world.delta[edge])
    column = u * world.n_moves
    cut = t == rule.limit
    best = 0.0 if cut and not rule.bootstraps_at_limit else row_best(q, column + site, world.actions)
    q[here + a] = td(old, world.reward[edge], best, rule.alpha, rule.gamma)
    if u == world.n_u or cut:
        rng0, rng1, site, u, t, earned = next_episode(world, lane, e, v, t, earned, rng0, rng1)
        column = u * world.n_moves
    return rng0, rng1, site, u, column, t, earned


@frame
def advance_qrm(step, setting, state, span):
    """Advance all runs by `span` on QRM's table, updating `state` in place."""
    go_on(own, enter, step, leave, flatten(setting), state, span, SIDE_BY_SIDE)


@jit
def run(setting, state, span):
    """Advance all runs by `span`, updating `state` in place."""
    advance_qrm(step, setting, state, span)
