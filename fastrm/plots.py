"""Pictures of results: learning curves in the paper's form, and the maps they were learned on. Needs matplotlib.

One colour per kind of machine and one line style per learner, everywhere. The colours are those of Okabe and Ito,
chosen so that they also differ in lightness: a print in grey keeps the kinds apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastrm.errors import ConfigError
from fastrm.experiment import Method
from fastrm.maps import GridMap
from fastrm.results import Results
from fastrm.stats import band

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = npt.NDArray[Any]

COLOURS = {"boolean": "#000000", "numeric-boolean": "#0072B2", "numeric": "#E69F00", "file": "#009E73"}
LINES: dict[str, Any] = {"qrm": (0, (1, 1)), "crm": "-", "hrm": (0, (5, 1.5))}
OBJECT_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
STYLE = {
    "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "legend.fontsize": 7.5, "xtick.labelsize": 7,
    "ytick.labelsize": 7, "axes.linewidth": 0.6, "lines.linewidth": 1.2, "savefig.dpi": 200, "svg.hashsalt": "fastrm",
    "axes.spines.top": False, "axes.spines.right": False, "pdf.fonttype": 42,
}  # fmt: skip
FORMATS = ("png", "pdf", "svg")
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
    pyplot = _pyplot()
    if not results.runs or not len(results["step"]):
        raise ConfigError(f"{results.path or 'these results'}: no curves to draw (no runs, or no ticks)")
    groups = dict(results.groups("setup", "task", "label"))
    setups, tasks, labels = (list(dict.fromkeys(key[k] for key in groups)) for k in range(3))
    steps, score = results["step"], results["score"]
    columns = min(2 * len(setups), 4)
    with pyplot.rc_context(STYLE):
        figure, axes = _panels(
            len(tasks), len(setups), (2.9, 1.55), bottom=0.5 + 0.17 * math.ceil(len(labels) / columns)
        )
        for (setup, task, label), mine in groups.items():
            if len(mine):
                draw_band(axes[tasks.index(task)][setups.index(setup)], steps, score[mine], Method.parse(label))
        for row, task in enumerate(tasks):
            axes[row][0].set_ylabel("score (1 = optimum)")
            for column, setup in enumerate(setups):
                _finish_panel(axes[row][column], steps, f"{setup}, task {task}", row == len(tasks) - 1, column == 0)
        for axis in axes[-1]:
            axis.set_xlabel("training steps (logarithmic)")
        handles = [pyplot.Line2D([], [], **_look(Method.parse(label)), label=_name(label)) for label in labels]
        figure.legend(handles=handles, loc="lower center", ncols=columns, frameon=False, handlelength=3.0,
                      columnspacing=1.2)  # fmt: skip
        if title:
            figure.suptitle(title, fontsize=9, y=1 - 0.12 / figure.get_figheight(), va="center")
    drawn: Figure = figure
    return drawn


def _panels(rows: int, columns: int, size: tuple[float, float], bottom: float) -> tuple[Figure, Any]:
    """Lay out panels of a size, in inches, with room for titles and labels."""
    left, right, top, across, down = 0.5, 0.12, 0.45, 0.2, 0.3
    width = left + right + columns * size[0] + (columns - 1) * across
    height = top + bottom + rows * size[1] + (rows - 1) * down
    figure, axes = _pyplot().subplots(rows, columns, squeeze=False, figsize=(width, height))
    figure.subplots_adjust(
        left=left / width, right=1 - right / width, top=1 - top / height, bottom=bottom / height,
        wspace=across / size[0], hspace=down / size[1],
    )  # fmt: skip
    return figure, axes


def draw_band(axis: Axes, steps: Array, curves: Array, method: Method) -> None:
    """Draw the median of some runs and their 25-75 % band."""
    low, middle, high = band(curves)
    look = _look(method)
    axis.fill_between(steps, low, high, color=look["color"], alpha=0.12, linewidth=0)
    axis.plot(steps, middle, **look)


def _look(method: Method) -> dict[str, Any]:
    return {"color": COLOURS[method.kind or "file"], "linestyle": LINES[method.algo]}


def _name(label: str) -> str:
    method = Method.parse(label)
    return f"{method.algo.upper()}{' + shaping' if method.shaping else ''}{f', {method.kind}' if method.kind else ''}"


def _finish_panel(axis: Axes, steps: Array, title: str, last_row: bool, first_column: bool) -> None:
    axis.set_title(title, pad=3)
    axis.axhline(1.0, color="0.6", linewidth=0.6, zorder=0)
    axis.set_xscale("log")
    axis.set_xlim(steps[0], steps[-1] * (1.02 if len(steps) > 1 else 10))
    axis.set_ylim(0, 1.1)
    axis.set_yticks(np.arange(0, 1.01, 0.25))
    axis.tick_params(labelbottom=last_row, labelleft=first_column)


def draw_maps(grids: Sequence[tuple[str, GridMap]]) -> Figure:
    """Draw maps side by side, five in a row: walls grey, the start a cross, objects as coloured letters."""
    pyplot = _pyplot()
    if not grids:
        raise ConfigError("no maps to draw")
    columns = min(5, len(grids))
    rows = math.ceil(len(grids) / columns)
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(rows, columns, squeeze=False, figsize=(1.5 * columns, 1.65 * rows))
        figure.subplots_adjust(
            left=0.01, right=0.99, bottom=0.01, top=1 - 0.18 / (1.65 * rows), wspace=0.05, hspace=0.12
        )
        for axis in axes.flat:
            axis.set_axis_off()
        for axis, (name, grid) in zip(axes.flat, grids, strict=False):
            draw_map(axis, grid)
            axis.set_title(name, pad=2)
    drawn: Figure = figure
    return drawn


def draw_map(axis: Axes, grid: GridMap) -> None:
    """Draw one map."""
    tiles = np.array([list(row) for row in grid.rows])
    axis.imshow(tiles == "X", cmap="Greys", vmin=0, vmax=2.0, interpolation="nearest")
    kinds = sorted({tile for tile in tiles.flat if tile not in "XA ."})
    size = float(np.clip(250 / max(tiles.shape), 3, 14))
    for row, column in np.argwhere((tiles != "X") & (tiles != " ") & (tiles != ".")).tolist():
        tile = tiles[row, column]
        if tile == "A":
            axis.plot(column, row, marker="x", color="0.25", markersize=size * 0.6, markeredgewidth=1.0)
        else:
            colour = OBJECT_COLOURS[kinds.index(tile) % len(OBJECT_COLOURS)]
            axis.text(
                column, row, tile, color=colour, fontsize=size, fontweight="bold", ha="center", va="center_baseline"
            )
    axis.set_axis_off()


def figures_of(results: Results) -> dict[str, Figure]:
    """Draw everything a result file has, by name: all maps together, one map, further maps, the maps themselves."""
    plan = results.plan
    by_setup: dict[str, list[str]] = {}
    for setup, name, _ in plan.grids:
        by_setup.setdefault(setup, []).append(name)
    generated = [setup for setup, names in by_setup.items() if names != [setup]]
    seeds = f"{plan.seeds} run{'s' if plan.seeds > 1 else ''}"
    figures = {}
    if generated:
        many = len(by_setup[generated[0]])
        drawn = results.select(setup=generated)
        if many > 1:
            figures["all-maps"] = learning_curves(drawn, f"{many} maps per setup, {seeds} each: median and 25-75 %")
        figures["one-map"] = learning_curves(drawn.select(grid="0"), f"one map per setup, {seeds}: median and 25-75 %")
    for setup in by_setup:
        if setup not in generated:
            title = f"map {setup}, {seeds}: median and 25-75 %"
            figures[f"map-{setup}"] = learning_curves(results.select(setup=setup), title)
    named = [(setup if setup == name else f"{setup} {name}", GridMap.parse(text)) for setup, name, text in plan.grids]
    figures["maps"] = draw_maps(named[:50])
    return figures


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format of the path's suffix; the same figure gives the same bytes."""
    form = path.suffix.removeprefix(".")
    with _pyplot().rc_context(STYLE):
        try:
            figure.savefig(path, format=form, metadata=_TIMELESS[form])
        except OSError as problem:
            raise ConfigError(f"{path}: cannot be written: {problem.strerror or problem}") from None


def close(figure: Figure) -> None:
    """Forget a figure."""
    _pyplot().close(figure)


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise ConfigError("pictures need matplotlib; install it with: pip install 'fastrm[plot]'") from None
    matplotlib.use("Agg", force=False)
    from matplotlib import pyplot

    return pyplot
