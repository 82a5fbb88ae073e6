"""One agent, step by step, in plain Python: what environments, games and replays share."""

from __future__ import annotations

from dataclasses import dataclass

from fastrm.kernels.contracts import LIVE, SUCCESS
from fastrm.problems.compiler import Problem


@dataclass
class Walk:
    """An episode that goes on: the agent's cell, the machine's state, and what the last move led to."""

    problem: Problem
    task: int = 0
    """Which machine is played."""

    def __post_init__(self) -> None:
        tables = self.problem.tables
        self.s, self.u = int(tables.start), int(tables.first_u[self.task])
        self.label, self.reward, self.event, self.steps = "", 0.0, -1, 0
        self.terminated = self.success = False

    def step(self, action: int) -> None:
        """Move; read the label of the cell reached; let the machine pay and change its state."""
        tables = self.problem.tables
        self.event = e = int(tables.event[self.s, action])
        outcome = int(tables.outcome[e, self.u])
        self.reward, self.terminated, self.success = (
            float(tables.reward[e, self.u]),
            outcome != LIVE,
            outcome == SUCCESS,
        )
        self.s, self.u, self.steps = int(tables.next_s[self.s, action]), int(tables.delta[e, self.u]), self.steps + 1
        row, column = self.cell
        tile = self.problem.terrain.grid.rows[row][column]
        self.label = tile if tile in self.problem.terrain.grid.objects else ""

    @property
    def cell(self) -> tuple[int, int]:
        """Row and column of the agent."""
        row, column = self.problem.terrain.cells[self.s].tolist()
        return row, column

    @property
    def state(self) -> str:
        """Name of the machine's state, ``(terminal)`` when it has reached one."""
        return "(terminal)" if self.u == self.problem.tables.n_u else self.problem.states[self.u][1]
