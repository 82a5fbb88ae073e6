"""``claims``: what result files say about the claims of the paper."""

from __future__ import annotations

import argparse
import json
import sys

from fastrm.errors import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="result files; several are set side by side")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print everything as JSON, cases that fail included")
    how.add_argument("--markdown", action="store_true", help="print a Markdown table")


def run(options: argparse.Namespace) -> int:
    """Judge the claims and print them."""
    from fastrm.bench.reports import Judged, claims_as_markdown, print_claims
    from fastrm.results import load
    from fastrm.studies.judge import judge

    loaded = [load(path) for path in options.files]
    for path, results in zip(options.files, loaded, strict=True):
        mine, first = (str(one.attributes["semantics"]) for one in (results, loaded[0]))
        if mine != first:
            raise ConfigError(f"{path}: semantics {mine}, but {options.files[0]} has {first}; they do not compare")
    judged = [Judged(path, results.complete, judge(results))
              for path, results in zip(options.files, loaded, strict=True)]  # fmt: skip
    for path, results in zip(options.files, loaded, strict=True):
        if not results.complete:
            sys.stderr.write(f"fastrm: {path}: {results!r}; judged on the runs that are there\n")
    if options.json:
        table = {one.path: [claim.to_dict() for claim in one.claims] for one in judged}
        sys.stdout.write(json.dumps(table, indent=1) + "\n")
    elif options.markdown:
        sys.stdout.write(claims_as_markdown(judged))
    else:
        print_claims(judged)
    return 0
