"""What may stand on a cell: the letters of maps, known here and nowhere else, and which rows of them are a map."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from typing import NamedTuple

from fastrm.errors import MapError, place, shown

WALL, START, FLOOR = "X", "A", " "
FLOOR_TOO, WALL_TOO = ".", "#"
"""Other ways to write floor and wall."""

OBJECT = "[a-zH]"
"""A regular expression for the letter of an object type."""
OBJECTS = frozenset(string.ascii_lowercase + "H")
TILES = OBJECTS | {WALL, START, FLOOR, FLOOR_TOO, WALL_TOO}
AS_USUAL = str.maketrans({FLOOR_TOO: FLOOR, WALL_TOO: WALL})
"""How other ways to write a tile are read."""

TILES_IN_WORDS = "X or # (wall), A (start), space or . (floor), a lower-case letter or H (an object)"
OBJECT_IN_WORDS = "a lower-case letter (or H)"

MAX_SIDE = 10_000

Cell = tuple[int, int]
"""Row and column, row 0 on top."""


def is_object(text: str) -> bool:
    """Say whether a text is the letter of an object type.

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
    """Where in a text the rows of a map stand, for messages."""

    lines: Sequence[int]
    """Line of every row, counted from 0."""
    is_fenced: bool
    """Whether the map was drawn at twice the size."""


def check_tiles(rows: Sequence[str], origin: Origin, source: str) -> None:
    """Refuse rows of tiles that are no map, naming the line and the cure."""
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
