"""``info``: what a result file holds and where it came from."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("file", metavar="FILE", help="a result file")


def run(options: argparse.Namespace) -> int:
    """Print shape and provenance."""
    from fastrm.bench.tables import print_info
    from fastrm.results import load

    print_info(load(options.file))
    return 0
