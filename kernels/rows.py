"""The values of all actions in one place: which are best, and by how much.

A grid has four actions, and for four there are vector operations. Then `actions` is None, a type of its own: the
kernel is compiled for four and knows no other number. Worlds with other numbers of actions give theirs, and get loops.
"""

from __future__ import annotations

import numpy as np

from fastrm.kernels import simd
from fastrm.kernels._jit import part
from fastrm.kernels.contracts import N_ACTIONS

_1, _4 = np.uint64(1), np.uint64(N_ACTIONS)


@part
def count(actions):
    """Return how many actions there are."""
    return _4 if actions is None else actions


@part
def row_best(q, offset, actions):
    """Return the largest of neighbouring values, one per action."""
    if actions is None:
        return simd.row_best(q, offset)
    return column_best(q, offset, _1, actions)


@part
def row_ties(q, offset, actions):
    """Return the mask of the largest of neighbouring values, one per action."""
    if actions is None:
        return simd.row_ties(q, offset)
    return column_ties(q, offset, _1, actions)


@part
def row_mean(q, offset, actions):
    """Return the mean of neighbouring values, one per action, summed from the first to the last."""
    total = q[offset]
    for a in range(_1, count(actions)):
        total += q[offset + np.uint64(a)]
    return total / np.float64(count(actions))


@part
def column_best(q, offset, stride, actions):
    """Return the largest of values that lie `stride` apart, one per action."""
    best = q[offset]
    for _ in range(_1, count(actions)):
        offset += stride
        best = q[offset] if q[offset] > best else best
    return best


@part
def column_ties(q, offset, stride, actions):
    """Return the mask of the largest of values that lie `stride` apart, one per action."""
    if actions is None:
        return simd.column_ties(q, offset, stride)
    best, mask, bit = q[offset], _1, _1
    for _ in range(_1, actions):
        offset += stride
        bit <<= _1
        if q[offset] > best:
            best, mask = q[offset], bit
        elif q[offset] == best:
            mask |= bit
    return mask
