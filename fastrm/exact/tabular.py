"""The optimum of a problem: values, policy, and what the policy does.

Values come with a proven bound (see `values`). Where two actions cannot be told apart within the bounds, and it
matters, the choice is settled in rational arithmetic.

The unit of the score is the expected task reward per step of the best policy for the task itself, as it was published.
It is no ceiling: among equally short paths some bear random steps better than others. A machine scored by rewards of
its own may pay nothing per step, or cost something, even if played well; its episodes are then scored by their totals:
(G - G_random) / (G_unit - G_random), all three with the step limit.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import Any, TypeVar

import numpy as np

from fastrm.arrays import Array, read_only
from fastrm.checks import check_number, check_whole
from fastrm.dispatch import add_row
from fastrm.errors import ConfigError
from fastrm.exact.answers import ScoreUnit, Solution, optimal_arps, score_ceiling, score_units, solve
from fastrm.exact.values import (
    LONGEST,
    Written,
    action_mask,
    check_request,
    expected_values,
    follow,
    highest_action,
    largest_arps,
    settle,
    settle_by_steps,
    task_reward,
    value_and_policy,
)
from fastrm.kernels.contracts import FAR, LIVE, MASK, Tables
from fastrm.kernels.exact import arrival, values
from fastrm.machines.language import as_written
from fastrm.problems import TabularProblem, direct_actions, distances, mean_length
from fastrm.worlds import Cell

_known: weakref.WeakKeyDictionary[TabularProblem, dict[tuple[Any, ...], Any]] = weakref.WeakKeyDictionary()
"""What was found out about a problem, by question."""
Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False)
class TabularSolution(Solution):
    """The optimal policy of one machine on a map or a table."""

    problem: TabularProblem
    """The problem, at the discount asked for."""
    reward: Array
    """What every event pays in every state, potentials aside, [n_e, n_cols]."""
    value: Array
    """Value of every cell and machine state, [n_s, n_u]."""
    error: Array
    """Proven bound on the error of each value, [n_s, n_u]; NaN for gamma 1, where nothing is proven."""
    optimal: Array
    """A bit per action, [n_s, n_u]: all optimal actions. Where play can lead from the start they are exactly the
    optimal ones, or, on problems too large for rationals, all begin shortest paths; else `undecided` says why not."""
    policy: Array
    """Optimal action, ties to the highest index, [n_s, n_u]."""
    undecided: str | None
    """Why ties could not be settled, None where all could."""

    def __repr__(self) -> str:
        length = "None" if self.length is None else f"{self.length:.6g}"
        return f"<Solution gamma {self.gamma:g}: optimal {length}, shortest {self.shortest:.6g} steps>"

    @property
    def tables(self) -> Tables:
        """The arrays of the problem."""
        return self.problem.tables

    @property
    def first_u(self) -> int:
        """Start column of the machine."""
        return int(self.tables.first_u[self.machine])

    @cached_property
    def pairs(self) -> tuple[tuple[tuple[int, int], ...], int | None, bool]:
        """The (cell number, state column) pairs of the optimal path, where it repeats, and whether it succeeds."""
        return follow(self.problem.likely, self.policy, (self.problem.start, self.first_u))

    def from_start(self, cell: Cell) -> TabularSolution:
        """Return what it says of one of several starts; values and policy are the same."""
        return replace(self, problem=self.problem.from_start(cell))

    @property
    def path(self) -> tuple[Cell, ...]:
        """Cells of the optimal path from the (first) start if nothing slips, cut where it begins to repeat.

        In a world by chance every action has its likeliest outcome there.
        """
        return self.problem.terrain.cells_of([s for s, _ in self.pairs[0]])

    @cached_property
    def length(self) -> float | None:
        """Steps in which the optimal policy completes the task, as in `path`; None if it never does.

        The mean over starts where there are several, None if it never does from one of them.
        """
        if self.tables.starts.size == 1:
            return len(self.pairs[0]) - 1 if self.pairs[2] else None
        steps = distances(self.problem.likely.tables, action_mask(self.policy))[self.tables.starts, self.first_u]
        return mean_length(steps.tolist()) if steps.max() < FAR else None

    @property
    def start_value(self) -> float:
        """Discounted reward of the optimal policy from the start, in the mean over several."""
        return float(self.value[self.tables.starts, self.first_u].mean())

    @property
    def offset(self) -> float:
        """What the potential adds to the return of every path from the start, in the mean over several."""
        phi = self.problem.potential
        return 0.0 if phi is None else 0.0 - float(phi[self.tables.starts, self.first_u].mean())

    @property
    def error_bound(self) -> float:
        """Proven bound on the error of all values."""
        return float(self.error.max())

    def arps(self, epsilon: float = 0.1, horizon: int | None = None) -> float:
        """Return the expected task reward per step of an episode played epsilon-greedily.

        Parameters
        ----------
        epsilon : float
            Probability of a random action.
        horizon : int, optional
            Steps after which an episode is cut off; without limit by default.
        """
        own = self.problem.machines[self.machine].score == "own"
        worth = self.tables.reward if own else task_reward(self.tables)
        if horizon is not None:
            check_whole("horizon", horizon, 1, 2**31)
        total, left, t, _, _ = self._play(epsilon, worth, horizon or LONGEST)
        mine = [column for column, (number, _) in enumerate(self.problem.states) if number == self.machine]
        size, goes_on = np.abs(worth[:, mine]), self.tables.outcome[:, mine] == LIVE
        at_most = size[goes_on].max(initial=0.0) + size[~goes_on].max() / (t + 1)  # per step of an episode that goes on
        if horizon is None and left * at_most > 1e-6 * abs(total):
            raise ConfigError(
                f"the policy hardly ever ends an episode ({left:.2g} of all last {t} steps), so its reward per step is "
                "not known; give a horizon"
            )
        return total

    def ceiling(self, epsilon: float = 0.1, horizon: int = 1000) -> float:
        """Return the largest expected task reward per step of any policy that must explore; NaN for `score own`.

        Unlike the policy of `arps`, which seeks the largest discounted reward as if it never explored, this one may
        depend on the time since the episode began. No learner's expected settled score exceeds ceiling / unit.

        Parameters
        ----------
        epsilon : float
            Probability of a random action.
        horizon : int
            Steps after which an episode is cut off.

        Raises
        ------
        ConfigError
            When the horizon is beyond 100 000 steps and episodes as long as that matter.

        >>> import fastrm
        >>> grid = fastrm.GridMap.generate("1a1b", size=15, seed=1)
        >>> best = solve(fastrm.compile(grid, fastrm.RewardMachine.sequence("a-b")))
        >>> best.ceiling() >= best.arps(horizon=1000), best.ceiling(epsilon=0.0) == 1 / best.shortest
        (True, True)
        """
        check_number("epsilon", epsilon, 0, 1)
        check_whole("horizon", horizon, 1, 2**62)
        return largest_arps(self.problem, self.machine, epsilon, horizon)

    def success_probability(self, epsilon: float = 0.0, horizon: int = LONGEST) -> float:
        """Return the probability that an episode played epsilon-greedily completes the task within `horizon` steps."""
        check_whole("horizon", horizon, 1, 2**31)
        return self._play(epsilon, task_reward(self.tables), horizon, 1e-18)[3]

    def expected_length(self, epsilon: float = 0.0) -> float:
        """Return the expected steps of the episodes, played epsilon-greedily, that complete the task; or inf."""
        _, left, t, success, steps = self._play(epsilon, task_reward(self.tables), LONGEST, 1e-18)
        if left > 1e-12 and left * (t + 1) > 1e-6 * steps:
            raise ConfigError(
                f"the policy hardly ever ends an episode ({left:.2g} of all last {t} steps), so its expected length is "
                "not known"
            )
        return steps / success if success > 0 else math.inf

    def _play(
        self, epsilon: float, worth: Array, horizon: int, tolerance: float = 1e-13
    ) -> tuple[float, float, int, float, float]:
        """Push the distribution over pairs forward in time; see `arrival.arrival`."""
        check_number("epsilon", epsilon, 0, 1)
        is_certain = epsilon == 0 and self.problem.is_certain  # then a loop never ends, and is left out
        to_end = distances(self.tables, action_mask(self.policy) if is_certain else None, any_end=True)
        mass, gained = (np.zeros((2, to_end.size)) for _ in range(2))
        busy = np.zeros((2, -(-to_end.size // arrival.STRETCH)), dtype=np.uint8)
        found = arrival.arrival(
            self.tables, read_only(worth), self.policy, self.first_u, float(epsilon), self.problem.slip, horizon,
            tolerance, to_end, mass, gained, busy,
        )  # fmt: skip
        total, left, t, success, steps = found
        return float(total), float(left), int(t), float(success), float(steps)


@add_row(solve, TabularProblem)
def solve_tables(problem: TabularProblem, gamma: float = 0.9, machine: int = 0) -> TabularSolution:
    """Find the optimal policy on a map or a table."""
    check_request(problem, gamma, machine)
    return solve_near(problem, gamma, machine)


def solve_near(
    problem: TabularProblem, gamma: float, machine: int, near: TabularSolution | None = None
) -> TabularSolution:
    """Like `solve_tables`, unchecked, and faster where the solution for another gamma is known."""
    problem = problem.at(gamma)
    if problem.potential is not None and gamma == 1:
        raise ConfigError("gamma=1: a potential keeps optimal policies only where gamma is below 1")
    best = solve_rewards(problem, problem.plain, gamma, machine, problem.written, near)
    if problem.potential is None:
        return best
    offset = problem.potential[:, : problem.tables.n_u]  # a potential shifts values and changes no optimal action
    value = best.value - offset
    return replace(best, value=value, error=best.error + values.EPS * (np.abs(offset) + np.abs(value)))


def solve_rewards(
    problem: TabularProblem,
    reward: Array,
    gamma: float,
    machine: int = 0,
    written: Written | None = None,
    near: TabularSolution | None = None,
) -> TabularSolution:
    """Like `solve_tables`, unchecked, for other rewards on the same events, potentials aside.

    `written` gives the same rewards in rationals, for ties; without it they are the numbers that the floats print as.
    Where it is given, rewards are the problem's own or take their place. `near` is a solution to begin with.
    """
    tables, gamma, n_u = problem.tables, float(gamma), problem.tables.n_u
    if not problem.is_certain:
        value, error, mask = expected_values(tables, reward, gamma, problem.slip)
        unsettled = (
            "where moves are not certain, values are known up to their error; every action within it counts as optimal"
        )
        return TabularSolution(problem, machine, gamma, reward, value[:, :n_u].copy(), error[:, :n_u].copy(), mask,
                        highest_action(mask), unsettled if (mask & (mask - 1)).any() else None)  # fmt: skip
    begin = None
    if near is not None:  # bounds of a larger gamma would be too loose far from rewards
        begin = near.policy, near.error if near.gamma < gamma else np.zeros_like(near.error)
    value, policy, error = value_and_policy(tables, reward, gamma, begin)
    rounding = problem.written.rounding if written is not None and gamma < 1.0 else None
    if rounding is None:
        rounding = np.zeros_like(reward)
    else:
        error += value_and_policy(tables, rounding, gamma)[0]  # no path collects more of it
    mask = np.empty(policy.shape, dtype=MASK)
    values.candidates(tables, read_only(reward), read_only(rounding), gamma, value, error, mask)
    undecided = None
    written = written or (lambda event, u: as_written(float(reward[event, u])))
    if gamma == 1.0 or not settle_by_steps(problem, reward, rounding, written, machine, mask):
        undecided = settle(problem, written, gamma, machine, policy, mask)
    chosen = mask
    if gamma == 1.0:  # an action may keep its value for ever without earning it: head for the end where there is one
        ending = direct_actions(tables, distances(tables, mask, any_end=True), any_end=True)
        chosen = np.where(mask & ending, mask & ending, mask)
        error[...] = np.nan
    return TabularSolution(
        problem, machine, gamma, reward, value[:, :n_u].copy(), error[:, :n_u].copy(), mask, highest_action(chosen),
        undecided,
    )  # fmt: skip


@add_row(optimal_arps, TabularProblem)
def optimal_arps_of_tables(problem: TabularProblem, gamma: float = 0.9, epsilon: float = 0.1) -> tuple[float, ...]:
    """Return the optimal average reward per step of every task on a map or a table."""
    check_number("gamma", gamma, 0, 1)
    check_number("epsilon", epsilon, 0, 1)
    return tuple(_arps(problem, i, gamma, epsilon) for i in range(len(problem.machines)))


@add_row(score_units, TabularProblem)
def score_units_of_tables(
    problem: TabularProblem, gamma: float = 0.9, epsilon: float = 0.1, horizon: int = 1000
) -> tuple[ScoreUnit, ...]:
    """Measure scores by `optimal_arps`, or by totals."""
    check_number("gamma", gamma, 0, 1)
    check_number("epsilon", epsilon, 0, 1)
    check_whole("horizon", horizon, 1, 2**62)
    return tuple(_unit(problem, i, gamma, epsilon, horizon) for i in range(len(problem.machines)))


@add_row(score_ceiling, TabularProblem)
def score_ceiling_of_tables(problem: TabularProblem, epsilon: float = 0.1, horizon: int = 1000) -> tuple[float, ...]:
    """Return the ceiling of every task on a map or a table."""
    check_number("epsilon", epsilon, 0, 1)
    check_whole("horizon", horizon, 1, 2**62)
    return tuple(_ceiling(problem, i, epsilon, horizon) for i in range(len(problem.machines)))


def _once(find: Callable[..., Answer]) -> Callable[..., Answer]:
    """Let a function of a problem and more remember its answers as long as the problem lives."""

    @wraps(find)
    def ask(problem: TabularProblem, *question: Any) -> Answer:
        answers = _known.setdefault(problem, {})
        if (find, *question) not in answers:
            answers[find, *question] = find(problem, *question)
        answer: Answer = answers[find, *question]
        return answer

    return ask


_ceiling = _once(largest_arps)


def _best(problem: TabularProblem, machine: int, gamma: float) -> TabularSolution:
    """Return the policy that the unit is about: the best for the task, or for the rewards by which it is scored."""
    gamma = gamma if 0.01 <= gamma <= 0.999 else 0.9
    if problem.machines[machine].score == "own":
        paid = problem.at(gamma)
        return solve_rewards(paid, paid.tables.reward, gamma, machine)
    return solve_task(problem, gamma, machine)


def solve_task(problem: TabularProblem, gamma: float, machine: int = 0) -> TabularSolution:
    """Like `solve_rewards`, unchecked, for the task itself: success pays 1 and nothing else pays.

    Where moves are certain the answer is known: a pair D steps from success is worth gamma^(D - 1), and an action is
    optimal if and only if it begins a shortest path; where nothing succeeds, every action is. See `settle_by_steps`.
    """
    tables, gamma = problem.tables, float(gamma)
    if not problem.is_certain or gamma == 1.0:
        return solve_rewards(problem, task_reward(tables), gamma, machine)
    distance = problem.steps_to_go[:, : tables.n_u]
    hopeful, mask = distance < FAR, direct_actions(tables, problem.steps_to_go)
    mask[~hopeful] = 2**problem.n_actions - 1
    value = np.where(hopeful, gamma ** (distance - 1.0), 0.0)
    error = 4 * values.EPS * value + np.finfo(float).tiny  # what raising to a power may be off by
    return TabularSolution(problem, machine, gamma, task_reward(tables), value, error, mask, highest_action(mask), None)


@_once
def _arps(problem: TabularProblem, machine: int, gamma: float, epsilon: float) -> float:
    return _best(problem, machine, gamma).arps(epsilon)


@_once
def _unit(problem: TabularProblem, machine: int, gamma: float, epsilon: float, horizon: int) -> ScoreUnit:
    own = problem.machines[machine].score == "own"
    try:
        found = _arps(problem, machine, gamma, epsilon)
    except ConfigError:  # it hardly ever ends an episode, which totals with a step limit do not mind
        if not own:
            raise
        found = math.nan
    if found > 0:
        return ScoreUnit(found)
    if not own:
        raise ConfigError("the best policy earns no reward per step to measure scores by; give optimum=[...]")
    paid, policy = problem.at(gamma), _best(problem, machine, gamma).policy
    best, random = (_total(paid, machine, policy, share, horizon) for share in (float(epsilon), 1.0))
    if not best - random > 1e-9 * (abs(best) + abs(random)):
        raise ConfigError(
            f"the policy of the largest discounted reward earns {best:.6g} an episode, random steps {random:.6g}, so "
            "there is nothing to measure scores by; give optimum=[...]"
        )
    return ScoreUnit(best, random, by_total=True)


def _total(problem: TabularProblem, machine: int, policy: Array, epsilon: float, horizon: int) -> float:
    """Return the expected sum of own rewards of an episode played epsilon-greedily."""
    tables, scratch = problem.tables, [np.empty(problem.steps_to_go.shape) for _ in range(2)]
    total, missing = arrival.total_reward(
        tables, tables.reward, policy, int(tables.first_u[machine]), epsilon, problem.slip, horizon, LONGEST, 1e-12,
        *scratch,
    )  # fmt: skip
    if missing * np.abs(tables.reward).max() > 1e-6 * abs(total):
        raise ConfigError(f"episodes go on after {LONGEST} steps, so what they earn is not known; lower episode_limit")
    return float(total)
