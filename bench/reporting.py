"""What a result file shows: the commands ``claims``, ``findings`` and ``report``, and what ``run --report`` makes.

The last has figures, claims or findings, and a web page with all of it, in a folder beside the result file. It is
made once. While the result file, the program and the files of the report are unchanged, it is read back instead:
``report.json`` holds a hash of what it was made from, and what was judged.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fastrm.errors import ConfigError, FastrmError, printable, shown
from fastrm.learners import registry

from .console import (
    add_file,
    add_json,
    add_learner_file,
    check_has_runs,
    check_page_name,
    describe_state,
    load_results,
    markdown_table,
    new_console,
    print_json,
    print_message,
    print_unfinished,
    write_page,
)

if TYPE_CHECKING:
    from rich.console import Console

    from fastrm.results import Results

    from .studies import Claim
    from .studies.claims import Facts

_log = logging.getLogger("fastrm.bench")
WIDEST = 120
"""Columns; longer lines are hard to follow."""
_COLOURS = {"holds": "green", "holds on most maps": "cyan", "does not hold": "red", "not in this file": "dim"}
KEPT, PAGE = "report.json", "report.html"


def add_claims(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``claims``."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="result files; several are set side by side")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print everything as JSON, cases that fail included")
    form.add_argument("--markdown", action="store_true", help="print a Markdown table")


def run_claims(arguments: argparse.Namespace) -> int:
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


def add_findings(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``findings``."""
    add_file(parser, "a result file, such as that of suite beyond")
    parser.add_argument("--by-task", action="store_true", help="a row per task, instead of all tasks together")
    parser.add_argument(
        "--lengths", action="store_true", help="also tell whether tasks are learned at all, and how long paths are"
    )
    parser.add_argument("--no-exact", action="store_true", help="leave out the exact verdicts, which take a while")
    parser.add_argument("--figure", metavar="FILE", type=Path, help="also draw the differences, as .png, .pdf or .svg")
    add_json(parser)


def run_findings(arguments: argparse.Namespace) -> int:
    """Print the tables."""
    results = load_results(arguments.file)
    if not results.complete:
        print_message(f"{describe_state(results)}; told from the runs that are there")
    if arguments.figure is not None:
        _draw_gaps(results, arguments.figure)
    wanted = {"by_task": arguments.by_task, "exact": not arguments.no_exact, "lengths": arguments.lengths}
    if arguments.json:
        print_json(as_dict(results, **wanted))
        return 0
    for part in findings_as_markdown(results, **wanted):
        sys.stdout.write(part)
        sys.stdout.flush()
    return 0


def _draw_gaps(results: Results, out: Path) -> None:
    """Draw how much methods differ at the lowest start of their values, task by task."""
    from fastrm.plots import by_optimism, draw_gaps, save

    from .studies.findings import differences

    if out.suffix not in (".png", ".pdf", ".svg"):
        raise ConfigError(f"--figure {out}: must end in .png, .pdf or .svg")
    gaps = list(differences(results, tasks=True))
    if not gaps:
        raise ConfigError("--figure: the file has none of the pairs of methods that findings compare")
    least = min((gap.optimism for gap in gaps), key=by_optimism)
    rows = []
    for gap in gaps:
        setup, _, task = gap.setup.partition(", task ")
        if gap.optimism == least:
            rows.append((setup, f"{gap.one} - {gap.two}, {task}", *gap.area))
    save(draw_gaps(rows), out)


def as_dict(results: Results, by_task: bool = False, exact: bool = True, lengths: bool = False) -> dict[str, Any]:
    """Return the findings for programs."""
    from fastrm.plots import start_points

    from .studies.findings import agreement, certified, differences, learned, verdicts

    if results.swept == ("q_init",):
        return {"tables": list(_start_tables(results, exact))}
    found: dict[str, Any] = {
        "sweep": list(start_points(results, tasks=by_task)),
        "differences": list(differences(results)),
    }
    if lengths:
        found["learned"] = list(learned(results, by_task))
    if exact and not results.plan.slip:
        known = verdicts(results.plan)
        found |= {"certified": list(certified(results.plan, known)), "agreement": list(agreement(results, known))}
    return found


def _start_tables(results: Results, exact: bool) -> list[dict[str, Any]]:
    """Return the findings of a file with several values of ``q_init``."""
    from .studies.starts import findings

    return findings([results], exact)[0]


def findings_as_markdown(
    results: Results, by_task: bool = False, exact: bool = True, lengths: bool = False
) -> Iterator[str]:
    """Yield the tables as Markdown, one after the other."""
    from .studies.findings import findings_tables

    tables: Iterable[dict[str, Any]] = findings_tables(results, by_task=by_task, exact=exact, lengths=lengths)
    if results.swept == ("q_init",):
        tables = _start_tables(results, exact)
    for k, table in enumerate(tables):
        yield ("\n" if k else "") + table["title"] + ".\n"
        if table["rows"]:
            yield "\n" + markdown_table(table["head"], table["rows"])


