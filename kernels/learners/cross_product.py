"""What the relatives of QRM share: choosing, moving and learning in a table of cells x machine states, and episodes.

All of them keep q[run, u, s, a], 0 for machine state n_u, and carry the local variables of `qrm.enter` from step to
step: ``x = rng0, rng1, site, u, column, t, earned``. QRM itself spells these pieces out, as its step is tuned by hand.
"""

import numpy as np

from fastrm.kernels._jit import part
from fastrm.kernels.episode import next_episode, packed_move
from fastrm.kernels.lanes import fetch_ahead
from fastrm.kernels.learners import qrm
from fastrm.kernels.policy import choose, slide
from fastrm.kernels.rng import draw
from fastrm.kernels.td import td

_1 = np.uint64(1)


@part
def enter(world, lane):
    """Return the local variables of a run that keeps a list: those of QRM, and the length of the list."""
    return qrm.enter(world, lane), lane[6].count[lane[0]]


@part
def leave(world, lane, x):
    """Write the local variables of such a run back to its record."""
    qrm.leave(world, lane, x[0])
    lane[6].count[lane[0]] = x[1]


@part
def row_of(x):
    """Return where the values of the run's cell and machine state begin."""
    return x[4] + x[2]


@part
def draw_number(x):
    """Return a random number of the run's generator, and the local variables after drawing it."""
    number, rng0, rng1 = draw(x[0], x[1])
    return number, (rng0, rng1, *x[2:])


@part
def choose_action(world, ties, x):
    """Return an epsilon-greedy action, `ties` being the mask of the best, and the local variables after the draw."""
    number, x = draw_number(x)
    return choose(ties, number, world.setting.rule.explore_below, world.actions), x


@part
def move(world, q, a, x):
    """Take action a; return the local variables after it, the event, and the place of its reward in the flat tables."""
    rng0, rng1, site, u, column, t, earned = x
    direction, rng0, rng1 = slide(world.setting.slip, world.setting.chance, site, a, rng0, rng1, world.actions)
    site, e = packed_move(world.moves, site, direction)
    fetch_ahead(world, world.moves, site, q, column, _1)
    edge = e * world.n_cols + u
    if e >= world.n_quiet:  # nearly all events are quiet, and spare this load on the way to the next row
        u = np.uint64(world.delta[edge])
        column = u * world.n_moves
    return (rng0, rng1, site, u, column, t + _1, earned + world.own[edge]), e, edge


@part
def learn(world, q, place, edge, ahead):
    """Update the value at `place` in `q` towards the reward of `edge` plus the discounted value ahead."""
    rule = world.setting.rule
    q[place] = td(q[place], world.reward[edge], ahead, rule.alpha, rule.gamma)


@part
def is_cut(world, x):
    """Return whether the step limit is reached."""
    return x[5] == world.setting.rule.limit


@part
def is_over(world, x):
    """Return whether the episode ends, in a terminal or at the step limit."""
    return x[3] == world.n_u or is_cut(world, x)


@part
def bootstraps(world, x):
    """Return whether the value ahead counts; that of a terminal is 0 anyway."""
    return not is_cut(world, x) or world.setting.rule.bootstraps_at_limit


@part
def begin_next(world, lane, x, e, edge):
    """Record an episode that ended with event e; return the local variables at the start of the next one."""
    rng0, rng1, site, u, t, earned = next_episode(world, lane, e, edge - e * world.n_cols, x[5], x[6], x[0], x[1])
    return rng0, rng1, site, u, u * world.n_moves, t, earned


@part
def resume(world, lane, x, e, edge):
    """Return the local variables for the next step: `x`, or those of the next episode if this one is over."""
    return begin_next(world, lane, x, e, edge) if is_over(world, x) else x
