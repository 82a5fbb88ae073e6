"""Any run of a file again: to the last bit, by row or by rank, and one line where that cannot be."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from fastrm import ConfigError, StoreError, run, train
from fastrm.experiments import find_row, problem_of
from fastrm.learners import registry
from fastrm.learners.qrm import Qrm
from fastrm.results import Results

from tiny_experiment import experiment

OFFICE = str(Path(__file__).parents[2] / "bench" / "suites" / "office.map")
EVERYTHING = {
    "learners, shaping, starts": experiment(
        methods=("qrm-bool", "crm-bool", "crm-rs-bool", "hrm-num", "qrm-num@0.5", "hrm-num-bool@1", "crm-pot"),
    ),
    "rotation, slip, another root": experiment(
        methods=("qrm-rs-bool", "crm-num", "hrm-num-bool"), rotate=True, slip=0.1, root_seed=9
    ),
    "map files, optimism, profile": experiment(
        setups=(), map_files=(OFFICE,), tasks=("e", "e-f"), methods=("crm-num", "hrm-bool"), optimism=0.25,
        profile="icarte2022", terminal_rewards={"numeric": "1.1 R*"},
    ),
}  # fmt: skip
CURVES = ("score", "reward", "completions", "episodes")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A file with many kinds of runs that did not fail."""
    return run(experiment(maps=1, seeds=5, steps=4000), tmp_path_factory.mktemp("replay") / "tiny.h5")


def changed(results, attributes=(), **columns):
    """Return results with other attributes and columns."""
    return Results(results.attributes | dict(attributes), results.path, dict(results.columns) | columns)


@pytest.mark.parametrize("what", EVERYTHING)
def test_every_run_is_there_again_to_the_last_bit(what, tmp_path):
    results = run(EVERYTHING[what], tmp_path / "x.h5")
    assert results.complete
    for row in range(results.runs):
        again = results.replay(row)
        for name in CURVES:
            assert getattr(again, name).tobytes() == results[name][row].tobytes(), (row, name)
        assert again.solved == results["solved"][row]
        assert sum(again.greedy_lengths) == results["greedy_length"][row] if None not in again.greedy_lengths else True


@pytest.mark.parametrize("what", EVERYTHING)
def test_train_repeats_a_run_from_its_train_seed(what, tmp_path):
    results = run(EVERYTHING[what], tmp_path / "x.h5")
    plan = results.plan
    for row in range(0, results.runs, 5):
        place = plan.coordinates(row)
        method = place.method
        again = train(
            problem_of(results, row), plan.methods[method].algo, seed=results["train_seed"][row], steps=plan.steps,
            shaping=plan.methods[method].shaping, config=plan.config(place),
        )  # fmt: skip
        for name in CURVES:
            assert getattr(again, name).tobytes() == results[name][row].tobytes(), (row, name)
        assert again.q.tobytes() == results.replay(row).q.tobytes()


def test_a_file_without_seeds_is_replayed_all_the_same(results):
    old = changed(results, train_seed=np.zeros(results.runs, dtype=np.uint64))
    assert old.replay(7).seed == results["train_seed"][7]


def test_ranks_go_by_settled_score_then_steps_then_order(results):
    ticks = len(results["step"])
    score = np.zeros((results.runs, ticks))
    rows = np.flatnonzero((results["task"] == "a") & (results["label"] == "qrm-bool"))
    score[rows] = np.array([0.5, 0.7, 0.7, 0.5, 0.1])[:, None]
    steps = np.full(results.runs, np.nan)
    steps[rows] = [900.0, 500.0, 400.0, np.nan, np.nan]
    some = changed(results, score=score, steps_to_90=steps)
    wanted = {"method": "qrm-bool", "task": "a"}
    assert [find_row(some, rank, **wanted) for rank in ("best", "median", "worst")] == rows[[2, 0, 4]].tolist()
    even = some.select(seed=[0, 1, 2, 3], **wanted)  # rows 2, 1, 0, 3 from best to worst
    assert [find_row(even, rank) for rank in ("best", "median", "worst")] == [2, 1, 3]
    error = results.columns["error"].astype("S9")
    error[rows[2]] = b"made up"
    assert find_row(changed(some, error=error), "best", **wanted) == rows[1]
    equal = changed(some, score=np.zeros_like(score), steps_to_90=np.full(results.runs, np.nan))
    assert [find_row(equal, rank, **wanted) for rank in ("best", "median", "worst")] == rows[[0, 2, 4]].tolist()


