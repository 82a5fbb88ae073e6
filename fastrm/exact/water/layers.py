"""Values on Water world by dynamic programming backward in time, in bounded memory.

Only two layers of time are kept. A path is found by halving: the values in the middle of a stretch of time tell where
the best path goes in its first half, and so on, until all layers of a stretch fit into the memory set aside for them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import ConfigError
from fastrm.kernels import water_search
from fastrm.kernels.contracts import LIVE
from fastrm.kernels.water import DISTANCE
from fastrm.kernels.water_search import Layer
from fastrm.problems import WaterProblem
from fastrm.resources import usable_memory

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

    def size(self, t: int) -> tuple[int, int]:
        """Return how many states of each axis can be reached by then."""
        x, y = self.problem.axes
        return int(x.within[t]), int(y.within[t])

    def nbytes(self, t: int) -> int:
        """Return the bytes of a layer."""
        n_x, n_y = self.size(t)
        return n_x * n_y * int(self.problem.tables.n_u) * 10

    def _check_memory(self, extra: int) -> None:
        """Refuse what does not fit: two layers, and so many bytes beside them."""
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
        shape = (*self.size(t), self.problem.tables.n_u)
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
        n_x, n_y = self.size(t)
        quiet = self.quiet
        if self.is_plain and quiet.shape != later.value.shape:
            quiet = self.quiet = np.empty(later.value.shape)
        if self.is_plain:
            pays = np.empty((len(self.x_first), len(self.y_first), problem.tables.n_u))
            water_search.look_ahead(
                problem.tables, *self.size(t + 1), self.gamma, later, self.x_place, self.y_place, self.scratch, pays,
                quiet,
            )  # fmt: skip
        water_search.look_back(
            problem.physics, problem.tables, t, n_x, n_y, self.gamma, later, layer, self.x_place, self.y_place,
            self.scratch, self._ends(t), quiet, self.late,
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
    """Say whether moves without a label keep every machine state and pay by the place they lead to alone."""
    tables = problem.tables
    kinds = {int(kind) for kind, _, _ in tables.feature}
    return not problem.events.bounds and bool(tables.quiet[0]) and kinds <= {DISTANCE}


def _places(states: Array) -> tuple[Array, Array]:
    """Return a state for every position of an axis, and the number of the position of every state."""
    _, first, place = np.unique(states[:, 0], return_index=True, return_inverse=True)
    return first.astype(np.int64), place.reshape(-1).astype(np.int64)
