"""The table of a study's runs: one row per run, in the order of the study; an interrupted study is resumed."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

from fastrm.checks import check_whole
from fastrm.errors import ConfigError, StoreError, printable
from fastrm.experiments.execution.executors import in_threads
from fastrm.experiments.water.study import WaterRow, WaterStudy, WaterUnit, run_unit
from fastrm.resources import usable_cores, usable_memory
from fastrm.textfile import exists, read_text
from fastrm.worlds import WaterWorld

COLUMNS = tuple(field.name for field in fields(WaterRow))
UNIT_BYTES = 600_000_000
"""Memory that a search and a run may take at most."""
_KINDS: dict[str, Callable[[str], Any]] = {
    "optimism": float, "q_init": float, "area": float, "seed": int, "steps": int, "shortest": int,
    "greedy_length": int, "completions": int,
}  # fmt: skip


def read_table(path: Path) -> list[WaterRow]:
    """Read the runs of a study from their table; a last line that was cut off is passed over.

    Raises
    ------
    StoreError
        When the file is no such table.
    """
    source, (head, *lines) = printable(str(path)), read_text(path, StoreError).split("\n")
    if tuple(head.split(",")) != COLUMNS:
        raise StoreError(f"{source}: not a table of the runs of a study; write one with: fastrm water --out FILE")
    rows = []
    for number, line in enumerate(lines[:-1], start=2):
        try:
            (texts,) = csv.reader([line])
            values = [_KINDS.get(name, str)(text) for name, text in zip(COLUMNS, texts, strict=True)]
        except (ValueError, csv.Error):
            raise StoreError(f"{source}:{number}: not a run; the file is damaged") from None
        rows.append(WaterRow(*values))
    return rows


def fill_table(
    study: WaterStudy, worlds: Sequence[tuple[str, WaterWorld]], path: Path, *,
    workers: int | None = None, tell: Callable[[int], object] = lambda done: None,
) -> int:  # fmt: skip
    """Run a study, or what its table does not hold yet; return the number of runs in the table.

    Parameters
    ----------
    study : WaterStudy
        What is run.
    worlds : sequence of (str, WaterWorld)
        On which worlds, by name.
    path : Path
        The table. All runs of a world and a task are added at once, in the order of the study.
    workers : int, optional
        Threads, by default one per core, as far as memory goes. The table is the same to the byte.
    tell : callable, optional
        Called with the number of runs that are done.

    Raises
    ------
    ConfigError
        When the file holds runs of another study, or cannot be written.
    StoreError
        When it is no table of runs.
    """
    if workers is not None:
        check_whole("workers", workers, 1, 10_000)
    units = study.units(worlds)
    kept = _kept(study, units, path)
    begun, done = (_as_text([COLUMNS]) + _as_text(map(astuple, kept))).encode(), len(kept)
    threads = max(1, min(workers or usable_cores(), usable_memory() // UNIT_BYTES))
    with closing(_Table(path, begun)) as table:
        for rows in in_threads(lambda unit: run_unit(study, unit), units[done // _per_unit(study) :], threads):
            table.add(_as_text(map(astuple, rows)).encode())
            done += len(rows)
            tell(done)
    return done


class _Table:
    """A file of which a beginning is kept, and to which rows are added."""

    def __init__(self, path: Path, begun: bytes) -> None:
        self.path = path
        with self._told():
            self.file = path.open("r+b" if exists(path) else "w+b")
            if self.file.read(len(begun)) != begun:
                self.file.seek(0)
                self.file.write(begun)
            self.file.truncate(len(begun))
            self.file.seek(len(begun))
            self.file.flush()

    def add(self, text: bytes) -> None:
        """Add rows, so that they survive this process."""
        with self._told():
            self.file.write(text)
            self.file.flush()

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            reason = problem.strerror or problem
            raise ConfigError(f"{printable(str(self.path))}: cannot be written: {reason}") from None


def _kept(study: WaterStudy, units: Sequence[WaterUnit], path: Path) -> list[WaterRow]:
    """Return the runs that the table holds already, of whole units, if they are those of the study."""
    head = _as_text([COLUMNS])
    if not exists(path) or head.startswith(read_text(path, StoreError)):  # cut off while it was begun
        return []
    rows, keys = read_table(path), [key for unit in units for key in study.keys(unit)]
    if [row.key for row in rows] != keys[: len(rows)] or not read_text(path, StoreError).startswith(
        head + _as_text(map(astuple, rows))
    ):
        raise ConfigError(
            f"{printable(str(path))}: holds other runs than this study; remove it, or name another file with --out"
        )
    return rows[: len(rows) // _per_unit(study) * _per_unit(study)]


def _per_unit(study: WaterStudy) -> int:
    return study.count(1) // len(study.tasks)


def _as_text(rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
