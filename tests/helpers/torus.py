"""A world as a user would add one, in one file: rooms in a ring, on a torus.

Rooms lie side by side around the torus, each of them a tube of `height` x `length` cells; walls between them have a
door each. A `Torus` is a table, so that all that is done with tables is done with it. A `Wheel` is a class of its own:
one row in `compile` tells what it means.
"""

from dataclasses import dataclass

import fastrm
from fastrm import GridMap, TableWorld
from fastrm.dispatch import add_row

NAMES = ("up", "right", "down", "left")
OFFSETS = ((-1, 0), (0, 1), (1, 0), (0, -1))


class Torus(TableWorld):
    """Rooms around a torus; `things` are names at pairs of (row, column), and episodes begin in row 0, column 0."""

    def __init__(self, rooms=3, height=3, length=2, things=()):
        self.rooms, self.height, self.length = rooms, height, length
        self.width = rooms * length
        cells = [(r, c) for r in range(height) for c in range(self.width)]
        super().__init__(
            [[self.number(*self.moved(r, c, *offset)) for offset in OFFSETS] for r, c in cells],
            {self.number(r, c): name for name, (r, c) in dict(things).items()},
            names=NAMES,
            layout=GridMap.parse("\n".join(self.picture(dict(things))), "torus"),
            source=f"<torus of {rooms} rooms>",
        )

    def number(self, r, c):
        return r * self.width + c

    def moved(self, r, c, down, right):
        """Return where a move leads; walls between rooms are passed at their doors, one row further in every room."""
        there = (r + down) % self.height, (c + right) % self.width
        wall = max(c, c + right) % self.width // self.length
        crosses = right and there[1] // self.length != c // self.length
        return (r, c) if crosses and r != wall % self.height else there

    def picture(self, things):
        """Yield the lines of a map that shows the cells."""
        letters = {cell: name[0] for name, cell in things.items()} | {(0, 0): "A"}
        yield "X" * (self.width + 2)
        for r in range(self.height):
            yield "X" + "".join(letters.get((r, c), " ") for c in range(self.width)) + "X"
        yield "X" * (self.width + 2)


@dataclass(frozen=True)
class Wheel:
    """Cells in a circle, the last of which holds gold; one can go on or stay."""

    cells: int


@add_row(fastrm.compile, Wheel)
def compile_wheel(wheel, machine, *settings, **named):
    """Compile a wheel as the table that it is."""
    table = TableWorld([[(s + 1) % wheel.cells, s] for s in range(wheel.cells)], {wheel.cells - 1: "gold"})
    return fastrm.compile(table, machine, *settings, **named)
