"""Steps, labels and distances on a grid whose cells are numbered 0 .. n_s - 1."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit

UNREACHED = np.int32(2**31 - 1)


@jit
def step(next_s, label_of, s, a, label):
    """Move a batch of agents and read the labels of the cells they reach. `s` is updated, `label` is overwritten."""
    for i in range(s.size):
        s[i] = next_s[s[i], a[i]]
        label[i] = label_of[s[i]]


@jit
def flood(next_s, sources, distance, queue):
    """Breadth-first distances from the nearest source, moves taken to be reversible.

    `distance` int32 [n_s] and `queue` uint32 [n_s] are overwritten. Returns the number of cells reached.
    """
    distance[:] = UNREACHED
    tail = 0
    for s in sources:
        if distance[s] == UNREACHED:
            distance[s] = 0
            queue[tail] = s
            tail += 1
    head = 0
    while head < tail:
        s = queue[head]
        head += 1
        for a in range(next_s.shape[1]):
            s_next = next_s[s, a]
            if distance[s_next] == UNREACHED:
                distance[s_next] = distance[s] + 1
                queue[tail] = s_next
                tail += 1
    return tail


@jit
def manhattan(rows, columns, target_rows, target_columns, distance):
    """Manhattan distance from every cell to the nearest target. `distance` int32 [n_s] is overwritten."""
    for s in range(rows.size):
        nearest = UNREACHED
        for k in range(target_rows.size):
            nearest = min(nearest, abs(rows[s] - target_rows[k]) + abs(columns[s] - target_columns[k]))
        distance[s] = nearest


@jit
def mark_closer(next_s, distance, closer):
    """Mark the moves that bring `distance` down. `closer` uint8 [n_s, n_a] is updated: marks are added."""
    for s in range(next_s.shape[0]):
        for a in range(next_s.shape[1]):
            if distance[next_s[s, a]] < distance[s]:
                closer[s, a] = 1
