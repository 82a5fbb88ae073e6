"""One run of a deep learner, logged like any run of fastrm: what `fastrm.results.write_runs` takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback

import fastrm
from fastrm.env import RewardMachineEnv
from fastrm.env.sb3 import CounterfactualReplayBuffer
from fastrm.problems import Problem

WINDOW = 100
"""Episodes that a score is the mean of."""
EVALUATED = 10
"""Episodes of the greedy policy at the end of a run."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A problem in all kinds of reward, and how long its episodes may be."""

    setup: str
    grid: str
    task: str
    problems: dict[str, Problem]
    limit: int
    settings: dict[str, Any] = field(default_factory=dict)
    """Of the environment."""


class Log(BaseCallback):
    """Counts episodes, completions and rewards, and notes them at every tick."""

    def __init__(self, tick: int, unit: float) -> None:
        super().__init__()
        self.tick, self.unit = tick, unit
        self.rows: dict[str, list[float]] = {name: [] for name in ("score", "reward", "completions", "episodes")}
        self._scores: list[float] = []
        self._paid, self._completed, self._steps = 0.0, 0, 0

    def _on_step(self) -> bool:
        info, over = self.locals["infos"][0], self.locals["dones"][0]
        self._paid, self._steps = self._paid + float(self.locals["rewards"][0]), self._steps + 1
        if over:
            self._completed += bool(info["success"])
            self._scores.append(info["success"] / self._steps / self.unit)
            self._steps = 0
        if self.num_timesteps % self.tick == 0:
            values = np.mean(self._scores[-WINDOW:]) if self._scores else np.nan, self._paid, self._completed
            for column, value in zip(self.rows.values(), (*values, len(self._scores)), strict=True):
                column.append(float(value))
        return True


def run_greedy(model: BaseAlgorithm, env: RewardMachineEnv, seed: int) -> list[int]:
    """Return the steps of some episodes of the greedy policy, -1 for those that do not complete the task."""
    lengths = []
    for episode in range(EVALUATED):
        observation, _ = env.reset(seed=seed if episode == 0 else None)
        over, steps = False, 0
        while not over:
            action, _ = model.predict(observation, deterministic=True)
            observation, _, terminated, truncated, info = env.step(int(action) if np.ndim(action) == 0 else action)
            over, steps = terminated or truncated, steps + 1
        lengths.append(steps if info["success"] else -1)
    return lengths


def train(
    learner: type[BaseAlgorithm], task: Task, kind: str, *, counterfactual: bool, seed: int, steps: int, tick: int,
    **settings: Any,
) -> dict[str, Any]:  # fmt: skip
    """Train a learner of Stable-Baselines3; return its run as a row of a result file."""
    torch.set_num_threads(1)
    problem = task.problems[kind]
    make = {"problem": problem, "episode_limit": task.limit, "observation": "numbers", **task.settings}
    env = RewardMachineEnv(**make, counterfactuals=counterfactual)
    buffer = {"replay_buffer_class": CounterfactualReplayBuffer} if counterfactual else {}
    model = learner("MlpPolicy", env, seed=seed, device="cpu", **buffer, **settings)
    shortest = problem.shortest[0]
    log = Log(tick, 1 / shortest)
    model.learn(steps, callback=log)
    lengths = run_greedy(model, RewardMachineEnv(**make), seed)
    solved = all(length == shortest for length in lengths)
    name = learner.__name__.lower() + ("-crm" if counterfactual else "")
    return {
        "setup": task.setup, "grid": task.grid, "task": task.task, "method": f"{name}-{kind}", "seed": seed,
        "shortest": int(shortest), "optimal_arps": 1 / shortest, "solved": solved, "train_seed": seed,
        "greedy_length": -1 if -1 in lengths else round(float(np.mean(lengths))), **log.rows,
    }  # fmt: skip


def scaled_numeric(task: str, scale: float, terminal: float = 100.0) -> fastrm.RewardMachine:
    """Return a numeric machine whose rewards are all multiplied by a number: networks need them to be small."""
    lines = fastrm.task(task, kind="numeric", terminal_reward=terminal).write().splitlines()
    text = []
    for line in lines:
        guard, _, reward = line.partition(" reward ")
        text.append(f"{guard} reward {scale!r} * ({reward})" if reward else line)
    return fastrm.RewardMachine.parse("\n".join(text))
