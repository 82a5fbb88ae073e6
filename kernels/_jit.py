"""The decorators of all kernels and of the pieces they share.

Kernels keep their machine code in a cache of their own (`_cache`), those of custom learners too.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numba
from numba.core.cpu import CPUTargetOptions

from fastrm.kernels._cache import CustomCode, MachineCode, cache_folder, renew

_OPTIONS = {"nogil": True, "error_model": "numpy"}
if hasattr(CPUTargetOptions, "_nrt"):  # private, so it may go; Numba rejects options it does not know
    _OPTIONS["_nrt"] = False  # kernels allocate nothing, and need not count references

_folder_in_use = [None]


def jit(function):
    """Compile a kernel: GIL released, no division checks, and no fast-math, so that results are the same to the bit."""
    kernel = numba.njit(**_OPTIONS)(function)
    if _folder_in_use[0] is not None:
        kernel._cache = MachineCode(function, _folder_in_use[0])
    elif not (numba.config.DISABLE_JIT or function.__module__.startswith("fastrm.kernels.")):
        kernel._cache = CustomCode(function)
    return kernel


def part(function):
    """Compile a piece of a kernel: as `jit`, but always inlined, and callable only from kernels."""
    return numba.njit(**_OPTIONS, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


def frame(function):
    """Inline a loop into the kernel that uses it before compiling; its arguments may be pieces of kernels.

    As a `part` the loop would first be optimised alone, with all it calls, which doubles the time to compile.
    """
    return numba.njit(**_OPTIONS, inline="always")(function)


@contextmanager
def house_cache() -> Iterator[None]:
    """Keep the machine code of all kernels defined in this context on disk."""
    _folder_in_use[0] = None if numba.config.DISABLE_JIT else cache_folder()
    if _folder_in_use[0] is not None:
        renew(_folder_in_use[0])
    try:
        yield
    finally:
        _folder_in_use[0] = None
