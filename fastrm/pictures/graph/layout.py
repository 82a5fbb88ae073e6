"""Where the states and edges of a machine stand in its picture.

States stand in columns by their distance from the start and are ordered within a column so that edges cross little (a
few rounds of sorting by the mean height of their neighbours). An edge that stays in its state is a loop on one side of
it. A failure that many states lead to is drawn beside each of them, which saves long arrows. Downwards, the columns
are rows.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fastrm.errors import printable
from fastrm.machines import RewardMachine
from fastrm.machines.language import Otherwise, write
from fastrm.pictures.graph.drawing import LINE, NAME_SIZE, RADIUS, SIZE, SMALL, Arrow, Drawing, Node
from fastrm.pictures.graph.geometry import Box, Curve, Point, text_box, text_width
from fastrm.pictures.graph.labels import MANY_LABELS, place_labels
from fastrm.pictures.graph.routes import LOOP, arc, loop, straight

MARGIN = 12.0
MANY = 2
"""Edges to a failure beyond which each of its states has it beside itself."""
ENTRY = 20.0
"""Length of the arrow that points to the start."""
_WRAP = 44
_ROUNDS = 8
_SCALES = (1.0, 1.2, 1.45, 1.75, 2.1, 2.6)  # spacings that are tried until no text lies on anything

Joined = dict[tuple[str, str], tuple[str, ...]]


def lay_out(machine: RewardMachine, downwards: bool = False) -> Drawing:
    """Place the states and edges of a machine, from left to right or downwards."""
    joined = {pair: _wrapped(texts) for pair, texts in joined_edges(machine)}
    crowded = {v for v in machine.failure if sum(target == v for _, target in joined) > MANY}
    columns = _columns(machine, {pair: texts for pair, texts in joined.items() if pair[1] not in crowded})
    trials = []
    for scale in _SCALES if len(joined) <= MANY_LABELS else _SCALES[2:3]:
        nodes = _place_nodes(machine, columns, joined, downwards, scale)
        trials.append(_connect(machine, nodes, joined, crowded, downwards))
        if not trials[-1][0]:
            break
    return min(trials, key=lambda trial: trial[0])[1]


def joined_edges(machine: RewardMachine) -> Iterator[tuple[tuple[str, str], list[str]]]:
    """Yield the texts of all edges between two states."""
    texts: dict[tuple[str, str], list[str]] = {}
    for edge in machine.edges:
        guard = "else" if isinstance(edge.guard, Otherwise) else write(edge.guard)
        guided = " + potential" if machine.potential else ""
        texts.setdefault((edge.source, edge.target), []).append(f"{guard} : {write(edge.reward)}{guided}")
    for u, v, agenda, paid in machine.statements():
        texts[u, v] = [f"{agenda} : {paid}"]
    yield from texts.items()


def _wrapped(texts: list[str]) -> tuple[str, ...]:
    return tuple(line for text in texts for line in textwrap.wrap(text, _WRAP, subsequent_indent="  "))


def role_of(machine: RewardMachine, state: str) -> str:
    """Return what a state is: ``state``, ``success`` or ``failure``."""
    return "success" if state in machine.success else "failure" if state in machine.failure else "state"


def _columns(machine: RewardMachine, joined: Joined) -> list[list[str]]:
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
    for u in set(machine.failure) & set(depth):
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


def _place_nodes(
    machine: RewardMachine, columns: list[list[str]], joined: Joined, downwards: bool, scale: float
) -> dict[str, Node]:
    """Place the states in columns, or in rows."""
    wide = {u: max(RADIUS, text_width(printable(u), NAME_SIZE) / 2 + 9) for column in columns for u in column}
    texts = list(joined.values()) or [("",)]
    widest = max(text_width(line, SIZE) for lines in texts for line in lines)
    lines = max(len(lines) for lines in texts)
    if downwards:
        along = 2 * RADIUS + (24 + LINE * lines) * scale
        across = 2 * max(wide.values()) + (LOOP + widest) * scale
    else:
        along = 2 * max(wide.values()) + (28 + widest) * scale
        across = 2 * RADIUS + (LOOP + 10 + LINE * lines) * scale
        if any(v in machine.failure for _, v in joined):
            across += 2 * SMALL + 20
    nodes = {}
    for x, column in enumerate(columns):
        for y, u in enumerate(column):
            ahead, aside = along * x, across * (y - (len(column) - 1) / 2)
            place = (aside, ahead) if downwards else (ahead, aside)
            nodes[u] = Node(printable(u), place, role_of(machine, u), u == machine.start, wide[u])
    return nodes


def _connect(
    machine: RewardMachine, nodes: dict[str, Node], joined: Joined, crowded: set[str], downwards: bool
) -> tuple[int, Drawing]:
    """Draw the edges between placed states; return how much is amiss, and the drawing."""
    side = (1.0, 0.0) if downwards else (0.0, -1.0)  # where loops are; failures stand on the other side
    loops = {u: loop(nodes[u], side) for u, v in joined if u == v}
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
    arrows, hit = [], 0
    for (u, v), text in joined.items():
        if u == v:
            curve = loops[u]
        elif v in crowded:
            curve = straight(nodes[u], marks[u, v])
        else:
            others = [*(node for name, node in nodes.items() if name not in (u, v)), *marks.values()]
            boxes = np.array([node.box(6.0) for node in others]).reshape(-1, 4)
            amiss, curve = arc(nodes[u], nodes[v], (v, u) in joined, boxes, np.array(around).reshape(-1, 4))
            hit += amiss
        arrows.append(Arrow(u, v, curve, text))
    drawn = [*nodes.values(), *marks.values()]
    x, y = nodes[machine.start].place
    reach = RADIUS if downwards else nodes[machine.start].half_width
    entry = ((x, y - reach - ENTRY), (x, y - reach)) if downwards else ((x - reach - ENTRY, y), (x - reach, y))
    taken = [node.box(2.0) for node in drawn]
    taken.append(Box(*np.min(entry, axis=0) - 5, *np.max(entry, axis=0) + 5))
    sizes = [text_box((0.0, 0.0), arrow.text, SIZE, LINE)[2:] for arrow in arrows]
    centres, hard, soft = place_labels([a.curve for a in arrows], np.array(sizes), np.array(taken))
    arrows = [replace(arrow, text_at=centre) for arrow, centre in zip(arrows, centres, strict=True)]
    return 100 * (hard + hit) + soft, _moved(drawn, arrows, entry)


def _beside(node: Node, name: str, text: tuple[str, ...], side: Point, k: int) -> Node:
    """Return the k-th failure that stands beside a state, on the side where the loop is not."""
    wide = max(SMALL, text_width(name, SIZE) / 2 + 6)
    if side[0]:
        away = node.half_width + 16 + max(text_width(line, SIZE) for line in text) + wide
        place = node.place[0] - away, node.place[1] + k * (2 * SMALL + LINE * len(text))
    else:
        away = node.half_height + 16 + LINE * len(text) + SMALL
        place = node.place[0] + k * (2 * wide + 16), node.place[1] + away
    return Node(name, place, "failure", half_width=wide, half_height=SMALL, size=SIZE)


def _moved(nodes: list[Node], arrows: list[Arrow], entry: tuple[Point, Point]) -> Drawing:
    """Put the origin top left of everything."""
    boxes = [node.box() for node in nodes] + [arrow.text_box() for arrow in arrows]
    corners = [np.array(boxes)[:, :2], np.array(boxes)[:, 2:], np.array(entry), *(a.curve.points() for a in arrows)]
    every = np.concatenate(corners)
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
