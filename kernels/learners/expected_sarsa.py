"""Expected SARSA: the mean value of what may be done next.  q[run, u, s, a], 0 for machine state n_u."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import BLOCK
from fastrm.kernels.lanes import flatten, go_on
from fastrm.kernels.learners.cross_product import begin_next, bootstraps, is_over, move
from fastrm.kernels.learners.qrm import enter, leave, own
from fastrm.kernels.policy import choose
from fastrm.kernels.rng import draw
from fastrm.kernels.rows import row_best, row_mean, row_ties
from fastrm.kernels.td import td

_BLOCK = np.uint64(BLOCK)


@part
def expected(q, there, explore_below, actions):
    """Return the mean of neighbouring values under an epsilon-greedy choice; tied actions are worth the same."""
    epsilon = np.float64(explore_below) / 2.0**32
    return epsilon * row_mean(q, there, actions) + (1.0 - epsilon) * row_best(q, there, actions)


@part
def step(world, mine, x):
    """Make a step of one run; return its local variables."""
    q, rule = mine[3], world.setting.rule
    rng0, rng1, site, u, column, t, earned = x
    here = column + site
    number, rng0, rng1 = draw(rng0, rng1)
    a = choose(row_ties(q, here, world.actions), number, rule.explore_below, world.actions)
    x, e, paid = move(world, q, a, (rng0, rng1, site, u, column, t, earned))
    ahead = expected(q, x[4] + x[2], rule.explore_below, world.actions) if bootstraps(world, x) else 0.0
    q[here + a] = td(q[here + a], world.reward[paid], ahead, rule.alpha, rule.gamma)
    return begin_next(world, mine, x, e, paid) if is_over(world, x) else x


@jit
def run(setting, state, span):
    """Go on for a span with every run. `state` is updated."""
    go_on(own, enter, step, leave, flatten(setting), state, span, _BLOCK)
