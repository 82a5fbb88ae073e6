"""Learning curves in the paper's form, and ours beside the published ones. Needs matplotlib.

One colour per kind of machine and one line style per learner, everywhere; dots on the line mean reward shaping.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import ConfigError, printable
from fastrm.experiments import Method, method_of
from fastrm.pictures.style import PARITY_COLOURS, finish_figure, kind_colour, learner_line, line, panels, style
from fastrm.results import Results, band
from fastrm.studies import Curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CEILING: dict[str, Any] = {"color": "0.6", "linewidth": 0.6, "linestyle": (0, (4, 3)), "zorder": 0}
"""The line of what a settled score can reach."""


def learning_curves(results: Results, title: str = "") -> Figure:
    """Draw median and 25-75 % band of the score: a row per task, a column per setup, a line per method.

    A dashed line shows the ceiling, the median over the runs of a panel, where the file has it.

    Raises
    ------
    ConfigError
        When matplotlib is missing or there is nothing to draw.
    """
    if not has_curves(results):
        raise ConfigError(f"{results.path or 'these results'}: no curves to draw (no runs, all failed, or no ticks)")
    groups = {key: mine for key, mine in results.groups("setup", "task", "label") if len(mine)}
    setups, tasks, labels = (list(dict.fromkeys(key[k] for key in groups)) for k in range(3))
    steps, score = results["step"], results["score"]
    with style():
        columns = min(2 * len(setups), 4)
        ceilings = _ceilings(results, groups)
        top = max(1.1, *(1.03 * ceiling for ceiling in ceilings.values()), 0.0)
        legend = 0.17 * math.ceil((len(labels) + bool(ceilings)) / columns)
        size = 4.2 if len(setups) == 1 else 2.9
        figure, axes = panels(len(tasks), len(setups), (size, 1.55), bottom=0.5 + legend)
        for (setup, task, label), mine in groups.items():
            draw_band(axes[tasks.index(task)][setups.index(setup)], steps, score[mine], method_of(label))
        for row, task in enumerate(tasks):
            axes[row][0].set_ylabel("score (1 = unit)")
            for column, setup in enumerate(setups):
                _finish_panel(axes[row][column], steps, f"{setup}, task {task}", row == len(tasks) - 1, column == 0)
                axes[row][column].set_ylim(0, top)
                if (setup, task) in ceilings:
                    axes[row][column].axhline(ceilings[setup, task], **CEILING)
        for axis in axes[-1]:
            axis.set_xlabel("training steps (logarithmic)")
        handles = [line(label=name_of(label), **look_of(method_of(label))) for label in labels]
        handles += [line(label="ceiling", **CEILING)] * bool(ceilings)
        finish_figure(figure, handles, columns, title)
    return figure


def has_curves(results: Results) -> bool:
    """Say whether there is a run that did not fail, and a tick."""
    return bool(len(results["step"]) and (results["error"] == "").any())


def _ceilings(results: Results, groups: dict[tuple[Any, ...], Array]) -> dict[tuple[str, str], float]:
    """Return the ceiling of every panel that has one in the unit of the score, the median over its runs."""
    level, found = results["ceiling"] / results["optimal_arps"], {}
    for panel in dict.fromkeys(key[:2] for key in groups):
        mine = np.concatenate([rows for key, rows in groups.items() if key[:2] == panel])
        known = level[mine][np.isfinite(level[mine])]
        if len(known):
            found[panel] = float(np.median(known))
    return found


def draw_band(axis: Axes, steps: Array, curves: Array, method: Method) -> None:
    """Draw the median of some runs and their 25-75 % band."""
    low, middle, high = band(curves)
    look = look_of(method)
    axis.fill_between(steps, low, high, color=look["color"], alpha=0.12, linewidth=0)
    axis.plot(steps, middle, **look)


def look_of(method: Method) -> dict[str, Any]:
    """Return how the line of a method looks."""
    look = {"color": kind_colour(method.kind), "linestyle": learner_line(method.algo)}
    return look | ({"marker": "o", "markersize": 2.2, "markevery": 0.07} if method.shaping else {})


def name_of(label: str) -> str:
    """Return a method's name in words."""
    method = method_of(label)
    kind = {"boolean": "Boolean", "numeric-boolean": "numeric-Boolean"}.get(method.kind or "", method.kind)
    start = "" if method.optimism is None else f" @{method.optimism:g}"
    algo = printable(method.algo.upper())
    return f"{algo}{' + shaping' if method.shaping else ''}{f', {kind}' if kind else ''}{start}"


def _finish_panel(axis: Axes, steps: Array, title: str, last_row: bool, first_column: bool) -> None:
    axis.set_title(printable(title), pad=3, parse_math=False)
    axis.axhline(1.0, color="0.6", linewidth=0.6, zorder=0)
    axis.set_xscale("log")
    axis.set_xlim(steps[0], steps[-1] * (1.02 if len(steps) > 1 else 10))
    axis.set_yticks(np.arange(0, 1.01, 0.25))
    axis.tick_params(labelbottom=last_row, labelleft=first_column)


def parity_curves(curves: Sequence[Curves]) -> Figure:
    """Draw our curves in colour and the published ones in black: a row per map, a column per learner."""
    cells, algos = list(dict.fromkeys(one.cell for one in curves)), ("ql", "crm", "hrm")
    colours = PARITY_COLOURS
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
            row[0].set_ylabel("score (1 = unit)")
            for axis in row:
                axis.set_ylim(bottom=0)
        handles = [line(color=colour, label="ours" + ", with shaping" * shaped) for shaped, colour in colours.items()]
        handles += [
            line(**theirs, **look, label="published" + ", with shaping" * shaped) for shaped, look in looks.items()
        ]
        finish_figure(figure, handles, 2, "median and 25-75 % of our runs and of the published ones")
    return figure
