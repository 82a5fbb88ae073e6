"""A page in one file: style, data and script put together so that nothing in the data can act.

The browser is told to run one script and one style sheet, known by their hashes, and to load nothing at all. The data
stand in a block that is never run. Its text cannot end the block, since ``<``, ``>`` and ``&`` are written as escapes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import zlib
from collections.abc import Iterable, Mapping
from html import escape
from importlib import resources
from typing import Any

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import printable
from fastrm.pictures.style import KIND_COLOURS, OBJECT_COLOURS, PAGE_COLOURS, heat_shades

_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
_THEMES = {"light": ":root", "dark": "@media (prefers-color-scheme: dark) { :root"}
_KINDS = {"uint8": "u1", "uint16": "u2", "uint32": "u4", "float32": "f4", "float64": "f8"}
_FOLDER = "fastrm.pictures.html"


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
    style = _colours() + _read("page.css")
    script = '"use strict";\n(() => {\n' + "\n".join(_read(name) for name in scripts) + "\n})();\n"
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


def _colours() -> str:
    """Return all colours as CSS variables, for both themes."""
    blocks = []
    for theme, opening in _THEMES.items():
        named = dict(PAGE_COLOURS[theme])
        named |= {f"heat-{k}": shade for k, shade in enumerate(heat_shades(theme))}
        if theme == "light":
            named |= {f"object-{k}": colour for k, colour in enumerate(OBJECT_COLOURS)}
            named |= {f"kind-{kind}": colour for kind, colour in KIND_COLOURS.items()}
            named |= {f"kind-{k}": colour for k, colour in enumerate(OBJECT_COLOURS)}  # of learners on one kind
        named |= {"kind-boolean": PAGE_COLOURS[theme]["ink"]}  # black is invisible on a dark page
        lines = " ".join(f"--{name}: {colour};" for name, colour in named.items())
        blocks.append(f"{opening} {{ {lines} }}{' }' if theme == 'dark' else ''}\n")
    blocks += [
        f".kind-{kind} {{ --own: var(--kind-{kind}); }}\n" for kind in (*KIND_COLOURS, *range(len(OBJECT_COLOURS)))
    ]
    return "".join(blocks)
