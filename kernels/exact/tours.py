"""Shortest tours by Held and Karp: the fewest steps that complete what is left, from every column on.

With d(c, k) the fewest steps from the object of column c to that of column k, and R the stages that are not done::

    L(c, {}) = 0        L(c, R) = min over k on the agenda of d(c, k) + L(k, R - k)

The steps a tour takes are also enough where a leg passes other objects: what that completes can only make R smaller,
and L never grows when R becomes smaller.
"""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import FAR, N_ACTIONS
from fastrm.kernels.exact.distances import flood
from fastrm.kernels.exact.plans import is_open

_0, _1 = np.uint64(0), np.uint64(1)


@part
def find_open(columns, left, open_columns):
    """Write the columns on the agenda into `open_columns`; return how many there are, and the set of their stages."""
    n_open, stages = 0, _0
    for k in range(columns.stage.size):
        if is_open(columns, k, left):
            open_columns[n_open] = np.uint64(k)
            n_open += 1
            stages |= _1 << columns.stage[k]
    return n_open, stages


@jit
def measure_legs(next_s, cells, distance, queue, leg):
    """Write the steps from each cell to each of the others, and back to itself, into `leg` int32 [n, n]. Overwritten.

    To read an object again takes a step against a wall, or two.
    """
    for c in range(cells.size):
        flood(next_s, cells[c : c + 1], distance, queue)
        for k in range(cells.size):
            leg[c, k] = distance[cells[k]]
            if cells[k] == cells[c]:
                leg[c, k] = FAR
                for a in range(N_ACTIONS):
                    leg[c, k] = min(leg[c, k], 1 + distance[next_s[cells[c], a]])


@jit
def shortest_tour(columns, leg, length, open_columns, tour):
    """Return the length of a shortest tour from the start, the last row of `leg`, and its number of legs.

    `tour` uint8 [n_stages] is overwritten with the columns it completes, `length` int32 [2^stages, n_k] with L.
    """
    n_k, full = columns.stage.size, columns.sets[-1]
    length[0] = 0
    for left in columns.sets:
        n_open, stages = find_open(columns, left, open_columns)
        for c in range(n_k):
            if left >> columns.stage[c] & _1 != _0:
                continue
            best = FAR
            for j in range(n_open):
                k = open_columns[j]
                best = min(best, leg[c, k] + length[left & ~(columns.serves[k] & stages), k])
            length[left, c] = best
    total, n, left, c = 0, 0, full, n_k
    while left != _0:
        n_open, stages = find_open(columns, left, open_columns)
        best, nearest, rest = FAR, _0, left
        for j in range(n_open):
            k = open_columns[j]
            after = left & ~(columns.serves[k] & stages)
            if leg[c, k] + length[after, k] < best:
                best, nearest, rest = leg[c, k] + length[after, k], k, after
        total, left, c, tour[n] = total + leg[c, nearest], rest, np.int64(nearest), nearest
        n += 1
    return total, n


@jit
def nearest_tour(columns, leg, open_columns, tour):
    """Return the length of the tour that always goes to the nearest object on the agenda, and its number of legs."""
    total, n, left, c = 0, 0, (_1 << np.uint64(columns.needs.size)) - _1, columns.stage.size
    while left != _0:
        n_open, stages = find_open(columns, left, open_columns)
        nearest = open_columns[0]
        for j in range(1, n_open):
            if leg[c, open_columns[j]] < leg[c, nearest]:
                nearest = open_columns[j]
        total, left, tour[n] = total + leg[c, nearest], left & ~(columns.serves[nearest] & stages), nearest
        c = np.int64(nearest)
        n += 1
    return total, n
