"""SARSA, expected SARSA, double Q-learning, Q(lambda) and Dyna beside QRM: where they agree, and where not."""

import numpy as np
import pytest

from fastrm import ConfigError, GridMap, RewardMachine, compile, train, train_many

CLIFF = """
XXXXXXXXXXXXXX
X            X
X            X
X            X
XAnnnnnnnnnngX
XXXXXXXXXXXXXX
"""
FALL = """
start   u0
success done
failure lost
u0 -> done  when g     reward -1
u0 -> lost  when n     reward -100
u0 -> u0    otherwise  reward -1
"""


def everything(run):
    """Return all that a run learned and logged, as bytes."""
    arrays = run.q, run.score, run.reward, run.completions, run.episodes, *run.episode_log
    return [array.tobytes() for array in arrays]


@pytest.mark.parametrize("slip", [0.0, 0.2])
@pytest.mark.parametrize("profile", ["clean", "icarte2022"])
@pytest.mark.parametrize(("algo", "setting"), [("q-lambda", {"trace_decay": 0.0}), ("dyna", {"planning": 0})])
def test_without_traces_and_without_planning_nothing_is_left_but_qrm(algo, setting, profile, slip):
    grid = GridMap.generate("2a2b", size=9, seed=3)
    problem = compile(grid, RewardMachine.sequence("a-b-a", kind="numeric"), profile=profile, slip=slip)
    how = {"steps": 20_000, "seeds": range(4), "tick": 500, "episode_limit": 60, "episodes": True, "optimum": [1.0]}
    for mine, other in zip(train_many(problem, algo, **how, **setting), train_many(problem, "qrm", **how), strict=True):
        assert everything(mine) == everything(other)
    assert everything(train_many(problem, algo, **how)[0]) != everything(train_many(problem, "qrm", **how)[0])


def test_on_the_cliff_sarsa_learns_the_safe_path_and_qrm_the_edge():
    """Sutton and Barto, example 6.6; falling ends the episode."""
    problem = compile(GridMap.parse(CLIFF), RewardMachine.parse(FALL))
    how = {"steps": 500_000, "seeds": range(3), "alpha": 0.1, "gamma": 0.99, "q_init": 0.0}
    for algo, length, highest in (("qrm", 13, 3), ("sarsa", 17, 1), ("expected-sarsa", 15, 2)):
        for run in train_many(problem, algo, **how):
            assert run.greedy_length == length and min(row for row, _ in run.greedy_path) == highest


def test_both_tables_of_double_q_learning_are_at_hand():
    problem = compile(GridMap.generate("1a1b", size=9, seed=1), RewardMachine.sequence("a-b"))
    run = train(problem, "double-q", steps=50_000, seed=0)
    assert np.array_equal(run.q, (run.more["first"] + run.more["second"]) / 2)
    assert not np.array_equal(run.more["first"], run.more["second"]) and run.solved


def test_traces_and_planning_need_fewer_steps():
    problem = compile(GridMap.generate("1a1b1c", size=15, seed=1), RewardMachine.sequence("a-b-c"))
    reached = {}
    for algo in ("qrm", "q-lambda", "dyna"):
        runs = train_many(problem, algo, steps=300_000, seeds=range(5), tick=1000)
        reached[algo] = np.median([np.flatnonzero(run.score > 0.9)[0] for run in runs])
    assert reached["q-lambda"] < reached["qrm"] and reached["dyna"] < reached["qrm"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trace_decay": 1.1}, "trace_decay=1.1: must be a number from 0 to 1"),
        ({"planning": -1}, "planning=-1: must be a whole number from 0 to 10000"),
        ({"planning": 2.5}, "planning=2.5: must be a whole number"),
    ],
)
def test_settings_out_of_range_are_refused_by_name(settings, message):
    problem = compile(GridMap.generate("1a", size=7, seed=1), RewardMachine.sequence("a"))
    with pytest.raises(ConfigError, match=message):
        train(problem, "dyna", steps=10, **settings)