def add_report(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``report``."""
    add_file(parser)
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE", help="the page, such as r.html")
    add_learner_file(parser)
    parser.add_argument("--against", metavar="METHOD", help="compare all methods with this one (default: the first)")
    parser.add_argument("--by", default="method", metavar="COORDINATE", help="compare tasks, kinds or others instead")
    parser.add_argument("--all-runs", action="store_true", help="list every run, not only best, median and worst")
    parser.add_argument(
        "--replays", type=int, default=12, metavar="N", help="runs that can be walked on the page (default 12)"
    )
    parser.add_argument(
        "--no-verdicts", action="store_true", help="leave out claims and exact verdicts, which take up to half a minute"
    )


def run_report(arguments: argparse.Namespace) -> int:
    """Make the page."""
    from fastrm.pages import report_page

    from .studies.claims import judged

    check_page_name(arguments.out)
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
        by=arguments.by, all_runs=arguments.all_runs, replays=arguments.replays,
    )  # fmt: skip
    write_page(arguments.out, page)
    return 0


@dataclass(frozen=True)
class Report:
    """What was made: files in the folder, and the claims or the findings that are printed."""

    files: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    findings: str = ""


def report_on(results: Results, folder: Path, quiet: bool) -> None:
    """Draw the figures and judge the claims or findings, unless that was done; print curves, what was judged and files.

    What cannot be done is left out with a message.
    """
    from .plot import print_curves

    made_from = _made_from(results)
    report = _read(folder, made_from)
    _log.info("report in %s: %s", folder, "made before" if report else "drawing figures, judging claims or findings")
    if report is None:
        report = _make(results, folder, made_from, quiet)
    if quiet:
        return
    print_curves(results)
    if report.claims:
        print_claims([Judged(str(results.path), results.complete, report.claims)])
    files = f"{', '.join(report.files)} in {printable(str(folder))}\n" if report.files else ""
    sys.stdout.write(f"{report.findings}{describe_state(results)}\n{files}")


def _make(results: Results, folder: Path, made_from: str, quiet: bool) -> Report:
    """Make the report, and keep it if all of it could be made."""
    from fastrm.pages import report_page

    from .plot import draw
    from .studies.claims import has_starts, is_plain, judge
    from .studies.findings import findings_tables

    files: list[Path] = []
    claims: Sequence[Claim] = ()
    findings, is_whole = "", True
    try:
        files += draw(results, folder, quiet=quiet)
    except ConfigError as problem:
        is_whole = False
        print_message(str(problem))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if is_plain(results):
            if has_starts(results):
                name, text = "findings.md", (findings := "".join(findings_as_markdown(results)))
            else:
                claims = judge(results)
                name, text = "claims.md", claims_as_markdown([Judged(str(results.path), results.complete, claims)])
            (folder / name).write_text(text)
            files.append(folder / name)
        if is_whole:  # else there are no curves
            files.append(folder / PAGE)
            tables = list(findings_tables(results, exact=False)) if findings else []  # verdicts are in the file beside
            page = report_page(results, claims=[claim.to_dict() for claim in claims], findings=tables)
            files[-1].write_text(page, encoding="utf-8", newline="\n")
        report = Report(tuple(path.name for path in files), tuple(claims), findings)
        if is_whole:
            hashes = {path.name: _hash(path) for path in files}
            (folder / KEPT).write_text(json.dumps({"made_from": made_from, "hashes": hashes, **asdict(report)}))
        return report
    except FastrmError as problem:
        print_message(str(problem))
    except OSError as problem:
        print_message(f"{folder}: cannot be written: {problem.strerror or problem}")
    return Report(tuple(path.name for path in files))


def _read(folder: Path, made_from: str) -> Report | None:
    """Return the report of an earlier start; None where it is of something else, damaged or not there."""
    from .studies import Case, Claim

    try:
        kept = json.loads((folder / KEPT).read_bytes())
        if kept["made_from"] != made_from or any(_hash(folder / name) != h for name, h in kept["hashes"].items()):
            return None
        claims = [
            Claim(**{**claim, "parts": tuple(claim["parts"]), "cases": tuple(Case(**case) for case in claim["cases"])})
            for claim in kept["claims"]
        ]
        return Report(tuple(kept["files"]), tuple(claims), kept["findings"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _made_from(results: Results) -> str:
    """Return a hash of the result file and of the program."""
    import fastrm
    from fastrm import kernels
    from fastrm.plots import have_matplotlib

    digest = hashlib.blake2b(digest_size=16)
    folders = (Path(str(file)).parent for file in (fastrm.__file__, kernels.__file__, __file__))
    sources = {path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".js", ".css")}
    for path in (results.path, *sorted(sources)):
        digest.update(path.read_bytes() if path is not None else b"")
    digest.update(f"{results.path} {have_matplotlib()}".encode(errors="replace"))
    return digest.hexdigest()


def _hash(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
