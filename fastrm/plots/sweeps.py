"""Outcomes over what an experiment varies: over the values of a swept setting, or over initial values.

Both figures have a column of two panels per place: a share or a settled score above, and the steps to 90 % below. A
panel over a setting shows the runs of one setup and task, and one value of every other swept setting; its points are
medians over runs, with a 95 % interval over maps (over seeds, where there is one map). A panel over initial values
shows all tasks of a setup. Runs that never reach 90 % count as later than all others.

More figures are of studies: differences of methods, speed and safety from several initial values, and what coupled
learning found about targets in any order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_choice
from fastrm.config import FigureConfig
from fastrm.errors import ConfigError, printable, shown
from fastrm.experiments import method_of
from fastrm.plots.curves import in_order, name_of, value_text, with_settings
from fastrm.plots.palette import KIND_COLOURS, LEARNER_COLOURS, LEARNER_MARKERS, PATH_COLOUR, RULE
from fastrm.plots.style import (
    LEFT,
    RIGHT,
    finish_figure,
    legend_columns,
    line,
    looks_of,
    new_figure,
    panels,
    set_panel_title,
    style,
    text_width,
    wrapped,
)
from fastrm.results import Estimate, Results, censored_percentile, interval_of, maps_of, over_maps, share_over_maps

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DECADE = 10.0
"""Values that span more than this factor get a logarithmic axis."""
TICK_SIZE, SLANT = 6.5, 35
"""Points of type of the values below a panel, and degrees by which texts among them are turned."""

Ends = tuple[float, float, float]
"""Low end, middle and high end."""


class SweepPoint(NamedTuple):
    """The runs of one method with one value of a setting."""

    setup: str
    task: str
    """With the values of other swept settings."""
    method: str
    value: float | str
    settled: Ends
    steps: Ends
    """To 90 %; infinite where too few runs get there."""
    over: str
    """What the intervals are over."""


class StartPoint(NamedTuple):
    """The runs of one method, on some maps and tasks, from one start."""

    setup: str
    method: str
    """The method without its initial values."""
    optimism: float | None
    runs: int
    shortest: Estimate
    """Share of runs that end with a shortest path."""
    area: Estimate
    """Mean score over the whole run: how soon and how well."""
    steps: Ends
    """Quartiles of the steps to 90 % of the optimum, infinite where too few runs got there."""


def sweep_points(results: Results, setting: str) -> Iterator[SweepPoint]:
    """Yield a point per setup, task, other swept settings, method and value of a setting.

    Raises ConfigError where the setting is not swept.
    """
    if not results.swept:
        raise ConfigError(f"setting={shown(setting)}: nothing is swept in {results.path or 'these results'}")
    check_choice("setting", setting, results.swept)
    others = [name for name in results.swept if name != setting]
    settled, steps = results.per_run_values("settled"), np.nan_to_num(results["steps_to_90"], nan=np.inf)
    maps = maps_of(results)
    for (setup, task, *values, method, value), rows in results.groups("setup", "task", *others, "method", setting):
        if len(rows):
            ends, over = _ends(settled[rows], maps[rows])
            task = with_settings(task, dict(zip(others, values, strict=True)))
            yield SweepPoint(setup, task, method, value, ends, _ends(steps[rows], maps[rows])[0], over)


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


def start_points(results: Results, tasks: bool = False) -> Iterator[StartPoint]:
    """Yield a point per setup, method and start; with `tasks` also per task, named as in ``1a, task a``.

    Raises ConfigError where there are no finished runs.
    """
    check_findings(results)
    area, steps, solved = results.per_run_values("area"), results["steps_to_90"], results["solved"].astype(np.float64)
    by = ("setup", "task", "method") if tasks else ("setup", "method")
    names = short_names(results["setup"].tolist())
    for key, rows in results.groups(*by):
        if len(rows):
            method, maps = method_of(key[-1]), results["grid"][rows]
            low, middle, high = (censored_percentile(steps[rows], q) for q in (25, 50, 75))
            yield StartPoint(
                setup=f"{names[key[0]]}, task {key[1]}" if tasks else names[key[0]],
                method=method.at(None).label,
                optimism=method.optimism,
                runs=len(rows),
                shortest=share_over_maps(solved[rows], maps),
                area=over_maps(area[rows], maps),
                steps=(low, middle, high),
            )


def check_is_plain(results: Results, what: str) -> None:
    """Raise ConfigError if methods are more than their names: if settings are swept, or runs start from others."""
    source, names = results.path or "these results", ", ".join(results.swept)
    if results.plan.warm_start:
        about = f"has methods that start with what others learned; {what} are about methods that start afresh"
        raise ConfigError(f"{source}: {about}")
    if names:
        about = f"{what} are about one value of each, 'plot' and 'report' show all"
        raise ConfigError(f"{source}: has several values of {names}; {about}")


def check_findings(results: Results) -> None:
    """Raise ConfigError unless there are finished runs of methods that their names tell apart."""
    check_is_plain(results, "findings")
    if not (results["error"] == "").any():
        raise ConfigError(f"{results.path or 'these results'}: no finished runs to tell of")


def short_names(setups: Iterable[str]) -> dict[str, str]:
    """Return names of setups; where they differ only in their obstacles, these are the names.

    >>> short_names(["1a1b", "1a1b rooms"])
    {'1a1b': 'open', '1a1b rooms': 'rooms'}
    """
    named = list(dict.fromkeys(setups))
    alike = len(named) > 1 and len({name.split()[0] for name in named}) == 1
    return {name: (name.partition(" ")[2] or "open") if alike else name for name in named}


def by_optimism(optimism: float | None) -> float:
    """Return a key that sorts initial values, those as set first."""
    return -math.inf if optimism is None else optimism


class _Line(NamedTuple):
    """The points of a method in a column of panels."""

    column: int
    label: str
    x: Sequence[float]
    above: Sequence[Ends]
    steps: Sequence[Ends]


def _draw_rows(
    columns: int, lines: Sequence[_Line], title: str, look: FigureConfig, *, each: float, across: float,
    headroom: float, joined: bool = True, below: float = 0.0,
) -> tuple[Figure, Any, float, float]:  # fmt: skip
    """Draw an outcome above and steps to 90 % below: lines with bands, or points with bars where not `joined`.

    A panel is `each` inches wide by default, `across` from the next, with room for names of values `below` it. Returns
    the figure, its panels [2, column], the width of one, and the height at which steps that are never reached are.
    """
    names = {label: name_of(label, look) for label in in_order(list(dict.fromkeys(one.label for one in lines)), look)}
    finite = [step for line in lines for ends in line.steps for step in ends if math.isfinite(step)] or [1e4]
    looks, left, never = looks_of([method_of(one) for one in names], look.colours), LEFT + 0.1, 3 * max(finite)
    plain: dict[str, Any] = {} if joined else {"linestyle": "none"}
    total = look.width or left + RIGHT + columns * (each + across) - across
    beside = legend_columns(list(names.values()), total)
    size = max(0.5, (total - left - RIGHT + across) / columns - across), 1.6
    figure, axes = panels(
        2, columns, size, left=left, across=across, top=0.45 + 0.14 * (len(wrapped(title, total)) - 1),
        bottom=0.55 + below + 0.17 * math.ceil(len(names) / beside),
    )  # fmt: skip
    for column, label, x, *outcomes in lines:
        drawn = {**looks[label], "markevery": None, **plain}
        for axis, ends, most in zip(axes[:, column], outcomes, (math.inf, never), strict=True):
            low, middle, high = np.minimum(np.array(ends).reshape(-1, 3).T, most)
            if joined:
                axis.fill_between(x, low, high, color=drawn["color"], alpha=0.12, linewidth=0)
            else:
                axis.vlines(x, low, high, color=drawn["color"], linewidth=0.9)
            axis.plot(x, middle, label=names[label], **drawn)
    for column, (_, axis) in enumerate(axes.T):
        axis.set_yscale("log")
        axis.set_ylim(min(finite) / 1.5, headroom * never)
        axis.axhline(never, **RULE)
        axes[0][column].tick_params(labelbottom=False, labelleft=column == 0)
        axis.tick_params(labelleft=column == 0, which="both")
    axes[1][0].set_ylabel("steps to 90 %")
    finish_figure(figure, [line(label=name, **looks[key] | plain) for key, name in names.items()], beside, title)
    return figure, axes, size[0], never


def optimism_sweep(points: Sequence[StartPoint], title: str = "", *, width: float | None = None) -> Figure:
    """Draw outcomes of each method over its start: a column per setup; share of shortest paths, steps to 90 %.

    The width is in inches, by default as the panels need it.
    """
    look = FigureConfig(width=width)
    points = [point for point in points if point.optimism is not None]
    if not points:
        raise ConfigError("no methods with a start, such as crm-num@0.5, to draw")
    setups, methods = (list(dict.fromkeys(getattr(point, name) for point in points)) for name in ("setup", "method"))
    lines = []
    for (column, setup), method in itertools.product(enumerate(setups), methods):
        own = [point for point in points if (point.setup, point.method) == (setup, method)]
        own.sort(key=lambda point: by_optimism(point.optimism))
        shares = [(share.low, share.mean, share.high) for share in (point.shortest for point in own)]
        starts = [by_optimism(point.optimism) for point in own]
        lines.append(_Line(column, method, starts, shares, [point.steps for point in own]))
    with style():
        figure, axes, _, never = _draw_rows(len(setups), lines, title, look, each=2.2, across=0.2, headroom=1.4)
        for setup, (above, below) in zip(setups, axes.T, strict=True):
            above.set_title(printable(setup), pad=3, parse_math=False)
            above.set_ylim(-0.03, 1.05)
            below.set_xlabel("start (0 smallest, 1 largest true value)")
        axes[0][0].set_ylabel("share shortest")
        axes[1][0].annotate("never", (0, never), xytext=(2, -8), textcoords="offset points", fontsize=6.5, color="0.4")
    return figure


def sweep_figure(points: Sequence[SweepPoint], setting: str, title: str, look: FigureConfig) -> Figure:
    """Draw settled score and steps to 90 % over a setting: a column per setup and task, a line per method.

    Numbers are on an axis of numbers, logarithmic where they span more than a decade; texts, such as schedules, are
    side by side. Methods, their names and colours, and the width are those of `look`.
    """
    if not points:
        raise ConfigError(f"no runs with several values of {setting} to draw")
    places = list(dict.fromkeys((point.setup, point.task) for point in points))
    labels = in_order(list(dict.fromkeys(point.method for point in points)), look)
    values = sorted(
        dict.fromkeys(point.value for point in points), key=lambda v: (1, 0.0) if isinstance(v, str) else (0, v)
    )
    is_text, across, lines = isinstance(values[0], str), 0.25, []
    for (column, place), label in itertools.product(enumerate(places), labels):
        own = [point for point in points if (point.setup, point.task, point.method) == (*place, label)]
        own.sort(key=lambda point: values.index(point.value))
        beside = 0.1 * (labels.index(label) - 0.5 * (len(labels) - 1))
        x = [values.index(point.value) + beside if is_text else float(point.value) for point in own]
        lines.append(_Line(column, label, x, [point.settled for point in own], [point.steps for point in own]))
    with style():
        figure, axes, wide, never = _draw_rows(
            len(places), lines, title, look, across=across, headroom=2.2, joined=not is_text,
            each=max(2.2 if len(places) > 1 else 3.2, 0.45 * len(values) if is_text else 0.0),
            below=0.75 * max(text_width(value_text(v), TICK_SIZE) for v in values) if is_text else 0.0,
        )  # fmt: skip
        top = max(1.1, *(1.05 * end for point in points for end in point.settled if math.isfinite(end)))
        for (setup, task), (above, below) in zip(places, axes.T, strict=True):
            set_panel_title(above, f"{setup}, task {task}", wide + 0.8 * across)
            above.set_ylim(min(0.0, *(p.settled[1] for p in points)) - 0.03 * top, top)
            above.axhline(1.0, **RULE)
            for axis in (above, below):
                _scale(axis, values, wide)
            below.set_xlabel(printable(setting))
        axes[0][0].set_ylabel("settled score")
        axes[1][0].annotate(
            "never", (1, never), xycoords=("axes fraction", "data"), xytext=(0, 2), textcoords="offset points",
            ha="right", fontsize=TICK_SIZE, color="0.4",
        )  # fmt: skip
    return figure


def _scale(axis: Axes, values: Sequence[float | str], width: float) -> None:
    """Mark the values of a setting on an axis: texts side by side, numbers at their places."""
    names = [printable(value_text(value)) for value in values]
    if isinstance(values[0], str):
        axis.set_xlim(-0.5, len(values) - 0.5)
        axis.set_xticks(range(len(values)), names, rotation=SLANT, ha="right", fontsize=TICK_SIZE, parse_math=False)
        return
    numbers = [float(value) for value in values]
    if is_wide(numbers):
        axis.set_xscale("log")
    places = [math.log(number) for number in numbers] if is_wide(numbers) else numbers
    reach = places[-1] - places[0]
    gaps = [width * (b - a) / reach for a, b in itertools.pairwise(places)] if reach else [width]
    if min(gaps, default=width) > 0.06 + max(text_width(name, TICK_SIZE) for name in names):
        axis.set_xticks(numbers, names, fontsize=TICK_SIZE)
        axis.set_xticks([], minor=True)


def is_wide(numbers: Sequence[float]) -> bool:
    """Return whether numbers span more than a decade, so that only a logarithmic axis shows all of them.

    >>> is_wide([0.01, 0.5]), is_wide([0.1, 0.5]), is_wide([0.0, 1.0])
    (True, False, False)
    """
    return min(numbers) > 0 and max(numbers) / min(numbers) > DECADE


def draw_gaps(gaps: Sequence[tuple[str, str, float, float, float]]) -> Figure:
    """Draw differences with their intervals: rows of (panel, name, mean, low, high), a panel beside the other."""
    panels = list(dict.fromkeys(row[0] for row in gaps))
    names = list(dict.fromkeys(row[1] for row in gaps))
    with style():
        figure = new_figure(3.2 * len(panels) + 0.6, 0.28 * len(names) + 0.9)
        axes = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
        for axis, panel in zip(axes, panels, strict=True):
            for _, name, mean, low, high in (row for row in gaps if row[0] == panel):
                k, sure = len(names) - 1 - names.index(name), low > 0 or high < 0
                colour = PATH_COLOUR if sure else "0.5"
                axis.plot([low, high], [k, k], color=colour, linewidth=2)
                axis.plot(mean, k, "o", color=colour, markersize=4.5)
            axis.axvline(0, color="0.3", linewidth=0.8)
            axis.set_yticks(range(len(names)), [printable(name) for name in reversed(names)])
            axis.set_title(printable(panel), parse_math=False)
            axis.set_xlabel("difference of the mean score")
        figure.tight_layout()
    return figure


class StartSpot(NamedTuple):
    """The median steps of one method on one task from one initial value, with their interval."""

    setup: str
    task: str
    method: str
    start: str
    middle: float
    low: float
    high: float


def draw_starts(spots: Sequence[StartSpot]) -> Figure:
    """Draw steps to lasting shortest paths over initial values: a row of panels per setup, a column per task."""
    setups, tasks, methods, starts = (list(dict.fromkeys(column)) for column in [*zip(*spots, strict=True)][:4])
    ends = [end for spot in spots for end in spot[4:] if math.isfinite(end)] or [1e4]
    never = 2.5 * max(ends)
    with style():
        looks = looks_of([method_of(method) for method in methods])
        figure, axes = panels(len(setups), len(tasks), (2.2, 1.75), bottom=0.95, across=0.16, down=0.36, left=0.75)
        for (row, column), axis in np.ndenumerate(axes):
            for k, method in enumerate(methods):
                own = [spot for spot in spots if spot[:3] == (setups[row], tasks[column], method)]
                x = [starts.index(spot.start) + 0.07 * (k - 0.5 * (len(methods) - 1)) for spot in own]
                low, middle, high = ([min(spot[j], never) for spot in own] for j in (5, 4, 6))
                axis.vlines(x, low, high, color=looks[method]["color"], linewidth=0.9)
                axis.plot(x, middle, **{**looks[method], "markevery": None, "linewidth": 0.8})
            axis.axhline(never, **RULE)
            axis.set_yscale("log")
            axis.set_ylim(min(ends) / 1.5, 1.6 * never)
            axis.set_xticks(range(len(starts)), starts)
            axis.tick_params(labelleft=column == 0, labelbottom=row == len(setups) - 1, which="both")
            set_panel_title(axis, f"{setups[row]}, task {tasks[column]}", 2.2)
            if column == 0:
                axis.set_ylabel("steps to lasting\nshortest paths")
            if row == len(setups) - 1:
                axis.set_xlabel("initial value")
        places = {"xytext": (0, -7), "textcoords": "offset points"}
        axes[0][0].annotate("never", (-0.3, never), **places, fontsize=6.5, color="0.4")
        names = {method: name_of(method) for method in methods}
        beside = legend_columns([*names.values()], figure.get_figwidth())
        handles = [line(label=name, **looks[method]) for method, name in names.items()]
        finish_figure(figure, handles, beside, "median of runs, with its 95 % interval over maps")
    return figure


class FrontSpot(NamedTuple):
    """How soon and how safe one method is from one initial value."""

    setup: str
    method: str
    start: str
    steps: float
    safe: float
    """Share of maps on which it never misleads."""
    on_front: bool


START_MARKERS = "ovs^D"
"""By initial value."""


def draw_front(spots: Sequence[FrontSpot]) -> Figure:
    """Draw speed against safety: a row of panels per setup, a column per learner; colours are kinds, markers starts.

    A ring marks what no other spot of its setup betters in both. Steps that half of the runs never make are at the
    right edge.
    """
    setups, starts = (list(dict.fromkeys(spot[k] for spot in spots)) for k in (0, 2))
    methods = {label: method_of(label) for label in dict.fromkeys(spot.method for spot in spots)}
    algos = list(dict.fromkeys(method.algo for method in methods.values()))
    finite = [spot.steps for spot in spots if math.isfinite(spot.steps)] or [1e4]
    never, markers = 2.5 * max(finite), dict(zip(starts, itertools.cycle(START_MARKERS), strict=False))
    with style():
        figure, axes = panels(
            len(setups), len(algos), (2.15, 1.7), bottom=1.2, across=0.16, down=0.34, top=0.32, left=0.75
        )
        shapes: dict[str, dict[str, Any]] = {}
        ring: dict[str, Any] = {"marker": "o", "linestyle": "none", "markerfacecolor": "none", "color": PATH_COLOUR}
        for spot in spots:
            method = methods[spot.method]
            axis = axes[setups.index(spot.setup)][algos.index(method.algo)]
            colour = KIND_COLOURS[method.kind or "file"]
            shape = {"color": colour, "markerfacecolor": "white" if method.shaping else colour, "linestyle": "none"}
            shapes[name_of(spot.method).partition(", ")[2] + " + shaping" * method.shaping] = shape
            place = [min(spot.steps, never)], [spot.safe]
            axis.plot(*place, **shape, marker=markers[spot.start], markersize=4.2, alpha=0.85)
            if spot.on_front:
                axis.plot(*place, **ring, markersize=9)
        for (row, column), axis in np.ndenumerate(axes):
            axis.axvline(never, **RULE)
            axis.set_xscale("log")
            axis.set(xlim=(min(finite) / 1.4, 1.5 * never), ylim=(-0.06, 1.1))
            axis.tick_params(labelleft=column == 0, labelbottom=row == len(setups) - 1)
            set_panel_title(axis, f"{algos[column].upper()}, {setups[row]}", 2.1)
            if row == len(setups) - 1:
                axis.set_xlabel("steps to lasting shortest paths")
            if column == 0:
                axis.set_ylabel("maps with shortest\npaths in all runs")
        handles = [line(marker="o", label=name, **shape) for name, shape in shapes.items()]
        plain: dict[str, Any] = {"color": "0.3", "linestyle": "none"}
        handles += [line(marker=marker, label=f"from {start}", **plain) for start, marker in markers.items()]
        finish_figure(figure, [*handles, line(label="on the front", markersize=8, **ring)], 4, "")
    return figure


Rows = Sequence[Mapping[str, Any]]
_NAMES = {"coupled": "coupled", "crm": "CRM"}


def draw_agendas(first: Rows, speed: Rows, most_steps: int) -> Figure:
    """Draw the steps until a tour is shortest, map by map, and the time of a step.

    Parameters
    ----------
    first : sequence of mappings
        One per run: its ``targets``, ``map`` and ``algo``, and ``steps`` until the greedy tour is a shortest one, None
        where it never is.
    speed : sequence of mappings
        One per number of ``targets``, with ``coupled_ns_per_step`` and ``crm_ns_per_step``, None where not measured.
    most_steps : int
        Where an arrow marks the runs that never find a shortest tour.
    """
    with style():
        figure = new_figure(7.0, 2.8)
        figure.set_layout_engine("constrained")
        left, right = figure.subplots(1, 2)
        _draw_steps(left, first, most_steps)
        for algo in _NAMES:
            measured = [row for row in speed if row[f"{algo}_ns_per_step"] is not None]
            targets, times = ([row[name] for row in measured] for name in ("targets", f"{algo}_ns_per_step"))
            right.plot(targets, times, f"{LEARNER_MARKERS[algo]}-", color=LEARNER_COLOURS[algo], ms=4)
        sizes = [row["targets"] for row in speed]
        right.set(xscale="log", yscale="log", xlabel="targets in any order", ylabel="ns per step, planning apart")
        right.set_xticks(sizes, [str(n) for n in sizes])
        right.minorticks_off()
        for axes in (left, right):
            _write_plain_ticks(axes)
    return figure


def _draw_steps(axes: Axes, rows: Rows, most_steps: int) -> None:
    """Draw a marker per run, the learners beside each other above every number of targets."""
    sizes = sorted({row["targets"] for row in rows})
    for shift, (algo, name) in zip((-0.12, 0.12), _NAMES.items(), strict=True):
        runs, colour = [row for row in rows if row["algo"] == algo], LEARNER_COLOURS[algo]
        x = [sizes.index(row["targets"]) + shift + 0.08 * math.sin(row["map"] * 2.4) for row in runs]
        y = [(row["steps"] or most_steps) / 1000 for row in runs]
        axes.plot(x, y, LEARNER_MARKERS[algo], color=colour, ms=3, alpha=0.7, label=name)
        for row, across, up in zip(runs, x, y, strict=True):
            if row["steps"] is None:
                axes.annotate("", (across, up * 1.25), (across, up), arrowprops={"arrowstyle": "->", "color": colour})
    axes.set(yscale="log", ylabel="thousand steps until the tour is shortest", xlabel="targets in any order")
    axes.set_xticks(range(len(sizes)), [str(n) for n in sizes])
    axes.legend(frameon=False)


def _write_plain_ticks(axes: Axes) -> None:
    """Write 100, 200, 500 up a logarithmic axis, not powers of ten."""
    low, high = axes.get_ylim()
    ticks = [digit * 10**power for power in range(7) for digit in (1, 2, 5) if low <= digit * 10**power <= high]
    axes.set_yticks(ticks, [str(tick) for tick in ticks])
    axes.set_yticks([], minor=True)
