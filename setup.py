"""The commit that an archive is built from, and the README as a package index shows it."""

import re
import subprocess
import tomllib
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent
COMMIT = "fastrm/COMMIT"


def commit() -> str:
    """Return the commit of this checkout; of an unpacked sdist the one it was made from, empty where unknown."""
    if not (ROOT / ".git").exists():
        kept = ROOT / COMMIT
        return kept.read_text() if kept.is_file() else ""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=40", "--match="]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


def record(folder: str) -> None:
    """Write the commit into a tree that is about to be packed."""
    path = Path(folder, COMMIT)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)  # it may be a hard link to a file of the checkout
    path.write_text(commit())


class BuildWithCommit(build_py):
    """Copy the modules, then record the commit beside them."""

    def run(self) -> None:
        """Build."""
        super().run()
        if not self.editable_mode:
            record(self.build_lib)


class SdistWithCommit(sdist):
    """Collect the files, then record the commit among them."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Make the tree that is packed."""
        super().make_release_tree(base_dir, files)
        record(base_dir)


def absolute_links(text: str, address: str) -> str:
    """Return Markdown whose relative links lead into the repository at `address`; without one, links become words."""

    def link(match: re.Match[str]) -> str:
        picture, words, target = match.groups()
        if "://" in target or target.startswith("#"):
            return match[0]
        if not address:
            return "" if picture else words
        return f"{picture}[{words}]({address}/{'raw' if picture else 'blob'}/HEAD/{target})"

    return re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", link, text)


if __name__ == "__main__":  # a build runs this file, tests import it
    address = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["fastrm"]["address"]
    setup(
        long_description=absolute_links((ROOT / "README.md").read_text(encoding="utf-8"), address),
        long_description_content_type="text/markdown",
        project_urls={"Source": address, "Changelog": f"{address}/blob/HEAD/CHANGELOG.md"} if address else {},
        cmdclass={"build_py": BuildWithCommit, "sdist": SdistWithCommit},
    )
