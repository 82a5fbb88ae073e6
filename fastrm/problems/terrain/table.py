"""The cells and moves of a `TableWorld`: its own numbers, its labels, and steps along its moves as distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import ConfigError, did_you_mean, shown
from fastrm.kernels.contracts import FAR
from fastrm.problems.terrain.base import Start, Terrain
from fastrm.worlds import Cell, GridMap, TableWorld, check_layout_of


@dataclass(frozen=True)
class TableTerrain(Terrain):
    """All cells of a world, whether they can be reached or not, by their own numbers."""

    @classmethod
    def survey(cls, world: TableWorld, start: Start = None) -> TableTerrain:
        """Take over the tables of a world; distances are steps, whatever the metric of maps.

        `start` replaces the world's own: "anywhere" for every cell, or cells as `Problem.starts` gives them.
        """
        cells = np.arange(world.n_cells)[:, None] if world.layout is None else np.array(world.layout.floor)
        starts = world.starts if start is None else _starts(world, start)
        return cls(world, "geodesic", cells.astype(np.int32), world.next_s, starts)

    @property
    def table(self) -> TableWorld:
        """The world."""
        assert isinstance(self.world, TableWorld)
        return self.world

    @property
    def grid(self) -> GridMap:
        """The map that its cells are laid out on."""
        return check_layout_of(self.world)

    @property
    def actions(self) -> tuple[str, ...]:
        """Names of the actions."""
        return self.table.names

    @property
    def propositions(self) -> tuple[str, ...]:
        """The labels."""
        return tuple(self.table.marks)

    def cells_of(self, numbers: Sequence[int] | Array) -> tuple[Cell, ...]:
        """Return rows and columns of numbered cells, or the numbers themselves where there is no layout."""
        if self.table.layout is None:
            return cast("tuple[Cell, ...]", tuple(map(int, numbers)))
        return super().cells_of(numbers)

    def holds(self, name: str) -> Array:
        """Mark the cells or moves with a label, none for a name that is no label."""
        marks = self.table.marks
        return marks[name] if name in marks else np.zeros(len(self.cells), dtype=np.bool_)

    def labels(self, s: int, a: int) -> tuple[str, ...]:
        """Return what holds after a move."""
        there, marks = self.next_s[s, a], self.table.marks
        return tuple(name for name, held in marks.items() if (held[there] if held.ndim == 1 else held[s, a]))

    def offers(self, name: str) -> str:
        """Say what there is instead of a label."""
        labels = self.propositions
        return f"this world offers {', '.join(labels) or 'no labels'}{did_you_mean(name, labels)}"

    def is_measurable(self, function: str, name: str) -> bool:
        """Say whether there is such a feature or label."""
        return name in self.table.features or name in self.table.marks

    def distance(self, name: str) -> Array:
        """Return a feature of the world, or the fewest steps from every cell until a label holds, 0 where it does."""
        if name in self.table.features:
            return self.table.features[name]
        marks = self.holds(name)
        by_cell = marks.ndim == 1
        return self._steps_until(np.flatnonzero(marks if by_cell else marks.any(axis=1)), 0 if by_cell else 1)

    def closer_any(self, name: str) -> Array:
        """Mark the moves that bring a feature down, or at least one of the cells where a label holds closer."""
        marks = self.holds(name)
        if name in self.table.features or marks.ndim > 1:
            return self.closer(name)
        return self.mark_closer(self._steps_until(cell, 0) for cell in np.argwhere(marks))

    def _steps_until(self, frontier: Array, steps: int) -> Array:
        """Return the fewest steps from every cell, so many from those of `frontier`.

        Where no way leads, which on a map cannot be, they count as the number of cells, more than any way has.
        """
        n_a = self.next_s.shape[1]
        moves, first = self._moves_into
        distance = np.full(len(self.cells), FAR, dtype=np.int32)
        while frontier.size:
            distance[frontier] = steps
            before = np.unique(np.concatenate([moves[first[s] : first[s + 1]] // n_a for s in frontier.tolist()]))
            frontier, steps = before[distance[before] == FAR], steps + 1
        return np.where(distance == FAR, len(distance), distance).astype(np.int32)

    @cached_property
    def _moves_into(self) -> tuple[Array, Array]:
        """All moves, sorted by where they lead, and where those into each cell begin."""
        moves = np.argsort(self.next_s, axis=None, kind="stable")
        return moves, np.searchsorted(self.next_s.reshape(-1)[moves], np.arange(len(self.cells) + 1))


def _starts(world: TableWorld, start: object) -> Array:
    """Return the numbers of cells: "anywhere", numbers, or where there is a layout rows and columns."""
    if world.layout is None or isinstance(start, str | int):
        return world.read_starts(start)
    cells = [start] if isinstance(start, tuple) and len(start) == 2 and isinstance(start[0], int) else start
    if not isinstance(cells, list | tuple) or not cells:
        raise ConfigError(f"start={shown(start)}: must be 'anywhere', a cell such as (1, 2), or a list of cells")
    number = {cell: s for s, cell in enumerate(world.layout.floor)}
    found = []
    for cell in cells:
        try:
            found.append(number[tuple(cell)])
        except (KeyError, TypeError):
            raise ConfigError(
                f"start={shown(cell)}: is no floor cell of {world.source}; give row and column of one"
            ) from None
    return np.unique(found).astype(np.uint32)
