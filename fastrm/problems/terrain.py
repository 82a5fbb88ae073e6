"""The cells and moves of a world, numbered, and what machines can read of them: propositions and distances.

On a map these are objects, and distances in a straight line or around walls; in a `TableWorld` its own labels, and
steps along its moves. `survey` has a row per kind of world.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, cast

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_choice
from fastrm.dispatch import add_row, by_kind
from fastrm.errors import ConfigError, MapError, did_you_mean, shown
from fastrm.kernels.contracts import FAR
from fastrm.kernels.exact import search
from fastrm.machines.language import OWN
from fastrm.worlds import (
    ACTIONS,
    WALL,
    Cell,
    GridMap,
    PointMass,
    TableWorld,
    check_layout_of,
    flat_offsets,
    is_label,
    is_object,
    split_object,
)

ANYWHERE = "anywhere"
Start = str | int | Cell | Sequence[Cell] | Sequence[int] | None
"""Where episodes begin: in one of the cells that a map marks, "anywhere" on its floor, or in cells given instead; cells
of a world without a layout are numbers."""
Metric = Literal["manhattan", "geodesic"]
METRICS: tuple[Metric, ...] = ("manhattan", "geodesic")
MapFeatures = Mapping[str, Callable[[Cell], int] | Sequence[Sequence[int]] | Array]
"""A whole number from 0 for every cell of a map, by name: as a function of row and column, or for all rows."""
MapLabels = Callable[[Cell], str | Collection[str] | None] | Mapping[str, Iterable[Cell]]
"""What else holds in the cells of a map: names as a function of row and column, or the cells of every name."""


@dataclass(frozen=True)
class Terrain(ABC):
    """What every world is to a problem: numbered cells, the moves between them, and what can be read of them."""

    is_map: ClassVar[bool] = False
    """Whether it is a map: four directions, moves that can be taken back, at most one object in a cell."""
    world: GridMap | TableWorld | PointMass
    """Where it came from."""
    metric: Metric
    cells: Array
    """int32 [n_s, 2]: row and column of every cell; [n_s, 1], its number, in worlds without a layout."""
    next_s: Array
    """uint32 [n_s, n_a]: where an action, or move, leads."""
    starts: Array
    """uint32 [n_starts]: numbers of the start cells."""
    chance: Array | None = None
    """float64 [n_s, n_a, n_k]: how likely every outcome of an action is; then it is a move of its own, a n_k + k, and
    n_m = n_a n_k moves take the place of n_a."""
    features: Mapping[str, Array] = field(default_factory=dict)
    """By name int32 [n_s]: a whole number from 0 per cell, which guards and rewards read."""

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
        """Return what there is instead of a proposition that cannot hold."""

    @abstractmethod
    def is_measurable(self, function: str, name: str) -> bool:
        """Return whether there is such a feature, and a number for it in every cell."""

    @abstractmethod
    def distance(self, name: str) -> Array:
        """Return the distance from every cell to the nearest place where a proposition holds."""

    @abstractmethod
    def closer_any(self, name: str) -> Array:
        """Mark the moves, ``[n_s, n_a]``, that bring at least one object of a type closer."""

    def places(self, name: str) -> int:
        """Return in how many cells a proposition can be made true."""
        holds = self.holds(name)
        return int(np.count_nonzero(holds)) if holds.ndim == 1 else int(np.unique(self.next_s[holds]).size)

    def counts_steps(self, name: str) -> bool:
        """Return whether distances to each place of a proposition are known to be the fewest moves to and from it."""
        return False

    def leg(self, name: str, other: str) -> Array:
        """Return the distance from the only place of one proposition to the only place of another, for every cell."""
        holds = self.holds(name)
        place = np.argmax(holds) if holds.ndim == 1 else self.next_s[holds][0]
        return np.full(len(self.cells), self.distance(other)[place], dtype=np.int32)

    def span(self) -> Array:
        """Return the largest distance from any cell to the nearest place of any proposition, for every cell."""
        found = [self.distance(name) for name in self.propositions if self.is_measurable("d", name)]
        return np.full(len(self.cells), max((int(each.max()) for each in found), default=0), dtype=np.int32)

    @property
    def is_lettered(self) -> bool:
        """Whether a letter tells all that holds in a cell."""
        return False

    def own(self, name: str) -> Array:
        """Return a feature of every cell."""
        return self.features[name]

    def describe(self) -> dict[str, object]:
        """Return the features and labels that `fastrm.compile` was given, as values that JSON holds."""
        return {}

    @property
    def outcomes(self) -> int:
        """How many moves an action may turn out to be."""
        return 1 if self.chance is None else self.chance.shape[2]

    def why_walled_in(self) -> str:
        """Return that the start leads nowhere; empty where it leads somewhere."""
        return ""

    def closer(self, name: str) -> Array:
        """Mark the moves, ``[n_s, n_a]``, that bring the nearest object of a type closer."""
        return self.mark_closer([self.distance(name)])

    def mark_closer(self, measured: Iterable[Array]) -> Array:
        """Mark the moves, ``[n_s, n_a]``, that bring down at least one of some distances."""
        marks = np.zeros(self.next_s.shape, dtype=np.uint8)
        for distance in measured:
            search.mark_closer(self.next_s, distance, marks)
        return marks

    def reachable(self, name: str) -> bool:
        """Return whether some move can make a proposition true."""
        return bool(self.holds(name).any())

    @abstractmethod
    def labels(self, s: int, a: int) -> tuple[str, ...]:
        """Return what holds after a move."""

    def cells_of(self, numbers: Sequence[int] | Array) -> tuple[Cell, ...]:
        """Return rows and columns of numbered cells."""
        return tuple((row, column) for row, column in self.cells[numbers].tolist())


@dataclass(frozen=True)
class GridTerrain(Terrain):
    """The cells of a map that can be reached from the start, numbered in reading order."""

    is_map = True
    marks: Mapping[str, Array] = field(default_factory=dict)
    """By name bool [n_s]: where labels hold that are no objects of the map."""

    @property
    def is_lettered(self) -> bool:
        """Whether a letter tells all that holds in a cell."""
        return not self.marks

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
        """The types of objects, and other labels."""
        return *self.grid.objects, *self.marks

    @classmethod
    def survey(
        cls,
        grid: GridMap,
        metric: Metric = "manhattan",
        start: Start = None,
        features: MapFeatures | None = None,
        labels: MapLabels | None = None,
    ) -> GridTerrain:
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
        search.flood(everywhere, begin, distance, np.empty(height * width, np.uint32))
        reached = np.flatnonzero(distance != FAR)
        number = np.zeros(height * width, dtype=np.uint32)
        number[reached] = np.arange(reached.size, dtype=np.uint32)
        cells = np.stack(np.divmod(reached, width), axis=1).astype(np.int32)
        if start == ANYWHERE:
            begin = reached[~np.isin(grid.tiles.reshape(-1)[reached], [ord(letter) for letter in grid.objects])]
        own = {name: _read_feature(grid, cells, name, given) for name, given in _items("features", features)}
        marks = {} if labels is None else _read_labels(grid, cells, labels)
        return cls(grid, metric, cells, number[everywhere[reached]], number[begin], features=own, marks=marks)

    def describe(self) -> dict[str, object]:
        """Return the features and labels that `fastrm.compile` was given, as values that JSON holds."""
        rows, columns = self.cells.T
        whole = {name: np.zeros(self.grid.size, dtype=np.int64) for name in self.features}
        for name, column in self.features.items():
            whole[name][rows, columns] = column
        labels = {name: self.cells[held].tolist() for name, held in self.marks.items()}
        given = {"features": {name: table.tolist() for name, table in whole.items()}, "labels": labels}
        return {name: table for name, table in given.items() if table}

    def objects(self, name: str) -> tuple[Cell, ...]:
        """Return the cells of a type of objects, or of its k-th object in reading order: ``a``, ``a1``, ``a2``."""
        if name in self.marks:
            return self.cells_of(np.flatnonzero(self.marks[name]))
        letter, number = split_object(name)
        cells = self.grid.objects.get(letter, ())
        return cells if number is None else cells[number - 1 : number]

    def holds(self, name: str) -> Array:
        """Mark the cells, ``[n_s]``, with an object of a type, or with a label."""
        if name in self.marks:
            return self.marks[name]
        marks = np.zeros(self.grid.size, dtype=np.bool_)
        for cell in self.objects(name):
            marks[cell] = True
        rows, columns = self.cells.T
        here: Array = marks[rows, columns]
        return here

    def labels(self, s: int, a: int) -> tuple[str, ...]:
        """Return the object that a move leads onto, and the labels there."""
        there = self.next_s[s, a]
        row, column = self.cells[there].tolist()
        tile = self.grid.rows[row][column]
        names = (name for name, held in self.marks.items() if held[there])
        return *((tile,) if is_object(tile) else ()), *names

    def offers(self, name: str) -> str:
        """Return what there is instead of objects that cannot be reached."""
        objects = self.grid.objects
        if self.objects(name):
            return (
                self.why_walled_in()
                or f"walls cut every {name} of this map off from {'the' if len(self.starts) == 1 else 'a'} start"
            )
        if name[:1] in objects and name[1:].isdigit():
            return f"this map has {len(objects[name[0]])} {name[0]}"
        names = (*self.propositions, *self.features)
        near = did_you_mean(name, [*filter(self.reachable, self.propositions), *self.features])
        return f"this map offers {', '.join(names) or 'no objects'}{near}"

    def why_walled_in(self) -> str:
        """Return that walls or fences leave no object within reach of the start; empty where they do not."""
        if not self.grid.objects or any(map(self.reachable, self.grid.objects)):
            return ""
        count = len(self.cells)
        reach = "no move leaves it" if count == 1 else f"only {count} cells can be reached, and no object"
        row, column = self.grid.start
        return f"the start cell, row {row}, column {column}, is walled in: {reach}; open a way in the map"

    def is_measurable(self, function: str, name: str) -> bool:
        """Return whether the map has such objects and, where distances go around walls, a path from every cell."""
        if function == OWN or name in self.features:
            return name in self.features
        if self.metric == "geodesic":
            return self.reachable(name) and bool((self.distance(name) < FAR).all())
        return bool(self.objects(name))

    def distance(self, name: str, only: int | None = None) -> Array:
        """Return the distance from every cell to the nearest object of a type, or to the one object `only`.

        Of a feature it is the feature itself.
        """
        if name in self.features:
            return self.features[name]
        objects = np.array(self.objects(name), dtype=np.int32)
        targets = objects if only is None else objects[only : only + 1]
        distance = np.empty(len(self.cells), dtype=np.int32)
        rows, columns = (np.ascontiguousarray(axis) for axis in self.cells.T)
        if self.metric == "manhattan":
            search.manhattan(rows, columns, targets[:, 0].copy(), targets[:, 1].copy(), distance)
            return distance
        width = self.grid.size[1]
        keys = self.cells[:, 0] * width + self.cells[:, 1]
        wanted = targets[:, 0] * width + targets[:, 1]
        sources = np.searchsorted(keys, wanted[np.isin(wanted, keys)]).astype(np.uint32)
        search.flood(self.next_s, sources, distance, np.empty(len(self.cells), dtype=np.uint32))
        return distance

    def places(self, name: str) -> int:
        """Return how many objects of a type there are, also out of reach, or in how many cells a label holds."""
        return len(self.objects(name))

    def counts_steps(self, name: str) -> bool:
        """Return whether no wall makes the way to an object of a type longer than its distance says."""
        if not self.objects(name):
            return False
        around = replace(self, metric="geodesic")
        pairs = ((self.distance(name, only), around.distance(name, only)) for only in range(len(self.objects(name))))
        return self.metric == "geodesic" or all(bool((near == steps).all()) for near, steps in pairs)

    def span(self) -> Array:
        """Return rows plus columns of the floor minus 2, or where distances go around walls the largest of them."""
        if self.metric == "geodesic":
            return super().span()
        return np.full(len(self.cells), int(np.ptp(self.cells, axis=0).sum()), dtype=np.int32)

    def closer_any(self, name: str) -> Array:
        """Mark the moves, ``[n_s, n_a]``, that bring at least one object of a type closer."""
        if name in self.features:
            return self.closer(name)
        return self.mark_closer(self.distance(name, only) for only in range(len(self.objects(name))))


def _items(what: str, table: object) -> Iterable[tuple[str, Any]]:
    """Return names and what they mean; raise ConfigError unless it is a table of names of several letters."""
    if not isinstance(table or {}, Mapping):
        raise ConfigError(f"{what}={shown(table)}: must be a table, such as {{'fuel': ...}}")
    for name in table or ():  # type: ignore[attr-defined]
        _check_own(what, name)
    return (table or {}).items()  # type: ignore[attr-defined, no-any-return]


def _check_own(what: str, name: object) -> None:
    """Raise ConfigError unless a map can have a label or feature by this name beside its objects."""
    if not is_label(name):
        raise ConfigError(f"{what}: {shown(name)}: must be a name of several letters, such as fuel or coffee")


def _read_feature(grid: GridMap, cells: Array, name: str, given: Any) -> Array:
    """Return a feature of numbered cells, given as an array of the map's size or as a function of row and column."""
    values = [given((row, column)) for row, column in cells.tolist()] if callable(given) else given
    try:
        column = np.asarray(values)
        column = column if callable(given) else column[tuple(cells.T)] if column.shape == grid.size else np.zeros(0)
    except ValueError:  # rows that differ in length
        column = np.zeros(0)
    if column.shape != (len(cells),) or column.dtype.kind not in "iu" or column.min() < 0 or column.max() >= 2**30:
        height, width = grid.size
        raise ConfigError(
            f"features: {name}: must be a function of a cell, or an array of {height} x {width}, with whole numbers "
            "from 0"
        )
    return column.astype(np.int32)


