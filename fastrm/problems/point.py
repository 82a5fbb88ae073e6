"""A problem on a point mass: a table whose cells are positions and velocities.

Machines read ``d(x)``, the distance to the nearest disc of a name after the move, in places and rounded up: a straight
line whatever the velocity, and 0 in the disc alone. With ``metric="geodesic"`` it counts the fewest steps instead,
which depend on the velocity and lead around walls. ``closer(x)`` means that this distance fell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_choice
from fastrm.dispatch import add_row
from fastrm.errors import ConfigError, MapError, shown
from fastrm.machines import RewardMachine
from fastrm.problems.agenda import compile_cells
from fastrm.problems.problem import compile
from fastrm.problems.tabular import TabularEpisode, TabularProblem
from fastrm.problems.terrain import ANYWHERE, METRICS, Metric, Start, TableTerrain, survey
from fastrm.worlds import Cell, PointMass, TableWorld


@dataclass(frozen=True)
class PointTerrain(TableTerrain):
    """The cells of a point mass: x, y, vx and vy."""

    @property
    def point(self) -> PointMass:
        """The world."""
        assert isinstance(self.world, PointMass)
        return self.world

    @property
    def table(self) -> TableWorld:
        """The world as a table."""
        return self.point.table

    def cells_of(self, numbers: Sequence[int] | Array) -> tuple[Cell, ...]:
        """Return x, y, vx and vy of numbered cells."""
        return tuple(map(tuple, self.cells[numbers].tolist()))

    def distance(self, name: str) -> Array:
        """Return the distance of every cell from the nearest disc of a name."""
        if self.metric == "geodesic":
            return super().distance(name)
        nearest: Array = np.minimum.reduce(self._distances(name))
        return nearest

    def closer_any(self, name: str) -> Array:
        """Mark the moves that bring at least one disc of a name closer."""
        return self.mark_closer(self._distances(name))

    def _distances(self, name: str) -> list[Array]:
        """Return the distance of every cell from each disc of a name."""
        x, y = self.cells[:, 0], self.cells[:, 1]
        discs = self.point.discs_of(name)
        if self.metric == "geodesic":
            return [self._steps_until(np.flatnonzero(self.point.reach(disc)[x, y]), 0) for disc in discs]
        return [self.point.distance(disc)[x, y] for disc in discs]


@dataclass(frozen=True, eq=False, repr=False)
class PointProblem(TabularProblem):
    """A point mass crossed with one or more machines; `fastrm.compile` makes one of a `PointMass`."""

    @property
    def world(self) -> PointMass:
        """The world."""
        assert isinstance(self.terrain, PointTerrain)
        return self.terrain.point

    def number_of(self, cell: object, name: str = "start") -> int:
        """Return the number of a cell, given as x, y, vx and vy, or as x and y at rest; messages call it `name`."""
        try:
            return self.world.number(*cell)  # type: ignore[misc]
        except (MapError, TypeError):
            raise ConfigError(
                f"{name}={shown(cell)}: no cell that the point can be in; give x, y, vx, vy such as {self.starts[0]}"
            ) from None

    def episode(self, task: int = 0, start: int | None = None) -> PointEpisode:
        """Begin an episode, in a numbered cell or the (first) start."""
        return PointEpisode(self, task, start)


class PointEpisode(TabularEpisode):
    """An episode on a point mass; cells are x, y, vx and vy."""


@add_row(survey, PointMass)
def survey_point(
    world: PointMass, metric: Metric = "manhattan", start: Start = None, features: object = None, labels: object = None
) -> PointTerrain:
    """Number the cells of a point mass; `start` is "anywhere" at rest, one cell or several."""
    check_choice("metric", metric, METRICS)
    if features is not None or labels is not None:
        raise ConfigError("features, labels: are for maps; on a point mass machines read discs and their distances")
    table, n_cells = world.table, world.table.n_cells
    starts = table.starts if start is None else _starts(world, start)
    return PointTerrain(world, metric, world.cells(np.arange(n_cells)), table.next_s, starts)


def _starts(world: PointMass, start: object) -> Array:
    """Return the numbers of the cells in which episodes begin."""
    if isinstance(start, str) and start == ANYWHERE:
        return world.rest_numbers()
    cells: Any = start if isinstance(start, list) else [start]
    found = [world.table.read_starts(cell)[0] if isinstance(cell, int) else _number(world, cell) for cell in cells]
    if not found:
        raise ConfigError("start=[]: must be 'anywhere', or cells such as (50, 50), or (50, 50, 0, 3) in motion")
    return np.unique(found).astype(np.uint32)


def _number(world: PointMass, cell: Any) -> int:
    try:
        return world.number(*cell)
    except TypeError:
        raise ConfigError(
            f"start={shown(cell)}: must be 'anywhere', or a cell such as (50, 50), or (50, 50, 0, 3) in motion"
        ) from None


@add_row(compile, PointMass)
def compile_point(
    world: PointMass, machine: RewardMachine | Sequence[RewardMachine], *settings: Any, **named: Any
) -> PointProblem:
    """Compile a point mass as the table that it is."""
    found = compile_cells(world, machine, *settings, **named)  # type: ignore[arg-type]
    problem = PointProblem(**{one.name: getattr(found, one.name) for one in fields(found)})
    problem.__dict__["steps_to_go"] = found.steps_to_go  # type: ignore[attr-defined]
    return problem
