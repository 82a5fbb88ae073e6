"""Expected SARSA: the mean value of what may be done next.  q[run, u, s, a], 0 for machine state n_u."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import BLOCK, N_ACTIONS
from fastrm.kernels.episode import begin_episode, end_episode, packed_move
from fastrm.kernels.lanes import fetch_ahead, flatten, go_on
from fastrm.kernels.policy import choose, slide
from fastrm.kernels.qrm import enter, leave, own
from fastrm.kernels.rng import draw
from fastrm.kernels.simd import row_best, row_ties
from fastrm.kernels.td import td

_1, _2, _3, _4, _BLOCK = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(N_ACTIONS), np.uint64(BLOCK)


@part
def expected(q, there, explore_below):
    """Return the mean of four neighbouring values under an epsilon-greedy choice; tied actions are worth the same."""
    epsilon = np.float64(explore_below) / 2.0**32
    mean = 0.25 * (((q[there] + q[there + _1]) + q[there + _2]) + q[there + _3])
    return epsilon * mean + (1.0 - epsilon) * row_best(q, there)


@part
def step(world, mine, x):
    """Make a step of one run; return its local variables."""
    i, agents, log, q = mine
    rng0, rng1, s4, u, column, t, earned = x
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
    ahead = 0.0 if cut and not rule.bootstraps_at_limit else expected(q, column + s4, rule.explore_below)
    q[here + a] = td(q[here + a], world.reward[paid], ahead, rule.alpha, rule.gamma)
    if u == world.n_u or cut:
        me = agents[i]
        end_episode(me, t, earned, setting.tables.outcome[e, v], setting.tasks, log, i)
        s4, u, t, earned = begin_episode(me, setting.tasks, world.start)
        column = u * world.n_s * _4
    return rng0, rng1, s4, u, column, t, earned


@jit
def run(setting, state, span):
    """Go on for a span with every run. `state` is updated."""
    go_on(own, enter, step, leave, flatten(setting), state, span, _BLOCK)
