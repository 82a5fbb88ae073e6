"""Dyna: QRM, and after every step some more updates of moves made before.  q[run, u, s, a], 0 for machine state n_u."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.episode import packed_move
from fastrm.kernels.lanes import ALONE, flatten, go_on
from fastrm.kernels.learners.cross_product import begin_next, bootstraps, enter, is_over, leave, move
from fastrm.kernels.policy import choose, slide
from fastrm.kernels.rng import HALF, LOW, draw
from fastrm.kernels.rows import room, row_best, row_ties
from fastrm.kernels.td import td

_1 = np.uint64(1)


@part
def own(state, i):
    """Return what belongs to run i, its memory included."""
    memory = state.own
    return i, state.agents, state.log, state.q[i].reshape(-1), memory.made[i], memory.is_made[i], memory


@part
def imagine(world, q, place, rng0, rng1):
    """Update the value at `place` by the move it stands for, as if it were made now; return the generator."""
    setting, rule, width = world.setting, world.setting.rule, world.n_moves
    u, a = place // width, place % room(world.actions)
    site = place % width - a
    direction, rng0, rng1 = slide(setting.slip, a, rng0, rng1, world.actions)
    site, e = packed_move(world.moves, site, direction)
    paid = e * world.n_cols + u
    best = row_best(q, np.uint64(world.delta[paid]) * width + site, world.actions)
    q[place] = td(q[place], world.reward[paid], best, rule.alpha, rule.gamma)
    return rng0, rng1


@part
def step(world, mine, x):
    """Make a step of one run; return its local variables."""
    q, made, is_made, memory, rule = mine[3], mine[4], mine[5], mine[6], world.setting.rule
    (rng0, rng1, site, u, column, t, earned), count = x
    here = column + site
    number, rng0, rng1 = draw(rng0, rng1)
    a = choose(row_ties(q, here, world.actions), number, rule.explore_below, world.actions)
    walk, e, paid = move(world, q, a, (rng0, rng1, site, u, column, t, earned))
    best = row_best(q, walk[4] + walk[2], world.actions) if bootstraps(world, walk) else 0.0
    q[here + a] = td(q[here + a], world.reward[paid], best, rule.alpha, rule.gamma)
    if is_made[here + a] == 0:
        is_made[here + a], made[count] = 1, here + a
        count += _1
    rng0, rng1, site, u, column, t, earned = walk
    for _ in range(memory.planning):
        number, rng0, rng1 = draw(rng0, rng1)
        rng0, rng1 = imagine(world, q, np.uint64(made[(number & LOW) * count >> HALF]), rng0, rng1)
    walk = rng0, rng1, site, u, column, t, earned
    return (begin_next(world, mine, walk, e, paid) if is_over(world, walk) else walk), count


@jit
def run(setting, state, span):
    """Go on for a span with every run. `state` is updated."""
    go_on(own, enter, step, leave, flatten(setting), state, span, ALONE)
