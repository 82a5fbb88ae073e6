"""The format of result files: HDF5 that xarray opens unchanged, sealed by a checksum, built in memory.

A file is an HDF5 image followed by a footer with its BLAKE2b hash, which HDF5 ignores. The hash is checked before HDF5
sees a byte, because a damaged HDF5 file can crash the library.

A forger can seal a file again, so everything inside is checked as well. First its heaps, in which HDF5 keeps texts of
variable length. A heap begins with ``GCOL``, its version and its size. Objects follow, each with its number and size;
number 0 is the free space. HDF5 goes from object to object by their sizes and would loop for ever at a size of 0. Then
attributes, of known types and shapes of JSON; then type, dimensions and storage of every dataset; and at last values,
in the range of their variable, and coordinates, as the plan has them.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

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
    check_fits,
    dtype_of,
    variables_of,
)
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
    source, step, coordinates = find_sources(runs.count, parts), runs.step, (*COORDINATES, *runs.swept)
    numbers = np.flatnonzero(source >= 0)
    check_fits(runs, len(numbers))
    with h5py.File("result", "w", driver="core", backing_store=False, rdcc_nbytes=1 << 16) as file:
        file.create_dataset("run", data=numbers).make_scale("run")
        file.create_dataset("tick", data=np.arange(len(step))).make_scale("tick")
        file.create_dataset("step", data=step).dims[0].attach_scale(file["tick"])
        for name in coordinates:
            column = runs.coordinate(name, numbers)
            _create(file, name, ["run"], column.shape, column.dtype, column)
        widest = max([1, *(part["error"].dtype.itemsize for part in parts)])
        for variable in variables_of(*runs.requests):
            name, dimensions = variable.name, ["run", "tick"] if variable.per == "tick" else ["run"]
            shape = (len(numbers), len(step))[: len(dimensions)]
            dtype = np.dtype(f"S{widest}" if name == "error" else dtype_of(variable, runs))
            dataset = _create(file, name, dimensions, shape, dtype)
            dataset.attrs["coordinates"] = " ".join(coordinates) + (" step" if variable.per == "tick" else "")
            dataset.attrs["long_name"] = variable.meaning
            for k, part in enumerate(parts):
                _copy_rows(dataset, numbers, part, name, source[part["run"]] == k)
        for name, value in attributes.items():
            file.attrs[name] = value
        file.flush()
        image = file.id.get_file_image()
    return seal(image)  # the file's own copy is gone by now


def find_sources(count: int, parts: Sequence[Columns]) -> Array:
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
    for name in (name for name in (*PER_RUN, *PER_TICK) if name in one and name in other):
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
    file: h5py.File, name: str, dimensions: list[str], shape: tuple[int, ...], dtype: Any, column: Array | None = None
) -> h5py.Dataset:
    """Create a compressed, checksummed dataset with its dimensions and the encoding of text."""
    storage: dict[str, Any] = {}
    if math.prod(shape):
        chunks = (min(shape[0], 4096 if len(shape) == 1 else 256), *shape[1:])
        storage = {"chunks": chunks, "compression": "gzip", "shuffle": True, "fletcher32": True}
    dataset = file.create_dataset(name, shape=shape, dtype=dtype, data=column, **storage)
    if dataset.dtype.kind == "S":
        dataset.attrs["_Encoding"] = "utf-8"
    for k, dimension in enumerate(dimensions):
        dataset.dims[k].attach_scale(file[dimension])
    return dataset


class LazyColumns(Mapping[str, Array]):
    """The columns of a checked result file, each decompressed when it is asked for; only the run numbers are kept.

    A variable that the file does not have, because it is older, reads as missing; counts that it holds in fewer bits
    read as they are held today. Runs shorter than a tick once had no row: they read as one at their last step, `steps`,
    every value missing.
    """

    def __init__(
        self, opened: Callable[[], BinaryIO], names: Iterable[str], source: str = "a part", steps: int | None = None
    ) -> None:
        self._open = opened
        self._steps: int | None = names._steps if isinstance(names, LazyColumns) else steps
        self._stored: tuple[str, ...] = names._stored if isinstance(names, LazyColumns) else tuple(names)
        self.source: str = names.source if isinstance(names, LazyColumns) else source
        self.missing = {v.name: v for v in variables_of() if v.name not in self._stored}
        self._read: Frame = {}

    def __getitem__(self, name: str) -> Array:
        if name in self.missing:
            return blank(self.missing[name], len(self["run"]), len(self["tick"]))
        if name in self._read:
            return self._read[name]
        if name not in self._stored:
            raise KeyError(name)
        try:
            with self._open() as image, h5py.File(image, "r") as file:
                column: Array = file[name][...]
        except (OSError, RuntimeError, ValueError, TypeError, MemoryError) as problem:  # a chunk does not inflate, say
            raise StoreError(f"{self.source}: {name!r} cannot be read: {_first_line(problem)}") from None
        if not (name in LENGTHS and column.dtype.kind == "f"):  # means
            column = column.astype(_DTYPES.get(name, column.dtype), copy=False)
        if self._steps is not None and name in ("tick", "step", *PER_TICK):
            row = {"tick": [0], "step": [self._steps]}.get(name)
            variable = next((v for v in VARIABLES if v.name == name), None)
            column = np.array(row, dtype=np.int64) if variable is None else blank(variable, len(column), 1)
        _check_column(name, column, self.source)
        if name in _KEPT:
            self._read[name] = column
        return column

    def __contains__(self, name: object) -> bool:
        return name in self._stored or name in self.missing

    def __iter__(self) -> Iterator[str]:
        return iter((*self._stored, *self.missing))

    def __len__(self) -> int:
        return len(self._stored) + len(self.missing)


def unpack(data: bytes, source: str, everything: bool = False) -> tuple[LazyColumns, dict[str, Any]]:
    """Check a result file; return its columns, coordinates included, and its attributes.

    With `everything` all columns are decompressed at once, so that whatever is wrong with one shows now.
    """
    image = unseal(data, source)
    _check_heaps(image, source)
    try:
        with h5py.File(io.BytesIO(image), "r") as file:
            names, attributes = _check(file, source)
            steps = None if len(file["tick"]) else int(json.loads(attributes["plan"])["steps"])
        columns = LazyColumns(lambda: io.BytesIO(image), names, source, steps)
        for name in columns if everything else ():
            columns._read[name] = columns[name]
    except StoreError:
        raise
    except Exception as problem:  # whatever h5py makes of a strange file
        raise StoreError(f"{source}: cannot be read: {_first_line(problem)}") from None
    return columns, attributes


def _first_line(problem: Exception) -> str:
    return " ".join(str(problem).split())[:200] or type(problem).__name__


def _check(file: h5py.File, source: str) -> tuple[list[str], dict[str, Any]]:
    """Check links, storage, sizes and shapes before anything is read; return names of columns, and attributes."""
    schema = _read_schema(file, source)
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
        _check_dataset(name, dataset, source)
    (runs,), (ticks,) = shapes["run"], shapes["tick"]
    for name, shape in shapes.items():
        wanted = {"tick": (ticks,), "step": (ticks,)}.get(name, (runs,))
        if shape != ((runs, ticks) if name in PER_TICK else wanted):
            raise StoreError(f"{source}: {name!r} has shape {shape}")
    return list(found), _read_attributes(file, source)


def stamp_of(path: Path) -> tuple[int, ...]:
    """Return what changes when a file is replaced or written; nothing where there is none."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def reopen(path: Path, stamp: tuple[int, ...]) -> BinaryIO:
    """Open a result file that was checked when it had this stamp; raise StoreError if it is another one by now."""
    try:
        if stamp_of(path) == stamp:
            return open_regular(path, StoreError, "a result file")
        reason = "it has changed since it was checked; load it again"
    except OSError as problem:
        reason = problem.strerror or str(problem)
    raise StoreError(f"{path}: cannot be read: {reason}")


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


