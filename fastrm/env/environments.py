"""One agent, or many, as a Gymnasium environment.

An observation tells where the agent is and which state the machine is in. On maps it is a pair (cell, machine state),
numbered as in the compiled problem; machine state ``n_u`` stands for every terminal. `fastrm.env.agents` says what
is seen in Water world. An episode is *terminated* when the machine reaches a terminal, and *truncated* after
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

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from fastrm.arrays import Array
from fastrm.checks import check_known, check_truth, check_whole, refuse_given
from fastrm.env.agents import agents_of
from fastrm.errors import ConfigError, shown
from fastrm.experiments import suite_file
from fastrm.kernels.contracts import SUCCESS
from fastrm.machines import RewardMachine, find_machine
from fastrm.problems import Problem, compile
from fastrm.worlds import WaterWorld, check_water, find_grid, split_world

GRID_SETTINGS, MACHINE_SETTINGS = ("size", "map_seed"), ("kind", "terminal_reward", "closer", "offset")
COMPILE_SETTINGS = ("profile", "metric", "slip", "gamma", "start", "features", "labels")
WATER_SETTINGS = ("world", "world_seed", "velocity")
SETTINGS = ("grid", *GRID_SETTINGS, *WATER_SETTINGS, "machine", *MACHINE_SETTINGS, *COMPILE_SETTINGS)
NAMED = "given by name or file, not with an object; leave it out"

OFFICE: dict[str, Any] = {"grid": suite_file("office.map"), "machine": suite_file("office.rm")}
WATER: dict[str, Any] = {"world": None, "machine": "a-b"}
POINT: dict[str, Any] = {"grid": "point 1a1b1c", "machine": "a-b-c"}


def build_problem(problem: Problem | None, settings: dict[str, Any]) -> Problem:
    """Return a compiled problem, or compile a world and a machine as people name them.

    Settings are ``grid`` (a map or world, its file, a world in a file such as ``worlds.json:M3``, a setup such as
    ``2a2b2c``, placed by ``size`` and ``map_seed``, or ``water``, with ``map_seed``), ``machine`` (a machine, a list of
    them, a machine file, or a task such as ``a-b-c`` in a ``kind``, with ``terminal_reward``, ``closer`` and
    ``offset``), ``profile``, ``metric``, ``slip``, ``start``, ``features``, ``labels`` and ``gamma`` (of potentials).
    In place of ``grid``, ``world`` is a `WaterWorld` or its file; it is generated from ``world_seed`` if left out.
    ``velocity`` is that of its agent at the start.
    """
    for name in settings:
        check_known(name, SETTINGS, settings)
    if problem is not None:
        if settings:
            raise ConfigError(f"{', '.join(settings)}: a compiled problem has its own; leave it out")
        return problem
    if "grid" not in settings and settings.keys() & {*WATER_SETTINGS}:
        grid: Any = _find_water(settings)
    else:
        grid = settings.get("grid", "2a2b2c")
        _refuse(settings, WATER_SETTINGS, "goes without a grid; leave one of them out")
    if isinstance(grid, str | Path):
        grid = find_grid(grid, size=settings.get("size"), seed=settings.get("map_seed"))
    else:
        _refuse(settings, GRID_SETTINGS, f"goes with a grid {NAMED}")
    given = {name: settings[name] for name in COMPILE_SETTINGS if name in settings}
    built: Problem = compile(grid, _find_machines(settings), **given)
    return built


def _find_water(settings: dict[str, Any]) -> WaterWorld:
    """Load or generate a water world."""
    world, velocity = settings.get("world"), settings.get("velocity", (0.0, 0.0))
    if world is None:
        return WaterWorld.generate(settings.get("world_seed", 0), velocity)
    if settings.get("world_seed") is not None:
        raise ConfigError("world_seed goes with a generated world, not with one that is given; leave it out")
    if isinstance(world, str | Path):
        path, name = split_world(world)
        return WaterWorld.load(path, name or None, velocity)
    if "velocity" in settings:
        raise ConfigError("velocity goes with a world given by file or seed, not with an object; leave it out")
    return check_water(world)


def _find_machines(settings: dict[str, Any]) -> list[RewardMachine]:
    """Return the machine or machines that settings name."""
    machine = settings.get("machine", "a-b-c")
    named: dict[str, Any] = {name: settings.get(name) for name in MACHINE_SETTINGS}
    machines = list(machine) if isinstance(machine, list | tuple) else [machine]
    if not all(isinstance(one, RewardMachine | str | Path) for one in machines):
        raise ConfigError(f"machine={shown(machine)}: must be a machine, its file, a task such as a-b-c, or a list")
    if not any(isinstance(one, str | Path) for one in machines):
        _refuse(settings, MACHINE_SETTINGS, f"goes with a machine {NAMED}")
    return [one if isinstance(one, RewardMachine) else find_machine(one, **named) for one in machines]


def _refuse(settings: dict[str, Any], names: Sequence[str], because: str) -> None:
    refuse_given({name: settings.get(name) for name in names}, because)


def check_reset(seed: object, options: object, known: Sequence[str]) -> Mapping[str, Any]:
    """Raise ConfigError unless an episode can begin with a seed and with options; return the options."""
    if seed is not None:
        check_whole("seed", seed, 0, 2**128 - 1)
    if options is not None and not isinstance(options, Mapping):
        raise ConfigError(f"options={shown(options)}: must be a table")
    for name in options or {}:
        check_known(name, known, options or {})
    return options or {}


class RewardMachineEnv(gymnasium.Env[Array, int]):
    """One agent in a world with a reward machine; episodes play several machines in turn.

    Parameters
    ----------
    problem : Problem, optional
        A compiled problem, of a map, a table or a water world; otherwise `build_problem` makes one of the other
        arguments.
    observation : {"states", "numbers"}, optional
        What the agent sees: whole numbers, or numbers from -1 to 1 and a one-hot of the machine state, which networks
        can learn from. They are the default in Water world.
    episode_limit : int, optional
        Steps after which an episode is truncated: 1000, in Water world 600, where it is the most there can be.
    counterfactuals : bool
        Whether ``info["counterfactuals"]`` says what the same move would have meant in every machine state.
    forces : bool
        On a point mass, whether actions are forces, two numbers from -1 to 1, in place of the numbers of actions.
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
        forces: bool = False,
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        check_truth("counterfactuals", counterfactuals)
        check_truth("forces", forces)
        self.problem = build_problem(problem, settings)
        self._agents, self._over = agents_of(self.problem, None, observation, episode_limit), True
        if counterfactuals:
            self._agents.keep_rewards()
        if render_mode is not None:
            self._check_render_mode(render_mode)
        self.metadata = {**self.metadata, "render_modes": list(self._agents.render_modes)}  # type: ignore[misc]
        self.episode_limit, self.counterfactuals, self.render_mode = self._agents.limit, counterfactuals, render_mode
        self.observation_space, self.forces = self._agents.space, forces
        space = self._agents.force_space() if forces else spaces.Discrete(self.problem.n_actions)
        self.action_space = cast("spaces.Space[int]", space)

    def _check_render_mode(self, mode: object) -> None:
        if not isinstance(mode, str) or mode not in self.metadata["render_modes"]:
            raise ConfigError(f"render_mode={shown(mode)}: must be ansi or rgb_array")
        if mode not in self._agents.render_modes:
            no_layout = "has no layout, so it cannot be drawn; give layout to TableWorld, or leave render_mode out"
            why = "is drawn as text; use ansi" if self._agents.render_modes else no_layout
            raise ConfigError(f"render_mode={shown(mode)}: {self.problem.source} {why}")

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
        if self.forces:
            action = int(self._agents.push([action])[0])
        elif not self.action_space.contains(action):
            numbered = ", ".join(f"{k} ({name})" for k, name in enumerate(self.problem.actions))
            raise ConfigError(f"action {shown(action)}: must be a number of {numbered}")
        if self._over:
            raise ConfigError("no episode is on; call reset() first")
        agents, u = self._agents, self._agents.state[0, -1]
        reward, terminated, truncated = agents.step(action, self.np_random)
        self._over, tables, event = terminated or truncated, agents.problem.tables, agents.event[0]
        info = self._info(success=bool(tables.outcome[event, u] == SUCCESS))
        if self.counterfactuals:
            info["counterfactuals"] = {name: column[0] for name, column in agents.counterfactuals().items()}
        return agents.observe()[0], reward, terminated, truncated, info

    @property
    def machines(self) -> tuple[RewardMachine, ...]:
        """The machines that episodes play."""
        return self.problem.machines

    @property
    def machine_state(self) -> int:
        """The number of the machine state, the number of states after an end."""
        return int(self._agents.state[0, -1])

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


