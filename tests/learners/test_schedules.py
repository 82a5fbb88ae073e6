"""Rates that follow a schedule: what they are at each step, that pieces and ticks do not matter, and the oracle."""

import json
import pickle

import numpy as np
import pytest

import fastrm
from fastrm import ConfigError, Experiment, GridMap, LearnerConfig, RewardMachine, compile, train
from fastrm.learners import Batch
from fastrm.schedules import Schedule

import naive
from compare import ANY_MACHINE, assert_equal
from machine_specs import machine_text, sequence_spec

GRID, SPEC = GridMap.generate("1a1b", size=7, seed=3), sequence_spec("a-b", "numeric")
LINEAR, HALVING, HARMONIC = fastrm.linear(1.0, 0.1, 4000), fastrm.exponential(0.9, 0.2, 1500), fastrm.harmonic(0.5, 2e3)


def oracle_rates():
    """Write the three schedules once more."""
    return {
        "epsilon": lambda step: 1.0 * (1.0 - min(step / 4000, 1.0)) + 0.1 * min(step / 4000, 1.0),
        "alpha": lambda step: 0.2 + (0.9 - 0.2) * 0.5 ** (step / 1500),
        "controller_alpha": lambda step: 0.5 * 2000.0 / (2000.0 + step),
    }


@pytest.mark.parametrize("algo", ANY_MACHINE)
def test_learners_with_schedules_equal_the_oracle(algo):
    problem = compile(GRID, RewardMachine.parse(machine_text(SPEC)))
    rates = {"epsilon": LINEAR, "alpha": HALVING, "controller_alpha": HARMONIC}
    batch = Batch(problem, algo, steps=6500, seeds=[5], tick=700, optimum=[1.0], episodes=True, **rates)
    for piece in (1, 998, 3, 2000, 10_000):
        batch.advance(piece)
    oracle = naive.LEARNERS[algo](GRID.render(), [SPEC], 5, tick=700, **oracle_rates()).run(6500)
    assert_equal(oracle, batch)


@pytest.mark.parametrize("tick", [100, 700, 1000, 2500, "log"])
def test_the_ticks_of_the_log_change_nothing(tick):
    problem = compile(GRID, RewardMachine.sequence("a-b"))
    runs = [train(problem, "qrm", steps=20_000, seed=1, tick=t, epsilon=LINEAR, optimum=[1.0]) for t in (tick, 20_000)]
    assert runs[0].q.tobytes() == runs[1].q.tobytes()


def test_a_schedule_that_stays_where_it_is_equals_a_number():
    problem = compile(GRID, RewardMachine.sequence("a-b"))
    constant, scheduled = (train(problem, "crm", steps=30_000, epsilon=e) for e in (0.1, "linear(0.1, 0.1, 5)"))
    assert constant.q.tobytes() == scheduled.q.tobytes() and np.array_equal(constant.score, scheduled.score)


def test_the_unit_of_the_score_uses_the_epsilon_of_the_last_step():
    problem = compile(GRID, RewardMachine.sequence("a-b"))
    run = train(problem, "crm", steps=6000, tick=1000, epsilon=LINEAR)
    assert run.unit == train(problem, "crm", steps=6000, tick=1000, epsilon=0.1).unit
    short = train(problem, "crm", steps=2001, tick=1000, epsilon=LINEAR)
    assert short.unit == train(problem, "crm", steps=2001, tick=1000, epsilon=LINEAR.at(2000)).unit


def test_a_schedule_is_its_text_in_files():
    config = LearnerConfig(epsilon=" linear( 1.0,0.05 , 500_000 )")
    assert config.epsilon == fastrm.linear(1, 0.05, 500_000) == "linear(1, 0.05, 500000)"
    assert LearnerConfig(**json.loads(json.dumps({"epsilon": config.epsilon}))) == config
    assert pickle.loads(pickle.dumps(config.epsilon)).at(250_000) == config.epsilon.at(250_000)  # noqa: S301


def test_an_experiment_with_a_schedule_runs_and_is_read_back(tmp_path):
    (tmp_path / "x.toml").write_text(
        'name = "x"\nsetups = ["1a"]\nsize = 7\ntasks = ["a"]\nmethods = ["qrm-bool", "hrm-bool"]\nsteps = 20000\n'
        'learner = {epsilon = "exponential(1, 0.05, 2000)", alpha = "harmonic(0.5, 50000)", tick = 5000}\n'
    )
    results = fastrm.run(Experiment.load(tmp_path / "x.toml"), tmp_path / "x.h5")
    assert results.complete and fastrm.run(Experiment.load(tmp_path / "x.toml"), tmp_path / "x.h5").complete
    assert fastrm.load(tmp_path / "x.h5").plan.learner.epsilon == "exponential(1, 0.05, 2000)"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": "lots"}, r"epsilon='lots': must be a number or a schedule: linear\(start, end, steps\), .*"),
        ({"epsilon": "linear(1, 0.1)"}, r"epsilon='linear\(1, 0.1\)': write linear\(start, end, steps\)"),
        ({"alpha": "linear(2, 0.1, 10)"}, r"alpha='linear\(2, 0.1, 10\)': start must be a number from 0 to 1"),
        ({"alpha": "harmonic(0.5, 0)"}, r"alpha='harmonic\(0.5, 0\)': scale must be a number above 0"),
        ({"alpha": "exponential(0.5, x, 9)"}, "end must be a number from 0 to 1"),
        ({"alpha": "exponential(0.5, nan, 9)"}, "end must be a number from 0 to 1"),
        ({"gamma": "linear(1, 0.1, 5)"}, "gamma="),
        ({"alpha": "__import__('os')"}, "must be a number or a schedule"),
    ],
)
def test_schedules_out_of_range_are_refused_by_name(settings, message):
    with pytest.raises(ConfigError, match=message):
        LearnerConfig(**settings)


def test_numbers_out_of_range_are_refused_where_a_schedule_is_made():
    with pytest.raises(ConfigError, match="start must be a number from 0 to 1"):
        fastrm.linear(1.5, 0.1, 100)
    with pytest.raises(ConfigError, match="half_life='x'"):
        fastrm.exponential(1.0, 0.1, "x")
    assert isinstance(fastrm.harmonic(1, 10), Schedule)
