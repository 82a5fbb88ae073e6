"""Any environment with any machine: wrappers that pay what a machine says, and one that shapes rewards.

What a machine reads comes from functions of a move, ``f(observation, action, next_observation)``. `labels` returns the
names of what holds after it. A feature is asked for by its function, with the objects behind the move: for ``d(a)``
``features["d"](observation, action, next_observation, "a")``, for ``fuel`` ``features["fuel"](observation, action,
next_observation)``. ``d_only``, ``d_before`` and ``closer`` follow from ``d``, unless they are given too. At the start
of an episode features are asked for with no action and the first observation twice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Literal, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from fastrm.arrays import Array
from fastrm.checks import check_choice, check_number, check_truth, check_whole
from fastrm.errors import ConfigError, shown
from fastrm.kernels.contracts import SUCCESS
from fastrm.machines import RewardMachine
from fastrm.machines.language import OWN, TO_GO
from fastrm.problems import MachineMonitor, Monitors, counterfactuals_of, names_in

Labels = Callable[[Any, Any, Any], Any]
"""What holds after a move: a name, several names or None; of a vector environment truths by name."""
Features = Mapping[str, Callable[..., Any]]
"""Functions that measure a move, by the features or functions of the machine."""


def wrap(
    env: gymnasium.Env[Any, Any],
    machine: RewardMachine,
    labels: Labels,
    features: Features | None = None,
    *,
    observe: Literal["onehot", "dict"] = "onehot",
    counterfactuals: bool = True,
    gamma: float = 0.9,
) -> MachineWrapper:
    """Let a machine say what an environment pays, and when an episode ends.

    Parameters
    ----------
    env : gymnasium.Env
        Any environment; what it pays itself is in ``info["env_reward"]``.
    machine : RewardMachine
        Any machine except a large agenda.
    labels : function
        ``labels(observation, action, next_observation)`` returns the names of what holds after a move: one, several,
        or None.
    features : mapping of functions, optional
        One for each feature that the machine reads: for ``d(a)`` the entry ``"d"``, called with the name ``"a"`` behind
        the move, for ``fuel`` the entry ``"fuel"``. ``d_only``, ``d_before`` and ``closer`` follow from ``d``.
    observe : {"onehot", "dict"}
        How the machine state is observed: behind the observation, as a 1 for it and 0 for the others, all 0 after the
        end; or beside it, as ``{"observation": ..., "state": number}``.
    counterfactuals : bool
        Whether ``info["counterfactuals"]`` says what the move means in every machine state.
    gamma : float
        Discount of the potentials of the machine, if it has any.

    Returns
    -------
    MachineWrapper
        Its ``info`` is that of the environment with ``labels``, ``rm_state``, ``success``, ``env_reward`` and
        ``counterfactuals``.

    Raises
    ------
    ConfigError
        When the machine reads a feature without a function, or an observation cannot take a one-hot.

    Examples
    --------
    >>> import gymnasium, fastrm
    >>> def labels(observation, action, next_observation):
    ...     return "a" if next_observation[0] > 0.05 else None
    >>> env = wrap(gymnasium.make("CartPole-v1"), fastrm.task("a"), labels)
    >>> observation, info = env.reset(seed=0)
    >>> observation.shape, info["rm_state"]
    ((5,), 'u0')
    """
    return MachineWrapper(env, machine, labels, features, observe=observe, counterfactuals=counterfactuals, gamma=gamma)


def machine_monitor(machine: RewardMachine, gamma: float = 0.9) -> MachineMonitor:
    """Return a machine alone, for a loop of your own: ``start()``, then ``step(labels, features)`` after every move.

    Examples
    --------
    >>> import fastrm
    >>> monitor = machine_monitor(fastrm.task("a-b", kind="numeric-boolean"))
    >>> monitor.start({"d(a)": 4, "d(b)": 2})
    'u0'
    >>> monitor.step((), {"d(a)": 3, "d(b)": 3})
    MachineMove(reward=0.1, state='u0', end='')
    """
    return MachineMonitor(machine, gamma)


def wrap_vector(
    env: VectorEnv[Any, Any, Any],
    machine: RewardMachine,
    labels: Labels,
    features: Features | None = None,
    *,
    observe: Literal["onehot", "dict"] = "onehot",
    counterfactuals: bool = True,
    gamma: float = 0.9,
) -> MachineVectorWrapper:
    """Let machines say what the environments of a vector environment pay, as `wrap` does for one.

    Functions get whole batches. `labels` returns truths by name, ``{"a": truths}``, and a feature returns an array,
    with a value for each environment. An episode that ends begins again in the same step: the last observations are in
    ``info["final_obs"]``. So the environment must leave that to this wrapper: make it with
    ``autoreset_mode="Disabled"``.

    Examples
    --------
    >>> import gymnasium, fastrm
    >>> from gymnasium.vector import SyncVectorEnv
    >>> envs = SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 4, autoreset_mode="Disabled")
    >>> envs = wrap_vector(envs, fastrm.task("a"), lambda observations, actions, there: {"a": there[:, 0] > 0.05})
    >>> observations, info = envs.reset(seed=0)
    >>> observations.shape, info["rm_state"].tolist()
    ((4, 5), [0, 0, 0, 0])
    """
    return MachineVectorWrapper(
        env, machine, labels, features, observe=observe, counterfactuals=counterfactuals, gamma=gamma
    )


class _Coupled(ABC):
    """What both wrappers are made of: monitors, functions that read moves, and what is observed."""

    def _couple(
        self, space: spaces.Space[Any], machine: RewardMachine, count: int, labels: Labels, features: Features | None,
        observe: str, counterfactuals: bool, gamma: float,
    ) -> spaces.Space[Any]:  # fmt: skip
        """Check the arguments; return the space of single observations."""
        check_choice("observe", observe, ("onehot", "dict"))
        check_truth("counterfactuals", counterfactuals)
        given = features or {}
        if not callable(labels):
            raise ConfigError(f"labels={shown(labels)}: must be a function of (observation, action, next_observation)")
        if not isinstance(given, Mapping) or not all(map(callable, given.values())):
            raise ConfigError(f"features={shown(features)}: must be a table of functions, such as {{'d': distance}}")
        self.monitors = Monitors(machine, count, gamma, tuple(given))
        self.machines, self.counterfactuals = (self.monitors.machine,), counterfactuals
        self._labels, self._features, self._observe = labels, given, observe
        wanted = (*self.monitors.wanted, *([TO_GO] if self.monitors.reads_to_go else []))
        self._asked = [  # the function of every feature, and what it is given behind the move
            (given[x.name], ()) if x.function == OWN else (given[x.function], x.names) for x in wanted
        ]
        n_u = self.monitors.n_u
        if observe == "dict":
            return spaces.Dict({"observation": space, "state": spaces.Discrete(n_u + 1)})
        if not isinstance(space, spaces.Box) or len(space.shape) != 1:
            raise ConfigError(
                f"observations {shown(space)}: a one-hot goes behind a Box of one dimension; put "
                "gymnasium.wrappers.FlattenObservation around the environment first, or use observe='dict'"
            )
        dtype = np.result_type(space.dtype or np.float32, np.float32)
        self._codes = np.vstack([np.eye(n_u, dtype=dtype), np.zeros((1, n_u), dtype)])
        low, high = space.low.astype(dtype), space.high.astype(dtype)
        return spaces.Box(np.r_[low, self._codes[-1]], np.r_[high, np.ones(n_u, dtype)], dtype=dtype.type)

    @property
    def states(self) -> tuple[str, ...]:
        """The machine states, by number."""
        return self.monitors.machine.states

    @abstractmethod
    def _measure(self, *move: Any) -> list[Any]:
        """Return the features after a move, or at a start."""


class MachineWrapper(gymnasium.Wrapper[Any, Any, Any, Any], _Coupled):
    """An environment in which a machine says what is paid; `wrap` makes one."""

    def __init__(
        self, env: gymnasium.Env[Any, Any], machine: RewardMachine, labels: Labels, features: Features | None = None, *,
        observe: str = "onehot", counterfactuals: bool = True, gamma: float = 0.9,
    ) -> None:  # fmt: skip
        if not isinstance(env, gymnasium.Env):
            raise ConfigError(f"env={shown(env)}: must be a gymnasium.Env, with reset() and step()")
        super().__init__(env)
        space = env.observation_space
        self.observation_space = self._couple(space, machine, 1, labels, features, observe, counterfactuals, gamma)
        self._seen: Any = None

    @property
    def machine_state(self) -> int:
        """The number of the machine state, the number of states after an end."""
        return int(self.monitors.u[0])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode of the environment and of the machine."""
        seen, info = self.env.reset(seed=seed, options=options)
        self._seen = seen.copy() if isinstance(seen, np.ndarray) else seen
        self.monitors.begin(values=self._measure(seen, None, seen) if self.monitors.reads_start else ())
        return self._observed(seen, self.machine_state), {**info, "labels": (), **self._info(success=False)}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Move; let the machine read what holds then, pay, and change its state."""
        monitors, u = self.monitors, self.machine_state
        if u == monitors.n_u:
            raise ConfigError("no episode is on; call reset() first")
        seen, env_reward, terminated, truncated, info = self.env.step(action)
        move = self._seen, action, seen
        held = names_in(self._labels(*move))
        sweep = monitors.step(dict.fromkeys(held, True), self._measure(*move))
        self._seen = seen.copy() if isinstance(seen, np.ndarray) else seen
        info = {**info, "labels": held, **self._info(bool(sweep.outcome[0, u] == SUCCESS)), "env_reward": env_reward}
        if self.counterfactuals:
            every = counterfactuals_of(sweep, bool(terminated))
            info["counterfactuals"] = {name: column[0] for name, column in every.items()}
        now = self.machine_state
        over = bool(terminated) or now == monitors.n_u
        return self._observed(seen, now), float(sweep.reward[0, u]), over, bool(truncated), info

    def in_state(self, observation: Any, state: int) -> Any:
        """Return an observation of the environment as it is in a machine state; the number of states means an end."""
        check_whole("state", state, 0, self.monitors.n_u)
        return self._observed(observation, state)

    def _observed(self, observation: Any, state: int) -> Any:
        if self._observe == "dict":
            return {"observation": observation, "state": np.int64(state)}
        return np.concatenate([observation, self._codes[state]])

    def _info(self, success: bool) -> dict[str, Any]:
        u = self.machine_state
        return {"rm_state": self.states[u] if u < self.monitors.n_u else "(terminal)", "success": success}

    def _measure(self, *move: Any) -> list[Any]:
        return [[function(*move, *names)] for function, names in self._asked]


class MachineVectorWrapper(VectorWrapper, _Coupled):
    """A vector environment in which machines say what is paid; `wrap_vector` makes one."""

    def __init__(
        self, env: VectorEnv[Any, Any, Any], machine: RewardMachine, labels: Labels, features: Features | None = None,
        *, observe: str = "onehot", counterfactuals: bool = True, gamma: float = 0.9,
    ) -> None:  # fmt: skip
        if not isinstance(env, VectorEnv):
            raise ConfigError(f"env={shown(env)}: must be a gymnasium.vector.VectorEnv; use wrap for a single one")
        if env.metadata.get("autoreset_mode") != AutoresetMode.DISABLED:
            raise ConfigError(
                f"env={shown(env)}: begins episodes again by itself, unaware of the machine; make it with "
                "autoreset_mode='Disabled'"
            )
        super().__init__(env)
        space = env.single_observation_space
        space = self._couple(space, machine, env.num_envs, labels, features, observe, counterfactuals, gamma)
        self.single_observation_space, self.observation_space = space, batch_space(space, env.num_envs)
        self._metadata = {**env.metadata, "autoreset_mode": AutoresetMode.SAME_STEP}
        self._seen: Any = None

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in every environment, or in those that ``options["reset_mask"]`` marks."""
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, dtype=np.bool_))
        seen, info = self.env.reset(seed=seed, options=options)
        self._begin(mask, seen)
        return self._observed(seen), {**info, **self._info(np.zeros(self.num_envs, dtype=np.bool_))}

    def step(self, actions: Any) -> tuple[Any, Array, Array, Array, dict[str, Any]]:
        """Move in every environment; where an episode ends the next one begins."""
        monitors, n = self.monitors, self.num_envs
        u = monitors.u.copy()
        seen, env_reward, terminated, truncated, info = self.env.step(actions)
        move = self._seen, actions, seen
        sweep = monitors.step(self._held(self._labels(*move)), self._measure(*move))
        rows, ended = np.arange(n), np.asarray(terminated, dtype=np.bool_)
        reward, outcome = sweep.reward[rows, u], sweep.outcome[rows, u]
        over = ended | (outcome != 0)
        info = {**info, **self._info(outcome == SUCCESS), "env_reward": env_reward}
        if self.counterfactuals:
            info["counterfactuals"] = counterfactuals_of(sweep, ended)
            info["_counterfactuals"] = np.ones(n, dtype=np.bool_)
        self._seen, begins = _copy(seen), over | np.asarray(truncated, dtype=np.bool_)
        if begins.any():
            info["final_obs"], info["_final_obs"] = self._observed(_copy(seen)), begins
            seen, _ = self.env.reset(options={"reset_mask": begins.copy()})
            self._begin(begins, seen)
        return self._observed(seen), reward, over, np.asarray(truncated, dtype=np.bool_), info

    def _begin(self, mask: Array, seen: Any) -> None:
        self._seen = _copy(seen)
        self.monitors.begin(mask, self._measure(seen, None, seen) if self.monitors.reads_start else ())

    def _observed(self, seen: Any) -> Any:
        if self._observe == "dict":
            return {"observation": seen, "state": self.monitors.u.copy()}
        return np.concatenate([seen, self._codes[self.monitors.u]], axis=1)

    def _info(self, success: Array) -> dict[str, Any]:
        return {"rm_state": self.monitors.u.copy(), "success": success}

    def _held(self, given: Any) -> dict[str, Array]:
        if not isinstance(given, Mapping):
            raise ConfigError(f"labels gave {shown(given)}; of many environments it must give {{'a': truths, ...}}")
        held = {name: np.asarray(truths, dtype=np.bool_) for name, truths in given.items()}
        for name, truths in held.items():
            if truths.shape != (self.num_envs,):
                raise ConfigError(f"labels: {name} has {truths.size} values; must have one for each of {self.num_envs}")
        return held

    def _measure(self, *move: Any) -> list[Any]:
        return [function(*move, *names) for function, names in self._asked]


