"""SARSA: the value of what is really done next, exploration included.  q[run, u, s, a], 0 for machine state n_u."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import BLOCK, NOTHING
from fastrm.kernels.lanes import flatten, go_on
from fastrm.kernels.learners import qrm
from fastrm.kernels.learners.cross_product import begin_next, bootstraps, is_over, move
from fastrm.kernels.learners.qrm import own
from fastrm.kernels.policy import choose
from fastrm.kernels.rng import draw
from fastrm.kernels.rows import row_ties
from fastrm.kernels.td import td

_BLOCK = np.uint64(BLOCK)


@part
def enter(world, mine):
    """Return the local variables of a run: those of QRM, and the action that is chosen already, or NOTHING."""
    return qrm.enter(world, mine), mine[1][mine[0]]["option"]


@part
def leave(world, mine, x):
    """Put the local variables of a run back."""
    qrm.leave(world, mine, x[0])
    mine[1][mine[0]]["option"] = x[1]


@part
def step(world, mine, x):
    """Make a step of one run; return its local variables."""
    q, rule, (walk, a) = mine[3], world.setting.rule, x
    rng0, rng1, site, u, column, t, earned = walk
    here = column + site
    if a == NOTHING:
        number, rng0, rng1 = draw(rng0, rng1)
        a = choose(row_ties(q, here, world.actions), number, rule.explore_below, world.actions)
    walk, e, paid = move(world, q, a, (rng0, rng1, site, u, column, t, earned))
    a_next, ahead = NOTHING, 0.0
    if walk[3] != world.n_u and bootstraps(world, walk):
        rng0, rng1, site, u, column, t, earned = walk
        number, rng0, rng1 = draw(rng0, rng1)
        a_next = choose(row_ties(q, column + site, world.actions), number, rule.explore_below, world.actions)
        ahead = q[column + site + a_next]
        walk = rng0, rng1, site, u, column, t, earned
    q[here + a] = td(q[here + a], world.reward[paid], ahead, rule.alpha, rule.gamma)
    if is_over(world, walk):
        return begin_next(world, mine, walk, e, paid), NOTHING
    return walk, a_next


@jit
def run(setting, state, span):
    """Go on for a span with every run. `state` is updated."""
    go_on(own, enter, step, leave, flatten(setting), state, span, _BLOCK)
