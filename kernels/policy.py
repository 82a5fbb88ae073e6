"""Epsilon-greedy choice with uniform ties.

The values are compared with their maximum to a mask of candidates, a bit per action. One draw decides everything else:
its upper half whether to explore, its lower half, as a fraction x, that the k-th of c candidates is taken,
k = floor(c x).
With four actions c divides 12, and all of this is one look-up by floor(12 x), whether to explore, and the mask; only
the mask has to be waited for. `actions` is None for four, as in `rows`.
"""

import numpy as np

from fastrm.kernels._jit import part
from fastrm.kernels.contracts import N_ACTIONS
from fastrm.kernels.rng import HALF, LOW, draw
from fastrm.kernels.rows import count
from fastrm.kernels.simd import count_bits

_SLOTS, _MASKS, _0 = np.uint64(12), np.uint64(2**N_ACTIONS), np.uint64(0)
_1, _8, _BYTE, _HALFWAY = np.uint64(1), np.uint64(8), np.uint64(255), np.uint64(2**31)


def _choice_table():
    """Tabulate [greedy or exploring, slot, mask] -> action."""
    table = np.zeros((2, 12, 2**N_ACTIONS), dtype=np.uint8)
    for mask in range(1, 2**N_ACTIONS):
        candidates = [a for a in range(N_ACTIONS) if mask >> a & 1]
        for slot in range(12):
            table[0, slot, mask] = candidates[slot * len(candidates) // 12]
            table[1, slot, mask] = slot * N_ACTIONS // 12
    return table.reshape(-1)


CHOICE = _choice_table()

KTH_BIT = np.array([[*(a for a in range(8) if mask >> a & 1), *[0] * 8][:8] for mask in range(256)], dtype=np.uint8)
KTH_BIT = KTH_BIT.reshape(-1)


@part
def _bit(mask, k):
    """Return the number of the k-th bit that is set, of up to 16, without a branch."""
    low = mask & _BYTE
    is_above = k >= count_bits(low)
    rest, k = (mask >> _8, k - count_bits(low)) if is_above else (low, k)
    return np.uint64(KTH_BIT[rest * _8 + k]) + (_8 if is_above else _0)


@part
def choose(ties, number, explore_below, actions):
    """Choose an action by one draw: any when exploring, else one of `ties`, the mask of the best."""
    if actions is not None:
        is_any = number >> HALF < explore_below
        k = (number & LOW) * (count(actions) if is_any else count_bits(ties)) >> HALF
        return k if is_any else _bit(ties, k)
    slot = ((number & LOW) * _SLOTS >> HALF) + (_SLOTS if number >> HALF < explore_below else _0)
    return np.uint64(CHOICE[slot * _MASKS + ties])


@part
def outcome(chance, row, number):
    """Return the place in `moves` of an outcome: the first whose number in a row of `chance` exceeds 32 random bits.

    The upper half of a draw says how far to count, to half of the way, the lower half from which end. So an action
    whose outcomes are the next action, itself and the previous one goes where `slip` takes it.
    """
    way, k, n_k = number >> HALF >> _1, _0, np.uint64(chance.shape[1])
    bits = way if number & LOW < _HALFWAY else LOW - way
    for i in range(n_k - _1):
        k += np.uint64(bits >= chance[row, np.uint64(i)])
    return row * n_k + k


@part
def slide(slip, chance, site, a, rng0, rng1, actions):
    """Return where in `moves`, counted from a site, the move is that action a turns into, and the new generator.

    With `slip` the upper half of one more draw decides whether it goes sideways, as the next or the previous action in
    the circle of all would, the lower half to which side, the next first. With `chance` a draw decides the `outcome`.
    Where neither is, both are None, a separate type: that kernel is compiled without any of this.
    """
    if chance is not None:
        number, rng0, rng1 = draw(rng0, rng1)
        return outcome(chance, site + a, number) - site, rng0, rng1
    if slip is None:
        return a, rng0, rng1
    number, rng0, rng1 = draw(rng0, rng1)
    n_a = count(actions)
    turn = _1 if number & LOW < _HALFWAY else n_a - _1
    return ((a + turn) % n_a if number >> HALF < slip else a), rng0, rng1


@part
def choose_among(values, offset, first, last, number, explore_below):
    """Choose one of ``first .. last - 1`` by ``values[offset + k]`` and one draw, in the same way."""
    explore = number >> HALF < explore_below
    best = values[offset + first]
    for k in range(first, last):
        best = max(best, values[offset + np.uint64(k)])
    candidates = np.uint64(0)
    for k in range(first, last):
        candidates += np.uint64(explore or values[offset + np.uint64(k)] == best)
    skip = (number & LOW) * candidates >> HALF
    chosen = first
    for k in range(first, last):
        if explore or values[offset + np.uint64(k)] == best:
            if skip == np.uint64(0):
                chosen = np.uint64(k)
            skip -= np.uint64(1)
    return chosen