def _several(given: Any) -> Collection[Any]:
    """Return a collection, one thing as a list of it, and None as none."""
    if given is None:
        return ()
    return given if isinstance(given, Collection) and not isinstance(given, str) else [given]


def _read_labels(grid: GridMap, cells: Array, labels: MapLabels) -> dict[str, Array]:
    """Return where labels hold, given as a function of row and column, or as a list of cells for each."""
    number = {(row, column): s for s, (row, column) in enumerate(cells.tolist())}
    marks: dict[str, Array] = {}
    if callable(labels):
        found = ((name, cell) for cell in number for name in _several(labels(cell)))
    else:
        found = ((name, cell) for name, there in _items("labels", labels) for cell in _several(there))
    for name, cell in found:
        _check_own("labels", name)
        try:
            marks.setdefault(name, np.zeros(len(cells), dtype=np.bool_))[number[tuple(cell)]] = True
        except (KeyError, TypeError):
            raise ConfigError(
                f"labels: {name}: {shown(cell)} is no cell of {grid.source} that the agent can be in; give row and "
                "column of one"
            ) from None
    return dict(sorted(marks.items()))


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
        moves = world.next_s.reshape(world.n_cells, -1)
        return cls(world, "geodesic", cells.astype(np.int32), moves, starts, world.probability, world.features)

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
        marks = self.table.marks.get(name, np.zeros(len(self.cells), dtype=np.bool_))
        if marks.ndim == 2:
            return np.repeat(marks, self.outcomes, axis=1)
        return marks if marks.ndim == 1 else marks.reshape(self.next_s.shape)

    def labels(self, s: int, a: int) -> tuple[str, ...]:
        """Return what holds after a move."""
        there, k = self.next_s[s, a], a // self.outcomes
        places = {1: there, 2: (s, k), 3: (s, k, a % self.outcomes)}
        return tuple(name for name, held in self.table.marks.items() if held[places[held.ndim]])

    def offers(self, name: str) -> str:
        """Return what there is instead of a label."""
        names = (*self.propositions, *self.features)
        return f"this world offers {', '.join(names) or 'no labels'}{did_you_mean(name, names)}"

    def is_measurable(self, function: str, name: str) -> bool:
        """Return whether there is such a feature or label."""
        return name in self.features or (function != OWN and name in self.table.marks)

    def distance(self, name: str) -> Array:
        """Return a feature of the world, or the fewest steps from every cell until a label holds, 0 where it does."""
        if name in self.features:
            return self.features[name]
        marks = self.holds(name)
        by_cell = marks.ndim == 1
        return self._steps_until(np.flatnonzero(marks if by_cell else marks.any(axis=1)), 0 if by_cell else 1)

    def closer_any(self, name: str) -> Array:
        """Mark the moves that bring a feature down, or at least one of the cells where a label holds closer."""
        marks = self.holds(name)
        if name in self.features or marks.ndim > 1:
            return self.closer(name)
        return self.mark_closer(self._steps_until(cell, 0) for cell in np.argwhere(marks))

    def _steps_until(self, frontier: Array, steps: int) -> Array:
        """Return the fewest steps from every cell, `steps` from those of `frontier`.

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


@by_kind
def survey(
    world: object,
    metric: Metric = "manhattan",
    start: Start = None,
    features: MapFeatures | None = None,
    labels: MapLabels | None = None,
) -> Terrain:
    """Number the cells of a world and tabulate its moves."""
    raise MapError(f"grid={shown(world)}: must be a GridMap; make one with GridMap.parse, .load or .generate")


add_row(survey, GridMap)(GridTerrain.survey)


@add_row(survey, TableWorld)
def survey_table(
    world: TableWorld, metric: Metric = "manhattan", start: Start = None, features: object = None, labels: object = None
) -> Terrain:
    """Number the cells of a table, whose distances are steps whatever the metric."""
    if features is not None or labels is not None:
        raise ConfigError(f"features, labels: {world.source} is a TableWorld; give them to TableWorld itself")
    return TableTerrain.survey(world, start)
