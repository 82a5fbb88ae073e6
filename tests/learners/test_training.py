"""What `train` does beside learning: the log of a run shorter than a tick, and what a callback is told and can do."""

import numpy as np
import pytest

from fastrm import (
    ConfigError,
    GridMap,
    LearnerConfig,
    RewardMachine,
    compile,
    experiments,
    load,
    load_run,
    task,
    train,
    train_many,
)  # fmt: skip
from fastrm.experiments import Plan
from fastrm.learners import Batch
from fastrm.results.schema import PER_TICK

from sizes import either
from small_problems import of_each_kind
from tiny_experiment import contents, experiment

KINDS = ("grid", "table", "water", "agenda")
CURVED = either(KINDS, ("grid",))
"""Kinds of problems whose runs log a greedy curve, too, for which other kernels are compiled."""


def _logged(run):
    return [name for name in PER_TICK if getattr(run, name) is not None]


@pytest.fixture(scope="module")
def problems():
    return of_each_kind()


@pytest.mark.parametrize("tick", [1001, 10_000, 2**62, "log"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_shorter_than_a_tick_logs_its_last_step(problems, kind, tick):
    problem, algo = problems[kind]
    short, whole = (
        train(problem, algo, steps=1000, tick=t, episode_limit=100, greedy=kind in CURVED) for t in (tick, 1000)
    )
    assert short.step.tolist() == [1000] and short.episodes[0] >= 10
    for name in ("step", "q", *_logged(whole)):
        assert getattr(short, name).tobytes() == getattr(whole, name).tobytes(), name


@pytest.mark.parametrize("piece", [1, 7, 299, 300])
def test_the_tick_of_a_short_run_does_not_depend_on_its_pieces(problems, piece):
    whole, cut = (Batch(problems["grid"][0], "crm", steps=300, seeds=[0, 1], tick=1000, greedy=True) for _ in range(2))
    whole.advance(300)
    while cut.done < cut.steps:
        cut.advance(piece)
    for one, two in zip(whole.results(), cut.results(), strict=True):
        assert one.step.tolist() == [300] and one.q.tobytes() == two.q.tobytes()
        for name in PER_TICK:
            assert getattr(one, name).tobytes() == getattr(two, name).tobytes(), name


def test_an_experiment_shorter_than_a_tick_is_the_one_with_a_tick_of_its_steps(tmp_path):
    short, whole = (experiment(steps=700, learner=LearnerConfig(tick=tick)) for tick in (10_000, 700))
    files = [experiments.run(each, tmp_path / f"{k}.h5").path for k, each in enumerate((short, whole))]
    assert load(files[0])["step"].tolist() == [700] and load(files[0]).compare("crm-rs-bool", "qrm-bool").p <= 1
    assert contents(files[0]) == contents(files[1])
    plans = [Plan.of(each) for each in (short, whole, experiment(steps=700, learner=LearnerConfig(tick=699)))]
    assert plans[0].digest == plans[1].digest != plans[2].digest


def assert_same(one, two):
    """Compare all that two runs have learned and logged, bit for bit."""
    for name in ("step", "q", *_logged(two)):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes(), name
    assert (one.steps, one.seed, one.greedy_paths) == (two.steps, two.seed, two.greedy_paths)


@pytest.mark.parametrize("tick", [1000, "log"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_callback_is_given_the_run_so_far_and_changes_nothing(problems, kind, tick):
    (problem, algo), seen = problems[kind], []
    told = train(problem, algo, steps=3500, tick=tick, greedy=kind in CURVED, callback=seen.append)
    assert [run.steps for run in seen] == ([1000, 2000, 3000, 3500] if tick == 1000 else [1000, 2000, 3500])
    assert_same(told, train(problem, algo, steps=3500, tick=tick, greedy=kind in CURVED))
    assert told is seen[-1]
    for run in seen:  # what was given then is not changed since
        assert run.step.tolist() == [step for step in told.step.tolist() if step <= run.steps]
        for name in _logged(told):
            assert getattr(run, name).tobytes() == getattr(told, name)[: len(run.step)].tobytes()


def test_the_run_so_far_is_the_run_that_is_as_long(problems):
    problem, seen = problems["grid"][0], []
    train(problem, "crm", steps=3500, tick=1000, greedy=True, callback=seen.append)
    for run in seen:
        assert_same(run, train(problem, "crm", steps=run.steps, tick=1000, greedy=True))


@pytest.mark.parametrize("kind", KINDS)
def test_a_callback_that_returns_true_ends_the_run(problems, kind, tmp_path):
    problem, algo = problems[kind]
    seen = []
    whole = train(problem, algo, steps=20_000, tick=1000, callback=lambda run: seen.append(run.steps))
    ended = train(problem, algo, steps=20_000, tick=1000, callback=lambda run: np.bool_(run.steps == 3000))
    assert ended.steps == 3000 and ended.step.tolist() == [1000, 2000, 3000] and seen == [*range(1000, 20_001, 1000)]
    assert ended.reward.tobytes() == whole.reward[:3].tobytes()
    ended.save(tmp_path / "run.h5")
    assert load_run(tmp_path / "run.h5").q.tobytes() == ended.q.tobytes()


def test_other_answers_do_not_end_a_run(problems):
    for answer in (None, False, 1, "yes", [1]):
        assert train(*problems["grid"], steps=3000, tick=1000, callback=lambda run, a=answer: a).steps == 3000


def test_what_a_callback_raises_ends_training(problems):
    def callback(run):
        raise ValueError(f"at {run.steps}")

    with pytest.raises(ValueError, match="at 1000"):
        train(*problems["grid"], steps=3000, tick=1000, callback=callback)
    with pytest.raises(ConfigError, match=r"^callback=3: must be a function that takes the Run$"):
        train(*problems["grid"], steps=3000, callback=3)


@pytest.mark.parametrize("at_once", [1, 2, 4])
def test_every_seed_ends_where_it_would_end_alone(problems, monkeypatch, at_once):
    problem, seen = problems["grid"][0], []

    def callback(run):
        seen.append((run.seed, run.steps))
        return run.steps >= 1000 * (1 + run.seed)

    monkeypatch.setattr("fastrm.learners.training._seeds_at_once", lambda *_: at_once)
    monkeypatch.setattr("fastrm.learners.training.PIECE_STEPS", 1700)
    runs = train_many(problem, "crm", steps=4000, tick=500, greedy=True, seeds=range(4), callback=callback)
    assert [run.steps for run in runs] == [1000, 2000, 3000, 4000]
    assert sorted(seen) == [(seed, step) for seed in range(4) for step in range(500, 1000 * (1 + seed) + 1, 500)]
    for seed, run in enumerate(runs):
        assert_same(run, train(problem, "crm", steps=4000, tick=500, greedy=True, seed=seed, callback=callback))


@pytest.mark.parametrize(("steps", "tick", "calls"), [(3, 1000, 1), (99, 1, 99), (101, 1, 51), (5050, 10, 85)])
def test_a_callback_is_called_at_ticks_and_at_most_a_hundred_times(problems, steps, tick, calls):
    seen = []
    train(*problems["grid"], steps=steps, tick=tick, callback=seen.append)
    assert len(seen) == calls <= 100 and seen[-1].steps == steps
    assert all(run.steps == run.step[-1] for run in seen)


def test_initial_values_may_be_a_multiple_of_the_largest_terminal_reward():
    grid = GridMap.generate("1a1b", size=7, seed=1)
    machines = [task("a", kind="numeric-boolean"), task("a-b", kind="numeric-boolean", terminal_reward=50.0)]
    for kinds, multiple, value in ((machines, "0.1 R", 100.0), (machines[1:], "R", 50.0), (machines[1:], "2R", 100.0)):
        problem = compile(grid, kinds)
        one, two = (train(problem, "crm", steps=2000, q_init=q) for q in (multiple, value))
        assert one.config.q_init == value and one.q.tobytes() == two.q.tobytes()
    text = "states u0\nstart u0\nsuccess done\nu0 -> done when a reward d(a)\nu0 -> u0 otherwise reward 0\n"
    with pytest.raises(ConfigError, match=r"q_init='R': .* pays no fixed reward at its end; give a number"):
        train(compile(grid, RewardMachine.parse(text)), "crm", q_init="R")
    for wrong in ("R*", "-R", "0.1 r", "1e3 R", ""):
        with pytest.raises(ConfigError, match=r"q_init=.*: must be a number, or such as '0.1 R'"):
            LearnerConfig(q_init=wrong)
