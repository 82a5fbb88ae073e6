"""``report``: a web page, in one file, about a result file."""

from __future__ import annotations

import argparse
from pathlib import Path

from fastrm.errors import shown
from fastrm.learners import registry

from .console import add_file, add_learner_file, load_results, print_message, print_unfinished
from .explain import check_name, write_page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_file(parser)
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE", help="the page, such as r.html")
    add_learner_file(parser)
    parser.add_argument("--against", metavar="METHOD", help="compare all methods with this one (default: the first)")
    parser.add_argument("--all-runs", action="store_true", help="list every run, not only best, median and worst")
    parser.add_argument(
        "--replays", type=int, default=12, metavar="N", help="runs that can be walked on the page (default 12)"
    )
    parser.add_argument(
        "--no-verdicts", action="store_true", help="leave out claims and exact verdicts, which take up to half a minute"
    )


def run(arguments: argparse.Namespace) -> int:
    """Make the page."""
    from fastrm.pages import report_page

    from .studies.claims import judged

    check_name(arguments.out)
    results = load_results(arguments.file)
    print_unfinished(arguments.file, results)
    for algo in dict.fromkeys(method.algo for method in results.plan.methods):
        if algo not in registry.names():
            print_message(
                f"{arguments.file}: learner {shown(algo)} is not known here, so none of its runs can be walked on the "
                "page; name its file with --learner FILE"
            )
    claims, findings = judged(results, exact=not arguments.no_verdicts)
    page = report_page(
        results, claims=[claim.to_dict() for claim in claims], findings=findings, against=arguments.against,
        all_runs=arguments.all_runs, replays=arguments.replays,
    )  # fmt: skip
    write_page(arguments.out, page)
    return 0
