"""Maps and machines as people name them on the command line: a file, or a setup and a task."""

from __future__ import annotations

import argparse

from fastrm.machines import KINDS, RewardMachine, find_machine
from fastrm.worlds import GridMap, find_grid


def add_map_and_machine(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name a map and a machine."""
    parser.add_argument("map", metavar="MAP", help="a map file, or a setup such as 1a1b1c or '1a1b walls 0.2'")
    parser.add_argument("machine", metavar="MACHINE", help="a machine file, or a task such as a-b-c or '{a,b}'")
    add_settings(parser)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that go with setups and tasks."""
    parser.add_argument("--size", type=int, help="side of a generated map (default 41)")
    parser.add_argument("--seed", type=int, help="seed of a generated map (default 0)")
    parser.add_argument("--kind", choices=KINDS, help="kind of a task's machine (default boolean)")
    parser.add_argument("--terminal-reward", type=float, metavar="R", help="terminal reward of a task's machine")
    parser.add_argument("--closer", choices=("nearest", "any"), help="numeric-boolean: closer to what")
    parser.add_argument("--profile", default="clean", help="clean (default), icarte2022, or such as 'clean + prune'")
    parser.add_argument("--metric", choices=("manhattan", "geodesic"), default="manhattan", help="what d(x) measures")


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
