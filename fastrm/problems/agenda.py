"""Tasks in any order with more machine states than can be listed: only `coupled` learns them, column by column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fastrm.dispatch import add_row
from fastrm.errors import ConfigError, MachineError, shown
from fastrm.machines import RewardMachine
from fastrm.machines.language import MAX_STATES, Agenda
from fastrm.problems.cells import CellProblem, stages_at
from fastrm.problems.events import find_events
from fastrm.problems.problem import Episode, check_machines, compile, parts_of
from fastrm.problems.tabular import assemble, compile_tables
from fastrm.worlds import Cell, GridMap, TableWorld


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

    @cached_property
    def done_at(self) -> list[int]:
        """The stages that every cell completes, as a bit mask."""
        return stages_at(self.terrain, self.agenda)

    def episode(self, task: int = 0, start: int | None = None) -> AgendaEpisode:
        """Begin an episode, by default in the start cell."""
        return AgendaEpisode(self, task, self.start if start is None else start)

    def place_of(self, state: object) -> tuple[int, int]:
        """Return the number of a cell, and of the set of stages that are left, given as a list of their targets."""
        cell, targets = parts_of(state, "a cell and the targets that are left", (self.starts[0], list(self.stages[:2])))
        is_list = isinstance(targets, Sequence) and bool(targets)
        if not is_list or not all(isinstance(target, str) and target in self.stages for target in targets):
            raise ConfigError(f"state={shown(targets)}: must be a list of targets that are left, of {self.stages}")
        return self.number_of_any(cell), sum(1 << i for i, target in enumerate(self.stages) if target in targets)

    def __repr__(self) -> str:
        size = f"{len(self.terrain.cells)} cells, {self.columns} stages, more than {MAX_STATES} machine states"
        slip = f", slip {self.slip:g}" if self.slip else ""
        return f"<Problem {self.names()} on {self.source}: {size}{slip}>"


class AgendaEpisode(Episode):
    """An episode on the cells of a map: what is left of an agenda takes the place of the machine's state."""

    def __init__(self, problem: AgendaProblem, task: int, start: int) -> None:
        self.problem: AgendaProblem = problem
        self.task, self.s, self.left = task, start, problem.agenda.everything
        self.labels, self.reward, self.steps, self.end = (), 0.0, 0, ""
        self.terminated = self.success = False

    def step(self, action: int) -> None:
        """Move; take off the agenda what the object in the cell reached completes."""
        terrain, agenda = self.problem.terrain, self.problem.agenda
        self.labels, self.s = terrain.labels(self.s, action), int(terrain.next_s[self.s, action])
        self.left = agenda.without(self.left, self.problem.done_at[self.s])
        self.terminated = self.success = not self.left
        self.reward, self.steps, self.end = float(self.success), self.steps + 1, "done" * self.success

    @property
    def place(self) -> tuple[int, int]:
        """Number of the cell, and the stages that are left as a bit mask."""
        return self.s, self.left

    @property
    def cell(self) -> Cell:
        """Row and column of the agent."""
        return self.problem.terrain.cells_of([self.s])[0]

    @property
    def observation(self) -> tuple[float, ...]:
        """Row and column of the agent."""
        return tuple(self.cell)

    @property
    def state(self) -> str:
        """The targets that are left, ``(terminal)`` when all stages are done."""
        left = [target for i, target in enumerate(self.problem.stages) if self.left >> i & 1]
        return " ".join(left) or "(terminal)"


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
