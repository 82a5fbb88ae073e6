"""Maps: as panels of a figure (needs matplotlib), and with an agent on them as text and as an image."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import ConfigError, printable
from fastrm.pictures.style import new_figure, object_colour, put_title, rgb, style
from fastrm.worlds import FLOOR, FLOOR_TOO, START, WALL, GridMap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_maps(grids: Sequence[tuple[str, GridMap]]) -> Figure:
    """Draw maps side by side, five in a row: walls grey, the start a cross, objects as coloured letters."""
    if not grids:
        raise ConfigError("no maps to draw")
    columns = min(5, len(grids))
    rows, side = math.ceil(len(grids) / columns), 1.5 if len(grids) > 1 else 4.5
    with style():
        shape = max(grid.size[0] / grid.size[1] for _, grid in grids)
        figure = new_figure(side * columns, (side * min(max(shape, 0.2), 4.0) + 0.15) * rows + 0.25)
        axes = figure.subplots(rows, columns, squeeze=False)
        top = 1 - 0.43 / figure.get_figheight()
        figure.subplots_adjust(left=0.01, right=0.99, bottom=0.01, top=top, wspace=0.05, hspace=0.12)
        for axis in axes.flat:
            axis.set_axis_off()
        for axis, (name, grid) in zip(axes.flat, grids, strict=False):
            draw_map(axis, grid, side)
            axis.set_title(printable(name), pad=2, parse_math=False)
        if columns > 1:
            put_title(figure, "start: cross; objects: letters")
    return figure


def draw_map(axis: Axes, grid: GridMap, side: float = 3.0) -> None:
    """Draw one map on a panel of about `side` inches."""
    tiles = np.array([list(row) for row in grid.rows])
    axis.imshow(tiles == WALL, cmap="Greys", vmin=0, vmax=2.0, interpolation="nearest")
    for (row, column), there in grid.fences:
        down, right = there[0] - row, there[1] - column
        ends = [column + 0.5 - down, column + 0.5], [row + 0.5 - right, row + 0.5]
        axis.plot(*ends, color="0.5", linewidth=1.2, solid_capstyle="butt")
    kinds = list(grid.objects)
    size = float(np.clip(60 * side / max(tiles.shape), 5, 16))
    for row, column in np.argwhere((tiles != WALL) & (tiles != FLOOR)).tolist():
        tile = tiles[row, column]
        if tile == START:
            axis.plot(column, row, marker="x", color="0.25", markersize=size * 0.6, markeredgewidth=1.0)
        else:
            colour = object_colour(kinds.index(tile))
            axis.text(
                column, row, tile, color=colour, fontsize=size, fontweight="bold", ha="center", va="center_baseline"
            )
    axis.set_axis_off()


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
