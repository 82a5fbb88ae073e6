"""A bar on standard error for what takes long: how much is done, how fast, and how long the rest will take.

It is shown where somebody looks: in a terminal, and in a notebook that has ipywidgets. Anywhere else nothing is
written.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

WIDTH = 20  # columns; the words beside the bar need the other 60 of a terminal
SETTLED = 1.0
"""Seconds of work after which its speed is measured without what came before, such as loading kernels."""

_one_at_a_time = threading.Lock()  # two bars would write over each other


class Bar:
    """How many steps of a work are done, shown while a ``with`` block runs. Between updates the time counts down.

    Nothing is shown before `delay` seconds. `console` and `clock` are for tests.
    """

    def __init__(
        self, delay: float = 0.0, *, console: Console | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console, self._clock = console, clock
        self._begun, self._first_move = clock(), (0.0, 0)
        self._words, self._done, self._total, self._rate, self._seen = "", 0, 0, 0.0, 0.0
        self._lock, self._is_over = threading.Lock(), False
        self._shown: Progress | None = None
        self._timer = threading.Timer(delay, self._show)
        self._timer.daemon = True

    def update(self, done: int, total: int, words: str, before: int = 0) -> None:
        """Take note of how many steps are done, of which `before` were when the bar began."""
        if done > max(self._done, before):
            self._seen = now = self._clock()
            since, had = self._first_move
            if not had:
                self._first_move = now, done
            if not had or now - since < SETTLED:
                since, had = self._begun, before
            self._rate = (done - had) / max(now - since, 1e-9)
        self._words, self._done, self._total = words, done, total
        if self._shown is not None:
            self._shown.update(self._shown.task_ids[0], completed=done, total=total)

    @property
    def line(self) -> str:
        """What stands beside the bar now.

        >>> seconds = iter([0.0, 10.0, 13.0])
        >>> bar = Bar(clock=lambda: next(seconds))
        >>> bar.line
        'loading kernels'
        >>> bar.update(200_000_000, 500_000_000, "2 of 5 runs")
        >>> bar.line
        ' 40%, 2 of 5 runs, 20 M steps/s, about 12 s left'
        """
        start = f"{self._done / self._total:4.0%}, {self._words}, " if self._total else ""
        if not self._rate:
            return f"{start}loading kernels"
        left = (self._total - self._done) / self._rate
        until = f"about {format_duration(left - (self._clock() - self._seen))} left" if left else "finishing"
        return f"{start}{format_millions(self._rate)} M steps/s, {until}"

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        with self._lock:
            self._is_over = True
            if self._shown is not None:
                self._shown.stop()
                _one_at_a_time.release()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        with self._lock:
            if self._is_over or not _one_at_a_time.acquire(blocking=False):
                return
            shown = Progress(
                BarColumn(WIDTH), TextColumn("{task.fields[bar].line}", markup=False),
                console=self._console or Console(stderr=True), transient=True, redirect_stdout=_is_terminal(sys.stdout),
            )  # fmt: skip
            shown.add_task("", total=self._total or None, completed=self._done, bar=self)
            shown.start()
            self._shown = shown  # only now: `update` runs in another thread


@contextmanager
def watching(wanted: bool, delay: float) -> Iterator[Bar | None]:
    """Yield a bar that appears after `delay` seconds; None where it is not wanted, or nobody would see it."""
    if wanted and is_watched():
        with Bar(delay) as bar:
            yield bar
    else:
        yield None


def is_watched() -> bool:
    """Return whether somebody sees what is shown on standard error."""
    return _is_terminal(sys.stderr) or ("ipykernel" in sys.modules and find_spec("ipywidgets") is not None)


def _is_terminal(stream: object) -> bool:
    try:
        return bool(stream.isatty())  # type: ignore[attr-defined]
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


def format_millions(count: float) -> str:
    """Format millions of a count.

    >>> format_millions(380_000), format_millions(97_400_000)
    ('0.4', '97')
    """
    return f"{count / 1e6:.{0 if count >= 1e7 else 1}f}"


def format_duration(seconds: float) -> str:
    """Format a time, in the unit that suits it.

    >>> format_duration(0.2), format_duration(90), format_duration(1000), format_duration(20_000)
    ('1 s', '90 s', '17 min', '5.6 h')
    """
    if seconds < 100:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
