"""The study of deadlines: a, then b at most k moves later, with k from the distance d(a, b) to three times as much.

::

    python -m fastrm.bench.studies.deadline                  # everything, on 30 maps
    python -m fastrm.bench.studies.deadline exact --maps 5   # one part of it, on fewer maps
    python -m fastrm.bench.studies.deadline judge            # the claims, from the parts that are there

The part ``runs`` leaves a result file per map, so that it goes on where it was interrupted; ``exact`` needs no runs.
Both leave rows as JSON in the folder of ``--out``; ``judge`` reads them and writes findings.md. Intervals are over
maps.

Where moves slip, the largest probability of meeting a deadline is exact: from a on at most k moves are left, so that it
is the value of a task that is over after k moves, at a discount of 1 - 2^-40.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import fastrm
from fastrm import FastrmError, GridMap
from fastrm.arrays import Array
from fastrm.experiments import read_suite

from ..console import markdown_table
from .claim import Share, worst

Row = dict[str, Any]
SUITE = "deadline"
FACTORS = (1.0, 1.25, 1.5, 2.0, 3.0)
"""Deadlines, in distances from a to b."""
SLIPS = (0.02, 0.05, 0.1, 0.2)
NEARLY_ONE = 1 - 2.0**-40
"""A discount that changes no chance by more than 1e-9 in a thousand moves."""


def maps_of_suite(count: int) -> list[GridMap]:
    """Return the first maps of the suite whose objects are more than one move apart."""
    (suite,) = read_suite(SUITE)
    found: list[GridMap] = []
    seed = 0
    while len(found) < count:
        grid = GridMap.generate(suite.setups[0], size=suite.size, seed=seed)
        seed += 1
        if apart(grid) > 1:
            found.append(grid)
    return found


def apart(grid: GridMap) -> int:
    """Return the moves from a to b."""
    (a,), (b,) = grid.objects["a"], grid.objects["b"]
    return abs(a[0] - b[0]) + abs(a[1] - b[1])


def deadline(grid: GridMap, factor: float) -> int:
    """Return a deadline in moves."""
    return math.ceil(factor * apart(grid))


def run_maps(maps: int, workers: int, out: Path) -> list[Row]:
    """Learn every deadline on every map; return a row per run."""
    rows, (suite,) = [], read_suite(SUITE)
    for number, grid in enumerate(maps_of_suite(maps)):
        path = out / f"{number}.map"
        path.write_text(grid.render())
        factors = {f"a-b within {deadline(grid, factor)}": factor for factor in FACTORS}
        tasks = (*suite.tasks, *factors)
        mine = replace(suite, name=f"{SUITE}-{number}", setups=(), maps=1, map_files=(str(path),), tasks=tasks)
        results = fastrm.run(mine, out=out / f"{number}.h5", workers=workers, progress=False)
        columns = ("task", "label", "seed", "solved", "steps_to_90", "error")
        for values in zip(*(results[name].tolist() for name in columns), strict=True):
            row = dict(zip(columns, values, strict=True))
            rows.append({"map": number, "factor": factors.get(row["task"], math.inf), **row})
    return rows


def solve_maps(maps: int, *_: Any) -> list[Row]:
    """Return, by map and deadline, whether it can be met, the verdict on both kinds, and the chance of meeting it."""
    rows = []
    for number, grid in enumerate(maps_of_suite(maps)):
        d = apart(grid)
        for factor in FACTORS:
            k = deadline(grid, factor)
            task = f"a-b within {k}"
            verdicts = {
                kind: fastrm.guarantee(fastrm.compile(grid, fastrm.task(task, kind=kind))).verdict
                for kind in ("boolean", "numeric")
            }
            shortest = (
                fastrm.compile(grid, fastrm.task(task)).shortest == fastrm.compile(grid, fastrm.task("a-b")).shortest
            )
            chances = {f"{slip:g}": chance(grid, k, slip) for slip in SLIPS}
            rows.append(
                {"map": number, "distance": d, "factor": factor, "k": k, "verdicts": verdicts, "shortest": shortest,
                 "refused_below": is_refused(grid, d - 1), "chances": chances}
            )  # fmt: skip
    return rows


def is_refused(grid: GridMap, k: int) -> bool:
    """Return whether no path meets a deadline, which compiling proves by search."""
    try:
        fastrm.compile(grid, fastrm.task(f"a-b within {k}"))
    except FastrmError:
        return True
    return False


def chance(grid: GridMap, k: int, slip: float) -> float:
    """Return the largest probability of reaching b at most k moves after a, where moves slip."""
    problem = fastrm.compile(grid, fastrm.task(f"b within {k}"), slip=slip, start=grid.objects["a"])
    return float(fastrm.solve(problem, gamma=NEARLY_ONE).start_value)


PARTS: dict[str, Callable[[int, int, Path], list[Row]]] = {"exact": solve_maps, "runs": run_maps}
"""What makes the rows of every part, given the maps, the workers and the folder."""


def judge(parts: dict[str, list[Row]]) -> list[tuple[str, str, str]]:
    """Return name, verdict and numbers of every claim that the parts say something about."""
    claims = []
    if exact := parts.get("exact"):
        tight = [row for row in exact if row["factor"] == 1]
        held = Share(sum(row["refused_below"] and row["shortest"] for row in tight), len(tight))
        text = f"k = d - 1 refused, and k = d met by a shortest path, on {held}"
        claims.append(("K1 a deadline can be met exactly from k = d(a, b) on", held.verdict, text))
        for kind in ("boolean", "numeric"):
            share = Share(sum(row["verdicts"][kind] == "shortest" for row in exact), len(exact))
            where = share.describe("pairs of a map and a deadline")
            claims.append((f"K2 every optimal {kind} policy takes a shortest path", share.verdict, where))
    if runs := parts.get("runs"):
        ratios = {method: price(runs, method, 1.0) for method in methods_of(runs)}
        shares = {m: Share(int((ratio > 1).sum()), len(ratio)) for m, ratio in ratios.items()}
        told = "; ".join(f"{m}: {shares[m]}" for m in ratios)
        claims.append(("K3 the tightest deadline costs steps", worst(s.verdict for s in shares.values()), told))
        pairs = {kind: ratios[f"qrm-{kind}"] > ratios[f"crm-{kind}"] for kind in ("bool", "num")}
        shares = {kind: Share(int(held.sum()), len(held)) for kind, held in pairs.items()}
        told = "; ".join(f"{kind}: {share}" for kind, share in shares.items())
        claims.append(("K4 it costs QRM a larger factor than CRM", worst(s.verdict for s in shares.values()), told))
        pairs = {method: price(runs, method, 1.0) > price(runs, method, 3.0) for method in methods_of(runs)}
        shares = {method: Share(int(held.sum()), len(held)) for method, held in pairs.items()}
        told = "; ".join(f"{method}: {share}" for method, share in shares.items())
        claims.append(("K5 three times the time costs less", worst(s.verdict for s in shares.values()), told))
    return claims


def methods_of(rows: list[Row]) -> list[str]:
    """Return the methods, in the order of the runs."""
    return list(dict.fromkeys(row["label"] for row in rows))


def steps_of(rows: list[Row], method: str, factor: float) -> Array:
    """Return the median steps to 90 % on every map; infinite where most runs never get there."""
    maps: dict[int, list[float]] = {}
    for row in rows:
        if row["label"] == method and row["factor"] == factor:
            steps = row["steps_to_90"]
            maps.setdefault(row["map"], []).append(math.inf if steps is None or math.isnan(steps) else steps)
    return np.array([np.median(steps) for _, steps in sorted(maps.items())])


def price(rows: list[Row], method: str, factor: float) -> Array:
    """Return by map how many times the steps to 90 % a deadline takes that the task without one does."""
    with np.errstate(invalid="ignore"):
        return np.asarray(steps_of(rows, method, factor) / steps_of(rows, method, math.inf))


def write_findings(parts: dict[str, list[Row]]) -> str:
    """Return the claims and tables as Markdown."""
    tables = [markdown_table(["claim", "verdict", "numbers"], judge(parts))]
    rows: list[tuple[str, ...]] = []
    if runs := parts.get("runs"):
        for method in methods_of(runs):
            for factor in (math.inf, *FACTORS):
                mine = [row for row in runs if row["label"] == method and row["factor"] == factor]
                steps, ratio = steps_of(runs, method, factor), price(runs, method, factor)
                low, high = interval_of_median(ratio)
                rows.append((
                    method, "none" if math.isinf(factor) else f"{factor:g} d", format_steps(float(np.median(steps))),
                    f"{format_ratio(float(np.median(ratio)))} [{format_ratio(low)}, {format_ratio(high)}]",
                    f"{int(np.isfinite(steps).sum())}",
                    f"{sum(row['solved'] == 1 for row in mine)} of {len(mine)}",
                ))  # fmt: skip
        head = [
            "method",
            "deadline",
            "k steps to 90 %",
            "times those without",
            "maps that get there",
            "shortest at the end",
        ]
        tables.append(markdown_table(head, rows))
    if exact := parts.get("exact"):
        rows = []
        for factor in FACTORS:
            mine = [row for row in exact if row["factor"] == factor]
            cells = []
            for slip in SLIPS:
                chances = [row["chances"][f"{slip:g}"] for row in mine]
                cells.append(f"{np.median(chances):.3f} ({min(chances):.3f} to {max(chances):.3f})")
            rows.append((f"{factor:g} d", *cells))
        tables.append(markdown_table(["deadline", *(f"slip {slip:g}" for slip in SLIPS)], rows))
    return "\n".join(tables)


def format_steps(steps: float) -> str:
    """Return thousands of steps, '-' where there are none."""
    return f"{steps / 1000:.0f}" if math.isfinite(steps) else "-"


def format_ratio(ratio: float) -> str:
    """Return a ratio, '-' where most runs never get there."""
    return f"{ratio:.1f}" if math.isfinite(ratio) else "-"


def interval_of_median(values: Array) -> tuple[float, float]:
    """Return a 95 % interval of the median by resampling maps."""
    draws = np.random.default_rng(0).integers(0, len(values), (2000, len(values)))
    medians = np.sort(np.median(values[draws], axis=1))
    return float(medians[50]), float(medians[-51])


def main() -> None:
    """Run the parts that are asked for, then judge all that are there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, "judge", []], help="which parts (default: all)")
    parser.add_argument("--maps", type=int, default=30)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("results/deadline"))
    arguments = parser.parse_args()
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    for name in arguments.parts or PARTS:
        if name != "judge":
            begun = time.perf_counter()
            rows = PARTS[name](arguments.maps, arguments.workers, out)
            (out / f"{name}.json").write_text(json.dumps(rows, indent=1))
            sys.stdout.write(f"{name}: {len(rows)} rows in {time.perf_counter() - begun:.0f} s\n")
            sys.stdout.flush()
    files = {name: out / f"{name}.json" for name in PARTS}
    findings = write_findings({n: json.loads(file.read_text()) for n, file in files.items() if file.is_file()})
    (out / "findings.md").write_text(findings)
    sys.stdout.write(f"{findings}\n")


if __name__ == "__main__":
    main()
