"""A page in one file: style, data and script put together so that nothing in the data can act.

The browser is told to run one script and one style sheet, known by their hashes, and to load nothing at all. The data
stand in a block that is never run. Its text cannot end the block, since ``<``, ``>`` and ``&`` are written as escapes.

What a page shows where no script runs: a map and learning curves as pictures that stand still.

The picture of a machine as a page shows it: only shapes and texts, and where its states lie, so they can be clicked.

The picture itself is that of `fastrm.plots.to_svg`. Its elements are copied one by one, and only those that draw:
a page never holds markup it did not write.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import xml.etree.ElementTree as ElementTree
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import printable
from fastrm.machines import RewardMachine
from fastrm.plots import palette, to_svg
from fastrm.problems import Problem
from fastrm.worlds import FLOOR, START, WALL, GridMap

_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
_THEMES = {"light": ":root", "dark": "@media (prefers-color-scheme: dark) { :root"}
_KINDS = {"uint8": "u1", "uint16": "u2", "uint32": "u4", "float32": "f4", "float64": "f8"}
_FOLDER = "fastrm.pages"
_SYMBOLS = {
    "arrows": list(palette.ARROWS), "heatLevels": palette.HEAT_LEVELS, "objects": len(palette.OBJECT_COLOURS),
    "start": palette.START_PATH, "valueLevels": palette.VALUE_LEVELS,
}  # fmt: skip
"""What scripts know of the palette."""


def assemble(title: str, scripts: Iterable[str], data: Mapping[str, Any], still: str) -> str:
    """Put a page together.

    Parameters
    ----------
    title : str
        What the tab of the browser shows.
    scripts : iterable of str
        Names of the script files of this folder, in order; they share one scope.
    data : mapping
        What the script reads: numbers, texts and lists.
    still : str
        Markup for browsers that run no scripts; made by us, its texts escaped.
    """
    style = _variables() + _read("page.css") + _classes()
    parts = [f"const SYMBOLS = {to_json(_SYMBOLS)};", *(_read(name) for name in scripts)]
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "\n})();\n"
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{text(title)}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<main id="page"></main>
<noscript>{still}</noscript>
<script type="application/json" id="data">{to_json(data)}</script>
<script>{script}</script>
</body>
</html>
"""


def text(value: object) -> str:
    """Return a value as text of a page: one line, control characters shown, markup escaped.

    >>> text("<b>")
    '&lt;b&gt;'
    """
    return escape(printable(str(value)))


def to_json(data: object) -> str:
    r"""Write data so that it cannot end the block it stands in; what is not finite becomes text, as JSON has none.

    >>> to_json({"name": "</script>", "length": float("inf")})
    '{"length":"inf","name":"\\u003c/script\\u003e"}'
    """
    return json.dumps(_plain(data), sort_keys=True, separators=(",", ":"), allow_nan=False).translate(_ESCAPES)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return printable(value) if isinstance(value, str) else value


def pack(arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Return arrays as text: one after the other, compressed, in letters; `unpack.js` reads them."""
    index, parts = [], []
    for name, array in arrays.items():
        index.append([name, _KINDS[array.dtype.name], int(array.size)])
        parts.append(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
    return {"index": index, "bytes": base64.b64encode(zlib.compress(b"".join(parts), 9)).decode()}


def smallest(array: Array) -> Array:
    """Return whole numbers from 0 on in the smallest type that holds them."""
    top = int(array.max(initial=0))
    return array.astype(np.uint8 if top < 1 << 8 else np.uint16 if top < 1 << 16 else np.uint32)


def _read(name: str) -> str:
    return (resources.files(_FOLDER) / name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _variables() -> str:
    """Return all colours as CSS variables, for both themes."""
    blocks = []
    for theme, opening in _THEMES.items():
        named = dict(palette.PAGE_COLOURS[theme])
        named |= {f"heat-{k}": shade for k, shade in enumerate(palette.heat_shades(theme))}
        if theme == "light":
            named |= {f"object-{k}": colour for k, colour in enumerate(palette.OBJECT_COLOURS)}
            named |= {f"kind-{kind}": colour for kind, colour in palette.KIND_COLOURS.items()}
            named |= {f"kind-{k}": colour for k, colour in enumerate(palette.OBJECT_COLOURS)}  # of learners on one kind
        named |= {"kind-boolean": palette.PAGE_COLOURS[theme]["ink"]}  # black is invisible on a dark page
        lines = " ".join(f"--{name}: {colour};" for name, colour in named.items())
        blocks.append(f"{opening} {{ {lines} }}{' }' if theme == 'dark' else ''}\n")
    return "".join(blocks)


def _classes() -> str:
    """Return the classes that give an element one of these colours."""
    objects, heats = range(len(palette.OBJECT_COLOURS)), range(palette.HEAT_LEVELS)
    rules = [
        *(f".heat-{k} {{ fill: var(--heat-{k}); }}" for k in heats),
        *(f".object-{k} {{ fill: var(--object-{k}); }} .ball-{k} {{ stroke: var(--object-{k}); }}" for k in objects),
        *(f".kind-{kind} {{ --own: var(--kind-{kind}); }}" for kind in (*palette.KIND_COLOURS, *objects)),
    ]
    return "\n".join(rules) + "\n"


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
                shown = palette.START_SIGN if tile == START else tile
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
