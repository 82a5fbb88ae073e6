"""Dyna: QRM, and after every step some more updates of moves made before.  q[run, u, s, a], 0 for machine state n_u."""

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.episode import packed_move
from fastrm.kernels.lanes import ALONE, flatten, go_on
from fastrm.kernels.learners.cross_product import bootstraps, choose_action, enter, learn, leave, move, resume, row_of
from fastrm.kernels.policy import slide
from fastrm.kernels.rng import HALF, LOW, draw
from fastrm.kernels.rows import room, row_best, row_ties

_1 = np.uint64(1)


@part
def own(state, i):
    """Return what belongs to run i, its memory included."""
    memory = state.own
    return i, state.agents, state.log, state.q[i].reshape(-1), memory.made[i], memory.is_made[i], memory


@part
def imagine(world, q, place, rng0, rng1):
    """Update the value at `place` by its move, as if it were made now; return the generator. `q` is updated."""
    u, a = place // world.n_moves, place % room(world.actions)
    site = place % world.n_moves - a
    direction, rng0, rng1 = slide(world.setting.slip, world.setting.chance, site, a, rng0, rng1, world.actions)
    site, e = packed_move(world.moves, site, direction)
    edge = e * world.n_cols + u
    ahead = row_best(q, np.uint64(world.delta[edge]) * world.n_moves + site, world.actions)
    learn(world, q, place, edge, ahead)
    return rng0, rng1


@part
def step(world, lane, x):
    """Make one step of a run; return its new local variables."""
    q, made, is_made, memory, (walk, count) = lane[3], lane[4], lane[5], lane[6], x
    here = row_of(walk)
    a, walk = choose_action(world, row_ties(q, here, world.actions), walk)
    walk, e, edge = move(world, q, a, walk)
    ahead = row_best(q, row_of(walk), world.actions) if bootstraps(world, walk) else 0.0
    learn(world, q, here + a, edge, ahead)
    # the list of moves made must name each of them once, so that all are equally likely to be imagined
    if is_made[here + a] == 0:
        is_made[here + a], made[count] = 1, here + a
        count += _1
    # planning happens before the next episode begins, so the draw of its start comes last
    rng0, rng1 = walk[0], walk[1]
    for _ in range(memory.planning):
        number, rng0, rng1 = draw(rng0, rng1)
        rng0, rng1 = imagine(world, q, np.uint64(made[(number & LOW) * count >> HALF]), rng0, rng1)
    return resume(world, lane, (rng0, rng1, *walk[2:]), e, edge), count


@jit
def run(setting, state, span):
    """Advance all runs by `span`, updating `state` in place."""
    go_on(own, enter, step, leave, flatten(setting), state, span, ALONE)
