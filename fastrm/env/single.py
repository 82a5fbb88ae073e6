"""One agent as a Gymnasium environment.

An observation tells where the agent is and which state the machine is in. On maps it is a pair (cell, machine state),
numbered as in the compiled problem; machine state ``n_u`` stands for every terminal. `fastrm.env.water` says what is
seen in Water world. An episode is *terminated* when the machine reaches a terminal, and *truncated* after
`episode_limit` steps; both can be true of one step. What is random (a move that slips, the start of an episode) is
drawn from the environment's generator. ``info`` says what holds after the move (``labels``: the object on the cell, the
labels of a `TableWorld`, the colours of balls), and which state the machine is in (``rm_state``).

>>> import gymnasium
>>> import fastrm.env  # makes the names known; or gymnasium.make("fastrm.env:fastrm/Craft-v0")
>>> env = gymnasium.make("fastrm/Craft-v0", grid="1a1b", size=9, machine="a-b")
>>> observation, info = env.reset(seed=0)
>>> info["rm_state"], info["labels"]
('u0', ())
>>> env = gymnasium.make("fastrm/WaterWorld-v0", world_seed=3, machine="a-b")
>>> observation, info = env.reset(seed=0)
>>> observation.shape, info["rm_state"]
((54,), 'u0')
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

import gymnasium
import numpy as np
from gymnasium import spaces

from fastrm.arrays import Array
from fastrm.checks import check_truth, check_whole
from fastrm.env.agents import agents_of, check_reset
from fastrm.env.named_problems import build_problem
from fastrm.errors import ConfigError, shown
from fastrm.kernels.contracts import LIVE, SUCCESS
from fastrm.problems import Problem


class RewardMachineEnv(gymnasium.Env[Array, int]):
    """One agent in a world with a reward machine; episodes play several machines in turn.

    Parameters
    ----------
    problem : Problem, optional
        A compiled problem, of a map, a table or a water world; otherwise `build_problem` makes one of the other
        arguments.
    observation : {"states", "numbers"}, optional
        What the agent sees: whole numbers, or in Water world, where it is the default, numbers from -1 to 1.
    episode_limit : int, optional
        Steps after which an episode is truncated: 1000, in Water world 600, where it is the most there can be.
    counterfactuals : bool
        Whether ``info["counterfactuals"]`` says what the same move would have meant in every machine state.
    render_mode : {"ansi", "rgb_array"}, optional
        How `render` shows the world.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 8}

    def __init__(
        self,
        problem: Problem | None = None,
        *,
        observation: str | None = None,
        episode_limit: int | None = None,
        counterfactuals: bool = False,
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        check_truth("counterfactuals", counterfactuals)
        self.problem = build_problem(problem, settings)
        self._agents, self._over = agents_of(self.problem, None, observation, episode_limit), True
        if render_mode is not None:
            self._check_render_mode(render_mode)
        self.metadata = {**self.metadata, "render_modes": list(self._agents.render_modes)}  # type: ignore[misc]
        self.episode_limit, self.counterfactuals, self.render_mode = self._agents.limit, counterfactuals, render_mode
        self.observation_space = self._agents.space
        self.action_space = cast("spaces.Space[int]", spaces.Discrete(self.problem.n_actions))

    def _check_render_mode(self, mode: object) -> None:
        source, modes = self.problem.source, self._agents.render_modes
        if not isinstance(mode, str) or mode not in self.metadata["render_modes"]:
            raise ConfigError(f"render_mode={shown(mode)}: must be ansi or rgb_array")
        if not modes:
            raise ConfigError(
                f"render_mode={shown(mode)}: {source} has no layout, so it cannot be drawn; give layout to TableWorld, "
                "or leave render_mode out"
            )
        if mode not in modes:
            raise ConfigError(f"render_mode={shown(mode)}: is for maps; {source} is drawn as text (ansi)")

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin an episode, on maps in a start cell or in ``options["start"]``, such as (1, 2).

        No label is read there. A seed repeats everything, the rotation of tasks too.
        """
        start = check_reset(seed, options, ("start",)).get("start")
        super().reset(seed=None if seed is None else int(seed))
        self._agents.begin(np.ones(1, dtype=np.bool_), start, seed is not None, self.np_random)
        self._over = False
        return self._agents.observe()[0], self._info(success=False)

    def step(self, action: int) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Move; read what holds then; let the machine pay and change its state."""
        if not self.action_space.contains(action):
            numbered = ", ".join(f"{k} ({name})" for k, name in enumerate(self.problem.actions))
            raise ConfigError(f"action {shown(action)}: must be a number of {numbered}")
        if self._over:
            raise ConfigError("no episode is on; call reset() first")
        agents, u = self._agents, self._agents.state[0, -1]
        reward, terminated, truncated = agents.step(action, self.np_random)
        self._over, tables, event = terminated or truncated, agents.problem.tables, agents.event[0]
        info = self._info(success=bool(tables.outcome[event, u] == SUCCESS))
        if self.counterfactuals:
            info["counterfactuals"] = {
                "state": np.arange(tables.n_u),
                "next_state": tables.delta[event, : tables.n_u].astype(np.int64),
                "reward": agents.rewards(),
                "terminated": tables.outcome[event, : tables.n_u] != LIVE,
            }
        return agents.observe()[0], reward, terminated, truncated, info

    def _info(self, success: bool) -> dict[str, Any]:
        agents, states = self._agents, self.problem.states
        (labels, place), u = agents.info(), agents.state[0, -1]
        rm_state = "(terminal)" if u == len(states) else states[u][1]
        task = int(agents.episodes[0] - 1) % len(self.problem.machines)
        return {"labels": labels, "rm_state": rm_state, "task": task, **place, "success": success}

    def in_state(self, observation: Array, state: int) -> Array:
        """Return an observation as it would be in another machine state; the number of states means a terminal."""
        seen, n_u = np.array(observation), len(self.problem.states)
        check_whole("state", state, 0, n_u)
        if self._agents.observation == "states":
            seen[-1] = state
        else:
            seen[-n_u:] = np.arange(n_u) == state
        return seen

    def render(self) -> Any:
        """Return the world with the agent, as text or as an image."""
        return None if self.render_mode is None else self._agents.render(self.render_mode)
