"""Half-Cheetah with two machines: a demonstration that SAC runs with them, not a reproduction of published curves.

``python -m fastrm.bench.deep.cheetah there-and-back`` needs ``gymnasium[mujoco]`` too. Its machines
are after those of Toro Icarte et al. (JAIR 2022). In one the cheetah runs to B and back to A, again and again; in the
other it passes five marks in order. Both pay 1 for what is asked and the cost of control at every step. A machine
of fastrm has an end, so the first ends after twenty laps, which no episode of 1 000 steps completes.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import SAC

import fastrm
from fastrm.env import wrap
from fastrm.env.sb3 import CounterfactualReplayBuffer

LAPS = 20
MARKS = {"a": -2.0, "b": 2.0, "c": 4.0, "d": 6.0, "e": 8.0, "f": 10.0}
"""Where labels hold: a up to its place, the others from theirs on."""
TASKS = {"there-and-back": "-".join("ba" * LAPS), "marks": "b-c-d-e-f"}


def make_machine(task: str) -> fastrm.RewardMachine:
    """Return a machine that pays 1 for every target and the cost of control at every step."""
    targets = task.split("-")
    states = [*(f"u{k}" for k in range(len(targets))), "done"]
    lines = ["start u0", "success done"]
    for k, target in enumerate(targets):
        lines.append(f"{states[k]} -> {states[k + 1]} when {target} reward 1 - cost")
        lines.append(f"{states[k]} -> {states[k]} otherwise reward 0 - cost")
    return fastrm.RewardMachine.parse("\n".join(lines))


def labels(seen: Any, action: Any, next_seen: Any) -> list[str]:
    """Return the marks that hold where the cheetah is; its position is the first number that it sees."""
    return [name for name, x in MARKS.items() if (next_seen[0] <= x if name == "a" else next_seen[0] >= x)]


def cost(seen: Any, action: Any, next_seen: Any) -> float:
    """Return the cost of control."""
    return 0.01 * float(np.square(action).sum())


def make_env(task: str) -> gymnasium.Env[Any, Any]:
    """Return the cheetah with a machine; a label that the task does not ask for is not told."""
    ground = gymnasium.make("HalfCheetah-v5", exclude_current_positions_from_observation=False)
    asked = set(TASKS[task].split("-"))

    def asked_labels(*move: Any) -> list[str]:
        return [name for name in labels(*move) if name in asked]

    return wrap(ground, make_machine(TASKS[task]), asked_labels, {"cost": cost})


def main() -> None:
    """Train SAC, and say how many targets an episode reaches before and after."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)
    env = make_env(given.task)
    model = SAC(
        "MlpPolicy", env, replay_buffer_class=CounterfactualReplayBuffer, seed=given.seed, device="cpu",
        learning_starts=5_000, train_freq=8, learning_rate=1e-3, gamma=0.98, batch_size=128,
        policy_kwargs={"net_arch": [64, 64]},
    )  # fmt: skip
    print(f"{given.task}: {targets_reached(model, env)} targets in an episode before")
    begun = time.perf_counter()
    model.learn(given.steps)
    seconds = time.perf_counter() - begun
    print(f"{given.task}: {targets_reached(model, env)} targets after {given.steps} steps, {seconds:.0f} s")


def targets_reached(model: SAC, env: gymnasium.Env[Any, Any]) -> int:
    """Return how many targets the greedy policy reaches in an episode."""
    seen, _ = env.reset(seed=0)
    over, reached, before = False, 0, "u0"
    while not over:
        seen, _, terminated, truncated, info = env.step(model.predict(seen, deterministic=True)[0])
        reached += info["rm_state"] != before
        over, before = terminated or truncated, info["rm_state"]
    return reached


if __name__ == "__main__":
    main()
