"""Results in other formats: rows of a summary as CSV and LaTeX, columns as xarray datasets and pandas frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fastrm.errors import ConfigError, MissingExtra
from fastrm.results.schema import COORDINATES, DERIVED, PER_RUN, PER_TICK

if TYPE_CHECKING:
    import pandas
    import xarray

    from fastrm.results.dataset import Results

Rows = Sequence[Mapping[str, Any]]
_LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


def to_csv(rows: Rows) -> str:
    """Write rows as CSV, numbers with six digits; columns are those of all rows, in order.

    >>> print(to_csv([{"task": "a", "score_50": 0.5, "steps": float("inf")}]), end="")
    task,score_50,steps
    a,0.5,inf
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = _columns(rows)
    writer.writerow(columns)
    for row in rows:
        writer.writerow(_figure(row.get(name, ""), ".6g") for name in columns)
    return text.getvalue()


def to_latex(rows: Rows, columns: Sequence[str] | None = None) -> str:
    r"""Write rows as a LaTeX table in the style of ``booktabs``, numbers with up to three decimals.

    >>> print(to_latex([{"task": "a_b", "score_50": 0.5}]), end="")
    \begin{tabular}{lr}
    \toprule
    task & score\_50 \\
    \midrule
    a\_b & 0.500 \\
    \bottomrule
    \end{tabular}
    """
    known = _columns(rows)
    names = list(columns or known)
    if unknown := [name for name in names if rows and name not in known]:
        raise ConfigError(f"no column {unknown[0]!r}; there are {', '.join(known)}")
    sides = "".join("r" if any(isinstance(row.get(name), int | float) for row in rows) else "l" for name in names)
    cells = [names, *([_figure(row.get(name, ""), "fixed") for name in names] for row in rows)]
    head, *body = (" & ".join(text.translate(_LATEX) for text in line) + r" \\" for line in cells)
    lines = (rf"\begin{{tabular}}{{{sides}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}")
    return "\n".join(lines) + "\n"


def _columns(rows: Rows) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _figure(value: Any, form: str) -> str:
    """Format a value, a float as `form` says; `fixed` is up to three decimals."""
    if not isinstance(value, float):
        return str(value)
    if form == "fixed":
        form = ".3f" if abs(value) < 10 else ".1f" if abs(value) < 999.95 else ".0f"
    return f"{value:{form}}"


def as_dataset(results: Results) -> xarray.Dataset:
    """Return everything as an xarray dataset with dimensions ``run`` and ``tick``."""
    try:
        import xarray
    except ImportError:
        raise MissingExtra("to_xarray needs xarray; install it with: pip install 'fastrm[analysis]'") from None
    data: dict[str, Any] = {name: (("run", "tick"), results[name]) for name in PER_TICK}
    data |= {name: (("run",), results[name]) for name in PER_RUN}
    coords = {name: ("run", results[name]) for name in ("run", *COORDINATES, *results.swept)}
    coords |= {"tick": ("tick", results["tick"]), "step": ("tick", results["step"])}
    return xarray.Dataset(data, coords, attrs=results.attributes)


def as_frame(results: Results, per_tick: bool) -> pandas.DataFrame:
    """Return a data frame with a row per run, derived values included, or a row per run and tick."""
    try:
        import pandas
    except ImportError:
        raise MissingExtra("a data frame needs pandas; install it with: pip install 'fastrm[analysis]'") from None
    columns = {name: results[name] for name in ("run", *results.coordinates, *PER_RUN)}
    if not per_tick:
        return pandas.DataFrame(columns | {name: results.per_run_values(name) for name in DERIVED})
    table = {name: np.repeat(column, len(results["step"])) for name, column in columns.items()}
    table |= {"step": np.tile(results["step"], results.runs)}
    return pandas.DataFrame(table | {name: results[name].reshape(-1) for name in PER_TICK})
