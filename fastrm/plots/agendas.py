"""What the study of coupled learning found about targets in any order, as one figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fastrm.plots.palette import LEARNER_COLOURS, LEARNER_MARKERS
from fastrm.plots.style import new_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
