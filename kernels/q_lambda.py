"""Watkins's Q(lambda): an error also corrects the values that led here.  q[run, u, s, a], 0 for machine state n_u."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import FORGOTTEN, N_ACTIONS
from fastrm.kernels.episode import begin_episode, end_episode, packed_move
from fastrm.kernels.lanes import ALONE, fetch_ahead, flatten, go_on
from fastrm.kernels.policy import choose, slide
from fastrm.kernels.rng import draw
from fastrm.kernels.simd import row_best, row_ties
from fastrm.kernels.td import normal

_0, _1, _4 = np.uint64(0), np.uint64(1), np.uint64(N_ACTIONS)


@part
def own(state, i):
    """Return what belongs to run i, its traces included."""
    traces = state.own
    return i, state.agents, state.log, state.q[i].reshape(-1), traces.place[i], traces.weight[i], traces


@part
def enter(world, mine):
    """Return the local variables of a run: those of QRM, and how many traces there are."""
    me, count = mine[1][mine[0]], mine[6].count[mine[0]]
    return me["rng0"], me["rng1"], me["s"] * _4, me["u"], me["u"] * world.n_s * _4, me["t"], me["earned"], count


@part
def leave(mine, x):
    """Put the local variables of a run back."""
    me = mine[1][mine[0]]
    me["rng0"], me["rng1"], s4, me["u"], _, me["t"], me["earned"], mine[6].count[mine[0]] = x
    me["s"] = s4 // _4


@part
def correct(q, place, weight, count, newest, change, decay):
    """Change every value that has a trace, but for the newest, and let the traces fade; return how many are left."""
    kept = _0
    for k in range(count):
        where, share = place[np.uint64(k)], weight[np.uint64(k)]
        if where != newest:
            q[where] = normal(q[where] + change * share)
            if share * decay >= FORGOTTEN:
                place[kept], weight[kept] = where, share * decay
                kept += _1
    return kept


@part
def step(world, mine, x):
    """Make a step of one run; return its local variables."""
    i, agents, log, q, place, weight, traces = mine
    rng0, rng1, s4, u, column, t, earned, count = x
    setting, rule = world.setting, world.setting.rule
    here = column + s4
    number, rng0, rng1 = draw(rng0, rng1)
    ties = row_ties(q, here)
    a = choose(ties, number, rule.explore_below)
    if ties >> a & _1 == _0:  # what came before did not lead to what this policy would do
        count = _0
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
    old = q[here + a]
    change = rule.alpha * (world.reward[paid] + rule.gamma * best - old)
    count = correct(q, place, weight, count, here + a, change, traces.decay)
    q[here + a] = normal(old + change)
    if traces.decay >= FORGOTTEN:
        place[count], weight[count] = here + a, traces.decay
        count += _1
    if u == world.n_u or cut:
        me = agents[i]
        end_episode(me, t, earned, setting.tables.outcome[e, v], setting.tasks, log, i)
        s4, u, t, earned = begin_episode(me, setting.tasks, world.start)
        column, count = u * world.n_s * _4, _0
    return rng0, rng1, s4, u, column, t, earned, count


@jit
def run(setting, state, span):
    """Go on for a span with every run. `state` is updated."""
    go_on(own, enter, step, leave, flatten(setting), state, span, ALONE)
