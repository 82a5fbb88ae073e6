"""Breadth-first searches on cells, numbered 0 .. n_s - 1, and on their pairs with machine states, s * n_u + u."""

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import FAR, LIVE, SUCCESS
from fastrm.kernels.episode import step


@part
def action_of(chance, move):
    """Return the action that a move is an outcome of: itself where `Tables.chance` is None."""
    if chance is None:
        return move
    return move // chance.shape[2]


@part
def n_actions(chance, n_moves):
    """Return how many actions there are, given `Tables.chance` and the number of moves."""
    if chance is None:
        return n_moves
    return chance.shape[1]


@jit
def steps_to_go(tables, mask, any_end, distance, first, moves_into, queue):
    """Overwrite `distance` int32 [n_s, n_cols] with the fewest marked actions from every pair to a success.

    `mask` uint16 [n_s, n_u] marks the actions that may be taken, a bit each. With `any_end` failures count as ends too.
    FAR where there is no way. Breadth-first search backwards from the ends; `first` int64 [n_s + 1], `moves_into` int64
    [n_s * n_a] and `queue` int64 [n_s * n_u] are scratch: which moves, as s * n_a + a, lead into each cell. Where
    actions have several outcomes, the fewest steps that can be.
    """
    (n_s, n_a), n_u, n_moves = tables.next_s.shape, tables.n_u, tables.next_s.size
    distance[:, :] = FAR
    first[:] = 0
    for x in range(n_moves):
        first[tables.next_s[x // n_a, x % n_a] + 1] += 1
    for s in range(n_s):
        first[s + 1] += first[s]
    for x in range(n_moves - 1, -1, -1):  # fills each cell's stretch from its end, leaving first[s + 1] at its start
        s_next = tables.next_s[x // n_a, x % n_a]
        first[s_next + 1] -= 1
        moves_into[first[s_next + 1]] = x
    tail = 0
    for s in range(n_s):
        for a in range(tables.next_s.shape[1]):
            e = tables.event[s, a]
            for u in range(0 if e < tables.n_quiet else n_u):  # quiet events end nothing
                is_end = tables.outcome[e, u] == SUCCESS or (any_end and tables.outcome[e, u] != LIVE)
                if is_end and mask[s, u] >> action_of(tables.chance, a) & 1 and distance[s, u] == FAR:
                    distance[s, u] = 1
                    queue[tail] = s * n_u + u
                    tail += 1
    head = 0
    while head < tail:
        s_next, u_next = queue[head] // n_u, queue[head] % n_u
        head += 1
        last = first[s_next + 2] if s_next + 2 <= n_s else n_moves
        for k in range(first[s_next + 1], last):
            s, a = moves_into[k] // n_a, moves_into[k] % n_a
            e = tables.event[s, a]
            quiet = e < tables.n_quiet  # only u_next itself leads to u_next
            for u in range(u_next if quiet else 0, u_next + 1 if quiet else n_u):
                is_marked = mask[s, u] >> action_of(tables.chance, a) & 1
                if tables.delta[e, u] == u_next and is_marked and distance[s, u] == FAR:
                    distance[s, u] = distance[s_next, u_next] + 1
                    queue[tail] = s * n_u + u
                    tail += 1


@jit
def reach(tables, mask, u, seen, queue):
    """List the pairs that marked actions lead to from the start cells in state u, these first.

    `seen` uint8 [n_s * n_u] and `queue` int64 [n_s * n_u] are overwritten. Returns the number of pairs.
    """
    n_u = tables.n_u
    seen[:] = 0
    head, tail = 0, 0
    for s in tables.starts:
        queue[tail] = np.int64(s) * n_u + u
        seen[queue[tail]] = 1
        tail += 1
    while head < tail:
        s, v = queue[head] // n_u, queue[head] % n_u
        head += 1
        for a in range(tables.next_s.shape[1]):
            s_next, v_next, e = step(tables, s, v, a)
            if mask[s, v] >> action_of(tables.chance, a) & 1 and tables.outcome[e, v] == LIVE:
                x = np.int64(s_next) * n_u + v_next
                if not seen[x]:
                    seen[x] = 1
                    queue[tail] = x
                    tail += 1
    return tail


@part
def is_direct(tables, distance, any_end, s, u, a):
    """Return whether an action is the first of a shortest path to a success (or any end)."""
    s_next, u_next, e = step(tables, s, u, a)
    if tables.outcome[e, u] != LIVE:
        return (any_end or tables.outcome[e, u] == SUCCESS) and distance[s, u] == 1
    return distance[s_next, u_next] == distance[s, u] - 1


@jit
def direct_actions(tables, distance, any_end, mask):
    """Mark the actions that lower `distance` (see `steps_to_go`) by one. `mask` uint16 [n_s, n_u] is overwritten."""
    for s in range(tables.next_s.shape[0]):
        for u in range(tables.n_u):
            mask[s, u] = 0
            for a in range(tables.next_s.shape[1]):
                if is_direct(tables, distance, any_end, s, u, a):
                    mask[s, u] |= 1 << action_of(tables.chance, a)


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
