"""Gymnasium environments: any map and any machine, one at a time or thousands at once. Needs gymnasium.

An observation is a pair (cell, machine state), numbered as in the compiled problem; machine state ``n_u`` stands for
every terminal. An episode is *terminated* when the machine reaches a terminal, and *truncated* after `episode_limit`
steps; both can be true of one step. With ``slip`` a move goes sideways now and then, drawn from the environment's
generator. ``info`` says what holds after the move (``labels``: the object on the cell, or the labels of a
`TableWorld`), and which state the machine is in (``rm_state``).

>>> import gymnasium
>>> import fastrm.env  # makes the names known; or gymnasium.make("fastrm.env:fastrm/Craft-v0")
>>> env = gymnasium.make("fastrm/Craft-v0", grid="1a1b", size=9, machine="a-b")
>>> observation, info = env.reset(seed=0)
>>> info["rm_state"], info["labels"]
('u0', ())
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_truth, check_whole
from fastrm.env.named_problems import build_problem, check_reset, draw_starts, office
from fastrm.errors import ConfigError, MissingExtra, shown
from fastrm.kernels.contracts import LIVE
from fastrm.plots import paint, show
from fastrm.problems import Episode, Problem, slide
from fastrm.worlds import layout_of

try:
    import gymnasium
    from gymnasium import spaces
except ImportError:
    raise MissingExtra("environments need gymnasium; install it with: pip install 'fastrm[gym]'") from None


class RewardMachineEnv(gymnasium.Env[Array, int]):
    """One agent on a map with a reward machine; episodes play several machines in turn.

    Parameters
    ----------
    problem : Problem, optional
        A compiled problem; otherwise `build_problem` makes one of the other arguments.
    episode_limit : int
        Steps after which an episode is truncated.
    counterfactuals : bool
        Tell in ``info["counterfactuals"]`` what the same move would have meant in every machine state.
    render_mode : {"ansi", "rgb_array"}, optional
        How `render` shows the map.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 8}

    def __init__(
        self,
        problem: Problem | None = None,
        *,
        episode_limit: int = 1000,
        counterfactuals: bool = False,
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        check_truth("counterfactuals", counterfactuals)
        self.problem = build_problem(problem, settings)
        check_whole("episode_limit", episode_limit, 1, 2**31)
        if render_mode is not None and (
            not isinstance(render_mode, str) or render_mode not in self.metadata["render_modes"]
        ):
            raise ConfigError(f"render_mode={shown(render_mode)}: must be ansi or rgb_array")
        if render_mode is not None and layout_of(self.problem.terrain.world) is None:
            raise ConfigError(
                f"render_mode={shown(render_mode)}: {self.problem.source} has no layout, so it cannot be drawn; give "
                "layout to TableWorld, or leave render_mode out"
            )
        self.episode_limit, self.counterfactuals, self.render_mode = episode_limit, counterfactuals, render_mode
        tables = self.problem.tables
        self.observation_space = spaces.MultiDiscrete([len(tables.next_s), tables.n_u + 1])
        self.action_space = cast("spaces.Space[int]", spaces.Discrete(self.problem.n_actions))
        self._episodes, self._over, self._episode = 0, True, Episode(self.problem)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin an episode in a start cell, or in ``options["start"]``, such as (1, 2); no label is read there."""
        wanted = check_reset(seed, options, ("start",)).get("start")
        super().reset(seed=None if seed is None else int(seed))
        if seed is not None:
            self._episodes = 0  # a seed repeats everything, the rotation of tasks too
        start = int(draw_starts(self.problem, wanted, 1, self.np_random)[0])
        self._episode = Episode(self.problem, self._episodes % len(self.problem.tables.first_u), start)
        self._episodes, self._over = self._episodes + 1, False
        return self._observation(), self._info()

    def step(self, action: int) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Move; read the label of the cell reached; let the machine pay and change its state."""
        if not self.action_space.contains(action):
            numbered = ", ".join(f"{k} ({name})" for k, name in enumerate(self.problem.terrain.actions))
            raise ConfigError(f"action {shown(action)}: must be a number of {numbered}")
        if self._over:
            raise ConfigError("no episode is on; call reset() first")
        episode = self._episode
        episode.step(int(slide(self.problem, np.array(action), self.np_random)))
        info = self._info()
        if self.counterfactuals:
            info["counterfactuals"] = counterfactuals_of(self.problem, episode.event)
        truncated = episode.steps >= self.episode_limit
        self._over = episode.terminated or truncated
        return self._observation(), episode.reward, episode.terminated, truncated, info

    def _observation(self) -> Array:
        return np.array([self._episode.s, self._episode.u], dtype=np.int64)

    def _info(self) -> dict[str, Any]:
        episode = self._episode
        return {
            "labels": episode.labels,
            "rm_state": episode.state,
            "task": episode.task,
            "cell": episode.cell,
            "success": episode.success,
        }

    def render(self) -> Any:
        """Return the map with the agent, as text or as an image."""
        if self.render_mode is None:
            return None
        return {"ansi": show, "rgb_array": paint}[self.render_mode](self.problem.grid, *self._episode.cell)


def counterfactuals_of(problem: Problem, event: int) -> dict[str, Array]:
    """Return what a move of an event means in every machine state: arrays over states."""
    tables = problem.tables
    n_u = tables.n_u
    return {
        "state": np.arange(n_u),
        "next_state": tables.delta[event, :n_u].astype(np.int64),
        "reward": tables.reward[event, :n_u].copy(),
        "terminated": tables.outcome[event, :n_u] != LIVE,
    }


def make_craft(**settings: Any) -> RewardMachineEnv:
    """Make the environment of ``fastrm/Craft-v0``: objects on an open map, a sequence to visit them in."""
    return RewardMachineEnv(**settings)


def make_office(**settings: Any) -> RewardMachineEnv:
    """Make the environment of ``fastrm/Office-v0``: coffee and mail to the office, nothing broken on the way."""
    return RewardMachineEnv(**office(settings))


for _name, _maker in (("fastrm/Craft-v0", "make_craft"), ("fastrm/Office-v0", "make_office")):
    if _name not in gymnasium.registry:
        gymnasium.register(
            _name, entry_point=f"fastrm.env:{_maker}", vector_entry_point=f"fastrm.env:{_maker}_vector",
            disable_env_checker=True,
        )  # fmt: skip
