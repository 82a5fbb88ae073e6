"""The decorator of all kernels and of the pieces they share, and the folder their machine code is kept in.

Numba's own on-disk cache does not notice edits in other files, compiler upgrades or changed ``NUMBA_*`` variables.
While the kernels are being defined its cache therefore points to a folder named after a hash of all of these, and the
setting is put back afterwards, so that other packages keep theirs. ``FASTRM_CACHE_DIR`` moves the folder; set to an
empty string it turns the cache off.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # no such locks on this system
    fcntl = None

import llvmlite
import numba
import numpy as np

_use_disk = [False]


def jit(function):
    """Compile a kernel: GIL released, no division checks, no fast-math, so that results are the same to the bit."""
    return numba.njit(nogil=True, error_model="numpy", _nrt=False, cache=_use_disk[0])(function)


def part(function):
    """Compile a piece of a kernel: as `jit`, and always inlined into the kernel that uses it."""
    return numba.njit(nogil=True, error_model="numpy", _nrt=False, forceinline=True)(function)


def fingerprint() -> str:
    """Return a hash of all that decides the machine code."""
    digest = hashlib.blake2b(digest_size=12)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    target = llvmlite.binding.get_host_cpu_name(), llvmlite.binding.get_host_cpu_features().flatten()
    settings = sorted((k, v) for k, v in os.environ.items() if k.startswith("NUMBA_") and k != "NUMBA_CACHE_DIR")
    digest.update(repr((numba.__version__, llvmlite.__version__, np.__version__, target, settings)).encode())
    return digest.hexdigest()


def cache_folder() -> Path | None:
    """Return a writable folder for the machine code: the user's cache, else a temporary one, else None."""
    named = os.environ.get("FASTRM_CACHE_DIR")
    if named == "":
        return None
    name = f"kernels-{fingerprint()}"
    places = [lambda: Path(named)] if named else [lambda: Path(os.environ["XDG_CACHE_HOME"]) / "fastrm", _home_cache]
    for place in (*places, _temporary_cache):
        try:
            folder = place() / name
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except (OSError, KeyError, RuntimeError):  # not writable, not set, no home
            continue
    return None


def _home_cache() -> Path:
    return Path.home() / ".cache" / "fastrm"


def _temporary_cache() -> Path:
    return Path(tempfile.gettempdir()) / f"fastrm-{os.getuid() if hasattr(os, 'getuid') else 'user'}"


@contextmanager
def compile_lock() -> Iterator[None]:
    """Let one process at a time compile for the cache; others wait and then find its machine code."""
    folder = cache_folder()
    if folder is None or fcntl is None:
        yield
        return
    with (folder / "compiling.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def house_cache() -> Iterator[None]:
    """Point Numba's cache to our folder while kernels are being defined."""
    folder = None if numba.config.DISABLE_JIT else cache_folder()
    before = numba.config.CACHE_DIR
    if folder is not None:
        numba.config.CACHE_DIR = str(folder)
        _use_disk[0] = True
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before
        _use_disk[0] = False
