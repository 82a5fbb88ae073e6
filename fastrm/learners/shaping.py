"""Reward shaping: what learners learn from, the machines' own rewards or ``r + gamma Phi(u') - Phi(u)``."""

from __future__ import annotations

import numpy as np

from fastrm.arrays import Array, aligned_full
from fastrm.problems import Problem


def learned_rewards(problem: Problem, gamma: float, shaping: bool) -> Array:
    """Return the rewards to learn from, [event, column]; Phi is `RewardMachine.potentials` of every machine."""
    tables = problem.tables
    if not shaping:
        own: Array = tables.reward
        return own
    potential = np.zeros(tables.reward.shape[1])
    by_machine = [machine.potentials(gamma) for machine in problem.machines]
    potential[: tables.n_u] = [by_machine[number][name] for number, name in problem.states]
    shaped = aligned_full(tables.reward.shape)
    shaped[...] = tables.reward + gamma * potential[tables.delta] - potential
    shaped.flags.writeable = False
    return shaped
