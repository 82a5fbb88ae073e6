"""The parts of a web page in one file: style, data and script, curves and maps without script, and machines.

Nothing in the data can act. The browser may run one script and one style sheet, known by their hashes, and to
load nothing at all. The data are in a block that is never run, whose text cannot end it, since ``<``, ``>`` and ``&``
are written as escapes. Scripts build what they show from this data element by element.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import resources
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import printable
from fastrm.machines import RewardMachine
from fastrm.plots import drawn_form, fence_ends, joined_edges, lay_out, palette, svg_shapes
from fastrm.worlds import FLOOR, START, WALL, GridMap

_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
_THEMES = (
    ("light", ":root {", "}"),
    ("dark", "@media (prefers-color-scheme: dark) { :root:not([data-theme=light]) {", "} }"),
    ("dark", ":root[data-theme=dark] {", "}"),
)
"""Of the reader's system, unless the button of the page has chosen one."""
_MACHINES = {"light": "none", "dark": "invert(.92) hue-rotate(180deg)"}
"""The picture of a machine is drawn on white."""
_KINDS = {"uint8": "u1", "uint16": "u2", "uint32": "u4", "float32": "f4", "float64": "f8"}
_SYMBOLS = {
    "arrows": list(palette.ARROWS), "heatLevels": palette.HEAT_LEVELS, "objects": len(palette.PAGE_OBJECTS),
    "start": palette.START_PATH, "valueLevels": palette.VALUE_LEVELS,
}  # fmt: skip
"""What scripts know of the palette."""
_ICON = "data:image/svg+xml," + quote(
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16' fill='none' stroke-width='2'>"
    f"<path d='M3 13V5h7' stroke='{palette.HERE_COLOUR}'/>"
    f"<circle cx='12' cy='5' r='3' fill='{palette.PATH_COLOUR}'/></svg>"
)
"""A path that reaches an object."""


