"""The few operations by which results reach the disk; a crash between any two of them leaves whole files only."""

from __future__ import annotations

import contextlib
import datetime
import errno
import os
import re
import secrets
import socket
import stat
from pathlib import Path

from fastrm.errors import DiskError, StoreError

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
    """Return what a killed process wrote aside for one file of a folder, or for any of them."""
    pattern = re.compile(_LEFTOVER.format(r".+" if name is None else re.escape(name)), re.DOTALL)
    return sorted(path for path in folder.iterdir() if pattern.fullmatch(path.name) and not path.is_dir())


def free_name(path: Path, *beside: str) -> Path:
    """Return the path, or the first of ``path.1``, ``path.2``, ... that nothing has; nor that with a suffix more."""
    candidate, number = path, 0
    while any(os.path.lexists(f"{candidate}{suffix}") for suffix in ("", *beside)):
        number += 1
        candidate = path.with_name(f"{path.name}.{number}")
    return candidate


def unwritable(path: Path, problem: OSError, cure: str = "") -> StoreError:
    """Return the error for a file that cannot be written; a full disk is nobody's bad argument."""
    error = DiskError if problem.errno in _FULL else StoreError
    return error(f"{path}: cannot be written: {problem.strerror or problem}{cure}")


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
        """Insist on owning the lock; take it again where its file was removed.

        Raises
        ------
        DiskError
            When another process owns it by now.
        """
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
                    self._own(descriptor)
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
                raise self._strange() from None
            raise unwritable(self.target, problem) from None

    def _own(self, descriptor: int) -> None:
        """Lock an open lock file and sign it, unless it is no longer the one at its path."""
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise self._strange()
        is_free, note = _lock(descriptor), os.read(descriptor, 200)
        if not is_free:
            owner = note.decode("utf-8", "replace").split("\n")[0].strip() or "another process"
            raise StoreError(f"{self.target}: in use by {owner}; wait for it, or choose another file")
        if not _is_at(descriptor, self.path):
            return  # its last owner removed it after we had opened it
        if not note.startswith(_NOTE[: len(note)]):
            raise self._strange()
        self._descriptor = descriptor
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, _NOTE + f"{os.getpid()} on {socket.gethostname()} since {now()}\n".encode())

    def _strange(self) -> StoreError:
        return StoreError(f"{self.path}: not a lock file of fastrm; remove it, or choose another result file")


def _lock(descriptor: int) -> bool:
    """Lock an open file; say whether nobody else has."""
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
    """Say whether an open file is the one that has a name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False


def now() -> str:
    """Return the time, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
