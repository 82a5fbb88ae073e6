"""What `train` does beside learning: the log of a run shorter than a tick."""

import pytest

from fastrm import LearnerConfig, load, run, train
from fastrm.experiments import Plan
from fastrm.learners import Batch
from fastrm.results.schema import PER_TICK

from small_problems import of_each_kind
from tiny_experiment import contents, experiment

KINDS = ("grid", "table", "water", "agenda")


@pytest.fixture(scope="module")
def problems():
    return of_each_kind()


@pytest.mark.parametrize("tick", [1001, 10_000, 2**62, "log"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_shorter_than_a_tick_logs_its_last_step(problems, kind, tick):
    problem, algo = problems[kind]
    short, whole = (train(problem, algo, steps=1000, tick=t, episode_limit=100) for t in (tick, 1000))
    assert short.step.tolist() == [1000] and short.episodes[0] >= 10
    for name in ("step", "q", *PER_TICK):
        assert getattr(short, name).tobytes() == getattr(whole, name).tobytes(), name


@pytest.mark.parametrize("piece", [1, 7, 299, 300])
def test_the_tick_of_a_short_run_does_not_depend_on_its_pieces(problems, piece):
    whole, cut = (Batch(problems["grid"][0], "crm", steps=300, seeds=[0, 1], tick=1000) for _ in range(2))
    whole.advance(300)
    while cut.done < cut.steps:
        cut.advance(piece)
    for one, two in zip(whole.results(), cut.results(), strict=True):
        assert one.step.tolist() == [300] and one.q.tobytes() == two.q.tobytes()
        for name in PER_TICK:
            assert getattr(one, name).tobytes() == getattr(two, name).tobytes(), name


def test_an_experiment_shorter_than_a_tick_is_the_one_with_a_tick_of_its_steps(tmp_path):
    short, whole = (experiment(steps=700, learner=LearnerConfig(tick=tick)) for tick in (10_000, 700))
    files = [run(each, tmp_path / f"{k}.h5").path for k, each in enumerate((short, whole))]
    assert load(files[0])["step"].tolist() == [700] and load(files[0]).compare("crm-rs-bool", "qrm-bool").p <= 1
    assert contents(files[0]) == contents(files[1])
    plans = [Plan.of(each) for each in (short, whole, experiment(steps=700, learner=LearnerConfig(tick=699)))]
    assert plans[0].digest == plans[1].digest != plans[2].digest
