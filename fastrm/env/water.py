"""Water world as Gymnasium environments: one agent, or thousands moved by a kernel. Needs gymnasium.

With ``observation="numbers"`` an agent sees 4 + 4 n numbers for n balls, 52 in the reference's worlds: its position
(divided by the side of the box) and velocity (divided by 90), then the offset of every ball and its velocity relative
to the agent (divided by the largest there can be). Behind them stands a 1 for the machine state and a 0 for every
other; all are 0 in a terminal. With ``observation="states"`` it sees four whole numbers: states of the x and the y
axis, time, and machine state.

>>> import gymnasium
>>> import fastrm.env  # makes the names known
>>> env = gymnasium.make("fastrm/WaterWorld-v0", world_seed=3, machine="a-b")
>>> observation, info = env.reset(seed=0)
>>> observation.shape, info["rm_state"]
((54,), 'u0')
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_choice, check_truth, check_whole
from fastrm.env.named_problems import build_water_problem, check_reset
from fastrm.errors import ConfigError, MissingExtra, shown
from fastrm.kernels.contracts import LIVE, SUCCESS
from fastrm.kernels.worlds import water as water_environments
from fastrm.kernels.worlds.water import WaterAgents
from fastrm.problems import WaterProblem, colours_of
from fastrm.worlds import FASTEST, WATER_ACTIONS, WATER_LIMIT

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, VectorEnv
except ImportError:
    raise MissingExtra("environments need gymnasium; install it with: pip install 'fastrm[gym]'") from None

OBSERVATIONS = ("numbers", "states")


class WaterBatch:
    """So many agents in one water world, moved together; what both environments share."""

    def __init__(self, problem: WaterProblem, count: int, observation: str, episode_limit: int) -> None:
        check_choice("observation", observation, OBSERVATIONS)
        check_whole("episode_limit", episode_limit, 1, WATER_LIMIT)
        self.problem, self.count, self.observation, self.limit = problem, count, observation, episode_limit
        self.agents = WaterAgents(
            np.zeros((count, 4), dtype=np.int64), *(np.zeros(count, dtype=np.int64) for _ in range(2)),
            np.full(count, -1), np.ones(count, dtype=np.uint8),
        )  # fmt: skip
        self.scratch, self.carried = problem.scratch(), problem.carried
        self.episodes = np.zeros(count, dtype=np.int64)
        self.event, self.label = (np.zeros(count, dtype=np.int64) for _ in range(2))
        self._only = np.repeat(problem.tables.first_u, count) if len(problem.machines) == 1 else None
        self.together = FASTEST + float(np.abs(problem.physics.balls[..., 2:]).max())

    def space(self) -> spaces.Space[Any]:
        """Return the space of one observation."""
        physics, n_u = self.problem.physics, self.problem.tables.n_u
        if self.observation == "states":
            return spaces.MultiDiscrete([len(physics.x), len(physics.y), WATER_LIMIT + 1, n_u + 1])
        return spaces.Box(-1.0, 1.0, (4 + 4 * len(physics.colour) + n_u,), dtype=np.float32)

    def begin(self, mask: Array, anew: bool) -> None:
        """Begin an episode in some environments; `anew` forgets all episodes before."""
        if anew:
            self.episodes[mask], self.agents.first[mask] = 0, -1
        water_environments.begin(self.problem.physics, self.carried, self.agents, mask, self._first_u())
        self.episodes[mask] += 1

    def _first_u(self) -> Array:
        if self._only is not None:
            return self._only
        first: Array = self.problem.tables.first_u[self.episodes % len(self.problem.machines)]
        return first

    def move(self, actions: Array) -> tuple[Array, Array, Array]:
        """Move all agents; return what was paid, and which episodes are terminated or truncated."""
        reward, ends, cut = np.empty(self.count), *(np.empty(self.count, dtype=np.bool_) for _ in range(2))
        first_u = self._first_u()
        self.episodes += self.agents.over != 0
        water_environments.step(
            self.problem.physics, self.problem.tables, self.carried, self.limit, actions, first_u, self.agents,
            self.scratch, reward, ends, cut, self.event, self.label,
        )  # fmt: skip
        return reward, ends, cut

    def observe(self) -> Array:
        """Return what all agents see."""
        if self.observation == "states":
            states: Array = self.agents.state.copy()
            return states
        problem = self.problem
        out = np.empty((self.count, 4 + 4 * len(problem.world.balls) + problem.tables.n_u), dtype=np.float32)
        water_environments.observe(
            problem.physics, self.agents.state, 1 / problem.world.side, 1 / FASTEST, 1 / self.together, out
        )
        return out


class WaterEnv(gymnasium.Env[Array, int]):
    """One agent in a water world with a reward machine; episodes play several machines in turn.

    Parameters
    ----------
    problem : WaterProblem, optional
        A compiled problem; otherwise `build_water_problem` makes one of the other arguments.
    observation : {"numbers", "states"}
        What the agent sees.
    episode_limit : int
        Steps after which an episode is truncated, at most 600.
    counterfactuals : bool
        Tell in ``info["counterfactuals"]`` what the same move would have meant in every machine state; `in_state` gives
        the observation of another one.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(
        self,
        problem: WaterProblem | None = None,
        *,
        observation: str = "numbers",
        episode_limit: int = WATER_LIMIT,
        counterfactuals: bool = False,
        **settings: Any,
    ) -> None:
        check_truth("counterfactuals", counterfactuals)
        self.problem = build_water_problem(problem, settings)
        self._batch = WaterBatch(self.problem, 1, observation, episode_limit)
        self.counterfactuals, self.render_mode = counterfactuals, None
        self.observation_space = self._batch.space()
        self.action_space = cast("spaces.Space[int]", spaces.Discrete(len(WATER_ACTIONS)))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin an episode; no label is read there."""
        check_reset(seed, options, ())
        super().reset(seed=None if seed is None else int(seed))
        self._batch.begin(np.ones(1, dtype=np.bool_), anew=seed is not None)
        self._batch.label[0] = 0
        return self._batch.observe()[0], self._info(success=False)

    def step(self, action: int) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Push, move, read the label; let the machine pay and change its state."""
        if not self.action_space.contains(action):
            numbered = ", ".join(f"{k} ({name})" for k, name in enumerate(WATER_ACTIONS))
            raise ConfigError(f"action {shown(action)}: must be a number of {numbered}")
        batch = self._batch
        if batch.agents.over[0]:
            raise ConfigError("no episode is on; call reset() first")
        u = int(batch.agents.state[0, 3])
        reward, ends, cut = batch.move(np.array([action], dtype=np.int64))
        event = int(batch.event[0])
        info = self._info(success=self.problem.tables.outcome[event, u] == SUCCESS)
        if self.counterfactuals:
            info["counterfactuals"] = self._counterfactuals(event)
        return batch.observe()[0], float(reward[0]), bool(ends[0]), bool(cut[0]), info

    def in_state(self, observation: Array, state: int) -> Array:
        """Return an observation as it would be in another machine state; the number of states stands for a terminal."""
        seen, n_u = observation.copy(), self.problem.tables.n_u
        check_whole("state", state, 0, n_u)
        if self._batch.observation == "states":
            seen[3] = state
            return seen
        seen[-n_u:] = np.arange(n_u) == state
        return seen

    def _counterfactuals(self, event: int) -> dict[str, Array]:
        """Return what a move means in every machine state: arrays over states."""
        tables = self.problem.tables
        return {
            "state": np.arange(tables.n_u),
            "next_state": tables.delta[event].astype(np.int64),
            "reward": self.problem.paid(event, self._batch.scratch),
            "terminated": tables.outcome[event] != LIVE,
        }

    def _info(self, success: bool) -> dict[str, Any]:
        batch, problem = self._batch, self.problem
        x, y, _, u = batch.agents.state[0].tolist()
        return {
            "labels": tuple(colours_of(int(batch.label[0]))),
            "rm_state": "(terminal)" if u == problem.tables.n_u else problem.states[u][1],
            "task": (int(batch.episodes[0]) - 1) % len(problem.machines),
            "position": (float(problem.physics.x[x, 0]), float(problem.physics.y[y, 0])),
            "success": bool(success),
        }


