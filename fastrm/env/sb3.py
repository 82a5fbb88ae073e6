"""A replay buffer for Stable-Baselines3 that tells experiences for machine states drawn when they are sampled.

Give it to DQN, SAC, TD3 or DDPG, with an environment made by `fastrm.env.wrap`, or one of fastrm's own with
``counterfactuals=True`` and observations of numbers::

    from stable_baselines3 import SAC
    from fastrm.env.sb3 import CounterfactualReplayBuffer

    model = SAC("MlpPolicy", env, replay_buffer_class=CounterfactualReplayBuffer)

Importing this module needs Stable-Baselines3, which fastrm does not install.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from fastrm.env.buffers import MachineColumns, check_share, find_counterfactuals, states_in
from fastrm.errors import ConfigError, MissingExtra, shown

try:
    from stable_baselines3.common.buffers import ReplayBuffer
    from stable_baselines3.common.type_aliases import ReplayBufferSamples
except ImportError:
    raise MissingExtra(
        "fastrm.env.sb3 needs Stable-Baselines3, which brings torch; install it with: pip install stable-baselines3"
    ) from None

__all__ = ["CounterfactualReplayBuffer"]


class CounterfactualReplayBuffer(ReplayBuffer):
    """A replay buffer whose samples are told for machine states drawn uniformly.

    Parameters
    ----------
    *arguments, **settings
        As Stable-Baselines3 gives them to its own buffer.
    share : float
        Share of the samples that are told for a machine state drawn; the others keep their own. Give it as
        ``replay_buffer_kwargs={"share": 0.5}``.
    """

    def __init__(self, *arguments: Any, share: float = 1.0, **settings: Any) -> None:
        self.share = check_share(share)
        if settings.get("optimize_memory_usage"):
            raise ConfigError(
                "optimize_memory_usage: observations of the next place cannot be told for another machine state; "
                "leave it out"
            )
        space = settings.get("observation_space", arguments[1] if len(arguments) > 1 else None)
        if not isinstance(space, spaces.Box) or len(space.shape) != 1:
            raise ConfigError(
                f"observations {shown(space)}: must be a Box of one dimension that ends with the machine state; wrap "
                "the environment with observe='onehot'"
            )
        super().__init__(*arguments, **settings)
        self._columns: MachineColumns | None = None
        self._random = np.random.default_rng(np.random.randint(2**31, size=4))  # noqa: NPY002  (the seed of the model)

    def add(self, obs: Any, next_obs: Any, action: Any, reward: Any, done: Any, infos: list[dict[str, Any]]) -> None:
        """Store a move of every environment, and what it means in every machine state."""
        for env, info in enumerate(infos):
            every = find_counterfactuals(info)
            if self._columns is None:
                self._columns = MachineColumns(self.buffer_size, self.n_envs, len(every["reward"]))
            self._columns.put(self.pos, env, every)
        super().add(obs, next_obs, action, reward, done, infos)

    def _get_samples(self, batch_inds: Any, env: Any = None) -> ReplayBufferSamples:
        if env is not None:
            raise ConfigError("VecNormalize: rewards of other machine states have no place in its averages; remove it")
        if self._columns is None:
            raise ConfigError("sample: the buffer is empty; let the model learn first")
        columns, n_u = self._columns, self._columns.n_states
        envs = self._random.integers(0, self.n_envs, len(batch_inds))
        here, there = self.observations[batch_inds, envs], self.next_observations[batch_inds, envs]
        here[:, -n_u:], there[:, -n_u:], reward, terminated = columns.draw(
            batch_inds, envs, states_in(here, n_u), self.share, self._random
        )
        actions = self.actions[batch_inds, envs]
        data = here, actions, there, terminated.astype(np.float32)[:, None], reward[:, None]
        return ReplayBufferSamples(*map(self.to_torch, data))
