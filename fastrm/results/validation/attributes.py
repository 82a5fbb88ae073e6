"""What a file that may be forged says of itself: attributes of known types, JSON of known shapes."""

from __future__ import annotations

import json
from typing import Any

import h5py

from fastrm.errors import StoreError

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
            table = _read_table(found[name], name, source)
            _check_table(name, table, source)
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


def _read_table(text: str, name: str, source: str) -> dict[str, Any]:
    try:
        table = json.loads(text)
        shallow = _is_shallow(table, _DEEPEST)
    except (ValueError, RecursionError):
        raise StoreError(f"{source}: its attribute {name!r} is not JSON") from None
    if not isinstance(table, dict) or not shallow:
        raise StoreError(f"{source}: its attribute {name!r} is no table of settings")
    return table


def _is_shallow(value: Any, levels: int) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not inside or (levels > 0 and all(_is_shallow(item, levels - 1) for item in inside))


def _check_table(name: str, table: dict[str, Any], source: str) -> None:
    if name == "experiment" and not isinstance(table.get("name"), str):
        raise StoreError(f"{source}: its attribute 'experiment' has no name")
    if name == "semantics" and not all(type(number) is int for number in table.values()):
        raise StoreError(f"{source}: its attribute 'semantics' has something else than whole numbers")
