"""What learners learn from: machine rewards with or without shaping, and the option tables of HRM."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fastrm.arrays import aligned_full
from fastrm.config import LearnerConfig
from fastrm.kernels.contracts import BLOCK
from fastrm.kernels.hrm import Options
from fastrm.problems.compiler import Problem

Array = npt.NDArray[Any]


def learned_rewards(problem: Problem, gamma: float, shaping: bool) -> Array:
    """Return the rewards to learn from: the machines' own, or ``r + gamma Phi(u') - Phi(u)``."""
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


def option_pairs(problem: Problem, self_loops: bool = False) -> list[tuple[int, int, str]]:
    """Return machine number, state column and goal of every option, ordered by state, then by edge.

    The goal is the name of a state; all terminals of a machine are named ``""`` where the profile merges them.
    """
    pairs: dict[tuple[int, int, str], None] = {}
    for column, (number, name) in enumerate(problem.states):
        machine = problem.machines[number]
        for edge in machine.edges:
            if edge.source == name and (edge.target != name or self_loops):
                merged = problem.profile.merge_terminals and edge.target in machine.terminals
                pairs[number, column, "" if merged else edge.target] = None
    return list(pairs)


def build_options(problem: Problem, rewards: Array, config: LearnerConfig) -> Options:
    """Tabulate when every option goes on or ends, and what it earns."""
    tables, pairs = problem.tables, option_pairs(problem, config.self_loop_options)
    n_o = len(pairs)
    owner = np.array([column for _, column, _ in pairs], dtype=np.uint32)
    goes_on = tables.delta[:, owner] == owner
    reached = np.zeros(goes_on.shape, dtype=np.bool_)
    for o, (number, column, goal) in enumerate(pairs):
        if goal in problem.machines[number].states:
            reached[:, o] = tables.delta[:, column] == problem.states.index((number, goal))
        elif goal:
            reached[:, o] = problem.ending[:, column] == 1 + problem.machines[number].terminals.index(goal)
        else:
            reached[:, o] = problem.ending[:, column] != 0
    n_cols = (n_o + BLOCK) // BLOCK * BLOCK
    delta = np.full((len(tables.reward), n_cols), n_o, dtype=np.uint32)
    delta[:, :n_o] = np.where(goes_on, np.arange(n_o), n_o)
    reward = aligned_full(delta.shape)
    paid = rewards[:, owner]
    reward[:, :n_o] = np.where(goes_on, paid, paid + np.where(reached, config.r_max, config.r_min))
    options = Options(
        first=np.searchsorted(owner, np.arange(tables.n_u + 1)).astype(np.uint64),
        owner=owner,
        delta=delta,
        reward=reward,
    )
    for array in options:
        array.flags.writeable = False
    return options
