"""``learn`` and ``infer``: machines from acting and from traces, and the exact verdict on them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from fastrm.checks import check_whole
from fastrm.errors import ConfigError, printable
from fastrm.inference import ENGINES
from fastrm.textfile import replace_file

from .console import add_json, new_console, print_json, print_path
from .inputs import add_episodes, add_settings, compile_problem

if TYPE_CHECKING:
    from fastrm.inference import Difference, Learned
    from fastrm.machines import RewardMachine

MOST_SEEDS = 10_000


def add_learn(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``learn``."""
    parser.add_argument("map", metavar="MAP", help="a map or world file, or a setup such as 1a1b1c")
    parser.add_argument("machine", metavar="MACHINE", help="the machine to be learned: a file, or a task such as a-b-c")
    add_settings(parser)
    add_episodes(parser)
    parser.add_argument("--steps", type=int, default=1_000_000, metavar="N", help="steps of a run (default 1 million)")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="runs, with seeds 0, 1, ... (default 1)")
    parser.add_argument(
        "--walk", type=float, default=0.5, metavar="P", help="how often an episode walks to labels met (default 0.5)"
    )
    parser.add_argument("--keep-all", action="store_true", help="keep moves that read and pay nothing in traces")
    _add_machine(parser, "the machine that seed 0 learned", 256)


def add_infer(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``infer``."""
    parser.add_argument("traces", type=Path, metavar="TRACES", help="a file with a trace a line, as JSON")
    parser.add_argument("--keep-all", action="store_true", help="keep steps that read and pay nothing")
    _add_machine(parser, "the machine", 64)


def _add_machine(parser: argparse.ArgumentParser, what: str, most: int) -> None:
    """Add the engine, its limit, and where the machine goes."""
    parser.add_argument("--engine", default="merge", help=f"one of {', '.join(ENGINES)} (needs fastrm[sat])")
    parser.add_argument(
        "--max-states", type=int, default=most, metavar="N", help=f"most states of a machine (default {most})"
    )
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help=f"write {what} to a file such as learned.rm")
    add_json(parser)


def run_learn(arguments: argparse.Namespace) -> int:
    """Learn the machine with every seed, and print the verdicts."""
    from fastrm.inference import learn

    check_whole("--seeds", arguments.seeds, 1, MOST_SEEDS)
    problem = compile_problem(arguments)
    found = [
        learn(
            problem, arguments.steps, seed, arguments.walk, arguments.engine, not arguments.keep_all,
            gamma=arguments.gamma, max_states=arguments.max_states, progress=not arguments.json,
        )
        for seed in range(arguments.seeds)
    ]  # fmt: skip
    if arguments.json:
        print_json({"shortest": problem.shortest[0], "runs": [_as_dict(each) for each in found]})
    else:
        _print_runs(new_console(), found)
    _write(arguments, found[0].machine)
    return 0


def run_infer(arguments: argparse.Namespace) -> int:
    """Infer a machine from traces, and print or write it."""
    from fastrm.inference import infer, load_traces

    traces = load_traces(arguments.traces)
    machine = infer(traces, arguments.engine, arguments.max_states, compress=not arguments.keep_all)
    if arguments.json:
        print_json({"traces": len(traces), "states": len(machine.states), "machine": machine.write()})
    elif arguments.out is None:
        new_console().print(machine.write(), end="", markup=False, highlight=False, soft_wrap=True)
    _write(arguments, machine)
    return 0


def _write(arguments: argparse.Namespace, machine: RewardMachine) -> None:
    """Write a machine to the file that was named, if one was."""
    if arguments.out is not None:
        replace_file(arguments.out, machine.write().encode(), ConfigError)
        if not arguments.json:
            print_path(arguments.out)


def _as_dict(found: Learned) -> dict[str, Any]:
    """Return everything about a run, for programs."""
    return {
        "seed": found.run.seed,
        "equivalent_on_map": found.equivalent_on_map,
        "equivalent": found.equivalent,
        "witness": None if found.witness is None else asdict(found.witness),
        "regret": found.regret,
        "greedy_length": found.run.greedy_length,
        "states": len(found.machine.states),
        "log": [row._asdict() for row in found.log],
        "machine": found.machine.write(),
    }


def _print_runs(console: Console, found: Sequence[Learned]) -> None:
    """Print a row per run, and of the first one the machine and the witness against it."""
    table = Table("seed", "verdict", "states", "guesses", "right after", "regret", "greedy", "shortest", box=None)
    for column in table.columns[2:]:
        column.justify = "right"
    for each in found:
        right = next((f"{row.steps:,}".replace(",", " ") for row in each.log if row.equivalent), "-")
        greedy = "-" if each.run.greedy_length is None else f"{each.run.greedy_length:g}"
        table.add_row(
            str(each.run.seed), _verdict(each), str(len(each.machine.states)), str(len(each.log)), right,
            f"{each.regret:.4g}", greedy, f"{each.run.shortest[0]:g}",
        )  # fmt: skip
    console.print(table)
    if len(found) > 1:
        count = sum(each.equivalent_on_map for each in found)
        console.print(f"{count} of {len(found)} seeds ended with a machine that is right on this map", highlight=False)
    first = found[0]
    console.print(f"\n{first.machine.write()}", end="", markup=False, highlight=False, soft_wrap=True)
    if first.witness is not None:
        console.print("\nshortest walk that shows a difference:", highlight=False)
        for line in _steps(first.witness):
            console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)


def _verdict(found: Learned) -> str:
    """Return the verdict in words."""
    return (
        "equivalent" if found.equivalent else "equivalent on the map" if found.equivalent_on_map else "not equivalent"
    )


def _steps(witness: Difference) -> list[str]:
    """Return a line for the moves, and one for what both machines make of the last label."""
    labels = [label or "." for label in witness.labels]
    lines = [f"labels   {printable(' '.join(labels))}"]
    if witness.actions is not None:
        lines.insert(0, f"moves    {' '.join(witness.actions)}")
    paid = (f"{rewards[-1]:g}{f', {end}' if end else ''}" for rewards, end in (
        (witness.rewards, witness.end), (witness.other_rewards, witness.other_end)
    ))  # fmt: skip
    return [*lines, "pays     {}; the learned machine says {}".format(*paid)]
