"""``claims``: the claims of the paper, judged on result files."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fastrm.errors import ConfigError, printable

from .console import check_has_runs, new_console, print_json, print_unfinished

if TYPE_CHECKING:
    from rich.console import Console

    from .studies import Claim
    from .studies.evidence import Facts

WIDEST = 120
"""Columns; longer lines are hard to follow."""
_COLOURS = {"holds": "green", "holds on most maps": "cyan", "does not hold": "red", "not in this file": "dim"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="result files; several are set side by side")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print everything as JSON, cases that fail included")
    form.add_argument("--markdown", action="store_true", help="print a Markdown table")


def run(arguments: argparse.Namespace) -> int:
    """Judge the claims and print them."""
    from fastrm.results import load

    from .studies import judge

    loaded = [load(path) for path in arguments.files]
    for results in loaded:
        check_has_runs(results)
    files = list(zip(arguments.files, loaded, strict=True))
    for path, results in files:
        semantics, first = (json.loads(one.attributes["semantics"]) for one in (results, loaded[0]))
        for algo in sorted({*semantics} & {*first}):
            if semantics[algo] != first[algo]:
                raise ConfigError(
                    f"{path}: semantics {semantics[algo]} of {algo}, but {arguments.files[0]} has {first[algo]}; "
                    "they do not compare"
                )
    facts: Facts = {}
    judged = [Judged(path, results.complete, judge(results, facts)) for path, results in files]
    for path, results in files:
        print_unfinished(path, results, "judged on")
    if arguments.json:
        print_json({one.path: [claim.to_dict() for claim in one.claims] for one in judged})
    elif arguments.markdown:
        sys.stdout.write(claims_as_markdown(judged))
    else:
        print_claims(judged)
    return 0


class Judged(NamedTuple):
    """A result file and its claims."""

    path: str
    complete: bool
    claims: Sequence[Claim]


def print_claims(judged: Sequence[Judged]) -> None:
    """Print the claims of one file with numbers and reasons; of several files the verdicts side by side."""
    from rich.markup import escape
    from rich.table import Table

    console = new_console()
    console.width = min(console.width, WIDEST)
    if len(judged) == 1:
        for claim in judged[0].claims:
            _print_hanging(console, f"{claim.number:2}. ", f"{escape(claim.text)}: [bold]{_with_p(claim)}[/]")
            for line in _evidence(claim):
                _print_hanging(console, "    - ", escape(printable(line)))
    else:
        table = Table(title="the paper's claims", title_justify="left", show_lines=True)
        table.add_column("", justify="right", no_wrap=True)
        table.add_column("claim", ratio=2)
        for head in _heads(judged):
            table.add_column(escape(head), ratio=1)
        for row in zip(*(one.claims for one in judged), strict=True):
            table.add_row(str(row[0].number), escape(row[0].text), *map(_with_p, row))
        console.print(table)
    _print_hanging(console, "p: ", escape(_about_p(judged)))


def _print_hanging(console: Console, head: str, body: str) -> None:
    """Print a text in rich's markup after a head; further lines are indented to the text, and none ends in blanks."""
    from rich.text import Text

    lines = Text.from_markup(body).wrap(console, max(console.width - len(head), 20))
    for k, line in enumerate(lines):
        line.rstrip()
        console.print(Text(" " * len(head) if k else head).append_text(line), soft_wrap=True)


def claims_as_markdown(judged: Sequence[Judged]) -> str:
    """Return the claims as a Markdown table: of one file with the evidence, of several the verdicts side by side."""
    from .studies import format_p

    several = len(judged) > 1
    heads = [*_heads(judged), *([] if several else ["p", "numbers, and what the exact tools know"])]
    lines = [f"| | claim | {' | '.join(heads)} |", f"|---:|---|{'---|' * len(heads)}"]
    for row in zip(*(one.claims for one in judged), strict=True):
        cells = [
            f"{claim.verdict} (p {format_p(claim.corrected_p)}): {claim.support}"
            if several and claim.cases
            else claim.verdict
            for claim in row
        ]
        if not several:
            cells += [format_p(row[0].corrected_p), "<br>".join(map(printable, _evidence(row[0])))]
        lines.append(f"| {row[0].number} | {row[0].text} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"p: {_about_p(judged)}"]) + "\n"


def _about_p(judged: Sequence[Judged]) -> str:
    """Return the sentence on what p-values are."""
    counts = " or ".join(str(n) for n in dict.fromkeys(sum(bool(c.cases) for c in one.claims) for one in judged))
    return (
        "for at most half of all maps like these supporting the claim: exact binomial test, the largest of its "
        f"parts, after Holm's correction for {counts} claims. Verdicts are about one claim at a time."
    )


def _heads(judged: Sequence[Judged]) -> list[str]:
    """Return names of files, their stems or, where stems are alike, their paths; unfinished ones are marked."""
    stems = [Path(one.path).stem for one in judged]
    names = stems if len(set(stems)) == len(stems) else [one.path for one in judged]
    states = ["" if one.complete else " (unfinished)" for one in judged]
    return [printable(name) + state for name, state in zip(names, states, strict=True)]


def _evidence(claim: Claim) -> list[str]:
    held = f"{sum(case.holds for case in claim.cases)} of {len(claim.cases)} cases hold" if claim.cases else ""
    return [part for part in (claim.support, held, claim.numbers, claim.reason) if part]


def _with_p(claim: Claim) -> str:
    """Return the verdict in its colour, with the p-value."""
    from rich.markup import escape

    from .studies import format_p

    word = f"[{_COLOURS.get(claim.verdict, 'yellow')}]{escape(claim.verdict)}[/]"
    return f"{word} (p {format_p(claim.corrected_p)})" if claim.cases else word
