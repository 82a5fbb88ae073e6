"""Write what the pages show: outputs of their blocks, tables of the reference, and pictures.

    python tests/refresh_docs.py                          all pages, and the README
    python tests/refresh_docs.py docs/index.md            some
    python tests/refresh_docs.py docs/reference/*.md --tables   only the tables

Blocks run in a temporary folder. An empty ``text`` block after code is filled in; so is a line ``?`` below a command.
Files that a page writes to ``docs/assets`` are copied there. See `helpers/pages.py` for the form of pages.
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

import generated  # noqa: E402
import pages  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description="Write what the pages show.")
    parser.add_argument("pages", nargs="*", type=Path, help="pages (default: all)")
    parser.add_argument("--tables", action="store_true", help="only the tables of the reference")
    arguments = parser.parse_args()
    for page in [page.resolve() for page in arguments.pages] or pages.all_pages():
        before = text = page.read_text()
        if page in generated.PAGES.values():
            text = generated.refreshed(page.stem, text)
            page.write_text(text)
        if not arguments.tables:
            with tempfile.TemporaryDirectory() as folder:
                text = pages.refreshed(text, pages.run_page(page, Path(folder)))
                page.write_text(text)
                keep_pictures(Path(folder), text)
        sys.stdout.write(f"{'written  ' if text != before else 'unchanged'} {pages.name_of(page)}\n")
    for example in sorted((pages.DOCS / "examples").glob("*.py")) if not arguments.pages else ():
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            runpy.run_path(str(example))
            keep_pictures(Path(folder))
    return 0


def keep_pictures(folder: Path, page: str | None = None) -> None:
    """Copy what was written to docs/assets, and pictures that are there already and that the page, if any, shows."""
    for drawn in sorted(folder.rglob("*")):
        kept = pages.DOCS / "assets" / drawn.name
        is_shown = kept.is_file() and (page is None or f"assets/{drawn.name}" in page)
        if drawn.is_file() and (is_shown or drawn.parent == folder / "docs" / "assets"):
            shutil.copyfile(drawn, kept)


if __name__ == "__main__":
    sys.exit(main())
