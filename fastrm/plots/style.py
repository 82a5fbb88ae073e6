"""Figures in our style: panels, titles, legends, looks of methods, and files. Imports matplotlib when it is needed."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastrm.checks import check_number, check_whole
from fastrm.errors import ConfigError, MissingExtra, printable, shown
from fastrm.experiments import Method
from fastrm.learners import registry
from fastrm.plots.palette import (
    KIND_COLOURS,
    KIND_LINES,
    LEARNER_COLOURS,
    LEARNER_LINES,
    LEARNER_MARKERS,
    MARKERS,
    OTHER_LEARNER,
)
from fastrm.textfile import check_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 200
"""Dots per inch of a .png by default."""
SCREEN_DPI = 100
"""Dots per inch of figures in notebooks."""
MOST_PIXELS = 10**8
"""Of a picture: more take gigabytes to make and to open."""
LEGEND_SIZE, TITLE_SIZE = 7.5, 9.0
STYLE: dict[str, Any] = {
    "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "legend.fontsize": LEGEND_SIZE, "xtick.labelsize": 7,
    "ytick.labelsize": 7, "axes.linewidth": 0.6, "lines.linewidth": 1.2, "savefig.dpi": DPI, "svg.hashsalt": "fastrm",
    "axes.spines.top": False, "axes.spines.right": False, "pdf.fonttype": 42,
}  # fmt: skip
LEFT, RIGHT = 0.56, 0.15
"""Inches beside the panels of a figure: for numbers and a label on one side, for half a number on the other."""
_TIMELESS: dict[str, dict[str, Any]] = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}


def have_matplotlib() -> bool:
    """Return whether matplotlib is installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def style() -> Any:
    """Return a context in which matplotlib draws in our style; raise MissingExtra where there is no matplotlib."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtra("pictures need matplotlib; install it with: pip install 'fastrm[plot]'") from None
    return matplotlib.rc_context(STYLE)


def check_width(width: float | None, least: float) -> None:
    """Raise ConfigError unless a width is None or a number of inches from `least` to 40."""
    if width is not None:
        check_number("width", width, least, 40)


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


def set_panel_title(axis: Axes, title: str, width: float) -> None:
    """Write the title of a panel, in smaller type where it is wider than `width` inches."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties

    title, size = printable(title), FontProperties(size=rcParams["axes.titlesize"]).get_size_in_points()
    axis.set_title(title, pad=3, parse_math=False, fontsize=size * min(1.0, width / max(text_width(title, size), 0.1)))


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
    """Return the number of columns in which a legend of these names fits into a width in inches."""
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


def save(figure: Figure, path: str | Path, dpi: int | None = None) -> None:
    """Write a figure in the format of the path's suffix; the same figure gives the same bytes.

    `dpi` is the number of pixels per inch, by default 200.
    """
    path = Path(check_path(path, ConfigError))
    form = path.suffix.removeprefix(".")
    if form not in _TIMELESS:
        raise ConfigError(f"{path}: must end in .png, .pdf or .svg")
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


def looks_of(methods: Sequence[Method], colours: Mapping[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    """Return the looks of the lines of methods in one figure, by label; some may have colours of their own.

    A kind of machine is a colour, a learner a line and a marker; hollow markers mean reward shaping. In a figure of one
    kind a learner is also a colour, and in one of a single learner kinds are also lines and markers. Methods that
    differ in their initial values alone get a marker each.
    """
    kinds, algos = (list(dict.fromkeys(names)) for names in zip(*((m.kind, m.algo) for m in methods), strict=True))
    looks: dict[str, dict[str, Any]] = {}
    own = {label: _hex_colour(label, colour) for label, colour in (colours or {}).items()}
    for method in methods:
        kind = method.kind or "file"
        by_learner = len(kinds) == 1 < len(algos)
        colour = LEARNER_COLOURS.get(method.algo, OTHER_LEARNER) if by_learner else KIND_COLOURS[kind]
        colour = own.get(method.label, colour)
        look = {"color": colour, "markerfacecolor": "white" if method.shaping else colour}
        if len(algos) > 1 or len(kinds) == 1:
            line, marker = _learner_line(method.algo), LEARNER_MARKERS.get(method.algo, MARKERS[3])
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


def _hex_colour(label: str, colour: Any) -> str:
    """Return a colour in the form that all backends take; raise ConfigError for one that matplotlib does not know."""
    from matplotlib.colors import to_hex

    try:
        return to_hex(colour, keep_alpha=True)
    except (TypeError, ValueError):
        raise ConfigError(f"colours[{label!r}]={shown(colour)}: no such colour; write such as 'tab:red'") from None


def _learner_line(algo: str) -> Any:
    """Return the line style of a learner: dash-dotted, with more dots each, beyond the first three."""
    if algo in LEARNER_LINES:
        return LEARNER_LINES[algo]
    others = [name for name in registry.names() if name not in LEARNER_LINES]
    return (0, (6, 1.5, *(1, 1.5) * (1 + others.index(algo) if algo in others else 1)))
