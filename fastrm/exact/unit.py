"""The unit of the score, expected task reward per step of the best policy for the task itself, and its ceiling.

The unit is what was published. It is no ceiling: among equally short paths some bear random steps better than others.
"""

from __future__ import annotations

import math
import weakref

from fastrm.checks import check_number, check_whole
from fastrm.exact.solve import solve_rewards
from fastrm.exact.values import largest_arps, task_reward
from fastrm.problems import Problem, check_problem

_known: weakref.WeakKeyDictionary[Problem, dict[tuple[float, float], tuple[float, ...]]] = weakref.WeakKeyDictionary()
_ceilings: weakref.WeakKeyDictionary[Problem, dict[tuple[float, int], tuple[float, ...]]] = weakref.WeakKeyDictionary()


def optimal_arps(problem: Problem, gamma: float = 0.9, epsilon: float = 0.1) -> tuple[float, ...]:
    r"""Return the optimal average reward per step of every task of a problem.

    The policy is optimal for the task reward, 1 on success (for machines in the reference's format, for the rewards
    they pay), and acts epsilon-greedily without step limit. So all kinds of machine for one task share one unit.
    A gamma near 0 or 1 hardly tells short paths from long ones; outside 0.01 to 0.999 0.9 is taken.

    >>> import fastrm
    >>> grid = fastrm.GridMap.parse("XXXXX\nXA aX\nXXXXX")
    >>> optimal_arps(fastrm.compile(grid, fastrm.RewardMachine.sequence("a")), epsilon=0.0)
    (0.5,)
    """
    check_problem(problem)
    check_number("gamma", gamma, 0, 1)
    check_number("epsilon", epsilon, 0, 1)
    gamma = gamma if 0.01 <= gamma <= 0.999 else 0.9
    known = _known.setdefault(problem, {})
    if (gamma, epsilon) not in known:
        paid = problem.at(gamma) if any(m.score == "own" for m in problem.machines) else problem
        twin = task_reward(problem.tables)
        known[gamma, epsilon] = tuple(
            solve_rewards(paid, paid.tables.reward if m.score == "own" else twin, gamma, i).arps(epsilon)
            for i, m in enumerate(problem.machines)
        )
    return known[gamma, epsilon]


def score_ceiling(problem: Problem, epsilon: float = 0.1, horizon: int = 1000) -> tuple[float, ...]:
    r"""Return the largest expected task reward per step of any policy that must explore, for every task of a problem.

    A policy may depend on the time since the episode began; episodes are cut off at `horizon`. NaN for machines that
    are scored by their own rewards.

    >>> import fastrm
    >>> grid = fastrm.GridMap.parse("XXXXX\nXA aX\nXXXXX")
    >>> score_ceiling(fastrm.compile(grid, fastrm.RewardMachine.sequence("a")), epsilon=0.0)
    (0.5,)
    """
    check_problem(problem)
    check_number("epsilon", epsilon, 0, 1)
    check_whole("horizon", horizon, 1, 2**62)
    known = _ceilings.setdefault(problem, {})
    if (epsilon, horizon) not in known:
        known[epsilon, horizon] = tuple(
            math.nan if m.score == "own" else largest_arps(problem, i, epsilon, horizon)
            for i, m in enumerate(problem.machines)
        )
    return known[epsilon, horizon]
