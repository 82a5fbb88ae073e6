"""Maps and machines as people name them on the command line: a file, or a setup and a task."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from fastrm.config import PROFILES
from fastrm.errors import ConfigError
from fastrm.machine import KINDS, RewardMachine
from fastrm.maps import GridMap


def add_map_and_machine(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name a map and a machine."""
    parser.add_argument("map", metavar="MAP", help="a map file, or a setup such as 1a1b1c (see --size, --seed)")
    parser.add_argument("machine", metavar="MACHINE", help="a machine file, or a task such as a-b-c (see --kind)")
    add_settings(parser)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that go with setups and tasks."""
    parser.add_argument("--size", type=int, help="side of a generated map (default 41)")
    parser.add_argument("--seed", type=int, help="seed of a generated map (default 0)")
    parser.add_argument("--kind", choices=KINDS, help="kind of a task's machine (default boolean)")
    parser.add_argument("--terminal-reward", type=float, metavar="R", help="terminal reward of a task's machine")
    parser.add_argument("--closer", choices=("nearest", "any"), help="numeric-boolean: closer to what")
    parser.add_argument("--profile", choices=tuple(PROFILES), default="clean", help="semantics (default clean)")
    parser.add_argument("--metric", choices=("manhattan", "geodesic"), default="manhattan", help="what d(x) measures")


def read_map(options: argparse.Namespace) -> GridMap:
    """Load or generate the map."""
    if re.fullmatch(r"([0-9]+[a-zH])+", options.map) and not Path(options.map).exists():
        return GridMap.generate(options.map, size=options.size or 41, seed=options.seed or 0)
    _refuse(options, "map", ("size", "seed"), "a setup such as 1a1b1c")
    return GridMap.load(options.map)


def read_machine(options: argparse.Namespace) -> RewardMachine:
    """Load or build the machine."""
    if re.fullmatch(r"[A-Za-z](-[A-Za-z])*", options.machine) and not Path(options.machine).exists():
        return RewardMachine.sequence(
            options.machine,
            kind=options.kind or "boolean",
            terminal_reward=options.terminal_reward,
            closer=options.closer or "nearest",
        )
    _refuse(options, "machine", ("kind", "terminal_reward", "closer"), "a task such as a-b-c")
    return RewardMachine.load(options.machine)


def _refuse(options: argparse.Namespace, what: str, names: tuple[str, ...], meant: str) -> None:
    """Refuse settings that a file does not have."""
    for name in names:
        if getattr(options, name) is not None:
            flag = "--" + name.replace("_", "-")
            raise ConfigError(f"{flag} goes with {meant}, but {getattr(options, what)!r} names a {what} file")
