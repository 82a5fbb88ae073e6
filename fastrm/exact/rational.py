"""Exact arithmetic where floating point cannot tell two returns apart.

Numbers are taken as they are written: a discount of 0.9 is 9/10, a reward of 0.1 * 3 is 3/10. Where success alone pays,
an action is optimal if and only if it begins a shortest path. Elsewhere actions whose values floats cannot tell apart
are settled by policy iteration in rationals, where play can lead from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fastrm.arrays import Array
from fastrm.kernels.contracts import FAR, LIVE, SUCCESS
from fastrm.kernels.exact import search
from fastrm.machines.language import as_written
from fastrm.problems import TabularProblem


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


Written = Callable[[int, int], Fraction]
"""What an event pays in a state, as written."""

EXACT_LIMIT = 3000
"""Pairs of cell and state up to which ties are settled in rational arithmetic."""


def settle_by_steps(
    problem: TabularProblem, reward: Array, rounding: Array, written: Written, machine: int, mask: Array
) -> bool:
    """Where success alone pays, and always the same, mark exactly the actions that begin shortest paths.

    A pair is then worth R gamma^(D - 1), D steps from success, so an action is optimal if and only if it lowers D,
    however small the powers of gamma are. Pairs from which nothing succeeds are left alone. `mask` is updated; returns
    False where rewards are others, or would be without their `rounding`.
    """
    tables = problem.tables
    mine = [column for column, (number, _) in enumerate(problem.states) if number == machine]
    paid, success = reward[:, mine], tables.outcome[:, mine] == SUCCESS
    on_the_way, live = paid[~success], tables.outcome[:, mine][~success] == LIVE
    ends = np.unique(paid[success])
    if ends.size != 1 or ends[0] <= 0 or on_the_way[live].any() or (on_the_way > 0).any():
        return False
    off = rounding[:, mine]
    if off[~success].any() or (off.any() and len({written(e, mine[k]) for e, k in np.argwhere(success).tolist()}) > 1):
        return False
    distance, direct = problem.steps_to_go, np.empty_like(mask)
    search.direct_actions(tables, distance, False, direct)
    hopeful = distance[:, mine] < FAR
    mask[:, mine] = np.where(hopeful, direct[:, mine], mask[:, mine])
    return True


def settle(
    problem: TabularProblem, written: Written, gamma: float, machine: int, policy: Array, mask: Array
) -> str | None:
    """Where play can lead from the start, keep only actions that are exactly optimal. `mask` is updated.

    Nothing needs settling where every pair has one candidate. Returns why it could not be done, or None.
    """
    tables = problem.tables
    n_u = tables.n_u
    seen, queue = np.empty(policy.size, dtype=np.uint8), np.empty(policy.size, dtype=np.int64)
    count = search.reach(tables, mask, int(tables.first_u[machine]), seen, queue)
    pairs = queue[:count]
    here = mask.reshape(-1)[pairs]
    if not (here & (here - 1)).any():
        return None
    if gamma == 1.0:
        return "gamma = 1 leaves the order of rewards open; every path of equal reward counts as optimal"
    if count > EXACT_LIMIT:
        direct = np.empty_like(mask)
        search.direct_actions(tables, problem.steps_to_go, False, direct)
        if not (here & ~direct.reshape(-1)[pairs]).any():
            return None  # whichever of them is optimal, it begins a shortest path
        return (
            f"{count} pairs of cell and state have returns that floating point cannot tell apart; "
            f"rational arithmetic is used up to {EXACT_LIMIT}"
        )
    exact: dict[tuple[int, int], Fraction] = {}
    moves: dict[int, list[Move]] = {}
    start: dict[int, int] = {}
    for x in pairs.tolist():
        s, u = divmod(x, n_u)
        moves[x] = []
        for a in range(problem.n_actions):
            if mask[s, u] >> a & 1:
                taken = problem.step(s, u, a)
                paid = taken.event, u
                if paid not in exact:
                    exact[paid] = written(*paid)
                then = taken.s * n_u + taken.u if taken.is_live else None
                if a == policy[s, u]:
                    start[x] = len(moves[x])
                moves[x].append(Move(a, exact[paid], then))
        start.setdefault(x, 0)
    flat = mask.reshape(-1)
    for x, actions in optimal_moves(moves, start, as_written(gamma)).items():
        flat[x] = actions
    return None
