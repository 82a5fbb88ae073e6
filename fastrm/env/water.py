"""Agents in Water world, moved by a kernel.

With ``observation="numbers"`` an agent sees 4 + 4 n numbers for n balls, 52 in the reference's worlds: its position
(divided by the side of the box) and velocity (divided by 90), then the offset of every ball and its velocity relative
to the agent (divided by the largest there can be). They are followed by a 1 for the machine state and a 0 for every
other; all are 0 in a terminal. With ``observation="states"`` it sees four whole numbers: states of the x and the y
axis, time, and machine state.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastrm.arrays import Array
from fastrm.dispatch import add_row
from fastrm.env.agents import Agents, agents_of
from fastrm.errors import ConfigError, shown
from fastrm.kernels.worlds import water
from fastrm.plots import show_water
from fastrm.problems import WaterProblem, colours_of
from fastrm.worlds import FASTEST, WATER_LIMIT


@add_row(agents_of, WaterProblem)
class WaterAgents(Agents):
    """Agents in one world; a single one sees numbers by default, many see states."""

    observations = ("numbers", "states")
    render_modes = ("ansi",)

    def __init__(self, problem: WaterProblem, count: int | None, observation: str | None, limit: int | None) -> None:
        physics, n_u = problem.physics, problem.tables.n_u
        sizes = len(physics.x), len(physics.y), WATER_LIMIT + 1, n_u + 1
        super().__init__(problem, count, observation, limit, sizes, numbers=4 + 4 * len(physics.colour) + n_u)
        self._scratch, self._carried = problem.scratch(), problem.carried
        self._agents = water.WaterAgents(
            self.state, *(np.zeros(self.count, dtype=np.int64) for _ in range(2)), np.full(self.count, -1), self.over
        )
        self._rest = [np.flatnonzero(axis[:, 1] == 0.0) for axis in (physics.x, physics.y)]
        self._starts = np.zeros((self.count if problem.is_anywhere else 0, 2), dtype=np.int64)
        self._label = np.zeros(self.count, dtype=np.int64)
        self._together = FASTEST + float(np.abs(physics.balls[..., 2:]).max())

    def begin(self, mask: Array, start: object, restart: bool, random: np.random.Generator) -> None:
        """Begin where the world says, or at rest anywhere."""
        if start is not None:
            raise ConfigError(
                f"start={shown(start)}: is for cells of a map; in Water world episodes begin where the world says, or "
                "anywhere in a problem compiled with start='anywhere'"
            )
        if restart:
            self.episodes[mask], self._agents.first[mask] = 0, -1
        self._draw_starts(mask, random)
        water.begin(self.problem.physics, self._carried, self._starts, self._agents, mask, self.next_first_u(mask))
        self._label[mask] = 0

    def _draw_starts(self, mask: Array, random: np.random.Generator) -> None:
        """Draw states of both axes for the episodes that begin, if they do so anywhere."""
        if len(self._starts):
            for axis, states in enumerate(self._rest):
                self._starts[mask, axis] = states[random.integers(states.size, size=int(mask.sum()))]

    def move(self, actions: Array, random: np.random.Generator) -> tuple[Array, Array, Array]:
        """Push every agent."""
        begins, results = self.over != 0, self.results()
        self._draw_starts(begins, random)
        water.step(
            self.problem.physics, self.problem.tables, self._carried, self._starts, self.limit, actions,
            self.next_first_u(begins), self._agents, self._scratch, *results, self.event, self._label,
        )  # fmt: skip
        return results

    def observe(self) -> Array:
        """Return what agents see, a row for each."""
        if self.observation == "states":
            return super().observe()
        physics, side = self.problem.physics, self.problem.world.side
        out = np.empty((self.count, *(self.space.shape or ())), dtype=np.float32)
        water.observe(physics, self.state, 1 / side, 1 / FASTEST, 1 / self._together, out)
        return out

    def labels(self) -> Array:
        """Return the colours touched, a bit each."""
        return self._label.copy()

    def info(self) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Return the colours touched, and the position of the agent."""
        return tuple(colours_of(int(self._label[0]))), {"position": self.problem.positions(self.state[:1])[0]}

    def rewards(self) -> Array:
        """Return what the last move pays in every machine state."""
        return np.array(self.problem.paid(int(self.event[0]), self._scratch))

    def render(self, mode: str) -> Any:
        """Return the box with the agent and the balls as text."""
        return show_water(self.problem, self.state[0], int(self.state[0, 2]))
