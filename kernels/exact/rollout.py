"""Greedy roll-outs: what a learned table does when it no longer explores. Ties go to the highest action index."""

import numpy as np

from fastrm.kernels._jit import jit
from fastrm.kernels.contracts import LIVE
from fastrm.kernels.episode import step


@jit
def greedy(q, s, column):
    """Return the best action of q [n_s, n_columns, n_a]."""
    best = 0
    for a in range(1, q.shape[2]):
        if q[s, column, a] >= q[s, column, best]:
            best = a
    return best


@jit
def follow(tables, q, s, u, path):
    """Follow the greedy policy from cell s in machine state u.

    `path` int64 is overwritten with the cells visited, the start included; its size bounds the length. Returns the
    number of steps and the outcome, LIVE when the path was full before the task was over.
    """
    path[0] = s
    for n in range(1, path.size):
        s_next, u_next, e = step(tables, s, u, greedy(q, s, u))
        outcome = tables.outcome[e, u]
        s, u = np.int64(s_next), np.int64(u_next)
        path[n] = s
        if outcome != LIVE:
            return n, outcome
    return path.size - 1, LIVE


@jit
def follow_options(tables, first, q, controller, s, u, path):
    """Like `follow`, for HRM: q [n_s, n_o, n_a], controller [n_s, n_o]; an option is kept until its state is left.

    `first` is that of `Options`.
    """
    path[0] = s
    option = -1
    for n in range(1, path.size):
        if option < 0:
            option = np.int64(first[u])
            for o in range(option + 1, np.int64(first[u + 1])):
                if controller[s, o] >= controller[s, option]:
                    option = o
        s_next, u_next, e = step(tables, s, u, greedy(q, s, option))
        outcome = tables.outcome[e, u]
        if u_next != u:
            option = -1
        s, u = np.int64(s_next), np.int64(u_next)
        path[n] = s
        if outcome != LIVE:
            return n, outcome
    return path.size - 1, LIVE
