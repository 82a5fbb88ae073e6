"""Maps: rectangular text with walls, start cells and objects.

``X`` or ``#`` is wall, ``A`` a start cell, space or ``.`` floor; a lower-case letter (or ``H``) is an object of that
type, on floor. The outer ring is wall. Cells are named ``(row, column)``, row 0 on top. Fences are *between* cells;
`tiles` says how they are written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fastrm.checks import check_whole
from fastrm.errors import MapError, printable, shown
from fastrm.textfile import decode_text, read_text
from fastrm.worlds import layouts, moves
from fastrm.worlds.tiles import (
    AS_USUAL,
    MAX_SIDE,
    OBJECTS,
    START,
    WALL,
    Cell,
    Fence,
    Origin,
    check_tiles,
    is_fenced,
    read_fenced,
    write_fenced,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_LINES = 10 * MAX_SIDE  # twice the side with fences, and room for empty lines


@dataclass(frozen=True, repr=False)
class GridMap:
    """A map of walls, floor, objects and one start cell or several.

    Make one with `parse`, `load` or `generate`; two maps are equal when they show the same tiles.

    Examples
    --------
    >>> grid = GridMap.parse('''
    ... XXXXX
    ... XA bX
    ... X a X
    ... XXXXX
    ... ''')
    >>> grid.size, grid.start
    ((4, 5), (1, 1))
    >>> dict(grid.objects)
    {'a': ((2, 2),), 'b': ((1, 3),)}
    """

    rows: tuple[str, ...]
    """The tiles, a string per row, floor written as a space and wall as X."""
    source: str = field(default="<map>", compare=False)
    """Where the map came from, for messages."""
    fences: frozenset[Fence] = frozenset()
    """Pairs of neighbouring cells that no move joins, the upper or left one first."""
    origin: InitVar[Origin | None] = None

    def __post_init__(self, origin: Origin | None) -> None:
        if not isinstance(self.source, str):
            raise MapError(f"source={shown(self.source)}: must be text, such as the name of a file")
        if not isinstance(self.fences, frozenset | set):
            raise MapError(f"{self.source}: fences={shown(self.fences)}: must be a frozenset of pairs of cells")
        if not isinstance(self.rows, tuple) or not self.rows or not all(isinstance(row, str) for row in self.rows):
            raise MapError("rows: must be a tuple of strings; GridMap.parse reads a map from text")
        check_tiles(self.rows, origin or Origin(range(len(self.rows)), False), self.source)
        object.__setattr__(self, "rows", tuple(row.translate(AS_USUAL) for row in self.rows))
        last_row, last_column = self.size[0] - 2, self.size[1] - 2
        for fence in self.fences:  # a large maze has a million
            if not (isinstance(fence, tuple) and len(fence) == 2 and _is_cell(fence[0]) and _is_cell(fence[1])):
                raise MapError(f"{self.source}: fences: must be pairs of cells such as ((1, 1), (1, 2))")
            (row, column), there = fence
            inside = row > 0 and column > 0 and there[0] <= last_row and there[1] <= last_column
            if not inside or there not in ((row + 1, column), (row, column + 1)):
                raise MapError(
                    f"{self.source}: fences: {(row, column)} and {there} must be neighbours inside the outer walls, "
                    "the upper or left cell first"
                )

    @classmethod
    def parse(cls, text: str, source: str = "<text>") -> GridMap:
        """Read a map from text.

        Parameters
        ----------
        text : str
            The tiles; empty lines before and after the map are dropped.
        source : str
            The name that error messages give to the text.

        Raises
        ------
        MapError
            Naming line and cure when the text is not a map.
        """
        if not isinstance(source, str):
            raise MapError(f"source={shown(source)}: must be text, such as the name of a file")
        if not isinstance(text, str):
            raise MapError(f"{source}: a map is read from text, not from {type(text).__name__}")
        if "\0" in text:
            decode_text(b"\0", source, MapError)
        if "\n" not in text and Path(text).suffix:
            raise MapError(f"{source}: {shown(text)} looks like a file name; GridMap.load reads files")
        if text.count("\n") > MAX_LINES:
            raise MapError(f"{source}: more than {MAX_LINES} lines; a side has at most {MAX_SIDE} cells")
        lines = text.replace("\r\n", "\n").split("\n")
        full = [number for number, line in enumerate(lines) if line.strip()]
        if not full:
            raise MapError(f"{source}: empty; a map needs rows of tiles such as XXXX")
        first, last = full[0], full[-1]
        if is_fenced(lines[first]):
            tiles, numbers, fences = read_fenced(lines, first, last, source)
            return cls(tuple(tiles), source, fences, Origin(numbers, True))
        return cls(tuple(lines[first : last + 1]), source, origin=Origin(range(first, last + 1), False))

    @classmethod
    def load(cls, path: str | Path) -> GridMap:
        """Read a map file; a `MapError` names file and line where it is missing or no map (see `parse`)."""
        return cls.parse(read_text(path, MapError), printable(str(path)))

    @classmethod
    def generate(
        cls, setup: str, size: int = 41, seed: int = 0, *, walls: float = 0, layout: layouts.Layout = "open"
    ) -> GridMap:  # fmt: skip
        """Place objects at random on a square map with the start in the centre.

        The map is a pure function of the arguments, the same on every machine and Python version. Start and objects
        are where they are without obstacles; `layouts` says what the layouts look like.

        Parameters
        ----------
        setup : str
            Counts and types, such as ``2a2b2c``; or ``appendix``, for the distances of the paper's appendix.
        size : int
            Side of the square, outer walls included.
        seed : int
            Which of the many placements.
        walls : float
            Share of the inner cells that are wall, from 0 to below 1.
        layout : str
            ``open``, or fences as ``rooms``, ``maze`` or ``deceptive``.

        Raises
        ------
        MapError
            Also when no such map has a way from the start to every object.

        >>> print(GridMap.generate("2a1b", size=7, seed=1).render(), end="")
        XXXXXXX
        X     X
        X     X
        X  A  X
        X   b X
        Xaa   X
        XXXXXXX
        >>> print(GridMap.generate("2a1b", size=7, seed=1, walls=0.3).render(), end="")
        XXXXXXX
        XX    X
        XXX   X
        XXXAX X
        XX Xb X
        Xaa   X
        XXXXXXX
        >>> print(GridMap.generate("2a1b", size=7, seed=1, layout="rooms").render(), end="")
        +-+-+-+-+-+
        |         |
        + + + + + +
        |   |     |
        + +-+-+-+ +
        |    A    |
        + + + + + +
        |   |  b  |
        + + + + + +
        |a a|     |
        +-+-+-+-+-+
        """
        obstacles = layouts.check_layout(walls, layout)
        for name, value in (("size", size), ("seed", seed)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer):
                raise MapError(f"{name}={shown(value)}: must be a whole number")
        if isinstance(setup, str) and setup == layouts.APPENDIX:
            check_whole("seed", seed, 0, 2**64 - 1)
            side = layouts.APPENDIX_SIDE
            if size != side or obstacles:
                raise MapError(
                    f"setup {shown(setup)}: has {side} x {side} cells and no obstacles; leave out other settings"
                )
            return cls(_rows(layouts.place_appendix(int(seed))), f"<{setup} seed {seed}>")
        asked = layouts.parse_setup(setup)
        if not abs(int(seed)) < 10**100:
            raise MapError(f"seed={shown(int(seed))}: must have at most 100 digits")
        if not 3 <= size <= MAX_SIDE:
            raise MapError(f"size={shown(int(size))}: the side of a map must be between 3 and {MAX_SIDE}")
        free = (int(size) - 2) ** 2 - 1
        if (total := sum(count for _, count in asked)) > free:  # before a letter is written down for each
            raise MapError(
                f"setup {shown(setup)}: {total} objects do not fit; a map of size {size} has {free} free cells"
            )
        source = f"<{f'{setup} {obstacles}'.rstrip()} size {size} seed {seed}>"
        key = f"{setup}/{size}/{seed}"
        letters = "".join(letter * count for letter, count in asked)
        tiles = layouts.place_objects(letters, int(size), key)
        fences = layouts.build_fences(layout, tiles, key, source)
        return cls(_rows(layouts.scatter_walls(tiles, float(walls), key, source)), source, fences)

    def __repr__(self) -> str:
        objects = ", ".join(f"{len(cells)} {letter}" for letter, cells in self.objects.items())
        return f"<GridMap {self.source}: {self.size[0]} x {self.size[1]}, {objects or 'no objects'}>"

    def _repr_svg_(self) -> str | None:
        """Show the map in a notebook."""
        from fastrm.pages import map_svg

        return map_svg(self)

    def plot(self) -> Figure:
        """Draw the map as a figure; needs matplotlib."""
        from fastrm.plots import draw_maps

        return draw_maps([(self.source, self)])

    def render(self, rows: Sequence[str] | None = None) -> str:
        """Return the map as text, or with other tiles; ``GridMap.parse`` of it gives an equal map."""
        tiles = self.rows if rows is None else rows
        if tiles is not self.rows and (
            not isinstance(tiles, list | tuple)
            or [len(row) if isinstance(row, str) else -1 for row in tiles] != [self.size[1]] * self.size[0]
        ):
            raise MapError(f"rows={shown(rows)}: must be {self.size[0]} texts of {self.size[1]} tiles")
        return write_fenced(tiles, self.fences) if self.fences else "\n".join(tiles) + "\n"

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns, outer walls included."""
        return len(self.rows), len(self.rows[0])

    @cached_property
    def tiles(self) -> npt.NDArray[np.uint8]:
        """The tiles as ASCII codes, ``[row, column]``, read-only."""
        return np.frombuffer("".join(self.rows).encode("ascii"), dtype=np.uint8).reshape(self.size)

    @cached_property
    def starts(self) -> tuple[Cell, ...]:
        """The start cells in reading order; every episode begins in one of them, drawn at random."""
        return tuple(moves.cells_where(self.tiles == ord(START)))

    @property
    def floor(self) -> tuple[Cell, ...]:
        """All cells that are not wall, in reading order."""
        return tuple(moves.cells_where(self.tiles != ord(WALL)))

    @property
    def start(self) -> Cell:
        """Row and column of the start cell, the first one where there are several."""
        return self.starts[0]

    def __getstate__(self) -> dict[str, object]:
        return {f.name: getattr(self, f.name) for f in fields(self)}  # what is cached is worked out again

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)

    @cached_property
    def objects(self) -> Mapping[str, tuple[Cell, ...]]:
        """The cells of every object type, types in alphabetical order, cells in reading order."""
        present = sorted({chr(code) for code in np.unique(self.tiles)} & OBJECTS)
        return MappingProxyType({x: tuple(moves.cells_where(self.tiles == ord(x))) for x in present})

    def passable(self) -> npt.NDArray[np.bool_]:
        """Return for every ``[row, column, action]`` whether the move leads to another cell."""
        return moves.passable(self.tiles, self.fences)


def _rows(tiles: moves.Tiles) -> tuple[str, ...]:
    return tuple(row.tobytes().decode("ascii") for row in tiles)


def _is_cell(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], int) and isinstance(value[1], int)
