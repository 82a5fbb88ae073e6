"""``plot``: the figures of a result file, or text where matplotlib is missing."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastrm.config import FigureConfig
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
    look = parser.add_argument_group("how curves look, where it differs from the table [figure] of the experiment")
    look.add_argument("--methods", nargs="+", metavar="METHOD", help="draw these, in this order (default: all)")
    look.add_argument("--names", nargs="+", metavar="METHOD=NAME", help="what methods are called")
    look.add_argument("--colours", nargs="+", metavar="METHOD=COLOUR", help="any colours that matplotlib knows")
    look.add_argument("--value", choices=("score", "greedy"), help="what curves show (default score)")
    look.add_argument("--xscale", choices=("log", "linear"), help="axis of steps (default log)")
    for name, where in (("title", "above the panels"), ("xlabel", "below them"), ("ylabel", "beside them")):
        look.add_argument(f"--{name}", metavar="TEXT", help=f"text {where}")
    look.add_argument("--legend", action=argparse.BooleanOptionalAction, help="names below, not at the ends of curves")
    look.add_argument("--figure", metavar="TOML", help="take the table [figure] of this experiment file")
    parser.add_argument("--text", action="store_true", help="print the curves as text instead")


def run(arguments: argparse.Namespace) -> int:
    """Draw the figures, and write the summary as CSV beside them."""
    from fastrm.experiments import Experiment
    from fastrm.plots import COLUMN_WIDTHS, have_matplotlib

    results, given = load_results(arguments.file), vars(arguments)
    options = {name: given[name] for name in FigureConfig.__dataclass_fields__ if given[name] is not None}
    options |= {name: _by_method(name, options[name]) for name in ("names", "colours") if name in options}
    if arguments.columns is not None:
        options["width"] = COLUMN_WIDTHS[arguments.columns]
    if arguments.figure is not None:
        options = {**Experiment.load(arguments.figure).figure, **options}
    if arguments.text:
        print_curves(results, **options)
        return 0
    out = arguments.out or folder_of(Path(arguments.file))
    paths = draw(results, out, arguments.format, dpi=arguments.dpi, **options)
    if not have_matplotlib():
        print_curves(results, **options)
    for path in paths:
        print_path(path)
    return 0


def _by_method(name: str, words: Sequence[str]) -> dict[str, str]:
    """Read ``crm-num=ours``: a method and what it gets."""
    for word in words:
        if "=" not in word:
            raise ConfigError(f"--{name} {word}: must be a method, = and its {name[:-1]}")
    return dict(word.split("=", 1) for word in words)


def folder_of(file: Path) -> Path:
    """Return the folder for what is drawn from a result file, or from all files that a pattern names.

    >>> folder_of(Path("results/part-*.h5")).as_posix(), folder_of(Path("quick")).as_posix()
    ('results/part-all', 'quick-report')
    """
    if has_magic(str(file)) and not file.exists():
        file = Path(re.sub(r"[*?\[\]]+", "all", str(file)))
    return file.with_suffix("") if file.suffix else file.with_name(f"{file.name}-report")


def draw(
    results: Results,
    out: Path,
    form: str = "png",
    quiet: bool = False,
    *,
    dpi: int | None = None,
    **options: Any,
) -> list[Path]:
    """Write figures and summary into a folder, made if need be; without matplotlib the summary alone.

    Options are those of `fastrm.plots.figures_of`.
    """
    from fastrm.plots import figures_of, have_matplotlib, save
    from fastrm.results import to_csv

    if not results.runs:
        raise ConfigError(f"{results.path}: no curves to draw, as there are no runs")
    paths = [out / "summary.csv"]
    with writing(out, cure="; choose another --out"):
        out.mkdir(parents=True, exist_ok=True)
        rows = results.summary()
        paths[0].write_text(to_csv([row for row in rows if row["runs"]]))
    if not have_matplotlib():
        if not quiet:
            print_message("text in place of figures; for those: pip install 'fastrm[plot]'")
        return paths
    for name, figure in figures_of(results, **options):
        plain = re.sub(r"[/\\]", "_", printable(name))[:100]  # it may be named after a map, such as one called ../../x
        paths.append(out / f"{plain}.{form}")
        save(figure, paths[-1], dpi)
    return paths


def print_curves(results: Results, **options: Any) -> None:
    """Print the learning curves as text."""
    from fastrm.plots import ASCII_BARS, BARS, curves_as_text

    sys.stdout.write(curves_as_text(results, encodable(BARS, ASCII_BARS, sys.stdout.encoding), **options) + "\n")
