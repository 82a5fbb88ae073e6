"""Experiences of moves for deep learners, told for any machine state when they are sampled; NumPy only.

A move means something in every machine state: where that goes, what it pays, and whether the episode ends. CRM learns
from all of it. Here a move is stored once, with this column, and a sample tells it for a machine state drawn uniformly.
In expectation that is the same as storing a copy for every machine state, in memory and batches as many times smaller.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_number, check_whole
from fastrm.errors import ConfigError, shown

COLUMNS = ("next_state", "reward", "terminated")


class Samples(NamedTuple):
    """Experiences drawn from a buffer."""

    observations: Array  # float32 [n, ...]  the machine state as a one-hot at the end
    actions: Array
    rewards: Array  # float32 [n]
    next_observations: Array  # float32 [n, ...]
    terminated: Array  # bool    [n]


class MachineColumns:
    """What stored moves mean in every machine state, by the place and the environment of the move."""

    def __init__(self, capacity: int, n_envs: int, n_states: int) -> None:
        shape = capacity, n_envs, n_states
        self.n_states = n_states
        self.next_state = np.zeros(shape, dtype=np.int16)
        self.reward = np.zeros(shape, dtype=np.float32)
        self.terminated = np.zeros(shape, dtype=np.bool_)
        self.codes = np.vstack([np.eye(n_states, dtype=np.float32), np.zeros((1, n_states), np.float32)])

    def put(self, places: Any, envs: Any, counterfactuals: Mapping[str, Any]) -> None:
        """Store what moves mean, as environments tell it."""
        for name in COLUMNS:
            getattr(self, name)[places, envs] = counterfactuals[name]

    def draw(
        self, places: Array, envs: Array, own: Array, share: float, random: np.random.Generator
    ) -> tuple[Array, Array, Array, Array]:
        """Draw a machine state for every move, its `own` one except for a `share`; return what the moves mean there.

        These are the one-hots of the states before and after, the rewards, and whether episodes end.
        """
        state = random.integers(0, self.n_states, len(places))
        if share < 1:
            state = np.where(random.random(len(places)) < share, state, own)
        where = places, envs, state
        return self.codes[state], self.codes[self.next_state[where]], self.reward[where], self.terminated[where]


def states_in(observations: Array, n_states: int) -> Array:
    """Return the machine states that observations end with."""
    return np.asarray(observations[..., -n_states:].argmax(axis=-1))


def find_counterfactuals(info: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what the move of an info means in every machine state; raise ConfigError where it does not say."""
    every = info.get("counterfactuals") if isinstance(info, Mapping) else None
    if not isinstance(every, Mapping):
        raise ConfigError(
            "info has no counterfactuals; make the environment with fastrm.env.wrap, or fastrm's own with "
            "counterfactuals=True"
        )
    return every


def check_share(share: object) -> float:
    """Return the share of samples told for a machine state drawn; raise ConfigError unless it is one."""
    check_number("share", share, 0, 1)
    return float(share)  # type: ignore[arg-type]


