"""How pictures look: colours, lines, sizes, and the figures that all of them begin with. Needs matplotlib for these.

Colours are those of Okabe and Ito and three more, which colour-blind readers tell apart; kinds of machine also differ
in lightness, so that a print in grey keeps them apart.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastrm.errors import ConfigError, MissingExtra, printable
from fastrm.learners import registry

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OBJECT_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6D1F", "#666666", "#5E4FA2")
"""One per type of object, in alphabetical order."""
KIND_COLOURS = {
    "boolean": "#000000", "numeric-boolean": "#0072B2", "numeric": "#E69F00", "potential": "#CC79A7",
    "distance-to-go": "#009E73", "file": "#009E73",
}  # fmt: skip
LEARNER_LINES: dict[str, Any] = {"qrm": (0, (1, 1)), "crm": "-", "hrm": (0, (5, 1.5))}
STYLE = {
    "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "legend.fontsize": 7.5, "xtick.labelsize": 7,
    "ytick.labelsize": 7, "axes.linewidth": 0.6, "lines.linewidth": 1.2, "savefig.dpi": 200, "svg.hashsalt": "fastrm",
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


def object_colour(k: int) -> str:
    """Return the colour of the k-th type of object."""
    return OBJECT_COLOURS[k % len(OBJECT_COLOURS)]


def kind_colour(kind: str | None) -> str:
    """Return the colour of a kind of machine, None for machines from files."""
    return KIND_COLOURS[kind or "file"]


def learner_line(algo: str) -> Any:
    """Return the line style of a learner; those that do not come with fastrm get dash-dotted ones of their own."""
    if algo in LEARNER_LINES:
        return LEARNER_LINES[algo]
    others = [name for name in registry.names() if name not in LEARNER_LINES]
    return (0, (6, 1.5, *(1, 1.5) * (1 + others.index(algo) if algo in others else 1)))


def rgb(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue of a colour.

    >>> rgb("#0072B2")
    (0, 114, 178)
    """
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


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
    left: float = 0.56,
) -> tuple[Figure, Any]:
    """Lay out panels of a size, in inches, with room for titles and labels."""
    right, top = 0.15, 0.45
    width = left + right + columns * size[0] + (columns - 1) * across
    height = top + bottom + rows * size[1] + (rows - 1) * down
    figure = new_figure(width, height)
    axes = figure.subplots(rows, columns, squeeze=False)
    figure.subplots_adjust(
        left=left / width, right=1 - right / width, top=1 - top / height, bottom=bottom / height,
        wspace=across / size[0], hspace=down / size[1],
    )  # fmt: skip
    return figure, axes


def line(**look: Any) -> Any:
    """Return a line for a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **look)


def put_title(figure: Figure, title: str) -> None:
    """Write a title above all panels."""
    figure.suptitle(printable(title), fontsize=9, y=1 - 0.12 / figure.get_figheight(), va="center", parse_math=False)


def finish_figure(figure: Figure, handles: Sequence[Any], columns: int, title: str) -> None:
    """Put the legend below all panels and the title above them."""
    legend = figure.legend(
        handles=handles, loc="lower center", ncols=columns, frameon=False, handlelength=3.0, columnspacing=1.2
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    if title:
        put_title(figure, title)


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format of the path's suffix; the same figure gives the same bytes."""
    form = path.suffix.removeprefix(".")
    with style():
        try:
            figure.savefig(path, format=form, metadata=_TIMELESS[form])
        except OSError as problem:
            raise ConfigError(f"{path}: cannot be written: {problem.strerror or problem}") from None
