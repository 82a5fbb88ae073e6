"""The measurement of the environments behind ``speed``: our vector environment beside Gymnasium's of single ones."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import ConfigError

COUNT = 4096


def environments(repeats: int) -> dict[str, Any] | None:
    """Time random actions in 4 096 environments, both ways; None where gymnasium is missing."""
    try:
        from fastrm.env import RewardMachineEnv, RewardMachineVectorEnv
    except ConfigError:
        return None
    from gymnasium.vector import SyncVectorEnv

    ours = RewardMachineVectorEnv(COUNT)
    singles = SyncVectorEnv([lambda: RewardMachineEnv(ours.problem)] * COUNT)
    actions = np.random.default_rng(0).integers(0, 4, (64, COUNT))
    best, sync = time_steps(ours, actions, 200, repeats), time_steps(singles, actions, 1, repeats)
    return {"environments": COUNT, "steps_per_s": best, "vs_sync": best / sync}


def time_steps(envs: Any, actions: Array, calls: int, repeats: int) -> float:
    """Return the most steps a second of some repeats, each of so many calls with rows of actions in turn."""
    envs.reset(seed=0)
    envs.step(actions[0])  # may compile
    best = math.inf
    for _ in range(repeats):
        begun = time.perf_counter()
        for k in range(calls):
            envs.step(actions[k % len(actions)])
        best = min(best, time.perf_counter() - begun)
    return float(calls * actions.shape[1] / best)