_FILTERS = (h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32)
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


def _check_dataset(name: str, dataset: h5py.Dataset, source: str) -> None:
    """Raise StoreError unless type, rank and storage of a dataset are those of a result file."""
    kind = dataset.id.get_type()  # h5py shows text of any length, references and records alike as objects
    is_number = name in (*SETTINGS, *LENGTHS) and kind.get_class() == h5py.h5t.FLOAT  # else text, or whole numbers
    widest, found = np.dtype("f8" if is_number else _TYPES[name]), dataset.dtype
    right = kind.get_class() == _CLASSES[widest.kind]
    if right and widest.kind == "S":
        right = not kind.is_variable_str() and kind.get_size() <= widest.itemsize
    elif right:
        right = found.kind == widest.kind and found.itemsize <= widest.itemsize
        right = right and (widest.kind in "iu" or found.itemsize == widest.itemsize)
    if not right:
        words = {
            "i": "whole numbers of at most", "u": "whole numbers without a sign of at most",
            "f": "floating-point numbers of", "S": "text of a fixed length up to",
        }  # fmt: skip
        expected = f"{words[widest.kind]} {widest.itemsize} byte{'s' * (widest.itemsize > 1)}"
        raise StoreError(f"{source}: {name!r} has type {str(found)[:60]}; expected {expected}")
    rank = 2 if name in PER_TICK else 1
    if dataset.shape is None or len(dataset.shape) != rank:
        raise StoreError(f"{source}: {name!r} has shape {dataset.shape}; expected {rank} dimension{'s' * (rank > 1)}")
    _check_storage(name, dataset, source)


