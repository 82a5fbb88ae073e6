"""Double Q-learning: two tables, each judges the other's choice.  q[run, table, u, s, a], 0 for machine state n_u."""

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.learners.cross_product import bootstraps, choose_action, draw_number, learn, move, resume, row_of
from fastrm.kernels.learners.qrm import advance_qrm
from fastrm.kernels.policy import choose
from fastrm.kernels.rng import HALF
from fastrm.kernels.rows import count, row_ties

_0, _1, _HALFWAY = np.uint64(0), np.uint64(1), np.uint64(2**31)


@part
def sum_ties(q, one, two, actions):
    """Return the mask of the largest sums of two rows of values, one of each table."""
    best = q[one] + q[two]
    for a in range(_1, count(actions)):
        best = max(best, q[one + np.uint64(a)] + q[two + np.uint64(a)])
    mask = _0
    for a in range(count(actions)):
        mask |= np.uint64(q[one + np.uint64(a)] + q[two + np.uint64(a)] == best) << np.uint64(a)
    return mask


@part
def step(world, lane, x):
    """Make one step of a run; return its new local variables."""
    q, here, size = lane[3], row_of(x), (world.n_u + _1) * world.n_moves
    a, x = choose_action(world, sum_ties(q, here, size + here, world.actions), x)
    x, e, edge = move(world, q, a, x)
    # one more draw: its upper half decides which table learns, its lower half which of that table's best is judged
    number, x = draw_number(x)
    learns, judges = (_0, size) if number >> HALF < _HALFWAY else (size, _0)
    best = choose(row_ties(q, learns + row_of(x), world.actions), number, _0, world.actions)
    ahead = q[judges + row_of(x) + best] if bootstraps(world, x) else 0.0
    learn(world, q, learns + here + a, edge, ahead)
    return resume(world, lane, x, e, edge)


@jit
def run(setting, state, span):
    """Advance all runs by `span`, updating `state` in place."""
    advance_qrm(step, setting, state, span)
