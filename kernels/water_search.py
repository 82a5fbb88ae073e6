"""Searches over Water world in layers of time: what can be reached, and what is worth how much.

A layer holds a value for every state of the x axis, of the y axis and of the machine. After t moves only the first
``within[t]`` states of an axis can be reached, so layers are searched no further than that. Labels are read without
delay here: where the reference delays them, everything happens one move later.
"""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import LIVE, SUCCESS
from fastrm.kernels.water import N_PUSHES, event_of, measure, paid, pushed, touched

_1 = np.uint64(1)
PAYS, SUCCEEDS = 1, 2  # what an end is worth, as bits


@part
def _read(pond, machines, t, x, y, x_next, y_next, scratch, reads):
    """Return the event of a move that is made after t others."""
    fresh = pond.colours[touched(pond, t + 1, x_next, y_next) & ~touched(pond, t, x, y)]
    if reads:
        measure(pond, machines, t + 1, x_next, y_next, scratch.after)
    return event_of(machines, fresh, scratch)


@jit
def spread(pond, machines, t, n_x, n_y, here, there, scratch):
    """Make every move from a layer; return which ends were met: PAYS for one that pays, SUCCEEDS for a success.

    `here` uint64 [n_x, n_y] has a bit per machine state that can be reached, of the first n_x and n_y states of the
    axes; `there`, all 0 before, is updated likewise.
    """
    reads, met = machines.feature.shape[0] > 0, 0
    for x in range(n_x):
        for y in range(n_y):
            states = here[x, y]
            if states == np.uint64(0):
                continue
            if reads:
                measure(pond, machines, t, x, y, scratch.before)
            for a in range(N_PUSHES):
                x_next, y_next = pushed(pond, x, y, a)
                e = _read(pond, machines, t, x, y, x_next, y_next, scratch, reads)
                if machines.quiet[e]:
                    there[x_next, y_next] |= states
                    continue
                for u in range(machines.n_u):
                    if states >> np.uint64(u) & _1:
                        if machines.outcome[e, u] == LIVE:
                            there[x_next, y_next] |= _1 << np.uint64(machines.delta[e, u])
                        else:
                            met |= SUCCEEDS if machines.outcome[e, u] == SUCCESS else 0
                            met |= PAYS if paid(machines, e, u, scratch) > 0 else 0
    return met


@jit
def step_before(pond, machines, t, here, target, scratch, found):
    """Find a move, made after t others from a layer, that leads to a target; say whether there is one.

    `here` unsigned [n_x, n_y] as in `spread`; `target` int64 [3] has both axes and the machine state, or -1 -1 and the
    number of states for a success. `found` int64 [4] gets both axes, the machine state and the action.
    """
    reads = machines.feature.shape[0] > 0
    for x in range(here.shape[0]):
        for y in range(here.shape[1]):
            states = np.uint64(here[x, y])
            if states == np.uint64(0):
                continue
            for a in range(N_PUSHES):
                x_next, y_next = pushed(pond, x, y, a)
                if target[0] >= 0 and (x_next != target[0] or y_next != target[1]):
                    continue
                if reads:
                    measure(pond, machines, t, x, y, scratch.before)
                e = _read(pond, machines, t, x, y, x_next, y_next, scratch, reads)
                for u in range(machines.n_u):
                    if states >> np.uint64(u) & _1:
                        outcome, u_next = machines.outcome[e, u], np.int64(machines.delta[e, u])
                        if outcome == SUCCESS if target[0] < 0 else u_next == target[2]:
                            found[0], found[1], found[2], found[3] = x, y, u, a
                            return True
    return False


@jit
def look_back(pond, machines, t, n_x, n_y, gamma, later, values, scratch, ends):
    """Overwrite `values` [n_x, n_y, n_u] after t moves by those of the best moves into `later`, after t + 1.

    ``V(s, u) = max_a r + gamma V(s', u')``, the end being worth 0. `ends` says what counts: 0 everything, else only
    paths that succeed on this very move (1) or go on (2), others being worth minus infinity.
    """
    reads = machines.feature.shape[0] > 0
    for x in range(n_x):
        for y in range(n_y):
            if reads:
                measure(pond, machines, t, x, y, scratch.before)
            for u in range(machines.n_u):
                values[x, y, u] = -np.inf
            for a in range(N_PUSHES):
                x_next, y_next = pushed(pond, x, y, a)
                e = _read(pond, machines, t, x, y, x_next, y_next, scratch, reads)
                for u in range(machines.n_u):
                    outcome = machines.outcome[e, u]
                    if (ends == 2 and outcome != LIVE) or (ends == 1 and outcome != SUCCESS):
                        continue
                    worth = paid(machines, e, u, scratch)
                    if outcome == LIVE:
                        worth += gamma * later[x_next, y_next, np.int64(machines.delta[e, u])]
                    if worth > values[x, y, u]:
                        values[x, y, u] = worth


@jit
def fill(values, n_x, n_y, value):
    """Give the first states of a layer one value."""
    for x in range(n_x):
        for y in range(n_y):
            for u in range(values.shape[2]):
                values[x, y, u] = value
