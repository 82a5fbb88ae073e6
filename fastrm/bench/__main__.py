"""``python -m fastrm.bench``: one command per module, imported when it is asked for."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import fastrm
from fastrm.bench.console import BAD_INPUT, FAILED, KILLED
from fastrm.errors import FastrmError, FastrmWarning, RunError, printable

COMMANDS = {
    "run": "run an experiment, or go on with it; without a command: run paper --report",
    "claims": "what a result file says about the claims of the paper, and why",
    "findings": "how often and how fast each kind of reward leads to shortest paths, by start of the values",
    "plot": "the figures of a result file, and a summary as CSV",
    "draw": "a machine, a map, or a learned policy as a picture; machines also as DOT and Mermaid",
    "replay": "a run of a result file again: what it learned as a picture, a film, tables or a page",
    "play": "walk a map with the arrow keys and see label, machine state and reward",
    "parity": "our curves and optima beside those published with the reference implementation",
    "info": "what a result file holds and where it came from",
    "merge": "join the files of shards",
    "check": "does the optimal policy take a shortest path? witness and thresholds",
    "speed": "steps per second of every kernel, beside hand-written C and naive Python",
}
"""Name and one line of help; the module of the same name adds the arguments and runs."""


class _Parser(argparse.ArgumentParser):
    """Bad arguments are one line on standard error and exit code 2."""

    def error(self, message: str) -> None:  # type: ignore[override]
        shown = re.sub(r"(\S{60})\S+", r"\1...", printable(message))  # an argument may be a whole file
        self.exit(BAD_INPUT, f"{self.prog}: {shown} (see {self.prog} --help)\n")


def build_parser(chosen: str | None) -> argparse.ArgumentParser:
    """Build the parser; only the module of the chosen command is imported."""
    parser = _Parser(prog="python -m fastrm.bench", description="Reward-machine learning at the speed of C.")
    parser.add_argument("--version", action="version", version=f"fastrm {fastrm.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, line in COMMANDS.items():
        command = commands.add_parser(name, help=line, description=line[0].upper() + line[1:] + ".")
        if name == chosen:
            importlib.import_module(f"fastrm.bench.{name}").add_arguments(command)
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code."""
    given = list(sys.argv[1:] if words is None else words) or ["run", "paper", "--report"]
    chosen = next((word for word in given if not word.startswith("-")), None)
    parser = build_parser(chosen)
    arguments = parser.parse_args(given)
    if arguments.command is None:
        parser.error("name a command")
    try:
        with _warnings_in_one_line(), _compiling_said_once():
            return int(importlib.import_module(f"fastrm.bench.{arguments.command}").run(arguments))
    except FastrmError as problem:
        sys.stderr.write(f"fastrm: {printable(str(problem))}\n")
        return FAILED if isinstance(problem, RunError) else BAD_INPUT
    except KeyboardInterrupt:
        return KILLED
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Show our own warnings as we show errors; where they were raised is nothing to a user of the shell."""
    original = warnings.formatwarning

    def show(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
    ) -> str:
        if issubclass(category, FastrmWarning):
            return f"fastrm: {message}\n"
        return original(message, category, filename, lineno, line)

    warnings.formatwarning = show
    try:
        yield
    finally:
        warnings.formatwarning = original


@contextmanager
def _compiling_said_once() -> Iterator[None]:
    """Tell a person, not a log, why the first command takes a while."""
    log = logging.getLogger("fastrm.kernels")
    said: list[logging.LogRecord] = []

    def tell(record: logging.LogRecord) -> bool:
        if not said:
            sys.stderr.write(f"fastrm: {record.getMessage()}\n")
        said.append(record)
        return False

    before = log.level
    if sys.stderr.isatty():
        log.addFilter(tell)
        log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeFilter(tell)
        log.setLevel(before)


if __name__ == "__main__":
    sys.exit(main())
