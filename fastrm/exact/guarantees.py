"""Does the reward lead to shortest paths? A verdict about all optimal policies, with a witness.

Let D(s, u) be the steps to go. Every policy that always takes an optimal action is optimal, so all optimal policies
take shortest paths from the start if and only if, wherever optimal actions can lead, each of them lowers D by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fastrm.compiler import Problem
from fastrm.exact import thresholds
from fastrm.exact.solve import Cell, Solution, as_cells, solve
from fastrm.kernels import dp
from fastrm.kernels.tables import LIVE, N_ACTIONS, SUCCESS

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Witness:
    """What an optimal policy does, and what a shortest path would earn instead."""

    path: tuple[Cell, ...]
    """Cells an optimal policy visits from the start; where it never finishes, up to the end of its first loop."""
    loop: tuple[Cell, ...]
    """The cells it visits over and over, empty if it finishes."""
    state: str
    """Machine state in which it leaves the shortest route, or in which it ends up; empty if it never leaves."""
    leaves_at: Cell | None
    """Cell where it leaves the shortest route, None if it never does."""
    shortest_path: tuple[Cell, ...]
    """The shortest path that earns most."""
    optimal_return: float
    """Discounted reward of the optimal policy."""
    shortest_return: float
    """Discounted reward of the best shortest path."""


@dataclass(frozen=True, eq=False)
class Guarantee:
    """The verdict on one machine of a problem."""

    solution: Solution
    verdict: str
    """``shortest``, ``shortest for some optimal policies only``, ``detour (+k steps)``, ``never finishes`` or
    ``undecided``."""
    shortest: bool
    """Whether all optimal policies take shortest paths."""
    some_shortest: bool
    """Whether at least one does."""
    length: int | None
    """Fewest steps in which an optimal policy completes the task, None if none does."""
    shortest_length: int
    """Length of a shortest path."""
    witness: Witness
    reason: str | None
    """Why there is no verdict, where there is none."""

    @cached_property
    def critical_reward(self) -> float:
        """Smallest terminal reward R* above which all optimal policies take shortest paths."""
        return float(thresholds.critical_reward(self.solution.problem, self.solution.gamma, self.solution.machine))

    @cached_property
    def critical_scale(self) -> float:
        """Factor by which all rewards on the way may grow before the optimum leaves the shortest paths."""
        return thresholds.critical_scale(self.solution.problem, self.solution.machine, self.critical_reward)

    @cached_property
    def critical_step_reward(self) -> float | None:
        """Largest step reward r* that keeps the optimum on shortest paths; None where there is no single one."""
        return thresholds.critical_step_reward(self.solution.problem, self.solution.machine, self.critical_scale)

    @cached_property
    def gamma_interval(self) -> tuple[float, float] | None:
        """Discounts around the given one, or nearest to it, with the verdict *shortest*; None if there are none.

        The ends are found to 1e-6 between neighbouring points of a grid of 49, so a gap narrower than a fiftieth may go
        unseen.
        """

        def holds(gamma: float) -> bool:
            return guarantee(self.solution.problem, gamma, self.solution.machine).shortest

        return thresholds.interval(holds, self.solution.gamma)


def guarantee(problem: Problem, gamma: float = 0.9, machine: int = 0) -> Guarantee:
    """Decide whether all optimal policies take shortest paths.

    Parameters
    ----------
    problem : Problem
        The compiled map and machines.
    gamma : float
        Discount factor, above 0 and at most 1.
    machine : int
        Which machine of a multi-task problem.

    >>> import fastrm
    >>> grid = fastrm.GridMap.generate("1a1b", size=15, seed=1)
    >>> numeric = fastrm.RewardMachine.sequence("a-b", kind="numeric", terminal_reward=0)
    >>> verdict = guarantee(fastrm.compile(grid, numeric))
    >>> verdict.verdict, verdict.witness.state
    ('never finishes', 'u0')
    >>> verdict.critical_reward > 0
    True
    """
    solution = solve(problem, gamma, machine)
    tables = problem.tables
    distance = np.empty((len(tables.next_s), tables.reward.shape[1]), dtype=np.int32)
    dp.steps_to_go(tables, distance)
    direct = np.empty(solution.optimal.shape, dtype=np.uint8)
    dp.direct_actions(tables, distance, direct)
    pairs = _reachable(solution, solution.optimal)
    astray = (solution.optimal & ~direct).reshape(-1)[pairs] != 0
    length = _fewest_steps(solution)
    shortest, goal = not astray.any(), solution.shortest
    if shortest:
        verdict = "shortest"
    elif length is None:  # certain even among candidates: all optimal actions are among them
        verdict = "never finishes"
    elif solution.undecided is not None and gamma < 1:
        verdict = "undecided"
    elif length == goal:
        verdict = "shortest for some optimal policies only"
    else:
        verdict = f"detour (+{length - goal} step{'s' if length - goal > 1 else ''})"
    return Guarantee(
        solution=solution,
        verdict=verdict,
        shortest=shortest,
        some_shortest=length == goal,
        length=length,
        shortest_length=goal,
        witness=_witness(solution, direct, distance, keep_finishing=length is not None and length != goal),
        reason=solution.undecided if verdict == "undecided" else None,
    )


def _reachable(solution: Solution, mask: Array) -> Array:
    seen, queue = np.empty(mask.size, dtype=np.uint8), np.empty(mask.size, dtype=np.int64)
    count = dp.reach(solution.tables, mask, solution.first_u, seen, queue)
    return queue[:count]


def _fewest_steps(solution: Solution) -> int | None:
    """Return the length of the shortest path of optimal actions that succeeds."""
    tables, n_u = solution.tables, solution.tables.n_u
    depth = {tables.start * n_u + solution.first_u: 0}
    frontier = list(depth)
    while frontier:
        following = []
        for x in frontier:
            s, u = divmod(x, n_u)
            for a in range(N_ACTIONS):
                if not solution.optimal[s, u] >> a & 1:
                    continue
                e = tables.event[s, a]
                if tables.outcome[e, u] == SUCCESS:
                    return depth[x] + 1
                y = int(tables.next_s[s, a]) * n_u + int(tables.delta[e, u])
                if tables.outcome[e, u] == LIVE and y not in depth:
                    depth[y] = depth[x] + 1
                    following.append(y)
        frontier = following
    return None


def _witness(solution: Solution, direct: Array, distance: Array, keep_finishing: bool) -> Witness:
    """Walk the way an optimal policy goes, leaving the shortest route wherever that is optimal."""
    problem, tables = solution.problem, solution.tables
    pair = tables.start, solution.first_u
    trail: dict[tuple[int, int], int] = {}
    leaves, state, loop_from, finished = None, "", None, False
    remaining = _optimal_distance(solution) if keep_finishing else None
    while pair not in trail and not finished:
        trail[pair] = len(trail)
        s, u = pair
        allowed = int(solution.optimal[s, u])
        if remaining is not None:
            allowed = _lowering(solution, remaining, s, u)
        elif allowed & ~int(direct[s, u]):
            allowed &= ~int(direct[s, u])
        a = allowed.bit_length() - 1
        if leaves is None and not direct[s, u] >> a & 1:
            leaves, state = as_cells(problem, [s])[0], problem.states[u][1]
        e = tables.event[s, a]
        finished = bool(tables.outcome[e, u] != LIVE)
        pair = int(tables.next_s[s, a]), int(tables.delta[e, u])
    numbers = [s for s, _ in trail]
    if finished:
        numbers.append(pair[0])
    else:
        loop_from = trail[pair]
        state = problem.states[pair[1]][1]
    best, route = thresholds.best_shortest_path(problem, solution.reward, solution.gamma, solution.machine, distance)
    return Witness(
        path=as_cells(problem, numbers),
        loop=() if loop_from is None else as_cells(problem, numbers[loop_from:]),
        state=state,
        leaves_at=leaves,
        shortest_path=as_cells(problem, [s for s, _ in route]),
        optimal_return=float(solution.value[tables.start, solution.first_u]),
        shortest_return=best,
    )


def _optimal_distance(solution: Solution) -> dict[int, int]:
    """Return the steps to a success by optimal actions alone, for the pairs that have such a path."""
    tables, n_u = solution.tables, solution.tables.n_u
    pairs = _reachable(solution, solution.optimal).tolist()
    steps: dict[int, int] = {}
    changed = True
    while changed:
        changed = False
        for x in reversed(pairs):
            s, u = divmod(x, n_u)
            for a in range(N_ACTIONS):
                if not solution.optimal[s, u] >> a & 1:
                    continue
                e = tables.event[s, a]
                ahead = 0 if tables.outcome[e, u] == SUCCESS else None
                if tables.outcome[e, u] == LIVE:
                    ahead = steps.get(int(tables.next_s[s, a]) * n_u + int(tables.delta[e, u]))
                if ahead is not None and ahead + 1 < steps.get(x, ahead + 2):
                    steps[x] = ahead + 1
                    changed = True
    return steps


def _lowering(solution: Solution, steps: dict[int, int], s: int, u: int) -> int:
    """Return the optimal actions that lower the steps to go by optimal actions, a bit each."""
    tables, n_u, mask = solution.tables, solution.tables.n_u, 0
    for a in range(N_ACTIONS):
        if solution.optimal[s, u] >> a & 1:
            e = tables.event[s, a]
            ahead = 0 if tables.outcome[e, u] == SUCCESS else None
            if tables.outcome[e, u] == LIVE:
                ahead = steps.get(int(tables.next_s[s, a]) * n_u + int(tables.delta[e, u]))
            if ahead is not None and ahead == steps[s * n_u + u] - 1:
                mask |= 1 << a
    return mask
