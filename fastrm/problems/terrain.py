"""The cells and moves of a map, numbered, and what machines can read of them: objects and distances."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_choice
from fastrm.errors import ConfigError, shown
from fastrm.kernels import distances
from fastrm.kernels.contracts import FAR
from fastrm.worlds import WALL, Cell, GridMap, flat_offsets, split_object

ANYWHERE = "anywhere"
Start = str | Cell | Sequence[Cell] | None
"""Where episodes begin: in one of the cells that a map marks, "anywhere" on its floor, or in cells given instead."""
Metric = Literal["manhattan", "geodesic"]
METRICS: tuple[Metric, ...] = ("manhattan", "geodesic")


@dataclass(frozen=True)
class Terrain:
    """The cells that can be reached from the start, numbered in reading order, and the moves between them."""

    grid: GridMap
    metric: Metric
    cells: Array
    """int32 [n_s, 2]: row and column of every cell."""
    next_s: Array
    """uint32 [n_s, n_a]: where an action leads."""
    starts: Array
    """uint32 [n_starts]: numbers of the start cells."""

    @classmethod
    def survey(cls, grid: GridMap, metric: Metric = "manhattan", start: Start = None) -> Terrain:
        """Number the cells of a map and tabulate its moves."""
        check_choice("metric", metric, METRICS)
        begin = np.array(_start_cells(grid, start))
        passable = grid.passable()
        height, width = grid.size
        here = np.arange(height * width, dtype=np.uint32).reshape(height, width, 1)
        offsets = np.array(flat_offsets(width))
        everywhere = np.where(passable, here + offsets, here).astype(np.uint32).reshape(-1, len(offsets))
        begin = np.unique(begin[:, 0] * width + begin[:, 1]).astype(np.uint32)
        distance = np.empty(height * width, dtype=np.int32)
        distances.flood(everywhere, begin, distance, np.empty(height * width, np.uint32))
        reached = np.flatnonzero(distance != FAR)
        number = np.zeros(height * width, dtype=np.uint32)
        number[reached] = np.arange(reached.size, dtype=np.uint32)
        cells = np.stack(np.divmod(reached, width), axis=1).astype(np.int32)
        if start == ANYWHERE:
            begin = reached[~np.isin(grid.tiles.reshape(-1)[reached], [ord(letter) for letter in grid.objects])]
        return cls(grid, metric, cells, number[everywhere[reached]], number[begin])

    def cells_of(self, numbers: Sequence[int] | Array) -> tuple[Cell, ...]:
        """Return rows and columns of numbered cells."""
        return tuple((row, column) for row, column in self.cells[numbers].tolist())

    def labels(self) -> Array:
        """Return the tile under every cell as an ASCII code."""
        rows, columns = self.cells.T
        codes: Array = self.grid.tiles[rows, columns]
        return codes

    def objects(self, name: str) -> tuple[Cell, ...]:
        """Return the cells of a type of objects, or of its k-th object in reading order: ``a``, ``a1``, ``a2``."""
        letter, number = split_object(name)
        cells = self.grid.objects.get(letter, ())
        return cells if number is None else cells[number - 1 : number]

    def stands_on(self, name: str) -> Array:
        """Mark the cells, ``[n_s]``, with an object of a type."""
        marks = np.zeros(self.grid.size, dtype=np.bool_)
        for cell in self.objects(name):
            marks[cell] = True
        rows, columns = self.cells.T
        here: Array = marks[rows, columns]
        return here

    def reachable(self, name: str) -> bool:
        """Say whether the agent can stand on some object of a type."""
        return bool(self.stands_on(name).any())

    def distance(self, name: str, only: int | None = None) -> Array:
        """Return the distance from every cell to the nearest object of a type, or to the one object `only`."""
        objects = np.array(self.objects(name), dtype=np.int32)
        targets = objects if only is None else objects[only : only + 1]
        distance = np.empty(len(self.cells), dtype=np.int32)
        rows, columns = (np.ascontiguousarray(axis) for axis in self.cells.T)
        if self.metric == "manhattan":
            distances.manhattan(rows, columns, targets[:, 0].copy(), targets[:, 1].copy(), distance)
            return distance
        width = self.grid.size[1]
        keys = self.cells[:, 0] * width + self.cells[:, 1]
        wanted = targets[:, 0] * width + targets[:, 1]
        sources = np.searchsorted(keys, wanted[np.isin(wanted, keys)]).astype(np.uint32)
        distances.flood(self.next_s, sources, distance, np.empty(len(self.cells), dtype=np.uint32))
        return distance

    def closer(self, name: str) -> Array:
        """Mark the moves, ``[n_s, n_a]``, that bring the nearest object of a type closer."""
        return self._mark_closer([self.distance(name)])

    def closer_any(self, name: str) -> Array:
        """Mark the moves, ``[n_s, n_a]``, that bring at least one object of a type closer."""
        return self._mark_closer(self.distance(name, only) for only in range(len(self.objects(name))))

    def _mark_closer(self, measured: Iterable[Array]) -> Array:
        marks = np.zeros(self.next_s.shape, dtype=np.uint8)
        for distance in measured:
            distances.mark_closer(self.next_s, distance, marks)
        return marks


def _start_cells(grid: GridMap, start: Start) -> Sequence[Cell]:
    """Return the cells that ways are searched from, those of the map where episodes begin anywhere."""
    if start is None or start == ANYWHERE:
        return grid.starts
    cells: Any = [start] if isinstance(start, tuple) and len(start) == 2 and isinstance(start[0], int) else start
    if not isinstance(cells, list | tuple) or not cells:
        raise ConfigError(f"start={shown(start)}: must be 'anywhere', a cell such as (1, 2), or a list of cells")
    floor = grid.tiles != ord(WALL)
    for cell in cells:
        is_cell = isinstance(cell, tuple | list) and len(cell) == 2 and all(isinstance(k, int) for k in cell)
        if not is_cell or not all(0 <= k < side for k, side in zip(cell, grid.size, strict=True)) or not floor[*cell]:
            raise ConfigError(f"start={shown(cell)}: is no floor cell of {grid.source}; give row and column of one")
    return [(row, column) for row, column in cells]
