"""Colours, lines and map symbols of every picture and page, in one place.

One list of eight colours serves plots, pages, animations and documents. Each has a contrast of at least 3 with a light
and with a dark page, and any two differ for readers with any kind of colour vision (`tests/plots/test_palette.py`).
Methods in one figure also differ in line or marker, so that they stay distinct in a grey print.
"""

from collections.abc import Iterable
from typing import Any

COLOURS = ("#0072B2", "#D55E00", "#00926A", "#8458F4", "#E43DD5", "#4B7A37", "#E3223A", "#70747A")
"""Blue, vermilion, green, violet, magenta, moss, red, grey."""
_BLUE, _VERMILION, _GREEN, _VIOLET, _MAGENTA, _MOSS, _RED, _GREY = COLOURS
PAGE_OBJECTS = (_VIOLET, _MOSS, _MAGENTA, _GREY, _RED, _BLUE, _GREEN, _VERMILION)
"""Of objects on pages, one per type in alphabetical order, those of paths last."""
PAGE_LEARNERS = {
    "crm": _BLUE, "qrm": _VERMILION, "hrm": _GREEN, "sarsa": _VIOLET, "expected-sarsa": _MAGENTA, "double-q": _MOSS,
    "q-lambda": _RED, "dyna": _GREY, "coupled": _MAGENTA,
}  # fmt: skip
"""Of methods on pages: of several of one learner, the first has its colour."""
OBJECT_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6D1F", "#666666", "#5E4FA2")
"""One per type of object, in alphabetical order; balls of a water world have them too."""
KIND_COLOURS = {
    "boolean": "#000000", "numeric-boolean": "#0072B2", "numeric": "#E69F00", "potential": "#882255",
    "distance-to-go": "#009E73", "file": "#009E73", "offset": "#C84B31", "local-potential": "#7A8B00",
}  # fmt: skip
KIND_LINES: dict[str, Any] = {
    "boolean": "-", "numeric-boolean": (0, (5, 1.5)), "numeric": (0, (1, 1)), "potential": (0, (6, 1.5, 1, 1.5)),
    "distance-to-go": (0, (6, 1.5, 1, 1.5, 1, 1.5)), "file": "-", "offset": (0, (3, 1)),
    "local-potential": (0, (9, 2)),
}  # fmt: skip
"""For figures of one learner."""
LEARNER_COLOURS = {
    "qrm": "#56B4E9", "crm": "#332288", "hrm": "#D55E00", "sarsa": "#117733", "expected-sarsa": "#999933",
    "double-q": "#AA4499", "q-lambda": "#661100", "dyna": "#DDCC77", "coupled": "#CC6677",
}  # fmt: skip
"""For figures of one kind of machine; none of them is the colour of a kind."""
OTHER_LEARNER = "#44AA99"
"""For custom learners."""
LEARNER_LINES: dict[str, Any] = {"qrm": (0, (1, 1)), "crm": "-", "hrm": (0, (5, 1.5))}
LEARNER_MARKERS = {
    "qrm": "s", "crm": "o", "hrm": "^", "sarsa": "D", "expected-sarsa": "v", "double-q": "P", "q-lambda": "X",
    "dyna": "<", "coupled": ">",
}  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
LIGHTNESS_APART = 10.0
"""Of 100: colours that differ by less look the same in a grey print."""
PARITY_COLOURS = {False: "#0072B2", True: "#D55E00"}
"""Of our curves beside published ones, without and with shaping."""
PUBLISHED_LOOKS: dict[bool, dict[str, Any]] = {
    shaped: {"color": "black", "linewidth": 0.8, "markersize": 2.2, "marker": marker, "linestyle": (0, dashes)}
    for shaped, marker, dashes in ((False, "o", (4, 1)), (True, "^", (1, 1)))
}
"""Of published curves, without and with shaping."""
RULE: dict[str, Any] = {"color": "0.6", "linewidth": 0.6, "zorder": 0}
"""The line at a score of 1, and at runs that never arrive."""
CEILING: dict[str, Any] = {**RULE, "linestyle": (0, (4, 3))}
"""The line at the highest score that a run can settle at."""

WHITE, DARK = "#ffffff", "#282828"
NODE_COLOURS = {"state": WHITE, "success": "#d5efe3", "failure": "#f8dcc8"}
"""Of the states of a machine."""
MACHINE_INKS = {"svg": ("#444", "#222"), "figure": ("0.27", "0.13"), "image": ("#3c3c3c", "#3c3c3c")}
"""Of the arrows of a machine and the rims of its states, by form of the picture."""
EDGE_TEXT = "#004a75"
"""Of what is written on the edges of a machine."""
HERE_COLOUR = "#0072B2"
"""Of the machine state that an episode is in."""
PATH_COLOUR = "#D55E00"
"""Of the agent's path."""
VERDICT_COLOURS = {"shortest": "#007A59", "other": "#B34700"}
"""Of the verdict that all optimal policies take shortest paths, and of every other one; dark enough for letters."""

