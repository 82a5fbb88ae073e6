"""Epsilon-greedy choice with uniform ties.

The four values are compared with their maximum to a 4-bit mask of candidates, 15 when exploring; the k-th of c
candidates is taken with k = floor(c x), x the lower half of the draw as a fraction. Since c divides 12, looking
floor(12 x) up in a table of 16 masks x 12 gives the same k without a branch.
"""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import part
from fastrm.kernels.rng import HALF, LOW
from fastrm.kernels.tables import N_ACTIONS

_SLOTS = np.uint64(12)
_ALL = np.uint64(2**N_ACTIONS - 1)
_1, _2, _3 = np.uint64(1), np.uint64(2), np.uint64(3)


def _choice_table():  # type: ignore[no-untyped-def]
    table = np.zeros(2**N_ACTIONS * 12, dtype=np.uint8)
    for mask in range(1, 2**N_ACTIONS):
        candidates = [a for a in range(N_ACTIONS) if mask >> a & 1]
        for slot in range(12):
            table[mask * 12 + slot] = candidates[slot * len(candidates) // 12]
    return table


CHOICE = _choice_table()


@part
def max4(q0, q1, q2, q3):
    """Return the largest of four values."""
    m01 = q0 if q0 > q1 else q1
    m23 = q2 if q2 > q3 else q3
    return m01 if m01 > m23 else m23


@part
def choose(q0, q1, q2, q3, draw, explore_below):
    """Choose an action from its four values and one draw."""
    m = max4(q0, q1, q2, q3)
    ties = np.uint64(q0 == m) | np.uint64(q1 == m) << _1 | np.uint64(q2 == m) << _2 | np.uint64(q3 == m) << _3
    mask = _ALL if draw >> HALF < explore_below else ties
    return np.uint64(CHOICE[mask * _SLOTS + ((draw & LOW) * _SLOTS >> HALF)])


@part
def choose_among(values, first, last, draw, explore_below):
    """Choose one of ``first .. last - 1`` by ``values``, in the same way."""
    explore = draw >> HALF < explore_below
    best = values[first]
    for k in range(first, last):
        best = values[k] if values[k] > best else best
    candidates = np.uint64(0)
    for k in range(first, last):
        candidates += np.uint64(explore or values[k] == best)
    skip = (draw & LOW) * candidates >> HALF
    for k in range(first, last):
        if explore or values[k] == best:
            if skip == np.uint64(0):
                return np.uint64(k)
            skip -= np.uint64(1)
    return np.uint64(first)  # not reached: there is always a candidate
