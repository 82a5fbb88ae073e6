"""``parity``: our curves and optima beside those published with the reference implementation."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fastrm.errors import ConfigError, printable

from .console import (
    FAILED,
    INTERRUPTED,
    add_json,
    add_quiet,
    add_workers,
    new_console,
    new_table,
    print_json,
    print_message,
    writing,
)
from .progress import progress_bar

if TYPE_CHECKING:
    from .studies.parity import Comparison, Curves, Optimum, Speed
    from .studies.water import WaterOptimum, WaterRecord


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--reference", metavar="DIR", help="folder of the published data (default: FASTRM_REFERENCE)")
    parser.add_argument(
        "--out", type=Path, default=Path("results/parity"), metavar="DIR",
        help="folder for our runs, a table and a figure (default results/parity)",
    )  # fmt: skip
    parser.add_argument("--runs", type=int, default=60, metavar="N", help="our runs per curve (default 60)")
    add_workers(parser)
    parser.add_argument("--water", action="store_true", help="only score the published episodes of Water world")
    parser.add_argument("--ablation", action="store_true", help="switch off one quirk of profile icarte2022 at a time")
    add_json(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing, compare, print and draw; exit code 1 where equality is rejected."""
    from fastrm.experiments import Interrupted, reference_folder
    from fastrm.plots import have_matplotlib, parity_curves, save

    from .studies.parity import PARITY_PROFILE, check_folder, compare_optima, compare_speeds, rejected

    if arguments.json and arguments.ablation:
        raise ConfigError("--json and --ablation do not go together; the table of --ablation is Markdown")
    folder = reference_folder(arguments.reference)
    if arguments.water:
        if arguments.ablation:
            raise ConfigError("--water and --ablation do not go together; --water runs nothing")
        optima_of_water, records = score_water(folder)
        if arguments.json:
            print_json({"optima": optima_of_water, "records": records})
        else:
            print_water(optima_of_water, records)
        return FAILED if impossible(records) else 0
    has_water = (folder / "water").is_dir()
    check_folder(folder)
    optima = compare_optima(folder)
    with writing(arguments.out):
        arguments.out.mkdir(parents=True, exist_ok=True)
    try:
        if arguments.ablation:
            return ablate(folder, arguments)
        curves = compute(folder, arguments, PARITY_PROFILE)
    except Interrupted as stop:
        print_message(str(stop))
        return INTERRUPTED
    comparisons = [one for curve in curves for one in curve.compare()]
    write_table(arguments.out / "parity.csv", comparisons)
    figure = arguments.out / "parity.png" if have_matplotlib() else None
    if figure is not None:
        save(parity_curves(curves), figure)
    water = score_water(folder) if has_water else ([], [])
    if arguments.json:
        report = {"optima": optima, "comparisons": comparisons, "rejected": rejected(comparisons)}
        on_water = {"optima": water[0], "records": water[1]}
        print_json({**report, "speeds": compare_speeds(folder), "figure": figure, "water": on_water})
    elif not arguments.quiet:
        print_optima(optima)
        print_parity(curves, comparisons)
        sys.stdout.write(f"both curves in {printable(str(figure))}\n" if figure else "")
        print_speeds(compare_speeds(folder))
        if has_water:
            print_water(*water)
    return FAILED if rejected(comparisons) or impossible(water[1]) else 0


def score_water(folder: Path) -> tuple[list[WaterOptimum], list[WaterRecord]]:
    """Return the optima of Water world, and the published episodes scored against them."""
    from .studies.water import water_optima, water_records

    optima = water_optima(folder)
    return optima, list(water_records(folder, optima))


def impossible(records: Sequence[WaterRecord]) -> list[WaterRecord]:
    """Return the records with an episode that is shorter than the optimum."""
    return [record for record in records if not record.is_possible]


def print_water(optima: Sequence[WaterOptimum], records: Sequence[WaterRecord]) -> None:
    """Print the tables."""
    from fastrm.worlds import WATER_ACTIONS

    console = new_console()
    for one in optima:
        rows = zip(WATER_ACTIONS, map(str, one.paid), map(str, one.completed), strict=True)
        heads = "velocity at the start", "paid", "completed"
        console.print(new_table(f"fewest steps of t10 on {one.world}", *heads, rows=rows))
    columns = ("world", "learner", "episodes", "paid", "best", "ratio", "settled", "ratio", "fell")
    table = new_table("published episodes of t10: steps, and their ratio to the fewest", *columns)
    for record in records:
        share = f"{record.paid / record.episodes:.0%}"
        steps = [
            f"{record.best}", f"{record.best / record.fewest_paid:.2f}", f"{record.settled:g}",
            f"{record.settled / record.fewest_paid:.2f}", f"{record.fell_off:.1%}",
        ] if record.paid else ["-"] * 5  # fmt: skip
        table.add_row(record.world, record.algorithm, f"{record.episodes:,}", share, *steps)
    console.print(table)
    attained = sorted({record.world for record in records if record.best == record.fewest_paid})
    console.print(
        "fell: paid sooner than any completion can be, so at least this share of all episodes paid\n"
        f"{len(impossible(records)) or 'no'} best episode is shorter than the fewest steps; attained on "
        f"{', '.join(attained) or 'no world'}"
    )


def compute(folder: Path, arguments: argparse.Namespace, profile: str) -> list[Curves]:
    """Run, or load, our side of the comparison under a profile."""
    from fastrm.experiments import Plan, run as run_plan

    from .studies.parity import PARITY_PROFILE, load_curves, parity_experiments

    results = {}
    for domain, experiment in parity_experiments(folder, arguments.runs, profile).items():
        out = arguments.out / f"{domain}{'' if profile == PARITY_PROFILE else '-' + profile.replace(' ', '')}.h5"
        with progress_bar(quiet=arguments.quiet) as report:
            results[domain] = run_plan(Plan.of(experiment), out, workers=arguments.workers, report=report)
    return load_curves(folder, results)


