"""Machines as graphs: SVG, Graphviz and Mermaid as text, a matplotlib figure, and an image of pixels (with Pillow).

States are placed in columns by their distance from the start, ordered within a column so that edges rarely cross (a few
rounds of sorting by the mean height of their neighbours). Downwards, the columns are rows. An edge that stays in its
state is a loop on one side of it; another edge bends as little as it takes to miss the states between. A failure that
many states lead to is drawn beside each of them, which saves long arrows.

Every text has a few dozen candidate places, on both sides of its arrow and, where there is no room, right on it. Texts
are placed one after the other where they overlap least with states, arrows and other texts and are nearer to their own
arrow than to any other, and then a few times again, each in view of all others.

Lengths are in points of the page; x grows to the right and y downwards.
"""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import printable
from fastrm.machines import RewardMachine
from fastrm.machines.language import Draft, Otherwise, write, write_actions
from fastrm.plots.palette import EDGE_TEXT, HERE_COLOUR, MACHINE_INKS, NODE_COLOURS, WHITE
from fastrm.plots.style import check_width, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image

Point = tuple[float, float]
_NARROW, _WIDE = frozenset("iljtfr.,:;|!()[]'\" I"), frozenset("mwMW@%+<>=")
_SAMPLES = np.linspace(0.0, 1.0, 49)


class Box(NamedTuple):
    """A rectangle whose sides are level and upright."""

    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def around(cls, centre: Point, wide: float, high: float) -> Box:
        """Return the box of half a width and half a height around a point."""
        return cls(centre[0] - wide, centre[1] - high, centre[0] + wide, centre[1] + high)


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
        return np.asarray(np.sum([w * np.array(point) for w, point in zip(weights, self, strict=True)], axis=0))


def quadratic(begin: Point, bend: Point, end: Point) -> Curve:
    """Return the quadratic curve with one bend as a cubic one.

    >>> quadratic((0, 0), (3, 3), (6, 0)).first_bend
    (2.0, 2.0)
    """
    first, second = ((x + (bend[0] - x) * (2 / 3), y + (bend[1] - y) * (2 / 3)) for x, y in (begin, end))
    return Curve(begin, first, second, end)


def text_width(text: str, size: float) -> float:
    """Return the approximate width of a text in letters of a height, a little more than in most fonts.

    >>> text_width("mmm", 10) > text_width("abc", 10) > text_width("iii", 10)
    True
    """
    return size * sum(0.42 if c in _NARROW else 0.98 if c in _WIDE or ord(c) > 0x2E7F else 0.65 for c in text)


def pill_outline(box: Box) -> Array:
    """Return the outline of the pill that fills a box, as the corners of a polygon, [n, 2]."""
    radius = (box.bottom - box.top) / 2
    angle = np.linspace(-np.pi / 2, np.pi / 2, 41)
    x, y = radius * np.cos(angle), radius * np.sin(angle) + (box.top + box.bottom) / 2
    right, left = np.stack([box.right - radius + x, y], axis=1), np.stack([box.left + radius - x, y], axis=1)
    return np.concatenate([right, left[::-1]])


def shared_area(boxes: Array, others: Array) -> Array:
    """Return the area that every box [n, 4] shares with every other box [m, 4], float64 [n, m]."""
    sides = np.minimum(boxes[:, None, 2:], others[:, 2:]) - np.maximum(boxes[:, None, :2], others[:, :2])
    return np.asarray(np.maximum(sides, 0.0).prod(axis=2))


def points_inside(boxes: Array, points: Array) -> Array:
    """Count, for every box [n, 4], the points [m, 2] in it."""
    x, y, (left, top, right, bottom) = points[:, 0], points[:, 1], boxes.T[:, :, None]
    return np.asarray(((x > left) & (y > top) & (x < right) & (y < bottom)).sum(axis=1))


RADIUS, SMALL, LINE = 24.0, 14.0, 13.0
"""Half the height of a state and of a failure drawn beside its states; the height of a line of text."""
SIZE, NAME_SIZE = 10.0, 11.0
"""Height of the letters on edges, and in states."""


