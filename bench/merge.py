"""``merge``: join the files of shards, or summarise them; runs that occur twice must be bit-identical."""

from __future__ import annotations

import argparse
from pathlib import Path

from fastrm.errors import ConfigError

from .console import add_learner_file, add_quiet, check_has_runs, describe_state, print_message, print_summary, writing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("parts", metavar="PART", nargs="+", type=Path, help="result files of shards")
    parser.add_argument("--out", metavar="FILE", type=Path, required=True, help="the joined file, or the summary")
    parser.add_argument(
        "--summary",
        action="store_true",
        help="write quartiles and shares of every map, task and method as CSV instead of runs",
    )
    add_learner_file(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Join the files, or summarise what is in them."""
    from fastrm.experiments import merge

    if arguments.summary:
        return _summarise(arguments.parts, arguments.out, quiet=arguments.quiet)
    results = merge(arguments.parts, arguments.out)
    if not arguments.quiet:
        print_summary(results)
    return 0


def _summarise(parts: list[Path], out: Path, *, quiet: bool) -> int:
    """Write a row per map, task, swept settings and method; the files are read one after the other."""
    from fastrm.results import load, to_csv

    if out.suffix.lower() != ".csv":
        raise ConfigError(f"--out {out}: a summary ends in .csv")
    results = load(parts)
    check_has_runs(results)
    rows = results.summary(by=("setup", "grid", "task", *results.swept, "method"))
    with writing(out):
        out.write_text(to_csv(rows))
    if not quiet:
        print_message(f"{describe_state(results)}; {len(rows)} rows written to {out}")
    return 0
