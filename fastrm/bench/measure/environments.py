"""The measurement of the environments behind ``speed``: our vector environment beside Gymnasium's of single ones."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

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
    rates: dict[str, list[float]] = {"ours": [], "sync": []}
    for name, envs, steps in (("ours", ours, 200), ("sync", singles, 1)):
        envs.reset(seed=0)
        envs.step(actions[0])
        for _ in range(repeats):
            begun = time.perf_counter()
            for k in range(steps):
                envs.step(actions[k % 64])
            rates[name].append(steps * COUNT / (time.perf_counter() - begun))
    best, sync = max(rates["ours"]), max(rates["sync"])
    return {"environments": COUNT, "steps_per_s": best, "vs_sync": best / sync}
