"""What a page shows where no script runs: a map and learning curves as pictures that stand still."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
                marks.append(f'<text x="{column + 0.5}" y="{row + 0.5}" class="object">{text(shown)}</text>')
    for (row, column), there in sorted(grid.fences):
        fence = f"M{column} {row + 1}h1" if there[0] > row else f"M{column + 1} {row}v1"
        marks.append(f'<path class="fence" d="{fence}"/>')
    return (
        f'<svg class="map" viewBox="0 0 {width} {height}" role="img" aria-label="the map">'
        f'<path class="wall" d="{"".join(walls)}"/>{"".join(marks)}</svg>'
    )


Line = tuple[str, str, str, Sequence[float]]
"""Name, kind, dashes and heights of a curve."""


def still_curves(panels: Mapping[str, Sequence[Line]], low: float, high: float) -> str:
    """Return medians as SVG: one list of names with samples of their lines, and a panel per title."""
    looks = {name: (kind, dashes) for lines in panels.values() for name, kind, dashes, _ in lines}
    named = "".join(
        f'<li><svg class="sample" viewBox="0 0 28 18">{_curve(*look, "1,9 27,9")}</svg><span>{text(name)}</span></li>'
        for name, look in looks.items()
    )
    parts = []
    for title, lines in panels.items():
        drawn = []
        for _, kind, dashes, heights in lines:
            last, height = max(len(heights) - 1, 1), 110 / (high - low)
            points = " ".join(f"{300 * k / last:.0f},{116 - height * (h - low):.0f}" for k, h in enumerate(heights))
            drawn.append(_curve(kind, dashes, points))
        parts.append(
            f'<figure><figcaption>{text(title)}</figcaption><svg class="still" viewBox="0 0 300 122" role="img" '
            f'aria-label="median scores">{"".join(drawn)}</svg></figure>'
        )
    return f'<ul class="legend methods">{named}</ul><div class="plots">{"".join(parts)}</div>'


def _curve(kind: str, dashes: str, points: str) -> str:
    return f'<polyline class="curve kind-{text(kind)}" stroke-dasharray="{text(dashes)}" points="{points}"/>'
