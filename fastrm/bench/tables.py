"""Tables for the terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table


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
    table = _table("Growth with the grid", "side", "qrm ns/step", "crm ns/step", "hrm ns/step")
    for row in report["growth"]["grid_side"]:
        table.add_row(str(row["side"]), *(f"{row[f'{algo}_ns_per_step']:.1f}" for algo in ("qrm", "crm", "hrm")))
    console.print(table)
    console.print(f"two workers: {report['scaling']['speedup']:.2f} x one")


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for k, column in enumerate(columns):
        table.add_column(column, justify="left" if k == 0 or column == "machine" else "right")
    return table


def _ratio(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
