"""The decorator of all kernels and of the pieces they share.

Numba's own on-disk cache does not notice edits in other files, compiler upgrades or changed ``NUMBA_*`` variables, and
runs what anybody put there. Kernels of this folder therefore have their own (`_cache`), in a folder that is ours
(`_folder`); other packages keep Numba's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numba
from numba.core.cpu import CPUTargetOptions

from fastrm.kernels._cache import MachineCode
from fastrm.kernels._folder import cache_folder, renew

_OPTIONS = {"nogil": True, "error_model": "numpy"}
if hasattr(CPUTargetOptions, "_nrt"):  # private, so it may go; Numba refuses an option that it does not know
    _OPTIONS["_nrt"] = False  # kernels allocate nothing, and need not count references

_folder_in_use = [None]


def jit(function):
    """Compile a kernel: GIL released, no division checks, no fast-math, so that results are the same to the bit."""
    kernel = numba.njit(**_OPTIONS)(function)
    if _folder_in_use[0] is not None:
        kernel._cache = MachineCode(function, _folder_in_use[0])
    return kernel


def part(function):
    """Compile a piece of a kernel: as `jit`, always inlined into the kernel that uses it, and not to be called else."""
    return numba.njit(**_OPTIONS, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


def frame(function):
    """Write a loop, whose arguments may be pieces of kernels, out in the kernel that uses it before that is compiled.

    As a piece it would be optimised by itself first, with all it calls: twice the time.
    """
    return numba.njit(**_OPTIONS, inline="always")(function)


@contextmanager
def house_cache() -> Iterator[None]:
    """Keep the machine code of the kernels that are being defined on disk."""
    _folder_in_use[0] = None if numba.config.DISABLE_JIT else cache_folder()
    if _folder_in_use[0] is not None:
        renew(_folder_in_use[0])
    try:
        yield
    finally:
        _folder_in_use[0] = None
