"""Distances between cells, which are numbered 0 .. n_s - 1."""

from __future__ import annotations

from fastrm.kernels._jit import jit
from fastrm.kernels.contracts import FAR


@jit
def flood(next_s, sources, distance, queue):
    """Breadth-first distances from the nearest source, moves taken to be reversible.

    `distance` int32 [n_s] and `queue` uint32 [n_s] are overwritten. Returns the number of cells reached.
    """
    distance[:] = FAR
    tail = 0
    for s in sources:
        if distance[s] == FAR:
            distance[s] = 0
            queue[tail] = s
            tail += 1
    head = 0
    while head < tail:
        s = queue[head]
        head += 1
        for a in range(next_s.shape[1]):
            s_next = next_s[s, a]
            if distance[s_next] == FAR:
                distance[s_next] = distance[s] + 1
                queue[tail] = s_next
                tail += 1
    return tail


@jit
def manhattan(rows, columns, target_rows, target_columns, distance):
    """Manhattan distance from every cell to the nearest target. `distance` int32 [n_s] is overwritten."""
    for s in range(rows.size):
        nearest = FAR
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