@dataclass(frozen=True)
class Node:
    """A state and where it is: a pill, as wide as its name needs.

    >>> node = Node("u", (0, 0), "state", half_width=20, half_height=10)
    >>> node.rim((0, 50)), node.rim((50, 0))
    ((0.0, 10.0), (20.0, 0.0))
    """

    name: str
    place: Point
    role: str
    """``state``, ``success`` or ``failure``."""
    half_width: float = RADIUS
    half_height: float = RADIUS
    size: float = NAME_SIZE
    """Height of the letters of its name."""

    def rim(self, towards: Point) -> Point:
        """Return where a line from the centre to a point leaves the state."""
        (x, y), high, flat = self.place, self.half_height, self.half_width - self.half_height
        dx, dy = towards[0] - x, towards[1] - y
        length = math.hypot(dx, dy) or 1.0
        dx, dy = dx / length, dy / length
        if abs(dy) * flat >= high * abs(dx) and dy:  # through the flat side
            reach = high / abs(dy)
        else:  # through the round end, a circle around (flat, 0)
            along = abs(dx) * flat
            reach = along + math.sqrt(max(0.0, along**2 - flat**2 + high**2))
        return x + dx * reach, y + dy * reach

    def box(self, more: float = 0.0) -> Box:
        """Return the box around it, `more` points larger on every side."""
        return Box.around(self.place, self.half_width + more, self.half_height + more)

    def rims(self) -> list[Box]:
        """Return the boxes of its outlines: one of a state, two of a terminal."""
        return [self.box(), *([self.box(-3.5)] if self.role != "state" else [])]


@dataclass(frozen=True)
class Arrow:
    """An edge, or several that join the same states: a curve from one rim to the other, and the text beside it."""

    source: str
    target: str
    curve: Curve
    text: tuple[str, ...]
    text_at: Point = (0.0, 0.0)
    """Centre of the text."""

    def text_box(self) -> Box:
        """Return the box around the text."""
        wide = max(text_width(line, SIZE) for line in self.text)
        return Box.around(self.text_at, wide / 2 + 2, LINE * len(self.text) / 2 + 1)

    def lines(self) -> Iterator[tuple[str, Point]]:
        """Yield the lines of the text with their centres."""
        for k, line in enumerate(self.text):
            yield line, (self.text_at[0], self.text_at[1] + LINE * (k - (len(self.text) - 1) / 2))


@dataclass(frozen=True)
class Drawing:
    """A machine laid out, the origin top left."""

    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]
    entry: tuple[Point, Point]
    """The arrow that points to the start."""
    width: float
    height: float

    def lines(self) -> Iterator[tuple[Curve | tuple[Point, Point], Point]]:
        """Yield the curve of every arrow, or its two ends, with the point that its head comes from."""
        yield from ((arrow.curve, arrow.curve.second_bend) for arrow in self.arrows)
        yield self.entry, self.entry[0]


_SHARES = np.linspace(0.2, 0.8, 13)  # where along an arrow its text may be
_GAPS = (3.0, 9.0, 18.0)  # between arrow and text
_LABEL_ROUNDS = 3
MANY_LABELS = 150
"""Texts beyond which each is placed once: time grows with their square."""
_HARD, _SOFT = 1000.0, 25.0  # costs: of lying on a state, a text or the own arrow; of a point of another arrow
_FOREIGN, _ON_OWN = 800.0, 90.0  # of being nearer to another arrow than to the own one; of lying right on the own one
_NEAR = 40.0  # arrows farther away than this are no rivals


def place_labels(curves: Sequence[Curve], sizes: Array, taken: Array) -> tuple[list[Point], int, int]:
    """Place the texts of arrows, of half widths and heights [n, 2], clear of the boxes [m, 4] that are taken.

    Returns their centres, how many texts lie where none may, and how many lie on another arrow.
    """
    points = [curve.points() for curve in curves]
    options = [_candidates(own, size) for own, size in zip(points, sizes, strict=True)]
    checked = [_check(k, boxes, points, taken) for k, (boxes, _) in enumerate(options)]
    placed, choice = np.full((len(curves), 4), np.nan), [0] * len(curves)
    for _ in range(_LABEL_ROUNDS if len(curves) <= MANY_LABELS else 1):
        for k, (boxes, taste) in enumerate(options):
            placed[k] = np.nan
            crowd, (on_states, on_own, on_others, foreign) = (
                np.nan_to_num(shared_area(boxes, placed)).sum(axis=1),
                checked[k],
            )
            forbidden = _HARD * ((crowd > 0) + (on_states > 0) + 1.0 * on_own) + crowd + on_states
            choice[k] = int(np.argmin(np.round(taste + forbidden + _SOFT * on_others + _FOREIGN * foreign, 6)))
            placed[k] = boxes[choice[k]]
    hard = soft = 0
    for k, (on_states, on_own, on_others, foreign) in enumerate(checked):
        others = np.delete(placed, k, axis=0)
        hard += bool(shared_area(placed[k : k + 1], others).any() or on_states[choice[k]] or on_own[choice[k]])
        on_line = choice[k] >= len(on_own) - len(_SHARES)
        soft += bool(on_others[choice[k]]) + 2 * bool(foreign[choice[k]]) + on_line
    centres = [(float(left + right) / 2, float(top + bottom) / 2) for left, top, right, bottom in placed]
    return centres, hard, soft


