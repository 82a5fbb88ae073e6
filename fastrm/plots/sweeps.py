"""Figures of swept settings: what a run settles at, and how fast it learns, over the values of one setting.

A panel shows the runs of one setup and task, and one value of every other swept setting. A point is the median over
runs, with a 95 % interval over maps (over seeds, where there is one map). Runs that never reach 90 % count as later
than all others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_choice, check_number
from fastrm.errors import ConfigError, printable
from fastrm.experiments import method_of
from fastrm.plots.curves import name_of, value_text, with_settings
from fastrm.plots.palette import RULE
from fastrm.plots.style import (
    LEFT,
    RIGHT,
    finish_figure,
    legend_columns,
    line,
    looks_of,
    panels,
    style,
    text_width,
    wrapped,
)
from fastrm.results import Results, interval_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DECADE = 10.0
"""Values that span more than this factor get a logarithmic axis."""
TICK_SIZE, SLANT = 6.5, 35
"""Points of type of the values below a panel, and degrees by which texts among them are turned."""

Ends = tuple[float, float, float]
"""Low end, median and high end."""


class SweepPoint(NamedTuple):
    """The runs of one method with one value of a setting."""

    setup: str
    task: str
    """With the values of other swept settings."""
    label: str
    value: float | str
    settled: Ends
    steps: Ends
    """To 90 %; infinite where too few runs get there."""
    over: str
    """What the intervals are over."""


def sweep_points(results: Results, setting: str) -> Iterator[SweepPoint]:
    """Yield a point per setup, task, other swept settings, method and value of a setting.

    Raises
    ------
    ConfigError
        When the setting is not swept, or there is no tick.
    """
    check_choice("setting", setting, results.swept or ["(nothing is swept)"])
    if not len(results["step"]):
        raise ConfigError(f"{results.path or 'these results'}: no scores to draw (runs are shorter than a tick)")
    others = [name for name in results.swept if name != setting]
    settled, steps = results.per_run_values("settled"), np.nan_to_num(results["steps_to_90"], nan=np.inf)
    maps = np.char.add(np.char.add(results["setup"], "/"), results["grid"])
    for (setup, task, *values, label, value), rows in results.groups("setup", "task", *others, "label", setting):
        if len(rows):
            ends, over = _ends(settled[rows], maps[rows])
            yield SweepPoint(
                setup=setup,
                task=with_settings(task, dict(zip(others, values, strict=True))),
                label=label,
                value=value,
                settled=ends,
                steps=_ends(steps[rows], maps[rows])[0],
                over=over,
            )


def _ends(values: Array, maps: Array) -> tuple[Ends, str]:
    """Return the median of runs with its interval; infinite values are later than all others."""
    finite = values[np.isfinite(values)]
    never = 2.0 * float(np.abs(finite).max(initial=1.0)) + 1.0  # percentiles cannot be taken between infinities
    known = np.where(np.isfinite(values), values, never)

    def middle(drawn: Array) -> Any:
        ordered, count = np.sort(drawn, axis=-1), drawn.shape[-1]
        low, high = ordered[..., (count - 1) // 2], ordered[..., count // 2]
        return np.where(high == never, never, 0.5 * (low + high))

    interval = interval_of(middle, known, maps)
    most = float(finite.max(initial=-math.inf))
    low, centre, high = (math.inf if end > most else float(end) for end in (interval.low, middle(known), interval.high))
    return (low, centre, high), interval.over


def sweep_figure(points: Sequence[SweepPoint], setting: str, title: str = "", *, width: float | None = None) -> Figure:
    """Draw settled score and steps to 90 % over a setting: a column per setup and task, a line per method.

    Numbers stand on an axis of numbers, logarithmic where they span more than a decade; texts, such as schedules, stand
    side by side. The width is in inches, by default as the panels need it.
    """
    if width is not None:
        check_number("width", width, 2, 40)
    if not points:
        raise ConfigError(f"no runs with several values of {setting} to draw")
    places = list(dict.fromkeys((point.setup, point.task) for point in points))
    labels = list(dict.fromkeys(point.label for point in points))
    values = sorted(dict.fromkeys(point.value for point in points), key=_numbers_first)
    is_text = isinstance(values[0], str)
    finite = [step for point in points for step in point.steps if math.isfinite(step)] or [1e4]
    never = 3 * max(finite)
    with style():
        looks, left, across = looks_of([method_of(label) for label in labels]), LEFT + 0.1, 0.25
        each = max(2.2 if len(places) > 1 else 3.2, 0.45 * len(values) if is_text else 0.0)
        total = width or left + RIGHT + len(places) * (each + across) - across
        columns = legend_columns([name_of(label) for label in labels], total)
        size = max(0.5, (total - left - RIGHT + across) / len(places) - across), 1.6
        room = 0.75 * max(text_width(value_text(v), TICK_SIZE) for v in values) if is_text else 0.0
        figure, axes = panels(
            2, len(places), size, left=left, across=across, top=0.45 + 0.14 * (len(wrapped(title, total)) - 1),
            bottom=0.55 + room + 0.17 * math.ceil(len(labels) / columns),
        )  # fmt: skip
        for (column, place), label in itertools.product(enumerate(places), labels):
            mine = [point for point in points if (point.setup, point.task, point.label) == (*place, label)]
            mine.sort(key=lambda point: values.index(point.value))
            beside = 0.1 * (labels.index(label) - 0.5 * (len(labels) - 1))
            x = [values.index(point.value) + beside if is_text else float(point.value) for point in mine]
            for axis, name, top in zip(axes[:, column], ("settled", "steps"), (math.inf, never), strict=True):
                ends = np.minimum(np.array([getattr(point, name) for point in mine]).reshape(-1, 3).T, top)
                _draw_line(axis, x, ends, {**looks[label], "markevery": None}, joined=not is_text)
        top = max(1.1, *(1.05 * end for point in points for end in point.settled if math.isfinite(end)))
        for column, (setup, task) in enumerate(places):
            above, below = axes[:, column]
            _finish_titles(above, f"{setup}, task {task}", size[0] + 0.8 * across)
            above.set_ylim(min(0.0, *(p.settled[1] for p in points)) - 0.03 * top, top)
            above.axhline(1.0, **RULE)
            below.set_yscale("log")
            below.set_ylim(min(finite) / 1.5, 2.2 * never)
            below.axhline(never, **RULE)
            for axis in (above, below):
                _scale(axis, values, size[0])
            below.set_xlabel(printable(setting))
            above.tick_params(labelbottom=False, labelleft=column == 0)
            below.tick_params(labelleft=column == 0, which="both")
        axes[0][0].set_ylabel("settled score")
        axes[1][0].set_ylabel("steps to 90 %")
        axes[1][0].annotate(
            "never", (1, never), xycoords=("axes fraction", "data"), xytext=(0, 2), textcoords="offset points",
            ha="right", fontsize=TICK_SIZE, color="0.4",
        )  # fmt: skip
        plain = {"linestyle": "none"} if is_text else {}
        handles = [line(label=name_of(label), **looks[label] | plain) for label in labels]
        finish_figure(figure, handles, columns, title)
    return figure


def _draw_line(axis: Axes, x: Sequence[float], ends: Array, look: dict[str, Any], *, joined: bool) -> None:
    """Draw the points of a method with their intervals: as a line with a band, or side by side with bars."""
    low, middle, high = ends
    if joined:
        axis.fill_between(x, low, high, color=look["color"], alpha=0.12, linewidth=0)
    else:
        axis.vlines(x, low, high, color=look["color"], linewidth=0.9)
    axis.plot(x, middle, **(look if joined else {**look, "linestyle": "none"}))


def _finish_titles(axis: Axes, title: str, width: float) -> None:
    title = printable(title)
    axis.set_title(title, pad=3, parse_math=False, fontsize=min(8.0, 8.0 * width / text_width(title, 8)))


def _scale(axis: Axes, values: Sequence[float | str], width: float) -> None:
    """Give an axis the values of a setting: texts side by side, numbers where they belong."""
    if isinstance(values[0], str):
        axis.set_xlim(-0.5, len(values) - 0.5)
        names = [printable(value_text(value)) for value in values]
        axis.set_xticks(range(len(values)), names, rotation=SLANT, ha="right", fontsize=TICK_SIZE, parse_math=False)
        return
    numbers = [float(value) for value in values]
    place = (lambda number: number) if not is_wide(numbers) else math.log
    if is_wide(numbers):
        axis.set_xscale("log")
    names = [value_text(number) for number in numbers]
    reach = place(numbers[-1]) - place(numbers[0])
    gaps = [width * (place(b) - place(a)) / reach for a, b in itertools.pairwise(numbers)] if reach else [width]
    if min(gaps, default=width) > 0.06 + max(text_width(name, TICK_SIZE) for name in names):
        axis.set_xticks(numbers, names, fontsize=TICK_SIZE)
        axis.set_xticks([], minor=True)


def is_wide(numbers: Sequence[float]) -> bool:
    """Say whether numbers span more than a decade, so that only a logarithmic axis shows all of them.

    >>> is_wide([0.01, 0.5]), is_wide([0.1, 0.5]), is_wide([0.0, 1.0])
    (True, False, False)
    """
    return min(numbers) > 0 and max(numbers) / min(numbers) > DECADE


def _numbers_first(value: float | str) -> tuple[bool, float]:
    """Return what to sort values by: numbers by size, texts as they come."""
    return isinstance(value, str), 0.0 if isinstance(value, str) else value
