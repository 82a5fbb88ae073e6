"""The result file of an experiment on disk: which runs are done, and how batches are added, merged and resumed.

While an experiment runs, finished batches are files of the same format in ``<file>.parts/``; at the end they are merged
and removed. Everything reaches the disk by the few operations of `Disk`; a crash between any two of them leaves only
whole files. A `Lock` keeps other processes out.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import secrets
import shlex
import socket
import stat
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import fastrm
from fastrm.arrays import Array
from fastrm.errors import ConfigError, DiskError, FastrmWarning, StoreError, shown
from fastrm.results.hdf5 import Columns, LazyColumns, check_numbers, pack, read_file, reopen, stamp_of, unpack
from fastrm.results.schema import SCHEMA, Frame, Runs


@lru_cache(maxsize=1)
def describe_machine() -> dict[str, str | int]:
    """Return processor, cores, system and versions."""
    return {
        "cpu": cpu_name(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in ("numba", "llvmlite", "numpy")},
    }


def command_line() -> str:
    """Return the command that started this process, as it was typed: without the path of the program."""
    program, *words = sys.argv or [""]
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    if main is not None and Path(program).name == "__main__.py":
        return shlex.join(["python", "-m", main.parent, *words])
    return shlex.join([Path(program).name, *words])


def cpu_name() -> str:
    """Return the processor's name, with family and model where the name says little."""
    facts: dict[str, str] = {}
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            key, _, value = line.partition(":")
            facts.setdefault(key.strip(), value.strip())
    name = facts.get("model name") or platform.processor() or platform.machine()
    return f"{name} (family {facts['cpu family']}, model {facts['model']})" if "cpu family" in facts else name


@lru_cache(maxsize=1)
def git_commit() -> str:
    """Return the commit of the checkout that fastrm is run from, or that it was built from; empty where unknown."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        recorded = root / "fastrm" / "COMMIT"
        return recorded.read_text().strip() if recorded.is_file() else ""
    try:
        command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--match="]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=5).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_OWN = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_LEFTOVER = r"\.{}\.([0-9a-f]{{16}}|[0-9]{{1,10}})\.tmp"  # the second form is that of earlier versions
_NO_FOLDER_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.ENOSYS, errno.EACCES, errno.EPERM}
_FULL = {errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC)}
_NOTE = b"process "
_ATTEMPTS = 100


class Disk:
    """Plain file operations, one method each, so that a test can stop before any of them."""

    def make_folder(self, path: Path) -> None:
        """Make a folder and its parents."""
        path.mkdir(parents=True, exist_ok=True)

    def write(self, path: Path, data: bytes) -> None:
        """Write a file that is not there yet; a link of that name is not followed."""
        with os.fdopen(os.open(path, _NEW, 0o666), "wb") as file:
            file.write(data)

    def sync(self, path: Path) -> None:
        """Bring a file's bytes, or a folder's entries where the system can, to the disk."""
        is_folder = path.is_dir()
        try:
            descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)  # Windows syncs only what it may write
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as problem:
            if not is_folder or problem.errno not in _NO_FOLDER_SYNC:
                raise

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
        aside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")  # a name that nobody can prepare
        try:
            self.write(aside, data)
            self.sync(aside)
            self.rename(aside, path)
        except OSError:
            with contextlib.suppress(OSError):
                aside.unlink()  # a full disk: leave no debris
            raise
        self.sync(path.parent)


def leftovers(folder: Path, name: str | None = None) -> list[Path]:
    """Return the temporary files that a killed process left for one file of a folder, or for any of them."""
    pattern = re.compile(_LEFTOVER.format(r".+" if name is None else re.escape(name)), re.DOTALL)
    return sorted(path for path in folder.iterdir() if pattern.fullmatch(path.name) and not path.is_dir())


def free_name(path: Path, *beside: str) -> Path:
    """Return the first of ``path``, ``path.1``, ``path.2``, ... that is free, also with any suffix of `beside`."""
    candidate, number = path, 0
    while any(os.path.lexists(f"{candidate}{suffix}") for suffix in ("", *beside)):
        number += 1
        candidate = path.with_name(f"{path.name}.{number}")
    return candidate


def write_error(path: Path, problem: OSError) -> StoreError:
    """Return the error for a file that cannot be written; a full disk is nobody's bad argument."""
    error = DiskError if problem.errno in _FULL else StoreError
    return error(f"{path}: cannot be written: {problem.strerror or problem}")


