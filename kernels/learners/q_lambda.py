"""Watkins's Q(lambda): an error also corrects the values that led here.  q[run, u, s, a], 0 for machine state n_u."""

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import FORGOTTEN
from fastrm.kernels.lanes import ALONE, flatten, go_on
from fastrm.kernels.learners.cross_product import bootstraps, choose_action, enter, is_over, leave, move, resume, row_of
from fastrm.kernels.rows import row_best, row_ties
from fastrm.kernels.td import normal

_0, _1 = np.uint64(0), np.uint64(1)


@part
def own(state, i):
    """Return what belongs to run i, its traces included."""
    traces = state.own
    return i, state.agents, state.log, state.q[i].reshape(-1), traces.place[i], traces.weight[i], traces


@part
def correct(q, place, weight, count, newest, change, decay):
    """Correct every value that has a trace, except `newest`, and let the traces fade; return how many are left.

    `q`, `place` and `weight` are updated.
    """
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
def step(world, lane, x):
    """Make one step of a run; return its new local variables."""
    q, place, weight, traces, rule = lane[3], lane[4], lane[5], lane[6], world.setting.rule
    walk, count = x
    here = row_of(walk)
    ties = row_ties(q, here, world.actions)
    a, walk = choose_action(world, ties, walk)
    # an action that is not greedy cuts the traces: what came before did not lead to what the greedy policy does
    if ties >> a & _1 == _0:
        count = _0
    walk, e, edge = move(world, q, a, walk)
    best = row_best(q, row_of(walk), world.actions) if bootstraps(world, walk) else 0.0
    # the newest value gets the whole correction once, even if an older trace names it too
    old = q[here + a]
    change = rule.alpha * (world.reward[edge] + rule.gamma * best - old)
    count = correct(q, place, weight, count, here + a, change, traces.decay)
    q[here + a] = normal(old + change)
    if traces.decay >= FORGOTTEN:
        place[count], weight[count] = here + a, traces.decay
        count += _1
    return resume(world, lane, walk, e, edge), (_0 if is_over(world, walk) else count)


@jit
def run(setting, state, span):
    """Advance all runs by `span`, updating `state` in place."""
    go_on(own, enter, step, leave, flatten(setting), state, span, ALONE)
