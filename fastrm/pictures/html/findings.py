"""What a file with swept initial values shows, as tables: title, head and rows of words."""

from __future__ import annotations

import math
from typing import Any

from fastrm.results import Results
from fastrm.studies import Point, agreement, by_optimism, certified, sweep, verdicts


def findings_data(results: Results, *, exact: bool) -> list[dict[str, Any]]:
    """Return the tables; `exact` adds those that need the verdict on every problem."""
    points = list(sweep(results))
    tables = [
        _by_start(
            "Share of runs that end with a shortest path, by start of the values, with its 95 % interval over maps",
            points,
            {id(point): str(point.shortest) for point in points},
        ),
        _by_start(
            "Steps to 90 % of the optimum: median (quartiles), in thousands",
            points,
            {id(point): _steps(point) for point in points},
        ),
    ]
    if exact and not results.plan.slip:
        known = verdicts(results.plan)
        rows = list(certified(results.plan, known))
        kinds, setups = (list(dict.fromkeys(getattr(row, name) for row in rows)) for name in ("kind", "setup"))
        counted = {(row.setup, row.kind): f"{row.shortest} of {row.problems}" for row in rows}
        tables.append({
            "title": "Problems on which all optimal policies take shortest paths (exact, before any learning)",
            "head": ["maps", *kinds],
            "rows": [[setup, *(counted[setup, kind] for kind in kinds)] for setup in setups],
        })  # fmt: skip
        tables.append({
            "title": "Runs that end with a shortest path, where a problem is certified and where it is not",
            "head": ["start", "certified", "not certified"],
            "rows": [
                [_start(r.optimism), f"{r.shortest} of {r.certified}", f"{r.shortest_elsewhere} of {r.others}"]
                for r in agreement(results, known)
            ],
        })  # fmt: skip
    return tables


def _by_start(title: str, points: list[Point], cells: dict[int, str]) -> dict[str, Any]:
    starts = sorted(dict.fromkeys(point.optimism for point in points), key=by_optimism)
    found = {(point.setup, point.method, point.optimism): cells[id(point)] for point in points}
    rows = dict.fromkeys((point.setup, point.method) for point in points)
    return {
        "title": title,
        "head": ["maps", "method", *map(_start, starts)],
        "rows": [[*row, *(found.get((*row, start), "") for start in starts)] for row in rows],
    }


def _steps(point: Point) -> str:
    low, middle, high = ("never" if math.isinf(n) else f"{n / 1000:.0f}" for n in point.steps)
    return middle if low == middle == high else f"{middle} ({low} to {high})"


def _start(start: float | None) -> str:
    return "q_init as set" if start is None else f"start {start:g}"
