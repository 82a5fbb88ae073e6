"""What a page shows where no script runs: a map and learning curves as pictures that stand still."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastrm.pictures.html.page import text
from fastrm.problems import Problem
from fastrm.worlds import FLOOR, START, WALL, GridMap


def explained(problem: Problem, data: Mapping[str, Any]) -> str:
    """Return the map, the machine as text, and the verdict."""
    verdict = data["verdict"]
    said = f"<p>{text(verdict['verdict'])}: {text(verdict['meaning'])}</p>" if verdict else ""
    written = text("\n".join(data["machine"]["text"])).replace("\\n", "\n")
    return (
        f"<h1>{text(data['title'])}</h1><p>This page needs JavaScript to walk the map.</p>{said}"
        f"{still_map(problem.grid)}<pre>{written}</pre>"
    )


def still_map(grid: GridMap) -> str:
    """Return a map as SVG."""
    height, width = grid.size
    walls, marks = [], []
    for row, line in enumerate(grid.rows):
        for column, tile in enumerate(line):
            if tile == WALL:
                walls.append(f"M{column} {row}h1v1h-1z")
            elif tile != FLOOR:
                shown = "+" if tile == START else tile
                marks.append(f'<text x="{column + 0.5}" y="{row + 0.8}" class="object">{text(shown)}</text>')
    for (row, column), there in sorted(grid.fences):
        fence = f"M{column} {row + 1}h1" if there[0] > row else f"M{column + 1} {row}v1"
        marks.append(f'<path class="fence" d="{fence}"/>')
    return (
        f'<svg class="map" viewBox="0 0 {width} {height}" role="img" aria-label="the map">'
        f'<path class="wall" d="{"".join(walls)}"/>{"".join(marks)}</svg>'
    )


def still_curves(
    panels: Iterable[tuple[str, Sequence[tuple[str, str, str, Sequence[float]]]]], low: float, high: float
) -> str:
    """Return medians as SVG: panels of a title and of lines, each with name, kind, dashes and heights."""
    parts = []
    for title, lines in panels:
        drawn = []
        for _, kind, dashes, heights in lines:
            last, height = max(len(heights) - 1, 1), 110 / (high - low)
            points = " ".join(f"{300 * k / last:.0f},{116 - height * (h - low):.0f}" for k, h in enumerate(heights))
            drawn.append(f'<polyline class="curve kind-{text(kind)}" stroke-dasharray="{dashes}" points="{points}"/>')
        names = ", ".join(text(name) for name, _, _, _ in lines)
        parts.append(
            f'<figure><figcaption>{text(title)}</figcaption><svg class="still" viewBox="0 0 300 122" role="img" '
            f'aria-label="median scores">{"".join(drawn)}</svg><p class="soft">{names}</p></figure>'
        )
    return "".join(parts)
