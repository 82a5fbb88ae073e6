"""The cells and moves of a world, numbered, and what machines can read of them: propositions and distances."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fastrm.arrays import Array
from fastrm.kernels import distances
from fastrm.worlds import Cell, GridMap, TableWorld

ANYWHERE = "anywhere"
Start = str | int | Cell | Sequence[Cell] | Sequence[int] | None
"""Where episodes begin: in one of the cells that a map marks, "anywhere" on its floor, or in cells given instead; cells
of a world without a layout are numbers."""
Metric = Literal["manhattan", "geodesic"]
METRICS: tuple[Metric, ...] = ("manhattan", "geodesic")


@dataclass(frozen=True)
class Terrain(ABC):
    """What every world is to a problem: numbered cells, the moves between them, and what can be read of them."""

    world: GridMap | TableWorld
    """Where it came from."""
    metric: Metric
    cells: Array
    """int32 [n_s, 2]: row and column of every cell; [n_s, 1], its number, in worlds without a layout."""
    next_s: Array
    """uint32 [n_s, n_a]: where an action leads."""
    starts: Array
    """uint32 [n_starts]: numbers of the start cells."""

    @property
    def source(self) -> str:
        """Where the world came from, for messages."""
        return self.world.source

    @property
    @abstractmethod
    def grid(self) -> GridMap:
        """The map that pictures show."""

    @property
    @abstractmethod
    def actions(self) -> tuple[str, ...]:
        """Names of the actions."""

    @property
    @abstractmethod
    def propositions(self) -> tuple[str, ...]:
        """Names of all that may hold after a move, where it is not one of several objects of a type."""

    @abstractmethod
    def holds(self, name: str) -> Array:
        """Mark the cells, ``[n_s]``, that a proposition holds after a move into, or the moves, ``[n_s, n_a]``."""

    @abstractmethod
    def offers(self, name: str) -> str:
        """Say what there is instead of a proposition that cannot hold."""

    @abstractmethod
    def is_measurable(self, function: str, name: str) -> bool:
        """Say whether there is such a feature, and a number for it in every cell."""

    @abstractmethod
    def distance(self, name: str) -> Array:
        """Return the distance from every cell to the nearest place where a proposition holds."""

    @abstractmethod
    def closer_any(self, name: str) -> Array:
        """Mark the moves, ``[n_s, n_a]``, that bring at least one object of a type closer."""

    def why_walled_in(self) -> str:
        """Say that the start leads nowhere; nothing where it does not."""
        return ""

    def closer(self, name: str) -> Array:
        """Mark the moves, ``[n_s, n_a]``, that bring the nearest object of a type closer."""
        return self.mark_closer([self.distance(name)])

    def mark_closer(self, measured: Iterable[Array]) -> Array:
        """Mark the moves, ``[n_s, n_a]``, that bring down at least one of some distances."""
        marks = np.zeros(self.next_s.shape, dtype=np.uint8)
        for distance in measured:
            distances.mark_closer(self.next_s, distance, marks)
        return marks

    def reachable(self, name: str) -> bool:
        """Say whether some move can make a proposition true."""
        return bool(self.holds(name).any())

    @abstractmethod
    def labels(self, s: int, a: int) -> tuple[str, ...]:
        """Return what holds after a move."""

    def cells_of(self, numbers: Sequence[int] | Array) -> tuple[Cell, ...]:
        """Return rows and columns of numbered cells."""
        return tuple((row, column) for row, column in self.cells[numbers].tolist())
