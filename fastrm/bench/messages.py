"""What happens while a command runs, told on standard error: warnings, the compiling of kernels, a log on request."""

from __future__ import annotations

import logging
import re
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastrm.bench.console import say
from fastrm.errors import FastrmWarning, printable

COMPILING = "compiling kernels (once); this takes some seconds"


@contextmanager
def messages_in_one_line(verbose: bool = False) -> Iterator[None]:
    """Show warnings, and what loggers of fastrm say, as errors are shown."""
    with _warnings_in_one_line(), _log(verbose):
        yield


@contextmanager
def warnings_name(path: Path) -> Iterator[None]:
    """Let warnings about tasks of an experiment begin with the place in its file."""
    from fastrm.experiments import where_in

    original = warnings.formatwarning

    def show(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
    ) -> str:
        text = str(message)
        if issubclass(category, FastrmWarning) and (key := re.match(r"(tasks|machine_files): ([^:]*):", text)):
            message = category(where_in(path, key[1], key[2]) + text)
        return original(message, category, filename, lineno, line)

    warnings.formatwarning = show
    try:
        yield
    finally:
        warnings.formatwarning = original


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Show our own warnings as we show errors; where they were raised is nothing to a user of the shell."""
    original = warnings.formatwarning

    def show(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
    ) -> str:
        if issubclass(category, FastrmWarning):
            return f"fastrm: {printable(str(message))}\n"
        return original(message, category, filename, lineno, line)

    warnings.formatwarning = show
    try:
        yield
    finally:
        warnings.formatwarning = original


class _Lines(logging.Handler):
    """Writes a line per message, and says once that kernels are compiled."""

    def __init__(self, verbose: bool) -> None:
        super().__init__()
        self.verbose, self.begun, self.has_told = verbose, time.time(), False

    def emit(self, record: logging.LogRecord) -> None:
        """Say it; standard error is looked up each time, as a progress bar takes its place."""
        text = record.getMessage()
        if record.name == "fastrm.kernels":
            if self.has_told:
                return
            self.has_told, text = True, COMPILING
        say(f"{record.created - self.begun:7.1f} s: {text}" if self.verbose else text)


@contextmanager
def _log(verbose: bool) -> Iterator[None]:
    """With `verbose` show what loggers say; else tell a person, not a log, why the first command takes a while."""
    log = logging.getLogger("fastrm" if verbose else "fastrm.kernels")
    if not verbose and not sys.stderr.isatty():
        yield
        return
    handler, before = _Lines(verbose), log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)
