"""``plot``: the figures of a result file, or text where matplotlib is missing."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fastrm.errors import ConfigError, printable

from .console import add_file, encodable, load_results, print_message, print_path, writing

if TYPE_CHECKING:
    from fastrm.results import Results


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_file(parser)
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the figures (default: FILE without .h5)")
    parser.add_argument("--format", choices=("png", "pdf", "svg"), default="png", help="format (default png)")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--width", type=float, metavar="INCHES", help="width of curves (default: as panels need it)")
    size.add_argument("--columns", type=int, choices=(1, 2), help="as wide as one or two columns of a page")
    parser.add_argument("--dpi", type=int, metavar="N", help="pixels per inch (default 200)")
    parser.add_argument(
        "--bands", action=argparse.BooleanOptionalAction, help="shade 25-75 %% of runs (default: up to three methods)"
    )
    parser.add_argument("--text", action="store_true", help="print the curves as text instead")


def run(arguments: argparse.Namespace) -> int:
    """Draw the figures, and write the summary as CSV beside them."""
    results = load_results(arguments.file)
    if arguments.text:
        print_curves(results)
        return 0
    from fastrm.plots import COLUMN_WIDTHS

    out, width = arguments.out or folder_of(Path(arguments.file)), COLUMN_WIDTHS.get(arguments.columns, arguments.width)
    for path in draw(results, out, arguments.format, width=width, dpi=arguments.dpi, bands=arguments.bands):
        print_path(path)
    return 0


def folder_of(file: Path) -> Path:
    """Return the folder for what is drawn from a result file."""
    return file.with_suffix("") if file.suffix else file.with_name(f"{file.name}-report")


def draw(
    results: Results,
    out: Path,
    form: str = "png",
    quiet: bool = False,
    *,
    width: float | None = None,
    dpi: int | None = None,
    bands: bool | None = None,
) -> list[Path]:
    """Write figures and summary into a folder, made if need be; without matplotlib print the curves as text."""
    from fastrm.plots import figures_of, have_matplotlib, save
    from fastrm.results import to_csv

    if not results.runs or not len(results["step"]):
        raise ConfigError(f"{results.path}: no curves to draw (no runs, or shorter than a tick)")
    paths = [out / "summary.csv"]
    with writing(out, cure="; choose another --out"):
        out.mkdir(parents=True, exist_ok=True)
        rows = results.summary(by=("setup", "task", *results.swept, "label"))
        paths[0].write_text(to_csv([row for row in rows if row["runs"]]))
    if not have_matplotlib():
        if not quiet:
            print_curves(results)
            print_message("text in place of figures; for those: pip install 'fastrm[plot]'")
        return paths
    for name, figure in figures_of(results, width=width, bands=bands):
        plain = re.sub(r"[/\\]", "_", printable(name))[:100]  # it may be named after a map, such as one called ../../x
        paths.append(out / f"{plain}.{form}")
        save(figure, paths[-1], dpi)
    return paths


def print_curves(results: Results) -> None:
    """Print the learning curves as text."""
    from fastrm.plots import ASCII_BARS, BARS, curves_as_text

    sys.stdout.write(curves_as_text(results, encodable(BARS, ASCII_BARS, sys.stdout.encoding)) + "\n")
