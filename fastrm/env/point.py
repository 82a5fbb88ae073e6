"""The point mass as an environment, its actions numbers or forces.

With ``observation="numbers"``, the default of a single environment, the point sees its position (from -1 to 1 on either
axis) and its velocity (divided by the top speed), then a 1 for the machine state and a 0 for every other; all are 0 in
a terminal. With ``observation="states"`` it sees the numbers of its cell and of the machine state.

With ``forces=True`` an action is a pair of numbers from -1 to 1. Each is rounded to the nearest of -1, 0 and 1, halves
away from 0. So every episode is one of the lattice, whatever the forces: none is shorter than `Problem.shortest`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from fastrm.arrays import Array
from fastrm.dispatch import add_row
from fastrm.env.agents import TabularAgents, agents_of
from fastrm.errors import ConfigError, shown
from fastrm.plots import paint_point, show_point
from fastrm.problems import PointProblem


@add_row(agents_of, PointProblem)
class PointAgents(TabularAgents):
    """Agents on one point mass."""

    observations = ("numbers", "states")

    def __init__(self, problem: PointProblem, count: int | None, observation: str | None, limit: int | None) -> None:
        super().__init__(problem, count, observation, limit, numbers=4 + problem.tables.n_u)
        self.render_modes = ("ansi", "rgb_array")
        self._world = problem.world

    def force_space(self) -> spaces.Box:
        """Return the space of the forces on one point."""
        return spaces.Box(-1.0, 1.0, (2,), dtype=np.float32)

    def push(self, forces: Any) -> Array:
        """Return the numbers of the actions that forces are, [n, 2], on every point."""
        try:
            given = np.asarray(forces, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.full(1, np.nan)
        if given.shape != (self.count, 2) or not (np.abs(given) <= 1).all():
            raise ConfigError(f"action {shown(forces)}: must be two forces from -1 to 1 for every point")
        sides: Array = np.where(np.abs(given) < 0.5, 0, np.sign(given)).astype(np.int64)
        return 3 * sides[:, 0] + sides[:, 1] + 4

    def observe(self) -> Array:
        """Return what agents see, a row for each."""
        if self.observation == "states":
            return super().observe()
        cells = self.problem.terrain.cells[self.state[:, 0]]
        state = self.state[:, 1:] == np.arange(self.problem.tables.n_u)
        where = 2 * cells[:, :2] / (self._world.side - 1) - 1
        return np.hstack([where, cells[:, 2:] / self._world.fastest, state]).astype(np.float32)

    def render(self, mode: str) -> Any:
        """Return the box with the point, as text or as an image."""
        x, y, *_ = self.info()[1]["cell"]
        return {"ansi": show_point, "rgb_array": paint_point}[mode](self._world, x, y)
