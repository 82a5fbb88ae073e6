"""The figures of a result file: curves of all maps and of one, the maps, and sweeps of settings and initial values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from fastrm.config import FigureConfig
from fastrm.errors import ConfigError
from fastrm.experiments import method_of
from fastrm.plots.curves import has_curves, learning_curves, look_of, select_methods, shows_bands, value_text
from fastrm.plots.map_views import draw_maps
from fastrm.plots.overall import draw_overall
from fastrm.plots.sweeps import optimism_sweep, short_names, start_points, sweep_figure, sweep_points
from fastrm.results import Results
from fastrm.worlds import layout_of, read_world

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")
MAX_SETUPS, MAX_MAPS = 6, 50
"""Setups and maps in one figure; more get further figures."""
MAX_ROWS = 12
"""Rows of panels of curves in one figure, where settings are swept."""
PAPER_SETUPS = ["1a1b1c", "2a2b2c"]
"""Columns of the paper's figure."""


def figures_of(results: Results, **options: Any) -> Iterator[tuple[str, Figure]]:
    """Draw everything a result file has, by name: all maps together, one map, further maps, statistics, the maps.

    Where the file has the paper's setups, ``paper`` is one map of each in the form of the paper's figure: with bands,
    and steps on a linear axis. Options are those of `learning_curves`, except `ax`; they do not concern the maps.
    """
    look = look_of(results, **options)
    results = select_methods(results, look)

    def curves(drawn: Results, about: str, **usual: Any) -> Figure:
        own = replace(look, **{name: value for name, value in usual.items() if getattr(look, name) is None})
        title = f"{about}: median{' and 25-75 %' * shows_bands(drawn, own)}" if look.title is None else look.title
        return learning_curves(drawn, **vars(replace(own, title=title)))

    plan, present = results.plan, set(results["setup"][results["error"] == ""].tolist())
    by_setup: dict[str, list[str]] = {}
    for setup, name, _ in plan.grids:
        if setup in present:
            by_setup.setdefault(setup, []).append(name)
    generated = [setup for setup, names in by_setup.items() if names != [setup]]
    part = "" if results.complete else f", {results.runs} of {plan.count} runs"
    about = f"{plan.seeds} run{'s' if plan.seeds > 1 else ''} each{part}"
    if not present:
        yield "all-maps", learning_curves(results, **vars(look))
    if results.swept and present:
        yield from _sweep_figures(results, look)
        for name, drawn in _by_settings(results, list(by_setup)):
            many = max(map(len, by_setup.values()))
            yield name, curves(drawn, f"{many} map{'s' * (many > 1)} per setup, {about}")
        generated, by_setup = [], {}
    by_start: dict[float | None, list[str]] = {}
    for label in dict.fromkeys(results["method"].tolist()):
        by_start.setdefault(method_of(label).optimism, []).append(label)
    if len(by_start) > 1 and not (results.swept or plan.warm_start):
        many = max((len(names) for names in by_setup.values()), default=0)
        title = "all tasks; shares: mean and 95 % interval over maps; steps: median and 25-75 %"
        yield "starts", optimism_sweep(list(start_points(results)), title, width=look.width)
        for start, labels in by_start.items():  # methods that differ in their start alone look alike
            name = "q_init" if start is None else f"{start:g}"
            values = "q_init as set" if start is None else f"values start at {start:g} of the true range"
            if has_curves(drawn := results.select(method=labels)):
                yield f"curves-{name}", curves(drawn, f"{values}, {many} maps per setup, {about}")
        generated, by_setup = [], {}
    for more, setups in _parts(generated, MAX_SETUPS):
        drawn, many = results.select(setup=setups), len(by_setup[setups[0]])
        if many > 1:
            yield f"all-maps{more}", curves(drawn, f"{many} maps per setup, {about}")
        if "0" in drawn["grid"] and has_curves(first := drawn.select(grid="0")):
            yield f"one-map{more}", curves(first, f"map 0 of each setup, {about}")
            if set(PAPER_SETUPS) <= set(first["setup"].tolist()):
                paper = first.select(setup=PAPER_SETUPS)
                yield "paper", curves(paper, f"map 0 of each setup, {about}", bands=True, xscale="linear")
    for setup in [setup for setup in by_setup if setup not in generated]:
        yield f"map-{setup}", curves(results.select(setup=setup), f"map {setup}, {about}")
    own_look: dict[str, Any] = {"methods": look.methods, "names": look.names, "colours": look.colours}
    own_look["title"] = f"all maps and tasks{part}, with 95 % intervals" if part else None
    for name, chosen in _choices(results, 1) if present else ():
        try:
            drawn = results.select(**chosen)
        except ConfigError:  # no such runs in a part of a file
            continue
        if has_curves(drawn):
            yield f"overall{name}", draw_overall(drawn, **own_look)
    short = short_names(setup for setup, _, _ in plan.grids)
    named = []
    for setup, name, text in plan.grids:
        if not text:  # of runs that were made elsewhere no map is known
            continue
        title = f"{setup} {name}" if setup == short[setup] else f"{short[setup]}, map {name}"
        grid = layout_of(read_world(text))
        named += [] if grid is None else [(setup if setup == name else title, grid)]
    for more, some in _parts(named, MAX_MAPS):
        yield f"maps{more}", draw_maps(some)


def _sweep_figures(results: Results, look: FigureConfig) -> Iterator[tuple[str, Figure]]:
    """Draw outcomes over every swept setting; more panels than fit get further figures."""
    for setting in results.swept:
        points = list(sweep_points(results, setting))
        places = list(dict.fromkeys((point.setup, point.task) for point in points))
        over = " or ".join(dict.fromkeys(point.over for point in points))
        for more, some in _parts(places, MAX_SETUPS):
            shown = [point for point in points if (point.setup, point.task) in some]
            title = f"median of runs and its 95 % interval over {over}"
            yield f"sweep-{setting}{more}", sweep_figure(shown, setting, title, look)


def _by_settings(results: Results, setups: Sequence[str]) -> Iterator[tuple[str, Results]]:
    """Yield the name of a figure of curves and its runs, which have one value of as many settings as rows must fit."""
    for about, chosen in _choices(results, len(results.plan.tasks)):
        for more, some in _parts(setups, MAX_SETUPS):
            try:
                drawn = results.select(setup=some, **chosen)
            except ConfigError:  # no such runs in a part of a file
                continue
            if has_curves(drawn):
                yield f"curves{about}{more}", drawn


def _choices(results: Results, rows: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the values of as many settings as a figure must leave out, with the ending of its name.

    A figure has `rows` rows of panels for every value of the settings that are left.
    """
    plan, fixed = results.plan, 0
    sizes = [rows, *(len(values) for _, values in plan.sweep)]
    while fixed < len(plan.sweep) and math.prod((sizes[0], *sizes[1 + fixed :])) > MAX_ROWS:
        fixed += 1
    names = results.swept[:fixed]
    for values in itertools.product(*(plan.values(name) for name in names)):
        chosen = dict(zip(names, values, strict=True))
        yield "".join(f"-{name}-{value_text(value)}" for name, value in chosen.items()), chosen


def _parts(items: Sequence[T], most: int) -> Iterator[tuple[str, list[T]]]:
    """Yield items, `most` at a time, with the ending of a figure's name: nothing, then -2, -3 and so on."""
    for k in range(0, len(items), most):
        yield f"-{k // most + 1}" if k else "", list(items[k : k + most])
