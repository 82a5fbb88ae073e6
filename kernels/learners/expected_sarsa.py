"""Expected SARSA: the mean value of what may be done next.  q[run, u, s, a], 0 for machine state n_u."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.lanes import SIDE_BY_SIDE, flatten, go_on
from fastrm.kernels.learners.cross_product import bootstraps, choose_action, learn, move, resume, row_of
from fastrm.kernels.learners.qrm import enter, leave, own
from fastrm.kernels.rows import row_best, row_mean, row_ties


@part
def expected(q, row, explore_below, actions):
    """Return the mean of a row of values under an epsilon-greedy choice; tied actions are worth the same."""
    epsilon = np.float64(explore_below) / 2.0**32
    return epsilon * row_mean(q, row, actions) + (1.0 - epsilon) * row_best(q, row, actions)


@part
def step(world, lane, x):
    """Make one step of a run; return its new local variables."""
    q, here = lane[3], row_of(x)
    a, x = choose_action(world, row_ties(q, here, world.actions), x)
    x, e, edge = move(world, q, a, x)
    # the target is the mean over the next choice, which is drawn only in the next step
    ahead = expected(q, row_of(x), world.setting.rule.explore_below, world.actions) if bootstraps(world, x) else 0.0
    learn(world, q, here + a, edge, ahead)
    return resume(world, lane, x, e, edge)


@jit
def run(setting, state, span):
    """Advance all runs by `span`, updating `state` in place."""
    go_on(own, enter, step, leave, flatten(setting), state, span, SIDE_BY_SIDE)