def _candidates(points: Array, size: Array) -> tuple[Array, Array]:
    """Return boxes beside an arrow, [n, 4], and the cost of each by itself, [n]."""
    at = np.round(_SHARES * (len(points) - 1)).astype(np.int64)
    along = points[np.minimum(at + 1, len(points) - 1)] - points[np.maximum(at - 1, 0)]
    along /= np.maximum(np.hypot(*along.T)[:, None], 1e-9)
    boxes, tastes = [], []
    for side in (-1.0, 1.0):
        normal = side * np.stack([-along[:, 1], along[:, 0]], axis=1)
        reach = np.abs(normal) @ size  # so that the box only touches the line along the arrow
        for gap in _GAPS:
            centre = points[at] + normal * (reach + gap)[:, None]
            boxes.append(np.concatenate([centre - size, centre + size], axis=1))
            # near the middle, above rather than below, close by
            tastes.append(12 * np.abs(_SHARES - 0.45) + np.where(normal[:, 1] > 0.3, 2.0, 0.0) + gap / 2)
    boxes.append(np.concatenate([points[at] - size, points[at] + size], axis=1))
    is_loop = math.dist(points[0], points[-1]) < np.ptp(points, axis=0).max()  # which a text on it would hide
    tastes.append((_FOREIGN - 200 if is_loop else _ON_OWN) + 12 * np.abs(_SHARES - 0.5))
    return np.concatenate(boxes), np.concatenate(tastes)


def _check(k: int, boxes: Array, points: Sequence[Array], taken: Array) -> tuple[Array, Array, Array, Array]:
    """Return what is wrong with every candidate.

    The area shared with states, whether a text that should be beside its arrow lies on it, points of others, and
    whether another arrow is nearer.
    """
    others = [other for i, other in enumerate(points) if i != k] if len(points) <= MANY_LABELS else []
    beside = np.arange(len(boxes)) < len(boxes) - len(_SHARES)
    on_own = beside & (points_inside(boxes, points[k]) > 0)
    every = np.concatenate(others) if others else np.empty((0, 2))
    low, high = boxes[:, :2].min(axis=0) - _NEAR, boxes[:, 2:].max(axis=0) + _NEAR
    rivals = every[((every > low) & (every < high)).all(axis=1)]
    on_others = np.minimum(points_inside(boxes, rivals), 20)
    foreign = beside & (nearest(boxes, rivals) < nearest(boxes, points[k]) + 1.0)  # on its own arrow a text is clear
    return shared_area(boxes, taken).sum(axis=1), on_own, on_others, foreign


def nearest(boxes: Array, points: Array) -> Array:
    """Return the distance of every box [n, 4] from the nearest of some points [m, 2]; infinite where there is none."""
    if not len(points):
        return np.full(len(boxes), np.inf)
    x, y, (left, top, right, bottom) = points[:, 0], points[:, 1], boxes.T[:, :, None]
    aside = np.maximum(np.maximum(left - x, x - right), 0.0)
    above = np.maximum(np.maximum(top - y, y - bottom), 0.0)
    return np.asarray(np.hypot(aside, above).min(axis=1))


LOOP = 40.0
"""About how far loops reach from the rim of their state."""
_ARCS = (0.0, 26.0, -26.0, 44.0, -44.0, 64.0, -64.0, 90.0, -90.0, 130.0, -130.0, 180.0, -180.0)


def _loop(node: Node, side: Point) -> Curve:
    """Return the curve from a state to itself, on the side that a unit vector points to."""

    def turn(angle: float) -> Point:
        cos, sin = math.cos(angle), math.sin(angle)
        return side[0] * cos - side[1] * sin, side[0] * sin + side[1] * cos

    ends = []
    for angle in (-0.45, 0.45):
        (x, y), out = turn(angle), turn(1.4 * angle)
        rim = node.rim((node.place[0] + x, node.place[1] + y))
        ends.append((rim, (rim[0] + 1.3 * LOOP * out[0], rim[1] + 1.3 * LOOP * out[1])))
    return Curve(ends[0][0], ends[0][1], ends[1][1], ends[1][0])


_TURNS = tuple(math.radians(angle) for angle in (0, 30, -30, 60, -60, 90, -90, 180, 150, -150, 120, -120))


def _straight(here: Node, there: Node) -> Curve:
    """Return the straight line from rim to rim."""
    begin, end = here.rim(there.place), there.rim(here.place)
    return quadratic(begin, ((begin[0] + end[0]) / 2, (begin[1] + end[1]) / 2), end)


def _boxes(nodes: Sequence[Node]) -> Array:
    """Return the boxes of states, [n, 4]."""
    return np.array([node.box() for node in nodes]).reshape(-1, 4)


