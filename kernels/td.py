"""The temporal-difference rule, for one value and for whole rows of machine states.

q <- q + alpha (r + gamma max_a' q' - q). For sweeps Q is laid out ``q[run, s, a, column]``: on an event that changes no
machine state, which is nearly every one, the counterfactual updates of all states are plain vector arithmetic on rows.
With every state keeping to its own column, the order of the updates does not matter there. Column n_u, a terminal, is
worth 0 and stays 0.
"""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import part
from fastrm.kernels.contracts import BLOCK, TINY
from fastrm.kernels.rows import column_best
from fastrm.kernels.simd import td_block

_BLOCK = np.uint64(BLOCK)


@part
def normal(value):
    """Return a value to store: 0 for one so small that it is not a normal number.

    Values that tend to 0 would otherwise stick at the smallest number there is, cost a hundred cycles at every visit,
    and differ from 0 for ever.
    """
    return 0.0 if abs(value) < TINY else value


@part
def td(old, reward, best, alpha, gamma):
    """Return the updated value."""
    return normal(old + alpha * (reward + gamma * best - old))


@part
def sweep_quiet(q, row, row_next, n_cols, reward, row_reward, world):
    """Update a whole row of `q` after an event that keeps every column; rows are offsets into the flat arrays."""
    rule, column = world.setting.rule, np.uint64(0)
    while column < n_cols:
        here, there, paid = row + column, row_next + column, row_reward + column
        td_block(q, here, there, n_cols, reward, paid, rule.alpha, rule.gamma, world.actions)
        column += _BLOCK


@part
def update_column(q, row, row_next, n_cols, reward, row_reward, delta, v, world):
    """Update column v of a row with its own successor."""
    best = column_best(q, row_next + np.uint64(delta[row_reward + v]), n_cols, world.actions)
    rule = world.setting.rule
    q[row + v] = td(q[row + v], reward[row_reward + v], best, rule.alpha, rule.gamma)


@part
def sweep_ordered(q, row, row_next, n_cols, reward, row_reward, delta, n, world):
    """Update the columns below n of a row, one after the other, each with its own successor."""
    for v in range(n):
        update_column(q, row, row_next, n_cols, reward, row_reward, delta, np.uint64(v), world)


@part
def sweep_kept(q, row, row_next, n_cols, reward, row_reward, delta, image, row_image, n, world):
    """Like `sweep_ordered`, only for the columns that a row of `image` marks."""
    for v in range(n):
        if image[row_image + np.uint64(v)]:
            update_column(q, row, row_next, n_cols, reward, row_reward, delta, np.uint64(v), world)


@part
def sweep_reached(q, row, row_next, n_cols, reward, row_reward, world):
    """Like `sweep_quiet`, after an event that pays some columns: those are over, and worth nothing afterwards."""
    rule = world.setting.rule
    for v in range(n_cols):
        paid, best = reward[row_reward + np.uint64(v)], 0.0
        if paid == 0.0:
            best = column_best(q, row_next + np.uint64(v), n_cols, world.actions)
        q[row + np.uint64(v)] = td(q[row + np.uint64(v)], paid, best, rule.alpha, rule.gamma)
