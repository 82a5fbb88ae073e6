"""Gymnasium environments: any map and any machine, one at a time or thousands at once. Needs gymnasium.

An observation is a pair (cell, machine state), numbered as in the compiled problem; machine state ``n_u`` stands for
every terminal. An episode is *terminated* when the machine reaches a terminal, and *truncated* after `episode_limit`
steps; both can be true of one step. ``info`` says what stands on the cell (``labels``) and which state the machine is
in (``rm_state``).

>>> import gymnasium
>>> import fastrm.env  # makes the names known; or gymnasium.make("fastrm.env:fastrm/Craft-v0")
>>> env = gymnasium.make("fastrm/Craft-v0", grid="1a1b", size=9, machine="a-b")
>>> observation, info = env.reset(seed=0)
>>> info["rm_state"], info["labels"]
('u0', ())
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from fastrm.compiler import Problem, compile
from fastrm.config import check_whole
from fastrm.errors import ConfigError
from fastrm.experiment import SUITES
from fastrm.features import ACTIONS
from fastrm.kernels import vector
from fastrm.kernels.tables import LIVE, SUCCESS
from fastrm.machine import Kind, RewardMachine
from fastrm.maps import GridMap

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, VectorEnv
except ImportError:
    raise ConfigError("environments need gymnasium; install it with: pip install 'fastrm[gym]'") from None

Array = npt.NDArray[Any]
OFFICE_TASK = """
name    coffee and mail to the office
states  nothing coffee mail both
start   nothing
success done
failure broken
nothing -> broken  when n          reward 0
nothing -> coffee  when f          reward 0
nothing -> mail    when e          reward 0
nothing -> nothing otherwise       reward 0
coffee  -> broken  when n          reward 0
coffee  -> both    when e          reward 0
coffee  -> coffee  otherwise       reward 0
mail    -> broken  when n          reward 0
mail    -> both    when f          reward 0
mail    -> mail    otherwise       reward 0
both    -> broken  when n          reward 0
both    -> done    when g          reward 1
both    -> both    otherwise       reward 0
"""


def build_problem(
    grid: GridMap | str | Path = "2a2b2c",
    machine: RewardMachine | str | Path | Sequence[RewardMachine] = "a-b-c",
    *,
    size: int = 41,
    map_seed: int = 0,
    kind: Kind = "boolean",
    **settings: Any,
) -> Problem:
    """Compile a map and a machine as people name them.

    Parameters
    ----------
    grid : GridMap, str or Path
        A map, the path of a map file, or a setup such as ``2a2b2c``, placed at random by `size` and `map_seed`.
    machine : RewardMachine, str, Path or list of machines
        A machine, the path of a machine file, or a sequence such as ``a-b-c`` in the given `kind`.
    **settings
        Further arguments of `fastrm.compile`, such as ``metric="geodesic"``.
    """
    if isinstance(grid, str) and re.fullmatch(r"([0-9]+[a-zH])+", grid):
        grid = GridMap.generate(grid, size=size, seed=map_seed)
    elif isinstance(grid, str | Path):
        grid = GridMap.load(grid)
    if isinstance(machine, str) and re.fullmatch(r"[A-Za-z](-[A-Za-z])*", machine):
        machine = RewardMachine.sequence(machine, kind=kind)
    elif isinstance(machine, str | Path):
        machine = RewardMachine.load(machine)
    return compile(grid, machine if isinstance(machine, RewardMachine) else list(machine), **settings)


class RewardMachineEnv(gymnasium.Env[Array, int]):
    """One agent on a map with a reward machine; episodes play several machines in turn.

    Parameters
    ----------
    problem : Problem, optional
        A compiled problem; otherwise what `build_problem` makes of the other arguments.
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
        self.problem = build_problem(**settings) if problem is None else problem
        check_whole("episode_limit", episode_limit, 1, 2**31)
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ConfigError(f"render_mode={render_mode!r}: must be ansi or rgb_array")
        self.episode_limit, self.counterfactuals, self.render_mode = episode_limit, counterfactuals, render_mode
        tables = self.problem.tables
        self.observation_space = spaces.MultiDiscrete([len(tables.next_s), tables.n_u + 1])
        self.action_space = cast("spaces.Space[int]", spaces.Discrete(len(ACTIONS)))
        self._episodes, self._task, self._t = 0, 0, 0
        self._s, self._u = tables.start, int(tables.first_u[0])
        self._labels: tuple[str, ...] = ()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin an episode at the start cell; no label is read there."""
        super().reset(seed=seed)
        tables = self.problem.tables
        self._task = self._episodes % len(tables.first_u)
        self._s, self._u = tables.start, int(tables.first_u[self._task])
        self._t, self._labels = 0, ()
        self._episodes += 1
        return self._observation(), self._info()

    def step(self, action: int) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Move; read the label of the cell reached; let the machine pay and change its state."""
        if not self.action_space.contains(action):
            raise ConfigError(f"action {action!r}: must be 0 (up), 1 (right), 2 (down) or 3 (left)")
        tables, before = self.problem.tables, self._u
        if before == tables.n_u:
            raise ConfigError("the episode is over; call reset() first")
        e = int(tables.event[self._s, action])
        reward, outcome = float(tables.reward[e, before]), int(tables.outcome[e, before])
        self._s, self._u = int(tables.next_s[self._s, action]), int(tables.delta[e, before])
        self._t += 1
        tile = self._tile()
        self._labels = (tile,) if tile in self.problem.terrain.grid.objects else ()
        info = self._info(outcome == SUCCESS)
        if self.counterfactuals:
            info["counterfactuals"] = counterfactuals_of(self.problem, e)
        return self._observation(), reward, outcome != LIVE, self._t >= self.episode_limit, info

    def _tile(self) -> str:
        row, column = self.problem.terrain.cells[self._s]
        tile: str = self.problem.terrain.grid.rows[row][column]
        return tile

    def _observation(self) -> Array:
        return np.array([self._s, self._u], dtype=np.int64)

    def _info(self, success: bool = False) -> dict[str, Any]:
        row, column = self.problem.terrain.cells[self._s].tolist()
        over = self._u == self.problem.tables.n_u
        return {
            "labels": self._labels,
            "rm_state": "(terminal)" if over else self.problem.states[self._u][1],
            "task": self._task,
            "cell": (row, column),
            "success": success,
        }

    def render(self) -> Any:
        """Return the map with the agent, as text or as an image."""
        if self.render_mode is None:
            return None
        rows = [list(line) for line in self.problem.terrain.grid.rows]
        row, column = self.problem.terrain.cells[self._s].tolist()
        if self.render_mode == "ansi":
            rows[row][column] = "@"
            return "\n".join("".join(line) for line in rows) + "\n"
        return _paint(rows, row, column)


