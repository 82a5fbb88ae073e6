"""The unit of the score, expected task reward per step of the best policy for the task itself, and its ceiling.

The unit is what was published. It is no ceiling: among equally short paths some bear random steps better than others.
A machine scored by rewards of its own may pay nothing per step, or cost something, even if played well; its episodes
are then scored by their totals: (G - G_random) / (G_unit - G_random), all three with the step limit.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_number, check_whole
from fastrm.dispatch import add_row, by_kind
from fastrm.errors import ConfigError
from fastrm.exact.answers import ScoreUnit
from fastrm.exact.tabular import TabularSolution, solve_rewards
from fastrm.exact.values import LONGEST, highest_action, largest_arps, task_reward
from fastrm.kernels.contracts import FAR
from fastrm.kernels.exact import arrival
from fastrm.kernels.exact.values import EPS
from fastrm.problems import AgendaProblem, Problem, TabularProblem, direct_actions, unsupported

_known: weakref.WeakKeyDictionary[TabularProblem, dict[tuple[Any, ...], Any]] = weakref.WeakKeyDictionary()
"""What was found out about a problem, by question."""
Answer = TypeVar("Answer")


@by_kind
def optimal_arps(problem: Problem, gamma: float = 0.9, epsilon: float = 0.1) -> tuple[float, ...]:
    r"""Return the optimal average reward per step of every task of a problem.

    The policy is optimal for the task reward, 1 on success (for machines in the reference's format, for the rewards
    they pay), and acts epsilon-greedily without step limit. So all kinds of machine for one task share one unit.
    A gamma near 0 or 1 hardly tells short paths from long ones; outside 0.01 to 0.999 0.9 is taken.

    Parameters
    ----------
    problem : Problem
        The compiled map and machines.
    gamma : float
        Discount factor, from 0 to 1.
    epsilon : float
        Probability of a random action.

    Returns
    -------
    tuple of float
        Expected task reward per step, one per machine.

    Raises
    ------
    ConfigError
        When a number is out of range.

    Examples
    --------
    >>> import fastrm
    >>> grid = fastrm.GridMap.parse("XXXXX\nXA aX\nXXXXX")
    >>> optimal_arps(fastrm.compile(grid, fastrm.RewardMachine.sequence("a")), epsilon=0.0)
    (0.5,)
    """
    raise unsupported(problem)


@add_row(optimal_arps, TabularProblem)
def optimal_arps_of_tables(problem: TabularProblem, gamma: float = 0.9, epsilon: float = 0.1) -> tuple[float, ...]:
    """Return the optimal average reward per step of every task on a map or a table."""
    check_number("gamma", gamma, 0, 1)
    check_number("epsilon", epsilon, 0, 1)
    return tuple(_arps(problem, i, gamma, epsilon) for i in range(len(problem.machines)))


@by_kind
def score_units(
    problem: Problem, gamma: float = 0.9, epsilon: float = 0.1, horizon: int = 1000
) -> tuple[ScoreUnit, ...]:
    r"""Return what the scores of every task of a problem are measured by: `optimal_arps`, or else totals.

    On Water world, and for an agenda without machine states, that is one completion in the fewest known steps.

    Totals are for machines with `score own` whose best policy earns no reward per step. 1 is then the expected sum of
    own rewards of the policy of `optimal_arps`, 0 that of random steps, both cut off at `horizon`.

    Raises
    ------
    ConfigError
        When that policy earns no more than random steps.

    >>> import fastrm
    >>> grid = fastrm.GridMap.parse("XXXXX\nXA aX\nXXXXX")
    >>> text = "score own\nstart u\nsuccess done\nu -> done when a reward -1\nu -> u otherwise reward -1\n"
    >>> score_units(fastrm.compile(grid, fastrm.RewardMachine.parse(text)), epsilon=0.0)[0].one
    -2.0
    """
    raise unsupported(problem)


@add_row(score_units, AgendaProblem)
def score_units_of_agendas(problem: AgendaProblem, *settings: float) -> tuple[ScoreUnit, ...]:
    """Measure scores by the tour that is known."""
    return () if problem.tour is None else (ScoreUnit(1 / problem.tour.length),)


@add_row(score_units, TabularProblem)
def score_units_of_tables(
    problem: TabularProblem, gamma: float = 0.9, epsilon: float = 0.1, horizon: int = 1000
) -> tuple[ScoreUnit, ...]:
    """Measure scores by `optimal_arps`, or by totals."""
    check_number("gamma", gamma, 0, 1)
    check_number("epsilon", epsilon, 0, 1)
    check_whole("horizon", horizon, 1, 2**62)
    return tuple(_unit(problem, i, gamma, epsilon, horizon) for i in range(len(problem.machines)))


@by_kind
def score_ceiling(problem: Problem, epsilon: float = 0.1, horizon: int = 1000) -> tuple[float, ...]:
    r"""Return the largest expected task reward per step of any policy that must explore, for every task of a problem.

    A policy may depend on the time since the episode began; episodes are cut off at `horizon`. NaN for machines that
    are scored by their own rewards.

    >>> import fastrm
    >>> grid = fastrm.GridMap.parse("XXXXX\nXA aX\nXXXXX")
    >>> score_ceiling(fastrm.compile(grid, fastrm.RewardMachine.sequence("a")), epsilon=0.0)
    (0.5,)
    """
    raise unsupported(problem)


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


def _best(problem: TabularProblem, machine: int, gamma: float) -> TabularSolution:
    """Return the policy that the unit is about: the best for the task, or for the rewards by which it is scored."""
    gamma = gamma if 0.01 <= gamma <= 0.999 else 0.9
    if problem.machines[machine].score == "own":
        paid = problem.at(gamma)
        return solve_rewards(paid, paid.tables.reward, gamma, machine)
    return solve_task(problem, gamma, machine)


def solve_task(problem: TabularProblem, gamma: float, machine: int = 0) -> TabularSolution:
    """Like `solve_rewards`, unchecked, for the task itself: success pays 1 and nothing else pays.

    Where no move slips the answer is known: a pair D steps from success is worth gamma^(D - 1), and an action is
    optimal if and only if it begins a shortest path; where nothing succeeds, every action is. See `settle_by_steps`.
    """
    tables, gamma = problem.tables, float(gamma)
    if problem.slip or gamma == 1.0:
        return solve_rewards(problem, task_reward(tables), gamma, machine)
    distance = problem.steps_to_go[:, : tables.n_u]
    hopeful, mask = distance < FAR, direct_actions(tables, problem.steps_to_go)
    mask[~hopeful] = 2**problem.n_actions - 1
    value = np.where(hopeful, gamma ** (distance - 1.0), 0.0)
    error = 4 * EPS * value + np.finfo(float).tiny  # what raising to a power may be off by
    return TabularSolution(problem, machine, gamma, task_reward(tables), value, error, mask, highest_action(mask), None)


@_once
def _arps(problem: TabularProblem, machine: int, gamma: float, epsilon: float) -> float:
    return _best(problem, machine, gamma).arps(epsilon)


@_once
def _ceiling(problem: TabularProblem, machine: int, epsilon: float, horizon: int) -> float:
    own = problem.machines[machine].score == "own"
    return math.nan if own else largest_arps(problem, machine, epsilon, horizon)


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
