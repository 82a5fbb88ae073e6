"""Maps and machines as people name them on the command line: a file, or a setup and a task."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from fastrm.config import PROFILES
from fastrm.machine import KINDS, RewardMachine
from fastrm.maps import GridMap


def add_map_and_machine(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name a map and a machine."""
    parser.add_argument("map", metavar="MAP", help="a map file, or a setup such as 1a1b1c (see --size, --seed)")
    parser.add_argument("machine", metavar="MACHINE", help="a machine file, or a task such as a-b-c (see --kind)")
    parser.add_argument("--size", type=int, default=41, help="side of a generated map (default 41)")
    parser.add_argument("--seed", type=int, default=0, help="seed of a generated map (default 0)")
    parser.add_argument("--kind", choices=KINDS, default="boolean", help="kind of a task's machine (default boolean)")
    parser.add_argument("--terminal-reward", type=float, metavar="R", help="terminal reward of a task's machine")
    parser.add_argument(
        "--closer", choices=("nearest", "any"), default="nearest", help="numeric-boolean: closer to what"
    )
    parser.add_argument("--profile", choices=tuple(PROFILES), default="clean", help="semantics (default clean)")
    parser.add_argument("--metric", choices=("manhattan", "geodesic"), default="manhattan", help="what d(x) measures")


def read_map(options: argparse.Namespace) -> GridMap:
    """Load or generate the map."""
    if re.fullmatch(r"([0-9]+[a-zH])+", options.map) and not Path(options.map).exists():
        return GridMap.generate(options.map, size=options.size, seed=options.seed)
    return GridMap.load(options.map)


def read_machine(options: argparse.Namespace) -> RewardMachine:
    """Load or build the machine."""
    if re.fullmatch(r"[A-Za-z](-[A-Za-z])*", options.machine) and not Path(options.machine).exists():
        return RewardMachine.sequence(
            options.machine, kind=options.kind, terminal_reward=options.terminal_reward, closer=options.closer
        )
    return RewardMachine.load(options.machine)
