"""The temporal-difference rule, for one value and for whole rows of machine states.

    q <- q + alpha (r + gamma max_a' q' - q)

For sweeps Q is laid out ``q[run, s, a, column]``; rows are offsets into the flat array. Nearly every event changes no
machine state. After such an event each state keeps to its own column, so the order of the counterfactual updates does
not matter, and they are plain vector arithmetic on rows. Column n_u, a terminal, is worth 0 and stays 0.
"""

import numpy as np

from fastrm.kernels._jit import part
from fastrm.kernels.contracts import BLOCK, NOTHING, TINY
from fastrm.kernels.rows import column_best
from fastrm.kernels.simd import td_apart, td_block

_1, _2, _3, _BLOCK = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(BLOCK)


@part
def normal(value):
    """Return `value` as it is stored: 0 if it is too small for a normal number.

    Values that tend to 0 would otherwise stick at the smallest number there is, cost a hundred cycles at every visit,
    and never equal 0.
    """
    return 0.0 if abs(value) < TINY else value


@part
def td(old, reward, best, alpha, gamma):
    """Return a value after an update with `best`, the largest value ahead."""
    return normal(old + alpha * (reward + gamma * best - old))


@part
def sweep_quiet(q, row, row_next, n_cols, reward, row_reward, world):
    """Update a whole row of `q` after an event that changes no machine state."""
    rule, column = world.setting.rule, np.uint64(0)
    while column < n_cols:
        paid = row_reward + column
        td_block(q, row + column, row_next + column, n_cols, reward, paid, rule.alpha, rule.gamma, world.actions)
        column += _BLOCK


@part
def update_column(q, row, row_next, n_cols, reward, row_reward, delta, v, world):
    """Update one column of a row of `q` with its own successor."""
    best = column_best(q, row_next + np.uint64(delta[row_reward + v]), n_cols, world.actions)
    q[row + v] = td(q[row + v], reward[row_reward + v], best, world.setting.rule.alpha, world.setting.rule.gamma)


@part
def sweep_ordered(q, row, row_next, n_cols, reward, row_reward, delta, image, narrow, n, world):
    """Update the columns below n of a row of `q` in order, each with its own successor.

    After an event that narrows (see `episode.narrow_by`), only the columns that event can lead to. Otherwise in blocks:
    that is the same unless a column reads another of its block, which was updated before it. Padding leads to column n
    and stays 0.
    """
    rule, v = world.setting.rule, np.uint64(0)
    while (narrow != NOTHING or n_cols == _BLOCK) and v < n:  # a row of one block has a kernel to itself, kept short
        if narrow == NOTHING or image[narrow * n_cols + v]:
            update_column(q, row, row_next, n_cols, reward, row_reward, delta, v, world)
        v += _1
    while v < n:
        # a clock ticks: neighbours lead to neighbours, block after block
        shift = np.uint64(delta[row_reward + v]) - v
        while v < n and shift + _3 > _2 and leads_to_neighbours(delta, row_reward + v, v + shift):
            paid = row_reward + v
            td_block(q, row + v, row_next + v + shift, n_cols, reward, paid, rule.alpha, rule.gamma, world.actions)
            v += _BLOCK
        # the block that is left, apart or one by one
        if v < n and may_swap(delta, row_reward + v, v):
            paid = row_reward + v
            td_apart(q, row + v, row_next, n_cols, reward, paid, rule.alpha, rule.gamma, world.actions, delta)
            v += _BLOCK
        elif v < n:
            for k in range(BLOCK):
                update_column(q, row, row_next, n_cols, reward, row_reward, delta, v + np.uint64(k), world)
            v += _BLOCK


@part
def leads_to_neighbours(delta, place, ahead):
    """Return whether four columns lead to `ahead` and the three after it."""
    return (
        np.uint64(delta[place]) == ahead
        and np.uint64(delta[place + _1]) == ahead + _1
        and np.uint64(delta[place + _2]) == ahead + _2
        and np.uint64(delta[place + _3]) == ahead + _3
    )


@part
def may_swap(delta, place, v):
    """Return whether none of four columns from v on leads to one of them before it."""
    return (
        np.uint64(delta[place + _1]) - v >= _1
        and np.uint64(delta[place + _2]) - v >= _2
        and np.uint64(delta[place + _3]) - v >= _3
    )


@part
def sweep_reached(q, row, row_next, n_cols, reward, row_reward, world):
    """Update a whole row of `q` after an event that pays some columns: those are over, with nothing ahead."""
    rule = world.setting.rule
    for k in range(n_cols):
        v = np.uint64(k)
        paid = reward[row_reward + v]
        best = column_best(q, row_next + v, n_cols, world.actions) if paid == 0.0 else 0.0
        q[row + v] = td(q[row + v], paid, best, rule.alpha, rule.gamma)
