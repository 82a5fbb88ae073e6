"""SARSA: the value of the action really taken next; expected SARSA: the mean value of what may be done next.

Both include exploration, and keep q[run, u, s, a], 0 for machine state n_u.
"""

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import NOTHING
from fastrm.kernels.lanes import SIDE_BY_SIDE, flatten, go_on
from fastrm.kernels.learners import qrm
from fastrm.kernels.learners.cross_product import (
    begin_next,
    bootstraps,
    choose_action,
    is_over,
    learn,
    move,
    resume,
    row_of,
)
from fastrm.kernels.learners.qrm import advance_qrm, own
from fastrm.kernels.policy import choose
from fastrm.kernels.rng import draw
from fastrm.kernels.rows import row_best, row_mean, row_ties


@part
def enter(world, lane):
    """Return the local variables of a run: those of QRM, and the action that is chosen already, or NOTHING."""
    return qrm.enter(world, lane), lane[1][lane[0]]["option"]


@part
def leave(world, lane, x):
    """Write the local variables of a run back to its record."""
    qrm.leave(world, lane, x[0])
    lane[1][lane[0]]["option"] = x[1]


@part
def step(world, lane, x):
    """Make one step of a run; return its new local variables."""
    q, rule, (walk, a) = lane[3], world.setting.rule, x
    rng0, rng1, site, u, column, t, earned = walk
    here = column + site  # spelled out: with `choose_action` this step takes up to twice the time on a busy machine
    # the first action of an episode is chosen here, every other by the step before
    if a == NOTHING:
        number, rng0, rng1 = draw(rng0, rng1)
        a = choose(row_ties(q, here, world.actions), number, rule.explore_below, world.actions)
    walk, e, edge = move(world, q, a, (rng0, rng1, site, u, column, t, earned))
    # the next action is chosen before this update, whose target is its value
    a_next, ahead = NOTHING, 0.0
    if walk[3] != world.n_u and bootstraps(world, walk):
        rng0, rng1, site, u, column, t, earned = walk
        number, rng0, rng1 = draw(rng0, rng1)
        a_next = choose(row_ties(q, column + site, world.actions), number, rule.explore_below, world.actions)
        ahead = q[column + site + a_next]
        walk = rng0, rng1, site, u, column, t, earned
    learn(world, q, here + a, edge, ahead)
    if is_over(world, walk):
        return begin_next(world, lane, walk, e, edge), NOTHING
    return walk, a_next


@jit
def run(setting, state, span):
    """Advance all runs by `span`, updating `state` in place."""
    go_on(own, enter, step, leave, flatten(setting), state, span, SIDE_BY_SIDE)


@part
def expected(q, row, explore_below, actions):
    """Return the mean of a row of values under an epsilon-greedy choice; tied actions are worth the same."""
    epsilon = np.float64(explore_below) / 2.0**32
    return epsilon * row_mean(q, row, actions) + (1.0 - epsilon) * row_best(q, row, actions)


@part
def step_expected(world, lane, x):
    """Make one step of a run; return its new local variables."""
    q, here = lane[3], row_of(x)
    a, x = choose_action(world, row_ties(q, here, world.actions), x)
    x, e, edge = move(world, q, a, x)
    # the target is the mean over the next choice, which is drawn only in the next step
    ahead = expected(q, row_of(x), world.setting.rule.explore_below, world.actions) if bootstraps(world, x) else 0.0
    learn(world, q, here + a, edge, ahead)
    return resume(world, lane, x, e, edge)


@jit
def run_expected(setting, state, span):
    """Advance all runs by `span`, updating `state` in place."""
    advance_qrm(step_expected, setting, state, span)
