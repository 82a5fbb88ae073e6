"""World x machines -> Problem: the door, with a row for every kind of world.

Compiling evaluates every guard and every reward once per event (see `events` and `tabular`), so Boolean,
numeric-Boolean and numeric machines all become the same look-up tables: ``delta[event, state]`` and
``reward[event, state]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from fastrm.config import Profile
from fastrm.dispatch import add_row, by_kind
from fastrm.errors import MapError, shown
from fastrm.machines import RewardMachine
from fastrm.problems.agenda import compile_agenda
from fastrm.problems.cells import CellProblem
from fastrm.problems.compatibility import check_machines
from fastrm.problems.tabular import TabularProblem, compile_tables
from fastrm.problems.terrain import Metric, Start
from fastrm.problems.water import WaterProblem, compile_water
from fastrm.worlds import GridMap, TableWorld, WaterWorld


@overload
def compile(
    grid: WaterWorld,
    machine: RewardMachine | Sequence[RewardMachine],
    profile: str | Profile = ...,
    *,
    start: Start = ...,
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
) -> TabularProblem: ...


@by_kind
def compile(
    grid: GridMap | TableWorld | WaterWorld,
    machine: RewardMachine | Sequence[RewardMachine],
    profile: str | Profile = "clean",
    metric: Metric = "manhattan",
    slip: float = 0.0,
    gamma: float = 0.9,
    start: Start = None,
) -> TabularProblem | WaterProblem:
    r"""Turn a map and one machine, or several for multi-task learning, into a `Problem`.

    Parameters
    ----------
    grid : GridMap, TableWorld or WaterWorld
        The map, a world of another shape, or a water world, which has no metric, slip or gamma.
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
    TabularProblem or WaterProblem
        What learners, solvers and environments take; an `AgendaProblem` where a task has more than 1 024 machine
        states.

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
    raise MapError(f"grid={shown(grid)}: must be a GridMap; make one with GridMap.parse, .load or .generate")


@add_row(compile, GridMap, TableWorld)
def compile_cells(
    grid: GridMap | TableWorld, machine: RewardMachine | Sequence[RewardMachine], *settings: Any, **named: Any
) -> CellProblem:
    """Compile a map or a table; an agenda whose machine states are too many to list has a kind of its own."""
    machines = check_machines(machine)
    build = compile_agenda if any(item.large for item in machines) else compile_tables
    return build(grid, machines, *settings, **named)


add_row(compile, WaterWorld)(compile_water)
