"""``findings``: what a result file shows about kinds of reward and initial values, as Markdown tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastrm.errors import ConfigError, printable

from .console import add_file, add_json, describe_state, load_results, print_json, print_message

if TYPE_CHECKING:
    from fastrm.results import Results


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_file(parser, "a result file, such as that of suite beyond")
    parser.add_argument("--by-task", action="store_true", help="a row per task, instead of all tasks together")
    parser.add_argument("--no-exact", action="store_true", help="leave out the exact verdicts, which take a while")
    parser.add_argument("--figure", metavar="FILE", type=Path, help="also draw the differences, as .png, .pdf or .svg")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the tables."""
    results = load_results(arguments.file)
    if not results.complete:
        print_message(f"{describe_state(results)}; told from the runs that are there")
    if arguments.figure is not None:
        _draw(results, arguments.figure)
    wanted = {"by_task": arguments.by_task, "exact": not arguments.no_exact}
    if arguments.json:
        print_json(as_dict(results, **wanted))
        return 0
    for part in as_markdown(results, **wanted):
        sys.stdout.write(part)
        sys.stdout.flush()
    return 0


def _draw(results: Results, out: Path) -> None:
    """Draw how much methods differ at the lowest start of their values, task by task."""
    from fastrm.plots import by_optimism, draw_gaps, save

    from .studies.findings import differences

    if out.suffix not in (".png", ".pdf", ".svg"):
        raise ConfigError(f"--figure {out}: must end in .png, .pdf or .svg")
    gaps = list(differences(results, tasks=True))
    if not gaps:
        raise ConfigError("--figure: the file has none of the pairs of methods that findings compare")
    least = min((gap.optimism for gap in gaps), key=by_optimism)
    rows = [
        (gap.setup.partition(", task ")[0], f"{gap.one} - {gap.two}, {gap.setup.partition(', task ')[2]}", *gap.area)
        for gap in gaps
        if gap.optimism == least
    ]
    save(draw_gaps(rows), out)


def as_dict(results: Results, by_task: bool = False, exact: bool = True) -> dict[str, Any]:
    """Return the findings for programs."""
    from fastrm.plots import start_points

    from .studies.findings import agreement, certified, differences, verdicts

    found: dict[str, Any] = {
        "sweep": list(start_points(results, tasks=by_task)),
        "differences": list(differences(results)),
    }
    if exact and not results.plan.slip:
        known = verdicts(results.plan)
        found |= {"certified": list(certified(results.plan, known)), "agreement": list(agreement(results, known))}
    return found


def as_markdown(results: Results, by_task: bool = False, exact: bool = True) -> Iterator[str]:
    """Yield the tables as Markdown, one after the other."""
    from .studies.findings import findings_tables

    for k, table in enumerate(findings_tables(results, by_task=by_task, exact=exact)):
        yield ("\n" if k else "") + table["title"] + ".\n"
        if table["rows"]:
            lines = [table["head"], ["---"] * len(table["head"]), *table["rows"]]
            cells = ([printable(cell).replace("|", "\\|") for cell in line] for line in lines)
            yield "\n" + "".join(f"| {' | '.join(line)} |\n" for line in cells)
