"""``fastrm`` and ``python -m fastrm.bench``: the commands, each in a file that is imported when it is asked for."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

import fastrm
from fastrm.errors import ConfigError, FastrmError, RunError, did_you_mean, printable

from .console import BAD_INPUT, FAILED, KILLED, MODULE, SCRIPT, one_line_messages, print_message

EXIT_CODES = """\
exit codes:
  0 done   1 runs failed, or check --fail   2 bad arguments or input
  3 interrupted, finished runs are saved   130 killed by a second Ctrl-C
"""


class Command(NamedTuple):
    """What help says of a command, and the file that it shares with others, if it does.

    A file called like the command has `add_arguments` and `run`, a shared one `add_NAME` and `run_NAME`.
    """

    group: str
    purpose: str
    examples: dict[str, str]
    """Words after the program's name, and what they do."""
    notes: str = ""
    """What else there is to know before the first use."""
    file: str = ""


_RUN, _READ, _LOOK, _COMPARE = "run experiments", "read results", "study one map and one task", "compare and measure"

COMMANDS = {
    "reproduce": Command(_RUN, "run the paper's experiment, draw its figures and judge its claims", {
        "reproduce": "all of it; results in results/paper.h5",
        "reproduce --maps 3 --out small.h5": "a smaller version",
        "reproduce --dry-run": "how many runs, how long, how large",
    }, "This is 'run paper --report'. Started again, it goes on where it stopped."),
    "run": Command(_RUN, "run an experiment, or go on with one that was interrupted", {
        "run --list": "the suites that come with fastrm",
        "run quick --report": "results in results/quick.h5, report in results/quick/",
        "run my.toml -j 4 --out my.h5": "your own experiment, with four workers",
        "run my.toml --learner mine.py": "with a learner of your own, which mine.py registers",
        "run quick --shard 2/8": "one part of eight; join the parts with 'merge'",
    }, "Runs that the result file already holds are not computed again."),
    "merge": Command(_RUN, "join the result files of shards into one", {
        "merge part-1.h5 part-2.h5 --out whole.h5": "runs that occur twice must be identical",
    }),
    "info": Command(_READ, "show what a result file holds and where it came from", {
        "info results/quick.h5": "as a table",
        "info results/quick.h5 --json": "everything, for programs",
        "info results/quick.h5 --compare a a-b --by task": "two tasks, run by run, with an interval",
    }),
    "claims": Command(_READ, "judge the paper's claims by a result file, and say why", {
        "claims results/paper.h5": "one file, in detail",
        "claims results/paper.h5 results/paper-clean.h5": "verdicts side by side",
    }, file="reporting"),
    "findings": Command(_READ, "tell how often and how fast kinds of reward lead to shortest paths", {
        "findings results/beyond.h5": "tables in Markdown",
        "findings results/pointmass.h5 --lengths": "also where paths are seldom shortest ones",
    }, file="reporting"),
    "plot": Command(_READ, "draw the figures of a result file, and write a summary as CSV", {
        "plot results/quick.h5": "files in results/quick/",
        "plot results/quick.h5 --text": "curves as text",
    }),
    "report": Command(_READ, "show curves, claims, tables and runs of a file on a web page", {
        "report results/quick.h5 --out quick.html": "one file that needs no network",
    }, file="reporting"),
    "replay": Command(_READ, "make a run of a result file again and show what it learned", {
        "replay results/quick.h5 --worst crm-num a --out x.png": "a picture of the worst run",
        "replay results/quick.h5 --run 12 --out run.gif": "a film; also .npz (tables) and .html (a page)",
    }),
    "check": Command(_LOOK, "decide exactly whether optimal policies take shortest paths", {
        "check 1a1b1c a-b-c --kind numeric --seed 8": "a generated map and a task",
        "check my.map my.rm --gamma 0.99": "a map and a machine from files",
        "check 2a1b a-b --advise": "which kinds of reward are safe, and a machine to begin with",
        "check my.map my.rm --fail || echo misleading": "for scripts",
    }, "Only --learn trains. With --fail, any verdict but 'shortest' gives code 1."),
    "explain": Command(_LOOK, "show a map, a machine and what is learned on a web page", {
        "explain 1a1b1c a-b-c --size 15 --out page.html": "the optimal policy, to be looked at in a browser",
        "explain my.map my.rm --learn crm --out page.html": "what CRM learned, beside the optimum",
    }, "The page is one file and needs no network."),
    "learn": Command(_LOOK, "learn a machine by acting, and decide exactly whether it is right", {
        "learn 1a1b1c '{a,b}-c' --size 15 --seeds 10": "ten runs, and the machine that the first one learned",
        "learn 1a1b1c a-b-c --walk 0 --out learned.rm": "without walks a wrong machine can last",
    }, "The learner sees labels and rewards, never MACHINE; the verdict knows it.", file="learn"),
    "infer": Command(_LOOK, "make a machine from traces", {
        "infer traces.jsonl --out machine.rm": 'a line: {"labels": ["a", "", "b"], "rewards": [0, 0, 1], "end": null}',
    }, file="learn"),
    "draw": Command(_LOOK, "draw a machine, a map, or a learned policy", {
        "draw --machine a-b-c --kind numeric --out machine.svg": "a machine as a graph",
        "draw --map 2a2b2c --seed 3 --out map.png": "a map",
        "draw --map 1a1b --machine a-b --learn crm --out x.gif": "an episode after learning",
    }),
    "play": Command(_LOOK, "walk a map with the arrow keys; see label, machine state and reward", {
        "play 1a1b a-b --size 9 --kind numeric": "arrow keys move, r begins again, q leaves",
    }),
    "parity": Command(_COMPARE, "compare curves and optima with the reference implementation's", {
        "parity --reference DIR": "DIR holds the published data",
    }, "The exit code is 1 where a comparison rejects equality."),
    "speed": Command(_COMPARE, "measure steps per second of every kernel, beside C and plain Python", {
        "speed": "under two minutes",
        "speed --out speed.json": "also write the figures",
    }),
}  # fmt: skip