def _copy(seen: Any) -> Any:
    return seen.copy() if isinstance(seen, np.ndarray) else seen


def shape_rewards(env: gymnasium.Env[Any, Any], gamma: float = 0.9) -> ShapedRewards:
    r"""Add to every reward the shaping that a machine gives by itself: ``gamma Phi(u') - Phi(u)``.

    Phi comes from the machine alone, see `RewardMachine.potentials`. The counterfactuals are shaped, too.

    Examples
    --------
    >>> import fastrm
    >>> from fastrm.env import RewardMachineEnv
    >>> env = shape_rewards(RewardMachineEnv(grid=fastrm.GridMap.parse("XXXXX\nXAabX\nXXXXX"), machine="a-b"))
    >>> observation, info = env.reset()
    >>> round(env.step(1)[1], 6), round(env.step(1)[1], 6)  # .9 Phi(u1) - Phi(u0), and 1 - Phi(u1)
    (0.0, 2.0)
    """
    return ShapedRewards(env, gamma)


class ShapedRewards(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment with shaped rewards; `shape_rewards` makes one."""

    def __init__(self, env: gymnasium.Env[Any, Any], gamma: float = 0.9) -> None:
        check_number("gamma", gamma, 0, 1)
        if not isinstance(env, gymnasium.Env) or not env.has_wrapper_attr("machine_state"):
            raise ConfigError(f"env={shown(env)}: has no machine; give it one with fastrm.env.wrap first")
        super().__init__(env)
        machines = cast("tuple[RewardMachine, ...]", env.get_wrapper_attr("machines"))
        found = [machine.potentials(gamma)[name] for machine in machines for name in machine.states]
        self.gamma, self.potential = float(gamma), np.array([*found, 0.0])

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Move, and add what the potential changed by."""
        phi, u = self.potential, self.env.get_wrapper_attr("machine_state")
        observation, reward, terminated, truncated, info = self.env.step(action)
        reward = float(reward) + self.gamma * phi[self.env.get_wrapper_attr("machine_state")] - phi[u]
        if "counterfactuals" in info:
            every = info["counterfactuals"]
            shaped = every["reward"] + self.gamma * phi[every["next_state"]] - phi[:-1]
            info = {**info, "counterfactuals": {**every, "reward": shaped}}
        return observation, float(reward), terminated, truncated, info
