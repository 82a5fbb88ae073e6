"""``info``: what a result file holds and where it came from."""

from __future__ import annotations

import argparse

SHOWN = ("started", "ended", "command", "fastrm", "git_commit", "schema", "semantics", "machine", "experiment")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("file", metavar="FILE", help="a result file")


def run(arguments: argparse.Namespace) -> int:
    """Print shape and provenance."""
    from rich.console import Console

    from fastrm.results import load

    results, console = load(arguments.file), Console(highlight=False)
    console.print(repr(results))
    for name in SHOWN:
        console.print(f"  {name:11} {results.attributes.get(name, '')}", soft_wrap=True, markup=False)
    failed = results["error"] != ""
    if failed.any():
        console.print(
            f"  {failed.sum()} runs failed; the first: {results['error'][failed][0]}", markup=False, soft_wrap=True
        )
    return 0
