"""A map with an agent on it, as text and as an image."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fastrm.pictures.style import object_colour, rgb
from fastrm.worlds import fences
from fastrm.worlds.grid import GridMap

Array = npt.NDArray[Any]


def show(grid: GridMap, row: int, column: int) -> str:
    """Return a map as text, the agent as @."""
    rows = [line.replace("A", ".") for line in grid.rows]
    rows[row] = rows[row][:column] + "@" + rows[row][column + 1 :]
    return fences.write(rows, grid.walls) if grid.walls else "\n".join(rows) + "\n"


_PAINT = {"X": (110, 110, 110), " ": (255, 255, 255), "A": (235, 235, 235)}
_PIXELS = 12


def paint(grid: GridMap, row: int, column: int) -> Array:
    """Return a map as an image, the agent black."""
    colours = {letter: rgb(object_colour(k)) for k, letter in enumerate(grid.objects)} | _PAINT
    small = np.array([[colours[tile] for tile in line] for line in grid.rows], dtype=np.uint8)
    image = small.repeat(_PIXELS, axis=0).repeat(_PIXELS, axis=1)
    for (r, c), there in grid.walls:
        y, x = (r + 1) * _PIXELS, (c + 1) * _PIXELS
        if there[0] > r:
            image[y - 1 : y + 1, x - _PIXELS : x] = _PAINT["X"]
        else:
            image[y - _PIXELS : y, x - 1 : x + 1] = _PAINT["X"]
    inside = slice(_PIXELS // 4, _PIXELS - _PIXELS // 4)
    image[row * _PIXELS : (row + 1) * _PIXELS, column * _PIXELS : (column + 1) * _PIXELS][inside, inside] = 0
    return image
