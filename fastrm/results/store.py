"""One result file per experiment: what is done, how finished batches are added, merged and resumed.

While an experiment runs, finished batches lie as files of the same format in ``<file>.parts/``; at the end they are
merged and removed.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import fastrm
from fastrm.arrays import Array
from fastrm.errors import ConfigError, FastrmWarning, StoreError, shown
from fastrm.results.disk import Disk, Lock, free_name, leftovers, now, unwritable
from fastrm.results.hdf5 import Columns, LazyColumns, pack, read_file, reread_image, unpack
from fastrm.results.provenance import command_line, describe_machine, git_commit
from fastrm.results.schema import SCHEMA, Frame, Runs
from fastrm.results.validation import check_numbers

MOST_BYTES_OF_NAME = 220
"""Bytes of a result file's name; systems allow 255, and what is written beside it has a suffix of up to 35."""


class AnotherExperiment(StoreError):
    """A sound file, of another experiment."""


class Store:
    """The result file of one plan: what is done, and how finished batches are added."""

    def __init__(self, path: Path, runs: Runs, disk: Disk | None = None, fresh: bool = False) -> None:
        _check_place(path)
        self.path, self.runs, self.disk = path, runs, disk or Disk()
        self.parts = path.with_name(path.name + ".parts")
        self.started = now()
        self._lock = Lock(path)
        try:
            self._prepare(fresh)
        except OSError as problem:
            self._lock.release()
            raise unwritable(path, problem) from None
        except BaseException:
            self._lock.release()
            raise

    def _prepare(self, fresh: bool) -> None:
        _check_parts(self.parts)
        if fresh:
            self._set_aside()
        self.done = np.zeros(self.runs.count, dtype=np.bool_)
        self.saved = np.zeros(self.runs.count, dtype=np.bool_)
        if self.path.exists():
            columns, attributes = self._read(self.path)
            self.started = str(attributes.get("started", self.started))
            self._count(columns)
        for segment in self._segments():
            self._count(segment)
        self._remove_leftovers()

    def _set_aside(self) -> None:
        """Keep what is there, finished batches too, under a name that nothing has; it can be continued there."""
        backup = free_name(self.path.with_name(self.path.name + ".bak"), ".parts")
        if self.path.exists():
            self.disk.rename(self.path, backup)
        if self._segment_paths():
            self.disk.rename(self.parts, backup.with_name(backup.name + ".parts"))

    def _remove_leftovers(self) -> None:
        """Remove what a killed process wrote aside; only an owner of the lock writes such files, and it is gone."""
        beside = leftovers(self.path.parent, self.path.name)
        for path in (*beside, *(leftovers(self.parts) if self.parts.is_dir() else ())):
            self.disk.remove(path)

    def _segment_paths(self) -> list[Path]:
        return sorted(self.parts.glob("*.seg")) if self.parts.is_dir() else []

    def _read(self, path: Path, source: Path | None = None) -> tuple[LazyColumns, dict[str, Any]]:
        """Read a file of this experiment; refuse one of another."""
        columns, attributes = unpack(read_file(path), str(path))
        check_same(self.runs, attributes, str(source or path))
        check_numbers(columns, self.runs, str(path))
        return columns, attributes

    def _segments(self) -> Iterator[LazyColumns]:
        """Read the finished batches; set damaged ones aside.

        Raises
        ------
        StoreError
            When one is sound and belongs to another experiment: it is somebody's work, and stays where it is.
        """
        for path in self._segment_paths():
            if not stat.S_ISREG(path.lstat().st_mode):
                raise StoreError(f"{path}: not a file of fastrm; remove it, or choose another result file")
            try:
                columns, _ = self._read(path, self.parts)
            except AnotherExperiment:
                raise
            except StoreError as problem:
                warnings.warn(f"{problem}; set aside, its runs are computed again", FastrmWarning, stacklevel=2)
                self.disk.rename(path, free_name(path.with_suffix(".damaged")))
                continue
            yield LazyColumns(partial(reread_image, path), columns)  # checked once, and not held in memory

    def _count(self, frame: Columns) -> None:
        self.saved[frame["run"]] = True
        self.done[frame["run"][frame["error"] == b""]] = True

    def todo(self, shard: tuple[int, int] | None = None) -> Array:
        """Return the runs that are not done, of one shard (i of N, from 1) or of all."""
        part, parts = shard or (1, 1)
        runs = np.flatnonzero(~self.done)
        mine: Array = runs[runs // self.runs.seeds % parts == part - 1]
        return mine

    def add(self, frame: Frame) -> None:
        """Save a finished batch."""
        self._lock.hold()
        if not self.parts.is_dir():
            self.disk.make_folder(self.parts)
            self.disk.sync(self.parts.parent)
        which = hashlib.blake2b(frame["run"].tobytes(), digest_size=6).hexdigest()  # a failed run is tried with others
        name = f"{int(frame['run'].min()):09d}-{len(frame['run'])}-{which}.seg"
        self.disk.publish(self.parts / name, pack(self.runs, [frame], self._attributes()))
        self._count(frame)

    def close(self, partial: bool = False) -> Array:
        """Merge everything that is saved into the result file, and let it go; return the runs that have vanished.

        Runs vanish when somebody removes finished batches, or the file itself, while the experiment runs. Then nothing
        is merged and the store stays open for them to be computed again, unless `partial` says to do with the rest.
        """
        lost: Array = np.zeros(0, dtype=np.int64)
        try:
            self._lock.hold()
            parts = list(self._segments())
            is_there, has_new = self.path.exists(), bool(parts)
            if is_there:
                parts.insert(0, self._read(self.path)[0])
            lost = self._recount(parts)
            if len(lost) and not partial:
                return lost
            if has_new or not is_there:
                self.disk.publish(self.path, pack(self.runs, parts, self._attributes()))
            self._drop_parts()
        except BaseException:
            self._lock.release()
            raise
        self._lock.release()
        return lost

    def _recount(self, parts: Sequence[Columns]) -> Array:
        """Count anew what is saved; return the runs that were saved once and are in no part."""
        before = self.saved
        self.saved, self.done = np.zeros_like(before), np.zeros_like(before)
        for part in parts:
            self._count(part)
        return np.flatnonzero(before & ~self.saved)

    def abandon(self) -> None:
        """Let the file go without merging; finished batches stay for the next start."""
        self._lock.release()

    def _drop_parts(self) -> None:
        if self.parts.is_dir():
            for path in (*self._segment_paths(), *leftovers(self.parts)):
                self.disk.remove(path)
            if not any(self.parts.iterdir()):
                self.disk.remove_folder(self.parts)

    def _attributes(self) -> dict[str, Any]:
        return file_attributes(self.runs, self.started)


def _check_place(path: Path) -> None:
    """Raise ConfigError unless a result file, and the files written beside it, can have this name."""
    if len(os.fsencode(path.name)) > MOST_BYTES_OF_NAME:
        raise ConfigError(
            f"{shown(path.name)}: {len(os.fsencode(path.name))} bytes are too long for a result file, whose name grows "
            f"while it is written; use at most {MOST_BYTES_OF_NAME}"
        )
    if not path.name or path.is_dir():
        raise ConfigError(f"{path}: is a folder; name a result file such as {path / 'results.h5'}")
    if path.exists() and not path.is_file():
        raise ConfigError(f"{path}: is no ordinary file; name a result file such as results.h5")


def _check_parts(path: Path) -> None:
    """Refuse what is no folder of our own where finished batches go: a link leads to files of others."""
    if os.path.lexists(path) and (path.is_symlink() or not path.is_dir()):
        raise StoreError(f"{path}: must be a folder, for finished batches; remove it, or choose another result file")


def merge_files(runs: Runs, parts: Sequence[Path], out: Path, disk: Disk | None = None) -> None:
    """Join result files of one experiment into another. What that holds already, of the same experiment, is kept.

    Raises
    ------
    StoreError
        When a file, or what is there in place of the new one, is not a result file of this experiment.
    """
    files = [unpack(read_file(path), str(path)) for path in parts]
    for path, (columns, attributes) in zip(parts, files, strict=True):
        check_same(runs, attributes, str(path))
        check_numbers(columns, runs, str(path))
    _check_place(out)
    lock = Lock(out)
    disk = disk or Disk()
    try:
        if out.exists():
            files.append(_kept(runs, out))
        started = min(str(attributes.get("started", "")) for _, attributes in files)
        data = pack(runs, [columns for columns, _ in files], file_attributes(runs, started))
        for path in leftovers(out.absolute().parent, out.name):
            disk.remove(path)
        lock.hold()
        disk.publish(out, data)
    except OSError as problem:
        raise unwritable(out, problem) from None
    finally:
        lock.release()


def _kept(runs: Runs, out: Path) -> tuple[LazyColumns, dict[str, Any]]:
    """Read what is there in place of a file to be written; it must be a result file of the same experiment."""
    try:
        columns, attributes = unpack(read_file(out), str(out))
        check_same(runs, attributes, str(out))
        check_numbers(columns, runs, str(out))
    except StoreError as problem:
        raise StoreError(f"{problem}; it is not overwritten") from None
    return columns, attributes


def file_attributes(runs: Runs, started: str) -> dict[str, Any]:
    """Return the attributes of a result file."""
    return {
        "schema": SCHEMA,
        **runs.attributes(),
        "fastrm": fastrm.__version__,
        "machine": json.dumps(describe_machine()),
        "git_commit": git_commit(),
        "command": command_line(),
        "started": started,
        "ended": now(),
    }


def check_same(runs: Runs, attributes: dict[str, Any], source: str) -> None:
    """Refuse a file of another experiment or semantics, saying what differs; versions of fastrm may differ."""
    ours = runs.attributes()
    if attributes.get("identity") == ours["identity"]:
        return
    if "identity" not in attributes:
        raise AnotherExperiment(
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
    raise AnotherExperiment(f"{source}: holds another experiment ({reason[:600]}); choose another file, or start over")


def _table(text: Any) -> dict[str, Any]:
    """Read a JSON object; anything else is an empty one."""
    try:
        table = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return table if isinstance(table, dict) else {}
