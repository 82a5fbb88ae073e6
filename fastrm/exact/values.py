"""Optimal values with a proven bound on their error, on certain moves and where moves slip or are left to chance.

Where moves are certain, values are found by alternating sweeps of value iteration and then policy iteration; a
deterministic policy is evaluated in closed form, its loops as geometric series. Two bounds enclose the optimum: the
policy's value minus its rounding, and the value plus the largest discounted sum of Bellman residuals that any path can
collect. Both are relative to the size of the values along the way, so they hold up where gamma^length is far below
machine precision.

Elsewhere values are expectations. Sweeps go on until they hardly move; the optimum then lies within v - B and
v + B, where B is the largest discounted sum of residuals, rounding included, that play can collect.

Where floating point cannot tell two returns apart they are compared in rationals. Numbers are taken as they are
written: a discount of 0.9 is 9/10, a reward of 0.1 * 3 is 3/10. Where success alone pays, an action is optimal if and
only if it begins a shortest path. Elsewhere actions whose values floats cannot tell apart are settled by policy
iteration in rationals, where play can lead from the start.

The value of a time-dependent policy that must explore, paid 1 / T for success at step T, is the ceiling of the score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np

from fastrm.arrays import Array, read_only
from fastrm.checks import check_number, check_whole
from fastrm.dispatch import add_row, by_kind
from fastrm.errors import ConfigError
from fastrm.kernels.contracts import FAR, LIVE, MASK, SUCCESS, Tables
from fastrm.kernels.exact import arrival, slip_values, values
from fastrm.machines.language import as_written
from fastrm.problems import (
    Problem,
    Step,
    TabularProblem,
    check_tabular,
    direct_actions,
    every_action,
    pairs_within_reach,
    unsupported,
)

_SWEEPS, _NEAR_SWEEPS, _SLIP_SWEEPS, _ROUNDS = 400, 4, 1_000_000, 10_000
LONGEST = 100_000
"""Steps after which what an episode may still add is bounded instead of computed."""


def value_and_policy(
    tables: Tables, reward: Array, gamma: float, near: tuple[Array, Array] | None = None
) -> tuple[Array, Array, Array]:
    """Return optimal values [n_s, n_cols], a policy [n_s, n_u], and bounds on the errors of the values.

    `near` is policy and bounds of a problem that differs little, such as another gamma: to begin with them is faster.
    Among equally good policies the one found, and with it the last digit of values, may depend on it.
    """
    value, reward = np.zeros((len(tables.next_s), reward.shape[1])), read_only(reward)
    error, policy = np.zeros_like(value), np.zeros((len(value), tables.n_u), dtype=np.int8)
    if gamma == 1.0:
        _iterate_undiscounted(tables, reward, value, policy)
        error[:, : tables.n_u] = 1e-9 * (1.0 + np.abs(value[:, : tables.n_u]))
        return value, policy, error
    above = np.zeros_like(value)
    order, seen = (np.empty(policy.size, dtype=np.int64) for _ in range(2))
    if near is not None:
        policy[...], above[:, : tables.n_u] = near[0], 0.5 * near[1]
        values.evaluate(tables, reward, gamma, policy, value, error, order, seen)
    for count in range(_SWEEPS if near is None else _NEAR_SWEEPS):  # until the values hardly move
        if values.sweep(tables, reward, gamma, value, policy, count % 2 == 0) <= 1e-7:
            break
    for _ in range(_ROUNDS):  # until no other policy is better
        values.evaluate(tables, reward, gamma, policy, value, error, order, seen)
        if not values.improve(tables, reward, gamma, value, policy):
            break
    values.excess(tables, reward, gamma, value, above)
    return value, policy, np.maximum(error, above, out=error)


def expected_values(tables: Tables, reward: Array, gamma: float, slip: float) -> tuple[Array, Array, Array]:
    """Return optimal values and bounds on their errors, both [n_s, n_cols], and all actions that may be optimal."""
    if gamma == 1.0:
        raise ConfigError(f"gamma=1: expected values {'with slip' if slip else 'by chance'} need a gamma below 1")
    value, reward = np.zeros((len(tables.next_s), reward.shape[1])), read_only(reward)
    residual, error = np.empty_like(value), np.empty_like(value)
    for count in range(_SLIP_SWEEPS):
        if slip_values.sweep(tables, reward, gamma, slip, value, count % 2 == 0) <= 1e-15:
            break
    slip_values.enclose(tables, reward, gamma, slip, value, residual, error)
    mask = np.empty((len(value), tables.n_u), dtype=MASK)
    slip_values.candidates(tables, reward, gamma, slip, value, error, mask)
    return value, error, mask


@by_kind
def value_range(problem: Problem, gamma: float) -> tuple[float, float]:
    r"""Return the smallest and the largest optimal value of a cell and state from which a task can be completed.

    >>> import fastrm
    >>> grid = fastrm.GridMap.parse("XXXXX\nXA aX\nXXXXX")
    >>> value_range(fastrm.compile(grid, fastrm.RewardMachine.sequence("a")), gamma=0.5)
    (0.5, 1.0)
    """
    raise unsupported(problem)


@add_row(value_range, TabularProblem)
def value_range_of_tables(problem: TabularProblem, gamma: float) -> tuple[float, float]:
    """Return the smallest and the largest optimal value; see `value_range`."""
    check_gamma(gamma)
    problem = problem.at(gamma)
    tables, n_u = problem.tables, problem.tables.n_u
    if not problem.is_certain:
        value = expected_values(tables, problem.plain, gamma, problem.slip)[0]
    else:
        value = value_and_policy(tables, problem.plain, float(gamma))[0]
    shifted = value[:, :n_u] - (0.0 if problem.potential is None else problem.potential[:, :n_u])
    hopeful = shifted[problem.steps_to_go[:, :n_u] < FAR]
    return float(hopeful.min()), float(hopeful.max())


def largest_arps(problem: TabularProblem, machine: int, epsilon: float, horizon: int) -> float:
    """Return the largest expected task reward per step of any policy that must explore; see `kernels.exact.arrival`.

    A horizon too long to go through is replaced by two bounds: from `LONGEST` steps on, nothing is earned, or all of
    what can be earned at once. NaN for machines that are scored by their own rewards.
    """
    if problem.machines[machine].score == "own":
        return math.nan
    tables, n_u = problem.tables, problem.tables.n_u
    if problem.steps_to_go[tables.starts, tables.first_u[machine]].min() > min(horizon, FAR - 1):
        return 0.0
    every = every_action(tables)
    pairs = pairs_within_reach(tables, every, machine)
    pairs = pairs[problem.steps_to_go[:, :n_u].reshape(-1)[pairs] < FAR]
    links = np.empty((len(pairs), tables.next_s.shape[1]), dtype=np.int64)
    arrival.link(tables, pairs, np.empty(every.size, dtype=np.int64), links)
    scratch = np.empty(len(pairs) + 2), np.empty(len(pairs) + 2)
    limit, rest = min(horizon, LONGEST), 1.0 / (LONGEST + 1)
    chance = None if tables.chance is None else tables.chance[pairs // n_u]
    play = links, chance, tables.starts.size, float(epsilon), problem.slip, limit
    found = float(arrival.ceiling(*play, 0.0, *scratch))
    if limit < horizon:
        above = float(arrival.ceiling(*play, rest, *scratch))
        if above - found > 1e-9 * above:
            raise ConfigError(
                f"horizon={horizon}: episodes that go on after {LONGEST} steps matter, so the ceiling is known to lie "
                f"between {found:.8g} and {above:.8g} only; give a shorter horizon"
            )
    return found


def highest_action(mask: Array) -> Array:
    """Return the highest action of every mask."""
    actions = np.zeros(mask.shape, dtype=np.int8)
    for a in range(1, int(mask.max(initial=0)).bit_length()):
        actions[(mask >> a & 1).astype(np.bool_)] = a
    return actions


def action_mask(policy: Array) -> Array:
    """Return every action as a mask with its bit alone."""
    masks: Array = np.left_shift(MASK(1), policy.astype(MASK))
    return masks


def task_reward(tables: Tables) -> Array:
    """Return the rewards of the Boolean twin: 1 for success, else 0."""
    twin: Array = (tables.outcome == SUCCESS).astype(np.float64)
    return twin


def check_gamma(gamma: float) -> None:
    """Raise ConfigError unless 0 < `gamma` <= 1."""
    check_number("gamma", gamma, 0, 1)
    if gamma == 0:
        raise ConfigError("gamma=0: must be above 0 and at most 1")


def check_request(problem: TabularProblem, gamma: float, machine: int) -> None:
    """Raise ConfigError unless these are a problem, a discount, and the number of one of its machines."""
    check_tabular(problem)
    check_gamma(gamma)
    check_whole("machine", machine, 0, len(problem.machines) - 1)


def refuse_slip(problem: TabularProblem, what: str) -> None:
    """Raise ConfigError where moves slip or are left to chance: a question about paths needs certain moves."""
    if not problem.is_certain:
        why, cure = (
            (f"slip={problem.slip:g}", "compile with slip=0")
            if problem.slip
            else (f"{problem.source}: moves have several outcomes by chance", "take a world without")
        )
        raise ConfigError(f"{why}: {what} is about certain paths; {cure}, or ask fastrm.solve for expected values")


def _iterate_undiscounted(tables: Tables, reward: Array, value: Array, policy: Array) -> None:
    """Sweep until nothing moves; values that still rise after as many sweeps as there are pairs rise for ever."""
    for count in range(2 * policy.size + 10):
        before = value.copy() if count >= policy.size else None
        if values.sweep(tables, reward, 1.0, value, policy, count % 2 == 0) == 0.0:
            return
        if before is not None and (value > before).any():
            raise ConfigError("gamma=1: a loop pays for ever, so the sum of rewards has no bound; use a gamma below 1")
    raise ConfigError("gamma=1: the values do not settle within reasonable time; use a gamma below 1")


Pair = tuple[int, int]
"""Number of a cell, column of a machine state."""


def follow(problem: TabularProblem, policy: Array, pair: Pair) -> tuple[tuple[Pair, ...], int | None, bool]:
    """Follow a policy from a pair: the pairs visited, the index it returns to or None, and whether it succeeds."""
    trail: dict[Pair, int] = {}
    while pair not in trail:
        trail[pair] = len(trail)
        taken = problem.step(*pair, policy[pair])
        pair = taken.s, taken.u
        if not taken.is_live:
            return (*trail, pair), None, taken.is_success
    return tuple(trail), trail[pair], False


def follow_option(
    problem: TabularProblem, policy: Array, s: int, u: int
) -> tuple[list[int], list[float], int | None, Step]:
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

    `moves` to choose from, per pair, lead to pairs of the mapping only. `policy` has the index into ``moves[x]`` to
    begin with, where a good guess saves rounds, and is updated.
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
            value[x] = path_return([moves[y][policy[y]].paid for y in trail[place[x] :]], 0, gamma)
        for y in reversed(trail):
            if y not in value:
                _, paid, then = moves[y][policy[y]]
                value[y] = paid if then is None else paid + gamma * value[then]
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
    direct = direct_actions(tables, problem.steps_to_go)
    hopeful = problem.steps_to_go[:, mine] < FAR
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
    pairs = pairs_within_reach(tables, mask, machine)
    here = mask.reshape(-1)[pairs]
    if not (here & (here - 1)).any():
        return None
    if gamma == 1.0:
        return "gamma = 1 leaves the order of rewards open; every path of equal reward counts as optimal"
    if len(pairs) > EXACT_LIMIT:
        direct = direct_actions(tables, problem.steps_to_go)
        if not (here & ~direct.reshape(-1)[pairs]).any():
            return None  # whichever of them is optimal, it begins a shortest path
        return (
            f"{len(pairs)} pairs of cell and state have returns that floating point cannot tell apart; "
            f"rational arithmetic is used up to {EXACT_LIMIT}"
        )
    exact = cache(written)
    moves: dict[int, list[Move]] = {}
    start: dict[int, int] = {}
    for x in pairs.tolist():
        s, u = divmod(x, n_u)
        allowed = [a for a in range(problem.n_actions) if mask[s, u] >> a & 1]
        start[x] = allowed.index(policy[s, u]) if policy[s, u] in allowed else 0
        steps = [(a, problem.step(s, u, a)) for a in allowed]
        moves[x] = [Move(a, exact(to.event, u), to.s * n_u + to.u if to.is_live else None) for a, to in steps]
    flat = mask.reshape(-1)
    for x, actions in optimal_moves(moves, start, as_written(gamma)).items():
        flat[x] = actions
    return None
