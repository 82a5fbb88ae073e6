"""Where the states and edges of a machine stand in its picture.

States stand in columns by their distance from the start and are ordered within a column so that edges cross little (a
few rounds of sorting by the mean height of their neighbours). Edges that stay in a state are written below it, and so
are edges to a failure that many states lead to.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fastrm.machines import RewardMachine
from fastrm.machines.language import Otherwise, write

ACROSS, DOWN, RADIUS, MARGIN, LINE = 190.0, 120.0, 26.0, 20.0, 12.0
SIZE = 10.0
"""Height of the letters on edges."""
MANY = 2
"""Edges to a failure state beyond which they are written below their states instead of drawn."""
_ROUNDS = 8
_WIDE = 0.58  # width of a letter, as a share of its height

Point = tuple[float, float]
Box = tuple[float, float, float, float]
_SHARES = (0.34, 0.5, 0.25, 0.62, 0.42, 0.7, 0.18, 0.8)  # where along an edge its text may stand, best first


@dataclass(frozen=True)
class Node:
    """A state and where it stands."""

    name: str
    place: Point
    role: str
    """``state``, ``success`` or ``failure``."""
    start: bool
    below: tuple[str, ...]
    """What is written below it: the edges that stay."""


@dataclass(frozen=True)
class Arrow:
    """An edge, or several that join the same states: a quadratic curve from one rim to the other, and its text."""

    begin: Point
    bend: Point
    end: Point
    text: tuple[str, ...]
    text_at: Point


@dataclass(frozen=True)
class Drawing:
    """A machine laid out, in points, the origin top left."""

    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]
    width: float
    height: float


def lay_out(machine: RewardMachine) -> Drawing:
    """Place the states and edges of a machine."""
    joined = dict(joined_edges(machine))
    columns = _columns(machine, joined)
    crowded = {v for v in machine.failure if sum(target == v for _, target in joined) > MANY}
    tallest = max(len(column) for column in columns)
    stay = {u: tuple(_below(u, joined, crowded)) for column in columns for u in column}
    below = max((len(lines) for lines in stay.values()), default=0)
    down = DOWN + LINE * max(0, below - 1)
    widest = max((len(line) for (u, v), lines in joined.items() if u != v for line in lines), default=0)
    across = max(ACROSS, 2 * RADIUS + 50 + widest * SIZE * _WIDE)
    places = {
        u: (MARGIN + 2 * RADIUS + across * x, MARGIN + RADIUS + down * ((tallest - len(column)) / 2 + y))
        for x, column in enumerate(columns)
        for y, u in enumerate(column)
    }
    depth = {u: x for x, column in enumerate(columns) for u in column}
    nodes = [
        Node(u, places[u], role_of(machine, u), u == machine.start, stay[u])
        for column in columns
        for u in column
    ]  # fmt: skip
    taken = [(x, y, 2 * RADIUS, 2 * RADIUS) for x, y in places.values()]
    taken += [_box((x, y + RADIUS + LINE * (1 + len(stay[u])) / 2), stay[u]) for u, (x, y) in places.items() if stay[u]]
    arrows = []
    for (u, v), lines in joined.items():
        if u != v and v not in crowded:
            arrow = _arrow(places[u], places[v], tuple(lines), depth[v] - depth[u], (v, u) in joined, taken)
            arrows.append(arrow)
            taken.append(_box(arrow.text_at, arrow.text))
    rightmost = max(x for x, _ in places.values()) + 2 * RADIUS
    text_right = max(
        (max(len(line) for line in n.below) * SIZE * _WIDE / 2 + n.place[0] for n in nodes if n.below), default=0
    )
    lowest = max(y for _, y in places.values()) + RADIUS + LINE * (below + 1)
    curves = [y for arrow in arrows for _, y in (arrow.bend, arrow.text_at)]
    shift = max(0.0, MARGIN - min(curves, default=MARGIN))
    drawing = Drawing(
        tuple(nodes),
        tuple(arrows),
        max(rightmost, text_right) + MARGIN,
        max(lowest, max(curves, default=0) + 2 * LINE) + MARGIN,
    )
    return _lowered(drawing, shift) if shift else drawing


def joined_edges(machine: RewardMachine) -> Iterator[tuple[tuple[str, str], list[str]]]:
    """Yield the texts of all edges between two states."""
    texts: dict[tuple[str, str], list[str]] = {}
    for edge in machine.edges:
        guard = "else" if isinstance(edge.guard, Otherwise) else write(edge.guard)
        guided = " + potential" if machine.potential else ""
        texts.setdefault((edge.source, edge.target), []).append(f"{guard} / {write(edge.reward)}{guided}")
    yield from texts.items()


def _below(u: str, joined: dict[tuple[str, str], list[str]], crowded: set[str]) -> Iterator[str]:
    """Yield the edges that are written below a state: those that stay, and those to a failure that many lead to."""
    yield from joined.get((u, u), ())
    for v in sorted(crowded):
        yield from (f"{text} to {v}" for text in joined.get((u, v), ()))


def role_of(machine: RewardMachine, state: str) -> str:
    """Return what a state is: ``state``, ``success`` or ``failure``."""
    return "success" if state in machine.success else "failure" if state in machine.failure else "state"


def _columns(machine: RewardMachine, joined: dict[tuple[str, str], list[str]]) -> list[list[str]]:
    """Sort states into columns by distance from the start; successes stand behind all others."""
    depth, frontier = {machine.start: 0}, [machine.start]
    while frontier:
        u = frontier.pop(0)
        for source, target in joined:
            if source == u and target not in depth:
                depth[target] = depth[u] + 1
                frontier.append(target)
    last = max(depth[u] for u in machine.states)
    for u in machine.success:
        depth[u] = last + 1
    for u in machine.failure:
        depth[u] = max(depth[u], min(last, depth[u] + 1))
    columns = [[u for u in depth if depth[u] == x] for x in range(max(depth.values()) + 1)]
    columns = [column for column in columns if column]
    for k in range(_ROUNDS):
        order = range(1, len(columns)) if k % 2 == 0 else range(len(columns) - 2, -1, -1)
        height = {u: y - (len(column) - 1) / 2 for column in columns for y, u in enumerate(column)}
        for x in order:
            near = set(columns[x - 1 if k % 2 == 0 else x + 1])

            def mean(u: str, near: set[str] = near, height: dict[str, float] = height) -> float:
                beside = [height[v] for pair in joined if u in pair for v in pair if v != u and v in near]
                return sum(beside) / len(beside) if beside else height[u]

            columns[x].sort(key=mean)
            height |= {u: y - (len(columns[x]) - 1) / 2 for y, u in enumerate(columns[x])}
    return columns


def _box(centre: Point, lines: Sequence[str]) -> Box:
    """Return centre, width and height of some lines of text."""
    return *centre, max(len(line) for line in lines) * SIZE * _WIDE + 4, LINE * len(lines)


def _overlap(one: Box, two: Box) -> float:
    """Return how much two boxes share."""
    wide = (one[2] + two[2]) / 2 - abs(one[0] - two[0])
    high = (one[3] + two[3]) / 2 - abs(one[1] - two[1])
    return max(wide, 0.0) * max(high, 0.0)


def _arrow(
    here: Point, there: Point, text: tuple[str, ...], forward: int, both_ways: bool, taken: Sequence[Box]
) -> Arrow:
    """Bend an edge between two places, straight to the next column, else in an arc; write where most room is left."""
    (x0, y0), (x1, y1) = here, there
    length = math.hypot(x1 - x0, y1 - y0)
    arc = 0.0 if forward == 1 and not both_ways else 26.0 if forward == 1 else 30.0 + 0.16 * length
    normal = (y1 - y0) / length, -(x1 - x0) / length
    bend = (x0 + x1) / 2 + 2 * arc * normal[0], (y0 + y1) / 2 + 2 * arc * normal[1]
    begin, end = _rim(here, bend), _rim(there, bend)
    best = (math.inf, begin)
    for share in _SHARES:
        x, y = ((1 - share) ** 2 * a + 2 * share * (1 - share) * b + share**2 * c
                for a, b, c in zip(begin, bend, end, strict=True))  # fmt: skip
        crowd = sum(_overlap(_box((x, y), text), other) for other in taken)
        best = min(best, (crowd, (x, y)), key=lambda option: option[0])
    return Arrow(begin, bend, end, text, best[1])


def _rim(centre: Point, towards: Point) -> Point:
    dx, dy = towards[0] - centre[0], towards[1] - centre[1]
    scale = RADIUS / math.hypot(dx, dy)
    return centre[0] + dx * scale, centre[1] + dy * scale


def _lowered(drawing: Drawing, by: float) -> Drawing:
    def low(point: Point) -> Point:
        return point[0], point[1] + by

    return Drawing(
        tuple(Node(n.name, low(n.place), n.role, n.start, n.below) for n in drawing.nodes),
        tuple(Arrow(low(a.begin), low(a.bend), low(a.end), a.text, low(a.text_at)) for a in drawing.arrows),
        drawing.width, drawing.height + by,
    )  # fmt: skip


def arrow_head(arrow: Arrow, size: float = 8.0) -> tuple[Point, Point, Point]:
    """Return the triangle at the end of an arrow."""
    angle = math.atan2(arrow.end[1] - arrow.bend[1], arrow.end[0] - arrow.bend[0])
    sides = [
        (arrow.end[0] - size * math.cos(angle + turn), arrow.end[1] - size * math.sin(angle + turn))
        for turn in (0.42, -0.42)
    ]
    return arrow.end, sides[0], sides[1]
