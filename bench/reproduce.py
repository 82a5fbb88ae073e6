"""``reproduce``: the paper's experiment, its figures and its claims; the same as ``run paper --report``."""

from __future__ import annotations

import argparse

from .run import add_running, run as run_suite


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_running(parser, "results/paper.h5")
    parser.set_defaults(suite="paper", report=True, list=False, shard=None, reference=None, episodes=None)


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment and report."""
    return run_suite(arguments)
