"""What environments share: problems from names, and the Office task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_known, check_whole
from fastrm.errors import ConfigError, shown
from fastrm.experiments import suite_file
from fastrm.machines import RewardMachine, find_machine
from fastrm.problems import Problem, WaterProblem, check_problem, compile
from fastrm.worlds import GridMap, TableWorld, WaterWorld, find_grid

OFFICE_TASK = """
name    coffee and mail to the office
states  nothing coffee mail both
start   nothing
success done
failure broken
nothing -> broken  when n          reward 0
nothing -> coffee  when f          reward 0
nothing -> mail    when e          reward 0
nothing -> nothing otherwise       reward 0
coffee  -> broken  when n          reward 0
coffee  -> both    when e          reward 0
coffee  -> coffee  otherwise       reward 0
mail    -> broken  when n          reward 0
mail    -> both    when f          reward 0
mail    -> mail    otherwise       reward 0
both    -> broken  when n          reward 0
both    -> done    when g          reward 1
both    -> both    otherwise       reward 0
"""

GRID_SETTINGS, MACHINE_SETTINGS = ("size", "map_seed"), ("kind", "terminal_reward", "closer")
COMPILE_SETTINGS = ("profile", "metric", "slip", "gamma", "start")
SETTINGS = ("grid", "machine", *GRID_SETTINGS, *MACHINE_SETTINGS, *COMPILE_SETTINGS)
WATER_SETTINGS = ("world", "world_seed", "velocity", "machine", *MACHINE_SETTINGS, "profile")


def build_problem(problem: Problem | None, settings: dict[str, Any]) -> Problem:
    """Return a compiled problem, or compile a map and a machine as people name them.

    Settings are ``grid`` (a map or world, its file, or a setup such as ``2a2b2c``, placed by ``size`` and
    ``map_seed``), ``machine`` (a machine, a list of them, a machine file, or a task such as ``a-b-c`` in a ``kind``,
    with ``terminal_reward`` and ``closer``), ``profile``, ``metric``, ``slip``, ``start`` and ``gamma`` (of
    potentials).
    """
    for name in settings:
        check_known(name, SETTINGS)
    if problem is not None:
        check_problem(problem)
        if settings:
            raise ConfigError(f"{', '.join(settings)}: a compiled problem has its own; leave it out")
        return problem
    grid = settings.get("grid", "2a2b2c")
    if isinstance(grid, GridMap | TableWorld):
        _refuse(settings, GRID_SETTINGS, "grid")
    else:
        grid = find_grid(grid, size=settings.get("size"), seed=settings.get("map_seed"))
    machines = _find_machines(settings, "a-b-c")
    built: Problem = compile(grid, machines, **{name: settings[name] for name in COMPILE_SETTINGS if name in settings})
    return built


def build_water_problem(problem: WaterProblem | None, settings: dict[str, Any]) -> WaterProblem:
    """Return a compiled problem, or compile a water world and a machine as people name them.

    Settings are ``world`` (a `WaterWorld`, a file of one, or such as ``worlds.json:M3``; generated from ``world_seed``
    if left out), ``velocity`` of the agent at the start, ``machine`` as in `build_problem`, and ``profile``.
    """
    for name in settings:
        check_known(name, WATER_SETTINGS)
    if problem is not None:
        if not isinstance(problem, WaterProblem):
            raise ConfigError(f"problem={shown(problem)}: must be a WaterProblem; make one of a WaterWorld")
        if settings:
            raise ConfigError(f"{', '.join(settings)}: a compiled problem has its own; leave it out")
        return problem
    machines = _find_machines(settings, "a-b")
    built: WaterProblem = compile(_find_water(settings), machines, profile=settings.get("profile", "clean"))
    return built


def _find_water(settings: dict[str, Any]) -> WaterWorld:
    """Load or generate a water world."""
    world, velocity = settings.get("world"), settings.get("velocity", (0.0, 0.0))
    if world is None:
        return WaterWorld.generate(settings.get("world_seed", 0), velocity)
    if settings.get("world_seed") is not None:
        raise ConfigError("world_seed goes with a generated world, not with one that is given; leave it out")
    if isinstance(world, WaterWorld):
        if "velocity" in settings:
            raise ConfigError("velocity goes with a world given by file or seed, not with an object; leave it out")
        return world
    if not isinstance(world, str | Path):
        raise ConfigError(f"world={shown(world)}: must be a WaterWorld, or a file such as worlds.json:M3")
    path, _, name = str(world).rpartition(":") if ".json:" in str(world) else (str(world), "", "")
    return WaterWorld.load(path, name or None, velocity)


def _find_machines(settings: dict[str, Any], usual: str) -> list[RewardMachine]:
    """Return the machine or machines that settings name; a usual task where they name none."""
    machine = settings.get("machine", usual)
    named: dict[str, Any] = {name: settings.get(name) for name in MACHINE_SETTINGS}
    machines = list(machine) if isinstance(machine, list | tuple) else [machine]
    if not all(isinstance(one, RewardMachine | str | Path) for one in machines):
        raise ConfigError(f"machine={shown(machine)}: must be a machine, its file, a task such as a-b-c, or a list")
    if not any(isinstance(one, str | Path) for one in machines):
        _refuse(settings, MACHINE_SETTINGS, "machine")
    return [one if isinstance(one, RewardMachine) else find_machine(one, **named) for one in machines]


def check_reset(seed: object, options: object, known: Sequence[str]) -> Mapping[str, Any]:
    """Refuse what no episode can begin with; return the options."""
    if seed is not None:
        check_whole("seed", seed, 0, 2**128 - 1)
    if options is not None and not isinstance(options, Mapping):
        raise ConfigError(f"options={shown(options)}: must be a table")
    for name in options or {}:
        check_known(name, known)
    return options or {}


def draw_starts(problem: Problem, wanted: object, n: int, random: np.random.Generator) -> Array:
    """Return the numbers of the cells in which n episodes begin: the wanted one, or any start of the problem."""
    starts = problem.tables.starts.astype(np.int64)
    if wanted is not None:
        return np.full(n, problem.number_of(wanted))
    drawn: Array = starts[random.integers(starts.size, size=n)] if starts.size > 1 else np.repeat(starts, n)
    return drawn


def _refuse(settings: dict[str, Any], names: Sequence[str], what: str) -> None:
    for name in names:
        if settings.get(name) is not None:
            raise ConfigError(f"{name} goes with a {what} given by name or file, not with an object; leave it out")


def office(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings with the Office map and task where others are not given."""
    if settings.get("problem") is not None:
        return settings
    return {"grid": suite_file("office.map"), "machine": RewardMachine.parse(OFFICE_TASK, "<office>"), **settings}
