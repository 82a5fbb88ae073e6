"""What may stand on a cell: the letters of maps, known here and nowhere else."""

from __future__ import annotations

import re
import string

WALL, START, FLOOR = "X", "A", " "
FLOOR_TOO = "."
"""Another way to write floor."""

OBJECT = "[a-zH]"
"""A regular expression for the letter of an object type."""
OBJECTS = frozenset(string.ascii_lowercase + "H")
TILES = OBJECTS | {WALL, START, FLOOR, FLOOR_TOO}

TILES_IN_WORDS = "X, A, space, '.', a lower-case letter or H"
OBJECT_IN_WORDS = "a lower-case letter (or H)"

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
