"""Write what the pages show: outputs of their blocks, tables of the reference, and pictures.

    python tests/refresh_docs.py                          all pages, and the README
    python tests/refresh_docs.py docs/index.md            some
    python tests/refresh_docs.py docs/reference/*.md --tables   only the tables

Blocks run in a temporary folder. An empty ``text`` block after code is filled in; so is a line ``?`` below a command.
Files that a page writes to ``docs/assets`` are copied there. See `helpers/pages.py` for the form of pages.
"""

import argparse
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
                for drawn in sorted((Path(folder) / "docs" / "assets").rglob("*")):
                    if drawn.is_file():
                        kept = ROOT / drawn.relative_to(folder)
                        kept.parent.mkdir(parents=True, exist_ok=True)
                        shutil.copyfile(drawn, kept)
        sys.stdout.write(f"{'written  ' if text != before else 'unchanged'} {pages.name_of(page)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
