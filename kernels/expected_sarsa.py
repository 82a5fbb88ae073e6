"""Expected SARSA: the mean value of what may be done next.  q[run, u, s, a], 0 for machine state n_u."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import BLOCK
from fastrm.kernels.cross_product import begin_next, bootstraps, is_over, move
from fastrm.kernels.lanes import flatten, go_on
from fastrm.kernels.policy import choose
from fastrm.kernels.qrm import enter, leave, own
from fastrm.kernels.rng import draw
from fastrm.kernels.simd import row_best, row_ties
from fastrm.kernels.td import td

_1, _2, _3, _BLOCK = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(BLOCK)


@part
def expected(q, there, explore_below):
    """Return the mean of four neighbouring values under an epsilon-greedy choice; tied actions are worth the same."""
    epsilon = np.float64(explore_below) / 2.0**32
    mean = 0.25 * (((q[there] + q[there + _1]) + q[there + _2]) + q[there + _3])
    return epsilon * mean + (1.0 - epsilon) * row_best(q, there)


@part
def step(world, mine, x):
    """Make a step of one run; return its local variables."""
    q, rule = mine[3], world.setting.rule
    rng0, rng1, s4, u, column, t, earned = x
    here = column + s4
    number, rng0, rng1 = draw(rng0, rng1)
    a = choose(row_ties(q, here), number, rule.explore_below)
    x, e, paid = move(world, q, a, (rng0, rng1, s4, u, column, t, earned))
    ahead = expected(q, x[4] + x[2], rule.explore_below) if bootstraps(world, x) else 0.0
    q[here + a] = td(q[here + a], world.reward[paid], ahead, rule.alpha, rule.gamma)
    return begin_next(world, mine, x, e, paid) if is_over(world, x) else x


@jit
def run(setting, state, span):
    """Go on for a span with every run. `state` is updated."""
    go_on(own, enter, step, leave, flatten(setting), state, span, _BLOCK)
