"""The text of maps: the letters of tiles, known here and nowhere else, and which rows of them are a map.

A map with fences, which are walls between cells, is written at twice the size. Its tiles are on odd lines and columns;
between two tiles ``|`` or ``-`` is a fence and a space is open; corners are ``+``::

    +-+-+-+
    |A  |a|
    + +-+ +
    |    b|
    +-+-+-+
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fastrm.errors import MapError, place, shown

WALL, START, FLOOR = "X", "A", " "
FLOOR_TOO, WALL_TOO = ".", "#"
"""Alternative letters of floor and wall."""

OBJECT = "[a-zH]"
"""A regular expression for the letter of an object type."""
OBJECTS = frozenset(string.ascii_lowercase + "H")
TILES = OBJECTS | {WALL, START, FLOOR, FLOOR_TOO, WALL_TOO}
AS_USUAL = str.maketrans({FLOOR_TOO: FLOOR, WALL_TOO: WALL})
"""Translates alternative letters."""

TILES_IN_WORDS = "X or # (wall), A (start), space or . (floor), a lower-case letter or H (an object)"
OBJECT_IN_WORDS = "a lower-case letter (or H)"

MAX_SIDE = 10_000

Cell = tuple[int, int]
"""Row and column, row 0 on top."""


def is_object(text: str) -> bool:
    """Return whether a text is the letter of an object type.

    >>> is_object("a"), is_object("A"), is_object("ab")
    (True, False, False)
    """
    return text in OBJECTS


def split_object(name: str) -> tuple[str, int | None]:
    """Split the name of an object, or of a type, into the type and the object's number in reading order, from 1.

    >>> split_object("a2"), split_object("a"), split_object("gold")
    (('a', 2), ('a', None), ('gold', None))
    """
    single = re.fullmatch(rf"({OBJECT})([1-9][0-9]{{0,8}})", name)
    return (name, None) if single is None else (single[1], int(single[2]))


class Origin(NamedTuple):
    """Where in a text the rows of a map are, for messages."""

    lines: Sequence[int]
    """Line of every row, counted from 0."""
    is_fenced: bool
    """Whether the map was drawn at twice the size."""


def check_tiles(rows: Sequence[str], origin: Origin, source: str) -> None:
    """Raise MapError, naming the line and the cure, unless rows of tiles are a map."""
    width, numbers = len(rows[0]), origin.lines
    has_start = False
    for row, number in zip(rows, numbers, strict=True):
        where = place(source, number + 1)
        if not TILES.issuperset(row):
            unknown = next(tile for tile in row if tile not in TILES)
            column = 2 * row.index(unknown) if origin.is_fenced else row.index(unknown) + 1
            raise MapError(f"{where}unknown tile {shown(unknown)} in column {column}; use {TILES_IN_WORDS}")
        if len(row) != width:
            first = numbers[0] + 1
            raise MapError(f"{where}{len(row)} tiles, but line {first} has {width}; make all rows equally long")
        ring = row if number in (numbers[0], numbers[-1]) else row[0] + row[-1]
        if ring.strip(WALL + WALL_TOO):
            raise MapError(f"{where}open border; the first and last row and column of a map must be wall (X)")
        has_start = has_start or START in row
    if max(width, len(rows)) > MAX_SIDE:
        raise MapError(f"{source}: a side is longer than {MAX_SIDE} cells; make the map smaller")
    if not has_start:
        raise MapError(f"{source}: no start cell; mark one with A, or several of which every episode begins in one")


Fence = tuple[Cell, Cell]
"""Two neighbouring cells, the upper or left one first, that no move joins."""


def is_fenced(line: str) -> bool:
    """Return whether a map that begins with this line is written at twice the size."""
    return line.startswith("+")


def read_fenced(
    lines: Sequence[str], first: int, last: int, source: str
) -> tuple[list[str], list[int], frozenset[Fence]]:
    """Return the rows of tiles in lines `first` to `last`, a ring of wall added, the line of each, and the fences."""
    width = len(lines[first])
    if width % 2 == 0 or (last - first) % 2:
        raise MapError(
            f"{place(source, first + 1)}a map with walls between cells needs an odd number of lines and columns, "
            f"found {last - first + 1} and {width}"
        )
    fences: set[Fence] = set()
    for number in range(first, last + 1):
        line, where = lines[number], place(source, number + 1)
        if len(line) != width:
            raise MapError(f"{where}{len(line)} characters, but line {first + 1} has {width}; make all equally long")
        row = (number - first) // 2
        if (number - first) % 2:
            closed = _walls(line, 0, "|", (0, width // 2), where)
            fences.update(((row + 1, k), (row + 1, k + 1)) for k in closed if 0 < k < width // 2)
        else:
            border = range(width // 2) if number in (first, last) else ()
            closed = _walls(line, 1, "-", border, where)
            fences.update(((row, k + 1), (row + 1, k + 1)) for k in closed if not border)
    ring, numbers = WALL * (width // 2 + 2), range(first + 1, last, 2)
    rows = [ring, *(f"{WALL}{lines[number][1::2]}{WALL}" for number in numbers), ring]
    return rows, [first, *numbers, last], frozenset(fences)


def _walls(line: str, offset: int, wall: str, border: Sequence[int], where: str) -> list[int]:
    """Return which places of a line, every second one from `offset` on, are closed; those on the border must be."""
    for column in range(1 - offset, len(line), 2) if wall == "-" else ():
        if line[column] != "+":
            raise MapError(f"{where}expected + in column {column + 1}, found {shown(line[column])}")
    closed = []
    for k, mark in enumerate(line[offset::2]):
        column = 2 * k + offset + 1
        if mark not in (wall, " "):
            raise MapError(f"{where}expected {wall} or a space in column {column}, found {shown(mark)}")
        if mark == wall:
            closed.append(k)
        elif k in border:
            raise MapError(f"{where}open border in column {column}; close it with {wall}")
    return closed


def write_fenced(rows: Sequence[str], fences: Iterable[Fence]) -> str:
    """Write rows of tiles, outer ring included, and fences; `read_fenced` of it gives the same."""
    closed = set(fences)
    height, width = len(rows) - 2, len(rows[0]) - 2
    lines = []
    for row in range(height + 1):
        marks = ("-" if row in (0, height) or ((row, c), (row + 1, c)) in closed else " " for c in range(1, width + 1))
        lines.append("+" + "".join(f"{mark}+" for mark in marks))
        if row < height:
            marks = (
                "|" if c == width or ((row + 1, c), (row + 1, c + 1)) in closed else " " for c in range(1, width + 1)
            )
            lines.append("|" + "".join(tile + mark for tile, mark in zip(rows[row + 1][1:-1], marks, strict=True)))
    return "\n".join(lines) + "\n"
