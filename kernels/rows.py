"""The values of all actions in one place: which are best, and by how much.

A grid has four actions, and for four there are vector operations. Then `actions` is None, which has a type to itself:
the kernel is compiled for four and knows no other number. The rows of other worlds are padded with values of minus
infinity, which are never best, to a multiple of four: `actions` is then a tuple that holds their number once for each
four of them, so that a kernel is compiled for as many blocks.
"""

import numpy as np

from fastrm.kernels import simd
from fastrm.kernels._jit import part
from fastrm.kernels.contracts import N_ACTIONS

_1, _4 = np.uint64(1), np.uint64(N_ACTIONS)


@part
def count(actions):
    """Return how many actions there are."""
    return _4 if actions is None else actions[0]


@part
def room(actions):
    """Return how many there is room for, padding included."""
    return _4 if actions is None else np.uint64(N_ACTIONS * len(actions))


@part
def row_best(q, offset, actions):
    """Return the largest of neighbouring values, one per action."""
    best = simd.row_best(q, offset)
    if actions is not None:
        for k in range(1, len(actions)):
            other = simd.row_best(q, offset + np.uint64(N_ACTIONS * k))
            best = other if other > best else best
    return best


@part
def row_ties(q, offset, actions):
    """Return the mask of the largest of neighbouring values, one per action."""
    if actions is None:
        return simd.row_ties(q, offset)
    best, mask = row_best(q, offset, actions), np.uint64(0)
    for k in range(len(actions)):
        mask |= simd.row_equal(q, offset + np.uint64(N_ACTIONS * k), best) << np.uint64(N_ACTIONS * k)
    return mask


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
    for _ in range(_1, room(actions)):
        offset += stride
        best = q[offset] if q[offset] > best else best
    return best


@part
def column_ties(q, offset, stride, actions):
    """Return the mask of the largest of values that lie `stride` apart, one per action."""
    if actions is None:
        return simd.column_ties(q, offset, stride)
    best, mask = simd.column_best(q, offset, stride), np.uint64(0)
    for k in range(1, len(actions)):
        other = simd.column_best(q, offset + np.uint64(N_ACTIONS * k) * stride, stride)
        best = other if other > best else best
    for k in range(len(actions)):
        first = offset + np.uint64(N_ACTIONS * k) * stride
        mask |= simd.column_equal(q, first, stride, best) << np.uint64(N_ACTIONS * k)
    return mask
