"""Problems as people name them: a world, a machine, and the settings of `fastrm.compile`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastrm.checks import check_known, refuse_given
from fastrm.errors import ConfigError, shown
from fastrm.experiments import suite_file
from fastrm.machines import RewardMachine, find_machine
from fastrm.problems import Problem, compile
from fastrm.worlds import WaterWorld, check_water, find_grid, split_world

GRID_SETTINGS, MACHINE_SETTINGS = ("size", "map_seed"), ("kind", "terminal_reward", "closer")
COMPILE_SETTINGS = ("profile", "metric", "slip", "gamma", "start")
WATER_SETTINGS = ("world", "world_seed", "velocity")
SETTINGS = ("grid", *GRID_SETTINGS, *WATER_SETTINGS, "machine", *MACHINE_SETTINGS, *COMPILE_SETTINGS)
NAMED = "given by name or file, not with an object; leave it out"

OFFICE: dict[str, Any] = {"grid": suite_file("office.map"), "machine": suite_file("office.rm")}
WATER: dict[str, Any] = {"world": None, "machine": "a-b"}


def build_problem(problem: Problem | None, settings: dict[str, Any]) -> Problem:
    """Return a compiled problem, or compile a world and a machine as people name them.

    Settings are ``grid`` (a map or world, its file, a world in a file such as ``worlds.json:M3``, a setup such as
    ``2a2b2c``, placed by ``size`` and ``map_seed``, or ``water``, with ``map_seed``), ``machine`` (a machine, a list of
    them, a machine file, or a task such as ``a-b-c`` in a ``kind``, with ``terminal_reward`` and ``closer``),
    ``profile``, ``metric``, ``slip``, ``start`` and ``gamma`` (of potentials). In place of ``grid``, ``world`` is a
    `WaterWorld` or its file; it is generated from ``world_seed`` if left out. ``velocity`` is that of its agent at the
    start.
    """
    for name in settings:
        check_known(name, SETTINGS)
    if problem is not None:
        if settings:
            raise ConfigError(f"{', '.join(settings)}: a compiled problem has its own; leave it out")
        return problem
    if "grid" not in settings and settings.keys() & {*WATER_SETTINGS}:
        grid: Any = _find_water(settings)
    else:
        grid = settings.get("grid", "2a2b2c")
        _refuse(settings, WATER_SETTINGS, "goes without a grid; leave one of them out")
    if isinstance(grid, str | Path):
        grid = find_grid(grid, size=settings.get("size"), seed=settings.get("map_seed"))
    else:
        _refuse(settings, GRID_SETTINGS, f"goes with a grid {NAMED}")
    given = {name: settings[name] for name in COMPILE_SETTINGS if name in settings}
    built: Problem = compile(grid, _find_machines(settings), **given)
    return built


def _find_water(settings: dict[str, Any]) -> WaterWorld:
    """Load or generate a water world."""
    world, velocity = settings.get("world"), settings.get("velocity", (0.0, 0.0))
    if world is None:
        return WaterWorld.generate(settings.get("world_seed", 0), velocity)
    if settings.get("world_seed") is not None:
        raise ConfigError("world_seed goes with a generated world, not with one that is given; leave it out")
    if isinstance(world, str | Path):
        path, name = split_world(world)
        return WaterWorld.load(path, name or None, velocity)
    if "velocity" in settings:
        raise ConfigError("velocity goes with a world given by file or seed, not with an object; leave it out")
    return check_water(world)


def _find_machines(settings: dict[str, Any]) -> list[RewardMachine]:
    """Return the machine or machines that settings name."""
    machine = settings.get("machine", "a-b-c")
    named: dict[str, Any] = {name: settings.get(name) for name in MACHINE_SETTINGS}
    machines = list(machine) if isinstance(machine, list | tuple) else [machine]
    if not all(isinstance(one, RewardMachine | str | Path) for one in machines):
        raise ConfigError(f"machine={shown(machine)}: must be a machine, its file, a task such as a-b-c, or a list")
    if not any(isinstance(one, str | Path) for one in machines):
        _refuse(settings, MACHINE_SETTINGS, f"goes with a machine {NAMED}")
    return [one if isinstance(one, RewardMachine) else find_machine(one, **named) for one in machines]


def _refuse(settings: dict[str, Any], names: Sequence[str], because: str) -> None:
    refuse_given({name: settings.get(name) for name in names}, because)


def add_usual(settings: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    """Return settings with the usual world and task of an environment where neither they nor a problem are given."""
    return settings if settings.get("problem") is not None else {**usual, **settings}
