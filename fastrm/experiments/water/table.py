"""The table of a study's runs: a row for each, in the order of the study, and gone on with where it was broken off."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from fastrm.errors import ConfigError, StoreError, printable
from fastrm.experiments.execution.executors import in_threads
from fastrm.experiments.water.study import WaterRow, WaterStudy, run_unit
from fastrm.textfile import read_text
from fastrm.worlds import WaterWorld

_COLUMNS: dict[str, Callable[[str], Any]] = {
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
    if tuple(head.split(",")) != WaterRow._fields:
        raise StoreError(f"{source}: not a table of the runs of a study; write one with: fastrm water --out FILE")
    rows = []
    for number, line in enumerate(csv.reader(lines[:-1]), start=2):
        try:
            values = [_COLUMNS.get(name, str)(text) for name, text in zip(WaterRow._fields, line, strict=True)]
        except ValueError:
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
        Threads, one per core by default. The table is the same to the byte.
    tell : callable, optional
        Called with the number of runs that are done.

    Raises
    ------
    ConfigError
        When the file holds something else, or cannot be written.
    """
    units = [(name, world, task) for name, world in worlds for task in study.tasks]
    per_unit = study.count(1) // len(study.tasks)
    kept = _kept(study, [(name, task) for name, _, task in units], path)
    begun, done = _as_text([WaterRow._fields, *kept]).encode(), len(kept)
    found = in_threads(lambda unit: run_unit(study, *unit), units[done // per_unit :], workers)
    try:
        if not kept:
            path.write_bytes(begun)
        with path.open("r+b") as file, closing(found):
            file.seek(len(begun))
            file.truncate()
            for rows in found:
                file.write(_as_text(rows).encode())
                file.flush()
                done += len(rows)
                tell(done)
    except OSError as problem:
        raise ConfigError(f"{path}: cannot be written: {problem.strerror or problem}") from None
    return done


def _kept(study: WaterStudy, units: Sequence[tuple[str, str]], path: Path) -> list[WaterRow]:
    """Return the runs that the table holds already, of whole units, if they are those of the study."""
    if not path.exists() or not path.stat().st_size:
        return []
    rows, keys = read_table(path), [(name, *key) for name, task in units for key in study.keys(task)]
    if [row.key for row in rows] != keys[: len(rows)] or not path.read_bytes().startswith(
        _as_text([WaterRow._fields, *rows]).encode()
    ):
        raise ConfigError(f"{path}: holds other runs than this study; remove it, or name another file with --out")
    per_unit = study.count(1) // len(study.tasks)
    return rows[: len(rows) // per_unit * per_unit]


def _as_text(rows: Sequence[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
