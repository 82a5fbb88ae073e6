"""Where policies lead: the pairs they visit, where they repeat, how they end."""

from __future__ import annotations

from fastrm.arrays import Array
from fastrm.problems import Problem, Step

Pair = tuple[int, int]
"""Number of a cell, column of a machine state."""


def follow(problem: Problem, policy: Array, pair: Pair) -> tuple[tuple[Pair, ...], int | None, bool]:
    """Follow a policy from a pair: the pairs visited, the index it returns to or None, and whether it succeeds."""
    trail: dict[Pair, int] = {}
    while pair not in trail:
        trail[pair] = len(trail)
        taken = problem.step(*pair, policy[pair])
        pair = taken.s, taken.u
        if not taken.is_live:
            return (*trail, pair), None, taken.is_success
    return tuple(trail), trail[pair], False


def follow_option(problem: Problem, policy: Array, s: int, u: int) -> tuple[list[int], list[float], int | None, Step]:
    """Follow a policy over cells while machine state u lasts.

    Returns the cells visited, the rewards paid, the index the cells return to (None if u is left) and the last step.
    """
    trail: dict[int, int] = {}
    paid: list[float] = []
    while s not in trail:
        trail[s] = len(trail)
        taken = problem.step(s, u, policy[s])
        paid.append(taken.reward)
        s = taken.s
        if taken.u != u:
            return [*trail, s], paid, None, taken
    return [*trail, s], paid, trail[s], taken
