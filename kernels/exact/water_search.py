"""Searches over Water world in layers of time: what can be reached, and what is worth how much.

A layer holds a value for every state of the x axis, of the y axis and of the machine. After t moves only the first
``within[t]`` states of an axis can be reached, so layers are searched no further than that. Labels are read without
delay here: where the reference delays them, a search begins in the state after its first move, which shows nothing.
Distances are never delayed. There, what a move touches is paid for by the distances of the next one.
"""

from typing import NamedTuple

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import LIVE, SUCCESS
from fastrm.kernels.worlds.water import N_PUSHES, event_of, measure, paid, pushed, touched, touched_anew

_1 = np.uint64(1)
PAYS, SUCCEEDS = 1, 2  # what an end is worth, as bits
SAME = 1e-12  # values that differ by less, relative to their size, are taken for equal
NEVER = 20_000  # more than any step


class Layer(NamedTuple):
    """What is known of all states at one time; see `look_back`."""

    value: np.ndarray
    end: np.ndarray
    distance: np.ndarray
    touch: np.ndarray


@part
def _read(physics, machines, t, touching, x_next, y_next, scratch, reads):
    """Return the event of a move that is made after t others."""
    _, fresh = touched_anew(physics, t + 1, x_next, y_next, touching)
    if reads:
        measure(physics, machines, t + 1, x_next, y_next, scratch.after)
    return event_of(machines, fresh, scratch)


@part
def _may_pay(physics, machines, t, x, y, e, u, scratch):
    """Whether an event after t moves, that ends the episode, pays more than 0; `scratch` holds what it reads.

    Where labels are late it is shown by the next move, whichever that is: `scratch` is then overwritten.
    """
    if not physics.delayed or machines.feature.shape[0] == 0:
        return paid(machines, e, u, scratch) > 0
    measure(physics, machines, t, x, y, scratch.before)
    for a in range(N_PUSHES):
        x_next, y_next = pushed(physics, x, y, a)
        measure(physics, machines, t + 1, x_next, y_next, scratch.after)
        event_of(machines, e, scratch)
        if paid(machines, e, u, scratch) > 0:
            return True
    return False


@jit
def may_pay(physics, machines, t, x, y, e, u, scratch):
    """Return `_may_pay`, for Python."""
    return _may_pay(physics, machines, t, x, y, e, u, scratch)


@jit
def spread(physics, machines, t, n_x, n_y, here, there, scratch):
    """Make every move from a layer; return which ends were met: PAYS for one that pays, SUCCEEDS for a success.

    `here` uint64 [n_x, n_y] has a bit per machine state that can be reached, of the first n_x and n_y states of the
    axes; `there`, all 0 before, is updated likewise.
    """
    reads, met = machines.feature.shape[0] > 0 and not physics.delayed, 0
    for x in range(n_x):
        for y in range(n_y):
            states = here[x, y]
            if states == np.uint64(0):
                continue
            touching = touched(physics, t, x, y)
            if reads:
                measure(physics, machines, t, x, y, scratch.before)
            for a in range(N_PUSHES):
                x_next, y_next = pushed(physics, x, y, a)
                e = _read(physics, machines, t, touching, x_next, y_next, scratch, reads)
                if machines.quiet[e]:
                    there[x_next, y_next] |= states
                    continue
                for u in range(machines.n_u):
                    if states >> np.uint64(u) & _1:
                        if machines.outcome[e, u] == LIVE:
                            there[x_next, y_next] |= _1 << np.uint64(machines.delta[e, u])
                        else:
                            met |= SUCCEEDS if machines.outcome[e, u] == SUCCESS else 0
                            if not met & PAYS and _may_pay(physics, machines, t + 1, x_next, y_next, e, u, scratch):
                                met |= PAYS
    return met


@jit
def step_before(physics, machines, t, here, target, scratch, found):
    """Find a move, made after t others from a layer, that leads to a target; say whether there is one.

    `here` unsigned [n_x, n_y] as in `spread`; `target` int64 [3] has both axes and the machine state, or -1 -1 and the
    number of states for a success. `found` int64 [4] gets both axes, the machine state and the action.
    """
    reads = machines.feature.shape[0] > 0 and not physics.delayed
    for x in range(here.shape[0]):
        for y in range(here.shape[1]):
            states = np.uint64(here[x, y])
            if states == np.uint64(0):
                continue
            for a in range(N_PUSHES):
                x_next, y_next = pushed(physics, x, y, a)
                if target[0] >= 0 and (x_next != target[0] or y_next != target[1]):
                    continue
                if reads:
                    measure(physics, machines, t, x, y, scratch.before)
                e = _read(physics, machines, t, touched(physics, t, x, y), x_next, y_next, scratch, reads)
                for u in range(machines.n_u):
                    if states >> np.uint64(u) & _1:
                        outcome, u_next = machines.outcome[e, u], np.int64(machines.delta[e, u])
                        if outcome == SUCCESS if target[0] < 0 else u_next == target[2]:
                            found[0], found[1], found[2], found[3] = x, y, u, a
                            return True
    return False