def _check_storage(name: str, dataset: h5py.Dataset, source: str) -> None:
    """Raise StoreError for unknown filters, and for sizes that cannot be true."""
    layout = dataset.id.get_create_plist()
    filters = [layout.get_filter(k) for k in range(layout.get_nfilters())]
    codes = [code for code, *_ in filters]
    if unknown := [code for code in codes if code not in _FILTERS]:
        raise StoreError(f"{source}: {name!r} is stored with filter {unknown[0]}; result files use gzip")
    if len(set(codes)) < len(codes):
        raise StoreError(f"{source}: {name!r} is compressed twice; result files are compressed once")
    claimed, stored = math.prod(dataset.shape) * dataset.dtype.itemsize, dataset.id.get_storage_size()
    if claimed > _BEST_RATIO * stored:
        raise StoreError(f"{source}: {name!r} claims {claimed} bytes, but {stored} are stored")
    chunks = 1
    if dataset.chunks is not None:
        _check_chunks(name, dataset, filters, source)
        if any(part > max(whole, 1) for part, whole in zip(dataset.chunks, dataset.shape, strict=True)):
            raise StoreError(f"{source}: {name!r} has chunks of {dataset.chunks}, larger than all of it")
        chunks = math.prod(-(-whole // part) for part, whole in zip(dataset.chunks, dataset.shape, strict=True))
        claimed = chunks * math.prod(dataset.chunks) * dataset.dtype.itemsize
    if stored > 2 * claimed + _CHUNK_OVERHEAD * chunks:
        raise StoreError(f"{source}: {name!r} claims {claimed} bytes, but {stored} are stored")


def _check_chunks(name: str, dataset: h5py.Dataset, filters: list[Any], source: str) -> None:
    """Raise StoreError for chunks that HDF5 would read beyond their ends: it trusts sizes and settings of filters."""
    codes, width = [code for code, *_ in filters], dataset.dtype.itemsize
    if any(code == h5py.h5z.FILTER_SHUFFLE and tuple(settings) != (width,) for code, _, settings, _ in filters):
        raise StoreError(f"{source}: {name!r} is shuffled by another width than its type has")
    whole = math.prod(dataset.chunks) * width
    checksum = _CHECKSUM if h5py.h5z.FILTER_FLETCHER32 in codes else 0
    gzip = 1 << codes.index(h5py.h5z.FILTER_DEFLATE) if h5py.h5z.FILTER_DEFLATE in codes else 0

    def is_wrong(chunk: Any) -> bool | None:
        """Return True, which ends the search, if a chunk is wrong. HDF5 skips gzip where it does not help."""
        plain = chunk.filter_mask == gzip  # also where there is no gzip
        fits = chunk.size == whole + checksum if plain else checksum < chunk.size <= whole + _CHUNK_OVERHEAD
        return None if fits and chunk.filter_mask in (0, gzip) else True

    if dataset.id.chunk_iter(is_wrong):
        raise StoreError(f"{source}: {name!r} has a chunk of the wrong size")


_MOST_ATTRIBUTES = 100
_DEEPEST = 20
"""Levels of JSON; those of a plan are six."""
_TABLES = ("experiment", "plan", "semantics")
"""Attributes without which a file says nothing; JSON objects."""


def _read_schema(file: h5py.File, source: str) -> int:
    """Return the number of the schema, -1 for none."""
    if "schema" not in file.attrs:
        return -1
    attribute = h5py.h5a.open(file.id, b"schema")
    if attribute.get_type().get_class() != h5py.h5t.INTEGER or attribute.shape != ():
        raise StoreError(f"{source}: its attribute 'schema' is no whole number")
    return int(file.attrs["schema"])


def _read_attributes(file: h5py.File, source: str) -> dict[str, Any]:
    """Return the attributes: text, and the number of the schema."""
    if len(file.attrs) > _MOST_ATTRIBUTES:
        raise StoreError(f"{source}: has {len(file.attrs)} attributes; not a fastrm result file")
    found: dict[str, Any] = {"schema": _read_schema(file, source)}
    for name in file.attrs:
        if name != "schema":
            found[name] = _read_text(file, name, source)
    for name in _TABLES:
        if name not in found:
            raise StoreError(f"{source}: lacks its attribute {name!r}")
    for name in (*_TABLES, "machine"):
        if name in found:
            _check_table(found[name], name, source)
    return found


def _read_text(file: h5py.File, name: str, source: str) -> str:
    """Read one text. An array of texts could name one long text a million times, so only a single one is read."""
    attribute = h5py.h5a.open(file.id, name.encode())
    is_text = attribute.get_type().get_class() == h5py.h5t.STRING and attribute.shape == ()
    value = file.attrs[name] if is_text else None
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    try:
        if value is None:
            raise UnicodeError
        str(value).encode()
    except UnicodeError:
        raise StoreError(f"{source}: its attribute {name!r:.60} is no text") from None
    return str(value)


def _check_table(text: str, name: str, source: str) -> None:
    """Raise StoreError unless an attribute is a JSON object of the known shape."""
    try:
        table = json.loads(text)
        shallow = _is_shallow(table, _DEEPEST)
    except (ValueError, RecursionError):
        raise StoreError(f"{source}: its attribute {name!r} is not JSON") from None
    if not isinstance(table, dict) or not shallow:
        raise StoreError(f"{source}: its attribute {name!r} is no table of settings")
    if name == "experiment" and not isinstance(table.get("name"), str):
        raise StoreError(f"{source}: its attribute 'experiment' has no name")
    if name == "semantics" and not all(type(number) is int for number in table.values()):
        raise StoreError(f"{source}: its attribute 'semantics' has something else than whole numbers")


def _is_shallow(value: Any, levels: int) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not inside or (levels > 0 and all(_is_shallow(item, levels - 1) for item in inside))


_HEAP = b"GCOL\x01"
_HEADER = 16  # bytes before the first object, and before the data of each
_SMALLEST = 4096  # HDF5 refuses a smaller heap by itself, and one beyond the end of the file


def _check_heaps(image: bytes, source: str) -> None:
    """Raise StoreError unless the objects of every heap lead from its beginning to its end."""
    begin = image.find(_HEAP)
    while begin >= 0:
        if not _is_whole(image, begin):
            raise StoreError(f"{source}: damaged (the heap of its texts at byte {begin} does not add up)")
        begin = image.find(_HEAP, begin + len(_HEAP))


def _is_whole(image: bytes, begin: int) -> bool:
    size = struct.unpack_from("<Q", image, begin + 8)[0] if begin + _HEADER <= len(image) else 0
    place, end = begin + _HEADER, begin + size
    if size < _SMALLEST or end > len(image):  # no heap, but five bytes of compressed data that look like one
        return True
    while place + _HEADER <= end:
        number, size = struct.unpack_from("<H6xQ", image, place)
        step = _HEADER + -(-size // 8) * 8 if number else size  # the space that is left counts its own header
        if step < _HEADER or place + step > end:
            return False
        place += step
    return True


_VARIABLES = {variable.name: variable for variable in VARIABLES}


def _check_column(name: str, column: Array, source: str) -> None:
    """Raise StoreError unless all values of a column are ones that its variable can have."""
    variable = _VARIABLES.get(name)
    if variable is None:
        return
    if column.dtype.kind != "S":
        with np.errstate(invalid="ignore"):  # NaN is in every range, as it means missing
            outside = column[(column < variable.low) | (column > variable.high)]
        if outside.size:
            expected = f"numbers from {variable.low:g} to {variable.high:g}"
            raise StoreError(f"{source}: {name!r} holds {outside[0]}; expected {expected}")
        return
    for value in np.unique(column).tolist():
        try:
            text = value.decode("utf-8")
        except UnicodeDecodeError:
            raise StoreError(f"{source}: {name!r} holds {value!r:.60}, which is not UTF-8") from None
        if not re.fullmatch(variable.pattern, text):
            raise StoreError(f"{source}: {name!r} holds {text!r:.60}, which is no such text")


def check_numbers(columns: Mapping[str, Array], runs: Runs, source: str) -> None:
    """Raise StoreError unless runs, ticks and steps are those of the experiment."""
    numbers = columns["run"]
    if len(numbers) and not (numbers[0] >= 0 and numbers[-1] < runs.count and (numbers[1:] > numbers[:-1]).all()):
        raise StoreError(f"{source}: 'run' must rise, from 0 to at most {runs.count - 1}, the last run of the plan")
    ticks = columns["tick"]
    if not np.array_equal(ticks, np.arange(len(ticks))):
        raise StoreError(f"{source}: 'tick' must count from 0")
    # compared in length first: a forged plan can speak of more ticks than memory holds
    if len(ticks) != runs.ticks or not np.array_equal(columns["step"], runs.step):
        raise StoreError(f"{source}: 'step' does not hold the steps of its plan")


def check_coordinates(columns: Mapping[str, Array], runs: Runs, source: str) -> None:
    """Raise StoreError unless coordinates are those of the runs."""
    if wrong := {name for name in SETTINGS if name in columns} ^ {*runs.swept}:
        raise StoreError(f"{source}: its plan and its columns differ in what is swept: {', '.join(sorted(wrong))}")
    for name in (*COORDINATES, *runs.swept):
        stored, known = columns[name], runs.coordinate(name, columns["run"])
        if stored.dtype.kind != known.dtype.kind:
            raise StoreError(f"{source}: {name!r} has type {stored.dtype}; its plan says {known.dtype}")
        differ = stored != known
        if differ.any():
            row = int(np.flatnonzero(differ)[0])
            raise StoreError(
                f"{source}: {name!r} of run {columns['run'][row]} is {stored[row].item()!r:.60}; "
                f"its plan says {known[row].item()!r:.60}"
            )