def test_rows_are_those_of_the_selection(results):
    chosen = results.select(task="a-b", method="hrm-num")
    again = results.replay(3, task="a-b", label="hrm-num")
    assert again.seed == results.replay(int(chosen["run"][3])).seed == chosen.replay(3).seed == chosen["train_seed"][3]


def test_episodes_come_on_request(results):
    assert results.replay(0).episode_log is None
    paid, length = results.replay(0, episodes=True).episode_log
    assert len(paid) == len(length) == results["episodes"][0, -1]


def test_a_frame_has_a_row_per_run(results):
    pytest.importorskip("pandas", reason="needs the extra 'analysis'")
    frame = results.per_run()
    assert len(frame) == results.runs and frame["train_seed"].dtype == np.uint64
    assert {"run", "setup", "method", "seed", "solved", "steps_to_90", "settled", "area"} <= set(frame)
    worst = frame[(frame.method == "hrm-num") & (frame.task == "a")].sort_values("settled").index[0]
    assert frame.settled[worst] == frame.settled[find_row(results, "worst", method="hrm-num", task="a")]


@pytest.mark.parametrize(
    ("which", "wanted", "message"),
    [
        (30, {}, "run=30: no such row; there are 0 to 29"),
        (5, {"task": "a", "method": "qrm-bool"}, "run=5: no such row among those selected; there are 0 to 4"),
        (-1, {}, "run=-1: must be a whole number from 0"),
        ("wurst", {}, "run='wurst': must be one of best, median, worst (did you mean worst?)"),
        (None, {}, "run=None: must be a whole number"),
        ("best", {"method": "qrm-boool"}, "method='qrm-boool' selects nothing (did you mean qrm-bool?)"),
        ("best", {"task": "z"}, "task='z' selects nothing; there are a, a-b"),
        ("best", {"tusk": "a"}, "no coordinate 'tusk' (did you mean task?)"),
    ],
)
def test_a_run_that_is_not_there_is_one_line(results, which, wanted, message):
    with pytest.raises(ConfigError, match=re.escape(message)) as caught:
        results.replay(which, **wanted)
    assert "\n" not in str(caught.value)


def test_a_failed_run_is_one_line(results):
    error = np.full(results.runs, b"task a on map 1a1b 0: MemoryError: made up")
    with pytest.raises(
        ConfigError, match=r"tiny.h5: run 4 failed, there is nothing to replay: task a on map 1a1b 0: Mem"
    ):
        changed(results, error=error).replay(4)
    with pytest.raises(ConfigError, match="run='best': all of these runs failed"):
        changed(results, error=error).replay("best", task="a")


def test_other_semantics_and_other_curves_are_one_line(results):
    semantics = json.dumps({"qrm": 99, "crm": 99, "hrm": 99})
    with pytest.raises(
        StoreError, match=r"tiny.h5: run 0: learner 'qrm' has semantics 99 in the file and \d here; use"
    ):
        changed(results, {"semantics": semantics}).replay(0)
    score = results["score"].copy()
    score[0, -1] = np.nextafter(score[0, -1], 2)
    with pytest.raises(StoreError, match="run 0: its score is not that of the file; use the version that wrote it"):
        changed(results, score=score).replay(0)


def test_a_learner_that_is_not_known_is_one_line(results, tmp_path):
    class Careful(Qrm):
        name = "careful"

    registry.register(Careful())
    try:
        own = run(experiment(methods=("careful-bool",), maps=1, seeds=1), tmp_path / "own.h5")
        assert own.replay(0).algo == "careful"
    finally:
        registry.forget("careful")
    with pytest.raises(ConfigError, match=r"own.h5: run 0: learner 'careful' is not known here; name its file"):
        own.replay(0)