@jit
def measure_all(physics, machines, t, x_places, y_places, out):
    """Overwrite `out` [places of x, places of y, colours] with the distances after t moves.

    Places are states of an axis, one for every position: velocities do not matter here.
    """
    for i in range(x_places.size):
        for j in range(y_places.size):
            measure(physics, machines, t, x_places[i], y_places[j], out[i, j])


@jit
def touch_all(physics, t, x_places, y_places, out):
    """Overwrite `out` uint16 [places of x, places of y] with the balls, a bit each, touched after t moves."""
    for i in range(x_places.size):
        for j in range(y_places.size):
            out[i, j] = touched(physics, t, x_places[i], y_places[j])


@part
def _rank(end):
    """Return a number by which ends are told apart among equally good paths: small for an early success, then failures,
    the later the smaller, then no end at all.
    """
    return end if end > 0 else NEVER + end


@part
def _is_better(worth, end, best, best_end, late):
    """Whether a path is to be preferred: it is worth more, or as much up to rounding and its end comes first.

    With `late` the end that comes last is preferred.
    """
    if best == -np.inf or worth == -np.inf:
        return worth > best
    gap, size = worth - best, max(abs(worth), abs(best))
    if abs(gap) > SAME * size:
        return gap > 0
    return _rank(end) > _rank(best_end) if late else _rank(end) < _rank(best_end)


@part
def _worth(machines, t, e, u, x_next, y_next, gamma, later, scratch, ends):
    """Return what a move is worth, when the path ends that goes on from it, its outcome and the next machine state."""
    outcome, u_next = np.int64(machines.outcome[e, u]), np.int64(machines.delta[e, u])
    if (ends == 2 and outcome != LIVE) or (ends == 1 and outcome != SUCCESS):
        return -np.inf, np.int64(0), outcome, u_next
    worth = paid(machines, e, u, scratch)
    if outcome != LIVE:
        return worth, np.int64(t + 1 if outcome == SUCCESS else -(t + 1)), outcome, u_next
    worth += gamma * later.value[x_next, y_next, u_next]
    return worth, np.int64(later.end[x_next, y_next, u_next]), outcome, u_next


@jit
def look_ahead(machines, n_x, n_y, gamma, later, x_place, y_place, scratch, pays, quiet):
    """Overwrite `quiet` [n_x, n_y, n_u] with what a move is worth that shows no label and leads to a state.

    For machines whose states all stay without a label, paying a number or what the distances after the move tell.
    `pays` float64 [places of x, places of y, n_u] is overwritten, too, with what such a move pays: many states share a
    place, so that this is worked out once for all of them.
    """
    for i in range(pays.shape[0]):
        for j in range(pays.shape[1]):
            for c in range(machines.seen.size if machines.feature.shape[0] > 0 else 0):
                scratch.before[c] = scratch.after[c] = later.distance[i, j, c]
            event_of(machines, 0, scratch)
            for u in range(machines.n_u):
                pays[i, j, u] = paid(machines, 0, u, scratch)
    for x in range(n_x):
        for y in range(n_y):
            for u in range(machines.n_u):
                quiet[x, y, u] = pays[x_place[x], y_place[y], u] + gamma * later.value[x, y, u]


@part
def _better(best, best_end, x, y, u, quiet, later, late):
    """Return the better of the best so far and of a move that shows no label and leads to a state, with its end."""
    worth, end = quiet[x, y, u], np.int64(later.end[x, y, u])
    gap, size = worth - best, max(abs(worth), abs(best))
    is_tie = (abs(gap) <= SAME * size) & (worth > -np.inf) & (best > -np.inf)
    one, two = _rank(end), _rank(best_end)
    # `_is_better` without branches, which the processor would guess wrong here
    is_better = (is_tie & ((one > two) if late else (one < two))) | (~is_tie & (gap > 0))
    return max(best, worth), end if is_better else best_end


