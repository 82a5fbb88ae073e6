"""What environments ask of a kind of problem: agents that move together, of which a single environment has one.

Each kind of problem has a row in one table; a kind without a row is refused in one line. Agents on maps and tables see
the number of their cell and that of the machine state. With ``observation="numbers"`` they see row and column, and for
every label the distance to the nearest cell where it holds, each from -1 to 1, and then the machine state as below.

In Water world an agent sees with ``observation="numbers"`` 4 + 4 n numbers for n balls, 52 in the reference's worlds:
its position (divided by the side of the box) and velocity (divided by 90), then the offset of every ball and its
velocity relative to the agent (divided by the largest there can be). They are followed by a 1 for the machine state and
a 0 for every other; all are 0 in a terminal. With ``observation="states"`` it sees four whole numbers: states of the x
and the y axis, time, and machine state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_choice, check_whole
from fastrm.dispatch import add_row, by_kind
from fastrm.errors import ConfigError, MissingExtra, shown
from fastrm.kernels.contracts import LIVE
from fastrm.kernels.worlds import environments, water
from fastrm.plots import paint, show, show_water
from fastrm.problems import Problem, TabularProblem, Terrain, WaterProblem, colours_of, slide, unsupported
from fastrm.worlds import FASTEST, WATER_LIMIT, layout_of

try:
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode as _NewIn11  # noqa: F401
except ImportError:
    raise MissingExtra("environments need gymnasium 1.1; install it with: pip install 'fastrm[gym]'") from None


class Agents(ABC):
    """Some agents on one problem; episodes of each play several machines in turn.

    Methods without an array are about the only agent of a single environment.
    """

    observations: ClassVar[tuple[str, ...]] = ("states",)
    """What an agent can see, the default of a single environment first: "states" are its row of `state`."""
    render_modes: tuple[str, ...]
    """How the only agent can be drawn."""

    def __init__(
        self,
        problem: Any,
        count: int | None,
        observation: str | None,
        limit: int | None,
        sizes: Sequence[int],
        numbers: int = 0,
    ) -> None:
        """`sizes` are those of each column of `state`, `numbers` is the length of an observation "numbers"."""
        if observation is None:
            observation = self.observations[0] if count is None else "states"
        check_choice("observation", observation, self.observations)
        chosen = problem.defaults(1).get("episode_limit", 1000) if limit is None else limit
        check_whole("episode_limit", chosen, 1, min(problem.longest_episode, 2**31))
        self.problem, self.count, self.observation, self.limit = problem, count or 1, observation, int(chosen)
        self.space: spaces.Space[Any] = spaces.MultiDiscrete(sizes)
        if observation == "numbers":
            self.space = spaces.Box(-1.0, 1.0, (numbers,), dtype=np.float32)
        self.state = np.zeros((self.count, len(sizes)), dtype=np.int64)  # where each is, the machine state last
        self.episodes = np.zeros(self.count, dtype=np.int64)
        self.over = np.ones(self.count, dtype=np.uint8)  # a first move without a beginning begins an episode
        self.event = np.full(self.count, -1)
        self._first_u = problem.tables.first_u.astype(np.int64)
        self._only: Array | None = self._first_u.repeat(self.count) if len(self._first_u) == 1 else None

    @abstractmethod
    def begin(self, mask: Array, start: object, restart: bool, random: np.random.Generator) -> None:
        """Begin episodes of the agents that `mask` marks: of their next task, or of the first to `restart`."""

    @abstractmethod
    def move(self, actions: Array, random: np.random.Generator) -> tuple[Array, Array, Array]:
        """Move every agent; return what was paid, and which episodes are terminated and truncated.

        An agent whose episode is over begins another instead, whatever its action.
        """

    def step(self, action: int, random: np.random.Generator) -> tuple[float, bool, bool]:
        """Move the only agent."""
        reward, ends, cut = self.move(np.array([action], dtype=np.int64), random)
        return float(reward[0]), bool(ends[0]), bool(cut[0])

    def force_space(self) -> spaces.Box:
        """Return the space of the forces on one agent; raise ConfigError where no forces act."""
        raise ConfigError(f"forces=True: is for a point mass, and {self.problem.source} is none; leave it out")

    def push(self, forces: Any) -> Array:
        """Return the numbers of the actions that forces are, one for every agent."""
        raise NotImplementedError  # without a `force_space`

    def observe(self) -> Array:
        """Return what agents see, a row for each."""
        return self.state.copy()

    @abstractmethod
    def labels(self) -> Array:
        """Return what holds after the last moves, a number for each agent."""

    @abstractmethod
    def info(self) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Return the names of what holds after the last move, and where the agent is."""

    def keep_rewards(self) -> None:
        """Keep what moves pay in every machine state from now on, for `counterfactuals`, unless tables tell it."""
        return

    def rewards(self, rows: Array) -> Array:
        """Return what the last move of some agents paid in every machine state."""
        paid: Array = self.problem.tables.reward[self.event[rows], : self.problem.tables.n_u]
        return paid

    def counterfactuals(self) -> dict[str, Array]:
        """Return what the last moves mean in every machine state; one that began an episode keeps every state."""
        tables, rows = self.problem.tables, np.flatnonzero(self.event >= 0)
        event, n_u = self.event[rows], tables.n_u
        state = np.arange(n_u)[None].repeat(self.count, axis=0)
        next_state, reward, terminated = state.copy(), np.zeros(state.shape), np.zeros(state.shape, dtype=np.bool_)
        next_state[rows], reward[rows] = tables.delta[event, :n_u], self.rewards(rows)
        terminated[rows] = tables.outcome[event, :n_u] != LIVE
        return {"state": state, "next_state": next_state, "reward": reward, "terminated": terminated}

    @abstractmethod
    def render(self, mode: str) -> Any:
        """Return a picture in one of the `render_modes`."""

    def next_first_u(self, begins: Array) -> Array:
        """Return the machine state in which the next episode of each begins, and count those that do now."""
        if self._only is not None:  # one machine takes no turns
            return self._only
        first: Array = self._first_u[self.episodes % len(self._first_u)]
        self.episodes += begins
        return first

    def results(self) -> tuple[Array, Array, Array]:
        """Return room for what `move` returns."""
        return np.empty(self.count), np.empty(self.count, dtype=np.bool_), np.empty(self.count, dtype=np.bool_)


