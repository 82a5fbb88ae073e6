"""How large the rewards must be: the smallest terminal reward, the largest step reward, the discounts that work.

A path P that succeeds after l steps returns C(P) + gamma^(l-1) R, where R is the terminal reward and C the rest; one
that never succeeds returns C(P). Let L be the shortest length and C_L the largest C of a shortest path. As R grows, no
path gains more than a shortest one, so there is one threshold

    R* = sup over all other paths P of (C(P) - C_L) / (gamma^(L-1) - gamma^(l-1)),

the second power being 0 for paths that never succeed. It is -infinity where every path is a shortest one. From a reward
at which the optimal path is no shortest one, R is raised to where that path ties with the shortest ones, until the
optimal path is a shortest one (Newton's method on a convex, piecewise linear function: it needs a handful of rounds).
Along the paths R is evaluated in rationals.

Where to start: if no reward on the way exceeds M, any two C differ by at most 2 M / (1 - gamma), and the powers differ
by at least gamma^(L-1) (1 - gamma). So wherever there is another path,

    R* >= -2 M / (gamma^(L-1) (1 - gamma)^2).

Most often a reward nearer 0, -M / (1 - gamma), is low enough; it is tried first, for it leaves more digits.

Only the ratio of the terminal reward to all others matters, so the rewards on the way may grow by the factor R / R*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from fastrm.arrays import Array, read_only
from fastrm.errors import ConfigError
from fastrm.exact.tabular import solve_rewards
from fastrm.exact.values import Pair, follow, path_return, refuse_slip, value_and_policy
from fastrm.kernels.contracts import FAR, SUCCESS
from fastrm.kernels.exact import values
from fastrm.machines.language import as_written, constant
from fastrm.problems import TabularProblem, check_tabular

_ROUNDS = 200
_GRID = 49
_LARGE = 1e307
_NEAR = {0.0: 1e-3, 1.0: 1 - 1e-6}


def critical_reward(problem: TabularProblem, gamma: float, machine: int = 0) -> Fraction | float:
    """Return the threshold R* of the terminal reward; every edge into a success is taken to pay R.

    At R* itself a shortest path and another one are both optimal. Where every path is a shortest one all terminal
    rewards do, and R* is -infinity (as it is where it lies below -1e307). Of several starts the largest R* counts.
    """
    check_tabular(problem)
    refuse_slip(problem, "the threshold of the terminal reward")
    if gamma >= 1:
        raise ConfigError("gamma=1: the threshold of the terminal reward needs a gamma below 1")
    tables, g = problem.tables, as_written(gamma)
    u = int(tables.first_u[machine])
    starts = [(int(s), u) for s in tables.starts]
    fewest = [int(problem.steps_to_go[pair]) for pair in starts]
    success = tables.outcome == SUCCESS
    on_the_way = np.where(success, 0.0, problem.plain)
    _, shortest = best_shortest_paths(problem, on_the_way, gamma)

    def tie_of(policy: Array) -> Fraction | None:
        """Return where a policy's paths tie with the shortest ones, None if they are among them."""
        ties = [_tie(problem, g, *start, policy, shortest) for start in zip(starts, fewest, strict=True)]
        return max((tie for tie in ties if tie is not None), default=None)

    def tie_at(terminal: Fraction) -> Fraction | None:
        """Return where the optimal path at a terminal reward ties with the shortest ones."""
        reward = np.where(success, as_float(terminal), on_the_way)
        tie = tie_of(value_and_policy(tables, reward, gamma)[1])
        if tie is None or tie <= terminal:  # so it is, unless rounding hid a better path

            def written(event: int, u: int) -> Fraction:
                return terminal if success[event, u] else problem.written(event, u)

            tie = tie_of(solve_rewards(problem, reward, gamma, machine, written).policy)
        return tie

    most = Fraction(float(np.abs(on_the_way).max()))
    lowest = max(-(3 * most + 1) / (g ** (max(fewest) - 1) * (1 - g) ** 2), -Fraction(_LARGE))
    for terminal in (-(most + 1) / (1 - g), lowest):
        tie = tie_at(terminal)
        if tie is not None and tie >= terminal:
            break
    else:
        return -math.inf
    for _ in range(_ROUNDS):
        if tie is None or tie <= terminal:
            break
        terminal = tie
        if math.isinf(as_float(terminal)):
            break
        tie = tie_at(terminal)
    return terminal


