"""Double Q-learning: two tables, each judges the other's choice.  q[run, table, u, s, a], 0 for machine state n_u."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import BLOCK
from fastrm.kernels.lanes import flatten, go_on
from fastrm.kernels.learners.cross_product import begin_next, bootstraps, is_over, move
from fastrm.kernels.learners.qrm import enter, leave, own
from fastrm.kernels.policy import choose
from fastrm.kernels.rng import HALF, draw
from fastrm.kernels.rows import count, row_ties
from fastrm.kernels.td import td

_0, _1, _BLOCK = np.uint64(0), np.uint64(1), np.uint64(BLOCK)
_HALFWAY = np.uint64(2**31)


@part
def sum_ties(q, one, two, actions):
    """Return the mask of the largest sums of values, a value of each table."""
    best = q[one] + q[two]
    for a in range(_1, count(actions)):
        best = max(best, q[one + np.uint64(a)] + q[two + np.uint64(a)])
    mask = _0
    for a in range(count(actions)):
        mask |= np.uint64(q[one + np.uint64(a)] + q[two + np.uint64(a)] == best) << np.uint64(a)
    return mask


@part
def step(world, mine, x):
    """Make a step of one run; return its local variables."""
    q, rule, size = mine[3], world.setting.rule, (world.n_u + _1) * world.n_moves
    rng0, rng1, site, u, column, t, earned = x
    here = column + site
    number, rng0, rng1 = draw(rng0, rng1)
    a = choose(sum_ties(q, here, size + here, world.actions), number, rule.explore_below, world.actions)
    (rng0, rng1, site, u, column, t, earned), e, paid = move(world, q, a, (rng0, rng1, site, u, column, t, earned))
    number, rng0, rng1 = draw(rng0, rng1)
    x = rng0, rng1, site, u, column, t, earned
    learns, judges = (_0, size) if number >> HALF < _HALFWAY else (size, _0)
    best = choose(row_ties(q, learns + column + site, world.actions), number, _0, world.actions)
    ahead = q[judges + column + site + best] if bootstraps(world, x) else 0.0
    place = learns + here + a
    q[place] = td(q[place], world.reward[paid], ahead, rule.alpha, rule.gamma)
    return begin_next(world, mine, x, e, paid) if is_over(world, x) else x


@jit
def run(setting, state, span):
    """Go on for a span with every run. `state` is updated."""
    go_on(own, enter, step, leave, flatten(setting), state, span, _BLOCK)