MAP_COLOURS = {
    "figure": {"fence": "0.35", "start": "0.25", "unseen": "0.8", "arrow": "0.3"},
    "frame": {"floor": WHITE, "rim": "#dedede", "wall": "#969696", "fence": DARK, "start": DARK, "agent": DARK},
    "image": {"floor": WHITE, "wall": "#6e6e6e", "start": "#ebebeb", "agent": "#000000"},
    "card": {"floor": "#fff", "wall": "#c6ccd1", "fence": "#777", "start": "#333", "dotted": "#888"},
}
"""Of what is on a map: in figures, in frames of an animation, in the images of an environment, on notebook cards."""
FIELD_MAPS = {"wall": "Greys", "values": "viridis", "visits": "cividis"}
"""Colour maps of matplotlib."""
AGENT, START_SIGN, START_MARKER = "@", "+", "x"
"""The agent in a text, and starts on a page and in a figure."""
START_PATH = "M-.3 0h.6M0 -.3v.6"
"""A start on a page, in cells."""
ARROWS = "↑→↓←"
"""One per action, in the order of `fastrm.worlds.OFFSETS`."""
MOST_STARTS = 12
"""Starts that are marked one by one; of more none is, and the picture says so."""

HEAT_LEVELS, VALUE_LEVELS = 12, 48
"""Shades of a map's values on a page, and levels of values and visits that it tells apart."""
PAGE_COLOURS = {
    "light": {
        "paper": "#ffffff", "panel": "#f6f7f8", "ink": "#1c2024", "soft": "#5b646c", "line": "#d9dee2",
        "wall": "#c6ccd1", "pale": "#fafafa", "accent": _BLUE, "good": "#00724f", "bad": "#b34700",
        "unsure": "#7a5a00", "heat-low": "#edf4f9", "heat-high": "#6aa5c9", "halo": "#ffffff", "on-disc": "#ffffff",
        "learned": _VERMILION, "optimal": _BLUE, "shortest": _GREEN, "leaves": "#a8437b",
    },
    "dark": {
        "paper": "#14181b", "panel": "#1c2226", "ink": "#e6eaed", "soft": "#9aa5ad", "line": "#343d44",
        "wall": "#3d464e", "pale": "#191e22", "accent": "#56B4E9", "good": "#4cc79c", "bad": "#f08a4b",
        "unsure": "#e6b84c", "heat-low": "#1f2a33", "heat-high": "#2f6f95", "halo": "#14181b", "on-disc": "#ffffff",
        "learned": "#f08a4b", "optimal": "#56B4E9", "shortest": "#2fc294", "leaves": "#e79bc2",
    },
}  # fmt: skip
"""Of web pages, by theme and name; a page has them as CSS variables."""


def object_colour(k: int) -> str:
    """Return the colour of the k-th type of object."""
    return OBJECT_COLOURS[k % len(OBJECT_COLOURS)]


def rgb(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue of a colour.

    >>> rgb("#0072B2")
    (0, 114, 178)
    """
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def ink(colour: str) -> str:
    """Return the colour, darkened until letters in it are easy to read on white (a contrast of 4.5).

    >>> ink("#0072B2"), ink("#D55E00")
    ('#0072b2', '#c35600')
    """
    for share in range(100, 0, -1):
        dark = _hex(part * share // 100 for part in rgb(colour))
        if contrast(dark, WHITE) >= 4.5:
            break
    return dark


def lightness(colour: str) -> float:
    """Return the lightness of a colour in a grey print, L* of the CIE, from 0 for black to 100 for white.

    >>> lightness("#000000"), round(lightness("#777777")), round(lightness("#ffffff"))
    (0.0, 50, 100)
    """
    y = _luminance(colour)
    return 903.3 * y if y <= 0.008856 else 116 * y ** (1 / 3) - 16


def contrast(one: str, two: str) -> float:
    """Return the contrast of two colours, from 1 for equal ones to 21, as the guidelines of the W3C define it.

    >>> contrast("#ffffff", "#000000"), round(contrast("#0072B2", "#ffffff"), 1)
    (21.0, 5.2)
    """
    low, high = sorted((_luminance(one), _luminance(two)))
    return (high + 0.05) / (low + 0.05)


def heat_shades(theme: str) -> list[str]:
    """Return the shades of a map's values, from low to high.

    >>> heat_shades("light")[0], len(heat_shades("light"))
    ('#edf4f9', 12)
    """
    low, high = (rgb(PAGE_COLOURS[theme][f"heat-{end}"]) for end in ("low", "high"))
    shares = [level / (HEAT_LEVELS - 1) for level in range(HEAT_LEVELS)]
    return [_hex(round(a + share * (b - a)) for a, b in zip(low, high, strict=True)) for share in shares]


def _luminance(colour: str) -> float:
    parts = (part / 255 for part in rgb(colour))
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _hex(parts: Iterable[int]) -> str:
    return "#" + "".join(f"{part:02x}" for part in parts)
