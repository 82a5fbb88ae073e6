"""The format of result files: HDF5 that xarray opens unchanged, sealed by a checksum, built in memory.

A file is an HDF5 image followed by a footer with its BLAKE2b hash, which HDF5 ignores. The hash is checked before HDF5
sees a byte, because a damaged HDF5 file can crash the library. A forger can seal a file again, so everything inside is
checked as well, before it is read.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from fastrm.arrays import Array
from fastrm.errors import StoreError
from fastrm.results.schema import (
    COORDINATES,
    LENGTHS,
    MAX_BYTES,
    NUMBERS,
    PER_RUN,
    PER_TICK,
    SCHEMA,
    SETTINGS,
    VARIABLES,
    Frame,
    Runs,
    blank,
    dtype_of,
)
from fastrm.results.validation import check_column, check_dataset, check_heaps, read_attributes, read_schema
from fastrm.textfile import open_regular

Columns = Mapping[str, Array]

_KEPT = ("run", "error")
_DTYPES = NUMBERS | {variable.name: variable.dtype for variable in VARIABLES if not variable.dtype.startswith("S")}
_CONTROLS = bytes(range(32)) + b"\x7f"
_AS_PLAIN_TEXT = bytes.maketrans(_CONTROLS, b"?" * len(_CONTROLS))
_MAGIC = b"\n#fastrm-blake2b:"
_FOOTER = len(_MAGIC) + 65


def seal(image: bytes) -> bytes:
    """Append the footer to an HDF5 image."""
    return image + _MAGIC + hashlib.blake2b(image, digest_size=32).hexdigest().encode() + b"\n"


def unseal(data: bytes, source: str) -> bytes:
    """Check the footer and return the HDF5 image."""
    image, footer = data[:-_FOOTER], data[-_FOOTER:]
    if not data:
        raise StoreError(f"{source}: empty; not a fastrm result file")
    if not footer.startswith(_MAGIC):
        what = "a truncated or foreign HDF5 file" if data.startswith(b"\x89HDF") else "not a fastrm result file"
        raise StoreError(f"{source}: {what}; use a file that fastrm wrote, or start over")
    if footer != seal(image)[-_FOOTER:]:
        raise StoreError(f"{source}: damaged (its checksum does not match); restore a copy, or start over")
    return image


def pack(runs: Runs, parts: Sequence[Columns], attributes: dict[str, Any]) -> bytes:
    """Build a result file in memory from batches, in the order of the experiment, one batch at a time.

    A run that occurs in several batches must be the same to the bit, unless one of them failed.
    """
    source, step, coordinates = _sources(runs.count, parts), runs.step, (*COORDINATES, *runs.swept)
    numbers = np.flatnonzero(source >= 0)
    with h5py.File("result", "w", driver="core", backing_store=False, rdcc_nbytes=1 << 16) as file:
        file.create_dataset("run", data=numbers).make_scale("run")
        file.create_dataset("tick", data=np.arange(len(step))).make_scale("tick")
        file.create_dataset("step", data=step).dims[0].attach_scale(file["tick"])
        for name in coordinates:
            _describe(file, _create(file, name, runs.coordinate(name, numbers)), ["run"])
        widest = max([1, *(part["error"].dtype.itemsize for part in parts)])
        for variable in VARIABLES:
            name, dimensions = variable.name, ["run", "tick"] if variable.per == "tick" else ["run"]
            shape = (len(numbers), len(step))[: len(dimensions)]
            dtype = np.dtype(f"S{widest}" if name == "error" else dtype_of(variable, runs))
            dataset = _create(file, name, shape=shape, dtype=dtype)
            _describe(file, dataset, dimensions)
            dataset.attrs["coordinates"] = " ".join(coordinates) + (" step" if variable.per == "tick" else "")
            dataset.attrs["long_name"] = variable.meaning
            for k, part in enumerate(parts):
                _copy_rows(dataset, numbers, part, name, source[part["run"]] == k)
        for name, value in attributes.items():
            file.attrs[name] = value
        file.flush()
        image = file.id.get_file_image()
    return seal(image)  # the file's own copy is gone by now


def _sources(count: int, parts: Sequence[Columns]) -> Array:
    """Return which batch each run is taken from, -1 for none; check runs that occur twice."""
    source = np.full(count, -1, dtype=np.int32)
    good = np.zeros(count, dtype=np.bool_)
    for k, part in enumerate(parts):
        runs, fine = part["run"], part["error"] == b""
        if len(runs) and not (runs.min() >= 0 and runs.max() < count):
            raise StoreError("a part names runs that the experiment does not have; the parts do not belong together")
        for other in np.unique(source[runs[good[runs] & fine]]):
            _check_equal(part, parts[other], runs[good[runs] & fine & (source[runs] == other)])
        taken = runs[~good[runs]]
        source[taken] = k
        good[runs[fine]] = True
    return source


def _check_equal(one: Columns, other: Columns, runs: Array) -> None:
    """Raise StoreError unless two batches agree on some runs."""
    rows = [np.flatnonzero(np.isin(part["run"], runs)) for part in (one, other)]
    rows = [r[np.argsort(part["run"][r])] for r, part in zip(rows, (one, other), strict=True)]
    unknown = {name for part in (one, other) if isinstance(part, LazyColumns) for name in part.missing}
    for name in (*PER_RUN, *PER_TICK):
        first, second = one[name][rows[0]], other[name][rows[1]]
        if name not in ("error", *unknown) and first.tobytes() != second.tobytes():
            run = next(
                run for run, a, b in zip(np.sort(runs), first, second, strict=True) if a.tobytes() != b.tobytes()
            )
            raise StoreError(f"run {run} occurs twice with different results; the parts do not belong together")


def _copy_rows(dataset: h5py.Dataset, runs: Array, part: Columns, name: str, wanted: Array) -> None:
    """Write the wanted rows of a batch to their places, a stretch of neighbouring runs at a time."""
    rows = np.flatnonzero(wanted)
    if not len(rows):
        return
    places = np.searchsorted(runs, part["run"][rows])
    column = part[name][rows]
    if name == "error":
        column = np.array([text.translate(_AS_PLAIN_TEXT) for text in column.tolist()], dtype=dataset.dtype)
    for stretch in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(places) != 1) + 1):
        dataset[places[stretch[0]] : places[stretch[-1]] + 1] = column[stretch]


def _create(
    file: h5py.File, name: str, column: Array | None = None, *, shape: tuple[int, ...] = (), dtype: Any = None
) -> h5py.Dataset:
    """Create a compressed, checksummed dataset."""
    if column is not None:
        shape, dtype = column.shape, column.dtype
    storage: dict[str, Any] = {}
    if math.prod(shape):
        chunks = (min(shape[0], 4096 if len(shape) == 1 else 256), *shape[1:])
        storage = {"chunks": chunks, "compression": "gzip", "shuffle": True, "fletcher32": True}
    return file.create_dataset(name, shape=shape, dtype=dtype, data=column, **storage)


def _describe(file: h5py.File, dataset: h5py.Dataset, dimensions: Sequence[str]) -> None:
    """Attach the dimensions and the encoding of text."""
    if dataset.dtype.kind == "S":
        dataset.attrs["_Encoding"] = "utf-8"
    for k, dimension in enumerate(dimensions):
        dataset.dims[k].attach_scale(file[dimension])


class LazyColumns(Mapping[str, Array]):
    """The columns of a checked result file, each decompressed when it is asked for; only the run numbers are kept.

    A variable that the file does not have, because it is older, reads as missing; counts that it holds in fewer bits
    read as they are held today.
    """

    def __init__(self, image: Callable[[], bytes], names: Iterable[str], source: str = "a part") -> None:
        self._image = image
        self._stored: tuple[str, ...] = names._stored if isinstance(names, LazyColumns) else tuple(names)
        self.source: str = names.source if isinstance(names, LazyColumns) else source
        self.missing = {v.name: v for v in VARIABLES if v.name not in self._stored}
        self._read: Frame = {}

    def __getitem__(self, name: str) -> Array:
        if name in self.missing:
            return blank(self.missing[name], len(self["run"]), len(self["tick"]))
        if name not in self._read:
            if name not in self._stored:
                raise KeyError(name)
            column = self._read_column(name)
            if name not in _KEPT:
                return column
            self._read[name] = column
        return self._read[name]

    def _read_column(self, name: str) -> Array:
        try:
            with h5py.File(io.BytesIO(self._image()), "r") as file:
                column: Array = file[name][...]
        except (OSError, RuntimeError, ValueError, TypeError, MemoryError) as problem:  # a chunk does not inflate, say
            raise StoreError(f"{self.source}: {name!r} cannot be read: {_first_line(problem)}") from None
        if not (name in LENGTHS and column.dtype.kind == "f"):  # means
            column = column.astype(_DTYPES.get(name, column.dtype), copy=False)
        check_column(name, column, self.source)
        return column

    def __iter__(self) -> Iterator[str]:
        return iter((*self._stored, *self.missing))

    def __len__(self) -> int:
        return len(self._stored) + len(self.missing)


def unpack(data: bytes, source: str, everything: bool = False) -> tuple[LazyColumns, dict[str, Any]]:
    """Check a result file; return its columns, coordinates included, and its attributes.

    With `everything` all columns are decompressed at once, so that whatever is wrong with one shows now.
    """
    image = unseal(data, source)
    check_heaps(image, source)
    try:
        with h5py.File(io.BytesIO(image), "r") as file:
            names, attributes = _check(file, source)
        columns = LazyColumns(lambda: image, names, source)
        for name in columns if everything else ():
            columns[name]
    except StoreError:
        raise
    except Exception as problem:  # whatever h5py makes of a strange file
        raise StoreError(f"{source}: cannot be read: {_first_line(problem)}") from None
    return columns, attributes


def _first_line(problem: Exception) -> str:
    return " ".join(str(problem).split())[:200] or type(problem).__name__


def _check(file: h5py.File, source: str) -> tuple[list[str], dict[str, Any]]:
    """Check links, storage, sizes and shapes before anything is read; return names of columns, and attributes."""
    schema = read_schema(file, source)
    if schema != SCHEMA:
        raise StoreError(f"{source}: schema {schema}; this version of fastrm reads schema {SCHEMA}")
    needed = {"run", "tick", "step", *COORDINATES, "error"}
    names = needed | {*SETTINGS, *PER_RUN, *PER_TICK}
    found: dict[str, h5py.Dataset] = {}
    for name in file:
        is_plain = isinstance(file.get(name, getlink=True), h5py.HardLink)
        if not is_plain or not isinstance(dataset := file[name], h5py.Dataset):
            raise StoreError(f"{source}: holds {name!r:.60}, which is not part of a result file")
        if dataset.external or dataset.is_virtual:
            raise StoreError(f"{source}: {name!r:.60} lies in another file; result files hold all their data")
        if name in names:  # what a newer version added is passed over
            found[name] = dataset
    if missing := needed - set(found):
        raise StoreError(f"{source}: lacks {', '.join(sorted(missing))}")
    shapes = {name: dataset.shape for name, dataset in found.items()}
    sizes = {name: max(dataset.dtype.itemsize, 1) for name, dataset in found.items()}
    if sum(math.prod(shape or ()) * sizes[name] for name, shape in shapes.items()) > MAX_BYTES:
        raise StoreError(f"{source}: claims more than {MAX_BYTES >> 30} GiB of data")
    for name, dataset in found.items():
        check_dataset(name, dataset, source)
    (runs,), (ticks,) = shapes["run"], shapes["tick"]
    for name, shape in shapes.items():
        wanted = {"tick": (ticks,), "step": (ticks,)}.get(name, (runs,))
        if shape != ((runs, ticks) if name in PER_TICK else wanted):
            raise StoreError(f"{source}: {name!r} has shape {shape}")
    return list(found), read_attributes(file, source)


def reread_image(path: Path) -> bytes:
    """Read the HDF5 image of a result file whose checksum has been checked before."""
    return read_file(path)[:-_FOOTER]


def read_file(path: Path) -> bytes:
    """Read a whole file."""
    try:
        with open_regular(path, StoreError, "a result file") as file:
            if os.fstat(file.fileno()).st_size > MAX_BYTES:
                raise StoreError(f"{path}: larger than {MAX_BYTES >> 30} GiB; not a fastrm result file")
            return file.read()
    except OSError as problem:
        raise StoreError(f"{path}: cannot be read: {problem.strerror or problem}") from None
    except ValueError as problem:  # a NUL byte in the name
        raise StoreError(f"{str(path)!r}: not a file name: {problem}") from None