def counterfactuals_of(problem: Problem, event: int) -> dict[str, Array]:
    """Return what a move of an event means in every machine state: arrays over states, terminals told apart."""
    tables = problem.tables
    n_u = tables.n_u
    return {
        "state": np.arange(n_u),
        "next_state": tables.delta[event, :n_u].astype(np.int64),
        "reward": tables.reward[event, :n_u].copy(),
        "terminated": tables.outcome[event, :n_u] != LIVE,
    }


_PAINT = {"X": (110, 110, 110), " ": (255, 255, 255), "A": (235, 235, 235)}
_OBJECTS = ((0, 114, 178), (230, 159, 0), (0, 158, 115), (204, 121, 167), (86, 180, 233), (213, 94, 0), (240, 228, 66))
_PIXELS = 12


def _paint(rows: Sequence[Sequence[str]], row: int, column: int) -> Array:
    """Return the map as an image, the agent black."""
    letters = sorted({tile for line in rows for tile in line} - set(_PAINT))
    colours = {letter: _OBJECTS[k % len(_OBJECTS)] for k, letter in enumerate(letters)} | _PAINT
    small = np.array([[colours[tile] for tile in line] for line in rows], dtype=np.uint8)
    image = small.repeat(_PIXELS, axis=0).repeat(_PIXELS, axis=1)
    inside = slice(_PIXELS // 4, _PIXELS - _PIXELS // 4)
    image[row * _PIXELS : (row + 1) * _PIXELS, column * _PIXELS : (column + 1) * _PIXELS][inside, inside] = 0
    return image


class RewardMachineVectorEnv(VectorEnv[Array, Array, Array]):
    """Many agents on one problem, moved by a kernel; the same transitions as so many `RewardMachineEnv` in a row.

    An environment whose episode ended is set back on the next step, which ignores its action. ``info`` holds arrays:
    the machine state (``rm_state``) and the ASCII code of the object stood on, 0 for none (``labels``).
    """

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self, num_envs: int = 1, problem: Problem | None = None, *, episode_limit: int = 1000, **settings: Any
    ) -> None:
        check_whole("num_envs", num_envs, 1, 10**7)
        check_whole("episode_limit", episode_limit, 1, 2**31)
        self.problem = build_problem(**settings) if problem is None else problem
        self.num_envs, self.episode_limit, self.render_mode = num_envs, episode_limit, None
        tables = self.problem.tables
        self.single_observation_space = spaces.MultiDiscrete([len(tables.next_s), tables.n_u + 1])
        self.single_action_space = spaces.Discrete(len(ACTIONS))
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)
        codes = self.problem.terrain.labels()
        objects = np.array([ord(letter) for letter in self.problem.terrain.grid.objects], dtype=np.uint8)
        self._label_of = np.where(np.isin(codes, objects), codes, 0).astype(np.uint8)
        self._first = tables.first_u.astype(np.int64)
        self._episode = np.zeros(num_envs, dtype=np.int64)
        self._s, self._u, self._t, self._event = (np.zeros(num_envs, dtype=np.int64) for _ in range(4))
        self._over = np.zeros(num_envs, dtype=np.uint8)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin an episode in every environment."""
        super().reset(seed=seed if isinstance(seed, int) else None)
        self._u[:] = self._first[self._episode % len(self._first)]
        self._episode += 1
        self._s[:], self._t[:], self._over[:] = self.problem.tables.start, 0, 0
        return self._observations(), self._infos(np.zeros(self.num_envs, dtype=np.bool_))

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Move every agent."""
        chosen = np.asarray(actions, dtype=np.int64)
        if chosen.shape != (self.num_envs,) or chosen.min() < 0 or chosen.max() >= len(ACTIONS):
            raise ConfigError(f"actions: must be {self.num_envs} numbers from 0 to {len(ACTIONS) - 1}")
        begins = self._over != 0
        self._episode += begins
        next_first = self._first[(self._episode - 1) % len(self._first)]
        reward, ends, cut = np.empty(self.num_envs), *(np.empty(self.num_envs, dtype=np.bool_) for _ in range(2))
        vector.step(self.problem.tables, self.episode_limit, chosen, self._s, self._u, next_first, self._t, self._over,
                    reward, ends, cut, self._event)  # fmt: skip
        return self._observations(), reward, ends, cut, self._infos(self._event >= 0)

    def _observations(self) -> Array:
        return np.stack([self._s, self._u], axis=1)

    def _infos(self, moved: Array) -> dict[str, Any]:
        return {"rm_state": self._u.copy(), "labels": np.where(moved, self._label_of[self._s], 0)}


