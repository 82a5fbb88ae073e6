"""Double Q-learning: two tables, each judges the other's choice.  q[run, table, u, s, a], 0 for machine state n_u."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import BLOCK, N_ACTIONS
from fastrm.kernels.cross_product import begin_next, bootstraps, is_over, move
from fastrm.kernels.lanes import flatten, go_on
from fastrm.kernels.policy import choose
from fastrm.kernels.qrm import enter, leave, own
from fastrm.kernels.rng import HALF, draw
from fastrm.kernels.simd import row_ties
from fastrm.kernels.td import td

_0, _1, _2, _3, _4, _BLOCK = (np.uint64(k) for k in (0, 1, 2, 3, N_ACTIONS, BLOCK))
_HALFWAY = np.uint64(2**31)


@part
def sum_ties(q, one, two):
    """Return the mask of the largest of four sums of values, a value of each table."""
    w, x = q[one] + q[two], q[one + _1] + q[two + _1]
    y, z = q[one + _2] + q[two + _2], q[one + _3] + q[two + _3]
    best = max(max(w, x), max(y, z))
    low = np.uint64(w == best) | np.uint64(x == best) << _1
    return low | np.uint64(y == best) << _2 | np.uint64(z == best) << _3


@part
def step(world, mine, x):
    """Make a step of one run; return its local variables."""
    q, rule, size = mine[3], world.setting.rule, (world.n_u + _1) * world.n_s * _4
    rng0, rng1, s4, u, column, t, earned = x
    here = column + s4
    number, rng0, rng1 = draw(rng0, rng1)
    a = choose(sum_ties(q, here, size + here), number, rule.explore_below)
    (rng0, rng1, s4, u, column, t, earned), e, paid = move(world, q, a, (rng0, rng1, s4, u, column, t, earned))
    number, rng0, rng1 = draw(rng0, rng1)
    x = rng0, rng1, s4, u, column, t, earned
    learns, judges = (_0, size) if number >> HALF < _HALFWAY else (size, _0)
    best = choose(row_ties(q, learns + column + s4), number, _0)
    ahead = q[judges + column + s4 + best] if bootstraps(world, x) else 0.0
    place = learns + here + a
    q[place] = td(q[place], world.reward[paid], ahead, rule.alpha, rule.gamma)
    return begin_next(world, mine, x, e, paid) if is_over(world, x) else x


@jit
def run(setting, state, span):
    """Go on for a span with every run. `state` is updated."""
    go_on(own, enter, step, leave, flatten(setting), state, span, _BLOCK)
