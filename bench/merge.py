"""``merge``: join the files of shards; runs that occur twice must be bit-identical."""

from __future__ import annotations

import argparse
from pathlib import Path

from .console import add_learner_file, add_quiet, print_summary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("parts", metavar="PART", nargs="+", type=Path, help="result files of shards")
    parser.add_argument("--out", metavar="FILE", type=Path, required=True, help="the joined file")
    add_learner_file(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Join the files."""
    from fastrm.experiments import merge

    results = merge(arguments.parts, arguments.out)
    if not arguments.quiet:
        print_summary(results)
    return 0
