"""What the relatives of QRM share: a table of cells x machine states, a move in it, the end of an episode.

q[run, u, s, a], 0 for machine state n_u. QRM itself spells these out, as its step is tuned by itself.
"""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import part
from fastrm.kernels.episode import begin_episode, end_episode, packed_move
from fastrm.kernels.lanes import fetch_ahead
from fastrm.kernels.learners import qrm
from fastrm.kernels.policy import slide

_1 = np.uint64(1)


@part
def enter(world, mine):
    """Return the local variables of a run that keeps a list: those of QRM, and how long the list is."""
    return qrm.enter(world, mine), mine[6].count[mine[0]]


@part
def leave(world, mine, x):
    """Put them back."""
    qrm.leave(world, mine, x[0])
    mine[6].count[mine[0]] = x[1]


@part
def move(world, q, a, x):
    """Take action a; return the local variables of QRM after it, the event, and where its reward stands."""
    rng0, rng1, site, u, column, t, earned = x
    direction, rng0, rng1 = slide(world.setting.slip, a, rng0, rng1, world.actions)
    site, e = packed_move(world.moves, site, direction)
    fetch_ahead(world, world.moves, site, q, column, _1)
    paid = e * world.n_cols + u
    if e >= world.n_quiet:
        u = np.uint64(world.delta[paid])
        column = u * world.n_moves
    return (rng0, rng1, site, u, column, t + _1, earned + world.own[paid]), e, paid


@part
def is_cut(world, x):
    """Say whether the step limit is reached."""
    return x[5] == world.setting.rule.limit


@part
def is_over(world, x):
    """Say whether the episode ends, in a terminal or at the step limit."""
    return x[3] == world.n_u or is_cut(world, x)


@part
def bootstraps(world, x):
    """Say whether the value ahead counts; that of a terminal is 0 anyway."""
    return not is_cut(world, x) or world.setting.rule.bootstraps_at_limit


@part
def begin_next(world, mine, x, e, paid):
    """Record an episode that ended with event e; return the local variables at the start of the next one."""
    rng0, rng1, _, _, _, t, earned = x
    i, agents, log, setting = mine[0], mine[1], mine[2], world.setting
    me = agents[i]
    end_episode(me, t, earned, setting.tables.outcome[e, paid - e * world.n_cols], setting.tasks, log, i)
    rng0, rng1, site, u, t, earned = begin_episode(me, world, rng0, rng1)
    return rng0, rng1, site, u, u * world.n_moves, t, earned
