"""The picture of a machine as a page shows it: only shapes and texts, and where its states lie, so they can be clicked.

The picture itself is that of `fastrm.pictures.to_svg`. Its elements are copied one by one, and only those that draw:
a page never holds markup it did not write.
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from typing import Any

from fastrm.errors import printable
from fastrm.machines import RewardMachine
from fastrm.pictures.graph import to_svg

_SHAPES = {
    "g": "transform", "path": "d", "polygon": "points", "polyline": "points", "line": "x1 y1 x2 y2",
    "circle": "cx cy r", "ellipse": "cx cy rx ry", "rect": "x y width height rx ry",
    "text": "x y font-size text-anchor font-weight font-style dominant-baseline", "tspan": "x y dx dy font-size",
}  # fmt: skip
"""What is copied, and with which attributes beside the `_LOOK`."""
_LOOK = "fill stroke stroke-width stroke-dasharray stroke-linejoin stroke-linecap paint-order opacity fill-opacity"
_PLAIN = re.compile(r"[^<>\"'&:;]*")
_MOST = 80
"""States beyond which a picture is a tangle."""

Box = tuple[float, float, float, float]


def machine_graph(machine: RewardMachine) -> dict[str, Any] | None:
    """Return the picture as nested lists (tag, attributes, text, children), its size, and the box of every state.

    None where the machine has too many states for a picture.
    """
    if len(machine.states) > _MOST:
        return None
    root = ElementTree.fromstring(to_svg(machine))
    size = [float(number) for number in root.get("viewBox", "0 0 0 0").split()[2:]]
    states = (*machine.states, *machine.success, *machine.failure)
    found = dict(_boxes(root, {printable(name): name for name in states}))
    return {
        "size": size,
        "shapes": [copy for child in root for copy in _copied(child)],
        "boxes": {name: [round(number, 1) for number in box] for name, box in found.items()},
    }


def _copied(element: ElementTree.Element) -> Iterator[list[Any]]:
    tag = element.tag.rpartition("}")[2]
    if tag not in _SHAPES:
        return
    names = (*_SHAPES[tag].split(), *_LOOK.split())
    kept = {name: value for name in names if (value := element.get(name)) is not None and _PLAIN.fullmatch(value)}
    yield [tag, kept, element.text or "", [copy for child in element for copy in _copied(child)]]


def _boxes(root: ElementTree.Element, names: dict[str, str]) -> Iterator[tuple[str, Box]]:
    """Yield the smallest shape around every text that is the name of a state."""
    shapes = [box for element in root.iter() if (box := _box(element)) is not None]
    for element in root.iter():
        if element.tag.endswith("text") and (element.text or "") in names:
            x, y = float(element.get("x", "0")), float(element.get("y", "0")) - 3
            around = [b for b in shapes if b[0] <= x <= b[0] + b[2] and b[1] <= y <= b[1] + b[3]]
            around = [box for box in around if box[2] < 0.9 * float(root.get("width", math.inf))]  # the ground
            if around:
                yield names[element.text or ""], max(around, key=lambda box: box[2] * box[3])


def _box(element: ElementTree.Element) -> Box | None:
    """Return left, top, width and height of a round or rectangular shape."""
    tag = element.tag.rpartition("}")[2]

    def number(name: str) -> float:
        return float(element.get(name) or 0)

    if tag in ("circle", "ellipse"):
        rx, ry = (number("r"), number("r")) if tag == "circle" else (number("rx"), number("ry"))
        return number("cx") - rx, number("cy") - ry, 2 * rx, 2 * ry
    if tag == "rect" and element.get("x") is not None:
        return number("x"), number("y"), number("width"), number("height")
    return None
