"""Datasets of a file that may be forged: type, dimensions and storage, before any of their data is read."""

from __future__ import annotations

import math
from typing import Any

import h5py
import numpy as np

from fastrm.errors import StoreError
from fastrm.results.schema import COORDINATES, LENGTHS, NUMBERS, PER_TICK, SETTINGS, VARIABLES

_FILTERS = {h5py.h5z.FILTER_DEFLATE: "gzip", h5py.h5z.FILTER_SHUFFLE: "shuffle", h5py.h5z.FILTER_FLETCHER32: "fletcher"}
_BEST_RATIO = 1100
"""Deflate makes data at most 1032 times smaller; what claims more was never stored."""
_CHUNK_OVERHEAD = 64
"""Bytes by which a chunk that does not compress may grow, checksum included."""
_CHECKSUM = 4
"""Bytes of a chunk's own checksum."""
_CLASSES = {"i": h5py.h5t.INTEGER, "u": h5py.h5t.INTEGER, "f": h5py.h5t.FLOAT, "S": h5py.h5t.STRING}
_WIDEST_NAME = 4096
"""Bytes of a name: paths are no longer."""
_TYPES = {
    **NUMBERS,
    **{name: f"S{_WIDEST_NAME}" for name in (*COORDINATES, *SETTINGS) if name not in NUMBERS},
    **{v.name: f"S{v.widest}" if v.widest else v.dtype for v in VARIABLES},
}
"""The widest type of every dataset: older files hold counts in fewer bits, and text is as wide as it needs to be."""


def check_dataset(name: str, dataset: h5py.Dataset, source: str) -> None:
    """Refuse a dataset whose type, rank or storage a result file does not have."""
    _check_type(name, dataset, source)
    rank = 2 if name in PER_TICK else 1
    if dataset.shape is None or len(dataset.shape) != rank:
        raise StoreError(f"{source}: {name!r} has shape {dataset.shape}; expected {rank} dimension{'s' * (rank > 1)}")
    _check_storage(name, dataset, source)


def _check_type(name: str, dataset: h5py.Dataset, source: str) -> None:
    """Ask HDF5 for the class first: h5py shows text of any length, references and records alike as objects."""
    kind = dataset.id.get_type()
    is_number = name in (*SETTINGS, *LENGTHS) and kind.get_class() == h5py.h5t.FLOAT  # else text, or whole numbers
    widest = np.dtype("f8" if is_number else _TYPES[name])
    right = kind.get_class() == _CLASSES[widest.kind]
    if right and widest.kind == "S":
        right = not kind.is_variable_str() and kind.get_size() <= widest.itemsize
    elif right:
        found = dataset.dtype
        right = found.kind == widest.kind and found.itemsize <= widest.itemsize
        right = right and (widest.kind in "iu" or found.itemsize == widest.itemsize)
    if not right:
        words = {
            "i": "whole numbers of at most", "u": "whole numbers without a sign of at most",
            "f": "floating-point numbers of", "S": "text of a fixed length up to",
        }  # fmt: skip
        raise StoreError(
            f"{source}: {name!r} has type {str(dataset.dtype)[:60]}; expected {words[widest.kind]} "
            f"{widest.itemsize} byte{'s' * (widest.itemsize > 1)}"
        )


def _check_storage(name: str, dataset: h5py.Dataset, source: str) -> None:
    """Refuse foreign filters, and sizes that cannot be true: data that were never stored, chunks that burst."""
    layout = dataset.id.get_create_plist()
    codes = [layout.get_filter(k)[0] for k in range(layout.get_nfilters())]
    if unknown := [code for code in codes if code not in _FILTERS]:
        raise StoreError(f"{source}: {name!r} is stored with filter {unknown[0]}; result files use gzip")
    if len(set(codes)) < len(codes):
        raise StoreError(f"{source}: {name!r} is compressed twice; result files are compressed once")
    claimed, stored = math.prod(dataset.shape) * dataset.dtype.itemsize, dataset.id.get_storage_size()
    if claimed > _BEST_RATIO * stored:
        raise StoreError(f"{source}: {name!r} claims {claimed} bytes, but {stored} are stored")
    _check_chunks(name, dataset, source)
    chunks = 1
    if dataset.chunks is not None:
        if any(part > max(whole, 1) for part, whole in zip(dataset.chunks, dataset.shape, strict=True)):
            raise StoreError(f"{source}: {name!r} has chunks of {dataset.chunks}, larger than all of it")
        chunks = math.prod(-(-whole // part) for part, whole in zip(dataset.chunks, dataset.shape, strict=True))
        claimed = chunks * math.prod(dataset.chunks) * dataset.dtype.itemsize
    if stored > 2 * claimed + _CHUNK_OVERHEAD * chunks:
        raise StoreError(f"{source}: {name!r} claims {claimed} bytes, but {stored} are stored")


def _check_chunks(name: str, dataset: h5py.Dataset, source: str) -> None:
    """Refuse chunks that HDF5 would read beyond their ends: it trusts their sizes and the settings of filters."""
    if dataset.chunks is None:
        return
    layout = dataset.id.get_create_plist()
    filters = [layout.get_filter(k) for k in range(layout.get_nfilters())]
    codes = [code for code, *_ in filters]
    width = dataset.dtype.itemsize
    if any(code == h5py.h5z.FILTER_SHUFFLE and tuple(settings) != (width,) for code, _, settings, _ in filters):
        raise StoreError(f"{source}: {name!r} is shuffled by another width than its type has")
    whole = math.prod(dataset.chunks) * width
    checksum = _CHECKSUM if h5py.h5z.FILTER_FLETCHER32 in codes else 0
    gzip = 1 << codes.index(h5py.h5z.FILTER_DEFLATE) if h5py.h5z.FILTER_DEFLATE in codes else 0

    def is_wrong(chunk: Any) -> bool | None:
        """Say that a chunk is wrong, which ends the search. HDF5 skips gzip where it does not help, nothing else."""
        plain = chunk.filter_mask == gzip  # also where there is no gzip
        fits = chunk.size == whole + checksum if plain else checksum < chunk.size <= whole + _CHUNK_OVERHEAD
        return None if fits and chunk.filter_mask in (0, gzip) else True

    if dataset.id.chunk_iter(is_wrong):
        raise StoreError(f"{source}: {name!r} has a chunk of the wrong size")
