"""Tables for the terminal."""

from __future__ import annotations

import math
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from fastrm.experiments import Plan, work
from fastrm.results import Results
from fastrm.worlds import WALL, GridMap

MAX_DRAWN = 80


def print_speed(report: dict[str, Any]) -> None:
    """Print the report of ``speed``."""
    console = Console()
    machine = report["machine"]
    console.print(f"{machine['cpu']}, {machine['cores']} cores, numba {machine['numba']}, Python {machine['python']}")
    table = _table("One core, 41 x 41, task a-b-c", "learner", "machine", "M steps/s", "vs C", "vs naive", "compile s")
    for row in report["kernels"]:
        table.add_row(
            row["algo"], row["kind"], f"{row['steps_per_s'] / 1e6:.1f}", _ratio(row["vs_c"], 2),
            _ratio(row["vs_naive"], 0), f"{row['compile_s']:.1f}",
        )  # fmt: skip
    console.print(table)
    for note in dict.fromkeys(row["c_note"] for row in report["kernels"] if row["c_note"]):
        console.print(f"no C column: {note}")
    table = _table("CRM, growth with machine states", "states", "ns/step", "ns/update")
    for row in report["growth"]["machine_states"]:
        table.add_row(str(row["states"]), f"{row['ns_per_step']:.1f}", f"{row['ns_per_update']:.2f}")
    console.print(table)
    table = _table("CRM, targets in any order", "targets", "states", "ns/update", "compile s")
    for row in report["growth"]["any_order"]:
        figures = f"{row['ns_per_update']:.2f}", f"{row['compile_s']:.2f}"
        table.add_row(str(row["targets"]), str(row["states"]), *figures)
    console.print(table)
    table = _table("Growth with the grid", "side", "qrm ns/step", "crm ns/step", "hrm ns/step")
    for row in report["growth"]["grid_side"]:
        table.add_row(str(row["side"]), *(f"{row[f'{algo}_ns_per_step']:.1f}" for algo in ("qrm", "crm", "hrm")))
    console.print(table)
    console.print(f"two workers: {report['scaling']['speedup']:.2f} x one")
    if envs := report["vector_environment"]:
        console.print(
            f"{envs['environments']} environments in one: {envs['steps_per_s'] / 1e6:.1f} M steps/s, "
            f"{envs['vs_sync']:.0f} x SyncVectorEnv"
        )
    cold = report["cold_compile_s"]
    parts = ", ".join(f"{name} {seconds:.1f}" for name, seconds in cold.items())
    console.print(f"compiling everything without a cache: {sum(cold.values()):.1f} s ({parts})")


def print_forecast(plan: Plan, out: Path) -> None:
    """Print what a plan would run, how long it would take and how large the file would be, from a short calibration."""
    console = Console(highlight=False)
    calibration = replace(plan, grids=plan.grids[:1], seeds=1, steps=min(plan.steps, 10 * plan.learner.tick))
    work(calibration.to_json(), range(calibration.count))  # compile first
    begun = time.perf_counter()
    work(calibration.to_json(), range(calibration.count))
    per_step = (time.perf_counter() - begun) / (calibration.count * calibration.steps)
    steps, cores = plan.count * plan.steps, os.cpu_count() or 1
    size = plan.count * (300 + 12 * len(plan.step))
    console.print(
        f"{len(plan.grids)} maps x {len(plan.tasks)} tasks x {len(plan.methods)} methods x {plan.seeds} seeds = "
        f"{plan.count} runs of {plan.steps:,} steps: {steps / 1e9:.3g} billion steps"
    )
    console.print(f"about {steps * per_step / cores:.0f} s on {cores} cores, at most {size / 1e6:.1f} MB in {out}")
    for setup, name, _ in plan.grids:
        console.print(f"  map {setup} {name}")
    console.print(
        f"  tasks {', '.join(name for name, _ in plan.tasks)}; "
        f"methods {', '.join(method.label for method in plan.methods)}"
    )


def print_summary(results: Results) -> None:
    """Print medians per setup, task and method."""
    console = Console(highlight=False)
    console.print(f"{results!r} in {results.path}", markup=False, soft_wrap=True)
    if not results.runs:
        return
    table = _table("medians", "setup", "task", "method", "runs", "score", "to 90 %", "shortest")
    for row in results.summary():
        if row["runs"]:
            table.add_row(
                row["setup"], row["task"], row["label"], str(row["runs"]), show_score(row["score_50"]),
                show_steps(row["steps_to_90_50"]), f"{row['shortest']:.0%}",
            )  # fmt: skip
    console.print(table)


def show_score(score: float) -> str:
    """Write a score, or that there is none."""
    return "-" if math.isnan(score) else f"{score:.3f}"


