"""Greedy roll-outs: what a learned table does when it no longer explores. Ties go to the highest action index."""

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import LIVE, SUCCESS
from fastrm.kernels.episode import step
from fastrm.kernels.exact.plans import follow_columns


@part
def greedy(q, twin, s, column):
    """Return the best action of q [n_s, n_columns, n_a], or of the mean of it and its twin."""
    best, most = 0, -np.inf
    for a in range(q.shape[2]):
        value = q[s, column, a]
        if twin is not None:
            value = (value + twin[s, column, a]) / 2
        if value >= most:
            best, most = a, value
    return best


@part
def best_option(first, controller, s, u):
    """Return the best option that leaves machine state u, by controller [n_s, n_o]; `first` is that of `Options`."""
    option = np.int64(first[u])
    for o in range(option + 1, np.int64(first[u + 1])):
        if controller[s, o] >= controller[s, option]:
            option = o
    return option


@part
def advance(tables, q, twin, first, controller, s, u, column):
    """Make a greedy step; return cell, machine state, the column in force and the outcome.

    The column is the machine state, or with a controller an option, kept until its state is left. Before the first
    step it is -1.
    """
    if first is None:
        column = u
    elif column < 0:
        column = best_option(first, controller, s, u)
    s_next, u_next, e = step(tables, s, u, greedy(q, twin, s, column))
    return np.int64(s_next), np.int64(u_next), column if u_next == u else np.int64(-1), tables.outcome[e, u]


@jit
def follow(tables, q, first, controller, s, u, path):
    """Follow the greedy policy from cell s in machine state u; `first` and `controller` are None except for HRM.

    `path` int64 is overwritten with the cells visited, the start included; its size bounds the length. Returns the
    number of steps and the outcome, LIVE when the path was full before the task was over.
    """
    path[0], column = s, np.int64(-1)
    for n in range(1, path.size):
        s, u, column, outcome = advance(tables, q, None, first, controller, s, u, column)
        path[n] = s
        if outcome != LIVE:
            return n, outcome
    return path.size - 1, LIVE


@part
def length_of(tables, q, twin, first, controller, s, u):
    """Return the steps of the greedy policy from cell s in machine state u, NaN where it does not complete the task.

    A policy that comes back to where it was goes round for ever; Brent's method notices that within three rounds.
    """
    column, n, marked_s, marked_u, marked_column, until = np.int64(-1), 0, s, u, np.int64(-1), 1
    while True:
        s, u, column, outcome = advance(tables, q, twin, first, controller, s, u, column)
        n += 1
        if outcome != LIVE:
            return np.float64(n) if outcome == SUCCESS else np.nan
        if s == marked_s and u == marked_u and column == marked_column:
            return np.nan
        if n == until:
            marked_s, marked_u, marked_column, until = s, u, column, 2 * until


@part
def _row(array, i):
    """Return row i of an array, None of none."""
    if array is None:
        return None
    return array[i]


@part
def length_of_tour(tour, i, s):
    """Return the steps of the tour that run i would make from cell s, NaN where it would not end."""
    own, (choice, leg, cell) = tour.own, tour.scratch
    for k in range(cell.size - 1):
        cell[k] = own.cell[i, k]
    cell[-1] = s
    scratch = choice, own.draft, leg
    n, outcome = follow_columns(own.columns, s, tour.q[i], tour.strides, own.gamma, cell, scratch, None)
    return np.float64(n) if outcome == SUCCESS else np.nan


@part
def watch(tables, seen, span, k, i):
    """Log how long the greedy policy of run i takes after tick k of a span, if curves were requested."""
    if seen is None:
        return
    if span.row >= 0:
        seen.length[i, span.row + k] = total_length(tables, seen, seen.tour, i)


@part
def total_length(tables, seen, tour, i):
    """Return the steps of run i's greedy policy, summed over tasks, of each the mean over starts; NaN if one fails."""
    twin, controller, total = _row(seen.twin, i), _row(seen.controller, i), 0.0
    for u in tables.first_u:
        steps = 0.0
        for s in tables.starts:
            if tour is None:
                steps += length_of(tables, seen.q[i], twin, seen.first, controller, np.int64(s), np.int64(u))
            else:
                steps += length_of_tour(tour, i, np.uint64(s))
        total += steps / tables.starts.size
    return total
