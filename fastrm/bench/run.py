"""``run``: run an experiment, or go on with it."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastrm.errors import ConfigError

if TYPE_CHECKING:
    from fastrm.results import Results

INTERRUPTED = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("suite", metavar="SUITE", help="paper, quick, or a .toml file")
    parser.add_argument("--out", type=Path, metavar="FILE", help="result file (default results/SUITE.h5)")
    parser.add_argument("-j", "--workers", type=int, metavar="N", help="workers (default: all cores)")
    parser.add_argument("--isolation", choices=("thread", "process"), default="thread", help="threads or processes")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="run on the Dask cluster at ADDRESS")
    parser.add_argument("--shard", metavar="i/N", help="run only part i of N; join the parts with 'merge'")
    for name in ("steps", "seeds", "maps"):
        parser.add_argument(f"--{name}", type=int, metavar="N", help=f"{name} instead of the suite's")
    parser.add_argument("--report", action="store_true", help="then draw the figures and judge the paper's claims")
    parser.add_argument("--fresh", action="store_true", help="start over; an old file is kept as .bak")
    parser.add_argument("--dry-run", action="store_true", help="say what would run, how long and how large")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")


def run(options: argparse.Namespace) -> int:
    """Run the experiment and print a summary."""
    from fastrm import runner
    from fastrm.bench.tables import print_forecast, print_summary
    from fastrm.experiment import Experiment
    from fastrm.plan import Plan

    experiment = Experiment.named(options.suite)
    plan = Plan.of(experiment.changed(steps=options.steps, seeds=options.seeds, maps=options.maps))
    shard = parse_shard(options.shard)
    out = options.out or default_path(experiment.name, shard)
    if options.dry_run:
        print_forecast(plan, out)
        return 0
    with progress_bar(quiet=options.quiet) as report:
        try:
            results = runner.run(
                plan, out, workers=options.workers, isolation=options.isolation, scheduler=options.scheduler,
                shard=shard, fresh=options.fresh, report=report,
            )  # fmt: skip
        except runner.Interrupted as stop:
            sys.stderr.write(f"fastrm: {stop}\n")
            return INTERRUPTED
    if not options.quiet and not options.report:
        print_summary(results)
    if options.report:
        report_on(results, out.with_suffix(""), quiet=options.quiet)
    failed = results["error"] != ""
    if failed.any():
        first = results["error"][failed][0]
        sys.stderr.write(f"fastrm: {failed.sum()} runs failed; the first: {first}\n")
        return 1
    return 0


def report_on(results: Results, folder: Path, quiet: bool) -> None:
    """Draw the figures, judge the claims, and say where everything is."""
    from fastrm.bench.plot import draw
    from fastrm.bench.reports import claims_as_markdown, print_claims
    from fastrm.claims import judge

    paths = draw(results, folder)
    judged = {str(results.path): judge(results)}
    paths.append(folder / "claims.md")
    paths[-1].write_text(claims_as_markdown(judged))
    if not quiet:
        print_claims(judged)
        sys.stdout.write(f"{results!r} in {results.path}\n")
        sys.stdout.write(f"{', '.join(path.name for path in paths)} in {folder}\n")


def default_path(name: str, shard: tuple[int, int] | None) -> Path:
    """Return where the results of a suite go: the folder ``results`` where there is one, else here."""
    suffix = "" if shard is None else f".shard-{shard[0]}-of-{shard[1]}"
    folder = Path("results")
    return (folder if folder.is_dir() else Path()) / f"{name}{suffix}.h5"


def parse_shard(text: str | None) -> tuple[int, int] | None:
    """Read ``i/N``."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise ConfigError(f"--shard {text}: expected i/N with i from 1 to N, such as 1/4")
    return int(match[1]), int(match[2])


def _say_what_is_left(progress: Any) -> None:
    if not progress.runs_done:
        sys.stderr.write(f"fastrm: {progress.runs} runs to do, {progress.before} done before\n")


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[Any], None] | None]:
    """Show runs, steps a second and time left while standard error is a terminal."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        yield _say_what_is_left
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("runs"),
        TextColumn("{task.fields[rate]}"), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("learning", total=None, rate="")

        def report(progress: Any) -> None:
            rate = progress.runs_done * progress.steps / max(progress.seconds, 1e-9)
            bar.update(task, total=progress.runs, completed=progress.runs_done, rate=f"{rate / 1e6:.0f} M steps/s")

        yield report
