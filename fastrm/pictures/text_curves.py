"""Learning curves as text, for terminals without matplotlib: a line of eight-level bars per method."""

from __future__ import annotations

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import ConfigError, printable
from fastrm.pictures.panels import groups_of
from fastrm.results import Results, band

BARS = " ▁▂▃▄▅▆▇█"
ASCII_BARS = " .:-=+*%#"
WIDTH = 60


def sparkline(values: Array, width: int = WIDTH, top: float = 1.0, bars: str = BARS) -> str:
    """Return a curve as a line of bars, `top` and everything above it being the highest.

    >>> sparkline(np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.1]), width=6)
    ' ▂▄▆██'
    """
    if not len(values):
        return ""
    parts = np.array_split(values, min(width, len(values)))
    levels = [round(float(np.clip(part.mean() / top, 0, 1)) * (len(bars) - 1)) for part in parts]
    return "".join(bars[level] for level in levels)


def curves_as_text(results: Results, bars: str = BARS) -> str:
    """Return the median score of every method as bars, a block per setup, task and swept setting."""
    if not results.runs or not len(results["step"]):
        raise ConfigError(f"{results.path or 'these results'}: no curves to draw (no runs, or no ticks)")
    lines: list[str] = []
    score, before = results["score"], None
    groups = groups_of(results, empty=True)
    room = max((len(printable(label)) for _, _, label in groups), default=0)
    when = _when(results["step"])
    for (setup, task, label), mine in groups.items():
        if (setup, task) != before:
            before = setup, task
            panel = printable(f"{setup}, task {task}")
            lines.append(f"{panel}: median score {when}, full height = 1, the unit")
        if len(mine):
            middle = band(score[mine], [50])[0]
            lines.append(f"  {printable(label):<{room}} |{sparkline(middle, bars=bars)}| {middle[-1]:.3f}")
        else:
            lines.append(f"  {printable(label):<{room}} all runs failed")
    return "\n".join(lines)


def _when(steps: Array) -> str:
    """Say which steps the bars stand for: parts of the run that are equally long, or single ticks.

    >>> _when(np.array([10_000, 20_000])), _when(np.array([1000, 2000, 5000])), _when(np.array([10, 20, 50, 100, 103]))
    ('over 20 000 steps', 'at 1 000, 2 000, 5 000 steps', 'at 10, 20, 50, ... 103 steps')
    """
    words = [f"{step:,}".replace(",", " ") for step in steps.tolist()]
    if len(np.unique(np.diff(steps, prepend=0))) == 1:
        return f"over {words[-1]} steps"
    return f"at {', '.join(words)} steps" if len(words) < 5 else f"at {', '.join(words[:3])}, ... {words[-1]} steps"
