"""Reward machines as graphs: a layout of our own, SVG, and the text forms of DOT and Mermaid. Nothing else is needed.

States stand in columns by their distance from the start and are ordered within a column so that edges cross little (a
few rounds of sorting by the mean height of their neighbours). Edges that stay in a state are written below it, and so
are edges to a failure that many states lead to.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from fastrm.machines import RewardMachine
from fastrm.machines.language import Otherwise, write

ACROSS, DOWN, RADIUS, MARGIN, LINE = 190.0, 120.0, 26.0, 20.0, 12.0
SIZE = 10.0
"""Height of the letters on edges."""
MANY = 2
"""Edges to a failure state beyond which they are written below their states instead of drawn."""
_ROUNDS = 8
_WIDE = 0.58  # width of a letter, as a share of its height
COLOURS = {"state": "#ffffff", "success": "#d5efe3", "failure": "#f8dcc8"}

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
    joined = dict(_joined(machine))
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
        Node(u, places[u], _role(machine, u), u == machine.start, stay[u])
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


def _joined(machine: RewardMachine) -> Iterator[tuple[tuple[str, str], list[str]]]:
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


def _role(machine: RewardMachine, state: str) -> str:
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


def to_svg(machine: RewardMachine) -> str:
    """Draw a machine as SVG."""
    drawing = lay_out(machine)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {drawing.width:.0f} {drawing.height:.0f}" '
        f'width="{drawing.width:.0f}" height="{drawing.height:.0f}" font-family="DejaVu Sans, Helvetica, sans-serif">',
        f'<rect width="{drawing.width:.0f}" height="{drawing.height:.0f}" fill="#ffffff"/>',
    ]
    for arrow in drawing.arrows:
        (x0, y0), (bx, by), (x1, y1) = arrow.begin, arrow.bend, arrow.end
        lines.append(f'<path d="M{x0:.1f},{y0:.1f} Q{bx:.1f},{by:.1f} {x1:.1f},{y1:.1f}" fill="none" stroke="#444"/>')
        head = " ".join(f"{x:.1f},{y:.1f}" for x, y in arrow_head(arrow))
        lines.append(f'<polygon points="{head}" fill="#444"/>')
    for node in drawing.nodes:
        x, y = node.place
        if node.start:
            lines.append(f'<path d="M{x - RADIUS - 18:.1f},{y:.1f} h16" stroke="#444" stroke-width="1.5"/>')
            lines.append(f'<polygon points="{x - RADIUS:.1f},{y:.1f} {x - RADIUS - 7:.1f},{y - 3.5:.1f} '
                         f'{x - RADIUS - 7:.1f},{y + 3.5:.1f}" fill="#444"/>')  # fmt: skip
        centre = f'cx="{x:.1f}" cy="{y:.1f}" stroke="#222"'
        lines.append(f'<circle {centre} r="{RADIUS}" fill="{COLOURS[node.role]}" stroke-width="1.4"/>')
        if node.role != "state":
            lines.append(f'<circle {centre} r="{RADIUS - 4}" fill="none"/>')
        lines.append(_text(x, y + 4, node.name, 11 if len(node.name) <= 6 else 8, "#000"))
        for k, line in enumerate(node.below):
            lines.append(_text(x, y + RADIUS + LINE * (k + 1), line, SIZE, "#555"))
    for arrow in drawing.arrows:
        for k, line in enumerate(arrow.text):
            offset = LINE * (k - (len(arrow.text) - 1) / 2)
            lines.append(_text(arrow.text_at[0], arrow.text_at[1] + 3.5 + offset, line, SIZE, "#004a75"))
    return "\n".join([*lines, "</svg>"]) + "\n"


def _text(x: float, y: float, text: str, size: float, colour: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" text-anchor="middle" fill="{colour}" stroke="#ffffff" '
        f'stroke-width="3" paint-order="stroke">{escape(text)}</text>'
    )


def to_dot(machine: RewardMachine) -> str:
    """Write a machine in the language of Graphviz.

    >>> print(to_dot(RewardMachine.sequence("a")), end="")
    digraph machine {
      rankdir=LR;
      "u0" [shape=circle, style=bold];
      "done" [shape=doublecircle];
      "u0" -> "done" [label="a / 1"];
      "u0" -> "u0" [label="else / 0"];
    }
    """
    lines = ["digraph machine {", "  rankdir=LR;"]
    for u in (*machine.states, *machine.success, *machine.failure):
        shape = {"state": "circle", "success": "doublecircle", "failure": "octagon"}[_role(machine, u)]
        lines.append(f"  {_quoted(u)} [shape={shape}{', style=bold' if u == machine.start else ''}];")
    for (u, v), texts in _joined(machine):
        label = "\\n".join(_quoted(text)[1:-1] for text in texts)
        lines.append(f'  {_quoted(u)} -> {_quoted(v)} [label="{label}"];')
    return "\n".join([*lines, "}"]) + "\n"


def to_mermaid(machine: RewardMachine) -> str:
    """Write a machine as a Mermaid state diagram, which many web pages show as a picture.

    >>> print(to_mermaid(RewardMachine.sequence("a")), end="")
    stateDiagram-v2
      direction LR
      [*] --> u0
      u0 --> done : a / 1
      u0 --> u0 : else / 0
      done --> [*]
    """
    lines = ["stateDiagram-v2", "  direction LR", f"  [*] --> {_plain(machine.start)}"]
    for (u, v), texts in _joined(machine):
        lines.append(f"  {_plain(u)} --> {_plain(v)} : {'<br/>'.join(text.replace(';', ',') for text in texts)}")
    lines += [f"  {_plain(u)} --> [*]" for u in (*machine.success, *machine.failure)]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _plain(name: str) -> str:
    """Return a name that Mermaid takes, different for different states."""
    if name.isidentifier() and not name.startswith("s_"):
        return name
    return "s_" + "".join(c if c.isalnum() and c.isascii() else f"_{ord(c):x}_" for c in name)
