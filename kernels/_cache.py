"""The machine code of one kernel on disk: one file for each signature, with a checksum, run only if it is ours.

Numba's own cache unpickles and runs whatever lies in its folder, and stops with a traceback at a file that was cut
short. Here a file that is damaged, foreign or absent means the same: compile anew, and write it again.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from numba.core import serialize
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult

from fastrm.kernels import _folder

_CHECKSUM_BYTES = 32
_log = logging.getLogger("fastrm.kernels")


class MachineCode(NullCache):
    """What Numba asks for the machine code of `function` and gives it to. `folder` is one that is ours."""

    def __init__(self, function, folder: Path):
        module = function.__module__.rpartition(".")[2]
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
        """Keep the machine code of a signature. A full disk or a folder that is gone costs the file, not the run."""
        if data.library.has_dynamic_globals:  # addresses of this process
            return
        with suppress(OSError):
            _write(self._path(sig), serialize.dumps((sig, data._reduce())))

    def _path(self, sig) -> Path:
        digest = hashlib.blake2b(str(sig).encode(), digest_size=12).hexdigest()
        return self._folder / f"{self._name}-{digest}.code"


def _checksum(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_CHECKSUM_BYTES).digest()


def _read(path: Path) -> bytes:
    """Return the content of a file that is ours and whole; raise OSError or ValueError otherwise."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _folder.NO_LINKS)) as file:
        if not _folder.is_ours(os.fstat(file.fileno())):
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