def _clear_mark(node: Node, mark: Node, text: tuple[str, ...], others: Sequence[Node], rivals: Array) -> Node:
    """Return a failure beside a state, moved until few other arrows cross it, its arrow and its text."""
    away = np.array(mark.place) - node.place
    ahead = np.array([1.0, 0.0]) if abs(away[1]) > abs(away[0]) else np.array([0.0, 1.0])
    size = np.array([max(text_width(line, SIZE) for line in text) / 2 + 4, LINE * len(text) / 2 + 4])
    found: list[tuple[float, Node]] = []
    for longer, side, aside in itertools.product((1.0, 1.4), (1.0, -1.0), (0.0, 40.0, -40.0, 80.0, -80.0)):
        x, y = node.place + side * longer * away + aside * ahead
        moved = replace(mark, place=(float(x), float(y)))
        points = _straight(node, moved).points()
        boxes = np.array([moved.box(2.0), [*points.min(axis=0) - size, *points.max(axis=0) + size]])
        on_states = shared_area(np.array([moved.box(4.0)]), _boxes(others)) > 0
        found.append((float(points_inside(boxes, rivals).sum()) + 1000 * float(on_states.sum()), moved))
        if not found[-1][0]:
            break
    return min(found, key=lambda one: one[0])[1]


def _clear_loop(node: Node, side: Point, text: tuple[str, ...], states: Sequence[Node], rivals: Array) -> Curve:
    """Return a loop and room for its text that few other arrows cross, on the given side unless others are better."""
    wide, high = max(text_width(line, SIZE) for line in text), LINE * len(text)
    found: list[tuple[float, Curve]] = []
    for turn in _TURNS:
        cos, sin = math.cos(turn), math.sin(turn)
        way = side[0] * cos - side[1] * sin, side[0] * sin + side[1] * cos
        curve = _loop(node, way)
        points, tip = curve.points(), np.mean(curve.points()[20:29], axis=0)
        beyond = tip + np.array(way) * (4 + abs(way[0]) * wide / 2 + abs(way[1]) * high / 2)
        half = np.array([wide, high]) / 2
        boxes = np.array([
            [*points.min(axis=0) - 2, *points.max(axis=0) + 2], [*beyond - half, *beyond + half],
        ])  # fmt: skip
        crossed = float(points_inside(boxes, rivals).sum()) + 100 * float(
            (shared_area(boxes, _boxes(states)) > 0).sum()
        )
        found.append((crossed, curve))
        if not crossed:
            break
    return min(found, key=lambda one: one[0])[1]


