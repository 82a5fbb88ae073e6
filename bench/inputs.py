"""Maps, machines and learners as people name them on the command line: a file, or a setup and a task."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, cast

from fastrm.errors import ConfigError, printable
from fastrm.learners import registry
from fastrm.machines import SHORT_KINDS, RewardMachine, find_machine
from fastrm.worlds import GridMap, World, find_grid, names_cells_by_number

from .console import add_learner_file

if TYPE_CHECKING:
    from rich.console import Console

    from fastrm.learners import Run
    from fastrm.problems import Problem

LEARNING = ("alpha", "epsilon", "q_init")
"""Settings of learners that have an argument."""


def add_problem(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Add the arguments for a map, a machine, episodes, the discount and a learner, whose `purpose` its help names."""
    parser.add_argument(
        "map", metavar="MAP",
        help="a map or world file, a setup such as 1a1b1c, '1a1b walls 0.2', 'point 1a1b', water, or worlds.json:M1",
    )  # fmt: skip
    parser.add_argument("machine", metavar="MACHINE", help="a machine file, or a task such as a-b-c or '{a,b}'")
    add_settings(parser)
    add_episodes(parser)
    add_learning(parser, purpose)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that go with setups and tasks."""
    parser.add_argument("--size", type=int, metavar="N", help="side of a generated map (default 41)")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of a generated map (default 0)")
    kinds = ", ".join(f"{kind} ({short})" for short, kind in SHORT_KINDS.items())
    parser.add_argument(
        "--kind", metavar="KIND", choices=[*SHORT_KINDS.values(), *SHORT_KINDS],
        help=f"what a task pays on the way: {kinds}; default boolean",
    )  # fmt: skip
    parser.add_argument("--terminal-reward", type=float, metavar="R", help="what completing a task pays")
    parser.add_argument(
        "--closer", choices=("nearest", "any"), help="kind numeric-boolean: pay for nearing the nearest target, or any"
    )
    parser.add_argument(
        "--offset", type=_rate, metavar="K",
        help="kinds offset and local-potential: how far each later target counts as being: size, legs or a number",
    )  # fmt: skip
    parser.add_argument("--profile", default="clean", help="clean (default), icarte2022, or such as 'clean + prune'")
    parser.add_argument(
        "--metric", choices=("manhattan", "geodesic"), default="manhattan",
        help="distances: rows plus columns (manhattan, the default), or steps around walls (geodesic)",
    )  # fmt: skip


def _start(text: str) -> str | int | tuple[int, int]:
    """Read row and column, or the number of a cell; leave other texts as they are."""
    row, _, column = text.partition(",")
    if text.strip().isdecimal():
        return int(text)
    return (int(row), int(column)) if row.strip().isdecimal() and column.strip().isdecimal() else text


def check_start(world: World, start: object) -> None:
    """Raise ConfigError unless `start` is written like a cell of the world."""
    by_number = names_cells_by_number(world)
    fits = start is None or start == "anywhere" or isinstance(start, int if by_number else tuple)
    if not fits:
        text = start if isinstance(start, str | int) else ",".join(map(str, cast("tuple[int, int]", start)))
        cells = "the number of a cell, such as 3" if by_number else "row and column of a cell, such as 1,2"
        raise ConfigError(f"--start {printable(str(text))}: must be 'anywhere', or {cells}")


def add_episodes(parser: argparse.ArgumentParser) -> None:
    """Add where episodes begin, the probability of slipping, and the discount."""
    parser.add_argument(
        "--start", type=_start, metavar="WHERE",
        help="where episodes begin: anywhere, or a cell such as 3,4; in a world without a layout its number",
    )  # fmt: skip
    parser.add_argument(
        "--slip", type=float, default=0.0, metavar="P", help="how often a move goes sideways (default 0)"
    )
    parser.add_argument("--gamma", type=float, default=0.9, help="discount factor (default 0.9)")


def add_learning(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Add the arguments that choose and set a learner."""
    names = ", ".join(registry.names())
    parser.add_argument("--learn", metavar="LEARNER", help=f"{purpose} (LEARNER: {names}, or that of --learner)")
    add_learner_file(parser)
    parser.add_argument(
        "--steps", type=int, default=2_000_000, metavar="N", help="steps of --learn (default 2 million)"
    )
    parser.add_argument("--learner-seed", type=int, default=0, metavar="N", help="seed of --learn (default 0)")
    parser.add_argument("--shaping", action="store_true", help="let --learn shape the rewards")
    for name, meaning in zip(LEARNING, ("learning rate", "exploration", "initial values"), strict=True):
        form = "such as '0.1 R'" if name == "q_init" else "a schedule such as 'linear(1, 0.1, 50000)'"
        parser.add_argument(_flag(name), type=_rate, metavar="X", help=f"{meaning} of --learn: a number or {form}")


def _rate(text: str) -> float | str:
    """Read a number; leave other texts, such as schedules, as they are."""
    try:
        return float(text)
    except ValueError:
        return text


def compile_problem(arguments: argparse.Namespace) -> Problem:
    """Compile the map and the machine."""
    from fastrm.problems import compile

    world, machine = read_map(arguments), read_machine(arguments)
    check_start(world, arguments.start)
    return compile(
        cast("GridMap", world), machine, arguments.profile, arguments.metric, slip=arguments.slip, start=arguments.start
    )


def train_learner(problem: Problem, arguments: argparse.Namespace) -> Run:
    """Train the learner that was chosen."""
    from fastrm.learners import train

    registry.check_name("--learn", arguments.learn, problem.kind)
    given = {name: getattr(arguments, name) for name in LEARNING if getattr(arguments, name) is not None}
    return train(
        problem, arguments.learn, steps=arguments.steps, seed=arguments.learner_seed, shaping=arguments.shaping,
        gamma=arguments.gamma, **given,
    )  # fmt: skip


def run_facts(run: Run | None) -> dict[str, Any]:
    """Return the result of a run, for programs; nothing where no run was asked for."""
    if run is None:
        return {}
    last = float(run.score[-1]) if run.score.size else None
    return {"learned": {"learner": run.algo, "greedy_length": run.greedy_length, "solved": run.solved, "score": last}}


def print_run(console: Console, run: Run | None) -> None:
    """Print the result of a run, if there is one."""
    if run is not None:
        length = "does not complete the task" if run.greedy_length is None else f"greedy {run.greedy_length:g} steps"
        score = f", score {run.score[-1]:.3f}" if run.score.size else ""
        console.print(f"  {run.algo + ' learned':16} {length}{score} after {run.steps} steps")


def read_map(arguments: argparse.Namespace) -> World:
    """Load or generate the map, or a water world: ``water``, or a JSON file of worlds and the name of one."""
    return find_grid(arguments.map, size=arguments.size, seed=arguments.seed, spell=_flag)


def read_machine(arguments: argparse.Namespace) -> RewardMachine:
    """Load or build the machine."""
    return find_machine(
        arguments.machine,
        kind=arguments.kind,
        terminal_reward=arguments.terminal_reward,
        closer=arguments.closer,
        offset=arguments.offset,
        spell=_flag,
    )


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
