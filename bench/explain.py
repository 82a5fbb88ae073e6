"""``explain``: a web page, in one file, on which a map, a machine and what was learned can be looked at and walked."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from fastrm.learners import registry

from .console import check_page_name, write_page
from .inputs import add_problem, compile_problem, train_learner


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_problem(parser, "train, and show what was learned beside the optimum")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE", help="the page, such as e.html")


def run(arguments: argparse.Namespace) -> int:
    """Make the page."""
    from fastrm.learners import check_acts_by_state
    from fastrm.pages import explain_page

    check_page_name(arguments.out)
    problem = compile_problem(arguments)
    if arguments.learn:
        registry.check_name("--learn", arguments.learn, problem.kind)
        check_acts_by_state(arguments.learn)
    run = train_learner(problem, arguments) if arguments.learn else None
    write_page(arguments.out, explain_page(problem, run, gamma=arguments.gamma, command=_command(arguments)))
    return 0


def _command(arguments: argparse.Namespace) -> str:
    """Return the command that makes the page again: what differs from what is assumed anyway."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    words = ["fastrm", "explain", arguments.map, arguments.machine]
    for action in parser._actions:
        value = getattr(arguments, action.dest, None)
        if action.option_strings and action.dest != "help" and value != action.default:
            words += [action.option_strings[-1], value.name if isinstance(value, Path) else f"{value}"]
    return shlex.join(words)
