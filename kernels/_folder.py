"""The folder that machine code is kept in: ours alone, because what lies there is run.

Its name is a hash of all that decides the machine code, so that an edit, an upgrade or another processor gets a folder
of its own. ``FASTRM_CACHE_DIR`` moves it; set to an empty string it turns the cache off.

A folder is used only if no other user can put a file into it or another folder in its place: it is no link, it belongs
to us, nobody else may write it, and the same holds for the folders above it, root and sticky ones aside. A place that
fails is passed over: the user's cache, then a temporary folder, then no cache at all.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # no such locks on this system
    fcntl = None

import llvmlite
import numba
import numpy as np

HAS_OWNERS = hasattr(os, "geteuid")  # not on Windows, where the folders used here are private to a user anyway
NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
UNUSED_DAYS = 90
_KERNEL_FOLDER = re.compile("kernels-[0-9a-f]{24}")


def fingerprint() -> str:
    """Return a hash of all that decides the machine code."""
    digest = hashlib.blake2b(digest_size=12)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    target = llvmlite.binding.get_host_cpu_name(), llvmlite.binding.get_host_cpu_features().flatten()
    settings = sorted((k, v) for k, v in os.environ.items() if k.startswith("NUMBA_") and k != "NUMBA_CACHE_DIR")
    versions = sys.version, numba.__version__, llvmlite.__version__, np.__version__
    digest.update(repr((versions, target, settings)).encode())
    return digest.hexdigest()


def cache_folder() -> Path | None:
    """Return a folder of ours for the machine code: in the user's cache, else a temporary one, else None."""
    named = os.environ.get("FASTRM_CACHE_DIR")
    if named == "":
        return None
    name = f"kernels-{fingerprint()}"
    places = [lambda: Path(named)] if named else [lambda: Path(os.environ["XDG_CACHE_HOME"]) / "fastrm", _home_cache]
    for place in (*places, _temporary_cache):
        try:
            base = place().absolute()
            _make_parents(base)
            _make_own(base, may_tighten=not named or place is _temporary_cache)
            _make_own(base / name, may_tighten=True)
            with tempfile.TemporaryFile(dir=base / name):
                return base / name
        except (OSError, KeyError, RuntimeError):  # not ours, not writable, not set, no home
            continue
    return None


def _home_cache() -> Path:
    return Path.home() / ".cache" / "fastrm"


def _temporary_cache() -> Path:
    return Path(tempfile.gettempdir()) / f"fastrm-{os.geteuid() if HAS_OWNERS else 'user'}"


def is_ours(status: os.stat_result) -> bool:
    """Return whether a file or folder belongs to us and nobody else may write it."""
    return not HAS_OWNERS or (status.st_uid == os.geteuid() and not status.st_mode & OTHERS_MAY_WRITE)


def _make_own(folder: Path, may_tighten: bool) -> None:
    """Make a folder unless it exists; raise OSError unless it is ours.

    Earlier versions made folders that a umask of 002 opened to the group. Such a folder is closed if it `may_tighten`;
    files put there meanwhile are refused one by one. A folder that the user named stays as it is.
    """
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if not HAS_OWNERS:
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | NO_LINKS)
    try:
        status = os.fstat(descriptor)
        if may_tighten and status.st_uid == os.geteuid() and status.st_mode & OTHERS_MAY_WRITE:
            os.fchmod(descriptor, stat.S_IMODE(status.st_mode) & ~OTHERS_MAY_WRITE)
            status = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if not is_ours(status):
        raise PermissionError(f"{folder} can be written by others")


def _make_parents(base: Path) -> None:
    """Make the folders above `base`, closed to others; raise OSError if others could exchange one of them.

    They are looked at before, so that nothing is made in the home of somebody else, and after, in case another user
    was faster.
    """
    parent = base.parent.resolve()
    _check_parents(parent)
    for folder in (*reversed(parent.parents), parent):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
    _check_parents(parent)


def _check_parents(parent: Path) -> None:
    if not HAS_OWNERS:
        return
    for folder in (*reversed(parent.parents), parent):
        if _is_above_home(folder) or not folder.exists():
            continue
        status = folder.stat()
        others_may_write = status.st_mode & OTHERS_MAY_WRITE and not status.st_mode & stat.S_ISVTX
        if others_may_write or status.st_uid not in (0, os.geteuid()):
            raise PermissionError(f"{folder} can be written by others")
        if status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            return  # nobody else gets past this one, so what is below does not matter


def _is_above_home(folder: Path) -> bool:
    """Return whether the home lies below a folder: who can exchange the home needs no cache to run code as us."""
    try:
        return folder in Path.home().resolve().parents
    except RuntimeError:  # no home
        return False


def renew(folder: Path) -> None:
    """Mark a folder of machine code as used today, and remove those beside it that were not used for months."""
    oldest = time.time() - UNUSED_DAYS * 86_400
    with suppress(OSError):
        os.utime(folder)
        for entry in list(os.scandir(folder.parent)):
            if not _KERNEL_FOLDER.fullmatch(entry.name) or not entry.is_dir(follow_symlinks=False):
                continue
            status = entry.stat(follow_symlinks=False)
            is_mine = not HAS_OWNERS or status.st_uid == os.geteuid()
            if is_mine and status.st_mtime < oldest:
                shutil.rmtree(entry.path, ignore_errors=True)


@contextmanager
def compile_lock() -> Iterator[None]:
    """Let one process at a time compile for the cache; others wait and then find its machine code."""
    folder = None if fcntl is None else cache_folder()
    with ExitStack() as stack:
        if folder is not None:
            with suppress(OSError):  # without a lock some machine code is made twice, and that is all
                descriptor = os.open(folder / "compiling.lock", os.O_RDWR | os.O_CREAT | NO_LINKS, 0o600)
                stack.callback(os.close, descriptor)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
