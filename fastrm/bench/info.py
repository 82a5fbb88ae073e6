"""``info``: what a result file holds and where it came from."""

from __future__ import annotations

import argparse

from fastrm.errors import printable

SHOWN = ("started", "ended", "command", "fastrm", "git_commit", "schema", "semantics", "machine", "experiment")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("file", metavar="FILE", help="a result file")


def run(arguments: argparse.Namespace) -> int:
    """Print shape and provenance."""
    from rich.console import Console

    from fastrm.results import load

    results, console = load(arguments.file), Console(highlight=False, markup=False, emoji=False)
    console.print(repr(results))
    for name in SHOWN:
        console.print(f"  {name:11} {printable(str(results.attributes.get(name, '')))}", soft_wrap=True)
    failed = results["error"] != ""
    if failed.any():
        first = printable(results["error"][failed][0])
        console.print(f"  {failed.sum()} runs failed; the first: {first}", soft_wrap=True)
    return 0
