"""What becomes of methods over their initial values: points over maps, and the figure of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fastrm.checks import check_number
from fastrm.errors import ConfigError, printable
from fastrm.experiments import method_of
from fastrm.plots.curves import name_of
from fastrm.plots.palette import RULE
from fastrm.plots.style import LEFT, RIGHT, finish_figure, legend_columns, line, looks_of, panels, style, wrapped
from fastrm.results import Estimate, Results, censored_percentile, over_maps, share_over_maps

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    steps: tuple[float, float, float]
    """Quartiles of the steps to 90 % of the optimum, infinite where too few runs got there."""


def check_is_plain(results: Results, what: str) -> None:
    """Refuse a file whose methods are not just their names: what is told would mix settings, or hide a warm start."""
    if results.plan.warm_start:
        raise ConfigError(
            f"{results.path or 'these results'}: has methods that start with what others learned; {what} are about "
            "methods that start afresh"
        )
    if results.swept:
        names = ", ".join(results.swept)
        raise ConfigError(
            f"{results.path or 'these results'}: has several values of {names}; {what} are about one value of each, "
            "'plot' and 'report' show all"
        )


def check_findings(results: Results) -> None:
    """Raise ConfigError unless a file has finished runs of methods that are told apart by their names."""
    check_is_plain(results, "findings")
    if not (results["error"] == "").any() or not len(results["step"]):
        raise ConfigError(f"{results.path or 'these results'}: no finished runs to tell of, or none of a tick")


def plain_label(label: str) -> str:
    """Return a method's name without its initial values.

    >>> plain_label("crm-pot@0.5")
    'crm-pot'
    """
    return method_of(label).at(None).label


def short_names(setups: Iterable[str]) -> dict[str, str]:
    """Return how to call setups that differ in their obstacles alone: by these.

    >>> short_names(["1a1b", "1a1b rooms"])
    {'1a1b': 'open', '1a1b rooms': 'rooms'}
    """
    named = list(dict.fromkeys(setups))
    alike = len(named) > 1 and len({name.split()[0] for name in named}) == 1
    return {name: (name.partition(" ")[2] or "open") if alike else name for name in named}


def by_optimism(optimism: float | None) -> float:
    """Return what to sort initial values by: those as set first."""
    return -math.inf if optimism is None else optimism


def start_points(results: Results, tasks: bool = False) -> Iterator[StartPoint]:
    """Yield a point per setup, method and start; with `tasks` the setups are told apart by task, as in ``1a, task a``.

    Raises
    ------
    ConfigError
        When there are no finished runs.
    """
    check_findings(results)
    area, steps, solved = results.per_run_values("area"), results["steps_to_90"], results["solved"].astype(np.float64)
    by = ("setup", "task", "label") if tasks else ("setup", "label")
    names = short_names(results["setup"].tolist())
    for key, mine in results.groups(*by):
        if len(mine):
            label, maps = key[-1], results["grid"][mine]
            yield StartPoint(
                setup=f"{names[key[0]]}, task {key[1]}" if tasks else names[key[0]],
                method=plain_label(label),
                optimism=method_of(label).optimism,
                runs=len(mine),
                shortest=share_over_maps(solved[mine], maps),
                area=over_maps(area[mine], maps),
                steps=tuple(censored_percentile(steps[mine], q) for q in (25, 50, 75)),  # type: ignore[arg-type]
            )


def optimism_sweep(points: Sequence[StartPoint], title: str = "", *, width: float | None = None) -> Figure:
    """Draw what becomes of each method over its start: a column per setup; share of shortest paths, steps to 90 %.

    The width is in inches, by default as the panels need it.
    """
    if width is not None:
        check_number("width", width, 2, 40)
    points = [point for point in points if point.optimism is not None]
    if not points:
        raise ConfigError("no methods with a start, such as crm-num@0.5, to draw")
    setups, methods = (list(dict.fromkeys(getattr(point, name) for point in points)) for name in ("setup", "method"))
    finite = [step for point in points for step in point.steps if math.isfinite(step)] or [1e4]
    never = 3 * max(finite)
    with style():
        looks, left, across = looks_of([method_of(method) for method in methods]), LEFT + 0.1, 0.2
        total = width or left + RIGHT + len(setups) * (2.2 + across) - across
        columns = legend_columns([name_of(method) for method in methods], total)
        size = max(0.5, (total - left - RIGHT + across) / len(setups) - across), 1.6
        figure, axes = panels(
            2, len(setups), size, left=left, across=across, top=0.45 + 0.14 * (len(wrapped(title, total)) - 1),
            bottom=0.55 + 0.17 * math.ceil(len(methods) / columns),
        )  # fmt: skip
        for (column, setup), method in itertools.product(enumerate(setups), methods):
            mine = sorted(
                (p for p in points if (p.setup, p.method) == (setup, method)), key=lambda p: p.optimism or 0.0
            )
            starts, look = [p.optimism for p in mine], {**looks[method], "markevery": None}
            shares = np.array([p.shortest for p in mine]).reshape(-1, 3).T
            steps = np.minimum(np.array([p.steps for p in mine]).reshape(-1, 3).T, never)
            for axis, (middle, low, high) in zip(axes[:, column], (shares, steps[[1, 0, 2]]), strict=True):
                axis.fill_between(starts, low, high, color=look["color"], alpha=0.12, linewidth=0)
                axis.plot(starts, middle, **look)
        for column, setup in enumerate(setups):
            above, below = axes[:, column]
            above.set_title(printable(setup), pad=3, parse_math=False)
            above.set_ylim(-0.03, 1.05)
            below.set_yscale("log")
            below.set_ylim(min(finite) / 1.5, 1.4 * never)
            below.axhline(never, **RULE)
            below.set_xlabel("start (0 smallest, 1 largest true value)")
            above.tick_params(labelbottom=False, labelleft=column == 0)
            below.tick_params(labelleft=column == 0, which="both")
        axes[0][0].set_ylabel("share shortest")
        axes[1][0].set_ylabel("steps to 90 %")
        axes[1][0].annotate("never", (0, never), xytext=(2, -8), textcoords="offset points", fontsize=6.5, color="0.4")
        finish_figure(figure, [line(label=name_of(m), **looks[m]) for m in methods], columns, title)
    return figure
