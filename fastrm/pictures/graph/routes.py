"""The ways of arrows from state to state: straight, in an arc around what stands between, or in a loop."""

from __future__ import annotations

import math

from fastrm.arrays import Array
from fastrm.pictures.graph.drawing import Node
from fastrm.pictures.graph.geometry import Curve, Point, points_inside, quadratic

LOOP = 40.0
"""How far loops reach from the rim of their state, about."""
_ARCS = (0.0, 26.0, -26.0, 44.0, -44.0, 64.0, -64.0, 90.0, -90.0, 130.0, -130.0, 180.0, -180.0)


def straight(here: Node, there: Node) -> Curve:
    """Return the straight way from one state to another."""
    begin, end = here.rim(there.place), there.rim(here.place)
    return quadratic(begin, ((begin[0] + end[0]) / 2, (begin[1] + end[1]) / 2), end)


def loop(node: Node, side: Point) -> Curve:
    """Return the way from a state to itself, on the side that a unit vector points to."""
    ends = []
    for angle in (-0.45, 0.45):
        x, y = _turned(side, angle)
        rim = node.rim((node.place[0] + x, node.place[1] + y))
        out = _turned(side, 1.4 * angle)
        ends.append((rim, (rim[0] + 1.3 * LOOP * out[0], rim[1] + 1.3 * LOOP * out[1])))
    return Curve(ends[0][0], ends[0][1], ends[1][1], ends[1][0])


def _turned(vector: Point, angle: float) -> Point:
    cos, sin = math.cos(angle), math.sin(angle)
    return vector[0] * cos - vector[1] * sin, vector[0] * sin + vector[1] * cos


def arc(here: Node, there: Node, both_ways: bool, states: Array, loops: Array) -> tuple[int, Curve]:
    """Bend an arrow as little as it takes to miss other states, and loops if it can, both given as boxes [n, 4].

    Returns how many states it hits all the same, and the curve. Of two opposite arrows each bends to its own side.
    """
    (x0, y0), (x1, y1) = here.place, there.place
    length = math.hypot(x1 - x0, y1 - y0)
    normal = (y1 - y0) / length, -(x1 - x0) / length
    ways: list[tuple[float, int, Curve]] = []
    for rise in _ARCS:
        if both_ways and rise <= 0:
            continue
        if ways and min(way[0] for way in ways) <= abs(rise):
            break  # what follows bends more
        bend = (x0 + x1) / 2 + 2 * rise * normal[0], (y0 + y1) / 2 + 2 * rise * normal[1]
        curve = quadratic(here.rim(bend), bend, there.rim(bend))
        points = curve.points()
        hits, near = (int((points_inside(boxes, points) > 0).sum()) for boxes in (states, loops))
        ways.append((1000.0 * hits + 60.0 * near + abs(rise), hits, curve))
    return min(ways, key=lambda way: way[0])[1:]


def arrow_head(before: Point, tip: Point, size: float = 8.0) -> tuple[Point, Point, Point]:
    """Return the triangle at the end of an arrow that comes from a point."""
    angle = math.atan2(tip[1] - before[1], tip[0] - before[0])
    sides = [(tip[0] - size * math.cos(angle + turn), tip[1] - size * math.sin(angle + turn)) for turn in (0.42, -0.42)]
    return tip, sides[0], sides[1]
