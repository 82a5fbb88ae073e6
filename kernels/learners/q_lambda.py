"""Watkins's Q(lambda): an error also corrects the values that led here.  q[run, u, s, a], 0 for machine state n_u."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import FORGOTTEN
from fastrm.kernels.lanes import ALONE, flatten, go_on
from fastrm.kernels.learners.cross_product import begin_next, bootstraps, enter, is_over, leave, move
from fastrm.kernels.policy import choose
from fastrm.kernels.rng import draw
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
    """Change every value that has a trace, but for the newest, and let the traces fade; return how many are left."""
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
def step(world, mine, x):
    """Make a step of one run; return its local variables."""
    q, place, weight, traces, rule = mine[3], mine[4], mine[5], mine[6], world.setting.rule
    (rng0, rng1, site, u, column, t, earned), count = x
    here = column + site
    number, rng0, rng1 = draw(rng0, rng1)
    ties = row_ties(q, here, world.actions)
    a = choose(ties, number, rule.explore_below, world.actions)
    if ties >> a & _1 == _0:  # what came before did not lead to what this policy would do
        count = _0
    walk, e, paid = move(world, q, a, (rng0, rng1, site, u, column, t, earned))
    best = row_best(q, walk[4] + walk[2], world.actions) if bootstraps(world, walk) else 0.0
    old = q[here + a]
    change = rule.alpha * (world.reward[paid] + rule.gamma * best - old)
    count = correct(q, place, weight, count, here + a, change, traces.decay)
    q[here + a] = normal(old + change)
    if traces.decay >= FORGOTTEN:
        place[count], weight[count] = here + a, traces.decay
        count += _1
    if is_over(world, walk):
        return begin_next(world, mine, walk, e, paid), _0
    return walk, count


@jit
def run(setting, state, span):
    """Go on for a span with every run. `state` is updated."""
    go_on(own, enter, step, leave, flatten(setting), state, span, ALONE)