def show_steps(steps: float) -> str:
    """Write a number of steps, or that it is never reached."""
    return "never" if math.isinf(steps) else f"{steps:,.0f}"


def print_info(results: Results) -> None:
    """Print the shape and the provenance of a result file."""
    console = Console(highlight=False)
    console.print(repr(results))
    attributes = results.attributes
    for name in ("started", "ended", "command", "fastrm", "git_commit", "schema", "semantics", "machine", "experiment"):
        console.print(f"  {name:11} {attributes.get(name, '')}", soft_wrap=True, markup=False)
    failed = results["error"] != ""
    if failed.any():
        console.print(f"  {failed.sum()} runs failed; the first: {results['error'][failed][0]}", markup=False)


_COLOURS = {"shortest": "green", "undecided": "yellow", "never finishes": "red"}


def print_check(grid: GridMap, report: dict[str, Any]) -> None:
    """Print the report of ``check``."""
    console = Console(highlight=False)
    verdict = report["verdict"]
    console.print(f"[bold {_COLOURS.get(verdict, 'yellow')}]{verdict}[/] at gamma {report['gamma']:g}")
    if report["reason"]:
        console.print(f"no verdict: {report['reason']}", markup=False)
    length = "never finishes" if report["optimal_length"] is None else f"{report['optimal_length']} steps"
    console.print(f"  optimal policy   {length}, return {report['optimal_return']:.8g}")
    console.print(f"  shortest path    {report['shortest_length']} steps, return {report['shortest_return']:.8g}")
    console.print(f"  optimal ARpS     {report['optimal_arps']:.8g} (task reward per step, epsilon 0.1)")
    if "critical_reward" in report:
        _print_thresholds(console, report)
    if report["leaves_at"]:
        row, column = report["leaves_at"]
        console.print(f"  leaves the shortest routes at row {row}, column {column}; machine state {report['state']}")
    for finding in report.get("findings", ()):
        console.print(f"  [yellow]{finding['kind']}[/]: {escape(finding['message'])}")
    for warning in report["warnings"]:
        console.print(f"  [yellow]warning[/]: {escape(warning)}")
    if max(grid.size) <= MAX_DRAWN:
        console.print(draw_witness(grid, report))
    else:
        console.print(f"  (a map of {grid.size[0]} x {grid.size[1]} is not drawn)")


def _print_thresholds(console: Console, report: dict[str, Any]) -> None:
    console.print(f"  terminal reward  above {report['critical_reward']:.8g} every optimal path is a shortest one")
    if report["critical_step_reward"] is not None:
        console.print(f"  step reward      below {report['critical_step_reward']:.8g}")
    low, high = report["gamma_interval"] or (None, None)
    interval = "none" if low is None else f"{low:.6f} to {high:.6f}"
    console.print(f"  gamma            {interval}")
    hrm = "a loop: it never finishes" if report["hrm_length"] is None else f"{report['hrm_length']} steps"
    loss = f", losing {report['hrm_regret']:.6g} of return" if report["hrm_regret"] > 1e-9 else ""
    console.print(f"  HRM settles on   {hrm}{loss}")


def draw_witness(grid: GridMap, report: dict[str, Any]) -> Text:
    """Draw the map with the path of the optimal policy (o), its loop (@) and where it leaves the shortest route (!)."""
    tiles = [list(row) for row in grid.rows]
    marks = [(report["path"], "o"), (report["loop"], "@"), ([report["leaves_at"]] if report["leaves_at"] else [], "!")]
    styles: dict[tuple[int, int], str] = {}
    for cells, mark in marks:
        for row, column in cells:
            styles[row, column] = {"o": "green", "@": "bold red", "!": "bold yellow"}[mark]
            if tiles[row][column] in " o@":
                tiles[row][column] = mark
    text = Text()
    for r, line in enumerate(grid.render(["".join(row) for row in tiles]).splitlines()):
        for c, tile in enumerate(line):
            cell = ((r + 1) // 2, (c + 1) // 2) if grid.fences else (r, c)  # with fences at twice the size
            is_cell = not grid.fences or (r % 2 and c % 2)
            style = styles.get(cell, "") if is_cell and tile != WALL else "dim"
            text.append("#" if tile == WALL else tile, style)
        text.append("\n")
    text.append("o optimal path" + ("   @ its loop" if report["loop"] else ""))
    text.append("   ! leaves the shortest routes" if report["leaves_at"] else "")
    return text


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for k, column in enumerate(columns):
        left = k == 0 or column in ("machine", "task", "method")
        table.add_column(column, justify="left" if left else "right", no_wrap=True)
    return table


def _ratio(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
