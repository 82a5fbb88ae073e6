"""Runs side by side: while one waits for memory, the others compute.

A step of one run is a chain of loads, each waiting for the one before, so a processor with a single run idles most of
the time. A learner's `step` is therefore a function from the local variables of a run to their new values, and
`go_on` calls it for three runs in turn: six would no longer fit in the registers. What a run does and learns is the
same to the bit, alone or beside others.

Groups of runs are the outer loop and ticks the inner one, so that the tables of three runs stay in the cache.
"""

from typing import Any, NamedTuple

import numpy as np

from fastrm.kernels._jit import frame, part
from fastrm.kernels.contracts import BLOCK
from fastrm.kernels.episode import record
from fastrm.kernels.exact.rollout import watch
from fastrm.kernels.rng import LOW
from fastrm.kernels.rows import count, room
from fastrm.kernels.simd import prefetch

LANES = 3

_BLOCK, _LINE, _WIDEST = np.uint64(BLOCK), np.uint64(8), np.uint64(16)

SIDE_BY_SIDE, ALONE = _BLOCK, _WIDEST + np.uint64(1)  # given to `go_on` as the width of a row


# fmt: off
class World(NamedTuple):
    """A `Setting` as step functions read it: tables flat, numbers unsigned."""

    setting: Any  # what else there is
    moves:   Any  # uint64  [n_s * room]
    delta:   Any  # uint32  [n_e * n_cols]
    own:     Any  # float64 [n_e * n_cols]  what the machine pays
    reward:  Any  # float64 [n_e * n_cols]  what is learned from
    image:   Any  # uint8   [n_e * n_cols]
    n_cols:  Any
    n_moves: Any  # their number, padding included
    n_u:     Any
    n_quiet: Any
    actions: Any  # their number, None for four
    start:   Any  # site of the first start
# fmt: on


@part
def flatten(setting):
    """Return a `World` of a setting: an array that is flattened inside a step costs half the speed.

    Sites are written as multiples of `room`, a constant. Knowing this, the compiler makes QRM 5 % faster.
    """
    tables = setting.tables
    return World(
        setting,
        tables.moves,
        tables.delta.reshape(-1),
        tables.reward.reshape(-1),
        setting.reward.reshape(-1),
        tables.image.reshape(-1),
        np.uint64(tables.reward.shape[1]),
        np.uint64(tables.next_s.shape[0]) * room(setting.actions),
        np.uint64(tables.n_u),
        np.uint64(tables.n_quiet),
        setting.actions,
        np.uint64(tables.starts[0]) * room(setting.actions),
    )


@part
def row_width(width):
    """Return the columns of a row; None means one block, a constant for which a separate kernel is compiled."""
    return _BLOCK if width is None else np.uint64(width)


@part
def fetch_ahead(world, moves, site, q, first, width):
    """Prefetch what the next step from `site` may need: of every neighbour its moves and its rows of `q`.

    The rows of a cell begin at ``first + site * width``; of long rows only the beginning is fetched. Where the tables
    of a run fit in the cache, `far` is None, a separate type: that kernel is compiled without any of this.
    """
    if world.setting.far is not None:
        for a in range(count(world.actions)):
            site_next = moves[site + np.uint64(a)] & LOW
            prefetch(moves, site_next)
            prefetch(q, first + site_next * width)
            if room(world.actions) * width > _LINE:
                prefetch(q, first + site_next * width + _LINE)


@frame
def go_on(own, enter, step, leave, world, state, span, n_cols):
    """Advance all runs by `span`, updating `state` in place.

    A learner is four functions: ``own(state, i)`` returns what belongs to run i, its `lane`, of which the first three
    elements are i, the agents and the log; ``enter(world, lane)`` returns its local variables, ``step(world, lane, x)``
    their new values, and ``leave(world, lane, x)`` writes them back. Runs go one by one where a row has more than
    sixteen columns, since such a run keeps a processor busy by itself.
    """
    i, n = np.int64(0), state.agents.size  # a plain 0 has another type, for which all would be compiled once more
    while n_cols <= _WIDEST and i + LANES <= n:
        one, two, three = own(state, i), own(state, i + 1), own(state, i + 2)
        for k in range(span.n_ticks):
            x, y, z = enter(world, one), enter(world, two), enter(world, three)
            for _ in range(span.tick):
                x, y, z = step(world, one, x), step(world, two, y), step(world, three, z)
            leave(world, one, x)
            leave(world, two, y)
            leave(world, three, z)
            for j in range(i, i + LANES):
                record(state.agents[j], state.log, span, k, j)
                watch(world.setting.tables, state.watch, span, k, j)
        i += LANES
    while i < n:
        lane = own(state, i)
        for k in range(span.n_ticks):
            x = enter(world, lane)
            for _ in range(span.tick):
                x = step(world, lane, x)
            leave(world, lane, x)
            record(state.agents[i], state.log, span, k, i)
            watch(world.setting.tables, state.watch, span, k, i)
        i += 1
