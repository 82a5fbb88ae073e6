"""``water``: run a study on Water world, or tell what its runs show."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fastrm.errors import ConfigError, printable

from .console import INTERRUPTED, add_json, add_quiet, print_json, print_message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .studies.water import Cell, Gap

PAIRS = (("num-bool", "bool"), ("num", "bool"), ("num-bool", "num"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "files", metavar="FILE", nargs="+", type=Path, help="a study (.toml) to run, or tables of its runs (.csv)"
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        help="of a study: where its runs go, such as runs.csv; an unfinished table is resumed",
    )
    parser.add_argument(
        "--worlds",
        metavar="FILE",
        type=Path,
        help="of a study: run it on all worlds of a file such as worlds.json instead",
    )
    parser.add_argument("--figure", metavar="FILE", type=Path, help="of tables: draw the differences, as .png or .pdf")
    parser.add_argument("-j", "--workers", type=int, metavar="N", help="of a study: workers (default: one per core)")
    parser.add_argument("--shard", metavar="K/N", help="of a study: only the K-th part of N of its worlds")
    add_json(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run a study, or print the findings of tables."""
    forms = {path.suffix for path in arguments.files}
    if forms == {".csv"}:
        for name in ("out", "shard", "workers", "worlds"):
            if getattr(arguments, name) is not None:
                raise ConfigError(f"--{name}: is for a study that is run, not for tables of runs")
        return tell(arguments.files, arguments.figure, as_json=arguments.json)
    if len(arguments.files) != 1 or forms != {".toml"}:
        raise ConfigError("give one study (.toml) to run, or tables of runs (.csv) to tell of")
    if arguments.out is None or arguments.out.suffix != ".csv":
        raise ConfigError("--out: name the table of runs that a study writes, such as --out runs.csv")
    if arguments.figure is not None:
        raise ConfigError("--figure: is for tables of runs, not for a study that is run")
    return run_one(arguments)


def run_one(arguments: argparse.Namespace) -> int:
    """Run a study, or what its table does not hold yet."""
    from fastrm.experiments import WaterStudy, fill_table, study_worlds

    study = WaterStudy.load(arguments.files[0])
    worlds = study_worlds(study, arguments.worlds)
    if arguments.shard is not None:
        part, slash, parts = arguments.shard.partition("/")
        if not (slash and part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
            raise ConfigError(f"--shard {arguments.shard}: must be such as 1/2, the first of two parts")
        worlds = worlds[int(part) - 1 :: int(parts)]
    total = study.count(len(worlds))

    shown = 0

    def report_progress(done: int) -> None:
        nonlocal shown
        if not arguments.quiet and (done == total or done * 20 // total > shown):
            shown = done * 20 // total
            print_message(f"{done} of {total} runs")

    try:
        count = fill_table(study, worlds, arguments.out, workers=arguments.workers, tell=report_progress)
    except KeyboardInterrupt:
        print_message(
            f"interrupted; finished runs are in {printable(str(arguments.out))}, and the same command resumes"
        )
        return INTERRUPTED
    sys.stdout.write(f"{count} runs in {printable(str(arguments.out))}\n")
    return 0


def tell(paths: Sequence[Path], figure: Path | None, as_json: bool) -> int:
    """Print what the runs show, as Markdown tables; draw the differences where asked to."""
    from fastrm.experiments import read_table

    from .studies.water import water_cells, water_gaps

    rows = []
    for path in paths:
        found = read_table(path)
        if not found:
            raise ConfigError(f"{printable(str(path))}: holds no runs yet; run its study first")
        rows += found
    cells, gaps = list(water_cells(rows)), list(water_gaps(rows, PAIRS))
    if figure is not None:
        _draw(gaps, figure)
    if as_json:
        print_json({"cells": cells, "gaps": gaps})
        return 0
    sys.stdout.write(
        "Mean score over the whole run, by where initial values lie; 95 % interval over worlds.\n\n"
        + _by_optimism(cells, lambda cell: str(cell.area))
        + "\nShare of greedy policies that complete the task, and the median of their steps to the fewest.\n\n"
        + _by_optimism(cells, lambda cell: f"{cell.completes.mean:.0%}, {cell.ratio:.2f}")
        + "\nDifference of the mean score on the same worlds and seeds; 95 % interval over worlds. The verdict is on "
        "the first being above, by the share of worlds on which it is on average.\n\n" + _gap_table(gaps)
    )
    return 0


def _draw(gaps: Sequence[Gap], out: Path) -> None:
    from fastrm.plots import draw_gaps, save

    if out.suffix not in (".png", ".pdf", ".svg"):
        raise ConfigError(f"--figure {out}: must end in .png, .pdf or .svg")
    least = min(gap.optimism for gap in gaps)
    rows = [
        (gap.way, f"{gap.one} - {gap.two}, {gap.task}", *gap.area)
        for gap in gaps
        if gap.optimism == least and gap.two == "bool"
    ]
    save(draw_gaps(rows), out)


def _by_optimism(cells: Sequence[Cell], shown: Callable[[Cell], str]) -> str:
    starts = sorted({cell.optimism for cell in cells})
    found = {(cell.way, cell.task, cell.kind, cell.optimism): shown(cell) for cell in cells}
    rows = dict.fromkeys((cell.way, cell.task, cell.kind) for cell in cells)
    head = ["way", "task", "kind", *(f"@{start:g}" for start in starts)]
    return _table(head, ([*row, *(found.get((*row, start), "") for start in starts)] for row in rows))


def _gap_table(gaps: Sequence[Gap]) -> str:
    starts = sorted({gap.optimism for gap in gaps})
    found = {(gap.way, gap.one, gap.two, gap.task, gap.optimism): f"{gap.area}: {gap.above.verdict}" for gap in gaps}
    rows = dict.fromkeys((gap.way, gap.one, gap.two, gap.task) for gap in gaps)
    head = ["way", "one minus the other", "task", *(f"@{start:g}" for start in starts)]
    return _table(
        head,
        ([way, f"{one} - {two}", task, *(found.get((way, one, two, task, s), "") for s in starts)]
         for way, one, two, task in rows),
    )  # fmt: skip


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, ["---"] * len(head), *rows))
