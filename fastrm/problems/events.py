"""The moves of a map sorted into events.

A move is a pair (cell, action). Two moves on which all the propositions and features a machine reads agree are the same
*event* to it; every guard and every reward is evaluated once per event.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fastrm.arrays import Array
from fastrm.machines.language import FEATURES, Feature, FeatureKind, Proposition, write
from fastrm.problems.terrain import Terrain

Leaf = Proposition | Feature

_DENSE_LIMIT = 1 << 62


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
        """Spell out an event by one move that causes it, what it leads onto, and what else the machine reads."""
        s, a = divmod(int(self.example[event]), terrain.next_s.shape[1])
        here, there = terrain.cells_of([s, int(terrain.next_s[s, a])])
        way = "against a wall" if here == there else f"to {there}"
        holds = {
            leaf.name: bool(column[event]) for leaf, column in self.columns.items() if isinstance(leaf, Proposition)
        }
        facts = [
            f"{write(leaf)} {str(value).lower() if isinstance(value, bool) else f'= {value:g}'}"
            for leaf, column in self.columns.items()
            if isinstance(leaf, Feature) and (value := column[event].item()) is not None
        ]
        onto = [name for name, is_there in holds.items() if is_there]
        label = (
            f", onto {' and '.join(onto)}" if onto else f", onto a cell without {' or '.join(holds)}" if holds else ""
        )
        return f"the move {terrain.actions[a]} from {here} {way}{label}{', where ' + ', '.join(facts) if facts else ''}"


def find_events(terrain: Terrain, leaves: Iterable[Leaf], apart: Literal["", "after", "move"] = "") -> Events:
    """Sort the moves of a map into events by the propositions and features named.

    Where rewards depend on the steps to go, which every machine state counts in its own way, moves to different cells,
    or moves between different pairs of cells, are also kept `apart`.
    """
    after, before = _Classes(len(terrain.cells)), _Classes(len(terrain.cells))
    moves = _Classes(terrain.next_s.size)
    parted = {"after": after, "before": before, "move": moves}
    sources: list[tuple[Leaf, str, Array]] = []
    propositions = [leaf for leaf in leaves if isinstance(leaf, Proposition)]
    propositions.sort(key=lambda leaf: len(leaf.name) > 1)  # single objects part those of a type
    labels = _Classes(len(terrain.cells))
    for proposition in propositions:
        held = terrain.holds(proposition.name)
        sources.append((proposition, "after" if held.ndim == 1 else "move", held.reshape(-1)))
    for _, known, held in reversed(sources):
        (labels if known == "after" else moves).split(held, 2)
    after.split(labels.dense(), labels.bound)
    for leaf in leaves:
        if isinstance(leaf, Feature) and FEATURES[leaf.function].known != "state":
            kind, column = FEATURES[leaf.function], _measure(terrain, leaf)
            parted[kind.known].split(column, 2 if kind.is_truth else int(column.max()) + 1)
            sources.append((leaf, kind.known, _as_read(kind, column)))
    for classes in {"": (), "after": (after,), "move": (after, before)}[apart]:
        classes.split(np.arange(len(terrain.cells)), len(terrain.cells))
    origin, there = _ends(terrain, np.arange(terrain.next_s.size))
    moves.split(after.dense()[there], after.bound)
    if before.bound > 1:
        moves.split(before.dense()[origin], before.bound)
    event, example = moves.dense_with_example()
    index = dict(zip(("before", "after", "move"), (*_ends(terrain, example), example), strict=True))
    columns = {leaf: column[index[where]] for leaf, where, column in sources}
    return Events(event.reshape(terrain.next_s.shape), columns, example)


def read_events(terrain: Terrain, leaves: Iterable[Leaf], of_move: Array, example: Array) -> Events:
    """Return events that were found before, with the propositions and features named; none that counts steps to go."""
    index = dict(zip(("before", "after", "move"), (*_ends(terrain, example), example), strict=True))
    columns: dict[Leaf, Array] = {}
    for leaf in leaves:
        if isinstance(leaf, Proposition):
            held = terrain.holds(leaf.name)
            columns[leaf] = held.reshape(-1)[index["after" if held.ndim == 1 else "move"]]
        elif (kind := FEATURES[leaf.function]).known != "state":
            columns[leaf] = _as_read(kind, _measure(terrain, leaf))[index[kind.known]]
    return Events(of_move, columns, example)


def _ends(terrain: Terrain, moves: Array) -> tuple[Array, Array]:
    """Return the cells before and after some moves."""
    return moves // terrain.next_s.shape[1], terrain.next_s.ravel()[moves]


def _as_read(kind: FeatureKind, column: Array) -> Array:
    return column != 0 if kind.is_truth else column.astype(np.float64)  # rewards multiply numbers


def _measure(terrain: Terrain, leaf: Feature) -> Array:
    """Return a feature of all cells or moves, as whole numbers from 0."""
    kind = FEATURES[leaf.function]
    measured: Array = getattr(terrain, kind.measure)(*[leaf.name] * kind.takes_object)
    return measured.ravel()


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
