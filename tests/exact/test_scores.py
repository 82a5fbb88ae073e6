"""The unit of the score."""

from pathlib import Path

import numpy as np
import pytest

from fastrm import GridMap, RewardMachine, compile, optimal_arps, solve, train
from fastrm.machines.reward_kinds import PAPER_KINDS

from small_problems import corridor

ROOT = Path(__file__).parents[2]


def test_arps_of_a_corridor_is_the_sum_over_arrival_times():
    problem = compile(corridor(2), RewardMachine.sequence("a"))
    best = solve(problem)
    assert best.arps(epsilon=0.0) == 0.5
    # right with 0.925; from the start any other action stays put, from the middle left (0.025) goes back
    mass, total = np.array([1.0, 0.0]), 0.0
    for t in range(1, 200):
        total += mass[1] * 0.925 / t
        mass = np.array([mass[0] * 0.075 + mass[1] * 0.025, mass[0] * 0.925 + mass[1] * 0.05])
    assert best.arps(epsilon=0.1) == pytest.approx(total, rel=1e-12)
    assert best.arps(epsilon=0.1, horizon=2) == pytest.approx(0.925**2 / 2, rel=1e-12)


def test_all_kinds_of_machine_for_one_task_share_one_unit():
    grid = GridMap.generate("1a1b1c", size=15, seed=2)
    units = {optimal_arps(compile(grid, RewardMachine.sequence("a-b-c", kind=kind))) for kind in PAPER_KINDS}
    assert len(units) == 1


def test_scores_of_a_perfect_learner_come_close_to_one():
    problem = compile(GridMap.generate("1a1b", size=11, seed=2), RewardMachine.sequence("a-b"))
    run = train(problem, algo="crm", steps=500_000, seed=0)
    assert abs(np.mean(run.score[-20:]) - 1) < 0.03
