"""Maps, machines and curves as SVG text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from fastrm.arrays import Array
from fastrm.machines import RewardMachine
from fastrm.pictures.graph import to_svg
from fastrm.pictures.map_views import starts_to_mark
from fastrm.pictures.style import HERE_COLOUR, PATH_COLOUR, object_colour
from fastrm.worlds import WALL, Cell, GridMap

SIDE, SMALLEST, LARGEST = 420, 2, 24
"""Pixels of the longer side of a map, and of its cells at least and at most."""
MOST_CELLS, MOST_EDGES = 201, 120
"""Cells of a side, and edges of a machine, beyond which nothing is drawn: a notebook keeps every picture."""
CURVE_WIDTH, CURVE_HEIGHT, MOST_POINTS = 340, 110, 340
_FONT = 'font-family="DejaVu Sans, Helvetica, sans-serif"'


def map_svg(
    grid: GridMap,
    path: Sequence[Cell] = (),
    dotted: Sequence[Cell] = (),
    mark: Cell | None = None,
    side: int = SIDE,
    starts: Sequence[Cell] | None = None,
) -> str | None:
    """Draw a map as SVG; None where it is too large.

    Parameters
    ----------
    grid : GridMap
        The map.
    path : sequence of cells
        A way to draw as a line.
    dotted : sequence of cells
        A way to draw dotted, below the other.
    mark : cell, optional
        A cell to draw a ring around.
    side : int
        Pixels of the longer side, about.
    starts : sequence of cells, optional
        Those of a problem, by default those of the map; more than 12 are not marked.

    >>> svg = map_svg(GridMap.generate("1a", size=7, seed=1))
    >>> svg[:4], svg.count("<text"), svg.count("<rect")
    ('<svg', 1, 9)
    """
    rows, columns = grid.size
    if max(rows, columns) > MOST_CELLS:
        return None
    cell = min(max(side // max(rows, columns), SMALLEST), LARGEST)
    parts = [_open(columns * cell, rows * cell), *_walls(grid, cell), *_fences(grid, cell)]
    for cells, look in ((dotted, 'stroke="#888" stroke-dasharray="2 3"'), (path, f'stroke="{PATH_COLOUR}"')):
        if len(cells) > 1:
            points = " ".join(f"{x:g},{y:g}" for x, y in (_centre(place, cell) for place in cells))
            width = max(2.0, cell / 5)
            parts.append(f'<polyline points="{points}" fill="none" {look} stroke-width="{width:g}" opacity="0.85"/>')
    arm, (marked, _) = 0.28 * cell, starts_to_mark(grid.starts if starts is None else starts)
    for x, y in (_centre(place, cell) for place in marked):
        cross = f"M{x - arm:g},{y - arm:g}l{2 * arm:g},{2 * arm:g}m0,{-2 * arm:g}l{-2 * arm:g},{2 * arm:g}"
        parts.append(f'<path d="{cross}" stroke="#333" stroke-width="1.5"/>')
    for k, (letter, places) in enumerate(grid.objects.items()):
        for x, y in (_centre(place, cell) for place in places):
            parts.append(
                f'<text x="{x:g}" y="{y + 0.36 * max(cell, 10):g}" font-size="{max(cell, 10):g}" font-weight="bold" '
                f'text-anchor="middle" fill="{object_colour(k)}" stroke="#fff" stroke-width="2" '
                f'paint-order="stroke">{letter}</text>'
            )
    if mark is not None:
        x, y = _centre(mark, cell)
        parts.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="{max(0.6 * cell, 6):g}" fill="none" stroke="{HERE_COLOUR}" '
            'stroke-width="2"/>'
        )
    return "".join([*parts, "</svg>"])


def machine_svg(machine: RewardMachine) -> str | None:
    """Draw a machine as SVG that shrinks to the room there is; None where it is too large."""
    if len(machine.edges) > MOST_EDGES:
        return None
    return to_svg(machine).replace("<svg ", '<svg style="max-width:100%;height:auto" ', 1)


def score_svg(step: Array, score: Array) -> str:
    """Draw a learning curve as SVG: the score over the steps, a dashed line at 1.

    >>> score_svg(np.array([10, 20]), np.array([np.nan, 0.5])).count("<circle")
    1
    """
    known = np.flatnonzero(np.isfinite(score))
    parts = [_open(CURVE_WIDTH, CURVE_HEIGHT)]
    if not len(known):
        return "".join([*parts, _label(CURVE_WIDTH / 2, CURVE_HEIGHT / 2, "no score yet", "middle"), "</svg>"])
    left, right, top, bottom = 28, 8, 8, 20
    low, high = min(0.0, float(score[known].min())), max(1.0, float(score[known].max())) * 1.05

    def place(x: float, y: float) -> tuple[float, float]:
        across, up = CURVE_WIDTH - left - right, CURVE_HEIGHT - top - bottom
        return left + across * x / float(step[-1]), top + up * (high - y) / (high - low)

    for level, dashes in ((0.0, ""), (1.0, ' stroke-dasharray="4 3"')):
        y = place(0, level)[1]
        ends = f'x1="{left}" y1="{y:.1f}" x2="{CURVE_WIDTH - right}" y2="{y:.1f}"'
        parts.append(f'<line {ends} stroke="#999" stroke-width="0.8"{dashes}/>')
        parts.append(_label(left - 5, y + 3.5, f"{level:g}", "end"))
    some = known[:: math.ceil(len(known) / MOST_POINTS)]
    some = some if some[-1] == known[-1] else np.append(some, known[-1])
    points = [place(float(step[k]), float(score[k])) for k in some]
    if len(points) == 1:
        parts.append(f'<circle cx="{points[0][0]:.1f}" cy="{points[0][1]:.1f}" r="2.5" fill="{HERE_COLOUR}"/>')
    else:
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{HERE_COLOUR}" stroke-width="1.5"/>')
    parts.append(_label(CURVE_WIDTH - right, CURVE_HEIGHT - 6, f"{int(step[-1]):,} steps", "end"))
    return "".join([*parts, _label(left, CURVE_HEIGHT - 6, "score", "start"), "</svg>"])


def _open(width: int, height: int) -> str:
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {_FONT}><rect width="100%" height="100%" fill="#fff"/>'


def _label(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="10" text-anchor="{anchor}" fill="#555">{text}</text>'


def _centre(place: Cell, cell: int) -> tuple[float, float]:
    return (place[1] + 0.5) * cell, (place[0] + 0.5) * cell


def _walls(grid: GridMap, cell: int) -> Iterator[str]:
    """Yield a rectangle per stretch of wall in a row; rows that are alike become one."""
    y = 0
    for row, alike in groupby(grid.rows):
        height = len(list(alike))
        x = 0
        for tile, stretch in groupby(row):
            width = len(list(stretch))
            if tile == WALL:
                where = f'x="{x * cell}" y="{y * cell}" width="{width * cell}" height="{height * cell}"'
                yield f'<rect {where} fill="#aaa"/>'
            x += width
        y += height


def _fences(grid: GridMap, cell: int) -> Iterator[str]:
    """Yield one path of all fences, each on the side that its two cells share."""
    strokes = []
    for (row, column), there in sorted(grid.fences):
        down, right = there[0] - row, there[1] - column
        strokes.append(f"M{(column + 1) * cell},{(row + 1) * cell}l{-down * cell},{-right * cell}")
    if strokes:
        yield f'<path d="{"".join(strokes)}" stroke="#777" stroke-width="{max(1.5, cell / 8):g}"/>'
