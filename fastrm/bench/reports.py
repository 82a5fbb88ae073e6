"""The claims of the paper, and parity with the reference, as tables for the terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from fastrm.studies.claim import Claim
from fastrm.studies.parity import LEVEL, WHERE, Comparison, Curves, Optimum, Speed, rejected

_COLOURS = {"holds": "green", "does not hold": "red", "not in this file": "dim"}


class Judged(NamedTuple):
    """A result file and its claims."""

    path: str
    complete: bool
    claims: Sequence[Claim]


def print_claims(judged: Sequence[Judged]) -> None:
    """Print the claims of one file with numbers and reasons; of several files the verdicts side by side."""
    console = Console(highlight=False)
    if len(judged) == 1:
        for claim in judged[0].claims:
            console.print(f"{claim.number:2}. {escape(claim.text)}: [bold]{_coloured(claim.verdict)}[/]")
            for line in _evidence(claim):
                console.print(Padding(escape(f"- {line}"), (0, 0, 0, 4)))
        return
    table = Table(title="the paper's claims", title_justify="left")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("claim", ratio=2)
    for head in _heads(judged):
        table.add_column(escape(head), ratio=1)
    for row in zip(*(one.claims for one in judged), strict=True):
        table.add_row(str(row[0].number), escape(row[0].text), *(_coloured(claim.verdict) for claim in row))
    console.print(table)


def claims_as_markdown(judged: Sequence[Judged]) -> str:
    """Return the claims as a Markdown table: of one file with the evidence, of several the verdicts side by side."""
    several = len(judged) > 1
    heads = [*_heads(judged), *([] if several else ["numbers, and what the exact tools know"])]
    lines = [f"| | claim | {' | '.join(heads)} |", f"|---:|---|{'---|' * len(heads)}"]
    for row in zip(*(one.claims for one in judged), strict=True):
        cells = [claim.verdict for claim in row] + ([] if several else ["<br>".join(_evidence(row[0]))])
        lines.append(f"| {row[0].number} | {row[0].text} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _heads(judged: Sequence[Judged]) -> list[str]:
    """Name files by their stems, by their paths where stems are alike; say which are unfinished."""
    stems = [Path(one.path).stem for one in judged]
    names = stems if len(set(stems)) == len(stems) else [one.path for one in judged]
    return [name + ("" if one.complete else " (unfinished)") for name, one in zip(names, judged, strict=True)]


def _evidence(claim: Claim) -> list[str]:
    counted = f"{sum(case.holds for case in claim.cases)} of {len(claim.cases)} cases hold" if claim.cases else ""
    return [part for part in (counted, claim.numbers, claim.reason) if part]


def _coloured(verdict: str) -> str:
    return f"[{_COLOURS.get(verdict, 'yellow')}]{escape(verdict)}[/]"


def print_optima(optima: Sequence[Optimum]) -> None:
    """Print how far our exact optima are from the published estimates."""
    console = Console(highlight=False)
    for domain in ("craft", "office"):
        mine = [one for one in optima if one.name.startswith(domain)]
        worst = max(mine, key=lambda one: abs(one.deviation))
        console.print(
            f"{len(mine)} optima of {domain}: at most {abs(worst.deviation):.4%} from the published ones "
            f"({worst.name}: {worst.ours:.6f}, published {worst.published:.6f})"
        )


def print_parity(curves: Sequence[Curves], comparisons: Sequence[Comparison]) -> None:
    """Print medians and p-values at every compared step, and what follows from all of them."""
    console = Console(highlight=False)
    table = Table(title="median score, ours / published (p-value), along the curve", title_justify="left")
    table.add_column("map", no_wrap=True)
    table.add_column("algorithm", no_wrap=True)
    table.add_column("runs", justify="right", no_wrap=True)
    for share in WHERE:
        table.add_column(f"{share:.0%}", justify="right", no_wrap=True)
    table.add_column("median shift", justify="right")
    out = {id(one) for one in rejected(comparisons)}
    for curve in curves:
        mine = [one for one in comparisons if (one.cell, one.algorithm) == (curve.cell, curve.algorithm)]
        cells = [f"{one.ours:.3f}/{one.published:.3f} ({one.p:.2g})" for one in mine]
        shown = [f"[red]{cell}[/]" if id(one) in out else cell for cell, one in zip(cells, mine, strict=True)]
        shift = float(np.median([one.ours - one.published for one in mine]))
        runs = f"{len(curve.ours)}/{len(curve.published)}"
        table.add_row(curve.cell.name, curve.algorithm, runs, *shown, f"{shift:+.4f}")
    Console(highlight=False, width=max(console.width, 175)).print(table)
    smallest = min(one.p for one in comparisons)
    console.print(
        f"{len(comparisons)} comparisons: smallest p-value {smallest:.2g}, times their number "
        f"{smallest * len(comparisons):.2g}; median p-value {np.median([one.p for one in comparisons]):.2g}"
    )
    for one in rejected(comparisons):
        console.print(
            f"[red]rejected[/]: {one.cell.name} {one.algorithm} at {one.step} steps: {one.ours:.4f} against "
            f"{one.published:.4f}"
        )
    if not out:
        console.print(f"no comparison rejects equality at {LEVEL:.0%} after correcting for their number")


def print_speeds(speeds: Sequence[Speed]) -> None:
    """Print steps a second on one core, here and as published."""
    table = Table(title="steps a second on one core", title_justify="left")
    for name in ("", "ours", "published", "ratio"):
        table.add_column(name, justify="right" if name else "left")
    for one in speeds:
        table.add_row(one.name, f"{one.ours:,.0f}", f"{one.published:,.0f}", f"{one.ours / one.published:,.0f}")
    Console(highlight=False).print(table)


ABLATION_HEAD = """\
| profile | curves that change, of 18 | largest shift of our median | rejected against the published runs | median p |
|---|---|---|---|---:|
"""


def ablation_row(name: str, curves: Sequence[Curves], whole: Sequence[Curves]) -> str:
    """Return a row of the table of quirks: our curves without one against ours with all of them, and the published."""
    comparisons = [one for curve in curves for one in curve.compare()]
    changed = [k for k, (one, other) in enumerate(zip(curves, whole, strict=True)) if (one.ours != other.ours).any()]
    shift = "none"
    if changed:
        gaps = [np.median(curves[k].ours, axis=0) - np.median(whole[k].ours, axis=0) for k in changed]
        k = int(np.argmax([np.abs(gap).max() for gap in gaps]))
        at, curve = int(np.abs(gaps[k]).argmax()), curves[changed[k]]
        where = f"{curve.cell.name} {curve.algorithm} at {curve.steps[at]:,} steps".replace(",", " ")
        shift = f"{gaps[k][at]:+.3f} ({where})"
    out = rejected(comparisons)
    where = ", ".join(dict.fromkeys(f"{one.cell.name} {one.algorithm}" for one in out))
    said = f"{len(out)} of {len(comparisons)}: {where}" if out else "none"
    learners = ", ".join(dict.fromkeys(curves[k].algorithm for k in changed))
    middle = np.median([one.p for one in comparisons])
    return f"| {name} | {f'{len(changed)}: {learners}' if changed else 'none'} | {shift} | {said} | {middle:.2f} |\n"
