"""What environments ask of a kind of problem: agents that move together, of which a single environment has one.

Each kind has a row in one table, in a module of its own. A kind without a row is refused in one line.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_choice, check_known, check_whole
from fastrm.dispatch import by_kind
from fastrm.errors import ConfigError, MissingExtra, shown
from fastrm.problems import Problem, unsupported

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

    def observe(self) -> Array:
        """Return what agents see, a row for each."""
        return self.state.copy()

    @abstractmethod
    def labels(self) -> Array:
        """Return what holds after the last moves, a number for each agent."""

    @abstractmethod
    def info(self) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Return the names of what holds after the last move, and where the agent is."""

    def rewards(self) -> Array:
        """Return what the last move pays in every machine state."""
        return np.array(self.problem.tables.reward[self.event[0], : self.problem.tables.n_u])

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


def check_reset(seed: object, options: object, known: Sequence[str]) -> Mapping[str, Any]:
    """Raise ConfigError unless an episode can begin with a seed and with options; return the options."""
    if seed is not None:
        check_whole("seed", seed, 0, 2**128 - 1)
    if options is not None and not isinstance(options, Mapping):
        raise ConfigError(f"options={shown(options)}: must be a table")
    for name in options or {}:
        check_known(name, known)
    return options or {}
