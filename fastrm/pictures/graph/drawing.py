"""What a picture of a machine consists of: states, arrows and texts in their places."""

from __future__ import annotations

from dataclasses import dataclass

from fastrm.pictures.graph.geometry import Box, Curve, Point, pill_rim, text_box

RADIUS, SMALL, LINE = 24.0, 14.0, 13.0
"""Half the height of a state and of a failure drawn beside its states; the height of a line of text."""
SIZE, NAME_SIZE = 10.0, 11.0
"""Height of the letters on edges, and in states."""


@dataclass(frozen=True)
class Node:
    """A state and where it stands: a pill, as wide as its name needs."""

    name: str
    place: Point
    role: str
    """``state``, ``success`` or ``failure``."""
    start: bool = False
    half_width: float = RADIUS
    half_height: float = RADIUS
    size: float = NAME_SIZE
    """Height of the letters of its name."""

    def rim(self, towards: Point) -> Point:
        """Return where a line from the centre to a point leaves the state."""
        return pill_rim(self.place, self.half_width, self.half_height, towards)

    def box(self, more: float = 0.0) -> Box:
        """Return the box around it, and so much more."""
        (x, y), wide, high = self.place, self.half_width + more, self.half_height + more
        return Box(x - wide, y - high, x + wide, y + high)


@dataclass(frozen=True)
class Arrow:
    """An edge, or several that join the same states: a curve from one rim to the other, and the text beside it."""

    source: str
    target: str
    curve: Curve
    text: tuple[str, ...]
    text_at: Point = (0.0, 0.0)

    def text_box(self) -> Box:
        """Return the box around the text."""
        return text_box(self.text_at, self.text, SIZE, LINE)


@dataclass(frozen=True)
class Drawing:
    """A machine laid out, the origin top left."""

    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]
    entry: tuple[Point, Point]
    """The arrow that points to the start."""
    width: float
    height: float
