"""How far an experiment is: a bar in a terminal, a line after every tenth of the work elsewhere."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fastrm.bench.console import counted, say, spaced

if TYPE_CHECKING:
    from fastrm.experiments import Progress

_log = logging.getLogger("fastrm.bench")
BAR = 20  # columns; the words beside it need the other 60 of a terminal

Report = Callable[["Progress"], None]


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Report | None]:
    """Yield what an experiment reports its progress to, None where nobody wants to know."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _bar() as report:
            yield report
    else:
        yield _lines()


def how_far(progress: Progress) -> str:
    """Say how many runs there are, those of earlier starts included."""
    return f"{spaced(progress.before + progress.runs_done)} of {spaced(progress.before + progress.runs)} runs"


def time_left(progress: Progress) -> str:
    """Say how long the rest will take, from what was done since the start; nothing where nothing was done.

    >>> from fastrm.experiments import Progress
    >>> time_left(Progress(runs=100, before=0, steps=1, runs_done=50, seconds=12.0))
    'about 12 s left'
    """
    if not progress.runs_done:
        return ""
    if progress.runs_done == progress.runs:
        return "saving"
    return f"about {duration(progress.seconds * (progress.runs - progress.runs_done) / progress.runs_done)} left"


def duration(seconds: float) -> str:
    """Write a time, in the unit that suits it.

    >>> duration(0.2), duration(90), duration(1000), duration(20_000)
    ('1 s', '90 s', '17 min', '5.6 h')
    """
    if seconds < 100:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _begin(progress: Progress) -> None:
    if progress.before:
        say(f"resuming: {how_far(progress)} are there")
    else:
        say(f"{counted(progress.runs, 'run')} to do")


def _rate(progress: Progress) -> str:
    return f"{progress.runs_done * progress.steps / max(progress.seconds, 1e-9) / 1e6:.0f} M steps/s"


def _lines() -> Report:
    """Return a report that writes a line at the start and after every tenth of the work."""
    told = 0

    def report(progress: Progress) -> None:
        nonlocal told
        tenth = 10 * progress.runs_done // progress.runs
        if not progress.runs_done:
            _begin(progress)
        elif tenth > told and tenth < 10:
            say(f"{how_far(progress)}, {time_left(progress)}")
            told = tenth
        _log_batch(progress)

    return report


@contextmanager
def _bar() -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress as Bar, TextColumn

    columns = BarColumn(BAR), TextColumn("{task.description}")
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def report(progress: Progress) -> None:
            if not progress.runs_done:
                _begin(progress)
            words = how_far(progress), *((_rate(progress), time_left(progress)) if progress.runs_done else ())
            done, total = progress.before + progress.runs_done, progress.before + progress.runs
            bar.update(task, total=total, completed=done, description=f"{done / total:4.0%}, {', '.join(words)}")
            _log_batch(progress)

        yield report


def _log_batch(progress: Progress) -> None:
    if progress.runs_done:
        failed = f", {spaced(progress.failed)} failed" if progress.failed else ""
        _log.info("%s saved%s, %s with %d workers", how_far(progress), failed, _rate(progress), progress.workers)
