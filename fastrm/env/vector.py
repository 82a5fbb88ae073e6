"""Thousands of environments in one, moved by a kernel. Needs gymnasium."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_whole
from fastrm.env.named_problems import build_problem, check_reset, draw_starts, office
from fastrm.errors import ConfigError, MissingExtra
from fastrm.kernels.worlds import environments
from fastrm.problems import Problem, Terrain, slide
from fastrm.worlds import GridMap

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, VectorEnv
except ImportError:
    raise MissingExtra("the vector environment needs gymnasium 1.1 or newer: pip install 'fastrm[gym]'") from None


class RewardMachineVectorEnv(VectorEnv[Array, Array, Array]):
    """Many agents on one problem, moved by a kernel; the same transitions as so many `RewardMachineEnv` in a row.

    An environment whose episode ended is set back on the next step, which ignores its action. ``info`` holds arrays:
    the machine state (``rm_state``) and the ASCII code of the object stood on, 0 for none (``labels``). In a
    `TableWorld` ``labels`` has a bit for each label that holds after the move, in alphabetical order.
    """

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self, num_envs: int = 1, problem: Problem | None = None, *, episode_limit: int = 1000, **settings: Any
    ) -> None:
        check_whole("num_envs", num_envs, 1, 10**7)
        check_whole("episode_limit", episode_limit, 1, 2**31)
        self.problem = build_problem(problem, settings)
        self.num_envs, self.episode_limit, self.render_mode = num_envs, episode_limit, None
        tables = self.problem.tables
        self.single_observation_space = spaces.MultiDiscrete([len(tables.next_s), tables.n_u + 1])
        self.single_action_space = spaces.Discrete(self.problem.n_actions)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)
        self._label_of = _label_codes(self.problem.terrain)
        self._label = np.zeros(num_envs, dtype=self._label_of.dtype)
        self._first = tables.first_u.astype(np.int64)
        self._episode = np.zeros(num_envs, dtype=np.int64)
        self._s, self._u, self._t, self._event = (np.zeros(num_envs, dtype=np.int64) for _ in range(4))
        self._over = np.ones(num_envs, dtype=np.uint8)  # a first step without reset begins an episode

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin an episode in every environment, or in those that ``options["reset_mask"]`` marks.

        ``options["start"]`` names the cell where they begin, such as (1, 2).
        """
        given = check_reset(None if isinstance(seed, list | tuple) else seed, options, ("start", "reset_mask"))
        super().reset(seed=None if seed is None or isinstance(seed, list | tuple) else int(seed))
        mask = np.asarray(given.get("reset_mask", np.ones(self.num_envs, dtype=np.bool_)))
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            raise ConfigError(f"reset_mask: must be {self.num_envs} truth values")
        if seed is not None:
            self._episode[mask] = 0  # a seed repeats everything, the rotation of tasks too
        self._u[mask] = self._first[self._episode[mask] % len(self._first)]
        self._episode[mask] += 1
        self._s[mask] = draw_starts(self.problem, given.get("start"), int(mask.sum()), self.np_random)
        self._t[mask], self._over[mask] = 0, 0
        self._label[mask] = 0
        return self._observations(), self._infos()

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Move every agent."""
        given = np.asarray(actions)
        fits = given.shape == (self.num_envs,) and given.dtype.kind in "iu"
        if not fits or given.min() < 0 or given.max() >= self.problem.n_actions:
            raise ConfigError(f"actions: must be {self.num_envs} whole numbers from 0 to {self.problem.n_actions - 1}")
        chosen = slide(self.problem, given.astype(np.int64), self.np_random)
        begins = self._over != 0
        self._episode += begins
        next_first = self._first[(self._episode - 1) % len(self._first)]
        next_s = np.zeros(self.num_envs, dtype=np.int64)
        before = self._s.copy()
        next_s[begins] = draw_starts(self.problem, None, int(begins.sum()), self.np_random)
        reward, ends, cut = np.empty(self.num_envs), *(np.empty(self.num_envs, dtype=np.bool_) for _ in range(2))
        environments.step(
            self.problem.tables, self.episode_limit, chosen, self._s, self._u, next_s, next_first, self._t, self._over,
            reward, ends, cut, self._event,
        )  # fmt: skip
        codes = self._label_of[self._s] if self._label_of.ndim == 1 else self._label_of[before, chosen]
        self._label = np.where(self._event >= 0, codes, 0).astype(codes.dtype)
        return self._observations(), reward, ends, cut, self._infos()

    def _observations(self) -> Array:
        return np.stack([self._s, self._u], axis=1)

    def _infos(self) -> dict[str, Any]:
        return {"rm_state": self._u.copy(), "labels": self._label.copy()}


def _label_codes(terrain: Terrain) -> Array:
    """Return what holds as a number, 0 for nothing: the ASCII code of an object, or a bit per label of a world.

    It belongs to a cell, ``[n_s]``, or where labels do to a move, ``[n_s, n_a]``.
    """
    is_grid, names = isinstance(terrain.world, GridMap), terrain.propositions
    if not is_grid and len(names) > 64:
        raise ConfigError(
            f"{terrain.source}: a vector environment tells 64 labels, and this world has {len(names)}; step one "
            "environment at a time, or remove labels that the machine does not read"
        )
    codes = np.zeros(terrain.holds(names[0]).shape if names else len(terrain.cells), dtype=np.uint64)
    for k, name in enumerate(names):
        codes[terrain.holds(name)] |= np.uint64(ord(name) if is_grid else 1 << k)
    return codes.astype(np.uint8) if is_grid else codes


def make_craft_vector(**settings: Any) -> RewardMachineVectorEnv:
    """Make many environments of ``fastrm/Craft-v0``."""
    return RewardMachineVectorEnv(**settings)


def make_office_vector(**settings: Any) -> RewardMachineVectorEnv:
    """Make many environments of ``fastrm/Office-v0``."""
    return RewardMachineVectorEnv(**office(settings))
