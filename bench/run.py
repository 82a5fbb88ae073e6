"""``run``: run an experiment, or go on with it."""

from __future__ import annotations

import argparse
import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING

from fastrm.errors import ConfigError, StoreError

from .console import (
    FAILED,
    INTERRUPTED,
    add_json,
    add_learner_file,
    add_quiet,
    add_workers,
    all_failed,
    print_failures,
    print_message,
    print_summary,
    warnings_with_place,
    writing,
)
from .progress import report_lines

if TYPE_CHECKING:
    from fastrm.experiments import Experiment

_log = logging.getLogger("fastrm.bench")
RESULTS = Path("results")
"""The folder for result files that are not named, below the current one."""
CHANGES = {"steps": "steps of a run", "seeds": "runs per map, task and method", "maps": "maps per setup"}
"""Settings of a suite that the command line may replace."""

Shard = tuple[int, int]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    suite = parser.add_argument("suite", metavar="SUITE", nargs="?", help="a suite of --list, or a .toml file")
    suite.completer = complete_suite  # type: ignore[attr-defined]
    parser.add_argument("--list", action="store_true", help="list the suites that come with fastrm, and run nothing")
    add_running(parser, "results/SUITE.h5")
    add_learner_file(parser)
    parser.add_argument("--report", action="store_true", help="then draw the figures, and judge claims or findings")
    parser.add_argument("--shard", metavar="i/N", help="run only part i of N; join the parts with 'merge'")
    parser.add_argument("--episodes", type=Path, metavar="DIR", help="also write a log of the episodes of every run")
    parser.add_argument(
        "--reference", metavar="DIR", help="published data, for the suites icarte... (default: FASTRM_REFERENCE)"
    )


def complete_suite(prefix: str, **_: object) -> list[str]:
    """Return what SUITE may be, for shells that complete words."""
    from fastrm.experiments import list_suites

    return [*(suite.name for suite in list_suites()), *map(str, Path(prefix).parent.glob("*.toml"))]


def add_running(parser: argparse.ArgumentParser, default: str) -> None:
    """Add the arguments of every command that runs an experiment."""
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"result file (default {default})")
    parser.add_argument("--fresh", action="store_true", help="start over; a file that is there is kept as .bak")
    parser.add_argument("--dry-run", action="store_true", help="say how many runs, how long and how large; run nothing")
    for name, meaning in CHANGES.items():
        parser.add_argument(f"--{name}", type=int, metavar="N", help=f"{meaning}, instead of the suite's")
    add_workers(parser)
    parser.add_argument(
        "--isolation", choices=("thread", "process"), default="thread", help="what workers are (default thread)"
    )
    parser.add_argument("--scheduler", metavar="ADDRESS", help="run on the Dask cluster at ADDRESS")
    add_json(parser, "with --list or --dry-run: print JSON, for programs")
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment, or each of a series, and print a summary."""
    from fastrm.experiments import Plan, find_suite, read_suite

    from .progress import forecast, print_forecasts, print_suites

    if arguments.json and not (arguments.list or arguments.dry_run):
        raise ConfigError("--json goes with --list or --dry-run; 'info FILE --json' tells of a result file")
    if arguments.list:
        print_suites(json=arguments.json)
        return 0
    if arguments.suite is None:
        raise ConfigError("name a suite, such as quick, or a .toml file; --list shows the suites")
    changes = {name: getattr(arguments, name) for name in CHANGES}
    experiments = read_suite(arguments.suite, arguments.reference, **changes)
    if len(experiments) > 1 and arguments.out:
        names = ", ".join(experiment.name for experiment in experiments)
        raise ConfigError(f"{arguments.suite} is a series; --out goes with one of {names}")
    shard = parse_shard(arguments.shard)
    if arguments.dry_run:
        outs = [arguments.out or default_path(experiment.name, shard) for experiment in experiments]
        plans = map(Plan.of, experiments)
        found = [forecast(plan, out, arguments.workers, shard) for plan, out in zip(plans, outs, strict=True)]
        print_forecasts(found, json=arguments.json)
        return 0
    worst = 0
    for experiment in experiments:
        with warnings_with_place(find_suite(arguments.suite)):
            code = run_one(experiment, shard, arguments)
        if code == INTERRUPTED:
            return code
        worst = max(worst, code)
    return worst


def run_one(experiment: Experiment, shard: Shard | None, arguments: argparse.Namespace) -> int:
    """Run one experiment and print a summary."""
    from fastrm.experiments import Interrupted, Plan, run as run_plan, write_episodes

    from .plot import folder_of
    from .reporting import report_on

    plan = Plan.of(experiment)
    out = arguments.out or default_path(experiment.name, shard)
    if arguments.out is None:
        with writing(out.parent, cure="; name a result file with --out", trouble="cannot make this folder"):
            out.parent.mkdir(parents=True, exist_ok=True)
    _log.info("experiment %s: %d runs of %d steps, saved in %s", experiment.name, plan.count, plan.steps, out)
    try:
        results = run_plan(
            plan, out, workers=arguments.workers, isolation=arguments.isolation, scheduler=arguments.scheduler,
            shard=shard, fresh=arguments.fresh, report=report_lines(arguments.quiet), progress=not arguments.quiet,
        )  # fmt: skip
    except Interrupted as stop:
        print_message(str(stop))
        return INTERRUPTED
    except StoreError as problem:
        hint = " (--out names another file, --fresh starts over)" if "start over" in str(problem) else ""
        raise type(problem)(f"{problem}{hint}") from None
    _log.info("%r is saved", results)
    if arguments.episodes is not None:
        _log.info("writing logs of episodes")
        written = write_episodes(plan, results["run"].tolist(), arguments.episodes, workers=arguments.workers)
        if not arguments.quiet:
            print_message(f"{written} logs of episodes written, in {arguments.episodes}")
    if arguments.report and not all_failed(results):
        report_on(results, folder_of(out), quiet=arguments.quiet)
    if not arguments.quiet and not arguments.report:
        print_summary(results)
        return FAILED if (results["error"] != "").any() else 0
    return FAILED if print_failures(results) else 0


def default_path(name: str, shard: Shard | None) -> Path:
    """Return where the results of a suite go."""
    suffix = "" if shard is None else f".shard-{shard[0]}-of-{shard[1]}"
    return RESULTS / f"{name}{suffix}.h5"


def parse_shard(text: str | None) -> Shard | None:
    """Read ``i/N``."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise ConfigError(f"--shard {text}: expected i/N with i from 1 to N, such as 1/4")
    return int(match[1]), int(match[2])