class RewardMachineVectorEnv(VectorEnv[Array, Array, Array]):
    """Many agents on one problem, moved by a kernel; the same transitions as those of as many `RewardMachineEnv`.

    An environment whose episode ended begins another on the next step, which ignores its action. ``info`` holds arrays:
    the machine state (``rm_state``) and what holds after the move (``labels``). On a map that is the ASCII code of the
    object stood on, 0 for none. In a `TableWorld` it has a bit for each label, in alphabetical order, and in Water
    world a bit for each colour. If asked for, ``counterfactuals`` have a row for each environment; those that
    ``_counterfactuals`` does not mark only began an episode.

    Parameters are those of `RewardMachineEnv`, except `render_mode`; the default of `observation` is "states".
    """

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        num_envs: int = 1,
        problem: Problem | None = None,
        *,
        observation: str | None = None,
        episode_limit: int | None = None,
        forces: bool = False,
        counterfactuals: bool = False,
        **settings: Any,
    ) -> None:
        check_whole("num_envs", num_envs, 1, 10**7)
        check_truth("forces", forces)
        check_truth("counterfactuals", counterfactuals)
        self.problem = build_problem(problem, settings)
        self._agents = agents_of(self.problem, num_envs, observation, episode_limit)
        self.counterfactuals = counterfactuals
        if counterfactuals:
            self._agents.keep_rewards()
        self._agents.labels()  # refuses a world with more labels than bits
        self.num_envs, self.episode_limit, self.render_mode = num_envs, self._agents.limit, None
        self.single_observation_space, self.forces = self._agents.space, forces
        self.single_action_space = self._agents.force_space() if forces else spaces.Discrete(self.problem.n_actions)
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
        actions = self._agents.push(actions) if self.forces else actions
        given, n = np.asarray(actions), self.problem.n_actions
        fits = given.shape == (self.num_envs,) and given.dtype.kind in "iu"
        if not fits or given.min() < 0 or given.max() >= n:
            raise ConfigError(f"actions: must be {self.num_envs} whole numbers from 0 to {n - 1}")
        results = self._agents.move(given.astype(np.int64, copy=False), self.np_random)
        info = self._infos()
        if self.counterfactuals:
            info["counterfactuals"], info["_counterfactuals"] = self._agents.counterfactuals(), self._agents.event >= 0
        return self._agents.observe(), *results, info

    def _infos(self) -> dict[str, Any]:
        return {"rm_state": self._agents.state[:, -1].copy(), "labels": self._agents.labels()}


