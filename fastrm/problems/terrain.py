"""Propositions and features of every move a map allows, and the events they make up.

A move is a pair (cell, action). Two moves on which all the propositions and features a machine reads agree are the same
*event* to it; every guard and every reward is evaluated once per event.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fastrm.config import check_choice
from fastrm.kernels import distances
from fastrm.machines.language.expressions import TO_GO, Feature, Proposition, write
from fastrm.worlds.grid import GridMap

Metric = Literal["manhattan", "geodesic"]
METRICS: tuple[Metric, ...] = ("manhattan", "geodesic")

Leaf = Proposition | Feature
Array = npt.NDArray[Any]

ACTIONS = ("up", "right", "down", "left")

_DENSE_LIMIT = 1 << 62


@dataclass(frozen=True)
class Terrain:
    """The cells that can be reached from the start, numbered in reading order, and the moves between them."""

    grid: GridMap
    metric: Metric
    cells: Array
    """int32 [n_s, 2]: row and column of every cell."""
    next_s: Array
    """uint32 [n_s, n_a]: where an action leads."""
    start: int
    """Number of the start cell."""

    @classmethod
    def survey(cls, grid: GridMap, metric: Metric = "manhattan") -> Terrain:
        """Number the cells of a map and tabulate its moves."""
        check_choice("metric", metric, METRICS)
        passable = grid.passable()
        height, width = grid.size
        here = np.arange(height * width, dtype=np.uint32).reshape(height, width, 1)
        offsets = np.array([-width, 1, width, -1])
        everywhere = np.where(passable, here + offsets, here).astype(np.uint32).reshape(-1, 4)
        start = grid.start[0] * width + grid.start[1]
        distance = np.empty(height * width, dtype=np.int32)
        distances.flood(everywhere, np.array([start], dtype=np.uint32), distance, np.empty(height * width, np.uint32))
        reached = np.flatnonzero(distance != distances.UNREACHED)
        number = np.zeros(height * width, dtype=np.uint32)
        number[reached] = np.arange(reached.size, dtype=np.uint32)
        cells = np.stack(np.divmod(reached, width), axis=1).astype(np.int32)
        return cls(grid, metric, cells, number[everywhere[reached]], int(number[start]))

    def labels(self) -> Array:
        """Return the tile under every cell as an ASCII code."""
        rows, columns = self.cells.T
        codes: Array = self.grid.tiles[rows, columns]
        return codes

    def objects(self, name: str) -> tuple[tuple[int, int], ...]:
        """Return the cells of a type of objects, or of its k-th object in reading order: ``a``, ``a1``, ``a2``."""
        single = re.fullmatch(r"([a-zH])([1-9][0-9]{0,8})", name)
        if single is None:
            return self.grid.objects.get(name, ())
        return self.grid.objects.get(single[1], ())[int(single[2]) - 1 : int(single[2])]

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

    def closer(self, name: str, any_object: bool) -> Array:
        """Mark the moves, ``[n_s, n_a]``, that bring the nearest object (or any one object) of a type closer."""
        marks = np.zeros(self.next_s.shape, dtype=np.uint8)
        which: Iterable[int | None] = range(len(self.objects(name))) if any_object else (None,)
        for only in which:
            distances.mark_closer(self.next_s, self.distance(name, only), marks)
        return marks


@dataclass(frozen=True)
class Events:
    """All moves sorted into classes that no guard or reward can tell apart."""

    of_move: Array
    """int64 [n_s, n_a]: the event of every move."""
    columns: dict[Leaf, Array]
    """The value of every proposition and feature, per event."""
    example: Array
    """int64 [n_e]: one move of each event, as s * n_a + a."""

    @property
    def count(self) -> int:
        """Number of events."""
        return len(self.example)

    def describe(self, event: int, terrain: Terrain) -> str:
        """Spell out an event: what holds on it, and one move that causes it."""
        facts = []
        for leaf, column in self.columns.items():
            value = column[event].item()
            if isinstance(leaf, Proposition):
                facts += [leaf.name] if value else []
            else:
                facts.append(f"{write(leaf)} {str(value).lower() if isinstance(value, bool) else f'= {value:g}'}")
        s, a = divmod(int(self.example[event]), terrain.next_s.shape[1])
        here, there = (tuple(terrain.cells[cell].tolist()) for cell in (s, terrain.next_s[s, a]))
        return f"{', '.join(facts) or 'no object'} (moving {ACTIONS[a]} from {here} to {there})"


def find_events(terrain: Terrain, leaves: Iterable[Leaf], apart: Literal["", "after", "move"] = "") -> Events:
    """Sort the moves of a map into events by the propositions and features named.

    Where rewards depend on the steps to go, which every machine state counts in its own way, moves to different cells,
    or moves between different pairs of cells, are also kept `apart`.
    """
    after, before = _Classes(len(terrain.cells)), _Classes(len(terrain.cells))
    moves = _Classes(terrain.next_s.size)
    sources: list[tuple[Leaf, str, Array]] = []
    propositions = [leaf for leaf in leaves if isinstance(leaf, Proposition)]
    labels = np.zeros(len(terrain.cells), dtype=np.int64)
    propositions.sort(key=lambda leaf: len(leaf.name) > 1)  # single objects part those of a type
    for i, proposition in enumerate(propositions, start=1):
        here = terrain.stands_on(proposition.name)
        labels[here] = i
        sources.append((proposition, "after", here))
    after.split(labels, len(propositions) + 1)
    for leaf in leaves:
        if isinstance(leaf, Feature) and leaf.function in ("d", "d_before"):
            distance = terrain.distance(leaf.name)
            where = "after" if leaf.function == "d" else "before"
            (after if where == "after" else before).split(distance, int(distance.max()) + 1)
            sources.append((leaf, where, distance.astype(np.float64)))  # rewards multiply distances
        elif isinstance(leaf, Feature) and leaf != TO_GO:
            closer = terrain.closer(leaf.name, any_object=leaf.function == "closer_any").ravel()
            moves.split(closer, 2)
            sources.append((leaf, "move", closer != 0))
    for classes in {"": (), "after": (after,), "move": (after, before)}[apart]:
        classes.split(np.arange(len(terrain.cells)), len(terrain.cells))
    there = terrain.next_s.ravel()
    origin = np.repeat(np.arange(len(terrain.cells)), terrain.next_s.shape[1])
    moves.split(after.dense()[there], after.bound)
    if before.bound > 1:
        moves.split(before.dense()[origin], before.bound)
    event, example = moves.dense_with_example()
    index = {"after": there[example], "before": origin[example], "move": example}
    columns = {leaf: column[index[where]] for leaf, where, column in sources}
    return Events(event.reshape(terrain.next_s.shape), columns, example)


class _Classes:
    """A partition of 0 .. n - 1, refined by one column of small integers after the other."""

    def __init__(self, size: int) -> None:
        self.key: Array = np.zeros(size, dtype=np.int64)
        self.bound = 1

    def split(self, column: Array, bound: int) -> None:
        """Part the elements whose values, all below `bound`, differ."""
        if self.bound * bound > _DENSE_LIMIT:
            self.dense()
        self.key = self.key * bound + column
        self.bound *= bound

    def dense(self) -> Array:
        """Renumber the classes 0, 1, 2, ... and return the class of every element."""
        return self.dense_with_example()[0]

    def dense_with_example(self) -> tuple[Array, Array]:
        """Like `dense`, also returning the first element of every class."""
        size = len(self.key)
        if self.bound <= 4 * size + 1024:
            first = np.full(self.bound, -1, dtype=np.int64)
            first[self.key[::-1]] = np.arange(size - 1, -1, -1)  # the last assignment, so the first element, wins
            used = np.flatnonzero(first >= 0)
            number = np.empty(self.bound, dtype=np.int64)
            number[used] = np.arange(used.size)
            self.key, example = number[self.key], first[used]
        else:
            _, example, inverse = np.unique(self.key, return_index=True, return_inverse=True)
            self.key = inverse.reshape(-1).astype(np.int64)
        self.bound = len(example)
        return self.key, example
