"""Write what the pages show: outputs of their blocks, tables of the reference, and pictures.

    python tests/refresh_docs.py                          all pages, and the README
    python tests/refresh_docs.py docs/index.md            some
    python tests/refresh_docs.py docs/reference/*.md --tables   only the tables

Blocks run in a temporary folder. An empty ``text`` block after code is filled in; so is a line ``?`` below a command.
Files that a page writes to ``docs/assets`` are copied there, and `results/record/provenance.json` then says what made
them. See `helpers/pages.py` for the form of pages. Studies that take minutes are made again by `refresh_record.py`.
"""

import argparse
import contextlib
import runpy
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "helpers")]

import evidence  # noqa: E402
import generated  # noqa: E402
import pages  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description="Write what the pages show.")
    parser.add_argument("pages", nargs="*", type=Path, help="pages, or examples (default: all)")
    parser.add_argument("--tables", action="store_true", help="only the tables of the reference")
    arguments = parser.parse_args()
    everything = [*pages.all_pages(), *sorted((pages.DOCS / "examples").glob("*.py"))]
    for source in [path.resolve() for path in arguments.pages] or everything:
        before = text = source.read_text()
        if source in generated.PAGES.values():
            text = generated.refreshed(source.stem, text)
            source.write_text(text)
        if not arguments.tables:
            with tempfile.TemporaryDirectory() as folder, evidence.learners_asked_for() as learners:
                if source.suffix == ".py":
                    with contextlib.chdir(folder):
                        runpy.run_path(str(source))
                    kept = keep_pictures(Path(folder))
                else:
                    text = pages.refreshed(text, pages.run_page(source, Path(folder)))
                    source.write_text(text)
                    kept = keep_pictures(Path(folder), text)
            note(source, kept, learners)
        sys.stdout.write(f"{'written  ' if text != before else 'unchanged'} {pages.name_of(source)}\n")
    return 0


def note(source: Path, kept: list[Path], learners: dict[str, int]) -> None:
    """Write down what made some pictures."""
    evidence.write_row(pages.name_of(source), kept, learners, code=evidence.hash_of_code(source))


def keep_pictures(folder: Path, page: str | None = None) -> list[Path]:
    """Copy what was written to docs/assets, and pictures that are there already and that the page, if any, shows."""
    copied = []
    for drawn in sorted(folder.rglob("*")):
        kept = pages.DOCS / "assets" / drawn.name
        is_shown = kept.is_file() and (page is None or f"assets/{drawn.name}" in page)
        if drawn.is_file() and (is_shown or drawn.parent == folder / "docs" / "assets"):
            shutil.copyfile(drawn, kept)
            copied.append(kept)
    return copied


if __name__ == "__main__":
    sys.exit(main())
