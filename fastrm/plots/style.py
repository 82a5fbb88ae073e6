"""How pictures look: colours, lines, sizes, and the figures that all of them begin with. Needs matplotlib for these.

Colours are those of Okabe and Ito and a few more, which colour-blind readers tell apart. Methods in one figure also
differ in lightness, line or marker, so that a print in grey keeps them apart.

How the lines of the methods of one figure look, so that any two can be told apart, in grey prints too.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastrm.checks import check_whole
from fastrm.errors import ConfigError, MissingExtra, printable
from fastrm.experiments import Method
from fastrm.learners import registry

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OBJECT_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6D1F", "#666666", "#5E4FA2")
"""One per type of object, in alphabetical order."""
KIND_COLOURS = {
    "boolean": "#000000", "numeric-boolean": "#0072B2", "numeric": "#E69F00", "potential": "#882255",
    "distance-to-go": "#009E73", "file": "#009E73",
}  # fmt: skip
LEARNER_COLOURS = {
    "qrm": "#56B4E9", "crm": "#332288", "hrm": "#D55E00", "sarsa": "#117733", "expected-sarsa": "#999933",
    "double-q": "#AA4499", "q-lambda": "#661100", "dyna": "#DDCC77", "coupled": "#CC6677",
}  # fmt: skip
"""For figures of one kind of machine; none of them is the colour of a kind."""
LEARNER_LINES: dict[str, Any] = {"qrm": (0, (1, 1)), "crm": "-", "hrm": (0, (5, 1.5))}
DPI = 200
"""Dots per inch of a .png, where nothing else is asked for."""
LEARNER_MARKERS = {
    "qrm": "s", "crm": "o", "hrm": "^", "sarsa": "D", "expected-sarsa": "v", "double-q": "P", "q-lambda": "X",
    "dyna": "<", "coupled": ">",
}  # fmt: skip
KIND_LINES: dict[str, Any] = {
    "boolean": "-", "numeric-boolean": (0, (5, 1.5)), "numeric": (0, (1, 1)), "potential": (0, (6, 1.5, 1, 1.5)),
    "distance-to-go": (0, (6, 1.5, 1, 1.5, 1, 1.5)), "file": "-",
}  # fmt: skip
"""For figures of one learner."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
LIGHTNESS_APART = 10.0
"""Of 100: colours that differ by less are not told apart in grey."""
LEGEND_SIZE, TITLE_SIZE = 7.5, 9.0
STYLE: dict[str, Any] = {
    "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "legend.fontsize": LEGEND_SIZE, "xtick.labelsize": 7,
    "ytick.labelsize": 7, "axes.linewidth": 0.6, "lines.linewidth": 1.2, "savefig.dpi": DPI, "svg.hashsalt": "fastrm",
    "axes.spines.top": False, "axes.spines.right": False, "pdf.fonttype": 42,
}  # fmt: skip
SCREEN_DPI = 100
"""Dots per inch of figures in notebooks."""
_TIMELESS: dict[str, dict[str, Any]] = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}
NODE_COLOURS = {"state": "#ffffff", "success": "#d5efe3", "failure": "#f8dcc8"}
"""Of the states of a machine."""
PATH_COLOUR = "#D55E00"
"""Of the way that an agent goes."""
EDGE_TEXT = "#004a75"
"""Of what is written on the edges of a machine."""
HERE_COLOUR = "#0072B2"
"""Of the machine state that an episode is in."""
VERDICT_COLOURS = {"shortest": "#007A59", "other": "#B34700"}
"""Of the verdict that all optimal policies take shortest paths, and of every other one; dark enough for letters."""
PARITY_COLOURS = {False: "#0072B2", True: "#D55E00"}
"""Of our curves beside published ones, without and with shaping."""

PAGE_COLOURS = {
    "light": {
        "paper": "#ffffff", "panel": "#f6f7f8", "ink": "#1c2024", "soft": "#5b646c", "line": "#d9dee2",
        "wall": "#7d858c", "pale": "#fafafa", "accent": "#0072B2", "good": "#00724f", "bad": "#b34700",
        "unsure": "#7a5a00", "heat-low": "#edf4f9", "heat-high": "#6aa5c9", "halo": "#ffffff",
        "learned": "#D55E00", "optimal": "#0072B2", "shortest": "#009E73", "witness": "#a8437b",
    },
    "dark": {
        "paper": "#14181b", "panel": "#1c2226", "ink": "#e6eaed", "soft": "#9aa5ad", "line": "#343d44",
        "wall": "#59626a", "pale": "#191e22", "accent": "#56B4E9", "good": "#4cc79c", "bad": "#f08a4b",
        "unsure": "#e6b84c", "heat-low": "#1f2a33", "heat-high": "#2f6f95", "halo": "#14181b",
        "learned": "#f08a4b", "optimal": "#56B4E9", "shortest": "#2fc294", "witness": "#e79bc2",
        "kind-numeric-boolean": "#56B4E9", "kind-distance-to-go": "#2fc294", "kind-file": "#2fc294",
    },
}  # fmt: skip
"""Of web pages, by name and theme; a page knows them as CSS variables."""
HEAT_LEVELS = 12
"""Shades of a map's values."""


