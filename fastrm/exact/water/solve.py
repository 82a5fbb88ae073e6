"""The optimum on Water world: its value, its path, and whether it takes the fewest steps.

Values are exact up to rounding: the world is deterministic and an episode ends after 600 moves. Most optimal paths end
long before. So time is first cut off soon after the fewest steps, everything beyond being worth as much as it can be at
most; if the best path ends before the cut even so, it is optimal. Otherwise all 600 layers are worked out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from fastrm.checks import check_whole
from fastrm.errors import ConfigError
from fastrm.exact.values import check_gamma
from fastrm.exact.water.layers import Layers
from fastrm.kernels.contracts import LIVE, SUCCESS
from fastrm.problems import WaterProblem, reward_bounds
from fastrm.worlds import WATER_LIMIT, Point

MARGINS = (4, 32, WATER_LIMIT)
"""Moves after the fewest steps at which time is cut off, one after the other until the best path ends before."""
SAME = 1e-9
"""Returns that differ by less, relative to their size, are taken for equal."""


@dataclass(frozen=True, eq=False)
class WaterSolution:
    """The optimal policy of one machine on Water world; `fastrm.solve` finds it."""

    problem: WaterProblem
    """The problem."""
    machine: int
    """Which machine of it."""
    gamma: float
    """Discount factor."""
    value: float
    """Discounted reward of the optimal policy from the start."""
    ends: int
    """The step on which it ends: negative in failure, 0 where it does not within 600.

    Of several optimal policies, equal up to rounding, it is the one that completes the task soonest.
    """
    horizon: int
    """How many layers of time were worked out."""

    def __repr__(self) -> str:
        return f"<WaterSolution gamma {self.gamma:g}: optimal {self.length}, shortest {self.shortest} steps>"

    @property
    def length(self) -> int | None:
        """Steps in which the optimal policy completes the task, None if it does not."""
        return self.ends if self.ends > 0 else None

    @property
    def shortest(self) -> int:
        """Fewest steps that complete the task."""
        return self.problem.shortest[self.machine]

    @cached_property
    def actions(self) -> tuple[int, ...]:
        """Actions of an optimal path."""
        delay, ends = self.problem.delay, abs(self.ends)
        horizon, beyond = (ends - delay, -math.inf) if ends else (self.horizon, 0.0)  # what ends later is not optimal
        return Layers(self.problem, self.machine, self.gamma, horizon, beyond).path().actions + (0,) * delay

    @property
    def path(self) -> tuple[Point, ...]:
        """Positions of the agent on an optimal path, the start first."""
        return self.problem.positions(self.problem.walk(self.actions, self.machine).states)


@dataclass(frozen=True, eq=False)
class WaterGuarantee:
    """Does every optimal policy of a machine take the fewest steps? `fastrm.guarantee` tells."""

    solution: WaterSolution
    """The optimum that the verdict is about."""
    shortest_return: float
    """The largest discounted reward of a path with the fewest steps."""
    is_shortest: bool
    """Whether every optimal policy takes the fewest steps."""

    def __repr__(self) -> str:
        return (
            f"<WaterGuarantee {self.verdict}: optimal {self.solution.length}, shortest {self.solution.shortest} steps>"
        )

    @property
    def verdict(self) -> str:
        """``shortest``, ``shortest for some optimal policies only``, ``detour (+k steps)``, ``never finishes`` or
        ``ends in failure``.
        """
        length, shortest = self.solution.length, self.solution.shortest
        if self.is_shortest:
            return "shortest"
        if _are_equal(self.solution.value, self.shortest_return):
            return "shortest for some optimal policies only"
        if length is None:
            return "ends in failure" if self.solution.ends < 0 else "never finishes"
        return f"detour (+{length - shortest} steps)"

    @cached_property
    def shortest_actions(self) -> tuple[int, ...]:
        """Actions of the path with the fewest steps that earns most: the witness."""
        problem = self.solution.problem
        layers = _fewest(problem, self.solution.machine, self.solution.gamma)
        return layers.path().actions + (0,) * problem.delay


def solve_water(problem: WaterProblem, gamma: float = 0.9, machine: int = 0) -> WaterSolution:
    """Find the optimal policy for the rewards that a machine pays; `fastrm.solve` calls it.

    Raises
    ------
    ConfigError
        When gamma is out of range, or where labels are late and rewards read distances.
    """
    _check(problem, gamma, machine)
    gamma, entry = float(gamma), problem.entry(machine)
    if entry.outcome != LIVE:
        return WaterSolution(problem, machine, gamma, entry.reward, 1 if entry.outcome == SUCCESS else -1, 0)
    most = _most(problem, machine, gamma)
    last = WATER_LIMIT - problem.delay
    for margin in MARGINS:
        horizon = min(problem.shortest[machine] - problem.delay + margin, last)
        value, ends = Layers(problem, machine, gamma, horizon, most if horizon < last else 0.0).start()
        if ends or horizon == last:
            break
    ends += problem.delay * ((ends > 0) - (ends < 0))  # what a move touches is read that much later
    return WaterSolution(problem, machine, gamma, _from_start(problem, machine, gamma, value), ends, horizon)


def guarantee_water(problem: WaterProblem, gamma: float = 0.9, machine: int = 0) -> WaterGuarantee:
    """Decide whether every optimal policy takes the fewest steps; `fastrm.guarantee` calls it."""
    best, entry = solve_water(problem, gamma, machine), problem.entry(machine)
    if entry.outcome != LIVE:
        return WaterGuarantee(best, best.value, is_shortest=True)
    value, _ = _fewest(problem, machine, best.gamma).start()
    fewest = _from_start(problem, machine, best.gamma, value)
    return WaterGuarantee(best, fewest, is_shortest=_are_equal(best.value, fewest) and not _may_be_late(best))


def _may_be_late(best: WaterSolution) -> bool:
    """Whether some optimal policy completes the task later than need be, or not at all; it may in the fewest steps."""
    problem, machine, gamma = best.problem, best.machine, best.gamma
    fewest, last = best.shortest - problem.delay, WATER_LIMIT - problem.delay
    for margin in MARGINS:
        horizon = min(fewest + margin, last)
        beyond = _most(problem, machine, gamma) if horizon < last else 0.0
        _, end = Layers(problem, machine, gamma, horizon, beyond, late=True).start()
        if end or horizon == last:
            return end != fewest
        value, end = Layers(problem, machine, gamma, horizon, -math.inf, late=True).start()
        if end != fewest and _are_equal(_from_start(problem, machine, gamma, value), best.value):
            return True
    return True


def _from_start(problem: WaterProblem, machine: int, gamma: float, value: float) -> float:
    """Return the value before the first move from that before the first one whose touches are read."""
    return problem.entry(machine).reward + gamma * value if problem.delay else value


def _are_equal(one: float, two: float) -> bool:
    return abs(one - two) <= SAME * max(abs(one), abs(two))


def _fewest(problem: WaterProblem, machine: int, gamma: float) -> Layers:
    return Layers(problem, machine, gamma, problem.shortest[machine] - problem.delay, 0.0, fewest=True)


def _check(problem: WaterProblem, gamma: float, machine: int) -> None:
    check_gamma(gamma)
    check_whole("machine", machine, 0, len(problem.machines) - 1)
    if problem.delay and problem.reads_features:
        raise ConfigError(
            "values: labels are a move late in profile icarte2022 and distances are not, so machines that read "
            "distances are solved in profile='clean' only"
        )


def _most(problem: WaterProblem, machine: int, gamma: float) -> float:
    """Return the most that anything from some time on can be worth."""
    chosen, farthest = problem.machines[machine], problem.world.side * 2.0**0.5
    ending = max([0.0, *(reward_bounds(e.reward, farthest)[1] for e in chosen.edges if e.target in chosen.terminals)])
    staying = max([0.0, *(reward_bounds(e.reward, farthest)[1] for e in chosen.edges if e.target in chosen.states)])
    moves = WATER_LIMIT if gamma == 1 else min(WATER_LIMIT, 1 / (1 - gamma))
    return ending + staying * moves