def examples(name: str, program: str) -> str:
    """Return the end of a command's help."""
    command = COMMANDS[name]
    lines = [f"  {program} {words}\n      {meaning}" for words, meaning in command.examples.items()]
    return "\n".join([*([command.notes, ""] if command.notes else []), "examples:", *lines])


def overview(program: str) -> str:
    """Return the help of the whole program."""
    groups: dict[str, str] = {}
    for name, command in COMMANDS.items():
        groups[command.group] = groups.get(command.group, "") + f"  {name:10} {command.purpose}\n"
    listed = "".join(f"\n{group}:\n{lines}" for group, lines in groups.items())
    alone = "runs 'reproduce'" if program == MODULE else "shows this help"
    return (
        f"usage: {program} COMMAND [options]\n\n"
        f"Reward machines: exact answers about rewards, and fast learning on all cores.\n{listed}"
        f"\noptions:\n  -h, --help  show this help\n  --version   show the version\n\n"
        f"start with:\n  {program} run quick --report\n      a small experiment, done in seconds\n"
        f"  {program} reproduce\n      the paper's experiment\n\n"
        f"'{program} COMMAND --help' explains a command.\n'{program}' alone {alone}.\n\n{EXIT_CODES}"
    )


class _Parser(argparse.ArgumentParser):
    """Bad arguments are one line on standard error and exit code 2."""

    def error(self, message: str) -> None:  # type: ignore[override]
        shown = re.sub(r"(\S{60})\S+", r"\1...", printable(message))  # an argument may be a whole file
        self.exit(BAD_INPUT, f"{self.prog}: {shown} (see {self.prog} --help)\n")


class _MainParser(_Parser):
    """The parser of the whole program, whose help is grouped by what people want to do."""

    def format_help(self) -> str:
        return overview(self.prog)


def _functions(name: str) -> tuple[Callable[..., None], Callable[..., int]]:
    """Import the file of a command, and return what adds its arguments and what runs it."""
    file = COMMANDS[name].file
    module = importlib.import_module(f"fastrm.bench.{file or name}")
    adding, running = (f"add_{name}", f"run_{name}") if file else ("add_arguments", "run")
    return getattr(module, adding), getattr(module, running)


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
            _functions(name)[0](command)
            command.add_argument("-v", "--verbose", action="store_true", help="log what happens on standard error")
    return parser


def main(words: Sequence[str] | None = None, program: str = SCRIPT) -> int:
    """Run one command; return the exit code.

    `program` is how it was started: alone, the installed script shows its help and the module reproduces the paper.
    """
    code = 0
    if "_ARGCOMPLETE" in os.environ:
        _complete(program)
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


def _complete(program: str) -> None:
    """Answer a shell that wants to complete a command line, and exit; without argcomplete do nothing."""
    with contextlib.suppress(ImportError):
        import argcomplete

        words = os.environ.get("COMP_LINE", "").split()
        argcomplete.autocomplete(build_parser(next((word for word in words if word in COMMANDS), None), program))


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
            return _functions(arguments.command)[1](arguments)
    except FastrmError as problem:
        print_message(str(problem))
        return FAILED if isinstance(problem, RunError) else BAD_INPUT
    except KeyboardInterrupt:
        return KILLED


def _load_learner(arguments: argparse.Namespace) -> None:
    """Run the files of custom learners, which only the command line can name."""
    from fastrm.learners import load_file

    for path in arguments.learner:
        names = load_file(path)
        if getattr(arguments, "learn", "") is None:
            raise ConfigError(f"--learner {path}: goes with --learn {names[0]}, which trains it")


if __name__ == "__main__":
    sys.exit(main(program=MODULE))
