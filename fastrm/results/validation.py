"""Checks of a result file that may be forged: before HDF5 reads it, before its data is read, and after.

First its heaps, in which HDF5 keeps texts of variable length. A heap begins with ``GCOL``, its version and its size.
Objects follow, each with its number and size; number 0 is the free space. HDF5 goes from object to object by their
sizes and would loop for ever at a size of 0. Then attributes, of known types and shapes of JSON; then type, dimensions
and storage of every dataset; and at last values, in the range of their variable, and coordinates, as the plan has them.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Mapping
from typing import Any

import h5py
import numpy as np

from fastrm.arrays import Array
from fastrm.errors import StoreError
from fastrm.results.schema import COORDINATES, LENGTHS, NUMBERS, PER_TICK, SETTINGS, VARIABLES, Runs, Variable

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
    """Raise StoreError unless type, rank and storage of a dataset are those of a result file."""
    _check_type(name, dataset, source)
    rank = 2 if name in PER_TICK else 1
    if dataset.shape is None or len(dataset.shape) != rank:
        raise StoreError(f"{source}: {name!r} has shape {dataset.shape}; expected {rank} dimension{'s' * (rank > 1)}")
    _check_storage(name, dataset, source)


def _check_type(name: str, dataset: h5py.Dataset, source: str) -> None:
    """Check the type, its class by HDF5: h5py shows text of any length, references and records alike as objects."""
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


def read_schema(file: h5py.File, source: str) -> int:
    """Return the number of the schema, -1 for none."""
    if "schema" not in file.attrs:
        return -1
    attribute = h5py.h5a.open(file.id, b"schema")
    if attribute.get_type().get_class() != h5py.h5t.INTEGER or attribute.shape != ():
        raise StoreError(f"{source}: its attribute 'schema' is no whole number")
    return int(file.attrs["schema"])


def read_attributes(file: h5py.File, source: str) -> dict[str, Any]:
    """Return the attributes: text, and the number of the schema."""
    if len(file.attrs) > _MOST_ATTRIBUTES:
        raise StoreError(f"{source}: has {len(file.attrs)} attributes; not a fastrm result file")
    found: dict[str, Any] = {"schema": read_schema(file, source)}
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


def check_heaps(image: bytes, source: str) -> None:
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


def check_column(name: str, column: Array, source: str) -> None:
    """Raise StoreError unless all values of a column are ones that its variable can have."""
    variable = _VARIABLES.get(name)
    if variable is None:
        return
    wrong = _find_wrong_text(variable, column) if column.dtype.kind == "S" else _find_wrong_number(variable, column)
    if wrong is not None:
        raise StoreError(f"{source}: {name!r} holds {wrong}")


def _find_wrong_number(variable: Variable, column: Array) -> str | None:
    """Return the first number out of range; NaN is in every range of floating-point numbers, as it means missing."""
    with np.errstate(invalid="ignore"):
        outside = (column < variable.low) | (column > variable.high)
    if not outside.any():
        return None
    return f"{column[outside][0]}; expected numbers from {variable.low:g} to {variable.high:g}"


def _find_wrong_text(variable: Variable, column: Array) -> str | None:
    for value in np.unique(column).tolist():
        try:
            text = value.decode("utf-8")
        except UnicodeDecodeError:
            return f"{value!r:.60}, which is not UTF-8"
        if not re.fullmatch(variable.pattern, text):
            return f"{text!r:.60}, which is no such text"
    return None


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
