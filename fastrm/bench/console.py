"""What commands share in the terminal: tables, summaries of results, progress."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fastrm.errors import ConfigError, printable

if TYPE_CHECKING:
    from rich.table import Table

    from fastrm.results import Results

FAILED, BAD_INPUT, INTERRUPTED, KILLED = 1, 2, 3, 130
"""Exit codes."""
LEFT = ("setup", "machine", "task", "method", "map", "algorithm")
"""Columns of words."""


def new_table(title: str, *columns: str) -> Table:
    """Make a table: the first column and columns of words on the left, numbers on the right."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for k, column in enumerate(columns):
        table.add_column(column, justify="left" if k == 0 or column in LEFT else "right", no_wrap=True)
    return table


def print_summary(results: Results) -> None:
    """Print medians per setup, task and method."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False, emoji=False)
    console.print(f"{results!r} in {printable(str(results.path))}", markup=False, soft_wrap=True)
    if not results.runs:
        return
    say_failures(results)
    failed = results["error"] != ""
    more = ["failed"] if failed.any() else []
    table = new_table("medians", "setup", "task", "method", "runs", *more, "settled", "to 90 %", "shortest")
    where = list(zip(*(results[name].tolist() for name in ("setup", "task", "label")), strict=True))
    failures = Counter(key for key, is_failed in zip(where, failed.tolist(), strict=True) if is_failed)
    for row in results.summary():
        key = row["setup"], row["task"], row["label"]
        count = [str(failures[key])] if more else []
        figures = ("-", "-", "-") if not row["runs"] else (
            show_score(row["settled_50"]), show_steps(row["steps_to_90_50"]), f"{row['shortest_share']:.0%}"
        )  # fmt: skip
        table.add_row(*(escape(printable(name)) for name in key), str(row["runs"]), *count, *figures)
    console.print(table)


def say_failures(results: Results) -> bool:
    """Say on standard error how many runs failed, and why the first did; return whether any did."""
    failed = results["error"] != ""
    if failed.any():
        sys.stderr.write(f"fastrm: {results.path}: {failed.sum()} runs failed; the first: {_first(results)}\n")
    return bool(failed.any())


def all_failed(results: Results) -> bool:
    """Say whether there are runs, and all of them failed."""
    return bool(results.runs and (results["error"] != "").all())


def refuse_if_all_failed(results: Results) -> None:
    """Refuse a file in which there is nothing to show."""
    if all_failed(results):
        raise ConfigError(
            f"{results.path}: all {results.runs} runs failed, nothing to show; the first: {_first(results)}"
        )


def _first(results: Results) -> str:
    """Return the first reason why a run failed."""
    errors = results["error"]
    return " ".join(str(errors[errors != ""][0]).split())


def show_score(score: float) -> str:
    """Write a score, or that there is none."""
    return "-" if math.isnan(score) else f"{score:.3f}"


def show_steps(steps: float) -> str:
    """Write a number of steps, or that it is never reached."""
    return "never" if math.isinf(steps) else f"{steps:,.0f}"


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