@by_kind
def agents_of(problem: Problem, count: int | None, observation: str | None, episode_limit: int | None) -> Agents:
    """Return agents on a problem, one if the count is None; other settings that are None fit the problem."""
    raise unsupported(problem)


@add_row(agents_of, TabularProblem)
class TabularAgents(Agents):
    """Agents on a map or a table, moved by a kernel; a single one in Python, where that is faster."""

    observations = ("states", "numbers")

    def __init__(
        self, problem: TabularProblem, count: int | None, observation: str | None, limit: int | None, numbers: int = 0
    ) -> None:
        """`numbers` is the length of an observation "numbers" of agents that see other things than those on maps."""
        n_u = problem.tables.n_u
        sizes, self._codes = (len(problem.tables.next_s), n_u + 1), np.eye(n_u + 1, n_u, dtype=np.float32)
        if observation == "numbers" and not numbers:
            self._numbers = _numbers_of_cells(problem.terrain)
            numbers = self._numbers.shape[1] + n_u
        super().__init__(problem, count, observation, limit, sizes, numbers)
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
        self._chosen, self._before = (
            slide(self.problem, self.state[:, 0], actions.copy(), random),
            self.state[:, 0].copy(),
        )
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
        s, u = self.state[0].tolist()
        chosen = int(slide(self.problem, s, np.array(action), random))
        taken, steps = self.problem.step(s, u, chosen), self._steps[0] + 1
        self._chosen[0], self._before[0], self.event[0], self._steps[0] = chosen, s, taken.event, steps
        self.state[0] = taken.s, taken.u
        return taken.reward, not taken.is_live, bool(steps >= self.limit)

    def observe(self) -> Array:
        """Return what agents see, a row for each."""
        if self.observation == "states":
            return super().observe()
        return np.hstack([self._numbers[self.state[:, 0]], self._codes[self.state[:, 1]]])

    def labels(self) -> Array:
        """Return the ASCII codes of the objects stood on, or in a `TableWorld` a bit for each label; 0 for none."""
        code_of = self._label_codes
        codes = code_of[self.state[:, 0]] if code_of.ndim == 1 else code_of[self._before, self._chosen]
        return np.where(self.event >= 0, codes, 0).astype(codes.dtype)

    @cached_property
    def _label_codes(self) -> Array:
        """What holds in a cell, ``[n_s]``, or where labels belong to moves after one of them, ``[n_s, n_a]``."""
        terrain, names = self.problem.terrain, self.problem.terrain.propositions
        if not terrain.is_lettered and len(names) > 64:
            raise ConfigError(
                f"{terrain.source}: a vector environment tells 64 labels, and this world has {len(names)}; step one "
                "environment at a time, or remove labels that the machine does not read"
            )
        codes = np.zeros(terrain.holds(names[0]).shape if names else len(terrain.cells), dtype=np.uint64)
        for k, name in enumerate(names):
            codes[terrain.holds(name)] |= np.uint64(ord(name) if terrain.is_lettered else 1 << k)
        return codes.astype(np.uint8) if terrain.is_lettered else codes

    def info(self) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Return the labels, and row and column of the agent or the number of its cell."""
        terrain, is_moved = self.problem.terrain, self.event[0] >= 0
        labels = terrain.labels(int(self._before[0]), int(self._chosen[0])) if is_moved else ()
        return labels, {"cell": terrain.cells_of(self.state[:1, 0])[0]}

    def render(self, mode: str) -> Any:
        """Return the map with the agent, as text or as an image."""
        return {"ansi": show, "rgb_array": paint}[mode](self.problem.grid, *self.info()[1]["cell"])


def _numbers_of_cells(terrain: Terrain) -> Array:
    """Return what can be seen in every cell, float32 [n_s, ...], each from -1 to 1.

    These are row and column, or the number of the cell where there are none, then for every label the distance to the
    nearest cell where it holds.
    """
    seen = [*terrain.cells.T, *(terrain.distance(name) for name in terrain.propositions if terrain.reachable(name))]
    columns = np.array(seen, dtype=np.float64).T
    low, high = columns.min(axis=0), columns.max(axis=0)
    numbers: Array = ((2 * columns - low - high) / np.maximum(high - low, 1)).astype(np.float32)
    return numbers


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
        self._paid = np.zeros((0, n_u))
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
            self.next_first_u(begins), self._agents, self._scratch, *results, self.event, self._label, self._paid,
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

    def keep_rewards(self) -> None:
        """Keep what moves pay in every machine state from now on, for `counterfactuals`."""
        self._paid = np.zeros((self.count, self.problem.tables.n_u))

    def rewards(self, rows: Array) -> Array:
        """Return what the last move of some agents paid in every machine state."""
        paid: Array = self._paid[rows]
        return paid

    def render(self, mode: str) -> Any:
        """Return the box with the agent and the balls as text."""
        return show_water(self.problem, self.state[0], int(self.state[0, 2]))
