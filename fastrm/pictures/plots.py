"""Pictures of results: learning curves in the paper's form, and the maps they were learned on. Needs matplotlib.

One colour per kind of machine and one line style per learner, everywhere; dots on the line mean reward shaping. The
colours are those of Okabe and Ito, chosen so that they also differ in lightness: a print in grey keeps the kinds apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import ConfigError
from fastrm.experiments import Method, method_of
from fastrm.machines import RewardMachine
from fastrm.pictures import graph
from fastrm.pictures.style import object_colour
from fastrm.results import Results, band
from fastrm.studies.parity import Curves
from fastrm.worlds import GridMap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


COLOURS = {
    "boolean": "#000000", "numeric-boolean": "#0072B2", "numeric": "#E69F00", "potential": "#CC79A7",
    "distance-to-go": "#009E73", "file": "#009E73",
}  # fmt: skip
LINES: dict[str, Any] = {"qrm": (0, (1, 1)), "crm": "-", "hrm": (0, (5, 1.5))}
STYLE = {
    "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "legend.fontsize": 7.5, "xtick.labelsize": 7,
    "ytick.labelsize": 7, "axes.linewidth": 0.6, "lines.linewidth": 1.2, "savefig.dpi": 200, "svg.hashsalt": "fastrm",
    "axes.spines.top": False, "axes.spines.right": False, "pdf.fonttype": 42,
}  # fmt: skip
_TIMELESS: dict[str, dict[str, Any]] = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}


def have_matplotlib() -> bool:
    """Whether pictures can be made."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def learning_curves(results: Results, title: str = "") -> Figure:
    """Draw median and 25-75 % band of the score: a row per task, a column per setup, a line per method.

    Raises
    ------
    ConfigError
        When matplotlib is missing or there is nothing to draw.
    """
    if not results.runs or not len(results["step"]):
        raise ConfigError(f"{results.path or 'these results'}: no curves to draw (no runs, or no ticks)")
    groups = {key: mine for key, mine in results.groups("setup", "task", "label") if len(mine)}
    setups, tasks, labels = (list(dict.fromkeys(key[k] for key in groups)) for k in range(3))
    steps, score = results["step"], results["score"]
    with style():
        columns = min(2 * len(setups), 4)
        legend = 0.17 * math.ceil(len(labels) / columns)
        size = 4.2 if len(setups) == 1 else 2.9
        figure, axes = panels(len(tasks), len(setups), (size, 1.55), bottom=0.5 + legend)
        for (setup, task, label), mine in groups.items():
            draw_band(axes[tasks.index(task)][setups.index(setup)], steps, score[mine], method_of(label))
        for row, task in enumerate(tasks):
            axes[row][0].set_ylabel("score (1 = optimum)")
            for column, setup in enumerate(setups):
                _finish_panel(axes[row][column], steps, f"{setup}, task {task}", row == len(tasks) - 1, column == 0)
        for axis in axes[-1]:
            axis.set_xlabel("training steps (logarithmic)")
        handles = [line(label=name_of(label), **look_of(method_of(label))) for label in labels]
        finish_figure(figure, handles, columns, title)
    return figure


def draw_band(axis: Axes, steps: Array, curves: Array, method: Method) -> None:
    """Draw the median of some runs and their 25-75 % band."""
    low, middle, high = band(curves)
    look = look_of(method)
    axis.fill_between(steps, low, high, color=look["color"], alpha=0.12, linewidth=0)
    axis.plot(steps, middle, **look)


def look_of(method: Method) -> dict[str, Any]:
    """Return how the line of a method looks."""
    look = {"color": COLOURS[method.kind or "file"], "linestyle": LINES[method.algo]}
    return look | ({"marker": "o", "markersize": 2.2, "markevery": 0.07} if method.shaping else {})


def name_of(label: str) -> str:
    """Return a method's name in words."""
    method = method_of(label)
    kind = {"boolean": "Boolean", "numeric-boolean": "numeric-Boolean"}.get(method.kind or "", method.kind)
    start = "" if method.optimism is None else f" @{method.optimism:g}"
    return f"{method.algo.upper()}{' + shaping' if method.shaping else ''}{f', {kind}' if kind else ''}{start}"


