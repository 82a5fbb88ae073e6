"""Agents on maps and tables: they see the number of their cell and that of the machine state."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from fastrm.arrays import Array
from fastrm.dispatch import add_row
from fastrm.env.agents import Agents, agents_of
from fastrm.errors import ConfigError
from fastrm.kernels.worlds import environments
from fastrm.plots import paint, show
from fastrm.problems import TabularProblem, slide
from fastrm.worlds import layout_of


@add_row(agents_of, TabularProblem)
class TabularAgents(Agents):
    """Agents on a map or a table, moved by a kernel; a single one in Python, where that is faster."""

    def __init__(self, problem: TabularProblem, count: int | None, observation: str | None, limit: int | None) -> None:
        sizes = len(problem.tables.next_s), problem.tables.n_u + 1
        super().__init__(problem, count, observation, limit, sizes)
        self.render_modes = () if layout_of(problem.terrain.world) is None else ("ansi", "rgb_array")
        self._steps, self._before, self._chosen = (np.zeros(self.count, dtype=np.int64) for _ in range(3))

    def begin(self, mask: Array, start: object, restart: bool, random: np.random.Generator) -> None:
        """Begin in start cells, or in one given such as (1, 2)."""
        self.state[mask, 0] = self._draw_starts(start, int(mask.sum()), random)
        if restart:
            self.episodes[mask] = 0
        self.state[mask, 1] = self.next_first_u(mask)[mask]
        self._steps[mask], self.over[mask], self.event[mask] = 0, 0, -1

    def _draw_starts(self, start: object, n: int, random: np.random.Generator) -> Array:
        """Return the numbers of the cells in which n episodes begin: the one given, or any start of the problem."""
        if start is not None:
            return np.full(n, self.problem.number_of(start))
        starts = self.problem.tables.starts.astype(np.int64)
        drawn: Array = starts[random.integers(starts.size, size=n)] if starts.size > 1 else np.repeat(starts, n)
        return drawn

    def move(self, actions: Array, random: np.random.Generator) -> tuple[Array, Array, Array]:
        """Move every agent; with `slip` sideways now and then."""
        self._chosen, self._before = slide(self.problem, actions.copy(), random), self.state[:, 0].copy()
        begins, results = self.over != 0, self.results()
        first_u, first_s = self.next_first_u(begins), np.zeros(self.count, dtype=np.int64)
        first_s[begins] = self._draw_starts(None, int(begins.sum()), random)
        environments.step(
            self.problem.tables, self.limit, self._chosen, self.state, first_s, first_u, self._steps, self.over,
            *results, self.event,
        )  # fmt: skip
        return results

    def step(self, action: int, random: np.random.Generator) -> tuple[float, bool, bool]:
        """Move the only agent."""
        chosen, (s, u) = int(slide(self.problem, np.array(action), random)), self.state[0].tolist()
        taken, steps = self.problem.step(s, u, chosen), self._steps[0] + 1
        self._chosen[0], self._before[0], self.event[0], self._steps[0] = chosen, s, taken.event, steps
        self.state[0] = taken.s, taken.u
        return taken.reward, not taken.is_live, bool(steps >= self.limit)

    def labels(self) -> Array:
        """Return the ASCII codes of the objects stood on, or in a `TableWorld` a bit for each label; 0 for none."""
        code_of = self._label_codes
        codes = code_of[self.state[:, 0]] if code_of.ndim == 1 else code_of[self._before, self._chosen]
        return np.where(self.event >= 0, codes, 0).astype(codes.dtype)

    @cached_property
    def _label_codes(self) -> Array:
        """What holds in a cell, ``[n_s]``, or where labels belong to moves after one of them, ``[n_s, n_a]``."""
        terrain, names = self.problem.terrain, self.problem.terrain.propositions
        if not terrain.is_map and len(names) > 64:
            raise ConfigError(
                f"{terrain.source}: a vector environment tells 64 labels, and this world has {len(names)}; step one "
                "environment at a time, or remove labels that the machine does not read"
            )
        codes = np.zeros(terrain.holds(names[0]).shape if names else len(terrain.cells), dtype=np.uint64)
        for k, name in enumerate(names):
            codes[terrain.holds(name)] |= np.uint64(ord(name) if terrain.is_map else 1 << k)
        return codes.astype(np.uint8) if terrain.is_map else codes

    def info(self) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Return the labels, and row and column of the agent or the number of its cell."""
        terrain, is_moved = self.problem.terrain, self.event[0] >= 0
        labels = terrain.labels(int(self._before[0]), int(self._chosen[0])) if is_moved else ()
        return labels, {"cell": terrain.cells_of(self.state[:1, 0])[0]}

    def render(self, mode: str) -> Any:
        """Return the map with the agent, as text or as an image."""
        return {"ansi": show, "rgb_array": paint}[mode](self.problem.grid, *self.info()[1]["cell"])
