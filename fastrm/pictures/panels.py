"""What a panel of learning curves shows: runs that differ in their method, map and seed only.

The values of swept settings tell panels apart, as setups and tasks do, so that no curve mixes runs of several settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fastrm.arrays import Array
from fastrm.results import Results

Group = tuple[str, str, str]
"""Setup, task with the values of swept settings, and label."""


def groups_of(results: Results, *, empty: bool = False) -> dict[Group, Array]:
    """Return the rows of every setup, task, swept setting and method; `empty` keeps those whose runs all failed."""
    found = {}
    for (setup, task, *values, label), rows in results.groups("setup", "task", *results.swept, "label"):
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
    """Write a value of a setting.

    >>> value_text(1.0), value_text("linear(1, 0.1, 5000)")
    ('1', 'linear(1, 0.1, 5000)')
    """
    return value if isinstance(value, str) else f"{value:.12g}"
