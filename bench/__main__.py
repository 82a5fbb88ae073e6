"""``fastrm`` and ``python -m fastrm.bench``: one command per module, imported when it is asked for."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
from collections.abc import Sequence

import fastrm
from fastrm.errors import ConfigError, FastrmError, RunError, did_you_mean, printable

from .commands import COMMANDS, MODULE, SCRIPT, examples, overview
from .console import BAD_INPUT, FAILED, KILLED, one_line_messages, print_message


class _Parser(argparse.ArgumentParser):
    """Bad arguments are one line on standard error and exit code 2."""

    def error(self, message: str) -> None:  # type: ignore[override]
        shown = re.sub(r"(\S{60})\S+", r"\1...", printable(message))  # an argument may be a whole file
        self.exit(BAD_INPUT, f"{self.prog}: {shown} (see {self.prog} --help)\n")


class _MainParser(_Parser):
    """The parser of the whole program, whose help is grouped by what people want to do."""

    def format_help(self) -> str:
        return overview(self.prog)


def build_parser(chosen: str | None, program: str = SCRIPT) -> argparse.ArgumentParser:
    """Build the parser; only the module of the chosen command is imported."""
    parser = _MainParser(prog=program, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"fastrm {fastrm.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    for name, about in COMMANDS.items():
        command = commands.add_parser(
            name,
            description=f"{about.purpose[0].upper()}{about.purpose[1:]}.",
            epilog=examples(name, program),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if name == chosen:
            importlib.import_module(f"fastrm.bench.{name}").add_arguments(command)
            command.add_argument("-v", "--verbose", action="store_true", help="log what happens on standard error")
    return parser


def main(words: Sequence[str] | None = None, program: str = SCRIPT) -> int:
    """Run one command; return the exit code.

    `program` is how it was started: alone, the installed script shows its help and the module reproduces the paper.
    """
    code = 0
    try:
        try:
            code = _run(list(sys.argv[1:] if words is None else words), program)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except SystemExit as stop:
        if not isinstance(stop.__context__, BrokenPipeError):  # rich turns one into the other
            raise
    return code


def _run(given: list[str], program: str) -> int:
    given = given or (["reproduce"] if program == MODULE else ["--help"])
    if given[0] == "help":
        given = [*given[1:2], "--help"]
    chosen = next((word for word in given if not word.startswith("-")), None)
    parser = build_parser(chosen, program)
    if chosen is not None and chosen not in COMMANDS:
        parser.error(f"no command {chosen!r:.60}{did_you_mean(chosen, COMMANDS)}; there are {', '.join(COMMANDS)}")
    arguments, unknown = parser.parse_known_args(given)
    if unknown:
        command = parser._subparsers._group_actions[0].choices[chosen] if chosen in COMMANDS else parser  # type: ignore
        flags = [flag for action in command._actions for flag in action.option_strings]
        command.error(f"no argument {unknown[0]!r:.60}{did_you_mean(unknown[0], flags)}")
    if arguments.command is None:
        parser.error("name a command")
    try:
        with one_line_messages(verbose=arguments.verbose):
            if getattr(arguments, "learner", None) is not None:
                _load_learner(arguments)
            return int(importlib.import_module(f"fastrm.bench.{arguments.command}").run(arguments))
    except FastrmError as problem:
        print_message(str(problem))
        return FAILED if isinstance(problem, RunError) else BAD_INPUT
    except KeyboardInterrupt:
        return KILLED


def _load_learner(arguments: argparse.Namespace) -> None:
    """Run the file of a custom learner, which only the command line can name."""
    from fastrm.learners import load_file

    names = load_file(arguments.learner)
    if getattr(arguments, "learn", "") is None:
        raise ConfigError(f"--learner {arguments.learner}: goes with --learn {names[0]}, which trains it")


if __name__ == "__main__":
    sys.exit(main(program=MODULE))
