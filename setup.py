"""Record the commit that an archive is built from; everything else stands in pyproject.toml."""

import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

COMMIT = "fastrm/COMMIT"


def commit() -> str:
    """Return the commit of this checkout; of an unpacked sdist the one it was made from, empty where unknown."""
    root = Path(__file__).resolve().parent
    if not (root / ".git").exists():
        kept = root / COMMIT
        return kept.read_text() if kept.is_file() else ""
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--match="]
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


setup(cmdclass={"build_py": BuildWithCommit, "sdist": SdistWithCommit})
