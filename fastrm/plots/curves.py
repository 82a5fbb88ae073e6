"""Learning curves: as figures in the paper's form, ours beside the published ones, and as bars of text.

A panel shows runs that differ in their method, map and seed only: setups, tasks and values of swept settings have
panels of their own, so that no curve mixes runs of several settings. The look of a method says what it is: see
`looks_of`. Names are at the ends of the curves where there is room for them, else in a legend.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np

from fastrm.arrays import Array
from fastrm.config import FigureConfig
from fastrm.errors import ConfigError, printable, shown
from fastrm.experiments import method_of
from fastrm.plots.palette import CEILING, PARITY_COLOURS, PUBLISHED_LOOKS, RULE
from fastrm.plots.style import (
    LEFT,
    RIGHT,
    finish_figure,
    legend_columns,
    line,
    looks_of,
    panels,
    set_panel_title,
    style,
    text_width,
    wrapped,
)
from fastrm.results import Results, band

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Group = tuple[str, str, str]
"""Setup, task with the values of swept settings, and label."""


def groups_of(results: Results, *, empty: bool = False) -> dict[Group, Array]:
    """Return the rows of every setup, task, swept setting and method; `empty` keeps those whose runs all failed."""
    found = {}
    for (setup, task, *values, label), rows in results.groups("setup", "task", *results.swept, "method"):
        if len(rows) or empty:
            found[setup, with_settings(task, dict(zip(results.swept, values, strict=True))), label] = rows
    return found


def ceilings_of(results: Results, groups: Mapping[tuple[Any, ...], Array]) -> dict[tuple[str, str], float]:
    """Return the ceiling of every panel that has one in the unit of the score, the median over its runs."""
    level, found = results["ceiling"] / results["optimal_arps"], {}
    for panel in dict.fromkeys(key[:2] for key in groups):
        rows = np.concatenate([rows for key, rows in groups.items() if key[:2] == panel])
        known = level[rows][np.isfinite(level[rows])]
        if len(known):
            found[panel] = float(np.median(known))
    return found


def with_settings(task: str, settings: Mapping[str, Any]) -> str:
    """Name a task together with the values of settings.

    >>> with_settings("a-b", {"alpha": 0.5, "epsilon": "linear(1, 0.1, 5000)"})
    'a-b, alpha 0.5, epsilon linear(1, 0.1, 5000)'
    """
    return ", ".join([task, *(f"{name} {value_text(value)}" for name, value in settings.items())])


def value_text(value: float | str) -> str:
    """Format a value of a setting.

    >>> value_text(1.0), value_text("linear(1, 0.1, 5000)")
    ('1', 'linear(1, 0.1, 5000)')
    """
    return value if isinstance(value, str) else f"{value:.12g}"


MOST_BANDS = 3
"""Methods in a panel; the bands of more hide each other."""
COLUMN_WIDTHS = {1: 3.5, 2: 7.2}
"""Inches of one column and of two on a printed page."""
ACROSS, HEIGHT, NARROWEST, NARROWEST_LABELLED = 0.26, 1.55, 1.15, 1.9
"""Inches between panels, of their height, and of the least width without and with names beside them."""
LABEL_SIZE, LABEL_GAP = 7.0, 0.125
"""Points of names at the ends of curves, and inches from one to the next."""
LEADER, SAMPLE = 0.14, 0.26
"""Inches from the end of a curve to the sample of its line, and of that sample."""
BARS, ASCII_BARS, WIDTH = " ▁▂▃▄▅▆▇█", " .:-=+*%#", 60
"""Heights of a curve as text, the same without Unicode, and letters of a curve."""


def learning_curves(
    results: Results,
    title: str | None = None,
    *,
    ax: Axes | None = None,
    methods: Sequence[str] | None = None,
    names: Mapping[str, str] | None = None,
    colours: Mapping[str, Any] | None = None,
    value: Literal["score", "greedy"] | None = None,
    xscale: Literal["log", "linear"] | None = None,
    xlabel: str | None = None,
    ylabel: str | None = None,
    legend: bool | None = None,
    bands: bool | None = None,
    width: float | None = None,
) -> Figure:
    """Draw the median of the score: a row per task and swept setting, a column per setup, a line per method.

    A dashed line shows the ceiling, the median over the runs of a panel, where the file has it. Steps begin where some
    run has finished an episode. Lines have the names of methods as labels, for ``ax.get_legend_handles_labels()``.
    What is not given here is as the table ``[figure]`` of the experiment says, if it has one.

    Parameters
    ----------
    results : Results
        Runs of an experiment.
    title : str, optional
        Written above the panels.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into, for runs of one setup, task and value of every swept setting. They keep their size and style,
        and names are left to ``ax.legend()``, or to `legend`.
    methods : list of str, optional
        Methods to draw, in this order. By default all, in the order of the experiment.
    names : dict, optional
        What methods are called, by method.
    colours : dict, optional
        Colours of methods, by method: any that matplotlib knows.
    value : {"score", "greedy"}, optional
        What curves show, by default the score. ``greedy`` is the length of a shortest path divided by that of the
        greedy policy, 0 where it does not finish; for runs with ``greedy_ticks``.
    xscale : {"log", "linear"}, optional
        Axis of steps. A linear one ends, row by row, soon after the last median has settled. By default log.
    xlabel, ylabel : str, optional
        Texts of the axes. A linear axis with a text of yours has numbers such as ``20k``, else it is in thousands.
    legend : bool, optional
        Whether names are in a legend, in the order of `methods`, and not at the ends of curves where they fit there.
    bands : bool, optional
        Whether to shade the 25-75 % of the runs; by default where a panel has at most three methods.
    width : float, optional
        Inches of a new figure; where setups do not fit beside each other they go on below. By default as wide as its
        panels need.

    Returns
    -------
    Figure
        A new figure, or the one that `ax` is in.

    Raises
    ------
    ConfigError
        When matplotlib is missing, a method or a setting is unknown, or there is nothing to draw.
    """
    look = look_of(
        results, title=title, methods=methods, names=names, colours=colours, value=value, xscale=xscale,
        xlabel=xlabel, ylabel=ylabel, legend=legend, bands=bands, width=width,
    )  # fmt: skip
    results = select_methods(results, look)
    if not has_curves(results):
        raise ConfigError(f"{results.path or 'these results'}: no curves to draw (no runs, or all failed)")
    groups = groups_of(results)
    setups, tasks, found = (list(dict.fromkeys(key[k] for key in groups)) for k in range(3))
    labels, steps, score, shaded = (
        in_order(found, look),
        results["step"],
        _heights(results, look),
        shows_bands(results, look),
    )
    if ax is not None:
        _check_axes(ax, results, len(setups) * len(tasks))
    with style() if ax is None else nullcontext():
        looks, ceilings = looks_of([method_of(label) for label in labels], look.colours), ceilings_of(results, groups)
        ceilings = {} if look.value == "greedy" else ceilings
        called = {label: name_of(label, look) for label in labels} | ({"": "ceiling"} if ceilings else {})
        top = max(1.1, *(1.03 * ceiling for ceiling in ceilings.values()), 0.0)
        if ax is None:
            layout = Layout.of(len(setups), list(called.values()), look)
            figure, axes = layout.panels(len(tasks), len(setups), look)
        else:
            figure, axes = cast("Figure", ax.figure), [[ax]]
            layout = Layout(1, ax.bbox.width / figure.dpi, 0.0, 1, 0)
            layout.name_axes(ax, look)
        begin = int(steps[np.isfinite(score[np.concatenate(list(groups.values()))]).any(axis=0).argmax()])
        bands_of = {key: band(score[rows]) for key, rows in groups.items()}
        for row, task in enumerate(tasks):
            medians = [middle for key, (_, middle, _) in bands_of.items() if key[1] == task]
            seen = steps[: _settled_ticks(medians)] if look.xscale == "linear" else steps[steps >= begin]
            for column, setup in enumerate(setups):
                axis = axes[row][column]
                ends = {}
                for label in (label for label in labels if (setup, task, label) in groups):
                    low, middle, high = bands_of[setup, task, label]
                    if shaded:
                        axis.fill_between(steps, low, high, color=looks[label]["color"], alpha=0.14, linewidth=0)
                    axis.plot(steps, middle, label=called[label], **looks[label])
                    ends[label] = (round(float(middle[-1]), 2), float(middle.mean()))
                if (setup, task) in ceilings:
                    axis.axhline(ceilings[setup, task], **CEILING)
                    ends[""] = (ceilings[setup, task], 0.0)
                about = f"{setup}, task {task}" if ax is None or look.title is None else look.title
                _finish_panel(axis, seen, top, about, layout.panel, look)
                if layout.room:
                    heights = {label: end[0] for label, end in sorted(ends.items(), key=lambda item: item[1])}
                    _name_ends(figure, axis, heights, called, {**looks, "": CEILING})
        handles = [line(label=name, **looks.get(label, CEILING)) for label, name in called.items()]
        if ax is None:
            finish_figure(figure, [] if layout.room else handles, layout.legend_columns, look.title or "")
        elif look.legend:
            ax.legend(handles=handles)
    return figure


def _heights(results: Results, look: FigureConfig) -> Array:
    """Return what curves show, [run, tick]."""
    if look.value != "greedy":
        return results["score"]
    directness: Array = np.nan_to_num(results["shortest"][:, None] / results["greedy_curve"])
    return directness


def look_of(results: Results, **given: Any) -> FigureConfig:
    """Return how to draw curves: as given, where that is not None, else as the experiment says.

    Keys of the experiment that are not known here, such as those of a later version, are left out.
    """
    stored, known = results.plan.experiment.get("figure"), FigureConfig.__dataclass_fields__
    table = {key: value for key, value in stored.items() if key in known} if isinstance(stored, dict) else {}
    given = {key: value for key, value in given.items() if value is not None}
    return FigureConfig.read(table | given, results.plan.values("label"))


def select_methods(results: Results, look: FigureConfig) -> Results:
    """Return the runs of the methods that a figure shows; those without runs are passed over."""
    present = results["method"].tolist()
    return results.select(method=in_order(present, look) or look.methods) if look.methods else results


def in_order(labels: Sequence[str], look: FigureConfig) -> list[str]:
    """Return labels in the order of a figure, without those that it leaves out."""
    return [label for label in look.methods or labels if label in labels]


def _check_axes(ax: object, results: Results, panels: int) -> None:
    """Raise ConfigError unless these are axes of matplotlib, and for more than one panel."""
    if not hasattr(ax, "get_legend_handles_labels"):
        raise ConfigError(f"ax={shown(ax)}: must be axes of matplotlib, such as those of plt.subplots()")
    if panels > 1:
        several = {name: np.unique(results[name]).tolist() for name in ("setup", "task", *results.swept)}
        one = ", ".join(f"{name}={shown(values[0])}" for name, values in several.items() if len(values) > 1)
        raise ConfigError(f"ax: takes one panel, and these runs make {panels}; draw one, as of results.select({one})")


def shows_bands(results: Results, look: FigureConfig) -> bool:
    """Return whether curves get bands: as asked for, else where no panel has many methods."""
    if look.bands is not None:
        return look.bands
    return max(Counter(key[:2] for key in groups_of(results)).values(), default=0) <= MOST_BANDS


def has_curves(results: Results) -> bool:
    """Return whether there is a run that did not fail."""
    return bool((results["error"] == "").any())


def _settled_ticks(medians: Iterable[Array]) -> int:
    """Return a quarter more ticks than it takes every curve to come within 0.05 of its last score, and stay there."""
    is_away = np.any([np.abs(median - median[-1]) > 0.05 for median in medians], axis=0)
    return math.ceil(1.25 * (2 + int(np.flatnonzero(is_away).max(initial=0))))


def name_of(label: str, look: FigureConfig | None = None) -> str:
    """Return a method's name in words, or what a figure calls it."""
    if look is not None and label in look.names:
        return printable(look.names[label])
    method = method_of(label)
    kind = {"boolean": "Boolean", "numeric-boolean": "numeric-Boolean"}.get(method.kind or "", method.kind)
    start = "" if method.optimism is None else f" @{method.optimism:g}"
    algo = printable(method.algo.upper())
    return f"{algo}{' + shaping' if method.shaping else ''}{f', {kind}' if kind else ''}{start}"