def add_usual(settings: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    """Return settings with the usual world and task of an environment where neither they nor a problem are given."""
    return settings if settings.get("problem") is not None else {**usual, **settings}


def make_craft(**settings: Any) -> RewardMachineEnv:
    """Make the environment of ``fastrm/Craft-v0``: objects on an open map, a sequence to visit them in."""
    return RewardMachineEnv(**settings)


def make_craft_vector(**settings: Any) -> RewardMachineVectorEnv:
    """Make many environments of ``fastrm/Craft-v0``."""
    return RewardMachineVectorEnv(**settings)


def make_office(**settings: Any) -> RewardMachineEnv:
    """Make the environment of ``fastrm/Office-v0``: coffee and mail to the office, nothing broken on the way."""
    return RewardMachineEnv(**add_usual(settings, OFFICE))


def make_office_vector(**settings: Any) -> RewardMachineVectorEnv:
    """Make many environments of ``fastrm/Office-v0``."""
    return RewardMachineVectorEnv(**add_usual(settings, OFFICE))


def make_water(**settings: Any) -> RewardMachineEnv:
    """Make the environment of ``fastrm/WaterWorld-v0``: balls in a box, colours to touch in order."""
    return RewardMachineEnv(**add_usual(settings, WATER))


def make_water_vector(**settings: Any) -> RewardMachineVectorEnv:
    """Make many environments of ``fastrm/WaterWorld-v0``."""
    return RewardMachineVectorEnv(**add_usual(settings, WATER))


def make_point(**settings: Any) -> RewardMachineEnv:
    """Make the environment of ``fastrm/PointMass-v0``: discs in a box, forces that push a point to them in order."""
    return RewardMachineEnv(**add_usual(settings, POINT) | {"forces": settings.get("forces", True)})


def make_point_vector(**settings: Any) -> RewardMachineVectorEnv:
    """Make many environments of ``fastrm/PointMass-v0``."""
    return RewardMachineVectorEnv(**add_usual(settings, POINT) | {"forces": settings.get("forces", True)})


_MAKERS = ("Craft", "craft"), ("Office", "office"), ("WaterWorld", "water"), ("PointMass", "point")
for _name, _maker in _MAKERS:
    if f"fastrm/{_name}-v0" not in gymnasium.registry:
        gymnasium.register(
            f"fastrm/{_name}-v0", entry_point=f"fastrm.env:make_{_maker}", disable_env_checker=True,
            vector_entry_point=f"fastrm.env:make_{_maker}_vector",
        )  # fmt: skip
