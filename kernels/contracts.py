"""Array contracts: what ``fastrm.problems.compiler`` guarantees and the kernels trust."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastrm.kernels._jit import part

N_ACTIONS = 4
UP, RIGHT, DOWN, LEFT = range(N_ACTIONS)

LIVE, SUCCESS, FAILURE = 0, 1, 2  # what becomes of an episode

NOTHING = np.uint64(2**64 - 1)  # no previous event, no option

FAR = np.int32(2**30)  # steps to go where there is no way

BLOCK = 4  # machine states are laid out in blocks of this many, a SIMD register of doubles


_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)


@part
def next_of(move):
    """Return the cell a packed move leads to."""
    return move & _LOW


@part
def event_of(move):
    """Return the event of a packed move."""
    return move >> _HALF


class Tables(NamedTuple):
    """One map crossed with one or more machines. C-contiguous, read-only.

    The machine states of all machines lie side by side in columns 0 .. n_u - 1. Column n_u stands for every terminal:
    its value is 0 for ever, so a bootstrap from it adds nothing. Columns up to the next multiple of `BLOCK` are
    padding. Events are the classes of moves that no guard and no reward can tell apart. The first n_quiet of them
    change no machine state.
    """

    next_s: np.ndarray  # uint32  [n_s, n_a]      where action a leads from cell s
    event: np.ndarray  # uint32  [n_s, n_a]      the event of that move
    moves: np.ndarray  # uint64  [n_s * n_a]     both in one word, the event in the upper half
    delta: np.ndarray  # uint32  [n_e, n_cols]   the column an event leads to from a column
    outcome: np.ndarray  # uint8   [n_e, n_cols]   LIVE, SUCCESS or FAILURE
    reward: np.ndarray  # float64 [n_e, n_cols]   what the machine pays; 0 in column n_u and padding
    partial: np.ndarray  # uint8   [n_e]           does the event leave some column of 0 .. n_u - 1 unreached?
    first_u: np.ndarray  # uint32  [n_m]           start column of every machine
    own_score: np.ndarray  # uint8   [n_m]           score episodes by own reward (else 1 for success)
    start: int  # start cell
    n_u: int  # machine states, terminals not counted
    n_quiet: int  # events that change no machine state
