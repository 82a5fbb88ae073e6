"""What was read from a file that may be forged: values in the range of their variable, coordinates as the plan says."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import StoreError
from fastrm.results.schema import COORDINATES, SETTINGS, VARIABLES, Runs, Variable

_VARIABLES = {variable.name: variable for variable in VARIABLES}


def check_column(name: str, column: Array, source: str) -> None:
    """Refuse values that the variable cannot have."""
    variable = _VARIABLES.get(name)
    if variable is None:
        return
    wrong = _strange_text(variable, column) if column.dtype.kind == "S" else _strange_number(variable, column)
    if wrong is not None:
        raise StoreError(f"{source}: {name!r} holds {wrong}")


def _strange_number(variable: Variable, column: Array) -> str | None:
    """Return the first number out of range; NaN is in every range of floating-point numbers, as it means missing."""
    with np.errstate(invalid="ignore"):
        outside = (column < variable.low) | (column > variable.high)
    if not outside.any():
        return None
    return f"{column[outside][0]}; expected numbers from {variable.low:g} to {variable.high:g}"


def _strange_text(variable: Variable, column: Array) -> str | None:
    for value in np.unique(column).tolist():
        try:
            text = value.decode("utf-8")
        except UnicodeDecodeError:
            return f"{value!r:.60}, which is not UTF-8"
        if not re.fullmatch(variable.pattern, text):
            return f"{text!r:.60}, which is no such text"
    return None


def check_numbers(columns: Mapping[str, Array], runs: Runs, source: str) -> None:
    """Insist that runs, ticks and steps are those of the experiment."""
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
    """Insist that coordinates are those of the runs."""
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
