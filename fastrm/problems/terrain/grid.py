"""The cells and moves of a map: objects, and distances in a straight line or around walls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_choice
from fastrm.errors import ConfigError, did_you_mean, shown
from fastrm.kernels import distances
from fastrm.kernels.contracts import FAR
from fastrm.problems.terrain.base import ANYWHERE, METRICS, Metric, Start, Terrain
from fastrm.worlds import ACTIONS, WALL, Cell, GridMap, flat_offsets, is_object, split_object


@dataclass(frozen=True)
class GridTerrain(Terrain):
    """The cells of a map that can be reached from the start, numbered in reading order."""

    @property
    def grid(self) -> GridMap:
        """The map."""
        assert isinstance(self.world, GridMap)
        return self.world

    @property
    def actions(self) -> tuple[str, ...]:
        """Names of the four actions."""
        return ACTIONS

    @property
    def propositions(self) -> tuple[str, ...]:
        """The types of objects."""
        return tuple(self.grid.objects)

    @classmethod
    def survey(cls, grid: GridMap, metric: Metric = "manhattan", start: Start = None) -> GridTerrain:
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

    def objects(self, name: str) -> tuple[Cell, ...]:
        """Return the cells of a type of objects, or of its k-th object in reading order: ``a``, ``a1``, ``a2``."""
        letter, number = split_object(name)
        cells = self.grid.objects.get(letter, ())
        return cells if number is None else cells[number - 1 : number]

    def holds(self, name: str) -> Array:
        """Mark the cells, ``[n_s]``, with an object of a type."""
        marks = np.zeros(self.grid.size, dtype=np.bool_)
        for cell in self.objects(name):
            marks[cell] = True
        rows, columns = self.cells.T
        here: Array = marks[rows, columns]
        return here

    def labels(self, s: int, a: int) -> tuple[str, ...]:
        """Return the object that a move leads onto."""
        row, column = self.cells[self.next_s[s, a]].tolist()
        tile = self.grid.rows[row][column]
        return (tile,) if is_object(tile) else ()

    def offers(self, name: str) -> str:
        """Say what there is instead of objects that cannot be reached."""
        objects = self.grid.objects
        if self.objects(name):
            return (
                self.why_walled_in()
                or f"walls cut every {name} of this map off from {'the' if len(self.starts) == 1 else 'a'} start"
            )
        if name[:1] in objects and name[1:].isdigit():
            return f"this map has {len(objects[name[0]])} {name[0]}"
        return f"this map offers {', '.join(objects) or 'no objects'}{did_you_mean(name, objects)}"

    def why_walled_in(self) -> str:
        """Say that walls or fences around the start leave no object within reach; nothing where they do not."""
        if not self.grid.objects or any(map(self.reachable, self.grid.objects)):
            return ""
        count = len(self.cells)
        reach = "no move leaves it" if count == 1 else f"only {count} cells can be reached, and no object"
        row, column = self.grid.start
        return f"the start cell, row {row}, column {column}, is walled in: {reach}; open a way in the map"

    def is_measurable(self, function: str, name: str) -> bool:
        """Say whether the map has such objects and, where distances go around walls, ways to them from everywhere."""
        if self.metric == "geodesic":
            return self.reachable(name) and bool((self.distance(name) < FAR).all())
        return bool(self.objects(name))

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

    def closer_any(self, name: str) -> Array:
        """Mark the moves, ``[n_s, n_a]``, that bring at least one object of a type closer."""
        return self.mark_closer(self.distance(name, only) for only in range(len(self.objects(name))))


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