def make_craft(**settings: Any) -> RewardMachineEnv:
    """Make the environment of ``fastrm/Craft-v0``: objects on an open map, a sequence to visit them in."""
    return RewardMachineEnv(**settings)


def make_craft_vector(**settings: Any) -> RewardMachineVectorEnv:
    """Make many of them."""
    return RewardMachineVectorEnv(**settings)


def _office(settings: dict[str, Any]) -> dict[str, Any]:
    if "problem" in settings:
        return settings
    where = next(path for suites in SUITES if (path := suites / "office.map").is_file())
    return {"grid": where, "machine": RewardMachine.parse(OFFICE_TASK, "<office>"), **settings}


def make_office(**settings: Any) -> RewardMachineEnv:
    """Make the environment of ``fastrm/Office-v0``: coffee and mail to the office, nothing broken on the way."""
    return RewardMachineEnv(**_office(settings))


def make_office_vector(**settings: Any) -> RewardMachineVectorEnv:
    """Make many of them."""
    return RewardMachineVectorEnv(**_office(settings))


for _name, _maker in (("fastrm/Craft-v0", "make_craft"), ("fastrm/Office-v0", "make_office")):
    if _name not in gymnasium.registry:
        gymnasium.register(
            _name, entry_point=f"fastrm.env:{_maker}", vector_entry_point=f"fastrm.env:{_maker}_vector",
            disable_env_checker=True,
        )  # fmt: skip