def _arc(here: Node, there: Node, both_ways: bool, states: Array, loops: Array) -> tuple[int, Curve]:
    """Bend an arrow as little as it takes to miss other states, and loops if it can, both given as boxes [n, 4].

    Returns the number of states that it still hits, and the curve. Of two opposite arrows each bends to another side.
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


def arrow_head(before: Point, tip: Point, size: float = 8.0) -> list[Point]:
    """Return the triangle at the end of an arrow that comes from a point."""
    (x, y), angle = tip, math.atan2(tip[1] - before[1], tip[0] - before[0])
    turned = (angle + 0.42, angle - 0.42)
    return [tip, *((x - size * math.cos(side), y - size * math.sin(side)) for side in turned)]


MARGIN = 12.0
MANY = 2
"""Edges to a failure beyond which it is drawn beside each of their states."""
ENTRY = 20.0
"""Length of the arrow that points to the start."""
_WRAP = 44
_ROUNDS = 8
_SCALES = (1.0, 1.2, 1.45, 1.75, 2.1, 2.6)  # spacings that are tried until no text lies on anything

Joined = dict[tuple[str, str], tuple[str, ...]]


def drawn_form(machine: RewardMachine, unrolled: bool = False) -> Draft:
    """Return a machine as its file writes it, with clocks and counts, or as the states it is unrolled into."""
    return machine if unrolled or machine.written is None else machine.written


def lay_out(machine: RewardMachine, downwards: bool = False, unrolled: bool = False) -> Drawing:
    """Place the states and edges of a machine, from left to right or downwards; for `unrolled` see `drawn_form`."""
    return _lay_out(drawn_form(machine, unrolled), downwards)


def _lay_out(machine: Draft, downwards: bool) -> Drawing:
    joined = {
        pair: tuple(line for text in texts for line in textwrap.wrap(text, _WRAP, subsequent_indent="  "))
        for pair, texts in joined_edges(machine).items()
    }
    crowded = {v for v in machine.failure if sum(target == v for _, target in joined) > MANY}
    columns = _columns(machine, {pair: texts for pair, texts in joined.items() if pair[1] not in crowded})
    trials = []
    for scale in _SCALES if len(joined) <= MANY_LABELS else _SCALES[2:3]:
        nodes = _place_nodes(machine, columns, joined, downwards, scale)
        trials.append(_connect(machine, nodes, joined, crowded, downwards))
        if not trials[-1][0]:
            break
    return min(trials, key=lambda trial: trial[0])[1]


def joined_edges(machine: Draft) -> dict[tuple[str, str], list[str]]:
    """Return the texts of all edges between two states, by source and target."""
    texts: dict[tuple[str, str], list[str]] = {}
    for edge in machine.edges:
        guard = "else" if isinstance(edge.guard, Otherwise) else write(edge.guard)
        guided = " + potential" if machine.has_potential else ""
        texts.setdefault((edge.source, edge.target), []).append(
            f"{guard} : {write(edge.reward)}{guided}{write_actions(edge, ' do ')}"
        )
    for u, v, agenda, paid in machine.statements():
        texts[u, v] = [f"{agenda} : {paid}"]
    return texts


def role_of(machine: Draft, state: str) -> str:
    """Return the role of a state: ``state``, ``success`` or ``failure``."""
    return "success" if state in machine.success else "failure" if state in machine.failure else "state"


def _columns(machine: Draft, joined: Joined) -> list[list[str]]:
    """Sort states into columns by distance from the start; successes are in the last one."""
    depth, frontier = {machine.start: 0}, [machine.start]
    for u in frontier:  # grows in the loop
        for source, target in joined:
            if source == u and target not in depth:
                depth[target] = depth[u] + 1
                frontier.append(target)
    last = max(depth[u] for u in machine.states)
    for u in machine.success:
        depth[u] = last + 1
    for u in set(machine.failure) & set(depth):
        depth[u] = max(depth[u], min(last, depth[u] + 1))
    columns = [[u for u in depth if depth[u] == x] for x in sorted(set(depth.values()))]
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


def _place_nodes(
    machine: Draft, columns: list[list[str]], joined: Joined, downwards: bool, scale: float
) -> dict[str, Node]:
    """Place the states in columns, or in rows."""
    wide = {u: max(RADIUS, text_width(printable(u), NAME_SIZE) / 2 + 9) for column in columns for u in column}
    texts = list(joined.values()) or [("",)]
    widest = max(text_width(line, SIZE) for lines in texts for line in lines)
    lines = max(len(lines) for lines in texts)
    if downwards:
        along = [(2 * RADIUS + (24 + LINE * lines) * scale) * x for x in range(len(columns))]
        across = 2 * max(wide.values()) + (LOOP + widest) * scale
    else:
        along = _columns_apart(columns, joined, wide, scale)
        across = 2 * RADIUS + (LOOP + 10 + LINE * lines) * scale
        if any(v in machine.failure for _, v in joined):
            across += 2 * SMALL + 20
    nodes = {}
    for x, column in enumerate(columns):
        for y, u in enumerate(column):
            ahead, aside = along[x], across * (y - (len(column) - 1) / 2)
            place = (aside, ahead) if downwards else (ahead, aside)
            nodes[u] = Node(printable(u), place, role_of(machine, u), wide[u])
    return nodes


def _columns_apart(columns: list[list[str]], joined: Joined, wide: dict[str, float], scale: float) -> list[float]:
    """Return where the columns are: as far apart as the texts between two of them, and beside their loops, need."""
    column = {u: x for x, states in enumerate(columns) for u in states}
    size = {pair: max(text_width(line, SIZE) for line in lines) for pair, lines in joined.items()}
    half = [max(wide[u] for u in states) for states in columns]
    loop = [max((size.get((u, u), 0.0) / 2 for u in states), default=0.0) for states in columns]
    places = [0.0]
    for x in range(1, len(columns)):
        between = [
            size[u, v] / abs(column[u] - column[v])
            for u, v in joined
            if u in column and v in column and min(column[u], column[v]) < x <= max(column[u], column[v])
        ]
        room = half[x - 1] + half[x] + (28 + max(between, default=0.0)) * scale
        places.append(places[-1] + max(room, loop[x - 1] + loop[x] + 14 * scale))
    return places


def _connect(
    machine: Draft, nodes: dict[str, Node], joined: Joined, crowded: set[str], downwards: bool
) -> tuple[int, Drawing]:
    """Draw the edges between placed states; return the cost of overlaps, and the drawing."""
    side = (1.0, 0.0) if downwards else (0.0, -1.0)  # where loops are; failures are on the other side
    loops = {u: _loop(nodes[u], side) for u, v in joined if u == v}
    marks: dict[tuple[str, str], Node] = {}
    for u, v in joined:
        if v in crowded:
            before = sum(source == u for source, _ in marks)
            marks[u, v] = _beside(nodes[u], printable(v), joined[u, v], side, before)
    room = np.array(side) * 10  # for the text beyond a loop
    around = [
        (*np.minimum(points, points + room).min(axis=0), *np.maximum(points, points + room).max(axis=0))
        for points in (curve.points() for curve in loops.values())
    ]
    curves, hit = {}, 0
    for u, v in joined:
        if u == v:
            continue
        if v not in crowded:
            others = [*(node for name, node in nodes.items() if name not in (u, v)), *marks.values()]
            boxes = np.array([node.box(6.0) for node in others]).reshape(-1, 4)
            hits, curves[u, v] = _arc(nodes[u], nodes[v], (v, u) in joined, boxes, np.array(around).reshape(-1, 4))
            hit += hits
    for u, v in marks:
        others = [*nodes.values(), *(mark for pair, mark in marks.items() if pair != (u, v))]
        rivals = np.concatenate([np.empty((0, 2)), *(curve.points() for curve in curves.values())])
        marks[u, v] = _clear_mark(nodes[u], marks[u, v], joined[u, v], others, rivals)
        curves[u, v] = _straight(nodes[u], marks[u, v])
    for u in loops:
        states = [*(node for name, node in nodes.items() if name != u), *marks.values()]
        rivals = np.concatenate([np.empty((0, 2)), *(curve.points() for curve in curves.values())])
        curves[u, u] = _clear_loop(nodes[u], side, joined[u, u], states, rivals)
    arrows = [Arrow(u, v, curves[u, v], text) for (u, v), text in joined.items()]
    drawn = [*nodes.values(), *marks.values()]
    x, y = nodes[machine.start].place
    reach = RADIUS if downwards else nodes[machine.start].half_width
    entry = ((x, y - reach - ENTRY), (x, y - reach)) if downwards else ((x - reach - ENTRY, y), (x - reach, y))
    taken = [node.box(2.0) for node in drawn]
    taken.append(Box(*np.min(entry, axis=0) - 5, *np.max(entry, axis=0) + 5))
    sizes = [arrow.text_box()[2:] for arrow in arrows]  # around the origin until texts are placed
    centres, hard, soft = place_labels([a.curve for a in arrows], np.array(sizes), np.array(taken))
    arrows = [replace(arrow, text_at=centre) for arrow, centre in zip(arrows, centres, strict=True)]
    return 100 * (hard + hit) + soft, _at_origin(drawn, arrows, entry)


def _beside(node: Node, name: str, text: tuple[str, ...], side: Point, k: int) -> Node:
    """Return the k-th failure beside a state, on the side where the loop is not."""
    wide = max(SMALL, text_width(name, SIZE) / 2 + 6)
    if side[0]:
        away = node.half_width + 16 + max(text_width(line, SIZE) for line in text) + wide
        place = node.place[0] - away, node.place[1] + k * (2 * SMALL + LINE * len(text))
    else:
        away = node.half_height + 16 + LINE * len(text) + SMALL
        place = node.place[0] + k * (2 * wide + 16), node.place[1] + away
    return Node(name, place, "failure", half_width=wide, half_height=SMALL, size=SIZE)


def _at_origin(nodes: list[Node], arrows: list[Arrow], entry: tuple[Point, Point]) -> Drawing:
    """Move everything so that the origin is at its top left."""
    boxes = np.array([*(node.box() for node in nodes), *(arrow.text_box() for arrow in arrows)])
    every = np.concatenate([boxes.reshape(-1, 2), np.array(entry), *(arrow.curve.points() for arrow in arrows)])
    left, top = (every.min(axis=0) - MARGIN).tolist()
    right, bottom = (every.max(axis=0) + MARGIN).tolist()

    def move(point: Point) -> Point:
        return point[0] - left, point[1] - top

    return Drawing(
        tuple(replace(node, place=move(node.place)) for node in nodes),
        tuple(replace(a, curve=Curve(*map(move, a.curve)), text_at=move(a.text_at)) for a in arrows),
        (move(entry[0]), move(entry[1])),
        right - left,
        bottom - top,
    )


_ENTITIES = {ord(sign): f"#{ord(sign)};" for sign in ":;<>#"}
"""How to write signs that mean something to Mermaid."""


Shape = tuple[str, dict[str, str], str]
"""Tag, attributes and text of an element of SVG."""


def to_svg(machine: RewardMachine, width: float | None = None, unrolled: bool = False) -> str:
    """Draw a machine as SVG, by default at its natural size; `width` is in inches.

    A machine with clocks or counts is drawn as it is written, or as the states that it is unrolled into.
    """
    check_width(width, 1)
    drawing = lay_out(machine, unrolled=unrolled)
    size = f'width="{drawing.width:.0f}" height="{drawing.height:.0f}"'
    if width is not None:
        size = f'width="{width:g}in" height="{width * drawing.height / drawing.width:.4g}in"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {drawing.width:.0f} {drawing.height:.0f}" {size} '
        'font-family="DejaVu Sans, Verdana, Helvetica, sans-serif">'
    ]
    for tag, attributes, text in svg_shapes(drawing):
        written = " ".join(f'{name}="{value}"' for name, value in attributes.items())
        lines.append(f"<{tag} {written}>{escape(text)}</{tag}>" if text else f"<{tag} {written}/>")
    return "\n".join([*lines, "</svg>"]) + "\n"


def svg_shapes(drawing: Drawing) -> list[Shape]:
    """Return what a machine that is laid out consists of, on a white ground."""
    arrow_ink, rim_ink = MACHINE_INKS["svg"]
    shapes: list[Shape] = [
        ("rect", {"width": f"{drawing.width:.0f}", "height": f"{drawing.height:.0f}", "fill": WHITE}, "")
    ]

    def add_box(box: Box, **look: str) -> None:
        left, top, right, bottom = box
        named = {"x": left, "y": top, "width": right - left, "height": bottom - top}
        shapes.append(("rect", {name: f"{value:.1f}" for name, value in named.items()} | look, ""))

    def add_text(x: float, y: float, text: str, size: float, colour: str) -> None:
        look = {"font-size": f"{size:g}", "text-anchor": "middle", "fill": colour}
        shapes.append(("text", {"x": f"{x:.1f}", "y": f"{y:.1f}"} | look, text))

    for points, before in drawing.lines():
        begin, *others = (f"{x:.1f},{y:.1f}" for x, y in points)
        way = {"d": f"M{begin} {'C' if len(others) > 1 else 'L'}{' '.join(others)}"}
        shapes.append(("path", way | ({"fill": "none"} if len(others) > 1 else {}) | {"stroke": arrow_ink}, ""))
        head = " ".join(f"{x:.1f},{y:.1f}" for x, y in arrow_head(before, points[-1]))
        shapes.append(("polygon", {"points": head, "fill": arrow_ink}, ""))
    for arrow in drawing.arrows:  # the white box keeps the text readable where another arrow has to pass
        add_box(arrow.text_box(), fill=WHITE)
        for text, (x, y) in arrow.lines():
            add_text(x, y + 3.5, text, SIZE, EDGE_TEXT)
    for node in drawing.nodes:
        for rim in node.rims():
            add_box(rim, rx=f"{(rim.bottom - rim.top) / 2:.1f}", fill=NODE_COLOURS[node.role], stroke=rim_ink)
        add_text(node.place[0], node.place[1] + 0.36 * node.size, node.name, node.size, "#000")
    return shapes


def to_dot(machine: RewardMachine, unrolled: bool = False) -> str:
    """Write a machine in the language of Graphviz; for `unrolled` see `to_svg`.

    >>> print(to_dot(RewardMachine.sequence("a")), end="")
    digraph machine {
      rankdir=LR;
      "u0" [shape=circle, style=bold];
      "done" [shape=doublecircle];
      "u0" -> "done" [label="a : 1"];
      "u0" -> "u0" [label="else : 0"];
    }
    """
    form = drawn_form(machine, unrolled)
    lines = ["digraph machine {", "  rankdir=LR;"]
    for u in (*form.states, *form.success, *form.failure):
        shape = {"state": "circle", "success": "doublecircle", "failure": "octagon"}[role_of(form, u)]
        lines.append(f"  {_quoted(u)} [shape={shape}{', style=bold' if u == form.start else ''}];")
    for (u, v), texts in joined_edges(form).items():
        label = "\\n".join(_quoted(text)[1:-1] for text in texts)
        lines.append(f'  {_quoted(u)} -> {_quoted(v)} [label="{label}"];')
    return "\n".join([*lines, "}"]) + "\n"


def to_mermaid(machine: RewardMachine, unrolled: bool = False) -> str:
    """Write a machine as a Mermaid state diagram, which many web pages show as a picture; for `unrolled` see `to_svg`.

    A second colon would end a text of Mermaid, so it is written as the entity ``#58;``, which is shown as a colon.

    >>> print(to_mermaid(RewardMachine.sequence("a")), end="")
    stateDiagram-v2
      direction LR
      [*] --> u0
      u0 --> done : a #58; 1
      u0 --> u0 : else #58; 0
      done --> [*]
    """
    form = drawn_form(machine, unrolled)
    lines = ["stateDiagram-v2", "  direction LR", f"  [*] --> {_plain(form.start)}"]
    for (u, v), texts in joined_edges(form).items():
        lines.append(f"  {_plain(u)} --> {_plain(v)} : {'<br/>'.join(text.translate(_ENTITIES) for text in texts)}")
    lines += [f"  {_plain(u)} --> [*]" for u in form.terminals]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _plain(name: str) -> str:
    """Return a name that Mermaid takes, different for different states."""
    if name.isidentifier() and not name.startswith("s_"):
        return name
    return "s_" + "".join(c if c.isalnum() and c.isascii() else f"_{ord(c):x}_" for c in name)


_LETTER = 0.9  # an em of a font is larger than its letters; the layout counts in ems of SIZE


def draw_machine(machine: RewardMachine, width: float | None = None, unrolled: bool = False) -> Figure:
    """Draw a machine as a graph, as `to_svg` does; `width` in inches scales everything, letters included."""
    check_width(width, 1)
    drawing, (arrow_ink, rim_ink) = lay_out(machine, unrolled=unrolled), MACHINE_INKS["figure"]
    scale = 1.0 if width is None else 72 * width / drawing.width
    with style():
        from matplotlib.patches import PathPatch, Polygon
        from matplotlib.path import Path

        figure = new_figure(scale * drawing.width / 72, scale * drawing.height / 72)
        axis = figure.add_axes((0, 0, 1, 1))
        axis.set_xlim(0, drawing.width)
        axis.set_ylim(drawing.height, 0)
        axis.set_axis_off()
        middle: dict[str, Any] = {"parse_math": False, "ha": "center", "va": "center"}
        for points, before in drawing.lines():
            path = Path(points, [Path.MOVETO, *([Path.CURVE4] * 3 if len(points) > 2 else [Path.LINETO])])
            axis.add_patch(PathPatch(path, facecolor="none", edgecolor=arrow_ink, linewidth=scale, capstyle="butt"))
            axis.add_patch(Polygon(arrow_head(before, points[-1]), facecolor=arrow_ink, edgecolor="none"))
        for arrow in drawing.arrows:  # the white box keeps the text readable where another arrow has to pass
            axis.text(
                *arrow.text_at, "\n".join(arrow.text), fontsize=_LETTER * SIZE * scale, color=EDGE_TEXT,
                linespacing=LINE / SIZE, gid="label", **middle,
                bbox={"facecolor": WHITE, "edgecolor": "none", "pad": 0.5 * scale},
            )  # fmt: skip
        for node in drawing.nodes:
            look: dict[str, Any] = {"facecolor": NODE_COLOURS[node.role], "edgecolor": rim_ink, "linewidth": scale}
            for rim in node.rims():
                axis.add_patch(Polygon(pill_outline(rim), **look))
            axis.text(*node.place, node.name, fontsize=_LETTER * node.size * scale, **middle)
    return figure


class GraphImage:
    """A machine laid out to fit into a width and a height, in pixels, from left to right or downwards.

    Every pixel of this room is `fine` pixels of the image that `paint` draws on: an image that is made smaller
    afterwards has smooth lines.
    """

    def __init__(self, machine: RewardMachine, width: int, height: int, fine: int = 1) -> None:
        drawings = [lay_out(machine, downwards) for downwards in (True, False)]
        self._written = machine.written_state
        fits = [(min(1.5, width / drawing.width, height / drawing.height), drawing) for drawing in drawings]
        self.scale, self.drawing = max(fits, key=lambda fit: fit[0])
        """Pixels per point: letters have 10 times as many."""
        self._fine = fine

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in pixels of the room."""
        return self.scale * self.drawing.width, self.scale * self.drawing.height

    def paint(self, image: Image, corner: Point, here: str) -> None:
        """Draw the machine with its top left corner at a place in pixels of the room, the state `here` highlighted."""
        from PIL import ImageDraw, ImageFont

        pen, k, (ink, _) = ImageDraw.Draw(image), self._fine * self.scale, MACHINE_INKS["image"]
        here = self._written(here)

        def at(point: Sequence[float]) -> Point:
            return self._fine * corner[0] + k * point[0], self._fine * corner[1] + k * point[1]

        def text(place: Point, words: str, size: float, colour: str) -> None:
            pen.text(at(place), words, fill=colour, font=ImageFont.load_default(size=size * k), anchor="mm")

        thin = max(1, round(1.1 * k))
        for points, before in self.drawing.lines():
            way = points.points().tolist() if isinstance(points, Curve) else points
            pen.line([at(point) for point in way], fill=ink, width=thin, joint="curve")
            pen.polygon([at(point) for point in arrow_head(before, way[-1])], fill=ink)
        for arrow in self.drawing.arrows:
            left, top, right, bottom = arrow.text_box()
            pen.rectangle((*at((left, top)), *at((right, bottom))), fill=WHITE)
            for words, place in arrow.lines():
                text(place, words, SIZE, EDGE_TEXT)
        for node in sorted(self.drawing.nodes, key=lambda node: node.name == here):  # the highlighted one last
            is_here = node.name == here
            for k_rim, box in enumerate(node.rims()):
                rim = [at(point) for point in pill_outline(box).tolist()]
                pen.polygon(rim, fill=HERE_COLOUR if is_here else NODE_COLOURS[node.role])
                pen.line([*rim, rim[0]], fill=WHITE if is_here and k_rim else ink, width=thin, joint="curve")
            text(node.place, node.name, node.size, WHITE if is_here else ink)
