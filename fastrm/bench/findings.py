"""``findings``: what a result file shows about kinds of reward and initial values, as Markdown tables."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from fastrm.bench.console import add_json, print_json, refuse_if_all_failed, say, say_failures, state_of
from fastrm.errors import printable

if TYPE_CHECKING:
    from fastrm.results import Results
    from fastrm.studies import Agreement, Certified, Difference, Point

PAIRS = (("crm-dtg", "crm-bool"), ("crm-dtg", "crm-num-bool"), ("crm-dtg", "crm-num"), ("crm-pot", "crm-bool"))
"""What is compared, where the file has it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("file", metavar="FILE", help="a result file, such as that of suite beyond")
    parser.add_argument("--by-task", action="store_true", help="a row per task, instead of all tasks together")
    parser.add_argument("--no-exact", action="store_true", help="leave out the exact verdicts, which take a while")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the tables."""
    from fastrm.results import load

    results = load(arguments.file)
    refuse_if_all_failed(results)
    say_failures(results)
    if not results.complete:
        say(f"{state_of(results)}; told from the runs that are there")
    if arguments.json:
        print_json(as_dict(results, by_task=arguments.by_task, exact=not arguments.no_exact))
        return 0
    for part in tables(results, by_task=arguments.by_task, exact=not arguments.no_exact):
        sys.stdout.write(part)
        sys.stdout.flush()
    return 0


def as_dict(results: Results, by_task: bool = False, exact: bool = True) -> dict[str, Any]:
    """Return the findings for programs."""
    from fastrm.studies import agreement, certified, differences, sweep, verdicts

    found: dict[str, Any] = {
        "sweep": list(sweep(results, tasks=by_task)),
        "differences": list(differences(results, PAIRS)),
    }
    if exact and not results.plan.slip:
        known = verdicts(results.plan)
        found |= {"certified": list(certified(results.plan, known)), "agreement": list(agreement(results, known))}
    return found


def tables(results: Results, by_task: bool = False, exact: bool = True) -> Iterator[str]:
    """Yield the tables as Markdown, one after the other."""
    from fastrm.studies import agreement, certified, differences, sweep, verdicts

    points = list(sweep(results, tasks=by_task))
    yield "Share of runs that end with a shortest path, by start of the values; 95 % interval over maps.\n\n"
    yield _by_start(points, lambda point: str(point.shortest))
    yield "\nSteps to 90 % of the optimum: median (quartiles), in thousands.\n\n"
    yield _by_start(points, _steps)
    if gaps := list(differences(results, PAIRS)):
        yield (
            "\nDifference of the mean score over the whole run on the same maps, tasks and seeds, with its 95 % "
            "interval over maps, and the share of pairs of runs in which the first is above (ties count half). The "
            "verdict is on the first being above, by the share of maps on which it is on average.\n\n"
        )
        yield _differences(gaps)
    if exact and results.plan.slip:
        yield "\nVerdicts about shortest paths are for moves that do not slip.\n"
    elif exact:
        yield "\nProblems on which all optimal policies take shortest paths (exact, before any learning).\n\n"
        known = verdicts(results.plan)
        yield _certified(list(certified(results.plan, known)))
        yield "\nRuns that end with a shortest path, where a problem is certified and where it is not.\n\n"
        yield _agreement(list(agreement(results, known)))


def _by_start(points: Sequence[Point], cell: Callable[[Point], str]) -> str:
    from fastrm.studies import by_optimism

    starts = sorted(dict.fromkeys(point.optimism for point in points), key=by_optimism)
    found = {(point.setup, point.method, point.optimism): cell(point) for point in points}
    rows = dict.fromkeys((point.setup, point.method) for point in points)
    return _table(
        ["maps", "method", *map(_start, starts)],
        ([*row, *(found.get((*row, start), "") for start in starts)] for row in rows),
    )


def _steps(point: Point) -> str:
    low, middle, high = ("never" if math.isinf(n) else f"{n / 1000:.0f}" for n in point.steps)
    return middle if low == middle == high else f"{middle} ({low} to {high})"


def _differences(gaps: Sequence[Difference]) -> str:
    starts = list(dict.fromkeys(gap.optimism for gap in gaps))
    found = {
        (gap.setup, gap.one, gap.two, gap.optimism): f"{gap.area} ({gap.probability:.1%}): {gap.above.verdict}"
        for gap in gaps
    }
    rows = dict.fromkeys((gap.setup, gap.one, gap.two) for gap in gaps)
    return _table(
        ["maps", "one minus the other", *map(_start, starts)],
        ([row[0], f"{row[1]} - {row[2]}", *(found.get((*row, start), "") for start in starts)] for row in rows),
    )


def _certified(rows: Sequence[Certified]) -> str:
    kinds = list(dict.fromkeys(row.kind for row in rows))
    found = {(row.setup, row.kind): f"{row.shortest} of {row.problems}" for row in rows}
    setups = dict.fromkeys(row.setup for row in rows)
    return _table(["maps", *kinds], ([setup, *(found[setup, kind] for kind in kinds)] for setup in setups))


def _agreement(rows: Sequence[Agreement]) -> str:
    return _table(
        ["", "certified", "not certified"],
        ([_start(r.optimism), f"{r.shortest} of {r.certified}", f"{r.shortest_elsewhere} of {r.others}"] for r in rows),
    )


def _start(start: float | None) -> str:
    return "q_init as set" if start is None else f"start {start:g}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    shown = ([printable(cell).replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in shown)
