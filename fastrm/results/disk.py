"""The few operations by which results reach the disk; a crash between any two of them leaves whole files only."""

from __future__ import annotations

import os
from pathlib import Path


class Disk:
    """Plain file operations, one method each, so that a test can stop before any of them."""

    def make_folder(self, path: Path) -> None:
        """Make a folder and its parents."""
        path.mkdir(parents=True, exist_ok=True)

    def write(self, path: Path, data: bytes) -> None:
        """Write a new file."""
        with path.open("wb") as file:
            file.write(data)

    def sync(self, path: Path) -> None:
        """Bring a file's bytes, or a folder's entries, to the disk."""
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def rename(self, path: Path, target: Path) -> None:
        """Give a file its name, in place of the file that had it."""
        path.replace(target)

    def remove(self, path: Path) -> None:
        """Remove a file."""
        path.unlink(missing_ok=True)

    def remove_folder(self, path: Path) -> None:
        """Remove an empty folder."""
        path.rmdir()

    def publish(self, path: Path, data: bytes) -> None:
        """Make a file appear whole or not at all: write aside, sync, rename, sync the folder."""
        aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            self.write(aside, data)
            self.sync(aside)
            self.rename(aside, path)
        except OSError:
            aside.unlink(missing_ok=True)  # a full disk: leave no debris
            raise
        self.sync(path.parent)
