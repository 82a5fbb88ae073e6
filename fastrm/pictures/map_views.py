"""A map with an agent on it, as text and as an image."""

from __future__ import annotations

import numpy as np

from fastrm.arrays import Array
from fastrm.pictures.style import object_colour, rgb
from fastrm.worlds import FLOOR, FLOOR_TOO, START, WALL, GridMap


def show(grid: GridMap, row: int, column: int) -> str:
    """Return a map as text, the agent as @."""
    rows = [line.replace(START, FLOOR_TOO) for line in grid.rows]
    rows[row] = rows[row][:column] + "@" + rows[row][column + 1 :]
    return grid.render(rows)


_PAINT = {WALL: (110, 110, 110), FLOOR: (255, 255, 255), START: (235, 235, 235)}
_PIXELS = 12


def paint(grid: GridMap, row: int, column: int) -> Array:
    """Return a map as an image, the agent black."""
    colours = {letter: rgb(object_colour(k)) for k, letter in enumerate(grid.objects)} | _PAINT
    small = np.array([[colours[tile] for tile in line] for line in grid.rows], dtype=np.uint8)
    image = small.repeat(_PIXELS, axis=0).repeat(_PIXELS, axis=1)
    for (r, c), there in grid.fences:
        y, x = (r + 1) * _PIXELS, (c + 1) * _PIXELS
        if there[0] > r:
            image[y - 1 : y + 1, x - _PIXELS : x] = _PAINT[WALL]
        else:
            image[y - _PIXELS : y, x - 1 : x + 1] = _PAINT[WALL]
    inside = slice(_PIXELS // 4, _PIXELS - _PIXELS // 4)
    image[row * _PIXELS : (row + 1) * _PIXELS, column * _PIXELS : (column + 1) * _PIXELS][inside, inside] = 0
    return image
