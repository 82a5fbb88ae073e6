"""``run``: run an experiment, or go on with it."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastrm.errors import ConfigError, FastrmError

if TYPE_CHECKING:
    from fastrm.experiments import Experiment
    from fastrm.results import Results

INTERRUPTED = 3
CHANGES = ("steps", "seeds", "maps")
"""Settings of a suite that the command line may replace."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("suite", metavar="SUITE", help="paper, quick, icarte, beyond, or a .toml file")
    parser.add_argument("--out", type=Path, metavar="FILE", help="result file (default SUITE.h5)")
    parser.add_argument("-j", "--workers", type=int, metavar="N", help="workers (default: all cores)")
    parser.add_argument("--isolation", choices=("thread", "process"), default="thread", help="threads or processes")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="run on the Dask cluster at ADDRESS")
    parser.add_argument("--shard", metavar="i/N", help="run only part i of N; join the parts with 'merge'")
    for name in CHANGES:
        parser.add_argument(f"--{name}", type=int, metavar="N", help=f"{name} instead of the suite's")
    parser.add_argument("--reference", metavar="DIR", help="published data, for icarte (default: FASTRM_REFERENCE)")
    parser.add_argument("--episodes", type=Path, metavar="DIR", help="also write every episode as 0.0.monitor.csv")
    parser.add_argument(
        "--report", action="store_true", help="then draw the figures and judge the paper's claims, or tell findings"
    )
    parser.add_argument("--fresh", action="store_true", help="start over; an old file is kept as .bak")
    parser.add_argument("--dry-run", action="store_true", help="say what would run, how long and how large")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")


def run(options: argparse.Namespace) -> int:
    """Run the experiment, or each of a series, and print a summary."""
    from fastrm.experiments import read_suite

    changes = {name: getattr(options, name) for name in CHANGES}
    experiments = read_suite(options.suite, options.reference, **changes)
    if len(experiments) > 1 and options.out:
        names = ", ".join(experiment.name for experiment in experiments)
        raise ConfigError(f"{options.suite} is a series; --out goes with one of {names}")
    worst = 0
    for experiment in experiments:
        code = run_one(experiment, options)
        if code == INTERRUPTED:
            return code
        worst = max(worst, code)
    return worst


def run_one(experiment: Experiment, options: argparse.Namespace) -> int:
    """Run one experiment and print a summary."""
    from fastrm.bench.plot import folder_of
    from fastrm.bench.tables import print_forecast, print_summary
    from fastrm.experiments import Interrupted, Plan, run as run_plan, write_episodes

    plan = Plan.of(experiment)
    shard = parse_shard(options.shard)
    out = options.out or default_path(experiment.name, shard)
    if options.dry_run:
        print_forecast(plan, out)
        return 0
    with progress_bar(quiet=options.quiet) as report:
        try:
            results = run_plan(
                plan, out, workers=options.workers, isolation=options.isolation, scheduler=options.scheduler,
                shard=shard, fresh=options.fresh, report=report,
            )  # fmt: skip
        except Interrupted as stop:
            sys.stderr.write(f"fastrm: {stop}\n")
            return INTERRUPTED
    if options.episodes is not None:
        written = write_episodes(plan, results["run"].tolist(), options.episodes, workers=options.workers)
        if not options.quiet:
            sys.stderr.write(f"fastrm: {written} logs of episodes in {options.episodes}\n")
    if not options.quiet and not options.report:
        print_summary(results)
    if options.report:
        report_on(results, folder_of(out), quiet=options.quiet)
    failed = results["error"] != ""
    if failed.any():
        first = results["error"][failed][0]
        sys.stderr.write(f"fastrm: {failed.sum()} runs failed; the first: {first}\n")
        return 1
    return 0


def report_on(results: Results, folder: Path, quiet: bool) -> None:
    """Draw the figures, judge the claims or tell the findings, and say where everything is.

    What cannot be done is said and left out.
    """
    from fastrm.bench.plot import draw

    paths = []
    try:
        paths += draw(results, folder, quiet=quiet)
    except ConfigError as problem:
        sys.stderr.write(f"fastrm: {problem}\n")
    swept = any(method.optimism is not None for method in results.plan.methods)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths.append((_tell if swept else _judge)(results, folder, quiet))
    except FastrmError as problem:
        sys.stderr.write(f"fastrm: {problem}\n")
    except OSError as problem:
        sys.stderr.write(f"fastrm: {folder}: cannot be written: {problem.strerror or problem}\n")
    if not quiet:
        sys.stdout.write(f"{results!r} in {results.path}\n")
        sys.stdout.write(f"{', '.join(path.name for path in paths)} in {folder}\n" if paths else "")


def _judge(results: Results, folder: Path, quiet: bool) -> Path:
    """Judge the paper's claims and write them down."""
    from fastrm.bench.reports import Judged, claims_as_markdown, print_claims
    from fastrm.studies.judge import judge

    judged = [Judged(str(results.path), results.complete, judge(results))]
    path = folder / "claims.md"
    path.write_text(claims_as_markdown(judged))
    if not quiet:
        print_claims(judged)
    return path


def _tell(results: Results, folder: Path, quiet: bool) -> Path:
    """Write down what a sweep of initial values shows."""
    from fastrm.bench.findings import tables

    path = folder / "findings.md"
    told = "".join(tables(results))
    path.write_text(told)
    if not quiet:
        sys.stdout.write(told)
    return path


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


def say_what_is_left() -> Callable[[Any], None]:
    """Return a report that writes a line at the start and after every tenth of the work."""
    said = [-1]

    def report(progress: Any) -> None:
        tenth = 10 * progress.runs_done // progress.runs
        if not progress.runs_done:
            sys.stderr.write(f"fastrm: {progress.runs} runs to do, {progress.before} done before\n")
        elif tenth > said[0] and tenth < 10:
            left = progress.seconds * (progress.runs - progress.runs_done) / progress.runs_done
            sys.stderr.write(f"fastrm: {progress.runs_done} of {progress.runs} runs, about {left:.0f} s left\n")
        said[0] = tenth

    return report


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[Any], None] | None]:
    """Show runs, steps a second and time left while standard error is a terminal."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        yield say_what_is_left()
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
