"""``replay``: a run of a result file again, as a picture, a film, tables or a page."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastrm.errors import ConfigError, printable

from .console import add_file, add_learner_file, format_score, format_values, print_path, writing

if TYPE_CHECKING:
    from fastrm.learners import Run
    from fastrm.problems import Problem
    from fastrm.results import Results

DRAWN = ("png", "pdf", "svg")
FORMS = (*DRAWN, "gif", "npz", "html")
RANKS = ("worst", "median", "best")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.usage = (
        "%(prog)s FILE --out OUT --run I\n"
        "       ... FILE --out OUT (--worst|--median|--best) METHOD TASK\n"
        "           [--setup SETUP] [--where SETTING=VALUE]"
    )
    add_file(parser)
    which = parser.add_mutually_exclusive_group(required=True)
    for rank in RANKS:
        which.add_argument(
            f"--{rank}", nargs=2, metavar=("METHOD", "TASK"), help=f"of this method's runs on this task the {rank}"
        )
    which.add_argument("--run", type=int, metavar="I", help="the run in row I of the file, counted from 0")
    parser.add_argument("--setup", metavar="SETUP", help="with a rank: only runs on maps of this setup")
    parser.add_argument(
        "--where", action="append", metavar="SETTING=VALUE", help="with a rank: only runs with this swept value"
    )
    add_learner_file(parser)
    parser.add_argument(
        "--out", type=Path, required=True, metavar="OUT",
        help="what it learned as .png, .pdf or .svg, its greedy episode as .gif, tables as .npz, a page as .html",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Replay the run, write what was asked for, and print which run it was."""
    form = arguments.out.suffix.removeprefix(".")
    if form not in FORMS:
        raise ConfigError(f"--out {arguments.out}: must end in .{', .'.join(FORMS[:-1])} or .{FORMS[-1]}")
    from fastrm.experiments import find_row, problem_of, replay
    from fastrm.results import load

    results = load(arguments.file)
    which, wanted = _chosen(arguments, results)
    row = find_row(results, which, **wanted)
    found, problem = replay(results, row), problem_of(results, row)
    _write(problem, found, arguments.out, form)
    _describe(results, row, found)
    print_path(arguments.out)
    return 0


def _chosen(arguments: argparse.Namespace, results: Results) -> tuple[int | str, dict[str, Any]]:
    """Return row or rank, and what is selected by coordinates."""
    if arguments.run is not None:
        if arguments.setup is not None or arguments.where:
            option = "--where" if arguments.where else "--setup"
            raise ConfigError(f"{option} goes with --worst, --median or --best; --run names a run by itself")
        return int(arguments.run), {}
    rank = next(rank for rank in RANKS if getattr(arguments, rank) is not None)
    method, task = getattr(arguments, rank)
    wanted: dict[str, Any] = {"method": method, "task": task} | ({"setup": arguments.setup} if arguments.setup else {})
    return rank, wanted | dict(_swept(text, results) for text in arguments.where or ())


def _swept(text: str, results: Results) -> tuple[str, float | str]:
    """Read ``alpha=0.1``: a swept setting and one of its values."""
    name, sign, value = text.partition("=")
    if not sign or name not in results.swept:
        settings = f"the file sweeps {', '.join(results.swept)}" if results.swept else "this file sweeps nothing"
        raise ConfigError(f"--where {text}: must be a swept setting and its value, such as alpha=0.1; {settings}")
    try:
        return name, float(value) if results[name].dtype.kind == "f" else value
    except ValueError:
        raise ConfigError(f"--where {text}: {name} has numbers, such as {results[name][0]:g}") from None


def _write(problem: Problem, found: Run, out: Path, form: str) -> None:
    from fastrm import plots
    from fastrm.pages import explain_page

    if form == "gif":
        plots.save_episode(problem, found.greedy_path, out, actions=found.path_actions(problem))
    elif form in DRAWN:
        plots.save(plots.draw_learning(problem, found), out)
    elif form == "npz":
        _write_tables(found, out)
    else:
        page = explain_page(problem, found)
        with writing(out):
            out.write_text(page, encoding="utf-8", newline="\n")


def _write_tables(found: Run, out: Path) -> None:
    """Write values, greedy paths and curves; the same run gives the same bytes."""
    import numpy as np

    from fastrm.results import PER_TICK

    paths = {f"path_{k}" if k else "path": np.array(path) for k, path in enumerate(found.greedy_paths)}
    curves = {name: getattr(found, name) for name in ("step", *PER_TICK) if getattr(found, name) is not None}
    tables: dict[str, Any] = {"q": found.q, **{f"learned_{name}": table for name, table in found.more.items()}}
    with writing(out), out.open("wb") as file:
        np.savez(file, **(tables | paths | curves))


def _describe(results: Results, row: int, found: Run) -> None:
    """Print which run it was, and how to get it in Python."""
    names = ("setup", "grid", "task", "method", "seed")
    setup, grid, task, label, seed = (printable(str(results[name][row])) for name in names)
    settings = "".join(f", {name} {printable(format_values([results[name][row]]))}" for name in results.swept)
    length = "does not complete the task" if found.greedy_length is None else f"{found.greedy_length:.6g} steps"
    shortest = "not known" if math.isnan(found.shortest[0]) else f"{found.shortest[0]:.6g} steps"
    settled = format_score(float(results.per_run_values("settled")[row]))
    sys.stdout.write(
        f"run {row}: setup {setup}, map {grid}, task {task}, method {label}{settings}, seed {seed}\n"
        f"  settled score {settled}; greedy policy {length}, shortest path {shortest}\n"
        f"  fastrm.load({str(results.path)!r}).replay({row})\n"
    )
