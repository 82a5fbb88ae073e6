"""Several files of one experiment, such as those of shards, as the columns of one file.

Only the numbers and errors of the runs are kept, some forty bytes a run. A column is read from the files when it is
asked for, and what can be computed file by file, such as a run's settled score, needs the curves of one file at a time.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import ConfigError, StoreError, shown
from fastrm.results.hdf5 import Columns, LazyColumns, find_sources
from fastrm.results.schema import COORDINATES, Runs
from fastrm.results.store import read_aside


class Part(NamedTuple):
    """What one file gives."""

    columns: LazyColumns
    rows: Array
    """The rows that are taken from it."""
    places: Array
    """Where these go."""


class JoinedColumns(Mapping[str, Array]):
    """The columns of several files, runs in the order of the experiment."""

    def __init__(self, runs: Runs, parts: Sequence[Part], numbers: Array) -> None:
        self.runs, self.parts, self.numbers = runs, parts, numbers
        self._coordinates = (*COORDINATES, *runs.swept)
        self._names = tuple(dict.fromkeys(name for part in parts for name in part.columns))

    @classmethod
    def of(cls, runs: Runs, files: Sequence[LazyColumns]) -> Self:
        """Join files; a run that occurs in several must be the same to the bit, unless one of them failed."""
        source = find_sources(runs.count, files)
        numbers, parts = np.flatnonzero(source >= 0), []
        for k, columns in enumerate(files):
            found = columns["run"]
            rows = np.flatnonzero(source[found] == k)
            parts.append(Part(columns, rows, np.searchsorted(numbers, found[rows])))
        return cls(runs, parts, numbers)

    def __getitem__(self, name: str) -> Array:
        if name == "run":
            return self.numbers
        if name in ("tick", "step"):
            return np.arange(self.runs.ticks) if name == "tick" else self.runs.step
        if name in self._coordinates:
            return self.runs.coordinate(name, self.numbers)  # those in the files need not be read
        if name not in self._names:
            raise KeyError(name)
        found = None
        for part in self.parts:
            column = part.columns[name][part.rows]
            if found is None:
                found = np.empty((len(self.numbers), *column.shape[1:]), dtype=column.dtype)
            elif column.dtype.itemsize > found.dtype.itemsize:  # messages are as wide as the longest one of a file
                found = found.astype(column.dtype)
            found[part.places] = column
        assert found is not None  # there is a file at least
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def take(self, keep: Array) -> Self:
        """Return the columns of some of the runs, told by a truth value for each."""
        place = np.cumsum(keep) - 1
        parts = [
            Part(part.columns, part.rows[keep[part.places]], place[part.places[keep[part.places]]])
            for part in self.parts
        ]
        return type(self)(self.runs, parts, self.numbers[keep])

    def by_file(self) -> Iterator[tuple[Self, Array]]:
        """Yield the columns of every file alone, and where its runs lie in all of them."""
        for part in self.parts:
            alone = part._replace(places=np.arange(len(part.rows)))
            yield type(self)(self.runs, [alone], self.numbers[part.places]), part.places


def take_runs(columns: Columns, keep: Array) -> Columns:
    """Return columns with some of the runs, told by a truth value for each."""
    if isinstance(columns, JoinedColumns):
        return columns.take(keep)
    others = ("tick", "step")
    return {name: column if name in others else column[keep] for name, column in columns.items()}


def join_files(runs: Runs, paths: Sequence[Path]) -> tuple[JoinedColumns, dict[str, Any]]:
    """Check files of one experiment; return their columns, and the attributes of the first with all files' times."""
    files = [read_aside(runs, path) for path in paths]
    times = {
        name: chosen(str(attributes.get(name, "")) for _, attributes in files)
        for name, chosen in (("started", min), ("ended", max))
    }
    return JoinedColumns.of(runs, [columns for columns, _ in files]), files[0][1] | times


def find_files(path: object) -> list[Path] | None:
    """Return the files that a pattern or a list names, in order; None for a single file.

    Raises
    ------
    ConfigError
        When it is neither a name nor a list of names.
    StoreError
        When there is no such file.
    """
    if isinstance(path, str | Path):
        if not glob.has_magic(str(path)) or Path(path).exists():
            return None
        found = sorted(Path(name) for name in glob.glob(str(path), recursive=True))  # noqa: PTH207 - it may be absolute
        if not found:
            raise StoreError(f"{path}: no file matches this pattern; name the result files of shards")
        return found
    if not isinstance(path, Sequence) or not all(isinstance(name, str | Path) for name in path):
        raise ConfigError(f"path={shown(path)}: must be the name of a result file, a pattern, or a list of names")
    if not path:
        raise ConfigError("path=[]: name at least one result file")
    return [one for name in path for one in find_files(name) or [Path(name)]]
