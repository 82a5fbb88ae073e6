"""``parity``: our curves and optima beside those published with the reference implementation."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fastrm.errors import ConfigError

if TYPE_CHECKING:
    from fastrm.studies.parity import Comparison, Curves

FAILED, INTERRUPTED = 1, 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--reference", metavar="DIR", help="folder of the published data (default: FASTRM_REFERENCE)")
    parser.add_argument(
        "--out", type=Path, default=Path("results/parity"), metavar="DIR", help="default results/parity"
    )
    parser.add_argument("--runs", type=int, default=60, metavar="N", help="our runs per curve (default 60)")
    parser.add_argument("-j", "--workers", type=int, metavar="N", help="workers (default: all cores)")
    parser.add_argument("--ablation", action="store_true", help="switch off one quirk of icarte2022 after the other")


def run(options: argparse.Namespace) -> int:
    """Run what is missing, compare, print and draw; exit code 1 where equality is rejected."""
    from fastrm.bench.reports import print_optima, print_parity, print_speeds
    from fastrm.experiments import Interrupted, reference_folder
    from fastrm.pictures import plots
    from fastrm.studies import parity

    folder = reference_folder(options.reference)
    parity.check_folder(folder)
    optima = parity.compare_optima(folder)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ConfigError(f"{options.out}: cannot be written: {problem.strerror or problem}") from None
    try:
        if options.ablation:
            return ablate(folder, options)
        curves = compute(folder, options, parity.PROFILE)
    except Interrupted as stop:
        sys.stderr.write(f"fastrm: {stop}\n")
        return INTERRUPTED
    comparisons = [one for curve in curves for one in curve.compare()]
    print_optima(optima)
    print_parity(curves, comparisons)
    write_table(options.out / "parity.csv", comparisons)
    if plots.have_matplotlib():
        plots.save(plots.parity_curves(curves), options.out / "parity.png")
        sys.stdout.write(f"both curves in {options.out / 'parity.png'}\n")
    print_speeds(parity.compare_speeds(folder))
    return FAILED if parity.rejected(comparisons) else 0


def compute(folder: Path, options: argparse.Namespace, profile: str) -> list[Curves]:
    """Run, or load, our side of the comparison under a profile."""
    from fastrm.bench.run import progress_bar
    from fastrm.experiments import Plan, run as run_plan
    from fastrm.studies import parity

    results = {}
    for domain, experiment in parity.experiments(folder, options.runs, profile).items():
        out = options.out / f"{domain}{'' if profile == parity.PROFILE else '-' + profile.replace(' ', '')}.h5"
        with progress_bar(quiet=False) as report:
            results[domain] = run_plan(Plan.of(experiment), out, workers=options.workers, report=report)
    return parity.load_curves(folder, results)


def ablate(folder: Path, options: argparse.Namespace) -> int:
    """Run once more with every quirk of the profile switched off, and print a Markdown table."""
    from fastrm.bench.reports import ABLATION_HEAD, ablation_row
    from fastrm.config import Profile
    from fastrm.studies import parity

    whole = compute(folder, options, parity.PROFILE)
    sys.stdout.write(ABLATION_HEAD + ablation_row(parity.PROFILE, whole, whole))
    for switch in Profile.__dataclass_fields__:
        name = f"{parity.PROFILE} - {switch}"
        try:
            row = ablation_row(name, compute(folder, options, name), whole)
        except ConfigError as problem:
            row = f"| {name} | | | does not run: {problem} | |\n"
        sys.stdout.write(row)
        sys.stdout.flush()
    return 0


def write_table(path: Path, comparisons: Sequence[Comparison]) -> None:
    """Write every comparison as CSV."""
    try:
        with path.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["domain", "map", "algorithm", "step", "ours", "published", "p"])
            for one in comparisons:
                figures = (f"{value:.6g}" for value in (one.ours, one.published, one.p))
                writer.writerow([one.cell.domain, one.cell.grid, one.algorithm, one.step, *figures])
    except OSError as problem:
        raise ConfigError(f"{path}: cannot be written: {problem.strerror or problem}") from None
