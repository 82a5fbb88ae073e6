"""Arrays laid out for the kernels, and their type in annotations."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""An array of any type; docstrings give dtype and shape where they matter."""

CACHE_LINE = 64


def aligned_full(shape: tuple[int, ...], value: float = 0.0) -> Array:
    """Return a filled float64 array that begins a cache line, so that no block of four doubles straddles two.

    >>> aligned_full((3, 4), 2.0).ctypes.data % 64
    0
    """
    size, per_line = math.prod(shape), CACHE_LINE // 8
    raw = np.empty(size + per_line)
    skip = -(raw.ctypes.data // 8) % per_line
    table = raw[skip : skip + size].reshape(shape)
    table[...] = value
    return table


def freeze(parts: Iterable[object]) -> None:
    """Make the arrays among some parts of a table read-only."""
    for part in parts:
        if isinstance(part, np.ndarray):
            part.flags.writeable = False


def read_only(array: Array) -> Array:
    """Return a read-only view of an array.

    Kernels are compiled once for writable arrays and once for others; so what they only read is always passed as such
    a view.

    >>> read_only(np.zeros(3)).flags.writeable
    False
    """
    view = array.view()
    view.flags.writeable = False
    return view
