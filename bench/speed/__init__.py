"""``speed``: steps per second of every kernel beside the C limit and the naive oracle, as ratios taken in one run."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.console import Console

from fastrm.errors import ConfigError

from ..console import add_json, add_learner_file, add_quiet, as_json, new_table, print_json, writing

_log = logging.getLogger("fastrm.bench")
IDLE = 1.9
"""Cores that two threads have at least while no other program wants one."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--repeats", metavar="N", type=int, default=7, help="repeats; the best one counts (default 7)")
    parser.add_argument("--steps", metavar="N", type=int, default=2_000_000, help="steps of a repeat (default 2000000)")
    add_learner_file(parser)
    parser.add_argument("--out", metavar="FILE", type=Path, help="also write the figures to FILE, as JSON")
    add_json(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure, print and write."""
    if arguments.repeats < 1 or arguments.steps < 10_000:
        raise ConfigError("--repeats must be at least 1 and --steps at least 10000")
    if arguments.out is not None:
        with writing(arguments.out, start="--out "), arguments.out.open("a"):  # better now than after two minutes
            pass
    from fastrm.results import describe_machine

    from . import measure  # numba is imported only now

    with Console(stderr=True, quiet=arguments.quiet).status("measuring") as status:

        def announce(text: str) -> None:
            _log.info("%s", text)
            status.update(text)

        figures = measure.everything(arguments.steps, arguments.repeats, announce)
    report = {"machine": describe_machine(), **figures}
    if arguments.out is not None:
        arguments.out.write_text(as_json(report))
    if arguments.json:
        print_json(report)
    elif not arguments.quiet:
        print_speed(report)
    return 0


def print_speed(report: dict[str, Any]) -> None:
    """Print the report."""
    from fastrm.machines import SHORT_KINDS

    console = Console()
    machine = report["machine"]
    console.print(f"{machine['cpu']}, {machine['cores']} cores, numba {machine['numba']}, Python {machine['python']}")
    table = new_table(
        "One core, task a-b-c: M steps/s of one run and of six; / C, / C three in turn",
        "learner", "machine", "side", "one", "/C", "/naive", "six", "/C", "/C x 3",
    )  # fmt: skip
    table.box, table.padding = SIMPLE, (0, 1, 0, 0)  # names of learners are long
    short = {kind: name for name, kind in SHORT_KINDS.items()}
    for row in report["kernels"]:
        table.add_row(
            row["algo"], short[row["kind"]], str(row["side"]), f"{row['steps_per_s'] / 1e6:.1f}",
            format_ratio(row["vs_c"], 2), format_ratio(row["vs_naive"], 0), f"{row['steps_per_s_six'] / 1e6:.1f}",
            format_ratio(row["six_vs_c"], 2), format_ratio(row["six_vs_lanes_in_c"], 2),
        )  # fmt: skip
    console.print(table)
    for note in dict.fromkeys(row["c_note"] for row in report["kernels"] if row["c_note"]):
        console.print(f"no C column: {note}")
    growth = report["growth"]
    rows: list[tuple[str, ...]] = [
        (str(row["states"]), f"{row['ns_per_step']:.1f}", f"{row['ns_per_update']:.2f}")
        for row in growth["machine_states"]
    ]
    console.print(new_table("CRM, growth with machine states", "states", "ns/step", "ns/update", rows=rows))
    rows = [
        (str(row["targets"]), str(row["states"]), f"{row['ns_per_update']:.2f}", f"{row['compile_s']:.2f}")
        for row in growth["any_order"]
    ]
    console.print(new_table("CRM, targets in any order", "targets", "states", "ns/update", "compile s", rows=rows))
    rows = [
        (str(row["targets"]), f"{row['coupled_ns_per_step']:.1f}", format_ratio(row["planning_ns_per_step"], 1),
         f"{row['coupled_bytes'] / 1e6:.2f}", format_ratio(row["crm_ns_per_step"], 1),
         format_ratio(row["crm_bytes"] and row["crm_bytes"] / 1e6, 2))
        for row in growth["agendas"]
    ]  # fmt: skip
    columns = "targets", "coupled", "+ plans", "MB", "CRM", "MB"
    console.print(new_table("Targets in any order: ns/step and MB a run", *columns, rows=rows))
    console.print(f"two workers: {describe_scaling(report['scaling'])}")
    if envs := report["vector_environment"]:
        console.print(
            f"{envs['environments']} environments in one: {envs['steps_per_s'] / 1e6:.1f} M steps/s, "
            f"{envs['vs_sync']:.0f} x SyncVectorEnv"
        )
    print_water(console, report["water"])
    cold = report["cold_compile_s"]
    parts = ", ".join(f"{name} {seconds:.1f}" for name, seconds in cold.items())
    console.print(f"compiling everything without a cache: {sum(cold.values()):.1f} s ({parts})")


def describe_scaling(found: dict[str, Any]) -> str:
    """Format how much faster two workers are, and whether they had two cores: other programs take some.

    >>> describe_scaling({"speedup": 1.93, "cores": 1.98}), describe_scaling({"speedup": 1.09, "cores": 1.2})
    ('1.93 x one', '1.09 x one (the computer was busy, they had 1.2 cores: measure again)')
    """
    busy = found["cores"] < IDLE
    note = f" (the computer was busy, they had {found['cores']:.1f} cores: measure again)" if busy else ""
    return f"{found['speedup']:.2f} x one{note}"


def print_water(console: Console, water: dict[str, Any]) -> None:
    """Print the part about Water world."""
    states = sorted({row["states"] for row in water["learners"]})
    rates: dict[tuple[str, str], list[str]] = {}
    for row in water["learners"]:
        rates.setdefault((row["algo"], row["features"]), []).append(f"{row['steps_per_s'] / 1e6:.2f}")
    rows = ((*names, *cells) for names, cells in rates.items())
    title = "Water world: M steps/s by machine states"
    console.print(new_table(title, "learner", "features", *map(str, states), rows=rows))
    for row in water["environments"] or []:
        console.print(
            f"{row['environments']} water environments in one, observing {row['observation']}: "
            f"{row['steps_per_s'] / 1e6:.1f} M steps/s"
        )


def format_ratio(value: float | None, digits: int) -> str:
    """Format a ratio, or '-' for None."""
    return "-" if value is None else f"{value:.{digits}f}"
