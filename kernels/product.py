"""Breadth-first search on the product of cells and machine states."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit
from fastrm.kernels.grid import UNREACHED
from fastrm.kernels.tables import LIVE, N_ACTIONS, SUCCESS


@jit
def explore(tables, u, distance, queue):
    """Search from the start cell in machine state `u`.

    `distance` int32 [n_s * n_u] and `queue` int64 [n_s * n_u] are overwritten: steps from the start to every pair
    (s, u), numbered s * n_u + u, and the pairs in the order of discovery. Returns the number of pairs reached and the
    length of a shortest path to a success, UNREACHED if there is none.
    """
    distance[:] = UNREACHED
    queue[0] = tables.start * tables.n_u + u
    distance[queue[0]] = 0
    shortest = UNREACHED
    head, tail = 0, 1
    while head < tail:
        pair = queue[head]
        head += 1
        s, v = pair // tables.n_u, pair % tables.n_u
        for a in range(N_ACTIONS):
            e = tables.event[s, a]
            if tables.outcome[e, v] != LIVE:
                if tables.outcome[e, v] == SUCCESS:
                    shortest = min(shortest, np.int32(distance[pair] + 1))
                continue
            pair_next = np.int64(tables.next_s[s, a]) * tables.n_u + tables.delta[e, v]
            if distance[pair_next] == UNREACHED:
                distance[pair_next] = distance[pair] + 1
                queue[tail] = pair_next
                tail += 1
    return tail, shortest
