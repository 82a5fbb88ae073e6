"""A tiny experiment, what its file holds, a disk that crashes, and the command that runs it."""

import io
import sys
from pathlib import Path

import h5py

from fastrm import Experiment, LearnerConfig
from fastrm.results.hdf5 import unseal
from fastrm.results.store import Disk

TOML = """
setups = ["1a1b1c"]
maps = 3
size = 15
tasks = ["a", "a-b-c"]
methods = ["qrm-bool", "crm-rs-bool", "hrm-num", "crm-num-bool"]
seeds = 6
steps = 400_000
"""


def experiment(**changes):
    settings = {
        "name": "tiny", "setups": ("1a1b",), "maps": 2, "size": 7, "tasks": ("a", "a-b"),
        "methods": ("qrm-bool", "crm-rs-bool", "hrm-num"), "seeds": 3, "steps": 2000,
        "learner": LearnerConfig(tick=500),
    }  # fmt: skip
    return Experiment(**{**settings, **changes})


def contents(path):
    """Return every dataset of a result file as bytes."""
    with h5py.File(io.BytesIO(unseal(Path(path).read_bytes(), str(path)))) as file:
        return {name: (str(d.dtype), d.shape, d[...].tobytes()) for name, d in file.items()}


class Crash(BaseException):
    """The machine stops here."""


class CrashDisk(Disk):
    """A disk that crashes before operation number `at`, in one of several ways."""

    def __init__(self, at, torn=False, lossy=False):
        self.at, self.torn, self.lossy, self.count = at, torn, lossy, 0
        self.unsynced, self.undo = set(), []

    def next(self):
        self.count += 1
        if self.count > self.at:
            self.crash()

    def crash(self):
        if self.lossy:  # what was not synced never reached the platter
            for path in self.unsynced:
                if path.exists():
                    path.write_bytes(b"")
            for undo in reversed(self.undo):
                undo()
        raise Crash

    def make_folder(self, path):
        self.next()
        super().make_folder(path)

    def write(self, path, data):
        if self.torn and self.count == self.at:
            super().write(path, data[: len(data) // 2])
        self.next()
        super().write(path, data)
        self.unsynced.add(path)

    def sync(self, path):
        self.next()
        super().sync(path)
        self.unsynced.discard(path)
        if path.is_dir():
            self.undo.clear()

    def rename(self, path, target):
        self.next()
        old = target.read_bytes() if target.exists() else None
        data = path.read_bytes()
        super().rename(path, target)
        if path in self.unsynced:  # a new name does not bring bytes to the platter
            self.unsynced = (self.unsynced - {path}) | {target}
        self.undo.append(lambda: (path.write_bytes(data), target.unlink() if old is None else target.write_bytes(old)))

    def remove(self, path):
        self.next()
        data = path.read_bytes() if path.exists() else b""
        super().remove(path)
        self.undo.append(lambda: path.parent.is_dir() and path.write_bytes(data))

    def remove_folder(self, path):
        self.next()
        super().remove_folder(path)


def command(path, toml, *more):
    return [sys.executable, "-m", "fastrm.bench", "run", str(toml), "--out", str(path), *more]


def saved_runs(path):
    """Return the runs that finished batches hold."""
    found = set()
    files = [*path.parent.glob(path.name + ".parts/*.seg"), *([path] if path.exists() else [])]
    for file in files:
        with h5py.File(io.BytesIO(unseal(file.read_bytes(), str(file)))) as segment:
            found |= set(segment["run"][...].tolist())
    return found
