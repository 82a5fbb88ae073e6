"""Maps: as panels of a figure (needs matplotlib), and with an agent on them as text and as an image."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fastrm.arrays import Array
from fastrm.dispatch import add_row, by_kind
from fastrm.errors import ConfigError, printable, shown
from fastrm.plots.palette import (
    AGENT,
    FIELD_MAPS,
    MAP_COLOURS,
    MOST_STARTS,
    START_MARKER,
    WHITE,
    ink,
    object_colour,
    rgb,
)
from fastrm.plots.style import check_width, new_figure, put_title, style
from fastrm.problems import Episode, TabularEpisode, unsupported
from fastrm.worlds import FLOOR, FLOOR_TOO, START, WALL, Cell, GridMap, TableWorld, check_layout_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def starts_to_mark(starts: Sequence[Cell]) -> tuple[Sequence[Cell], str]:
    """Return the starts that a picture marks, and a remark in their place where they are too many.

    >>> starts_to_mark([(1, 1)]), starts_to_mark([(1, k) for k in range(40)])
    (([(1, 1)], ''), ((), '40 starts, not marked'))
    """
    return (starts, "") if len(starts) <= MOST_STARTS else ((), f"{len(starts)} starts, not marked")


def fence_ends(grid: GridMap) -> list[tuple[int, int, int, int]]:
    """Return the ends (x, y, x, y) of every fence, left or top first, in cells from the top left corner of the map."""
    fences = sorted(grid.fences)
    return [(x + 1 - (below - y), y + 1 - (right - x), x + 1, y + 1) for (y, x), (below, right) in fences]


def draw_maps(grids: Sequence[tuple[str, GridMap]], width: float | None = None) -> Figure:
    """Draw maps side by side, five in a row: walls grey, starts crosses, objects as coloured letters.

    `width` is that of the figure, in inches: 1 to 40.
    """
    if not grids:
        raise ConfigError("no maps to draw")
    check_width(width, 1)
    columns = min(5, len(grids))
    rows, side = math.ceil(len(grids) / columns), 1.5 if len(grids) > 1 else 4.5
    side = side if width is None else width / columns
    with style():
        shape = max(grid.size[0] / grid.size[1] for _, grid in grids)
        figure = new_figure(side * columns, (side * min(max(shape, 0.2), 4.0) + 0.15) * rows + 0.25)
        axes = figure.subplots(rows, columns, squeeze=False)
        top = 1 - 0.43 / figure.get_figheight()
        figure.subplots_adjust(left=0.01, right=0.99, bottom=0.01, top=top, wspace=0.05, hspace=0.12)
        for axis in axes.flat:
            axis.set_axis_off()
        for axis, (name, grid) in zip(axes.flat, grids, strict=False):
            draw_ground(axis, grid)
            draw_objects(axis, grid, side)
            unmarked = starts_to_mark(grid.starts)[1]
            axis.set_title(printable(f"{name} ({unmarked})" if unmarked else name), pad=2, parse_math=False)
        if columns > 1:
            put_title(figure, "start: cross; objects: letters")
    return figure


def draw_ground(axis: Axes, grid: GridMap) -> None:
    """Draw the walls and fences of a map on a panel; floor is clear, so that something may be below."""
    wall = np.where(grid.tiles == ord(WALL), 1.0, np.nan)
    axis.imshow(wall, cmap=FIELD_MAPS["wall"], vmin=0, vmax=2.0, interpolation="nearest", zorder=1.5)
    lines = [((a - 0.5, b - 0.5), (c - 0.5, d - 0.5)) for a, b, c, d in fence_ends(grid)]
    if lines:
        from matplotlib.collections import LineCollection

        casing = LineCollection(lines, colors=WHITE, linewidths=2.6, zorder=1.6)  # seen on dark colours too
        axis.add_collection(casing, autolim=False)
        axis.add_collection(
            LineCollection(lines, colors=MAP_COLOURS["figure"]["fence"], linewidths=1.4, zorder=1.7), autolim=False
        )
    axis.set_axis_off()


def draw_objects(axis: Axes, grid: GridMap, side: float, starts: Sequence[Cell] | None = None) -> None:
    """Draw starts and objects on a panel of about `side` inches, with a white rim: readable on every colour.

    `starts` are those of a problem, by default those of the map.
    """
    from matplotlib.patheffects import withStroke

    size = float(np.clip(60 * side / max(grid.size), 5.5 if side < 2 else 6.5, 16))
    marked, _ = starts_to_mark(grid.starts if starts is None else starts)
    rows, columns = [row for row, _ in marked], [column for _, column in marked]
    for colour, thick in ((WHITE, 2.6), (MAP_COLOURS["figure"]["start"], 1.2)):
        axis.plot(
            columns, rows, marker=START_MARKER, linestyle="", color=colour, markersize=size * 0.6,
            markeredgewidth=thick, zorder=3,
        )  # fmt: skip
    for k, (letter, cells) in enumerate(grid.objects.items()):
        for row, column in cells:
            axis.text(
                column, row, letter, color=ink(object_colour(k)), fontsize=size, fontweight="bold", ha="center",
                va="center_baseline", zorder=4, path_effects=[withStroke(linewidth=0.3 * size, foreground=WHITE)],
            )  # fmt: skip


def show(grid: GridMap, row: int, column: int) -> str:
    """Return a map as text, the agent as @."""
    rows = [line.replace(START, FLOOR_TOO) for line in grid.rows]
    rows[row] = rows[row][:column] + AGENT + rows[row][column + 1 :]
    return grid.render(rows)


_PIXELS = 12


def paint(grid: GridMap, row: int, column: int) -> Array:
    """Return a map as an image, the agent black."""
    tiles = {WALL: "wall", FLOOR: "floor", START: "start"}
    colours = {letter: rgb(object_colour(k)) for k, letter in enumerate(grid.objects)}
    colours |= {tile: rgb(MAP_COLOURS["image"][name]) for tile, name in tiles.items()}
    small = np.array([[colours[tile] for tile in line] for line in grid.rows], dtype=np.uint8)
    image = small.repeat(_PIXELS, axis=0).repeat(_PIXELS, axis=1)
    for ends in fence_ends(grid):
        left, top, right, bottom = (_PIXELS * end for end in ends)
        across, down = int(left == right), int(top == bottom)  # a pixel on either side
        image[top - down : bottom + down, left - across : right + across] = colours[WALL]
    inside = slice(_PIXELS // 4, _PIXELS - _PIXELS // 4)
    image[row * _PIXELS : (row + 1) * _PIXELS, column * _PIXELS : (column + 1) * _PIXELS][inside, inside] = rgb(
        MAP_COLOURS["image"]["agent"]
    )
    return image


@by_kind
def draw_world(world: object, name: str = "", width: float | None = None) -> Figure:
    """Draw a world by itself: a map, the layout of a table, or a water world as an episode begins."""
    raise ConfigError(f"{shown(world)}: is no world that can be drawn")


@add_row(draw_world, GridMap, TableWorld)
def draw_layout(world: GridMap | TableWorld, name: str = "", width: float | None = None) -> Figure:
    """Draw a map, or the one that the cells of a table are laid out on."""
    return draw_maps([(name or world.source, check_layout_of(world))], width)


@by_kind
def show_episode(episode: Episode) -> str:
    """Return an episode as text: where the agent is."""
    raise unsupported(episode.problem)


@add_row(show_episode, TabularEpisode)
def show_on_map(episode: TabularEpisode) -> str:
    """Return the map with the agent, or the number of its cell."""
    grid = episode.problem.layout
    return show(grid, *episode.cell) if grid else f"cell {episode.cell}\n"
