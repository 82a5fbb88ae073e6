"""Map x machines -> arrays. The only door into the kernels.

Every guard and every reward is evaluated once per event (see `events`), so Boolean, numeric-Boolean and
numeric machines all become the same look-up tables: ``delta[event, state]`` and ``reward[event, state]``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import overload

import numpy as np

from fastrm.arrays import Array, aligned_full
from fastrm.checks import check_number
from fastrm.config import Profile
from fastrm.errors import MachineError, MapError, shown
from fastrm.kernels.contracts import BLOCK, FAR, N_ACTIONS, Tables
from fastrm.machines import RewardMachine
from fastrm.machines.language import TO_GO, Number
from fastrm.problems.compatibility import check_features, check_machines, check_names, leaves_read, why_impossible
from fastrm.problems.events import Evaluator, Events, Part, find_events
from fastrm.problems.tabular import Problem, potentials, steps_to_go
from fastrm.problems.terrain import GridTerrain, Metric, Start, TableTerrain, Terrain
from fastrm.problems.water import WaterProblem, compile_water
from fastrm.worlds import GridMap, TableWorld, WaterWorld


@overload
def compile(
    grid: WaterWorld, machine: RewardMachine | Sequence[RewardMachine], profile: str | Profile = ...
) -> WaterProblem: ...


@overload
def compile(
    grid: GridMap | TableWorld,
    machine: RewardMachine | Sequence[RewardMachine],
    profile: str | Profile = ...,
    metric: Metric = ...,
    slip: float = ...,
    gamma: float = ...,
    start: Start = ...,
) -> Problem: ...


def compile(
    grid: GridMap | TableWorld | WaterWorld,
    machine: RewardMachine | Sequence[RewardMachine],
    profile: str | Profile = "clean",
    metric: Metric = "manhattan",
    slip: float = 0.0,
    gamma: float = 0.9,
    start: Start = None,
) -> Problem | WaterProblem:
    r"""Turn a map and one machine, or several for multi-task learning, into a `Problem`.

    Parameters
    ----------
    grid : GridMap, TableWorld or WaterWorld
        The map, a world of another shape, or a water world, which takes none but the first three.
    machine : RewardMachine or sequence of them
        The task, or the tasks that episodes take turns to play.
    profile : {"clean", "icarte2022"} or Profile
        How ambiguities of the literature are resolved.
    metric : {"manhattan", "geodesic"}
        What ``d(x)`` and ``closer(x)`` measure on a map; in other worlds they count steps.
    slip : float
        Probability that a move goes sideways instead, to either side equally often.
    gamma : float
        Discount of potentials, for environments; learners and solvers put in their own.
    start : "anywhere", cell or list of cells, optional
        Where episodes begin, instead of the cells that the map marks; see `Problem.starts`. ``"anywhere"`` means all
        cells within reach that hold no object, and in a `TableWorld` every cell; without a layout cells are numbers.

    Returns
    -------
    Problem or WaterProblem
        What learners, solvers and environments take.

    Raises
    ------
    MachineError
        When some move opens no edge or more than one, when a reward is not finite, or when the task cannot be
        completed on this map.
    MapError
        When `grid` is not a map.

    Examples
    --------
    >>> grid = GridMap.parse("XXXXX\nXA aX\nXXXXX")
    >>> compile(grid, RewardMachine.sequence("a", kind="numeric"))
    <Problem a numeric on <text>: 3 cells, 1 machine states, 3 events>
    """
    if isinstance(grid, WaterWorld):
        return compile_water(grid, machine, profile, metric=metric, slip=slip, gamma=gamma, start=start)
    if not isinstance(grid, GridMap | TableWorld):
        raise MapError(f"grid={shown(grid)}: must be a GridMap; make one with GridMap.parse, .load or .generate")
    machines = check_machines(machine)
    profile = profile if isinstance(profile, Profile) else Profile.named(profile)
    check_number("slip", slip, 0, 1)
    check_number("gamma", gamma, 0, 1)
    if any(item.large for item in machines):
        return _compile_large(grid, machines, profile, metric, slip, start)
    terrain = survey(grid, metric, start)
    check_features(machines, terrain)
    wanted, guided = leaves_read(machines), any(m.potential for m in machines)
    to_go = _steps_to_go(terrain, machines, profile) if guided or TO_GO in wanted else None
    events = find_events(terrain, wanted, "move" if guided else "after" if to_go else "")
    parts = [Evaluator(m, events, terrain, profile, to_go[i] if to_go else None).run() for i, m in enumerate(machines)]
    problem = _assemble(terrain, machines, profile, events, parts).changed(slip=float(slip))
    if guided and to_go:
        phi = potentials(machines, to_go, problem.plain.shape[1])
        problem = problem.changed(potential=phi, gamma=math.nan).at(float(gamma))
    check_names(machines, terrain)
    return problem


def survey(world: GridMap | TableWorld, metric: Metric = "manhattan", start: Start = None) -> Terrain:
    """Number the cells of a world and tabulate its moves."""
    if isinstance(world, TableWorld):
        return TableTerrain.survey(world, start)
    return GridTerrain.survey(world, metric, start)


def _compile_large(
    grid: GridMap | TableWorld,
    machines: tuple[RewardMachine, ...],
    profile: Profile,
    metric: Metric,
    slip: float,
    start: Start,
) -> Problem:
    """Compile an agenda without machine states, after a look at each of its stages as a task of its own."""
    machine = machines[0]
    if len(machines) > 1 or machine.large is None:
        raise MachineError(
            f"{machine.source}: an agenda of more than 1024 machine states is learned by itself; give one"
        )
    if not isinstance(grid, GridMap):
        raise MachineError(
            f"{machine.source}: an agenda of more than 1024 machine states is learned on maps, and {grid.source} is a "
            "world of another shape; take fewer stages"
        )
    text = "start u0\nsuccess done\nu0 -> done when {} reward 1\nu0 -> u0 otherwise\n"
    parts = [
        RewardMachine.parse(text.format(target), f"{machine.source}, {target}") for target in machine.large.targets
    ]
    stages = compile(grid, parts, profile, metric, slip, start=start)
    if len(stages.starts) > 1:
        raise MachineError(f"{machine.source}: an agenda of more than 1024 machine states begins in one cell; give one")
    bare = _assemble(stages.terrain, (), profile, find_events(stages.terrain, ()), [])
    tables = bare.tables._replace(first_u=stages.tables.first_u[:1], own_score=stages.tables.own_score[:1])
    return replace(bare, machines=(machine,), tables=tables, slip=float(slip))


def _steps_to_go(terrain: Terrain, machines: tuple[RewardMachine, ...], profile: Profile) -> list[Array]:
    """Find the steps to go, which do not depend on rewards, from machines that pay nothing."""
    free = tuple(replace(m, edges=tuple(replace(e, reward=Number(0.0)) for e in m.edges)) for m in machines)
    events = find_events(terrain, leaves_read(free))
    parts = [Evaluator(m, events, terrain, profile).run() for m in free]
    return steps_to_go(_assemble(terrain, free, profile, events, parts).steps_to_go, free)


def _assemble(
    terrain: Terrain, machines: tuple[RewardMachine, ...], profile: Profile, events: Events, parts: list[Part]
) -> Problem:
    """Lay the machines side by side, quiet events first, and find a shortest path for each."""
    counts = [len(machine.states) for machine in machines]
    n_u, n_e = sum(counts), events.count
    offsets = np.cumsum([0, *counts])
    n_cols = (n_u + BLOCK) // BLOCK * BLOCK
    delta = np.full((n_e, n_cols), n_u, dtype=np.uint32)
    outcome = np.zeros((n_e, n_cols), dtype=np.uint8)
    reward = np.zeros((n_e, n_cols))
    ending = np.zeros((n_e, n_u), dtype=np.int16)
    for offset, count, part in zip(offsets, counts, parts, strict=False):
        columns = slice(offset, offset + count)
        delta[:, columns] = np.where(part.delta == count, n_u, part.delta + offset)
        outcome[:, columns], reward[:, columns], ending[:, columns] = part.outcome, part.reward, part.ending
    quiet = (delta[:, :n_u] == np.arange(n_u)).all(axis=1)
    order = np.argsort(~quiet, kind="stable")
    rank = np.empty(n_e, dtype=np.uint32)
    rank[order] = np.arange(n_e, dtype=np.uint32)
    image = np.zeros(delta.shape, dtype=np.uint8)
    np.put_along_axis(image, delta[:, :n_u].astype(np.int64), 1, axis=1)
    partial: Array = np.logical_not(image[:, :n_u].all(axis=1)).astype(np.uint8)
    first_u = [offset + m.states.index(m.start) for offset, m in zip(offsets, machines, strict=False)]
    event = rank[events.of_move]
    moves = _pack_moves(terrain.next_s, event)
    tables = Tables(
        next_s=np.ascontiguousarray(terrain.next_s),
        event=event,
        moves=moves,
        delta=delta[order],
        outcome=outcome[order],
        reward=np.take(reward, order, axis=0, out=aligned_full(reward.shape)),
        partial=partial[order],
        image=image[order],
        first_u=np.array(first_u, dtype=np.uint32),
        own_score=np.array([machine.score == "own" for machine in machines], dtype=np.uint8),
        starts=np.ascontiguousarray(terrain.starts),
        n_u=n_u,
        n_quiet=int(quiet.sum()),
    )
    for array in (*tables, ending):
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    problem = Problem(terrain, machines, profile, tables, ending[order], tables.reward, events.example[order])
    for machine, u in zip(machines, first_u, strict=True):
        far = np.flatnonzero(problem.steps_to_go[terrain.starts, u] >= FAR)
        if far.size == terrain.starts.size:
            raise MachineError(why_impossible(machine, terrain))
        if far.size:
            cell = terrain.cells_of(terrain.starts[far[:1]])[0]
            raise MachineError(
                f"{machine.source}: the task cannot be completed from {cell}, one of the {terrain.starts.size} starts "
                f"on {terrain.source}; name starts from which it can"
            )
    return problem


def _pack_moves(next_s: Array, event: Array) -> Array:
    """Return where moves lead and their events in one word each, with room for a multiple of four actions in a cell."""
    n_s, n_a = next_s.shape
    room = (n_a + N_ACTIONS - 1) // N_ACTIONS * N_ACTIONS
    moves = np.zeros((n_s, room), dtype=np.uint64)
    moves[:, :n_a] = event.astype(np.uint64) << np.uint64(32) | next_s * np.uint64(room)
    return moves.reshape(-1)
