"""Dyna: QRM, and after every step some more updates of moves made before.  q[run, u, s, a], 0 for machine state n_u."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import N_ACTIONS
from fastrm.kernels.episode import begin_episode, end_episode, packed_move
from fastrm.kernels.lanes import ALONE, fetch_ahead, flatten, go_on
from fastrm.kernels.policy import choose, slide
from fastrm.kernels.rng import HALF, LOW, draw
from fastrm.kernels.simd import row_best, row_ties
from fastrm.kernels.td import td

_0, _1, _3, _4 = (np.uint64(k) for k in (0, 1, 3, N_ACTIONS))


@part
def own(state, i):
    """Return what belongs to run i, its memory included."""
    memory = state.own
    return i, state.agents, state.log, state.q[i].reshape(-1), memory.made[i], memory.is_made[i], memory


@part
def enter(world, mine):
    """Return the local variables of a run: those of QRM, and how many moves it has made for the first time."""
    me, count = mine[1][mine[0]], mine[6].count[mine[0]]
    return me["rng0"], me["rng1"], me["s"] * _4, me["u"], me["u"] * world.n_s * _4, me["t"], me["earned"], count


@part
def leave(mine, x):
    """Put the local variables of a run back."""
    me = mine[1][mine[0]]
    me["rng0"], me["rng1"], s4, me["u"], _, me["t"], me["earned"], mine[6].count[mine[0]] = x
    me["s"] = s4 // _4


@part
def imagine(world, q, place, rng0, rng1):
    """Update the value at `place` by the move it stands for, as if it were made now; return the generator."""
    setting, rule, width = world.setting, world.setting.rule, world.n_s * _4
    u, s4, a = place // width, place % width // _4 * _4, place & _3
    direction, rng0, rng1 = slide(setting.slip, a, rng0, rng1)
    s4, e = packed_move(world.moves, s4, direction)
    paid = e * world.n_cols + u
    best = row_best(q, np.uint64(world.delta[paid]) * width + s4)
    q[place] = td(q[place], world.reward[paid], best, rule.alpha, rule.gamma)
    return rng0, rng1


@part
def step(world, mine, x):
    """Make a step of one run; return its local variables."""
    i, agents, log, q, made, is_made, memory = mine
    rng0, rng1, s4, u, column, t, earned, count = x
    setting, rule = world.setting, world.setting.rule
    here = column + s4
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
    cut = t == rule.limit
    best = 0.0 if cut and not rule.bootstraps_at_limit else row_best(q, column + s4)
    q[here + a] = td(q[here + a], world.reward[paid], best, rule.alpha, rule.gamma)
    if is_made[here + a] == 0:
        is_made[here + a], made[count] = 1, here + a
        count += _1
    for _ in range(memory.planning):
        number, rng0, rng1 = draw(rng0, rng1)
        rng0, rng1 = imagine(world, q, np.uint64(made[(number & LOW) * count >> HALF]), rng0, rng1)
    if u == world.n_u or cut:
        me = agents[i]
        end_episode(me, t, earned, setting.tables.outcome[e, v], setting.tasks, log, i)
        s4, u, t, earned = begin_episode(me, setting.tasks, world.start)
        column = u * world.n_s * _4
    return rng0, rng1, s4, u, column, t, earned, count


@jit
def run(setting, state, span):
    """Go on for a span with every run. `state` is updated."""
    go_on(own, enter, step, leave, flatten(setting), state, span, ALONE)
