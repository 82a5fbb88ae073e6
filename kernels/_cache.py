"""Machine code on disk: one file for each signature of a kernel, with a checksum, run only if it is ours.

Numba's own cache unpickles and runs whatever lies in its folder, does not notice edits in other files, compiler
upgrades or changed ``NUMBA_*`` variables, and stops with a traceback at a file that was cut short. Here a file that is
damaged, foreign or absent means the same: compile again, and replace it.

The name of the folder is a hash of all that decides the machine code, so that an edit, an upgrade or another processor
leads to another folder. ``FASTRM_CACHE_DIR`` moves it; set to an empty string it turns the cache off. A folder is used
only if no other user can put a file into it or another folder in its place: it is no link, it belongs to us, nobody
else may write it, and the same holds for the folders above it, root and sticky ones aside. A place that fails is passed
over: the user's cache, then a temporary folder, then no cache at all.
"""

import hashlib
import inspect
import logging
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
from numba.core import serialize
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult

_HAS_OWNERS = hasattr(os, "geteuid")  # not on Windows, where the folders used here are private to a user anyway
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_UNUSED_DAYS = 90
_KERNEL_FOLDER = re.compile("kernels-[0-9a-f]{24}")
_CHECKSUM_BYTES = 32
_CUSTOM = "custom."
_log = logging.getLogger("fastrm.kernels")


class MachineCode(NullCache):
    """The cache of one kernel, as Numba's dispatcher expects it. `folder` must be one that `cache_folder` returned."""

    def __init__(self, function, folder: Path):
        module = function.__module__.removeprefix("fastrm.kernels.")
        self._folder, self._name = folder, f"{module}.{function.__qualname__}-{function.__code__.co_firstlineno}"

    @property
    def cache_path(self):
        return str(self._folder)

    def load_overload(self, sig, target_context):
        """Return the machine code for a signature, or None if it must be compiled."""
        target_context.refresh()
        try:
            stored_sig, parts = serialize.loads(_read(self._path(sig)))
            if stored_sig == sig:
                return CompileResult._rebuild(target_context, *parts)
        except Exception:
            pass
        _log.info("compiling kernels, once; this takes some seconds")
        return None

    def save_overload(self, sig, data):
        """Store the machine code of a signature. A full disk or a missing folder costs the file, not the run."""
        if data.library.has_dynamic_globals:  # addresses that only this process knows
            return
        with suppress(OSError):
            _write(self._path(sig), serialize.dumps((sig, data._reduce())))

    def _path(self, sig) -> Path:
        digest = hashlib.blake2b(str(sig).encode(), digest_size=12).hexdigest()
        return self._folder / f"{self._name}-{digest}.code"


class CustomCode(MachineCode):
    """The cache of a kernel that does not come with fastrm.

    Its files are named by a hash of the kernel's code and of all that it refers to, in whatever file that stands. A
    kernel that refers to something whose content cannot be told, such as a module of the user's, is not kept.
    """

    def __init__(self, function):
        self._function, self._folder = function, None

    def load_overload(self, sig, target_context):
        """Return the machine code for a signature, or None if it must be compiled."""
        meaning = _meaning(self._function)
        self._folder = None if meaning is None else cache_folder()
        if self._folder is None:
            return None
        self._name = f"{_CUSTOM}{self._function.__name__}-{meaning}"
        with suppress(OSError):
            os.utime(self._path(sig), follow_symlinks=False)  # it is used today; `renew` removes what is not
        return super().load_overload(sig, target_context)

    def save_overload(self, sig, data):
        """Store the machine code of a signature."""
        if self._folder is not None:
            super().save_overload(sig, data)


_COVERED = ("builtins", "fastrm.kernels", "math", "numba", "numpy")
"""Packages whose content the name of the folder tells."""


def _meaning(function) -> str | None:
    """Return a hash of a function and of all that it refers to, None where that cannot be told."""
    digest, seen = hashlib.blake2b(digest_size=12), []

    def note(kind: str, content: bytes) -> None:
        digest.update(f"{kind} {len(content)} ".encode() + content)

    def add(value) -> None:
        value = getattr(value, "py_func", value)
        home = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", None) or ""
        is_covered = any(f"{home}.".startswith(f"{package}.") for package in _COVERED)
        if value is None or isinstance(value, bool | int | float | str | bytes | np.generic):
            note("value", repr(value).encode())
        elif isinstance(value, tuple):
            note("tuple", str(len(value)).encode())
            for item in value:
                add(item)
        elif isinstance(value, np.ndarray) and value.dtype.kind != "O":
            note(f"array {value.dtype} {value.shape}", value.tobytes())
        elif inspect.iscode(value):
            note(f"code {value.co_names} {value.co_varnames} {value.co_freevars}", value.co_code)
            add(value.co_consts)
        elif is_covered and (inspect.ismodule(value) or hasattr(value, "__qualname__")):
            note("known", f"{home}.{getattr(value, '__qualname__', '')}".encode())
        elif not inspect.isfunction(value):
            raise LookupError
        elif value not in seen:
            seen.append(value)
            add(value.__code__)
            add(value.__defaults__)
            for cell in value.__closure__ or ():
                add(cell.cell_contents)
            for name in _names(value.__code__):
                if name in value.__globals__:
                    add(value.__globals__[name])

    try:
        add(function)
    except (LookupError, ValueError):  # of unknown content, or a variable without a value
        return None
    return digest.hexdigest()


def _names(code) -> list[str]:
    """Return the names that a function and those inside it refer to."""
    inner = [name for const in code.co_consts if inspect.iscode(const) for name in _names(const)]
    return [*code.co_names, *inner]