LEFT, RIGHT = 0.56, 0.15
"""Inches beside the panels of a figure: for numbers and a label on one side, for half a number on the other."""
MOST_PIXELS = 10**8
"""Of a picture: more take gigabytes to make and to open."""


def object_colour(k: int) -> str:
    """Return the colour of the k-th type of object."""
    return OBJECT_COLOURS[k % len(OBJECT_COLOURS)]


def kind_colour(kind: str | None) -> str:
    """Return the colour of a kind of machine, None for machines from files."""
    return KIND_COLOURS[kind or "file"]


def learner_line(algo: str) -> Any:
    """Return the line style of a learner; others than the first three get dash-dotted ones."""
    if algo in LEARNER_LINES:
        return LEARNER_LINES[algo]
    others = [name for name in registry.names() if name not in LEARNER_LINES]
    return (0, (6, 1.5, *(1, 1.5) * (1 + others.index(algo) if algo in others else 1)))


def learner_colour(algo: str) -> str:
    """Return the colour of a learner in a figure of one kind of machine."""
    return LEARNER_COLOURS.get(algo, "#44AA99")


def ink(colour: str) -> str:
    """Return the colour, darkened until letters in it are easy to read on white (a contrast of 4.5).

    >>> ink("#0072B2"), ink("#E69F00")
    ('#0072b2', '#9e6d00')
    """
    parts = rgb(colour)
    for share in range(100, 0, -1):
        dark = [part * share // 100 for part in parts]
        linear = [(x / 255 / 12.92) if x <= 10 else ((x / 255 + 0.055) / 1.055) ** 2.4 for x in dark]
        if 1.05 / (0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05) >= 4.5:
            break
    return "#" + "".join(f"{part:02x}" for part in dark)


def rgb(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue of a colour.

    >>> rgb("#0072B2")
    (0, 114, 178)
    """
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def heat_shades(theme: str) -> list[str]:
    """Return the shades of a map's values, from low to high.

    >>> heat_shades("light")[0], len(heat_shades("light"))
    ('#edf4f9', 12)
    """
    low, high = (rgb(PAGE_COLOURS[theme][f"heat-{end}"]) for end in ("low", "high"))
    shares = [level / (HEAT_LEVELS - 1) for level in range(HEAT_LEVELS)]
    mixed = [[round(a + share * (b - a)) for a, b in zip(low, high, strict=True)] for share in shares]
    return ["#" + "".join(f"{part:02x}" for part in parts) for parts in mixed]


def have_matplotlib() -> bool:
    """Whether pictures can be made."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def style() -> Any:
    """Return a context in which matplotlib draws in our style.

    Raises
    ------
    MissingExtra
        When matplotlib is missing.
    """
    try:
        import matplotlib
    except ImportError:
        raise MissingExtra("pictures need matplotlib; install it with: pip install 'fastrm[plot]'") from None
    return matplotlib.rc_context(STYLE)


def new_figure(width: float, height: float) -> Figure:
    """Make an empty figure of a size in inches, which a notebook shows when it is the last line of a cell."""
    return _figure_class()(figsize=(width, height))


@cache
def _figure_class() -> type[Figure]:
    from matplotlib.figure import Figure  # not pyplot: nobody's backend is changed and nothing has to be closed

    class ShownFigure(Figure):
        """A figure that shows itself in notebooks, as those of pyplot do."""

        def _repr_png_(self) -> bytes:
            buffer = io.BytesIO()
            with style():
                self.savefig(buffer, format="png", dpi=SCREEN_DPI)
            return buffer.getvalue()

    return ShownFigure


def panels(
    rows: int,
    columns: int,
    size: tuple[float, float],
    *,
    bottom: float,
    across: float = 0.2,
    down: float = 0.3,
    left: float = LEFT,
    right: float = RIGHT,
    top: float = 0.45,
) -> tuple[Figure, Any]:
    """Lay out panels of a size, in inches, with room for titles and labels."""
    width = left + right + columns * size[0] + (columns - 1) * across
    height = top + bottom + rows * size[1] + (rows - 1) * down
    figure = new_figure(width, height)
    axes = figure.subplots(rows, columns, squeeze=False)
    figure.subplots_adjust(
        left=left / width, right=1 - right / width, top=1 - top / height, bottom=bottom / height,
        wspace=across / size[0], hspace=down / size[1],
    )  # fmt: skip
    return figure, axes


def line(xy: tuple[Sequence[float], Sequence[float]] = ((), ()), **look: Any) -> Any:
    """Return a line through some points of a figure, none for a legend."""
    from matplotlib.lines import Line2D

    return Line2D(*xy, **look)


def put_title(figure: Figure, title: str) -> None:
    """Write a title above all panels, in as many lines as its width needs."""
    lines = wrapped(title, figure.get_figwidth())
    figure.suptitle(
        "\n".join(lines), fontsize=TITLE_SIZE, y=1 - 0.05 / figure.get_figheight(), va="top", parse_math=False
    )


def wrapped(title: str, width: float) -> list[str]:
    """Break a title into lines, of about equal length, that fit into a width in inches."""
    title = printable(title)

    def lines(room: int) -> list[str]:
        return textwrap.wrap(title, room, break_on_hyphens=False)

    room = max(len(title), 1)
    while room > 20 and any(text_width(part, TITLE_SIZE) > width - 0.2 for part in lines(room)):
        room -= 1
    while room > 1 and len(lines(room - 1)) == len(lines(room)):
        room -= 1
    return lines(room)


def text_width(text: str, size: float) -> float:
    """Return the width, in inches, of a text in a size of type."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    width, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)
    return float(width) / 72


def legend_columns(names: Sequence[str], width: float) -> int:
    """Return in how many columns a legend of these names fits into a width in inches."""
    one = 0.55 + max(text_width(name, LEGEND_SIZE) for name in names)
    most = max(1, min(len(names), 4, int((width - 0.1) / one)))
    return -(-len(names) // -(-len(names) // most))  # as few as the rows need


def finish_figure(figure: Figure, handles: Sequence[Any], columns: int, title: str) -> None:
    """Put the legend, if there is one, below all panels and the title above them."""
    if handles:
        legend = figure.legend(
            handles=handles, loc="lower center", ncols=columns, frameon=False, handlelength=3.0, columnspacing=1.2
        )
        for text in legend.get_texts():
            text.set_parse_math(False)
    if title:
        put_title(figure, title)


def save(figure: Figure, path: Path, dpi: int | None = None) -> None:
    """Write a figure in the format of the path's suffix; the same figure gives the same bytes.

    `dpi` is the number of pixels per inch, by default 200.
    """
    form = path.suffix.removeprefix(".")
    if dpi is not None:
        check_whole("dpi", dpi, 20, 2400)
    pixels = STYLE["savefig.dpi"] if dpi is None else dpi
    wide, high = (round(inches * pixels) for inches in figure.get_size_inches())
    if form == "png" and (wide * high > MOST_PIXELS or max(wide, high) >= 2**16):
        raise ConfigError(f"{path}: {wide} x {high} pixels are too many; lower dpi, or take pdf or svg")
    with style():
        try:
            figure.savefig(path, format=form, metadata=_TIMELESS[form], dpi=pixels)
        except OSError as problem:
            raise ConfigError(f"{path}: cannot be written: {problem.strerror or problem}") from None


def looks_of(methods: Sequence[Method]) -> dict[str, dict[str, Any]]:
    """Return how the lines of the methods of one figure look, by label.

    A kind of machine is a colour, a learner a line and a marker; hollow markers mean reward shaping. In a figure of one
    kind a learner is also a colour, and in one of a single learner kinds are also lines and markers. Methods that
    differ in their initial values alone get a marker each.
    """
    kinds, algos = (list(dict.fromkeys(names)) for names in zip(*((m.kind, m.algo) for m in methods), strict=True))
    looks: dict[str, dict[str, Any]] = {}
    for method in methods:
        kind = method.kind or "file"
        colour = learner_colour(method.algo) if len(kinds) == 1 < len(algos) else kind_colour(method.kind)
        look = {"color": colour, "markerfacecolor": "white" if method.shaping else colour}
        if len(algos) > 1 or len(kinds) == 1:
            line, marker = learner_line(method.algo), LEARNER_MARKERS.get(method.algo, MARKERS[3])
        else:
            line, marker = KIND_LINES[kind], MARKERS[list(KIND_LINES).index(kind) % 5]
        first = MARKERS.index(marker)
        for marker in (*MARKERS[first:], *MARKERS[:first]):
            look |= {"linestyle": line, "marker": marker}
            if look not in looks.values():
                break
        looks[method.label] = look
    every = {"markersize": 3.2, "markeredgewidth": 0.8}
    return {
        label: look | every | {"markevery": (0.02 + 0.18 * k / len(looks), 0.18)}  # no marker hides another
        for k, (label, look) in enumerate(looks.items())
    }


def lightness(colour: str) -> float:
    """Return how light a colour is in a grey print, L* of the CIE, from 0 for black to 100 for white.

    >>> lightness("#000000"), round(lightness("#777777")), round(lightness("#ffffff"))
    (0.0, 50, 100)
    """
    parts = (part / 255 for part in rgb(colour))
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return 903.3 * y if y <= 0.008856 else 116 * y ** (1 / 3) - 16