def ablate(folder: Path, arguments: argparse.Namespace) -> int:
    """Run once more with every quirk of the profile switched off, and print a Markdown table."""
    from fastrm.config import Profile

    from .studies.parity import PARITY_PROFILE

    whole = compute(folder, arguments, PARITY_PROFILE)
    head = ABLATION_HEAD.format(curves=len(whole))
    sys.stdout.write(head + ablation_row(PARITY_PROFILE, whole, whole))
    for switch in Profile.__dataclass_fields__:
        name = f"{PARITY_PROFILE} - {switch}"
        try:
            row = ablation_row(name, compute(folder, arguments, name), whole)
        except ConfigError as problem:
            row = f"| {name} | | | does not run: {problem} | |\n"
        sys.stdout.write(row)
        sys.stdout.flush()
    return 0


def write_table(path: Path, comparisons: Sequence[Comparison]) -> None:
    """Write every comparison as CSV."""
    with writing(path), path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["domain", "map", "algorithm", "step", "ours", "published", "p"])
        for one in comparisons:
            figures = (f"{value:.6g}" for value in (one.ours, one.published, one.p))
            writer.writerow([one.cell.domain, one.cell.grid, one.algorithm, one.step, *figures])


def print_optima(optima: Sequence[Optimum]) -> None:
    """Print how far our exact optima are from the published estimates."""
    for domain in ("craft", "office"):
        some = [one for one in optima if one.name.startswith(domain)]
        worst = max(some, key=lambda one: abs(one.deviation))
        new_console().print(
            f"{len(some)} optima of {domain}: at most {abs(worst.deviation):.4%} from the published ones "
            f"({worst.name}: {worst.ours:.6f}, published {worst.published:.6f})"
        )


def print_parity(curves: Sequence[Curves], comparisons: Sequence[Comparison]) -> None:
    """Print medians and p-values at every compared step, and what follows from all of them."""
    from .studies.parity import COMPARED_AT, REJECTION_LEVEL, rejected

    console = new_console()
    usual_width, console.width = console.width, max(console.width, 175)
    shares = (f"{share:.0%}" for share in COMPARED_AT)
    title = "median score, ours / published (p-value), along the curve"
    table = new_table(title, "map", "algorithm", "runs", *shares, "median shift")
    out = {id(one) for one in rejected(comparisons)}
    for curve in curves:
        some = [one for one in comparisons if (one.cell, one.algorithm) == (curve.cell, curve.algorithm)]
        cells = [f"{one.ours:.3f}/{one.published:.3f} ({one.p:.2g})" for one in some]
        cells = [f"[red]{cell}[/]" if id(one) in out else cell for cell, one in zip(cells, some, strict=True)]
        shift = float(np.median([one.ours - one.published for one in some]))
        runs = f"{len(curve.ours)}/{len(curve.published)}"
        table.add_row(curve.cell.name, curve.algorithm, runs, *cells, f"{shift:+.4f}")
    console.print(table)
    console.width = usual_width
    smallest = min(one.p for one in comparisons)
    console.print(
        f"{len(comparisons)} comparisons: smallest p-value {smallest:.2g}, times their number "
        f"{smallest * len(comparisons):.2g}; median p-value {np.median([one.p for one in comparisons]):.2g}"
    )
    for one in rejected(comparisons):
        console.print(
            f"[red]rejected[/]: {one.cell.name} {one.algorithm} at {one.step} steps: {one.ours:.4f} against "
            f"{one.published:.4f}"
        )
    if not out:
        console.print(f"no comparison rejects equality at {REJECTION_LEVEL:.0%} after correcting for their number")


def print_speeds(speeds: Sequence[Speed]) -> None:
    """Print steps a second on one core, here and as published."""
    rows = ((s.name, *(f"{x:,.0f}" for x in (s.ours, s.published, s.ours / s.published))) for s in speeds)
    new_console().print(new_table("steps a second on one core", "", "ours", "published", "ratio", rows=rows))


ABLATION_HEAD = """\
| profile | curves that change, of {curves} | largest shift of our median | rejected against the published | median p |
|---|---|---|---|---:|
"""


def ablation_row(name: str, curves: Sequence[Curves], whole: Sequence[Curves]) -> str:
    """Return a row of the table of quirks: our curves without one against ours with all of them, and the published."""
    from .studies.parity import rejected

    comparisons = [one for curve in curves for one in curve.compare()]
    changed = [k for k, (one, other) in enumerate(zip(curves, whole, strict=True)) if (one.ours != other.ours).any()]
    shift = "none"
    if changed:
        gaps = [np.median(curves[k].ours, axis=0) - np.median(whole[k].ours, axis=0) for k in changed]
        k = int(np.argmax([np.abs(gap).max() for gap in gaps]))
        at, curve = int(np.abs(gaps[k]).argmax()), curves[changed[k]]
        where = f"{curve.cell.name} {curve.algorithm} at {curve.steps[at]:,} steps".replace(",", " ")
        shift = f"{gaps[k][at]:+.3f} ({where})"
    out = rejected(comparisons)
    where = ", ".join(dict.fromkeys(f"{one.cell.name} {one.algorithm}" for one in out))
    rejections = f"{len(out)} of {len(comparisons)}: {where}" if out else "none"
    learners = ", ".join(dict.fromkeys(curves[k].algorithm for k in changed))
    changes = f"{len(changed)}: {learners}" if changed else "none"
    return f"| {name} | {changes} | {shift} | {rejections} | {np.median([one.p for one in comparisons]):.2f} |\n"
