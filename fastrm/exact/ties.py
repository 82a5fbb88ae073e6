"""Actions whose values floating point cannot tell apart: which of them are optimal, exactly.

Where success alone pays, an action is optimal if and only if it begins a shortest path. Elsewhere candidates are
settled by policy iteration in rational arithmetic, the rewards taken as written, where play can lead from the start.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from fastrm.arrays import Array
from fastrm.exact.rational import Move, optimal_moves
from fastrm.kernels import search
from fastrm.kernels.contracts import FAR, LIVE, SUCCESS
from fastrm.machines.language import as_written
from fastrm.problems import Problem

Written = Callable[[int, int], Fraction]
"""What an event pays in a state, as written."""

EXACT_LIMIT = 3000
"""Pairs of cell and state up to which ties are settled in rational arithmetic."""


def settle_by_steps(
    problem: Problem, reward: Array, rounding: Array, written: Written, machine: int, mask: Array
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


def settle(problem: Problem, written: Written, gamma: float, machine: int, policy: Array, mask: Array) -> str | None:
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
