"""Where policies lead: the pairs they visit, where they repeat, how they end."""

from __future__ import annotations

from fastrm.arrays import Array
from fastrm.kernels.contracts import LIVE, SUCCESS, Tables


def follow(tables: Tables, policy: Array, u: int) -> tuple[tuple[tuple[int, int], ...], int | None, bool]:
    """Follow a policy from the start: the pairs visited, the index it returns to or None, and whether it succeeds."""
    pair = (tables.start, u)
    trail: dict[tuple[int, int], int] = {}
    while pair not in trail:
        trail[pair] = len(trail)
        s, v = pair
        a = policy[s, v]
        e = tables.event[s, a]
        pair = int(tables.next_s[s, a]), int(tables.delta[e, v])
        if tables.outcome[e, v] != LIVE:
            return (*trail, pair), None, bool(tables.outcome[e, v] == SUCCESS)
    return tuple(trail), trail[pair], False


def follow_option(tables: Tables, policy: Array, s: int, u: int) -> tuple[list[int], list[float], int | None, int]:
    """Follow a policy over cells while machine state u lasts.

    Returns the cells visited, the rewards paid, the index the cells return to (None if u is left) and the last event.
    """
    trail: dict[int, int] = {}
    paid: list[float] = []
    while s not in trail:
        trail[s] = len(trail)
        a = policy[s]
        e = int(tables.event[s, a])
        paid.append(float(tables.reward[e, u]))
        s = int(tables.next_s[s, a])
        if tables.delta[e, u] != u:
            return [*trail, s], paid, None, e
    return [*trail, s], paid, trail[s], e