@jit
def look_back(physics, machines, t, n_x, n_y, gamma, later, now, x_place, y_place, scratch, ends, quiet, late):
    """Work out the values of the best moves after t others, from those after t + 1.

    ``V(s, u) = max_a r + gamma V(s', u')``, the end being worth 0. Of equally good paths the one that succeeds soonest
    counts; with `late` the one that succeeds last, or never. `now` is overwritten, `later` read; both are layers:
    values float64 [n_x, n_y, n_u]; when the best path ends int16 [n_x, n_y, n_u], minus that for a failure, 0 if it
    does not; distances as in `measure_all`; balls touched as in `touch_all`. `x_place` and `y_place` give the place of
    a state. `ends` says what counts: 0 everything, else only moves that succeed (1) or go on (2), others being worth
    minus infinity. `quiet` comes from `look_ahead`, and is empty where that does not apply.
    """
    reads = machines.feature.shape[0] > 0
    for x in range(n_x):
        x_less, x_same, x_more = physics.next_x[x, 0], physics.next_x[x, 1], physics.next_x[x, 2]
        for y in range(n_y):
            touching = now.touch[x_place[x], y_place[y]]
            if quiet.size and ends != 1:
                y_less, y_same, y_more = physics.next_y[y, 0], physics.next_y[y, 1], physics.next_y[y, 2]
                i, j = x_place[x_same], y_place[y_same]
                near = later.touch[i, j] | later.touch[i, y_place[y_less]] | later.touch[i, y_place[y_more]]
                near |= later.touch[x_place[x_less], j] | later.touch[x_place[x_more], j]
                if near & ~touching == 0:
                    for u in range(machines.n_u):
                        best, end = quiet[x_same, y_same, u], np.int64(later.end[x_same, y_same, u])
                        best, end = _better(best, end, x_same, y_more, u, quiet, later, late)
                        best, end = _better(best, end, x_more, y_same, u, quiet, later, late)
                        best, end = _better(best, end, x_same, y_less, u, quiet, later, late)
                        best, end = _better(best, end, x_less, y_same, u, quiet, later, late)
                        now.value[x, y, u], now.end[x, y, u] = best, end
                    continue
            for u in range(machines.n_u):
                now.value[x, y, u] = -np.inf
                now.end[x, y, u] = 0
            for c in range(machines.seen.size if reads else 0):
                scratch.before[c] = now.distance[x_place[x], y_place[y], c]
            for a in range(N_PUSHES):
                x_next, y_next = pushed(physics, x, y, a)
                fresh = physics.colours[later.touch[x_place[x_next], y_place[y_next]] & ~touching]
                if fresh == 0 and quiet.size:
                    for u in range(machines.n_u if ends != 1 else 0):
                        worth, end = quiet[x_next, y_next, u], np.int64(later.end[x_next, y_next, u])
                        if _is_better(worth, end, now.value[x, y, u], np.int64(now.end[x, y, u]), late):
                            now.end[x, y, u] = end
                        now.value[x, y, u] = max(now.value[x, y, u], worth)
                    continue
                for c in range(machines.seen.size if reads else 0):
                    scratch.after[c] = later.distance[x_place[x_next], y_place[y_next], c]
                e = event_of(machines, fresh, scratch)
                for u in range(machines.n_u):
                    worth, end, _, _ = _worth(machines, t, e, u, x_next, y_next, gamma, later, scratch, ends)
                    if _is_better(worth, end, now.value[x, y, u], np.int64(now.end[x, y, u]), late):
                        now.end[x, y, u] = end
                    now.value[x, y, u] = max(now.value[x, y, u], worth)


@jit
def best_move(physics, machines, t, state, gamma, later, x_place, y_place, distance, scratch, ends):
    """Return the action that `look_back` would choose in one state, and the outcome; `state` int64 [3] is moved on.

    `distance` are the distances after t moves.
    """
    reads = machines.feature.shape[0] > 0
    x, y, u = state[0], state[1], state[2]
    touching = touched(physics, t, x, y)
    for c in range(machines.seen.size if reads else 0):
        scratch.before[c] = distance[x_place[x], y_place[y], c]
    best, best_end, chosen, how = -np.inf, np.int64(0), 0, np.int64(LIVE)
    for a in range(N_PUSHES):
        x_next, y_next = pushed(physics, x, y, a)
        for c in range(machines.seen.size if reads else 0):
            scratch.after[c] = later.distance[x_place[x_next], y_place[y_next], c]
        e = event_of(machines, touched_anew(physics, t + 1, x_next, y_next, touching)[1], scratch)
        worth, end, outcome, u_next = _worth(machines, t, e, u, x_next, y_next, gamma, later, scratch, ends)
        if _is_better(worth, end, best, best_end, False):
            best_end, chosen, how = end, a, outcome
            state[0], state[1], state[2] = x_next, y_next, u_next
        best = max(best, worth)
    return chosen, how
