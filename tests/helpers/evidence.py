"""What made the committed figures, tables and records, and whether the code would still make them.

`results/record/provenance.json` has a row for everything that leaves such files: a study of `refresh_record.py`, or a
page or an example of the documentation, by `refresh_docs.py`. A row holds

    commands    what was run, for a study
    code        hash of the code that was run, for a page or an example
    suites      hash of what determines the numbers of every suite
    semantics   number of every learner that was asked for
    palette     hash of colours, lines and sizes, where there are pictures
    files       hash of every file that was left
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from fastrm.experiments import Method, Plan, read_suite
from fastrm.learners import registry
from fastrm.plots import palette as palette_module, style

import pages
from pages import DOCS, ROOT

RECORD = ROOT / "results" / "record"
MANIFEST = RECORD / "provenance.json"
PICTURES = (".png", ".svg", ".gif")
DRAWN = (
    "OBJECT_COLOURS", "KIND_COLOURS", "LEARNER_COLOURS", "LEARNER_LINES", "LEARNER_MARKERS", "KIND_LINES", "MARKERS",
    "NODE_COLOURS", "PATH_COLOUR", "EDGE_TEXT", "HERE_COLOUR", "PARITY_COLOURS",
)  # fmt: skip
"""Names in `palette` that committed pictures depend on."""
STYLED = ("DPI", "LEGEND_SIZE", "TITLE_SIZE", "STYLE", "LEFT", "RIGHT")
"""Names in `style` that they depend on."""


def committed_files() -> list[str]:
    """Return the files that need a row, from the root of the repository."""
    others = {MANIFEST, RECORD / "README.md", DOCS / "assets" / "site.css"}
    found = (path for folder in (RECORD, DOCS / "assets") for path in folder.rglob("*"))
    return sorted(str(path.relative_to(ROOT)) for path in found if path.is_file() and path not in others)


def rows() -> dict[str, dict]:
    """Return all rows by name."""
    return json.loads(MANIFEST.read_text())


def write_row(name: str, files: Iterable[Path], semantics: dict[str, int], **rest: object) -> None:
    """Write the row of a study, a page or an example that has just left some files; those leave all other rows."""
    hashes = {str(path.relative_to(ROOT)): hash_of(path.read_bytes()) for path in sorted(files)}
    others = {other: row for other, row in rows().items() if other != name}
    for row in others.values():
        row["files"] = {path: digest for path, digest in row["files"].items() if path not in hashes}
    row = {**rest, "semantics": dict(sorted(semantics.items())), "files": hashes}
    if any(path.endswith(PICTURES) for path in hashes):
        row["palette"] = palette()
    kept = {name: row for name, row in {**others, name: row}.items() if row["files"]}
    MANIFEST.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


def differences(name: str, row: dict) -> Iterator[str]:
    """Yield what the code says otherwise than a row."""
    now = {f"semantics of {algo}": (number, semantics_of(algo)) for algo, number in row["semantics"].items()}
    for suite, old in row.get("suites", {}).items():
        if not needs_reference(suite):
            now[f"suite {suite}"] = (old, hash_of_suite(suite))
    if "code" in row:
        now["code"] = (row["code"], hash_of_code(ROOT / name))
    if "palette" in row:
        now["palette"] = (row["palette"], palette())
    yield from (f"{what}: {old}, now {new}" for what, (old, new) in now.items() if old != new)


def semantics_of(algo: str) -> int:
    """Return the semantics number of a learner."""
    return registry.find(algo).semantics


@contextlib.contextmanager
def learners_asked_for() -> Iterator[dict[str, int]]:
    """Note the semantics numbers of the learners of fastrm that are asked for inside."""
    for name in registry.BUILT_IN:
        registry.forget(name)
    found: dict[str, int] = {}
    yield found
    found |= {name: learner.semantics for name, learner in registry.known().items() if name in registry.BUILT_IN}


def learners_of(suite: str) -> set[str]:
    """Return the learners of a suite."""
    return {Method.parse(label).algo for one in read_suite(suite, reference=ROOT) for label in one.methods}


def hash_of_suite(suite: str) -> str:
    """Return a hash of what determines the numbers of a suite, as in result files, from one map of each setup."""
    plans = [(one.maps, Plan.of(replace(one, maps=1)).digest) for one in read_suite(suite)]
    return hash_of(json.dumps(plans).encode())


def needs_reference(suite: str) -> bool:
    """Return whether a suite needs the published data, and it is not at hand."""
    return suite.startswith("icarte") and not os.environ.get("FASTRM_REFERENCE")


def hash_of_code(path: Path) -> str:
    """Return a hash of what is run of a page or an example."""
    text = path.read_text()
    return hash_of(("\n".join(pages.code_of(text)) if path.suffix == ".md" else text).encode())


def palette() -> str:
    """Return a hash of the constants that pictures are drawn with."""
    constants = {name: getattr(palette_module, name) for name in DRAWN}
    constants |= {name: getattr(style, name) for name in vars(style) if name in STYLED}
    return hash_of(json.dumps(constants | {"TYPE_CHECKING": False}, sort_keys=True).encode())


def hash_of(data: bytes) -> str:
    """Return a hash, 16 hexadecimal digits."""
    return hashlib.blake2b(data, digest_size=8).hexdigest()
