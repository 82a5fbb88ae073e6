"""Does the reward lead to shortest paths? A verdict about all optimal policies, a witness, and thresholds.

Let D(s, u) be the steps to go. With a discount below 1 every policy that always takes an optimal action is optimal, so
all optimal policies take shortest paths from the start if and only if, wherever optimal actions can lead, each of them
lowers D by one. With gamma 1 the same test is applied to the actions that keep the value.

Of several starts the one with the worst verdict counts, and the witness sets out from it.

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
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from fastrm.arrays import Array, read_only
from fastrm.dispatch import add_row
from fastrm.errors import ConfigError
from fastrm.exact.answers import Guarantee, Witness, guarantee
from fastrm.exact.tabular import TabularSolution, solve_near, solve_rewards
from fastrm.exact.values import Pair, action_mask, check_request, follow, path_return, refuse_slip, value_and_policy
from fastrm.kernels.contracts import FAR, SUCCESS
from fastrm.kernels.exact import values
from fastrm.machines.language import as_written, constant
from fastrm.problems import TabularProblem, check_tabular, direct_actions, distances, pairs_within_reach

_ROUNDS = 200
_GRID = 49
_LARGE = 1e307
_NEAR = {0.0: 1e-3, 1.0: 1 - 1e-6}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TabularGuarantee(Guarantee):
    """The verdict on one machine on a map or a table; of several starts that of the worst, ``witness.path[0]``."""

    solution: TabularSolution
    """The optimum that the verdict is about."""
    from_worst: TabularSolution
    """The same, seen from the start with the worst verdict alone."""
    ways: Array
    """A bit per action, [n_s, n_u]: what the optimal policy of the witness may do."""

    @property
    def shortest(self) -> int:
        """Length of a shortest path, from the start with the worst verdict."""
        return int(self.from_worst.shortest)

    @cached_property
    def witness(self) -> Witness:
        """What an optimal policy does, leaving the shortest routes wherever it may, and what a shortest path earns."""
        solution, problem = self.from_worst, self.from_worst.problem
        direct, pair = _direct(solution), (problem.start, solution.first_u)
        trail: dict[Pair, int] = {}
        leaves, state, finished = None, "", False
        while pair not in trail and not finished:
            trail[pair] = len(trail)
            s, u = pair
            allowed, direct_here = int(self.ways[s, u]), int(direct[s, u])
            a = ((allowed & ~direct_here) or allowed).bit_length() - 1
            if leaves is None and not direct_here >> a & 1:
                leaves, state = problem.terrain.cells_of([s])[0], problem.states[u][1]
            taken = problem.step(s, u, a)
            finished, pair = not taken.is_live, (taken.s, taken.u)
        path = problem.terrain.cells_of([s for s, _ in (*trail, *[pair] * finished)])
        if not finished:
            state = problem.states[pair[1]][1]
        best, policy = _best_shortest_paths(problem, solution.reward, solution.gamma)
        first = problem.start, solution.first_u
        return Witness(
            path=path,
            loop=() if finished else path[trail[pair] :],
            state=state,
            leaves_at=leaves,
            shortest_path=problem.terrain.cells_of([s for s, _ in follow(problem, policy, first)[0]]),
            optimal_return=float(solution.value[first]),
            shortest_return=float(best[first]) + solution.offset,
        )

    @cached_property
    def critical_reward(self) -> float:
        """Smallest terminal reward R* above which all optimal policies take shortest paths."""
        solution = self.solution
        return as_float(critical_reward(solution.problem, solution.gamma, solution.machine))

    @cached_property
    def critical_scale(self) -> float | None:
        """Factor by which all rewards on the way may grow before the optimum leaves the shortest paths."""
        critical, terminal = self.critical_reward, self._only_reward(success=True)
        if terminal is None:
            return None
        if critical > 0:
            return max(terminal, 0.0) / critical
        return math.inf if terminal > critical else None

    @cached_property
    def critical_step_reward(self) -> float | None:
        """Largest step reward r* that keeps the optimum on shortest paths; None where there is no single one."""
        step = self._only_reward(success=False)
        return None if self.critical_scale is None or step is None or step < 0 else self.critical_scale * step

    def _only_reward(self, success: bool) -> float | None:
        """Return what all edges into a success pay, or what all others pay that pay anything; None if they differ."""
        task = self.solution.problem.machines[self.solution.machine]
        paid = {constant(edge.reward) for edge in task.edges if (edge.target in task.success) == success}
        paid -= set() if success else {0.0}
        return paid.pop() if len(paid) == 1 else None

    @cached_property
    def gamma_interval(self) -> tuple[float, float] | None:
        """Discounts around the given one, or nearest to it, with the verdict *shortest*; None if there are none."""
        known = [self.solution]

        def holds(gamma: float) -> bool:
            below = max((one for one in known if one.gamma < gamma), key=lambda one: one.gamma, default=None)
            found = solve_near(self.solution.problem, gamma, self.solution.machine, below or known[-1])
            known[:] = [found] if below is None else [below, found]  # a bisection goes on from one of the two
            return not _leaves_shortest_paths(found)

        return _interval(holds, self.solution.gamma)


@add_row(guarantee, TabularProblem)
def guarantee_tables(problem: TabularProblem, gamma: float = 0.9, machine: int = 0) -> TabularGuarantee:
    """Decide whether all optimal policies on a map or a table take shortest paths."""
    check_request(problem, gamma, machine)
    refuse_slip(problem, "a guarantee")
    solution = solve_near(problem, gamma, machine)
    remaining = distances(problem.tables, solution.optimal)
    solution, everywhere = _from_worst_start(solution, remaining), solution
    goal, is_shortest = int(solution.shortest), not _leaves_shortest_paths(solution)
    fewest = int(remaining[solution.problem.start, solution.first_u])
    length = fewest if fewest < FAR else None
    if is_shortest:
        verdict = "shortest"
    elif length is None:  # certain even among candidates: all optimal actions are among them
        verdict = "never finishes" if _can_go_on_for_ever(solution) else "ends in failure"
    elif solution.undecided is not None and gamma < 1:
        verdict = "undecided"
    elif length == goal:
        verdict = "shortest for some optimal policies only"
    else:
        verdict = f"detour (+{length - goal} step{'s' if length - goal > 1 else ''})"
    if gamma == 1:  # not every action that keeps the value earns it
        ways = action_mask(solution.policy)
    elif verdict.startswith("detour"):
        ways = direct_actions(solution.tables, remaining) & solution.optimal
    else:
        ways = solution.optimal
    return TabularGuarantee(
        solution=everywhere,
        verdict=verdict,
        is_shortest=is_shortest,
        some_are_shortest=length == goal,
        length=length,
        from_worst=solution,
        ways=ways,
        reason=solution.undecided if verdict == "undecided" else None,
    )


def _from_worst_start(solution: TabularSolution, remaining: Array) -> TabularSolution:
    """Return the solution seen from the start that optimal policies treat worst; `remaining` are their fewest steps."""
    starts = solution.tables.starts
    if starts.size == 1:
        return solution
    extra = (remaining - solution.problem.steps_to_go)[starts, solution.first_u]
    cells = solution.problem.starts
    worst = solution.from_start(cells[int(extra.argmax())])
    if extra.max() > 0 or not _leaves_shortest_paths(solution):
        return worst
    return next(one for one in map(solution.from_start, cells) if _leaves_shortest_paths(one))


def _leaves_shortest_paths(solution: TabularSolution) -> bool:
    """Return whether some optimal action, wherever optimal actions can lead, begins no shortest path."""
    return bool((solution.optimal & ~_direct(solution)).reshape(-1)[_reachable(solution)].any())


def _direct(solution: TabularSolution) -> Array:
    """Return the actions that begin shortest paths, a bit each."""
    return direct_actions(solution.tables, solution.problem.steps_to_go)


def _reachable(solution: TabularSolution) -> Array:
    """Return the pairs that optimal actions can lead to."""
    return pairs_within_reach(solution.tables, solution.optimal, solution.machine)


def _can_go_on_for_ever(solution: TabularSolution) -> bool:
    """Return whether optimal actions can avoid every end; pairs whose every optimal action ends are struck out."""
    problem, n_u = solution.problem, solution.tables.n_u
    alive = set(_reachable(solution).tolist())
    size = -1
    while len(alive) != size:
        size = len(alive)
        for x in list(alive):
            s, u = divmod(x, n_u)
            steps = [problem.step(s, u, a) for a in range(problem.n_actions) if solution.optimal[s, u] >> a & 1]
            if not any(taken.is_live and taken.s * n_u + taken.u in alive for taken in steps):
                alive.discard(x)
    return bool(alive)


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
    _, shortest = _best_shortest_paths(problem, on_the_way, gamma)

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


def _interval(holds: Callable[[float], bool], gamma: float) -> tuple[float, float] | None:
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


def _best_shortest_paths(problem: TabularProblem, reward: Array, gamma: float) -> tuple[Array, Array]:
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
