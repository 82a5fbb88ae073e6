"""Maps and machines as people name them on the command line: a file, or a setup and a task."""

from __future__ import annotations

import argparse

from fastrm.machines import SHORT_KINDS, RewardMachine, find_machine
from fastrm.worlds import GridMap, find_grid


def add_map_and_machine(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name a map and a machine."""
    parser.add_argument("map", metavar="MAP", help="a map file, or a setup such as 1a1b1c or '1a1b walls 0.2'")
    parser.add_argument("machine", metavar="MACHINE", help="a machine file, or a task such as a-b-c or '{a,b}'")
    add_settings(parser)


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
    parser.add_argument("--profile", default="clean", help="clean (default), icarte2022, or such as 'clean + prune'")
    parser.add_argument(
        "--metric", choices=("manhattan", "geodesic"), default="manhattan",
        help="distances: rows plus columns (manhattan, the default), or steps around walls (geodesic)",
    )  # fmt: skip


def read_map(arguments: argparse.Namespace) -> GridMap:
    """Load or generate the map."""
    return find_grid(arguments.map, size=arguments.size, seed=arguments.seed, spell=_flag)


def read_machine(arguments: argparse.Namespace) -> RewardMachine:
    """Load or build the machine."""
    return find_machine(
        arguments.machine,
        kind=arguments.kind,
        terminal_reward=arguments.terminal_reward,
        closer=arguments.closer,
        spell=_flag,
    )


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