class Layout(NamedTuple):
    """How the panels of a figure share its width; lengths in inches."""

    columns: int
    """Panels beside each other."""
    panel: float
    """Width of a panel."""
    room: float
    """For names at the ends of curves, 0 for a legend below."""
    legend_columns: int
    legend_rows: int

    @classmethod
    def of(cls, setups: int, names: Sequence[str], look: FigureConfig) -> Layout:
        """Find room for a column per setup, or for as many as fit, and for names where they fit."""
        natural, width = 4.2 if setups == 1 else 2.9, look.width
        total = width or LEFT + RIGHT + setups * natural + (setups - 1) * ACROSS
        inner = total - LEFT - RIGHT + ACROSS
        columns = max(1, min(setups, int(inner / (NARROWEST + ACROSS))))
        room = LEADER + SAMPLE + 0.1 + max(text_width(name, LABEL_SIZE) for name in names)
        widest = inner if width else max(inner, COLUMN_WIDTHS[2] - LEFT - RIGHT + ACROSS)
        labelled = widest / columns - ACROSS - room
        if labelled >= NARROWEST_LABELLED and len(names) * LABEL_GAP <= HEIGHT and not look.legend:
            return cls(columns, labelled if width else min(natural, labelled), room, 1, 0)
        beside = legend_columns(names, total)
        return cls(columns, inner / columns - ACROSS, 0.0, beside, math.ceil(len(names) / beside))

    def panels(self, tasks: int, setups: int, look: FigureConfig) -> tuple[Figure, list[list[Axes]]]:
        """Make a figure; return it and the panel of every task and setup. Setups that do not fit go on below."""
        lines = math.ceil(setups / self.columns)
        width = LEFT + RIGHT + self.columns * (self.panel + self.room + ACROSS) - ACROSS
        figure, grid = panels(
            tasks * lines, self.columns, (self.panel, HEIGHT), bottom=0.5 + 0.17 * self.legend_rows,
            down=0.44 if look.xscale == "linear" else 0.3, across=ACROSS + self.room, right=RIGHT + self.room,
            top=0.45 + 0.14 * (len(wrapped(look.title or "", width)) - 1),
        )  # fmt: skip
        found = [[grid[t * lines + s // self.columns][s % self.columns] for s in range(setups)] for t in range(tasks)]
        used = {axis for row in found for axis in row}
        for row, column in np.ndindex(grid.shape):
            axis, below = grid[row][column], grid[row + 1 :, column]
            is_last = not any(other in used for other in below)
            axis.tick_params(labelbottom=is_last or look.xscale == "linear", labelleft=column == 0)
            self.name_axes(axis, look, is_last, column == 0)
            if axis not in used:
                axis.remove()
        return figure, found

    def name_axes(self, axis: Axes, look: FigureConfig, is_last: bool = True, is_first: bool = True) -> None:
        """Write what the axes of a panel are, steps below the last of a column and scores beside the first of a row."""
        unit = "thousands" if look.xscale == "linear" else "logarithmic" if self.panel > 1.7 else ""
        steps = f"training steps{f' ({unit})' * bool(unit)}" if look.xlabel is None else printable(look.xlabel)
        usual = "shortest / greedy path" if look.value == "greedy" else "score (1 = unit)"
        score = usual if look.ylabel is None else printable(look.ylabel)
        axis.set_xlabel(steps if is_last else "", parse_math=False)
        axis.set_ylabel(score if is_first else "", parse_math=False)


def _finish_panel(axis: Axes, steps: Array, top: float, title: str, width: float, look: FigureConfig) -> None:
    """Set scales and title of a panel that shows these steps; a title that is too long gets smaller type."""
    set_panel_title(axis, title, width + 0.8 * ACROSS)
    axis.axhline(1.0, **RULE)
    axis.set_xscale(look.xscale or "log")
    first, last = int(steps[0]), int(steps[-1]) * (1.02 if len(steps) > 1 else 10)
    axis.set_xlim(0 if look.xscale == "linear" else first, last)
    if look.xscale == "linear":
        unit = "k" if look.xlabel is not None else ""
        axis.xaxis.set_major_formatter(lambda step, _: f"{step / 1e3:g}{unit if step else ''}")
    elif last < 12 * first or math.floor(math.log10(last)) == math.ceil(math.log10(first)):
        # about a decade, in which powers of ten are too few and all digits too many
        marks = [digit * 10**power for power in range(17) for digit in (1, 2, 5)]
        seen = [mark for mark in marks if first <= mark <= last] or [first, int(steps[-1])]
        names = [f"{mark:,}".replace(",", " ") for mark in seen]
        axis.set_xticks(seen, thinned(names, [width * math.log(mark / first, last / first) for mark in seen]))
        axis.set_xticks([], minor=True)
    axis.set_ylim(0, top)
    axis.set_yticks(np.arange(0, 1.01, 0.25))


def thinned(names: Sequence[str], places: Sequence[float]) -> list[str]:
    """Return the numbers below ticks at places in inches, empty where one would run into the one before.

    >>> thinned(["100 000", "200 000", "500 000"], [0.0, 0.1, 1.0])
    ['100 000', '', '500 000']
    """
    from matplotlib import rcParams

    kept, taken = [], -math.inf
    for name, middle in zip(names, places, strict=True):
        half = text_width(name, rcParams["xtick.labelsize"]) / 2
        kept.append(name if middle - half > taken else "")
        taken = middle + half if kept[-1] else taken
    return kept


def _name_ends(
    figure: Figure, axis: Axes, ends: Mapping[str, float], names: Mapping[str, str], looks: Mapping[str, dict[str, Any]]
) -> None:
    """Write names at the ends of curves, each with a sample of its line, moved apart where they would overlap."""
    box, (width, height) = axis.get_position(), figure.get_size_inches()
    low, high = axis.get_ylim()
    wanted = [box.y0 + box.height * (np.clip(end, low, high) - low) / (high - low) for end in ends.values()]
    places = spread(wanted, LABEL_GAP / height, box.y0, box.y1)
    for label, end, place in zip(ends, wanted, places, strict=True):
        sample = box.x1 + LEADER / width
        leader = [box.x1 + 0.02 / width, sample - 0.02 / width]
        figure.add_artist(line(xy=(leader, [end, place]), color="0.75", linewidth=0.5))
        spots = [sample, sample + SAMPLE / width / 2, sample + SAMPLE / width]
        figure.add_artist(line(xy=(spots, [place] * 3), **{**looks[label], "markevery": [1]}))
        figure.text(
            spots[-1] + 0.05 / width, place, names[label], fontsize=LABEL_SIZE, va="center", parse_math=False
        )  # fmt: skip


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move rising places apart, with the least sum of squares, and into a range where they fit.

    >>> spread([0.0, 5.0, 5.0, 9.0], gap=2.0, low=0.0, high=10.0)
    [0.0, 4.0, 6.0, 9.0]
    """
    blocks: list[list[float]] = []  # places minus k gaps must not fall: neighbours that would are levelled
    for k, place in enumerate(wanted):
        blocks.append([float(place) - k * gap])
        while len(blocks) > 1 and np.mean(blocks[-2]) > np.mean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    level = [float(np.mean(block)) for block in blocks for _ in block]
    highest = max(high - (len(level) - 1) * gap, low)
    return [min(max(place, low), highest) + k * gap for k, place in enumerate(level)]


def parity_curves(curves: Sequence[Any]) -> Figure:
    """Draw our curves in colour and the published ones in black: a row per map, a column per learner.

    `curves` are those of `fastrm.bench.parity.load_curves`.
    """
    cells, algos = list(dict.fromkeys(one.cell for one in curves)), ("ql", "crm", "hrm")
    with style():
        figure, axes = panels(len(cells), len(algos), (1.85, 1.4), bottom=0.85, across=0.42, down=0.65)
        for one in curves:
            algo, _, shaped = one.algorithm.partition("-")
            axis, steps = axes[cells.index(one.cell)][algos.index(algo)], one.steps / 1e6
            colour, look = PARITY_COLOURS[bool(shaped)], PUBLISHED_LOOKS[bool(shaped)]
            low, middle, high = band(one.ours)
            axis.fill_between(steps, low, high, color=colour, alpha=0.25, linewidth=0)
            axis.plot(steps, middle, color=colour)
            low, middle, high = band(one.published)
            axis.plot(steps, middle, markevery=0.1, **look)
            some = slice(len(steps) // 20, None, max(1, len(steps) // 10))
            axis.vlines(steps[some], low[some], high[some], color="black", linewidth=0.6)
            axis.set_title(f"{one.cell.name}, {algo.upper()}", pad=3)
            axis.set_xlim(0, steps[-1])
            axis.set_xlabel("training steps (millions)")
        for axis in axes.flat:
            axis.set_ylim(bottom=0)
        for axis in axes[:, 0]:
            axis.set_ylabel("score (1 = unit)")
        looks: list[tuple[str, bool, dict[str, Any]]]
        looks = [("ours", shaped, {"color": colour}) for shaped, colour in PARITY_COLOURS.items()]
        looks += [("published", shaped, look) for shaped, look in PUBLISHED_LOOKS.items()]
        handles = [line(**look, label=whose + ", with shaping" * shaped) for whose, shaped, look in looks]
        finish_figure(figure, handles, 2, "median and 25-75 % of our runs and of the published ones")
    return figure


def sparkline(values: Array, width: int = WIDTH, top: float = 1.0, bars: str = BARS) -> str:
    """Return a curve as a line of bars; everything from `top` on has the highest.

    >>> sparkline(np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.1]), width=6)
    ' ▂▄▆██'
    """
    if not len(values):
        return ""
    parts = np.array_split(values, min(width, len(values)))
    levels = [round(float(np.clip(part.mean() / top, 0, 1)) * (len(bars) - 1)) for part in parts]
    return "".join(bars[level] for level in levels)


def curves_as_text(results: Results, bars: str = BARS, **options: Any) -> str:
    """Return the median score of every method as bars, a block per setup, task and swept setting.

    Of the options, which are those of `learning_curves`, `methods` and `names` make a difference.
    """
    if not results.runs:
        raise ConfigError(f"{results.path or 'these results'}: no curves to draw, as there are no runs")
    look = look_of(results, **options)
    results = select_methods(results, look)
    groups, when, lines = groups_of(results, empty=True), _when(results["step"]), list[str]()
    heights, what = _heights(results, look), "shortest / greedy path" if look.value == "greedy" else "score"
    full = "1" if look.value == "greedy" else "1, the unit"
    names = {label: printable(look.names.get(label, label)) for _, _, label in groups}
    room = max(map(len, names.values()), default=0)
    for panel, keys in itertools.groupby(groups, key=lambda key: key[:2]):
        lines.append(f"{printable(', task '.join(panel))}: median {what} {when}, full height = {full}")
        for label in in_order([key[2] for key in keys], look):
            bar = "all runs failed"
            if len(rows := groups[*panel, label]):
                middle = band(heights[rows], [50])[0]
                bar = f"|{sparkline(middle, bars=bars)}| {middle[-1]:.3f}"
            lines.append(f"  {names[label]:<{room}} {bar}")
    return "\n".join(lines)


def _when(steps: Array) -> str:
    """Describe the steps that bars show: parts of the run that are equally long, or single ticks.

    >>> _when(np.array([10_000, 20_000])), _when(np.array([1000, 2000, 5000])), _when(np.array([10, 20, 50, 100, 103]))
    ('over 20 000 steps', 'at 1 000, 2 000, 5 000 steps', 'at 10, 20, 50, ... 103 steps')
    """
    words = [f"{step:,}".replace(",", " ") for step in steps.tolist()]
    if len(np.unique(np.diff(steps, prepend=0))) == 1:
        return f"over {words[-1]} steps"
    return f"at {', '.join(words)} steps" if len(words) < 5 else f"at {', '.join(words[:3])}, ... {words[-1]} steps"
