"""The plan of an agenda: in which order to complete what is left of it, by the learned values of the legs.

With v(c, k) the value of the leg from column c to column k, and R the stages that are not done::

    V(c, {}) = 1        V(c, R) = max over k on the agenda of v(c, k) V(k, R - k) / gamma^(m - 1)

R - k is what is left after the object of k was read, and m the number of stages that this completes. Sets are bit
masks, so every R - k comes before R. Ties go to the lowest column. `strides` say how far apart cells, columns and
actions lie in the values, which learners and readers lay out differently.

Where distances are known the same is done with steps (Held and Karp). With d(c, k) the fewest from the object of column
c to that of column k, a shortest tour takes::

    L(c, {}) = 0        L(c, R) = min over k on the agenda of d(c, k) + L(k, R - k)

They are also enough where a leg passes other objects: what that completes can only make R smaller, and L never grows
when R becomes smaller.
"""

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import BLOCK, FAR, LIVE, N_ACTIONS, NOTHING, SUCCESS
from fastrm.kernels.exact.search import flood
from fastrm.kernels.simd import best_products, count_bits

_0, _1, _4, _BLOCK = np.uint64(0), np.uint64(1), np.uint64(N_ACTIONS), np.uint64(BLOCK)


@part
def is_open(columns, k, left):
    """Return whether column k is on the agenda: its stage is left, and no stage that must come before it."""
    stage = columns.stage[k]
    return left >> stage & _1 != _0 and columns.needs[stage] & left == _0


@part
def value_of_leg(q, s, k, strides):
    """Return the value of going from cell s to column k, at most 1."""
    per_cell, per_column, per_action = strides
    place = s * per_cell + k * per_column
    best = q[place]
    for _ in range(N_ACTIONS - 1):
        place += per_action
        best = q[place] if q[place] > best else best
    return best if best < 1.0 else 1.0


@jit
def legs_changed(columns, q, strides, cell, leg):
    """Update `leg` with the values of all legs; return whether one changed."""
    n_k, changed = columns.stage.size, False
    n_last = np.uint64(leg.size // n_k)
    for c in range(n_k + 1):
        for k in range(n_k):
            value, place = 1.0, np.uint64(k) * n_last + np.uint64(c)
            if cell[c] != NOTHING:
                value = value_of_leg(q, cell[c], np.uint64(k), strides)
            if value != leg[place]:
                leg[place] = value
                changed = True
    return changed


@part
def value_ahead(columns, i, k, n_last, gamma, worth):
    """Return V after the object of column k with the i-th set left; of the stages it completes only one costs a leg."""
    done = columns.serves[k]
    if done & (done - _1) != _0:
        done &= columns.ready[i]
    value = worth[(columns.sets[i] & ~done) * n_last + k]
    done &= done - _1
    while done != _0 and gamma > 0.0:
        value /= gamma
        done &= done - _1
    return value


@jit
def make_plan(columns, leg, gamma, draft, choice):
    """Find the column to pursue for every set of stages left and every column before. `draft, choice`: overwritten.

    Four columns before are looked at in one go, also padding and those whose stage is left, which nobody reads.
    """
    n_last = np.uint64(leg.size // columns.stage.size)
    draft.worth[:n_last] = 1.0
    for i in range(columns.sets.size):
        n, rest = _0, columns.opens[i]
        while rest != _0:
            k = count_bits(~rest & (rest - _1))
            draft.chosen[n], draft.ahead[n] = k, value_ahead(columns, i, k, n_last, gamma, draft.worth)
            rest &= rest - _1
            n += _1
        column = _0
        while column < n_last:
            place = columns.sets[i] * n_last + column
            best_products(leg, column, n_last, draft.ahead, draft.chosen, n, draft.worth, choice, place)
            column += _BLOCK


@part
def pursue(columns, choice, q, strides, left, last, s):
    """Return the column to pursue: as planned, or the nearest by value where no plan is made."""
    if columns.sets.size:
        return np.uint64(choice[left * (np.uint64(choice.size) >> np.uint64(columns.needs.size)) + last])
    best, nearest = -np.inf, _0
    for k in range(columns.stage.size):
        if is_open(columns, k, left):
            value = value_of_leg(q, s, np.uint64(k), strides)
            if value > best:
                best, nearest = value, np.uint64(k)
    return nearest


@part
def complete(columns, e, left, last, s, cell):
    """Return what is left, and the column that left the agenda last, after event e led to cell s. `cell` is updated."""
    before = left
    for k in range(columns.stage.size - 1, -1, -1):  # the lowest of those that leave at once comes last
        if columns.reads[e] >> np.uint64(k) & _1 != _0 and is_open(columns, k, before):
            cell[k] = s
            left &= ~(_1 << columns.stage[k])
            last = np.uint64(k)
    return left, last


@part
def follow_columns(columns, start, q, strides, gamma, cell, scratch, path):
    """Follow the best action of the column pursued, all stages left, from the start.

    q is read with the cells of a run's `Pursuit`, which are updated; `scratch`, a choice, a draft and a leg, is
    overwritten, and so is `path` with the cells visited; where it is None, the tour ends when it comes back to a cell
    with the same stages left, by Brent's method. Returns the steps and the outcome.
    """
    choice, draft, leg = scratch
    legs_changed(columns, q, strides, cell, leg)
    if columns.sets.size:
        make_plan(columns, leg, gamma, draft, choice)
    s, left, last = np.uint64(start), (_1 << np.uint64(columns.needs.size)) - _1, np.uint64(columns.stage.size)
    column = pursue(columns, choice, q, strides, left, last, s)
    n, until, marked = 0, 1, s
    if path is not None:
        path[0] = np.int64(s)
    while path is None or n < path.size - 1:
        row = s * strides[0] + column * strides[1]
        best = _0
        for a in range(1, N_ACTIONS):
            best = np.uint64(a) if q[row + np.uint64(a) * strides[2]] >= q[row + best * strides[2]] else best
        move = columns.moves[s * _4 + best]
        s, e, before = (move & np.uint64(2**32 - 1)) // _4, move >> np.uint64(32), left
        n += 1
        left, last = complete(columns, e, left, last, s, cell)
        if path is not None:
            path[n] = np.int64(s)
        elif s == marked and left == before:
            return n, LIVE
        if left == _0:
            return n, SUCCESS
        if left != before:
            column = pursue(columns, choice, q, strides, left, last, s)
        if left != before or n >= until:
            marked, until = s, 2 * n
    return n, LIVE


@jit
def plan_tour(columns, q, gamma, cell, scratch):
    """Plan by the columns of q [n_s, n_k, n_a] and the cells of a run's `Pursuit`; `scratch` is overwritten."""
    choice, draft, leg = scratch
    legs_changed(columns, q.reshape(-1), (np.uint64(columns.stage.size) * _4, _4, _1), cell, leg)
    if columns.sets.size:
        make_plan(columns, leg, gamma, draft, choice)


@jit
def pursue_next(columns, q, choice, left, last, s):
    """Return the column of q [n_s, n_k, n_a] to pursue in cell s; see `pursue`."""
    return pursue(columns, choice, q.reshape(-1), (np.uint64(columns.stage.size) * _4, _4, _1), left, last, s)


@jit
def follow(columns, start, q, gamma, cell, scratch, path):
    """Follow the columns of q [n_s, n_k, n_a]; see `follow_columns` and `rollout.follow`."""
    strides = np.uint64(columns.stage.size) * _4, _4, _1
    return follow_columns(columns, start, q.reshape(-1), strides, gamma, cell, scratch, path)


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
