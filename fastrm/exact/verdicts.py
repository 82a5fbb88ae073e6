"""Does the reward lead to shortest paths? A verdict about all optimal policies, with a witness.

Let D(s, u) be the steps to go. With a discount below 1 every policy that always takes an optimal action is optimal, so
all optimal policies take shortest paths from the start if and only if, wherever optimal actions can lead, each of them
lowers D by one. With gamma 1 the same test is applied to the actions that keep the value.

Of several starts the one with the worst verdict counts, and the witness sets out from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np

from fastrm.arrays import Array
from fastrm.exact import thresholds
from fastrm.exact.solve import Solution, solve, solve_near
from fastrm.exact.values import action_mask, check_request, refuse_slip
from fastrm.exact.water import WaterGuarantee, guarantee_water
from fastrm.kernels.contracts import FAR
from fastrm.kernels.exact import search
from fastrm.problems import Problem, WaterProblem, distances
from fastrm.worlds import Cell


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
    """The verdict on one machine of a problem; `guarantee` makes one. Thresholds are found when first asked for.

    Examples
    --------
    >>> import fastrm
    >>> grid = fastrm.GridMap.generate("1a1b", size=15, seed=2)
    >>> found = guarantee(fastrm.compile(grid, fastrm.task("a-b", kind="numeric", terminal_reward=0)))
    >>> found
    <Guarantee never finishes: optimal None, shortest 13 steps>
    >>> round(found.critical_reward, 6)
    12.727778
    """

    solution: Solution
    """The optimum that the verdict is about."""
    verdict: str
    """``shortest``, ``shortest for some optimal policies only``, ``detour (+k steps)``, ``never finishes``,
    ``ends in failure`` or ``undecided``."""
    is_shortest: bool
    """Whether all optimal policies take shortest paths."""
    some_are_shortest: bool
    """Whether at least one does."""
    length: int | None
    """Fewest steps in which an optimal policy completes the task, None if none does; of several starts those of the
    start with the worst verdict, ``witness.path[0]``."""
    shortest: int
    """Length of a shortest path, from the same start."""
    witness: Witness
    """What an optimal policy does, and what a shortest path would earn."""
    reason: str | None
    """Why there is no verdict, where there is none."""

    def __repr__(self) -> str:
        return f"<Guarantee {self.verdict}: optimal {self.length}, shortest {self.shortest} steps>"

    def _repr_html_(self) -> str:
        """Show verdict and witness in a notebook."""
        from fastrm.pages import guarantee_card

        return guarantee_card(self)

    @cached_property
    def critical_reward(self) -> float:
        """Smallest terminal reward R* above which all optimal policies take shortest paths.

        It is -infinity where every path is a shortest one, whatever success pays.
        """
        solution = self.solution
        return thresholds.as_float(thresholds.critical_reward(solution.problem, solution.gamma, solution.machine))

    @cached_property
    def critical_scale(self) -> float | None:
        """Factor by which all rewards on the way may grow before the optimum leaves the shortest paths.

        It is 0 where none keeps it there. None where larger factors would bring it there, or where the terminal reward
        is not one constant.
        """
        return thresholds.critical_scale(self.solution.problem, self.solution.machine, self.critical_reward)

    @cached_property
    def critical_step_reward(self) -> float | None:
        """Largest step reward r* that keeps the optimum on shortest paths; None where there is no single one."""
        return thresholds.critical_step_reward(self.solution.problem, self.solution.machine, self.critical_scale)

    @cached_property
    def gamma_interval(self) -> tuple[float, float] | None:
        """Discounts around the given one, or nearest to it, with the verdict *shortest*; None if there are none.

        The ends are found to 1e-6 between neighbouring points of a grid of 49, so a gap narrower than a fiftieth may go
        unseen; an end of 0 or 1 means that the verdict holds at 0.001 or 0.999999.
        """
        known = [self.solution]

        def holds(gamma: float) -> bool:
            below = max((one for one in known if one.gamma < gamma), key=lambda one: one.gamma, default=None)
            found = solve_near(self.solution.problem, gamma, self.solution.machine, below or known[-1])
            known[:] = [found] if below is None else [below, found]  # a bisection goes on from one of the two
            return not _leaves_shortest_paths(found)

        return thresholds.interval(holds, self.solution.gamma)


@overload
def guarantee(problem: WaterProblem, gamma: float = ..., machine: int = ...) -> WaterGuarantee: ...


@overload
def guarantee(problem: Problem, gamma: float = ..., machine: int = ...) -> Guarantee: ...


def guarantee(problem: Problem | WaterProblem, gamma: float = 0.9, machine: int = 0) -> Guarantee | WaterGuarantee:
    """Decide whether all optimal policies take shortest paths.

    Parameters
    ----------
    problem : Problem or WaterProblem
        The compiled map, or water world, and machines.
    gamma : float
        Discount factor, above 0 and at most 1.
    machine : int
        Which machine of a multi-task problem.

    Returns
    -------
    Guarantee
        The verdict, a witness, and thresholds of rewards and discount.

    Raises
    ------
    ConfigError
        When gamma is out of range, or where moves slip.

    Examples
    --------
    >>> import fastrm
    >>> grid = fastrm.GridMap.generate("1a1b", size=15, seed=1)
    >>> numeric = fastrm.RewardMachine.sequence("a-b", kind="numeric", terminal_reward=0)
    >>> verdict = guarantee(fastrm.compile(grid, numeric))
    >>> verdict.verdict, verdict.witness.state
    ('never finishes', 'u0')
    >>> verdict.critical_reward > 0
    True
    """
    if isinstance(problem, WaterProblem):
        return guarantee_water(problem, gamma, machine)
    check_request(problem, gamma, machine)
    refuse_slip(problem, "a guarantee")
    solution = solve(problem, gamma, machine)
    remaining = distances(problem.tables, solution.optimal)
    solution, everywhere = _from_worst_start(solution, remaining), solution
    problem, tables, goal = solution.problem, solution.tables, int(solution.shortest)
    direct, pairs = _direct(solution), _reachable(solution)
    is_shortest = not _leaves_shortest_paths(solution)
    fewest = int(remaining[problem.start, solution.first_u])
    length = fewest if fewest < FAR else None
    if is_shortest:
        verdict = "shortest"
    elif length is None:  # certain even among candidates: all optimal actions are among them
        verdict = "never finishes" if _can_go_on_for_ever(solution, pairs) else "ends in failure"
    elif solution.undecided is not None and gamma < 1:
        verdict = "undecided"
    elif length == goal:
        verdict = "shortest for some optimal policies only"
    else:
        verdict = f"detour (+{length - goal} step{'s' if length - goal > 1 else ''})"
    if gamma == 1:  # not every action that keeps the value earns it
        ways = action_mask(solution.policy)
    elif verdict.startswith("detour"):
        search.direct_actions(tables, remaining, False, ways := np.empty_like(direct))
        ways &= solution.optimal
    else:
        ways = solution.optimal
    return Guarantee(
        solution=everywhere,
        verdict=verdict,
        is_shortest=is_shortest,
        some_are_shortest=length == goal,
        length=length,
        shortest=goal,
        witness=_witness(solution, ways, direct),
        reason=solution.undecided if verdict == "undecided" else None,
    )


def _from_worst_start(solution: Solution, remaining: Array) -> Solution:
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


def _leaves_shortest_paths(solution: Solution) -> bool:
    """Say whether some optimal action, wherever optimal actions can lead, begins no shortest path."""
    return bool((solution.optimal & ~_direct(solution)).reshape(-1)[_reachable(solution)].any())


def _direct(solution: Solution) -> Array:
    """Return the actions that begin shortest paths, a bit each."""
    direct = np.empty_like(solution.optimal)
    search.direct_actions(solution.tables, solution.problem.steps_to_go, False, direct)
    return direct


def _reachable(solution: Solution) -> Array:
    """Return the pairs that optimal actions can lead to."""
    seen, queue = (np.empty(solution.optimal.size, dtype=dtype) for dtype in (np.uint8, np.int64))
    count = search.reach(solution.tables, solution.optimal, solution.first_u, seen, queue)
    return queue[:count]


def _can_go_on_for_ever(solution: Solution, pairs: Array) -> bool:
    """Say whether optimal actions can avoid every end, striking pairs whose every optimal action ends or leads out."""
    problem, n_u = solution.problem, solution.tables.n_u
    alive = set(pairs.tolist())
    size = -1
    while len(alive) != size:
        size = len(alive)
        for x in list(alive):
            s, u = divmod(x, n_u)
            steps = [problem.step(s, u, a) for a in range(problem.n_actions) if solution.optimal[s, u] >> a & 1]
            if not any(taken.is_live and taken.s * n_u + taken.u in alive for taken in steps):
                alive.discard(x)
    return bool(alive)


def _witness(solution: Solution, ways: Array, direct: Array) -> Witness:
    """Walk the way an optimal policy goes, leaving the shortest routes wherever the marked actions allow it."""
    problem, pair = solution.problem, (solution.problem.start, solution.first_u)
    trail: dict[tuple[int, int], int] = {}
    leaves, state, finished = None, "", False
    while pair not in trail and not finished:
        trail[pair] = len(trail)
        s, u = pair
        allowed, direct_here = int(ways[s, u]), int(direct[s, u])
        a = ((allowed & ~direct_here) or allowed).bit_length() - 1
        if leaves is None and not direct_here >> a & 1:
            leaves, state = problem.terrain.cells_of([s])[0], problem.states[u][1]
        taken = problem.step(s, u, a)
        finished, pair = not taken.is_live, (taken.s, taken.u)
    numbers = [s for s, _ in trail]
    loop_from = None
    if finished:
        numbers.append(pair[0])
    else:
        loop_from, state = trail[pair], problem.states[pair[1]][1]
    best, route = thresholds.best_shortest_path(problem, solution.reward, solution.gamma, solution.machine)
    return Witness(
        path=problem.terrain.cells_of(numbers),
        loop=() if loop_from is None else problem.terrain.cells_of(numbers[loop_from:]),
        state=state,
        leaves_at=leaves,
        shortest_path=problem.terrain.cells_of([s for s, _ in route]),
        optimal_return=float(solution.value[problem.start, solution.first_u]),
        shortest_return=best + solution.offset,
    )
