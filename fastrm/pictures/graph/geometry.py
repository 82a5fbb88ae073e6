"""Points, boxes and curves of a picture, in points of the page; x grows to the right and y downwards."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fastrm.arrays import Array

Point = tuple[float, float]
_NARROW, _WIDE = frozenset("iljtfr.,:;|!()[]'\" I"), frozenset("mwMW@%+<>=")
_SAMPLES = np.linspace(0.0, 1.0, 49)


class Box(NamedTuple):
    """A rectangle whose sides are level and upright."""

    left: float
    top: float
    right: float
    bottom: float


class Curve(NamedTuple):
    """A cubic Bezier curve."""

    begin: Point
    first_bend: Point
    second_bend: Point
    end: Point

    def points(self) -> Array:
        """Return points along the curve, float64 [n, 2]."""
        t = _SAMPLES[:, None]
        weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
        along: Array = np.sum([weight * np.array(point) for weight, point in zip(weights, self, strict=True)], axis=0)
        return along


def quadratic(begin: Point, bend: Point, end: Point) -> Curve:
    """Return the quadratic curve with one bend as a cubic one.

    >>> quadratic((0, 0), (3, 3), (6, 0)).first_bend
    (2.0, 2.0)
    """
    return Curve(begin, _between(begin, bend, 2 / 3), _between(end, bend, 2 / 3), end)


def _between(one: Point, two: Point, share: float) -> Point:
    return one[0] + (two[0] - one[0]) * share, one[1] + (two[1] - one[1]) * share


def text_width(text: str, size: float) -> float:
    """Return about how wide a text is in letters of a height; a little more than in most fonts.

    >>> text_width("mmm", 10) > text_width("abc", 10) > text_width("iii", 10)
    True
    """
    return size * sum(0.42 if c in _NARROW else 0.98 if c in _WIDE or ord(c) > 0x2E7F else 0.65 for c in text)


def text_box(centre: Point, lines: tuple[str, ...], size: float, line: float) -> Box:
    """Return the box around lines of text."""
    wide, high = max(text_width(text, size) for text in lines) / 2 + 2, line * len(lines) / 2 + 1
    return Box(centre[0] - wide, centre[1] - high, centre[0] + wide, centre[1] + high)


def pill_rim(centre: Point, half_width: float, half_height: float, towards: Point) -> Point:
    """Return where the line from the centre of a pill (a circle when as wide as high) to a point leaves it.

    >>> pill_rim((0, 0), 20, 10, (0, 50)), pill_rim((0, 0), 20, 10, (50, 0))
    ((0.0, 10.0), (20.0, 0.0))
    """
    dx, dy = towards[0] - centre[0], towards[1] - centre[1]
    length = math.hypot(dx, dy) or 1.0
    dx, dy, flat = dx / length, dy / length, half_width - half_height
    if abs(dy) * flat >= half_height * abs(dx) and dy:  # through the flat side
        reach = half_height / abs(dy)
    else:  # through the round end, a circle around (flat, 0)
        along = abs(dx) * flat
        reach = along + math.sqrt(max(0.0, along**2 - flat**2 + half_height**2))
    return centre[0] + dx * reach, centre[1] + dy * reach


def pill_outline(box: Box) -> Array:
    """Return the rim of the pill that fills a box, as the corners of a polygon, [n, 2]."""
    radius = (box.bottom - box.top) / 2
    angle = np.linspace(-np.pi / 2, np.pi / 2, 41)
    x, y = radius * np.cos(angle), radius * np.sin(angle) + (box.top + box.bottom) / 2
    right, left = np.stack([box.right - radius + x, y], axis=1), np.stack([box.left + radius - x, y], axis=1)
    return np.concatenate([right, left[::-1]])


def shared_area(boxes: Array, others: Array) -> Array:
    """Return how much every box shares with every other, float64 [n, m], of boxes as rows [n, 4] and [m, 4]."""
    wide = np.minimum(boxes[:, None, 2], others[None, :, 2]) - np.maximum(boxes[:, None, 0], others[None, :, 0])
    high = np.minimum(boxes[:, None, 3], others[None, :, 3]) - np.maximum(boxes[:, None, 1], others[None, :, 1])
    area: Array = np.maximum(wide, 0.0) * np.maximum(high, 0.0)
    return area


def points_inside(boxes: Array, points: Array) -> Array:
    """Count, for every box [n, 4], the points [m, 2] in it."""
    x, y = points[None, :, 0], points[None, :, 1]
    count: Array = ((x > boxes[:, :1]) & (y > boxes[:, 1:2]) & (x < boxes[:, 2:3]) & (y < boxes[:, 3:4])).sum(axis=1)
    return count
