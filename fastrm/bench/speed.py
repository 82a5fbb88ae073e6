"""``speed``: steps per second of every kernel beside the C limit and the naive oracle, as ratios taken in one run."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from fastrm.errors import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the figures to FILE")
    parser.add_argument("--repeats", metavar="N", type=int, default=7, help="repeats, the best counts (default 7)")
    parser.add_argument("--steps", metavar="N", type=int, default=2_000_000, help="steps a repeat (default 2000000)")


def run(options: argparse.Namespace) -> int:
    """Measure, print and write."""
    if options.repeats < 1 or options.steps < 10_000:
        raise ConfigError("--repeats must be at least 1 and --steps at least 10000")
    if options.json is not None:
        try:
            with options.json.open("a"):
                pass
        except OSError as problem:
            raise ConfigError(f"--json {options.json}: cannot be written: {problem.strerror or problem}") from None
    from fastrm.bench import measure  # numba is imported only now
    from fastrm.bench.tables import print_speed
    from fastrm.results import describe_machine

    report = {"machine": describe_machine(), **measure.everything(options.steps, options.repeats)}
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    print_speed(report)
    return 0