def _tie(
    problem: TabularProblem, gamma: Fraction, pair: Pair, fewest: int, policy: Array, shortest: Array
) -> Fraction | None:
    """Return the terminal reward at which a policy's path and a shortest one earn the same, None if it is one."""
    path, loop, succeeds = follow(problem, policy, pair)
    if succeeds and len(path) - 1 <= fewest:
        return None
    rest = _rest_of_return(problem, policy, path, loop, gamma)
    direct = _rest_of_return(problem, shortest, follow(problem, shortest, pair)[0], None, gamma)
    return (rest - direct) / (gamma ** (fewest - 1) - (gamma ** (len(path) - 2) if succeeds else 0))


def as_float(value: Fraction | float) -> float:
    """Return the nearest float, infinite beyond the largest."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def critical_scale(problem: TabularProblem, machine: int, critical: float) -> float | None:
    """Return the factor by which the rewards on the way may grow; None where there is no largest one."""
    task = problem.machines[machine]
    paid = {constant(e.reward) for e in task.edges if e.target in task.success}
    if len(paid) != 1 or (terminal := paid.pop()) is None:
        return None
    if critical > 0:
        return max(terminal, 0.0) / critical
    return math.inf if terminal > critical else None


def critical_step_reward(problem: TabularProblem, machine: int, scale: float | None) -> float | None:
    """Return the largest step reward, where all rewards on the way are 0 or one positive constant."""
    task = problem.machines[machine]
    paid = {constant(e.reward) for e in task.edges if e.target not in task.success} - {0.0}
    if scale is None or len(paid) != 1 or (step := paid.pop()) is None or step < 0:
        return None
    return scale * step


def interval(holds: Callable[[float], bool], gamma: float) -> tuple[float, float] | None:
    """Return the ends of the interval of discounts around `gamma`, or nearest to it, on which `holds` is true."""
    grid = sorted({*(np.arange(1, _GRID + 1) / (_GRID + 1)).tolist(), *([gamma] if gamma < 1 else [])})
    for seed in sorted(grid, key=lambda g: abs(g - gamma)):
        if holds(seed):
            low = _edge(holds, seed, [g for g in reversed(grid) if g < seed], 0.0)
            return low, _edge(holds, seed, [g for g in grid if g > seed], 1.0)
    return None


def _edge(holds: Callable[[float], bool], inside: float, points: Sequence[float], end: float) -> float:
    """Walk outwards while the verdict holds, then bisect."""
    for point in (*points, _NEAR[end]):
        if not holds(point):
            outside = point
            break
        inside = point
    else:
        return end
    while abs(outside - inside) > 1e-6:
        middle = (inside + outside) / 2
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return inside


def best_shortest_path(
    problem: TabularProblem, reward: Array, gamma: float, machine: int
) -> tuple[float, tuple[Pair, ...]]:
    """Return the largest return of a shortest path from the (first) start, and the pairs it visits."""
    value, policy = best_shortest_paths(problem, reward, gamma)
    pair = problem.start, int(problem.tables.first_u[machine])
    return float(value[pair]), follow(problem, policy, pair)[0]


def best_shortest_paths(problem: TabularProblem, reward: Array, gamma: float) -> tuple[Array, Array]:
    """Return the largest return of a shortest path from every pair, and the policy that earns it."""
    tables = problem.tables
    distance = problem.steps_to_go
    flat = distance[:, : tables.n_u].reshape(-1)
    order = np.argsort(flat, kind="stable")
    order = order[flat[order] < FAR]
    value = np.empty(distance.shape)
    policy = np.zeros((len(tables.next_s), tables.n_u), dtype=np.int8)
    values.best_shortest(tables, read_only(reward), float(gamma), distance, order, value, policy)
    return value, policy


def _rest_of_return(
    problem: TabularProblem, policy: Array, path: Sequence[Pair], loop: int | None, gamma: Fraction
) -> Fraction:
    """Return what a policy's path earns beside the terminal reward; pairs alone do not tell what its moves pay."""
    tables, paid = problem.tables, []
    for s, u in path if loop is not None else path[:-1]:
        event = int(tables.event[s, policy[s, u]])
        paid.append(Fraction(0) if tables.outcome[event, u] == SUCCESS else problem.written(event, u))
    return path_return(paid, loop, gamma)