class CounterfactualBuffer:
    r"""The last moves of some environments, each told for a machine state drawn when it is sampled.

    Parameters
    ----------
    capacity : int
        How many moves are kept.
    share : float
        Share of the samples that are told for a machine state drawn uniformly; the others keep their own.
    seed : int
        Where its random numbers begin.

    Examples
    --------
    >>> import fastrm
    >>> from fastrm.env import RewardMachineEnv
    >>> grid = fastrm.GridMap.parse("XXXXX\nXAabX\nXXXXX")
    >>> env = RewardMachineEnv(grid=grid, machine="a-b", observation="numbers", counterfactuals=True)
    >>> buffer = CounterfactualBuffer(1000)
    >>> here, _ = env.reset(seed=0)
    >>> there, _, _, _, info = env.step(1)
    >>> buffer.add(here, 1, there, info)
    >>> batch = buffer.sample(4)
    >>> batch.observations[:, -2:].argmax(axis=1).tolist(), batch.next_observations[:, -2:].argmax(axis=1).tolist()
    ([1, 1, 1, 0], [1, 1, 1, 1])
    """

    def __init__(self, capacity: int, *, share: float = 1.0, seed: int = 0) -> None:
        check_whole("capacity", capacity, 1, 2**40)
        check_whole("seed", seed, 0, 2**128 - 1)
        self.capacity, self.share, self.random = capacity, check_share(share), np.random.default_rng(seed)
        self.added = 0
        """How many moves were ever added."""
        self._columns: MachineColumns | None = None

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    def add(self, observation: Any, action: Any, next_observation: Any, info: Mapping[str, Any]) -> None:
        """Add a move, or those of a vector environment, with the info of the step.

        Observations end with the one-hot of the machine state. Of a vector environment, moves that only began an
        episode are left out (``info["_counterfactuals"]`` marks the others); ``info["final_obs"]``, where it is given,
        replaces the observations of episodes that began in the same step.
        """
        every = find_counterfactuals(info)
        is_many = np.ndim(every["reward"]) == 2
        here, there, actions = (np.asarray(x) if is_many else np.asarray(x)[None]
                                for x in (observation, next_observation, action))  # fmt: skip
        columns = {name: np.atleast_2d(every[name]) for name in COLUMNS}
        if is_many and "final_obs" in info:
            ends = info["_final_obs"].reshape(-1, *(1,) * (there.ndim - 1))
            there = np.where(ends, info["final_obs"], there)
        if is_many and "_counterfactuals" in info:
            made = info["_counterfactuals"]
            here, there, actions = here[made], there[made], actions[made]
            columns = {name: column[made] for name, column in columns.items()}
        n_u = columns["reward"].shape[1]
        if actions.dtype.kind not in "biuf":
            raise ConfigError(f"action={shown(action)}: must be numbers")
        self._make_room(here, actions, n_u)
        assert self._columns is not None
        if here.shape[1:] != (self._here.shape[1] + n_u,) or n_u != self._columns.n_states:
            raise ConfigError(
                f"observation of shape {here.shape[1:]}: must be as long as those before, {self._here.shape[1] + n_u}, "
                f"the last {self._columns.n_states} for the machine state"
            )
        if there.shape != here.shape:
            raise ConfigError(
                f"next_observation of shape {there.shape[1:]}: must be {here.shape[1:]}, like the observation"
            )
        if actions.shape != (len(here), *self._actions.shape[1:]):
            raise ConfigError(
                f"action={shown(action)}: must be numbers of shape {self._actions.shape[1:]}, like those before"
            )
        places = (self.added + np.arange(len(here))) % self.capacity
        self._here[places], self._there[places], self._actions[places] = here[:, :-n_u], there[:, :-n_u], actions
        self._own[places] = states_in(here, n_u)
        self._columns.put(places, 0, columns)
        self.added += len(here)

    def _make_room(self, here: Array, actions: Array, n_u: int) -> None:
        """Allocate at the first move, whose sizes tell those of all."""
        if self._columns is not None:
            return
        if here.ndim != 2 or here.shape[1] < n_u or here.dtype.kind not in "fiu":
            raise ConfigError(
                f"observation={shown(here)}: must be numbers, the last {n_u} of them the one-hot of the machine state"
            )
        size = here.shape[1] - n_u
        self._here, self._there = (np.zeros((self.capacity, size), dtype=np.float32) for _ in range(2))
        self._actions = np.zeros((self.capacity, *actions.shape[1:]), dtype=actions.dtype)
        self._own = np.zeros(self.capacity, dtype=np.int16)
        self._columns = MachineColumns(self.capacity, 1, n_u)

    def sample(self, n: int) -> Samples:
        """Draw moves, with repetition, each told for a machine state.

        Raises
        ------
        ConfigError
            When no move was added yet.
        """
        check_whole("n", n, 1, 2**31)
        if self._columns is None or not len(self):
            raise ConfigError("sample: the buffer is empty; add moves first")
        places = self.random.integers(0, len(self), n)
        before, after, reward, terminated = self._columns.draw(
            places, np.zeros(n, dtype=np.int64), self._own[places], self.share, self.random
        )
        here, there = np.hstack([self._here[places], before]), np.hstack([self._there[places], after])
        return Samples(here, self._actions[places], reward, there, terminated)
