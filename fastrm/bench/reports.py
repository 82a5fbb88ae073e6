"""The claims of the paper as tables, for the terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fastrm.claims import Claim

Judged = Mapping[str, Sequence[Claim]]
_COLOURS = {"holds": "green", "does not hold": "red", "not in this file": "dim"}


def print_claims(judged: Judged) -> None:
    """Print the claims of one file with numbers and reasons; of several files the verdicts side by side."""
    console = Console(highlight=False)
    several = len(judged) > 1
    table = Table(title="the paper's claims", title_justify="left", show_lines=not several)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("claim", ratio=2)
    for path in judged:
        table.add_column(Path(path).stem if several else "verdict", ratio=1)
    if not several:
        table.add_column("numbers, and what the exact tools know", ratio=5)
    for row in zip(*judged.values(), strict=True):
        cells = [_coloured(claim.verdict) for claim in row]
        if not several:
            cells.append(escape("\n".join(_evidence(row[0]))))
        table.add_row(str(row[0].number), escape(row[0].text), *cells)
    console.print(table)


def claims_as_markdown(judged: Judged) -> str:
    """Return the claims as a Markdown table, laid out like `print_claims`."""
    several = len(judged) > 1
    heads = [Path(path).stem for path in judged] if several else ["verdict", "numbers, and what the exact tools know"]
    lines = [f"| | claim | {' | '.join(heads)} |", f"|---:|---|{'---|' * len(heads)}"]
    for row in zip(*judged.values(), strict=True):
        cells = [claim.verdict for claim in row] + ([] if several else ["<br>".join(_evidence(row[0]))])
        lines.append(f"| {row[0].number} | {row[0].text} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _evidence(claim: Claim) -> list[str]:
    counted = f"{sum(case.holds for case in claim.cases)} of {len(claim.cases)} cases hold" if claim.cases else ""
    return [part for part in (counted, claim.numbers, claim.reason) if part]


def _coloured(verdict: str) -> str:
    return f"[{_COLOURS.get(verdict, 'yellow')}]{escape(verdict)}[/]"
