"""The optimum on Water world by dynamic programming backward in time, in bounded memory.

Values are exact up to rounding: the world is deterministic and an episode ends after 600 moves. Most optimal paths end
long before, so time is first cut off soon after the fewest steps, everything beyond being worth as much as it can be at
most. If the best path ends before the cut even so, it is optimal; otherwise all 600 layers are worked out.

Only two layers of time are kept. A path is found by halving: the values in the middle of a stretch of time tell where
the best path goes in its first half, and so on, until all layers of a stretch fit into the memory set aside for them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_whole
from fastrm.dispatch import add_row
from fastrm.errors import ConfigError
from fastrm.exact.answers import (
    Check,
    Finding,
    Guarantee,
    ScoreUnit,
    Solution,
    Witness,
    check,
    guarantee,
    optimal_arps,
    score_units,
    solve,
)
from fastrm.exact.values import check_gamma, value_range
from fastrm.kernels.contracts import LIVE, SUCCESS
from fastrm.kernels.exact import water_search
from fastrm.kernels.exact.water_search import Layer
from fastrm.kernels.worlds.water import DISTANCE
from fastrm.problems import WaterProblem
from fastrm.resources import usable_memory
from fastrm.worlds import WATER_LIMIT, Cell, Point

ROOM = 600_000_000
"""Bytes for the layers of a stretch of time."""


class Stretch(NamedTuple):
    """The best path through a stretch of time."""

    actions: tuple[int, ...]
    outcome: int
    """LIVE where it goes on after the stretch."""


class Layers:
    """The layers of one problem at one discount; those after `horizon` moves are worth `beyond`."""

    def __init__(
        self,
        problem: WaterProblem,
        machine: int,
        gamma: float,
        horizon: int,
        beyond: float,
        *,
        fewest: bool = False,
        late: bool = False,
    ) -> None:
        """`fewest` admits only paths that succeed on the very last move before the horizon.

        Of equally good paths the one that succeeds soonest counts; with `late` the one that succeeds last, or never.
        """
        self.problem, self.gamma, self.horizon, self.beyond = problem, gamma, horizon, beyond
        self.fewest, self.late = fewest, late
        self.first_u = problem.entry(machine).u
        self.scratch = problem.scratch()
        self.x_first, self.x_place = _places(problem.physics.x)
        self.y_first, self.y_place = _places(problem.physics.y)
        self.is_plain = _is_plain(problem)
        self.quiet: Array = np.empty((0, 0, 0))

    def nbytes(self, t: int) -> int:
        """Return the bytes of a layer."""
        return math.prod(self.problem.within(t)) * int(self.problem.tables.n_u) * 10

    def _check_memory(self, extra: int) -> None:
        """Raise ConfigError unless two layers and `extra` bytes fit in memory."""
        need, memory = 2 * self.nbytes(self.horizon) + extra, usable_memory()
        if need > memory:
            raise ConfigError(
                f"values: layers of time take {need / 1e9:.1f} GB, and there are {memory / 1e9:.1f} GB of memory; "
                "take a smaller box or fewer machine states"
            )

    def last(self) -> Layer:
        """Return the layer at the horizon."""
        layer = self._blank(self.horizon)
        layer.value[:] = self.beyond
        layer.end[:] = 0
        return layer

    def _blank(self, t: int, spare: Layer | None = None) -> Layer:
        shape = (*self.problem.within(t), self.problem.tables.n_u)
        if spare is not None and spare.value.shape == shape:  # new memory would have to be cleared first
            return spare._replace(distance=self._distances(t), touch=self._touches(t))
        return Layer(np.empty(shape), np.empty(shape, dtype=np.int16), self._distances(t), self._touches(t))

    def _touches(self, t: int) -> Array:
        out = np.empty((len(self.x_first), len(self.y_first)), dtype=np.uint16)
        water_search.touch_all(self.problem.physics, t, self.x_first, self.y_first, out)
        return out

    def _distances(self, t: int) -> Array:
        problem = self.problem
        if not problem.reads_features:
            return np.zeros((0, 0, 0))
        out = np.empty((len(self.x_first), len(self.y_first), len(problem.tables.seen)))
        water_search.measure_all(problem.physics, problem.tables, t, self.x_first, self.y_first, out)
        return out

    def before(self, later: Layer, t: int, spare: Layer | None = None) -> Layer:
        """Return the layer after t moves, from the one after t + 1; `spare` is one that nobody needs any more."""
        problem, layer = self.problem, self._blank(t, spare)
        quiet = self.quiet
        if self.is_plain and quiet.shape != later.value.shape:
            quiet = self.quiet = np.empty(later.value.shape)
        if self.is_plain:
            pays = np.empty((len(self.x_first), len(self.y_first), problem.tables.n_u))
            water_search.look_ahead(
                problem.tables, *problem.within(t + 1), self.gamma, later, self.x_place, self.y_place, self.scratch,
                pays, quiet,
            )  # fmt: skip
        water_search.look_back(
            problem.physics, problem.tables, t, *problem.within(t), self.gamma, later, layer, self.x_place,
            self.y_place, self.scratch, self._ends(t), quiet, self.late,
        )  # fmt: skip
        return layer

    def _ends(self, t: int) -> int:
        return 0 if not self.fewest else 1 if t == self.horizon - 1 else 2

    def back_to(self, later: Layer, t1: int, t0: int) -> Layer:
        """Return the layer after t0 moves, from the one after t1."""
        spare = None
        for t in range(t1 - 1, t0 - 1, -1):
            layer = self.before(later, t, spare)
            spare, later = (later if t < t1 - 1 else None), layer  # the first belongs to the caller
        return later

    def start(self) -> tuple[float, int]:
        """Return the value of the start, and the step on which the best path ends: negative in failure, 0 if never."""
        self._check_memory(0)
        layer = self.back_to(self.last(), self.horizon, 0)
        x, y = self.problem.physics.start
        return float(layer.value[x, y, self.first_u]), int(layer.end[x, y, self.first_u])

    def path(self) -> Stretch:
        """Return the best path from the start."""
        whole, largest = sum(map(self.nbytes, range(self.horizon))), self.nbytes(self.horizon)
        halvings = 0 if whole <= ROOM else min(self.horizon.bit_length(), int(whole / max(ROOM, 1)).bit_length())
        self._check_memory(min(whole, ROOM) + halvings * largest)  # a layer waits at every halving
        state = np.array([*self.problem.physics.start, self.first_u])
        return self._through(state, 0, self.horizon, self.last())

    def _through(self, state: Array, t0: int, t1: int, later: Layer) -> Stretch:
        """Return the best path through a stretch of time; `state` is moved along."""
        if t1 - t0 > 1 and sum(self.nbytes(t) for t in range(t0, t1)) > ROOM:
            middle = (t0 + t1) // 2
            first = self._through(state, t0, middle, self.back_to(later, t1, middle))
            if first.outcome != LIVE:
                return first
            rest = self._through(state, middle, t1, later)
            return Stretch(first.actions + rest.actions, rest.outcome)
        layers = [later]
        for t in range(t1 - 1, t0, -1):
            layers.append(self.before(layers[-1], t))
        actions: list[int] = []
        for t in range(t0, t1):
            problem, ahead = self.problem, layers[t1 - 1 - t]
            action, outcome = water_search.best_move(
                problem.physics, problem.tables, t, state, self.gamma, ahead, self.x_place, self.y_place,
                self._distances(t), self.scratch, self._ends(t),
            )  # fmt: skip
            actions.append(int(action))
            if outcome != LIVE:
                return Stretch(tuple(actions), int(outcome))
        return Stretch(tuple(actions), LIVE)


def _is_plain(problem: WaterProblem) -> bool:
    """Return whether moves without a label keep every machine state and pay by the place they lead to alone."""
    tables = problem.tables
    kinds = {int(kind) for kind, _, _ in tables.feature}
    return not problem.events.bounds and bool(tables.quiet[0]) and kinds <= {DISTANCE}


def _places(states: Array) -> tuple[Array, Array]:
    """Return a state for every position of an axis, and the number of the position of every state."""
    _, first, place = np.unique(states[:, 0], return_index=True, return_inverse=True)
    return first.astype(np.int64), place.reshape(-1).astype(np.int64)


MARGINS = (4, 32, WATER_LIMIT)
"""Moves after the fewest steps at which time is cut off, one after the other until the best path ends before."""
SAME = 1e-9
"""Returns that differ by less, relative to their size, are taken for equal."""


@dataclass(frozen=True, eq=False)
class WaterSolution(Solution):
    """The optimal policy of one machine on Water world; `fastrm.solve` finds it."""

    problem: WaterProblem
    """The problem."""
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
    def start_value(self) -> float:
        """Discounted reward of the optimal policy from the start."""
        return self.value

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


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class WaterGuarantee(Guarantee):
    """Does every optimal policy of a machine take the fewest steps? `fastrm.guarantee` tells."""

    solution: WaterSolution
    """The optimum that the verdict is about."""
    shortest_return: float
    """The largest discounted reward of a path with the fewest steps."""

    @cached_property
    def witness(self) -> Witness:
        """Where an optimal policy leads, and a path with the fewest steps."""
        problem = self.solution.problem
        fewest = problem.positions(problem.walk(self.shortest_actions, self.solution.machine).states)
        paths = cast("tuple[tuple[Cell, ...], ...]", (self.solution.path, fewest))
        return Witness(paths[0], (), "", None, paths[1], self.solution.value, self.shortest_return)

    @cached_property
    def shortest_actions(self) -> tuple[int, ...]:
        """Actions of the path with the fewest steps that earns most: the witness."""
        problem = self.solution.problem
        layers = _fewest(problem, self.solution.machine, self.solution.gamma)
        return layers.path().actions + (0,) * problem.delay


@add_row(solve, WaterProblem)
def solve_water(problem: WaterProblem, gamma: float = 0.9, machine: int = 0) -> WaterSolution:
    """Find the optimal policy for the rewards that a machine pays; `fastrm.solve` calls it."""
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


@add_row(guarantee, WaterProblem)
def guarantee_water(problem: WaterProblem, gamma: float = 0.9, machine: int = 0) -> WaterGuarantee:
    """Decide whether every optimal policy takes the fewest steps; `fastrm.guarantee` calls it."""
    best = solve_water(problem, gamma, machine)
    fewest, is_late = best.value, False
    if problem.entry(machine).outcome == LIVE:
        fewest = _from_start(problem, machine, best.gamma, _fewest(problem, machine, best.gamma).start()[0])
        is_late = not _are_equal(best.value, fewest) or _may_be_late(best)
    some = _are_equal(best.value, fewest)
    if not is_late:
        verdict = "shortest"
    elif some:
        verdict = "shortest for some optimal policies only"
    elif best.length is None:
        verdict = "ends in failure" if best.ends < 0 else "never finishes"
    else:
        verdict = f"detour (+{best.length - best.shortest} steps)"
    return WaterGuarantee(
        solution=best, verdict=verdict, is_shortest=not is_late, some_are_shortest=some, length=best.length,
        shortest_return=fewest,
    )  # fmt: skip


def _may_be_late(best: WaterSolution) -> bool:
    """Whether some optimal policy completes the task later than need be, or not at all; it may in the fewest steps."""
    problem, machine, gamma = best.problem, best.machine, best.gamma
    fewest, last = int(best.shortest) - problem.delay, WATER_LIMIT - problem.delay
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
    if problem.is_anywhere:
        raise ConfigError(
            "start='anywhere': values on Water world are found from the world's own start; compile without start"
        )
    if problem.delay and problem.reads_features:
        raise ConfigError(
            "values: labels are a move late in profile icarte2022 and distances are not, so machines that read "
            "distances are solved in profile='clean' only"
        )


def _most(problem: WaterProblem, machine: int, gamma: float) -> float:
    """Return the most that anything from some time on can be worth."""
    ending, staying = problem.most_paid(machine)
    moves = WATER_LIMIT if gamma == 1 else min(WATER_LIMIT, 1 / (1 - gamma))
    return ending + staying * moves


@add_row(check, WaterProblem)
def check_water(problem: WaterProblem, gamma: float = 0.9, machine: int = 0) -> Check:
    """Report on a machine on Water world."""
    verdict = guarantee_water(problem, gamma, machine)
    return Check(verdict, optimal_arps_on_water(problem)[machine], tuple(_findings(verdict)) if gamma < 1 else ())


def _findings(verdict: WaterGuarantee) -> Iterator[Finding]:
    """Find optimal policies that fail or never finish."""
    returns, fewest = f"{verdict.solution.value:.6g}", f"{verdict.shortest_return:.6g}"
    if verdict.verdict == "ends in failure":
        yield Finding("failure", f"failing is optimal: it returns {returns}, succeeding {fewest}", is_error=False)
    elif verdict.verdict == "never finishes":
        message = f"an optimal policy never finishes: that returns {returns}, finishing in the fewest steps {fewest}"
        yield Finding("procrastination", message, is_error=False)


@add_row(score_units, WaterProblem)
def score_units_on_water(problem: WaterProblem, *settings: float) -> tuple[ScoreUnit, ...]:
    """Measure scores by one completion in the fewest steps from the world's own start."""
    return tuple(map(ScoreUnit, optimal_arps_on_water(problem)))


@add_row(optimal_arps, WaterProblem)
def optimal_arps_on_water(problem: WaterProblem, gamma: float = 0.9, epsilon: float = 0.1) -> tuple[float, ...]:
    """Return one completion in the fewest steps; here the best policy does not explore."""
    return tuple(1.0 / steps for steps in problem.shortest)


@add_row(value_range, WaterProblem)
def value_range_on_water(problem: WaterProblem, gamma: float) -> tuple[float, float]:
    """Return the smallest and the largest discounted reward to come along paths with the fewest steps."""
    found = []
    for machine, reached in enumerate(problem.reached):
        to_come = 0.0
        for reward in reversed(problem.walk(reached.actions, machine).rewards.tolist()):
            to_come = reward + gamma * to_come
            found.append(to_come)
    return min(found), max(found)