class Lock:
    """One process per result file.

    The lock is advisory, dies with its process, and names its owner. A lock file that was removed between opening and
    locking it is nobody's, so that one is never owned: of all processes that follow this rule, one owns the name.
    Someone may still remove the lock file by hand. `hold` notices, takes the lock again, and refuses where another
    process was quicker; it is called before every change to a file, so the first owner never overwrites the second's.
    A system without such locks (no `fcntl`) has only the name of the owner in the file.
    """

    def __init__(self, path: Path) -> None:
        self.target, self.path = path, path.with_name(path.name + ".lock")
        self._descriptor = -1
        self._take()

    def hold(self) -> None:
        """Take the lock again if its file was removed; raise DiskError if another process owns it by now."""
        if self._is_current():
            return
        self._let_go()
        try:
            self._take()
        except StoreError as problem:
            raise DiskError(f"{problem}; {self.path.name} was removed during this run; start again") from None

    def release(self) -> None:
        """Remove the lock file, if it is still this lock's, and let go."""
        if self._is_current():
            with contextlib.suppress(OSError):  # some systems remove no open file
                self.path.unlink()
        self._let_go()

    def _is_current(self) -> bool:
        return self._descriptor >= 0 and _is_at(self._descriptor, self.path)

    def _let_go(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def _take(self) -> None:
        try:
            for _ in range(_ATTEMPTS):
                descriptor = os.open(self.path, _OWN, 0o666)
                try:
                    self._lock_and_sign(descriptor)
                finally:
                    if self._descriptor < 0:
                        os.close(descriptor)
                if self._descriptor >= 0:
                    return
            raise StoreError(f"{self.target}: other programs lock it again and again; choose another file")
        except OSError as problem:
            if self._descriptor >= 0:
                self.release()
            if problem.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
                raise self._foreign_file() from None
            raise write_error(self.target, problem) from None

    def _lock_and_sign(self, descriptor: int) -> None:
        """Lock an open lock file and sign it, unless it is no longer the one at its path."""
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise self._foreign_file()
        is_free, note = _lock(descriptor), os.read(descriptor, 200)
        if not is_free:
            owner = note.decode("utf-8", "replace").split("\n")[0].strip() or "another process"
            raise StoreError(f"{self.target}: in use by {owner}; wait for it, or choose another file")
        if not _is_at(descriptor, self.path):
            return  # its last owner removed it after we had opened it
        if not note.startswith(_NOTE[: len(note)]):
            raise self._foreign_file()
        self._descriptor = descriptor
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, _NOTE + f"{os.getpid()} on {socket.gethostname()} since {now()}\n".encode())

    def _foreign_file(self) -> StoreError:
        return StoreError(f"{self.path}: not a lock file of fastrm; remove it, or choose another result file")


def _lock(descriptor: int) -> bool:
    """Lock an open file; return False if another process has locked it."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    """Return whether an open file is the one at a path."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False


def now() -> str:
    """Return the time, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


MAX_NAME_BYTES = 220
"""Bytes of a result file's name; systems allow 255, and what is written beside it has a suffix of up to 35."""