def assemble(title: str, scripts: Iterable[str], data: Mapping[str, Any], still: str, about: str = "") -> str:
    """Return a page that runs script files of this folder, in order and in one scope, on data.

    `still` is markup for browsers that run no scripts, its texts escaped. `about` describes the page to search engines
    and in previews.
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
<meta name="description" content="{text(about or title)}">
<title>{text(title)}</title>
<link rel="icon" href="{_ICON}">
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
    r"""Write data so that it cannot end its block; numbers that are not finite become texts, as JSON has none.

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
    """Return arrays as text: joined, compressed, in base 64; `unpack.js` reads them."""
    index, parts = [], []
    for name, array in arrays.items():
        index.append([name, _KINDS[array.dtype.name], int(array.size)])
        parts.append(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
    return {"index": index, "bytes": base64.b64encode(zlib.compress(b"".join(parts), 9)).decode()}


def smallest(array: Array) -> Array:
    """Return non-negative integers in the smallest type that holds them."""
    top = int(array.max(initial=0))
    return array.astype(np.uint8 if top < 1 << 8 else np.uint16 if top < 1 << 16 else np.uint32)


def _read(name: str) -> str:
    return (resources.files("fastrm.pages") / name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _variables() -> str:
    """Return all colours as CSS variables, for both themes."""
    blocks = []
    for theme, opening, closing in _THEMES:
        named = dict(palette.PAGE_COLOURS[theme]) | {"scheme": theme, "machine-filter": _MACHINES[theme]}
        named |= {f"heat-{k}": shade for k, shade in enumerate(palette.heat_shades(theme))}
        if theme == "light":
            named |= {f"object-{k}": colour for k, colour in enumerate(palette.PAGE_OBJECTS)}
            named |= {f"colour-{k}": colour for k, colour in enumerate(palette.COLOURS)}
        lines = " ".join(f"--{name}: {colour};" for name, colour in named.items())
        blocks.append(f"{opening} {lines} {closing}\n")
    return "".join(blocks)


def _classes() -> str:
    """Return the classes that give an element one of these colours."""
    objects, heats = range(len(palette.PAGE_OBJECTS)), range(palette.HEAT_LEVELS)
    rules = [
        *(f".heat-{k} {{ fill: var(--heat-{k}); }}" for k in heats),
        *(f".object-{k} {{ fill: var(--object-{k}); }} .ball-{k} {{ stroke: var(--object-{k}); }}" for k in objects),
        *(f".colour-{k} {{ --own: var(--colour-{k}); }}" for k in range(len(palette.COLOURS))),
    ]
    return "\n".join(rules) + "\n"


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
    for left, top, _, bottom in fence_ends(grid):
        marks.append(f'<path class="fence" d="M{left} {top}{"h" if top == bottom else "v"}1"/>')
    return (
        f'<svg class="map" viewBox="0 0 {width} {height}" role="img" aria-label="the map">'
        f'<path class="wall" d="{"".join(walls)}"/>{"".join(marks)}</svg>'
    )


Line = tuple[str, int, str, Sequence[float]]
"""Name, number of the colour, dashes and heights of a curve."""


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
        for _, colour, dashes, heights in lines:
            last, height = max(len(heights) - 1, 1), 110 / (high - low)
            points = " ".join(f"{300 * k / last:.0f},{116 - height * (h - low):.0f}" for k, h in enumerate(heights))
            drawn.append(_curve(colour, dashes, points))
        parts.append(
            f'<figure><figcaption>{text(title)}</figcaption><svg class="still" viewBox="0 0 300 122" role="img" '
            f'aria-label="median scores">{"".join(drawn)}</svg></figure>'
        )
    return f'<ul class="legend methods">{named}</ul><div class="plots">{"".join(parts)}</div>'


def _curve(colour: int, dashes: str, points: str) -> str:
    return f'<polyline class="curve colour-{colour}" stroke-dasharray="{text(dashes)}" points="{points}"/>'


MOST_STATES = 80
"""States beyond which the picture of a machine is a tangle."""


def machine_graph(
    machine: RewardMachine, names: Mapping[str, str] = MappingProxyType({}), downwards: bool = False
) -> dict[str, Any] | None:
    """Return a machine as shapes (tag, attributes, text, children), with its size and the box of every state.

    `names` are what some states are called on the page; `downwards` is for narrow screens. None where the machine has
    too many states for a picture.
    """
    form = drawn_form(machine)
    if len(form.states) > MOST_STATES:
        return None
    drawing = lay_out(machine, downwards)
    at = {node.name: node.box() for node in drawing.nodes}
    written = {name: printable(machine.written_state(name)) for name in (*machine.states, *machine.terminals)}
    boxes = {name: at[shown] for name, shown in written.items() if shown in at}
    return {
        "size": [float(round(side)) for side in (drawing.width, drawing.height)],
        "shapes": [[tag, look, names.get(text, text), []] for tag, look, text in svg_shapes(drawing)],
        "boxes": {
            names.get(name, name): [round(x, 1) for x in (*box[:2], box[2] - box[0], box[3] - box[1])]
            for name, box in boxes.items()
        },
    }


def names_by_what_is_done(machine: RewardMachine) -> dict[str, str]:
    """Return names for the states of a task in any order that say what is done; empty for other machines.

    >>> from fastrm import task
    >>> names_by_what_is_done(task("{a,b}")), names_by_what_is_done(task("a-b"))
    ({'u0': 'none', 'u1': 'a', 'u2': 'b'}, {})
    """
    if drawn_form(machine) is not machine:
        return {}
    done: dict[str, tuple[str, ...]] = {machine.start: ()}
    ways: dict[str, set[str]] = {}
    waiting = [machine.start]
    for u in waiting:
        for (source, target), texts in joined_edges(machine).items():
            if source != u or target == u or target not in machine.states:
                continue
            read = re.fullmatch(r"(\w+)(?: & !\w+)* : .*", texts[0]) if len(texts) == 1 else None
            if read is None or done.get(target, after := tuple(sorted((*done[u], read[1])))) != after:
                return {}
            ways.setdefault(u, set()).add(target)
            if target not in done:
                done[target] = after
                waiting.append(target)
    if max(map(len, ways.values()), default=0) < 2 or {*done} != {*machine.states}:
        return {}
    return {u: "+".join(done[u]) or "none" for u in machine.states}
