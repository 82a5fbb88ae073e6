"""Which plans are the same experiment."""

import pytest

from fastrm import Experiment, LearnerConfig, StoreError, run
from fastrm.experiments import Plan

SETTINGS = {
    "name": "x", "setups": ("1a1b",), "size": 9, "tasks": ("a-b",), "seeds": 2, "steps": 2000,
    "learner": LearnerConfig(tick=1000),
}  # fmt: skip


def test_the_same_methods_in_another_order_are_another_experiment(tmp_path):
    """Both run CRM with the same settings; only the machines differ."""
    one, two = (
        Experiment(**SETTINGS, methods=methods) for methods in (("crm-bool", "crm-num"), ("crm-num", "crm-bool"))
    )
    assert Plan.of(one).digest != Plan.of(two).digest
    run(one, tmp_path / "x.h5", shard=(1, 2))
    with pytest.raises(StoreError, match=r"methods .* there, .* here"):
        run(two, tmp_path / "x.h5")


def test_another_name_is_the_same_experiment_and_the_file_says_whose_it_is(tmp_path):
    one, two = (Experiment(**SETTINGS | {"name": name}, methods=("crm-bool",)) for name in ("x", "y"))
    assert Plan.of(one).digest == Plan.of(two).digest
    run(one, tmp_path / "x.h5")
    assert "Results x:" in repr(run(two, tmp_path / "x.h5"))  # nothing was left to do


def test_ids_are_all_different_and_stored_with_their_runs(tmp_path):
    experiment = Experiment(**SETTINGS | {"maps": 2}, methods=("crm-bool", "crm-num", "crm-rs-bool", "crm-bool@0.5"))
    results = run(experiment, tmp_path / "x.h5")
    ids = [results.plan.run_id(k) for k in range(results.plan.count)]
    assert len(set(ids)) == len(ids) == 16 and results["run_id"].tolist() == ids


GOLDEN = {
    "learners, shaping, initial values": (
        {"methods": ("qrm-bool", "crm-rs-bool", "hrm-num", "crm-num@0.5"), "learner": LearnerConfig(tick=500)},
        "2b66a6733f379cdaee4dc2ed2c8e8d81", ["4a04a4a82a79abec", "1e7fc971a29e247e", "a5e3e6204b4b7278"],
    ),
    "sweeps, schedules, starts": (
        {
            "methods": ("crm-bool", "dyna-num", "q-lambda-bool", "coupled-bool"), "start": "anywhere",
            "learner": {"alpha": [0.1, "linear(0.5, 0.1, 1000)"], "q_init": [2.0, 0.0], "tick": 500},
        },
        "2f5db17b5b7ba9e174a123941f93291b", ["eeabb503b5f1acb3", "512b65d999161824", "369cbd4945604386"],
    ),
    "warm starts, profile, slip, metric": (
        {
            "methods": ("crm-bool", "crm-num"), "warm_start": {"crm-num": "crm-bool"}, "profile": "icarte2022",
            "slip": 0.1, "metric": "geodesic", "learner": LearnerConfig(), "steps": 20_000,
        },
        "07c692d23f9953de40ec88955fc29310", ["b81860a1a9518b5b", "c4850ee683f011fc", "5b60397fb34dfc91"],
    ),
}  # fmt: skip
"""Digest and every seventh run_id of experiments on maps, from before Water worlds were among their worlds."""


@pytest.mark.parametrize("what", GOLDEN)
def test_files_on_maps_from_before_water_worlds_go_on_to_be_resumed(what):
    changes, digest, ids = GOLDEN[what]
    maps = {"setups": ("1a1b", "1a1b walls 0.2"), "maps": 2, "tasks": ("a-b", "{a,b}")}
    plan = Plan.of(Experiment(**SETTINGS | maps | changes))
    assert (plan.digest, [plan.run_id(run) for run in (0, 7, 14)]) == (digest, ids)
    assert "not_given" not in plan.to_json() and "features" not in plan.to_json()
    again = Plan.from_json(plan.to_json())
    assert again == plan and again.digest == digest
