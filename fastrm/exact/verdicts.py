"""Does the reward lead to shortest paths? A verdict about all optimal policies, with a witness.

Let D(s, u) be the steps to go. With a discount below 1 every policy that always takes an optimal action is optimal, so
all optimal policies take shortest paths from the start if and only if, wherever optimal actions can lead, each of them
lowers D by one. With gamma 1 the same test is applied to the actions that keep the value.

Of several starts the one with the worst verdict counts, and the witness sets out from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from fastrm.arrays import Array
from fastrm.dispatch import add_row
from fastrm.exact import thresholds
from fastrm.exact.answers import Guarantee, Witness, guarantee
from fastrm.exact.tabular import TabularSolution, solve_near
from fastrm.exact.values import action_mask, check_request, refuse_slip
from fastrm.kernels.contracts import FAR
from fastrm.problems import TabularProblem, direct_actions, distances, pairs_within_reach


@dataclass(frozen=True, eq=False, repr=False)
class TabularGuarantee(Guarantee):
    """The verdict on one machine on a map or a table."""

    solution: TabularSolution
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

    @cached_property
    def critical_reward(self) -> float:
        """Smallest terminal reward R* above which all optimal policies take shortest paths."""
        solution = self.solution
        return thresholds.as_float(thresholds.critical_reward(solution.problem, solution.gamma, solution.machine))

    @cached_property
    def critical_scale(self) -> float | None:
        """Factor by which all rewards on the way may grow before the optimum leaves the shortest paths."""
        return thresholds.critical_scale(self.solution.problem, self.solution.machine, self.critical_reward)

    @cached_property
    def critical_step_reward(self) -> float | None:
        """Largest step reward r* that keeps the optimum on shortest paths; None where there is no single one."""
        return thresholds.critical_step_reward(self.solution.problem, self.solution.machine, self.critical_scale)

    @cached_property
    def gamma_interval(self) -> tuple[float, float] | None:
        """Discounts around the given one, or nearest to it, with the verdict *shortest*; None if there are none."""
        known = [self.solution]

        def holds(gamma: float) -> bool:
            below = max((one for one in known if one.gamma < gamma), key=lambda one: one.gamma, default=None)
            found = solve_near(self.solution.problem, gamma, self.solution.machine, below or known[-1])
            known[:] = [found] if below is None else [below, found]  # a bisection goes on from one of the two
            return not _leaves_shortest_paths(found)

        return thresholds.interval(holds, self.solution.gamma)


@add_row(guarantee, TabularProblem)
def guarantee_tables(problem: TabularProblem, gamma: float = 0.9, machine: int = 0) -> TabularGuarantee:
    """Decide whether all optimal policies on a map or a table take shortest paths."""
    check_request(problem, gamma, machine)
    refuse_slip(problem, "a guarantee")
    solution = solve_near(problem, gamma, machine)
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
        ways = direct_actions(tables, remaining) & solution.optimal
    else:
        ways = solution.optimal
    return TabularGuarantee(
        solution=everywhere,
        verdict=verdict,
        is_shortest=is_shortest,
        some_are_shortest=length == goal,
        length=length,
        shortest=goal,
        witness=_witness(solution, ways, direct),
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


def _can_go_on_for_ever(solution: TabularSolution, pairs: Array) -> bool:
    """Return whether optimal actions can avoid every end; pairs whose every optimal action ends are struck out."""
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


def _witness(solution: TabularSolution, ways: Array, direct: Array) -> Witness:
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
