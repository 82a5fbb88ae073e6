"""Many agents as one Gymnasium environment."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from fastrm.arrays import Array
from fastrm.checks import check_whole
from fastrm.env.agents import agents_of, check_reset
from fastrm.env.named_problems import build_problem
from fastrm.errors import ConfigError
from fastrm.problems import Problem


class RewardMachineVectorEnv(VectorEnv[Array, Array, Array]):
    """Many agents on one problem, moved by a kernel; the same transitions as those of as many `RewardMachineEnv`.

    An environment whose episode ended begins another on the next step, which ignores its action. ``info`` holds arrays:
    the machine state (``rm_state``) and what holds after the move (``labels``). On a map that is the ASCII code of the
    object stood on, 0 for none. In a `TableWorld` it has a bit for each label, in alphabetical order, and in Water
    world a bit for each colour.

    Parameters are those of `RewardMachineEnv`, except `counterfactuals` and `render_mode`; the default of `observation`
    is "states".
    """

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        num_envs: int = 1,
        problem: Problem | None = None,
        *,
        observation: str | None = None,
        episode_limit: int | None = None,
        **settings: Any,
    ) -> None:
        check_whole("num_envs", num_envs, 1, 10**7)
        self.problem = build_problem(problem, settings)
        self._agents = agents_of(self.problem, num_envs, observation, episode_limit)
        self._agents.labels()  # refuses a world with more labels than bits
        self.num_envs, self.episode_limit, self.render_mode = num_envs, self._agents.limit, None
        self.single_observation_space = self._agents.space
        self.single_action_space = spaces.Discrete(self.problem.n_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin an episode in every environment, or in those that ``options["reset_mask"]`` marks.

        On maps ``options["start"]`` names the cell where they begin, such as (1, 2).
        """
        is_list = isinstance(seed, list | tuple)
        for one in seed if is_list else [seed]:  # type: ignore[union-attr]
            check_reset(one, None, ())
        given = check_reset(None, options, ("start", "reset_mask"))
        super().reset(seed=None if seed is None or is_list else int(seed))  # type: ignore[arg-type]
        mask = np.asarray(given.get("reset_mask", np.ones(self.num_envs, dtype=np.bool_)))
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            raise ConfigError(f"reset_mask: must be {self.num_envs} truth values")
        self._agents.begin(mask, given.get("start"), seed is not None, self.np_random)
        return self._agents.observe(), self._infos()

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Move every agent."""
        given, n = np.asarray(actions), self.problem.n_actions
        fits = given.shape == (self.num_envs,) and given.dtype.kind in "iu"
        if not fits or given.min() < 0 or given.max() >= n:
            raise ConfigError(f"actions: must be {self.num_envs} whole numbers from 0 to {n - 1}")
        results = self._agents.move(given.astype(np.int64), self.np_random)
        return self._agents.observe(), *results, self._infos()

    def _infos(self) -> dict[str, Any]:
        return {"rm_state": self._agents.state[:, -1].copy(), "labels": self._agents.labels()}
