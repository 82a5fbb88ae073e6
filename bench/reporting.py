"""The report on a result file: figures, claims or findings, and a web page with all of it, in a folder beside it.

It is made once. While the result file, the program and the files of the report are unchanged, it is read back instead:
``report.json`` holds a hash of what it was made from, and what was judged.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fastrm.errors import ConfigError, FastrmError, printable

from .console import describe_state, print_message

if TYPE_CHECKING:
    from fastrm.results import Results

    from .studies import Claim

_log = logging.getLogger("fastrm.bench")
KEPT, PAGE = "report.json", "report.html"


@dataclass(frozen=True)
class Report:
    """What was made: files in the folder, and the claims or the findings that are printed."""

    files: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    findings: str = ""


def report_on(results: Results, folder: Path, quiet: bool) -> None:
    """Draw the figures and judge the claims or findings, unless that was done; print what was judged and its files.

    What cannot be done is left out with a message.
    """
    from .claims import Judged, print_claims

    made_from = _made_from(results)
    report = _read(folder, made_from)
    _log.info("report in %s: %s", folder, "made before" if report else "drawing figures, judging claims or findings")
    if report is None:
        report = _make(results, folder, made_from, quiet)
    if quiet:
        return
    if report.claims:
        print_claims([Judged(str(results.path), results.complete, report.claims)])
    files = f"{', '.join(report.files)} in {printable(str(folder))}\n" if report.files else ""
    sys.stdout.write(f"{report.findings}{describe_state(results)}\n{files}")


def _make(results: Results, folder: Path, made_from: str, quiet: bool) -> Report:
    """Make the report, and keep it if all of it could be made."""
    from fastrm.pages import report_page

    from .claims import Judged, claims_as_markdown
    from .findings import as_markdown
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
                name, text = "findings.md", (findings := "".join(as_markdown(results)))
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
