"""What reviewers ask for: statistics over all tasks, with intervals over maps, in one figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fastrm.errors import ConfigError, printable
from fastrm.experiments import method_of
from fastrm.plots.curves import in_order, look_of, name_of, select_methods, with_settings
from fastrm.plots.palette import RULE
from fastrm.plots.style import (
    LEGEND_SIZE,
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
from fastrm.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE, LEAST_HIGH, EACH = 1.75, 1.5, 0.16
"""Inches of a panel: its width, its least height, and that of a method in it."""
MOST_SHADED = 4
"""Methods whose intervals are shaded; more would hide each other."""


def draw_overall(
    results: Results, title: str | None = None, *, value: str = "settled", steps: str = "steps_to_90", **options: Any
) -> Figure:
    """Draw statistics over all maps and tasks, with 95 % intervals over maps, in four panels.

    These are inter-quartile mean, optimality gap, performance profile and survival curve: see `Results.overall`. Every
    value of swept settings has a row of panels.

    Parameters
    ----------
    results : Results
        Runs of an experiment.
    title : str, optional
        Written above the panels.
    value : str
        The score of a run, a number of `Results.per_run_values`.
    steps : str
        What runs get to, a number of which fewer is better.
    **options
        ``methods``, ``names`` and ``colours`` of `learning_curves`.

    Raises
    ------
    ConfigError
        When matplotlib is missing, or there is nothing to draw.
    """
    look = look_of(results, title=title, **options)
    results = select_methods(results, look)
    by = [*results.swept, "method"]
    rows, profiles = results.overall(value, steps, by), results.profiles(value, by=by)
    curves = results.survival(steps, by)
    if not rows:
        raise ConfigError(f"{results.path or 'these results'}: nothing to draw (no runs, or all failed)")
    labels = in_order(list(dict.fromkeys(str(row["method"]) for row in rows)), look)
    settings = list(dict.fromkeys(key[:-1] for key in profiles))
    names = {label: name_of(label, look) for label in labels}
    over = " or ".join(dict.fromkeys(row["over"] for row in rows))
    heading = f"all maps and tasks, with 95 % intervals over {over}" if look.title is None else look.title
    with style():
        looks = looks_of([method_of(label) for label in labels], look.colours)
        left = 0.15 + max(text_width(name, LEGEND_SIZE) for name in names.values())
        across, size = 0.5, (WIDE, max(LEAST_HIGH, EACH * len(labels)))
        total = left + RIGHT + 4 * (WIDE + across) - across
        beside = legend_columns(list(names.values()), total)
        figure, axes = panels(
            len(settings), 4, size, left=left, across=across, down=0.62,
            top=0.15 + 0.2 * bool(results.swept) + 0.16 * len(wrapped(heading, total)),
            bottom=0.55 + 0.17 * math.ceil(len(labels) / beside),
        )  # fmt: skip
        for place, (first, second, third, fourth) in zip(settings, axes, strict=True):
            own = {str(row["method"]): row for row in rows if tuple(row[name] for name in results.swept) == place}
            given = with_settings("", dict(zip(results.swept, place, strict=True))).removeprefix(", ")
            for axis, name, about in (
                (first, "iqm", "inter-quartile mean"),
                (second, "gap", "optimality gap"),
            ):
                _draw_intervals(axis, [own.get(label) for label in labels], name, [looks[label] for label in labels])
                axis.set_yticks(range(len(labels)), [printable(names[label]) for label in labels], parse_math=False)
                axis.tick_params(labelleft=name == "iqm", left=False)
                axis.set_xlabel(about)
            for label in own:
                profile, curve = profiles[*place, label], curves[*place, label]
                end = float(results["step"][-1])
                shares = [np.append(part, part[-1]) for part in (curve.low, curve.share, curve.high)]
                drawn = {**looks[label], "markevery": (0.1, 0.3)}
                third.plot(profile.thresholds, profile.share, **drawn)
                fourth.step(np.append(curve.steps, end), shares[1], where="post", **drawn)
                if len(labels) <= MOST_SHADED:
                    shade = {"color": drawn["color"], "alpha": 0.14, "linewidth": 0}
                    third.fill_between(profile.thresholds, profile.low, profile.high, **shade)
                    fourth.fill_between(np.append(curve.steps, end), shares[0], shares[2], step="post", **shade)
            third.axvline(1.0, **RULE)
            third.set_xlabel(f"threshold of {value}")
            third.set_ylabel("share of runs above")
            fourth.set_xscale("log")
            fourth.set_xlim(float(results["step"][0]), end)
            fourth.set_xlabel(printable(steps).replace("_", " ") + " %" * steps[-1].isdigit())
            fourth.set_ylabel("share not there yet")
            for axis in (third, fourth):
                axis.set_ylim(-0.02, 1.04)
            if given:
                set_panel_title(first, given, 2 * WIDE)
        finish_figure(figure, [line(label=names[label], **looks[label]) for label in labels], beside, heading)
    return figure


def _draw_intervals(axis: Axes, rows: Sequence[Any], name: str, looks: Sequence[dict[str, Any]]) -> None:
    """Draw a number of every method with its interval, the first method on top."""
    for k, (row, look) in enumerate(zip(rows, looks, strict=True)):
        if row is not None:
            axis.hlines(k, row[f"{name}_low"], row[f"{name}_high"], color=look["color"], linewidth=1.6, alpha=0.6)
            axis.plot([row[name]], [k], **{**look, "linestyle": "none", "markevery": None, "markersize": 4.2})
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.locator_params(axis="x", nbins=4)
    axis.grid(axis="x", color="0.9", linewidth=0.6)
