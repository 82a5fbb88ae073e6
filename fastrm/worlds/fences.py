"""Maps with walls between cells, as text of twice the size.

Tiles stand on odd lines and columns; between two tiles ``|`` or ``-`` is a wall and a space is open; corners are ``+``.

::

    +-+-+-+
    |A  |a|
    + +-+ +
    |    b|
    +-+-+-+
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fastrm.errors import MapError, place, shown
from fastrm.worlds.tiles import WALL, Cell

Fence = tuple[Cell, Cell]
"""Two neighbouring cells, the upper or left one first, that no move joins."""


def is_fenced(line: str) -> bool:
    """Say whether a map that begins with this line is written this way."""
    return line.startswith("+")


def read_fenced(
    lines: Sequence[str], first: int, last: int, source: str
) -> tuple[list[str], list[int], frozenset[Fence]]:
    """Read lines `first` to `last`.

    Returns rows of tiles with a ring of wall around them, the line that each row was read from, and the fences inside.
    """
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
    """Return which places of a line, every second one from `offset` on, are walls; those on the border must be."""
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
            walls = [
                "|" if c in (0, width) or ((row + 1, c), (row + 1, c + 1)) in closed else " " for c in range(width + 1)
            ]
            tiles = rows[row + 1][1:-1]
            lines.append(walls[0] + "".join(tile + wall for tile, wall in zip(tiles, walls[1:], strict=True)))
    return "\n".join(lines) + "\n"
