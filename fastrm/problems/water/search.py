"""The fewest steps of a task on Water world: a search forward in layers of time, in bounded memory.

Two layers are needed to search. Layers are kept for the way back as long as they fit into the memory set aside for
them. Where they do not, the path is found by halving: a layer in the middle of a stretch of time is made again, the
path through the second half tells where the first half must lead, and so on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import ConfigError
from fastrm.kernels import water_search
from fastrm.kernels.contracts import LIVE, SUCCESS
from fastrm.resources import usable_memory
from fastrm.worlds import WATER_LIMIT

if TYPE_CHECKING:
    from fastrm.problems.water.problem import WaterProblem

ROOM = 300_000_000
"""Bytes for the layers of a stretch of time."""


class Reached(NamedTuple):
    """What a search in layers of time found."""

    succeeds: int
    """Fewest steps to a success, 0 where there is none within the limit."""
    pays: int
    """Fewest steps to an end that pays more than 0, a success or not; 0 where there is none up to the first success."""
    actions: tuple[int, ...]
    """Actions of a path with the fewest steps to a success."""


def search_layers(problem: WaterProblem, machine: int) -> Reached:
    """Search forward in layers of time until a success is found, and follow it back to the start.

    Raises
    ------
    ConfigError
        When the layers do not fit in the memory.
    """
    entry, delay = problem.entry(machine), problem.delay
    if entry.outcome != LIVE:
        succeeds = entry.outcome == SUCCESS
        return Reached(int(succeeds), int(_entry_pays(problem, machine)), (0,) if succeeds else ())
    search = _Search(problem, entry.u)
    first = search.layer(0)
    kept, pays = [first], 0
    for t in range(WATER_LIMIT - delay):
        met = search.move_on(t)
        if met & water_search.PAYS and not pays:
            pays = t + 1 + delay
        if met & water_search.SUCCEEDS:
            target = np.array([-1, -1, problem.tables.n_u])
            actions = search.follow_back(kept, 0, target) if kept else search.path(first, 0, t + 1, target)
            return Reached(t + 1 + delay, pays, (*actions, *(0,) * delay))
        if search.is_empty(t + 1):
            break
        if kept:
            kept = [*kept, search.layer(t + 1)] if search.nbytes(0, t + 2) <= ROOM else []
    return Reached(0, pays, ())


def search_paid(problem: WaterProblem, machine: int) -> int:
    """Return the fewest steps to an end that pays more than 0, a success or not; 0 where there is none."""
    entry, delay = problem.entry(machine), problem.delay
    if entry.outcome != LIVE:
        return int(_entry_pays(problem, machine))
    search = _Search(problem, entry.u)
    for t in range(WATER_LIMIT - delay):
        if search.move_on(t) & water_search.PAYS:
            return t + 1 + delay
        if search.is_empty(t + 1):
            break
    return 0


def _entry_pays(problem: WaterProblem, machine: int) -> bool:
    """Whether some first move, which ends the episode because labels are late, pays more than 0."""
    u, (x, y) = int(problem.tables.first_u[machine]), problem.physics.start
    return bool(water_search.may_pay(problem.physics, problem.tables, 0, x, y, 0, u, problem.scratch()))


class _Search:
    """The states that can be reached at one time, moved on from one time to the next.

    A layer has a bit per machine state for all states of the axes.
    """

    def __init__(self, problem: WaterProblem, u: int) -> None:
        self.problem, self.scratch = problem, problem.scratch()
        self.small = np.min_scalar_type((1 << problem.tables.n_u) - 1)
        shape = len(problem.physics.x), len(problem.physics.y)
        need, memory = 2 * 8 * shape[0] * shape[1] + ROOM, usable_memory()
        if need > memory:
            raise ConfigError(
                f"fewest steps: {shape[0]} x {shape[1]} states of the agent take {need / 1e9:.1f} GB to search, and "
                f"there are {memory / 1e9:.1f} GB of memory; take a smaller box"
            )
        self.here, self.there = (np.zeros(shape, dtype=np.uint64) for _ in range(2))
        self.here[tuple(problem.physics.start)] = 1 << u

    def size(self, t: int) -> tuple[int, int]:
        """Return how many states of each axis can be reached by then."""
        x, y = self.problem.axes
        return int(x.within[t]), int(y.within[t])

    def nbytes(self, t0: int, t1: int) -> int:
        """Return the bytes of the layers of a stretch of time when they are kept."""
        return sum(self.size(t)[0] * self.size(t)[1] for t in range(t0, t1)) * self.small.itemsize

    def layer(self, t: int) -> Array:
        """Return a small copy of the layer after t moves, where the search stands."""
        n_x, n_y = self.size(t)
        copy: Array = self.here[:n_x, :n_y].astype(self.small)
        return copy

    def is_empty(self, t: int) -> bool:
        """Whether nothing can be reached in the layer after t moves, where the search stands."""
        n_x, n_y = self.size(t)
        return not self.here[:n_x, :n_y].any()

    def move_on(self, t: int) -> int:
        """Go on from the layer after t moves to the next; return which ends were met."""
        problem, (n_x, n_y) = self.problem, self.size(t)
        self.there[: self.size(t + 1)[0], : self.size(t + 1)[1]] = 0
        met = water_search.spread(problem.physics, problem.tables, t, n_x, n_y, self.here, self.there, self.scratch)
        self.here, self.there = self.there, self.here
        return int(met)

    def path(self, layer: Array, t0: int, t1: int, target: Array) -> list[int]:
        """Return the actions from a layer after t0 moves to a target after t1, which becomes the state after t0."""
        if t1 - t0 > 1 and self.nbytes(t0, t1) > ROOM:
            middle = (t0 + t1) // 2
            *_, half = self._layers(layer, t0, middle, only_last=True)
            second = self.path(half, middle, t1, target)
            return self.path(layer, t0, middle, target) + second
        return self.follow_back(self._layers(layer, t0, t1 - 1), t0, target)

    def _layers(self, layer: Array, t0: int, t1: int, only_last: bool = False) -> list[Array]:
        """Return the layers from t0 to t1 moves, the first of which is given."""
        self.here[: layer.shape[0], : layer.shape[1]] = layer
        found = [layer]
        for t in range(t0, t1):
            self.move_on(t)
            if not only_last or t + 1 == t1:
                found.append(self.layer(t + 1))
        return found

    def follow_back(self, layers: list[Array], t0: int, target: Array) -> list[int]:
        """Return the actions of a path through layers, the first after t0 moves, to a target after the last."""
        found, actions = np.zeros(4, dtype=np.int64), []
        for k in range(len(layers) - 1, -1, -1):
            water_search.step_before(
                self.problem.physics, self.problem.tables, t0 + k, layers[k], target, self.scratch, found
            )
            actions.append(int(found[3]))
            target[:] = found[:3]
        return actions[::-1]