def runs_of_shard(runs: Runs, part: int, parts: int) -> Array:
    """Return the runs of shard i of N, counted from 1, in order.

    Runs that differ only in their seeds are a cell. Cells are dealt to N hands in turn, so that every shard has some of
    each method. All hands, one after the other, are then cut into N equal parts, which splits the seeds of some cells.

    Raises
    ------
    ConfigError
        When there are more shards than runs.
    """
    count, seeds = runs.count, runs.seeds
    if parts > count:
        raise ConfigError(f"shard {part}/{parts}: the experiment has {count} runs; take at most as many shards")
    each, more = divmod(count // seeds, parts)  # cells of a hand, and hands with one more
    cell, seed = np.divmod(np.arange(count * (part - 1) // parts, count * part // parts), seeds)
    longer = more * (each + 1)
    hand = np.where(cell < longer, cell // (each + 1), more + (cell - longer) // max(each, 1))
    nth = cell - hand * each - np.minimum(hand, more)
    return np.sort((nth * parts + hand) * seeds + seed)


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
            raise write_error(path, problem) from None
        except BaseException:
            self._lock.release()
            raise

    def _prepare(self, fresh: bool) -> None:
        if os.path.lexists(self.parts) and (self.parts.is_symlink() or not self.parts.is_dir()):  # files of others
            cure = "remove it, or choose another result file"
            raise StoreError(f"{self.parts}: must be a folder, for finished batches; {cure}")
        if fresh:
            self._set_aside()
        self.done = np.zeros(self.runs.count, dtype=np.bool_)
        self.saved = np.zeros(self.runs.count, dtype=np.bool_)
        if self.path.exists():
            columns, attributes = _read_part(self.runs, self.path)
            self.started = str(attributes.get("started", self.started))
            self._count(columns)
        for segment in self._segments():
            self._count(segment)
        # only an owner of the lock writes temporary files: these are those of a killed process
        beside = leftovers(self.path.parent, self.path.name)
        for path in (*beside, *(leftovers(self.parts) if self.parts.is_dir() else ())):
            self.disk.remove(path)

    def _set_aside(self) -> None:
        """Rename the file and its finished batches to a free name, under which they can be continued."""
        backup = free_name(self.path.with_name(self.path.name + ".bak"), ".parts")
        if self.path.exists():
            self.disk.rename(self.path, backup)
        if self._segment_paths():
            self.disk.rename(self.parts, backup.with_name(backup.name + ".parts"))

    def _segment_paths(self) -> list[Path]:
        return sorted(self.parts.glob("*.seg")) if self.parts.is_dir() else []

    def _segments(self) -> Iterator[LazyColumns]:
        """Read the finished batches; rename damaged ones, and raise StoreError for those of another experiment."""
        for path in self._segment_paths():
            if not stat.S_ISREG(path.lstat().st_mode):
                raise StoreError(f"{path}: not a file of fastrm; remove it, or choose another result file")
            try:
                columns, _ = read_aside(self.runs, path, self.parts)
            except AnotherExperiment:
                raise
            except StoreError as problem:
                warnings.warn(f"{problem}; set aside, its runs are computed again", FastrmWarning, stacklevel=2)
                self.disk.rename(path, free_name(path.with_suffix(".damaged")))
                continue
            yield columns

    def _count(self, frame: Columns) -> None:
        self.saved[frame["run"]] = True
        self.done[frame["run"][frame["error"] == b""]] = True

    def todo(self, shard: tuple[int, int] | None = None) -> Array:
        """Return the runs that are not done, of one shard (i of N, from 1) or of all."""
        if shard is None:
            return np.flatnonzero(~self.done)
        runs = runs_of_shard(self.runs, *shard)
        return np.asarray(runs[~self.done[runs]])

    def add(self, frame: Frame) -> None:
        """Save a finished batch."""
        self._lock.hold()
        if not self.parts.is_dir():
            self.disk.make_folder(self.parts)
            self.disk.sync(self.parts.parent)
        which = hashlib.blake2b(frame["run"].tobytes(), digest_size=6).hexdigest()  # a failed run is tried with others
        name = f"{int(frame['run'].min()):09d}-{len(frame['run'])}-{which}.seg"
        self.disk.publish(self.parts / name, pack(self.runs, [frame], file_attributes(self.runs, self.started)))
        self._count(frame)

    def close(self, partial: bool = False) -> Array:
        """Merge everything that is saved into the result file and release it; return the runs that have vanished.

        Runs vanish when somebody removes finished batches, or the file itself, while the experiment runs. Then nothing
        is merged and the store stays open for them to be computed again, unless `partial` says to merge the rest.
        """
        try:
            self._lock.hold()
            parts = list(self._segments())
            is_there, has_new = self.path.exists(), bool(parts)
            if is_there:
                parts.insert(0, _read_part(self.runs, self.path)[0])
            before, self.saved, self.done = self.saved, np.zeros_like(self.saved), np.zeros_like(self.done)
            for part in parts:
                self._count(part)
            lost = np.flatnonzero(before & ~self.saved)
            if len(lost) and not partial:
                return lost
            if has_new or not is_there:
                self.disk.publish(self.path, pack(self.runs, parts, file_attributes(self.runs, self.started)))
            self._drop_parts()
        except BaseException:
            self._lock.release()
            raise
        self._lock.release()
        return lost

    def abandon(self) -> None:
        """Release the file without merging; finished batches stay for the next start."""
        self._lock.release()

    def _drop_parts(self) -> None:
        if self.parts.is_dir():
            for path in (*self._segment_paths(), *leftovers(self.parts)):
                self.disk.remove(path)
            if not any(self.parts.iterdir()):
                self.disk.remove_folder(self.parts)


def _check_place(path: Path) -> None:
    """Raise ConfigError unless a result file, and the files written beside it, can have this name."""
    length = len(os.fsencode(path.name))
    if length > MAX_NAME_BYTES:
        raise ConfigError(
            f"{shown(path.name)}: {length} bytes are too long for a result file, whose name grows "
            f"while it is written; use at most {MAX_NAME_BYTES}"
        )
    if not path.name or path.is_dir():
        raise ConfigError(f"{path}: is a folder; name a result file such as {path / 'results.h5'}")
    if path.exists() and not path.is_file():
        raise ConfigError(f"{path}: is no ordinary file; name a result file such as results.h5")


def merge_files(runs: Runs, parts: Sequence[Path], out: Path, disk: Disk | None = None) -> None:
    """Join result files of one experiment into `out`; runs of the experiment that `out` already holds are kept."""
    files = [_read_part(runs, path) for path in parts]
    _check_place(out)
    lock = Lock(out)
    disk = disk or Disk()
    try:
        if out.exists():
            try:
                files.append(_read_part(runs, out))
            except StoreError as problem:
                raise StoreError(f"{problem}; it is not overwritten") from None
        started = min(str(attributes.get("started", "")) for _, attributes in files)
        data = pack(runs, [columns for columns, _ in files], file_attributes(runs, started))
        for path in leftovers(out.absolute().parent, out.name):
            disk.remove(path)
        lock.hold()
        disk.publish(out, data)
    except OSError as problem:
        raise write_error(out, problem) from None
    finally:
        lock.release()


def read_aside(runs: Runs, path: Path, source: Path | None = None) -> tuple[LazyColumns, dict[str, Any]]:
    """Read a file like `_read_part`, and leave its columns on the disk until they are asked for."""
    stamp = stamp_of(path)
    columns, attributes = _read_part(runs, path, source)
    return LazyColumns(partial(reopen, path, stamp), columns), attributes


def write_frame(path: Path, runs: Runs, frame: Frame) -> None:
    """Write a result file of one frame, replacing a file that is there."""
    _check_place(path)
    try:
        Disk().publish(path, pack(runs, [frame], file_attributes(runs, now())))
    except OSError as problem:
        raise write_error(path, problem) from None


def _read_part(runs: Runs, path: Path, source: Path | None = None) -> tuple[LazyColumns, dict[str, Any]]:
    """Read a file that holds runs of an experiment; raise AnotherExperiment, naming `source`, if they are another's."""
    columns, attributes = unpack(read_file(path), str(path))
    check_same(runs, attributes, str(source or path))
    check_numbers(columns, runs, str(path))
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
    """Raise AnotherExperiment, saying what differs, unless a file has the same identity; versions may differ."""
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
    reason = "; ".join(differences) or (
        "a map or machine file has changed, or an older version wrote it, with runs shorter than a tick"
    )
    raise AnotherExperiment(f"{source}: holds another experiment ({reason[:600]}); choose another file, or start over")


def _table(text: Any) -> dict[str, Any]:
    """Read a JSON object; anything else is an empty one."""
    try:
        table = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return table if isinstance(table, dict) else {}
