"""Exact arithmetic where floating point cannot tell two returns apart.

Numbers are taken as they are written: a discount of 0.9 is 9/10, a reward of 0.1 * 3 is 3/10.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple


class Move(NamedTuple):
    """One action of a pair: what it pays, and the pair it leads to, None for the end."""

    action: int
    paid: Fraction
    then: int | None


def path_return(paid: Sequence[Fraction], loop: int | None, gamma: Fraction) -> Fraction:
    """Return the discounted sum of rewards along a path; from index `loop` on the path repeats for ever.

    >>> path_return([Fraction(1), Fraction(2)], 1, Fraction(1, 2))
    Fraction(3, 1)
    """
    total = Fraction(0)
    if loop is not None:
        around = Fraction(0)
        for reward in reversed(paid[loop:]):
            around = reward + gamma * around
        total = around / (1 - gamma ** (len(paid) - loop))
        paid = paid[:loop]
    for reward in reversed(paid):
        total = reward + gamma * total
    return total


def optimal_moves(moves: Mapping[int, Sequence[Move]], policy: dict[int, int], gamma: Fraction) -> dict[int, int]:
    """Return, a bit per action, exactly the optimal actions of every pair, by policy iteration on rationals.

    Parameters
    ----------
    moves
        The moves to choose from, per pair; they lead to pairs of the mapping only.
    policy
        The index into ``moves[x]`` to begin with; a good guess saves rounds.
    gamma
        The discount, below 1.
    """
    while True:
        later = {x: gamma * value for x, value in _evaluate(moves, policy, gamma).items()}
        optimal, better = {}, False
        for x, choices in moves.items():
            returns = [move.paid if move.then is None else move.paid + later[move.then] for move in choices]
            best = returns[0] if len(returns) == 1 else max(returns)
            if best > returns[policy[x]]:
                policy[x] = returns.index(best)
                better = True
            optimal[x] = sum(1 << move.action for move, value in zip(choices, returns, strict=True) if value == best)
        if not better:
            return optimal


def _return(move: Move, value: Mapping[int, Fraction], gamma: Fraction) -> Fraction:
    return move.paid if move.then is None else move.paid + gamma * value[move.then]


def _evaluate(moves: Mapping[int, Sequence[Move]], policy: Mapping[int, int], gamma: Fraction) -> dict[int, Fraction]:
    value: dict[int, Fraction] = {}
    for first in moves:
        trail: list[int] = []
        place: dict[int, int] = {}
        x: int | None = first
        while x is not None and x not in value and x not in place:
            place[x] = len(trail)
            trail.append(x)
            x = moves[x][policy[x]].then
        if x is not None and x in place:
            loop = [moves[y][policy[y]].paid for y in trail[place[x] :]]
            value[x] = path_return(loop, 0, gamma)
        for y in reversed(trail):
            if y not in value:
                value[y] = _return(moves[y][policy[y]], value, gamma)
    return value
