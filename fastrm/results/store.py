"""One result file per experiment: what is done, how finished batches are added, merged and resumed.

While an experiment runs, finished batches lie as files of the same format in ``<file>.parts/``; at the end they are
merged and removed.
"""

from __future__ import annotations

import datetime
import json
import os
import socket
import sys
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import fastrm
from fastrm.arrays import Array
from fastrm.errors import ConfigError, FastrmWarning, StoreError
from fastrm.results.disk import Disk
from fastrm.results.hdf5 import Columns, LazyColumns, pack, read_file, reread_image, unpack
from fastrm.results.provenance import describe_machine, git_commit
from fastrm.results.schema import SCHEMA, Frame, Runs


class Store:
    """The result file of one plan: what is done, and how finished batches are added."""

    def __init__(self, path: Path, runs: Runs, disk: Disk | None = None, fresh: bool = False) -> None:
        if not path.name or path.is_dir():
            raise ConfigError(f"{path}: is a folder; name a result file such as {path / 'results.h5'}")
        self.path, self.runs, self.disk = path, runs, disk or Disk()
        self.parts = path.with_name(path.name + ".parts")
        self.started = _now()
        self._lock = _Lock(path)
        try:
            self._prepare(fresh)
        except OSError as problem:
            self._lock.release()
            raise StoreError(f"{path}: cannot be written: {problem.strerror or problem}") from None
        except BaseException:
            self._lock.release()
            raise

    def _prepare(self, fresh: bool) -> None:
        if fresh:
            if self.path.exists():
                self.disk.rename(self.path, self.path.with_name(self.path.name + ".bak"))
            self._drop_parts()
        self.done = np.zeros(self.runs.count, dtype=np.bool_)
        if self.path.exists():
            frame, attributes = unpack(read_file(self.path), str(self.path))
            check_same(self.runs, attributes, str(self.path))
            self.started = str(attributes.get("started", self.started))
            self._count(frame)
        for segment in self._segments():
            self._count(segment)

    def _segments(self) -> Iterator[LazyColumns]:
        """Read the finished batches; set damaged ones aside."""
        for path in sorted(self.parts.glob("*.seg")) if self.parts.is_dir() else ():
            try:
                columns, attributes = unpack(read_file(path), str(path))
                check_same(self.runs, attributes, str(path))
            except StoreError as problem:
                warnings.warn(f"{problem}; set aside, its runs are computed again", FastrmWarning, stacklevel=2)
                self.disk.rename(path, path.with_suffix(".damaged"))
                continue
            yield LazyColumns(partial(reread_image, path), columns)  # checked once, and not held in memory

    def _count(self, frame: Columns) -> None:
        self.done[frame["run"][frame["error"] == b""]] = True

    def todo(self, shard: tuple[int, int] | None = None) -> Array:
        """Return the runs that are not done, of one shard (i of N, from 1) or of all."""
        part, parts = shard or (1, 1)
        runs = np.flatnonzero(~self.done)
        mine: Array = runs[runs // self.runs.seeds % parts == part - 1]
        return mine

    def add(self, frame: Frame) -> None:
        """Save a finished batch."""
        if not self.parts.is_dir():
            self.disk.make_folder(self.parts)
            self.disk.sync(self.parts.parent)
        name = f"{int(frame['run'].min()):09d}-{len(frame['run'])}.seg"
        self.disk.publish(self.parts / name, pack(self.runs, [frame], self._attributes()))
        self._count(frame)

    def close(self) -> None:
        """Merge everything that is done into the result file, and let it go."""
        try:
            parts = list(self._segments())
            if parts or not self.path.exists():
                if self.path.exists():
                    parts.insert(0, unpack(read_file(self.path), str(self.path))[0])
                self.disk.publish(self.path, pack(self.runs, parts, self._attributes()))
            self._drop_parts()
        finally:
            self._lock.release()

    def abandon(self) -> None:
        """Let the file go without merging; finished batches stay for the next start."""
        self._lock.release()

    def _drop_parts(self) -> None:
        if self.parts.is_dir():
            for path in sorted(self.parts.iterdir()):
                if path.suffix == ".seg" or path.suffix == ".tmp":
                    self.disk.remove(path)
            if not any(self.parts.iterdir()):
                self.disk.remove_folder(self.parts)

    def _attributes(self) -> dict[str, Any]:
        return file_attributes(self.runs, self.started)


def merge_files(runs: Runs, parts: Sequence[Path], out: Path, disk: Disk | None = None) -> None:
    """Join result files of one experiment into another."""
    files = [unpack(read_file(path), str(path)) for path in parts]
    for path, (_, attributes) in zip(parts, files, strict=True):
        check_same(runs, attributes, str(path))
    started = min(str(attributes["started"]) for _, attributes in files)
    data = pack(runs, [columns for columns, _ in files], file_attributes(runs, started))
    lock = _Lock(out)
    try:
        (disk or Disk()).publish(out, data)
    except OSError as problem:
        raise StoreError(f"{out}: cannot be written: {problem.strerror or problem}") from None
    finally:
        lock.release()


def file_attributes(runs: Runs, started: str) -> dict[str, Any]:
    """Return the attributes of a result file."""
    return {
        "schema": SCHEMA,
        **runs.attributes(),
        "fastrm": fastrm.__version__,
        "machine": json.dumps(describe_machine()),
        "git_commit": git_commit(),
        "command": " ".join(sys.argv),
        "started": started,
        "ended": _now(),
    }


def check_same(runs: Runs, attributes: dict[str, Any], source: str) -> None:
    """Refuse a file of another experiment or semantics, saying what differs; versions of fastrm may differ."""
    ours = runs.attributes()
    if attributes.get("identity") == ours["identity"]:
        return
    if "identity" not in attributes:
        raise StoreError(
            f"{source}: begun before runs had lasting identities; it can be read, not continued: choose another file, "
            "or start over"
        )
    differences = []
    for name in ("semantics", "experiment"):
        here, there = _table(ours[name]), _table(attributes.get(name))
        for key in sorted({*here, *there}):
            if here.get(key) != there.get(key):
                called = f"semantics of {key}" if name == "semantics" else key
                differences.append(f"{called} {there.get(key)!r} there, {here.get(key)!r} here")
    reason = "; ".join(differences) or "a map or machine file has changed"
    raise StoreError(f"{source}: holds another experiment ({reason[:600]}); choose another file, or start over")


def _table(text: Any) -> dict[str, Any]:
    """Read a JSON object; anything else is an empty one."""
    try:
        table = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return table if isinstance(table, dict) else {}


class _Lock:
    """One runner per result file: an advisory lock that dies with its process, and says who holds it."""

    def __init__(self, path: Path) -> None:
        self.path = path.with_name(path.name + ".lock")
        try:
            self.file = self.path.open("a+")
        except OSError as problem:
            raise StoreError(f"{path}: cannot be written: {problem.strerror or problem}") from None
        try:
            import fcntl

            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # no such locks on this system
            pass
        except OSError:
            self.file.seek(0)
            owner = self.file.read().strip() or "another process"
            self.file.close()
            raise StoreError(f"{path}: in use by {owner}; wait for it, or choose another file") from None
        self.file.truncate(0)
        self.file.write(f"process {os.getpid()} on {socket.gethostname()} since {_now()}\n")
        self.file.flush()

    def release(self) -> None:
        if not self.file.closed:
            self.path.unlink(missing_ok=True)
            self.file.close()


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