def _finish_panel(axis: Axes, steps: Array, title: str, last_row: bool, first_column: bool) -> None:
    axis.set_title(title, pad=3, parse_math=False)
    axis.axhline(1.0, color="0.6", linewidth=0.6, zorder=0)
    axis.set_xscale("log")
    axis.set_xlim(steps[0], steps[-1] * (1.02 if len(steps) > 1 else 10))
    axis.set_ylim(0, 1.1)
    axis.set_yticks(np.arange(0, 1.01, 0.25))
    axis.tick_params(labelbottom=last_row, labelleft=first_column)


def finish_figure(figure: Figure, handles: Sequence[Any], columns: int, title: str) -> None:
    """Put the legend below all panels and the title above them."""
    figure.legend(
        handles=handles, loc="lower center", ncols=columns, frameon=False, handlelength=3.0, columnspacing=1.2
    )
    if title:
        put_title(figure, title)


def put_title(figure: Figure, title: str) -> None:
    """Write a title above all panels."""
    figure.suptitle(title, fontsize=9, y=1 - 0.12 / figure.get_figheight(), va="center", parse_math=False)


def parity_curves(curves: Sequence[Curves]) -> Figure:
    """Draw our curves in colour and the published ones in black: a row per map, a column per learner."""
    cells, algos = list(dict.fromkeys(one.cell for one in curves)), ("ql", "crm", "hrm")
    colours = {False: "#0072B2", True: "#D55E00"}
    looks: dict[bool, dict[str, Any]] = {
        False: {"marker": "o", "linestyle": (0, (4, 1))}, True: {"marker": "^", "linestyle": (0, (1, 1))},
    }  # fmt: skip
    theirs: dict[str, Any] = {"color": "black", "linewidth": 0.8, "markersize": 2.2}
    with style():
        figure, axes = panels(len(cells), len(algos), (1.85, 1.4), bottom=0.85, across=0.42, down=0.65)
        for one in curves:
            algo, _, shaped = one.algorithm.partition("-")
            axis, steps = axes[cells.index(one.cell)][algos.index(algo)], one.steps / 1e6
            low, middle, high = band(one.ours)
            axis.fill_between(steps, low, high, color=colours[bool(shaped)], alpha=0.25, linewidth=0)
            axis.plot(steps, middle, color=colours[bool(shaped)])
            low, middle, high = band(one.published)
            axis.plot(steps, middle, markevery=0.1, **theirs, **looks[bool(shaped)])
            some = slice(len(steps) // 20, None, max(1, len(steps) // 10))
            axis.vlines(steps[some], low[some], high[some], color="black", linewidth=0.6)
            axis.set_title(f"{one.cell.name}, {algo.upper()}", pad=3)
            axis.set_xlim(0, steps[-1])
            axis.set_xlabel("training steps (millions)")
        for row in axes:
            row[0].set_ylabel("score (1 = optimum)")
            for axis in row:
                axis.set_ylim(bottom=0)
        handles = [line(color=colour, label="ours" + ", with shaping" * shaped) for shaped, colour in colours.items()]
        handles += [
            line(**theirs, **look, label="published" + ", with shaping" * shaped) for shaped, look in looks.items()
        ]
        finish_figure(figure, handles, 2, "median and 25-75 % of our runs and of the published ones")
    return figure


def draw_maps(grids: Sequence[tuple[str, GridMap]]) -> Figure:
    """Draw maps side by side, five in a row: walls grey, the start a cross, objects as coloured letters."""
    if not grids:
        raise ConfigError("no maps to draw")
    columns = min(5, len(grids))
    rows, side = math.ceil(len(grids) / columns), 1.5 if len(grids) > 1 else 4.5
    with style():
        shape = max(grid.size[0] / grid.size[1] for _, grid in grids)
        figure = new_figure(side * columns, (side * min(max(shape, 0.2), 4.0) + 0.15) * rows + 0.25)
        axes = figure.subplots(rows, columns, squeeze=False)
        top = 1 - 0.43 / figure.get_figheight()
        figure.subplots_adjust(left=0.01, right=0.99, bottom=0.01, top=top, wspace=0.05, hspace=0.12)
        for axis in axes.flat:
            axis.set_axis_off()
        for axis, (name, grid) in zip(axes.flat, grids, strict=False):
            draw_map(axis, grid, side)
            axis.set_title(name, pad=2, parse_math=False)
        if columns > 1:
            put_title(figure, "start: cross; objects: letters")
    return figure


def draw_map(axis: Axes, grid: GridMap, side: float = 3.0) -> None:
    """Draw one map on a panel of about `side` inches."""
    tiles = np.array([list(row) for row in grid.rows])
    axis.imshow(tiles == "X", cmap="Greys", vmin=0, vmax=2.0, interpolation="nearest")
    for (row, column), there in grid.fences:
        down, right = there[0] - row, there[1] - column
        ends = [column + 0.5 - down, column + 0.5], [row + 0.5 - right, row + 0.5]
        axis.plot(*ends, color="0.5", linewidth=1.2, solid_capstyle="butt")
    kinds = sorted({tile for tile in tiles.flat if tile not in "XA ."})
    size = float(np.clip(60 * side / max(tiles.shape), 5, 16))
    for row, column in np.argwhere((tiles != "X") & (tiles != " ") & (tiles != ".")).tolist():
        tile = tiles[row, column]
        if tile == "A":
            axis.plot(column, row, marker="x", color="0.25", markersize=size * 0.6, markeredgewidth=1.0)
        else:
            colour = object_colour(kinds.index(tile))
            axis.text(
                column, row, tile, color=colour, fontsize=size, fontweight="bold", ha="center", va="center_baseline"
            )
    axis.set_axis_off()


def draw_machine(machine: RewardMachine) -> Figure:
    """Draw a machine as a graph, as `graph.to_svg` does."""
    drawing = graph.lay_out(machine)
    with style():
        from matplotlib.patches import Circle, PathPatch, Polygon
        from matplotlib.path import Path as Curve

        figure = new_figure(drawing.width / 72, drawing.height / 72)
        axis = figure.add_axes((0, 0, 1, 1))
        axis.set_xlim(0, drawing.width)
        axis.set_ylim(drawing.height, 0)
        axis.set_axis_off()
        halo: dict[str, Any] = {
            "parse_math": False,
            "ha": "center",
            "va": "center",
            "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.6},
        }
        for arrow in drawing.arrows:
            curve = Curve([arrow.begin, arrow.bend, arrow.end], [Curve.MOVETO, Curve.CURVE3, Curve.CURVE3])
            axis.add_patch(PathPatch(curve, facecolor="none", edgecolor="0.27", linewidth=1.0))
            axis.add_patch(Polygon(graph.arrow_head(arrow), facecolor="0.27", edgecolor="none"))
        for node in drawing.nodes:
            x, y = node.place
            if node.start:
                tip = x - graph.RADIUS
                axis.annotate("", (tip, y), (tip - 18, y), arrowprops={"arrowstyle": "-|>", "color": "0.27"})
            for radius in (graph.RADIUS, *((graph.RADIUS - 4,) if node.role != "state" else ())):
                axis.add_patch(Circle((x, y), radius, facecolor=graph.COLOURS[node.role], edgecolor="0.13"))
            size = 9 if len(node.name) <= 6 else 6.5
            axis.text(x, y, node.name, parse_math=False, fontsize=size, ha="center", va="center")
            for k, line in enumerate(node.below):
                axis.text(x, y + graph.RADIUS + graph.LINE * (k + 0.8), line, fontsize=7.5, color="0.33", **halo)
        for arrow in drawing.arrows:
            text = "\n".join(arrow.text)
            axis.text(*arrow.text_at, text, fontsize=7.5, color="#004a75", linespacing=1.0, **halo)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format of the path's suffix; the same figure gives the same bytes."""
    form = path.suffix.removeprefix(".")
    with style():
        try:
            figure.savefig(path, format=form, metadata=_TIMELESS[form])
        except OSError as problem:
            raise ConfigError(f"{path}: cannot be written: {problem.strerror or problem}") from None


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


def style() -> Any:
    """Return a context in which matplotlib draws in our style.

    Raises
    ------
    ConfigError
        When matplotlib is missing.
    """
    try:
        import matplotlib
    except ImportError:
        raise ConfigError("pictures need matplotlib; install it with: pip install 'fastrm[plot]'") from None
    return matplotlib.rc_context(STYLE)


def new_figure(width: float, height: float) -> Figure:
    """Make an empty figure of a size in inches."""
    from matplotlib.figure import Figure  # not pyplot: nobody's backend is changed and nothing has to be closed

    return Figure(figsize=(width, height))


def line(**look: Any) -> Any:
    """Return a line for a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **look)