def _checksum(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_CHECKSUM_BYTES).digest()


def _read(path: Path) -> bytes:
    """Return the content of a file that is ours and whole; raise OSError or ValueError otherwise."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _NO_LINKS)) as file:
        if not _is_ours(os.fstat(file.fileno())):
            raise PermissionError(f"{path} can be written by others")
        content = file.read()
    checksum, data = content[:_CHECKSUM_BYTES], content[_CHECKSUM_BYTES:]
    if checksum != _checksum(data):
        raise ValueError(f"{path} is damaged")
    return data


def _write(path: Path, data: bytes) -> None:
    """Write a file so that other processes see all of it or nothing."""
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(_checksum(data) + data)
        os.replace(name, path)  # noqa: PTH105
    except OSError:
        with suppress(OSError):
            os.unlink(name)  # noqa: PTH108
        raise


def _fingerprint() -> str:
    """Return a hash of all that decides the machine code."""
    digest, root = hashlib.blake2b(digest_size=12), Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    target = llvmlite.binding.get_host_cpu_name(), llvmlite.binding.get_host_cpu_features().flatten()
    settings = sorted((k, v) for k, v in os.environ.items() if k.startswith("NUMBA_") and k != "NUMBA_CACHE_DIR")
    versions = sys.version, numba.__version__, llvmlite.__version__, np.__version__
    digest.update(repr((versions, target, settings)).encode())
    return digest.hexdigest()


def cache_folder() -> Path | None:
    """Return the folder for machine code, made if needed: in the user's cache, else a temporary one, else None."""
    named = os.environ.get("FASTRM_CACHE_DIR")
    if named == "":
        return None
    name = f"kernels-{_fingerprint()}"
    places = [lambda: Path(os.environ["XDG_CACHE_HOME"]) / "fastrm", lambda: Path.home() / ".cache" / "fastrm"]
    if named:
        places = [lambda: Path(named)]
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


def _temporary_cache() -> Path:
    return Path(tempfile.gettempdir()) / f"fastrm-{os.geteuid() if _HAS_OWNERS else 'user'}"


def _is_ours(status: os.stat_result) -> bool:
    """Return whether a file or folder belongs to us and nobody else may write it."""
    return not _HAS_OWNERS or (status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_MAY_WRITE)


def _make_own(folder: Path, may_tighten: bool) -> None:
    """Make a folder unless it exists; raise OSError unless it is ours.

    Earlier versions made folders that a umask of 002 opened to the group. With `may_tighten` such a folder is closed;
    `_read` rejects files that others put there before. A folder that the user named stays as it is.
    """
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if not _HAS_OWNERS:
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | _NO_LINKS)
    try:
        status = os.fstat(descriptor)
        if may_tighten and status.st_uid == os.geteuid() and status.st_mode & _OTHERS_MAY_WRITE:
            os.fchmod(descriptor, stat.S_IMODE(status.st_mode) & ~_OTHERS_MAY_WRITE)
            status = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if not _is_ours(status):
        raise PermissionError(f"{folder} can be written by others")


def _make_parents(base: Path) -> None:
    """Make the folders above `base`, closed to others; raise OSError if others could exchange one of them.

    They are checked before, so that nothing is made in another user's home, and after, in case that user was faster.
    """
    parent = base.parent.resolve()
    _check_parents(parent)
    for folder in (*reversed(parent.parents), parent):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
    _check_parents(parent)


def _check_parents(parent: Path) -> None:
    """Raise PermissionError if others could exchange `parent` or a folder above it."""
    if not _HAS_OWNERS:
        return
    for folder in (*reversed(parent.parents), parent):
        if _is_above_home(folder) or not folder.exists():
            continue
        status = folder.stat()
        others_may_write = status.st_mode & _OTHERS_MAY_WRITE and not status.st_mode & stat.S_ISVTX
        if others_may_write or status.st_uid not in (0, os.geteuid()):
            raise PermissionError(f"{folder} can be written by others")
        if status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            return  # nobody else gets past this one, so what is below does not matter


def _is_above_home(folder: Path) -> bool:
    """Return whether our home lies below a folder: whoever can exchange the home needs no cache to run code as us."""
    try:
        return folder in Path.home().resolve().parents
    except RuntimeError:  # no home
        return False


def renew(folder: Path) -> None:
    """Mark a folder of machine code as used today; remove neighbours and custom kernels unused for months."""
    oldest = time.time() - _UNUSED_DAYS * 86_400
    with suppress(OSError):
        os.utime(folder)
        for entry in list(os.scandir(folder.parent)):
            if not _KERNEL_FOLDER.fullmatch(entry.name) or not entry.is_dir(follow_symlinks=False):
                continue
            status = entry.stat(follow_symlinks=False)
            if status.st_mtime < oldest and (not _HAS_OWNERS or status.st_uid == os.geteuid()):
                shutil.rmtree(entry.path, ignore_errors=True)
        for path in folder.glob(f"{_CUSTOM}*"):
            if path.lstat().st_mtime < oldest:
                path.unlink()


@contextmanager
def compile_lock() -> Iterator[None]:
    """Let one process at a time compile for the cache; the others wait and then find its machine code."""
    folder = None if fcntl is None else cache_folder()
    with ExitStack() as stack:
        if folder is not None:
            with suppress(OSError):  # without a lock some kernels are compiled twice, and that is all
                descriptor = os.open(folder / "compiling.lock", os.O_RDWR | os.O_CREAT | _NO_LINKS, 0o600)
                stack.callback(os.close, descriptor)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