class WaterVectorEnv(VectorEnv[Array, Array, Array]):
    """Many agents in one water world, moved by a kernel; the same transitions as so many `WaterEnv` in a row.

    An environment whose episode ended begins another on the next step, which ignores its action. ``info`` holds arrays:
    the machine state (``rm_state``) and the colours of the label, a bit each (``labels``).
    """

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        num_envs: int = 1,
        problem: WaterProblem | None = None,
        *,
        observation: str = "states",
        episode_limit: int = WATER_LIMIT,
        **settings: Any,
    ) -> None:
        check_whole("num_envs", num_envs, 1, 10**7)
        self.problem = build_water_problem(problem, settings)
        self._batch = WaterBatch(self.problem, num_envs, observation, episode_limit)
        self.num_envs, self.render_mode = num_envs, None
        self.single_observation_space = self._batch.space()
        self.single_action_space = spaces.Discrete(len(WATER_ACTIONS))
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin an episode in every environment, or in those that ``options["reset_mask"]`` marks."""
        seeds = seed if isinstance(seed, list | tuple) else [seed]
        for one in seeds:
            given = check_reset(one, options, ("reset_mask",))
        super().reset(seed=None if seed is None or isinstance(seed, list | tuple) else int(seed))
        mask = np.asarray(given.get("reset_mask", np.ones(self.num_envs, dtype=np.bool_)))
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            raise ConfigError(f"reset_mask: must be {self.num_envs} truth values")
        self._batch.begin(mask, anew=seed is not None)
        self._batch.label[mask] = 0
        return self._batch.observe(), self._infos()

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Move every agent."""
        given = np.asarray(actions)
        fits = given.shape == (self.num_envs,) and given.dtype.kind in "iu"
        if not fits or given.min() < 0 or given.max() >= len(WATER_ACTIONS):
            raise ConfigError(f"actions: must be {self.num_envs} whole numbers from 0 to {len(WATER_ACTIONS) - 1}")
        reward, ends, cut = self._batch.move(given.astype(np.int64, copy=False))
        return self._batch.observe(), reward, ends, cut, self._infos()

    def _infos(self) -> dict[str, Any]:
        batch = self._batch
        return {"rm_state": batch.agents.state[:, 3].copy(), "labels": batch.label.copy()}


if "fastrm/WaterWorld-v0" not in gymnasium.registry:
    gymnasium.register(
        "fastrm/WaterWorld-v0", entry_point="fastrm.env:WaterEnv", vector_entry_point="fastrm.env:WaterVectorEnv",
        disable_env_checker=True,
    )  # fmt: skip
