"""Tasks in any order with more machine states than can be listed: only `coupled` learns them, column by column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastrm.dispatch import add_row
from fastrm.errors import ConfigError, MachineError
from fastrm.machines import RewardMachine
from fastrm.machines.language import MAX_STATES, Agenda
from fastrm.problems.cells import CellProblem
from fastrm.problems.events import find_events
from fastrm.problems.problem import Episode, check_machines, compile, unsupported
from fastrm.problems.tabular import assemble, compile_tables
from fastrm.worlds import GridMap, TableWorld


@dataclass(frozen=True, eq=False)
class AgendaProblem(CellProblem):
    """A map crossed with an agenda of which no machine states are listed; `fastrm.compile` makes one."""

    agenda: Agenda
    """What is to be done."""
    kind = "agenda"
    states = ()

    @property
    def columns(self) -> int:
        """How many stages there are."""
        return len(self.agenda.targets)

    @property
    def stages(self) -> tuple[str, ...]:
        """The targets of its stages."""
        return self.agenda.targets

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays, about."""
        arrays = (*self.tables, self.terrain.cells, self.terrain.next_s)
        return 3 * sum(array.nbytes for array in arrays if isinstance(array, np.ndarray)) // 2

    @property
    def shortest(self) -> tuple[float, ...]:
        """Length of a shortest tour; ConfigError for more than 16 stages, where it is not known."""
        if math.isnan(self.known_shortest[0]):
            raise ConfigError(
                f"no shortest path of an agenda of {self.columns} stages is known; problem.tour is a way of "
                f"{self.tour.length if self.tour else 0} steps, always to the nearest object"
            )
        return self.known_shortest

    @property
    def known_shortest(self) -> tuple[float, ...]:
        """Length of a shortest tour, NaN beyond 16 stages."""
        return (self.tour.length if self.tour and self.tour.is_shortest else math.nan,)

    @property
    def sizes(self) -> list[tuple[str, object]]:
        """How large it is, in names and numbers."""
        return [("stages", self.columns), ("machine states", f"more than {MAX_STATES}; only coupled learns it")]

    @property
    def refusal(self) -> str:
        """What to say where machine states are needed."""
        return (
            f"this problem is an agenda of {self.columns} stages with more than {MAX_STATES} machine states, which are "
            "not listed, and this needs them; fastrm.train(problem, 'coupled') and the method coupled-bool of "
            "experiments learn it"
        )

    def episode(self, task: int = 0, start: int | None = None) -> Episode:
        """Raise ConfigError: an episode needs the machine's states."""
        raise unsupported(self)

    def __repr__(self) -> str:
        size = f"{len(self.terrain.cells)} cells, {self.columns} stages, more than {MAX_STATES} machine states"
        slip = f", slip {self.slip:g}" if self.slip else ""
        return f"<Problem {self.names()} on {self.source}: {size}{slip}>"


def compile_agenda(
    grid: GridMap | TableWorld, machines: tuple[RewardMachine, ...], *settings: Any, **named: Any
) -> AgendaProblem:
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
    parts = tuple(
        RewardMachine.parse(text.format(target), f"{machine.source}, {target}") for target in machine.large.targets
    )
    stages = compile_tables(grid, parts, *settings, **named)
    if len(stages.starts) > 1:
        raise MachineError(f"{machine.source}: an agenda of more than 1024 machine states begins in one cell; give one")
    bare = assemble(stages.terrain, (), stages.profile, find_events(stages.terrain, ()), [])
    tables = bare.tables._replace(first_u=stages.tables.first_u[:1], own_score=stages.tables.own_score[:1])
    return AgendaProblem(stages.terrain, (machine,), stages.profile, tables, machine.large, slip=stages.slip)


@add_row(compile, GridMap, TableWorld)
def compile_cells(
    grid: GridMap | TableWorld, machine: RewardMachine | Sequence[RewardMachine], *settings: Any, **named: Any
) -> CellProblem:
    """Compile a map or a table; an agenda whose machine states are too many to list has a kind of its own."""
    machines = check_machines(machine)
    build = compile_agenda if any(item.large for item in machines) else compile_tables
    return build(grid, machines, *settings, **named)
