"""Logs at 1 000, 2 000, 5 000, 10 000, ... steps: the same runs, seen at other steps."""

from dataclasses import replace

import numpy as np
import pytest

from fastrm import ConfigError, Experiment, GridMap, LearnerConfig, RewardMachine, compile, load, run, train
from fastrm.bench.__main__ import main
from fastrm.config import log_ticks
from fastrm.experiments import Plan, merge
from fastrm.learners import Batch
from fastrm.results.schema import PER_TICK

from tiny_experiment import contents, experiment

STEPS = 23_456
TICKS = [1000, 2000, 5000, 10_000, 20_000, STEPS]
LOG = {"steps": STEPS, "learner": LearnerConfig(tick="log")}


@pytest.fixture(scope="module")
def problem():
    return compile(GridMap.generate("1a1b", size=9, seed=1), RewardMachine.sequence("a-b"))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return run(experiment(**LOG), tmp_path_factory.mktemp("log") / "log.h5")


@pytest.mark.parametrize(("steps", "last"), [(1, [1]), (1000, [1000]), (1001, [1000, 1001]), (5000, [2000, 5000])])
def test_the_last_tick_is_the_last_step_and_stands_once(steps, last):
    assert log_ticks(steps)[-len(last) :] == last and (np.diff(log_ticks(steps)) > 0).all()


def test_the_longest_run_has_forty_ticks():
    assert len(log_ticks(2**53)) == 40 and log_ticks(2**53)[-2] == 5 * 10**15


@pytest.mark.parametrize("algo", ["qrm", "crm", "hrm"])
@pytest.mark.parametrize("tick", [1, 1000, 5000])
def test_curves_are_equal_to_the_bit_at_common_steps(problem, algo, tick):
    one, two = (train(problem, algo, steps=STEPS, seed=3, tick=t, greedy=True) for t in ("log", tick))
    assert one.step.tolist() == TICKS
    common, here, there = np.intersect1d(one.step, two.step, return_indices=True)
    assert len(common) >= 3
    for name in PER_TICK:
        assert getattr(one, name)[here].tobytes() == getattr(two, name)[there].tobytes(), name
    assert one.q.tobytes() == two.q.tobytes() and one.greedy_path == two.greedy_path


@pytest.mark.parametrize("piece", [1, 7, 999, 1000, 1001, 12_345])
def test_curves_do_not_depend_on_the_pieces_a_run_is_made_in(problem, piece):
    whole, cut = (Batch(problem, "crm", steps=3500, seeds=[0, 1], tick="log", greedy=True) for _ in range(2))
    whole.advance(3500)
    while cut.done < cut.steps:
        cut.advance(piece)
    for one, two in zip(whole.results(), cut.results(), strict=True):
        assert one.step.tolist() == [1000, 2000, 3500] and one.q.tobytes() == two.q.tobytes()
        for name in PER_TICK:
            assert getattr(one, name).tobytes() == getattr(two, name).tobytes(), name


def test_files_hold_the_steps_of_the_ticks(results):
    assert results.complete and results["step"].tolist() == TICKS == results.plan.step.tolist()
    assert results.plan.ticks == len(TICKS) and results.plan.learner.tick == "log"
    assert load(results.path).columns["score"].tobytes() == results.columns["score"].tobytes()
    assert results.to_xarray()["step"].values.tolist() == TICKS
    steps, scores = results.curves(method="crm-rs-bool")
    assert steps.tolist() == TICKS and scores.shape == (12, 6)


def test_runs_interrupted_or_in_shards_give_the_same_datasets(results, tmp_path):
    shards = [tmp_path / f"{k}.h5" for k in (1, 2)]
    for k, path in enumerate(shards):
        run(experiment(**LOG), path, shard=(k + 1, 2))
    merge(shards, tmp_path / "all.h5")
    assert contents(tmp_path / "all.h5") == contents(results.path)
    run(experiment(**LOG), shards[0])  # goes on where the shard ended
    assert contents(shards[0]) == contents(results.path)


def test_another_tick_is_another_experiment():
    plans = [Plan.of(experiment(steps=STEPS, learner=LearnerConfig(tick=tick))) for tick in ("log", 1000)]
    assert plans[0].run_id(0) != plans[1].run_id(0) and Plan.from_json(plans[0].to_json()) == plans[0]


def test_toml_takes_the_word(tmp_path):
    path = tmp_path / "x.toml"
    text = 'setups = ["1a1b"]\ntasks = ["a"]\nmethods = ["crm-bool"]\nlearner = {tick = "log"}\n'
    path.write_text(text)
    assert Experiment.load(path).learner.tick == "log"
    path.write_text(text.replace("log", "lgo"))
    with pytest.raises(ConfigError, match=r"x.toml:4: tick='lgo': must be a whole number of steps, or 'log'$"):
        Experiment.load(path)


def test_the_area_is_a_mean_over_steps_and_not_over_ticks(results):
    gaps, scores = np.diff([0, *TICKS]), np.nan_to_num(results["score"])
    assert results.per_run_values("area") == pytest.approx((scores * gaps).sum(axis=1) / STEPS, rel=1e-12)
    assert np.array_equal(results.per_run_values("settled"), scores[:, -1])  # one tick lies in the last tenth


def test_the_area_of_equal_ticks_is_their_mean_to_the_bit(tmp_path):
    even = run(experiment(), tmp_path / "even.h5")
    assert even.per_run_values("area").tobytes() == np.nan_to_num(even["score"]).mean(axis=1).tobytes()


def test_steps_are_compared_no_finer_than_the_ticks_where_they_were_seen(results):
    def altered(steps_to_90):
        return replace(results, loaded={**results.columns, "steps_to_90": steps_to_90})

    label, n = results["label"], results.runs
    late = altered(np.where(label == "crm-rs-bool", 20_000.0, 10_000.0)).compare(
        "crm-rs-bool", "qrm-bool", "steps_to_90"
    )
    assert (late.low, late.difference, late.high) == (6250.0, 10_000.0, 13_750.0)  # ticks 5 000 and 10 000 wide
    never = altered(np.full(n, np.nan)).compare("crm-rs-bool", "qrm-bool", "steps_to_90")
    assert (never.low, never.high) == (-1728.0, 1728.0)  # the last tick is 3 456 wide


def test_commands_read_such_files(results, tmp_path, capsys):
    assert main(["plot", str(results.path), "--text"]) == 0
    assert "at 1 000, 2 000, 5 000, ... 23 456 steps" in capsys.readouterr().out
    assert main(["info", str(results.path)]) == 0 and main(["findings", str(results.path), "--no-exact"]) == 0
    assert main(["plot", str(results.path), "--out", str(tmp_path / "figures")]) == 0
    path = tmp_path / "x.toml"
    path.write_text('setups = ["1a1b"]\nsize = 7\ntasks = ["a"]\nmethods = ["crm-bool"]\nlearner = {tick = "log"}\n')
    assert main(["run", str(path), "--out", str(tmp_path / "x.h5"), "--dry-run"]) == 0
    assert "100 000 a run" in capsys.readouterr().out
    assert len(results.summary()) == 6
