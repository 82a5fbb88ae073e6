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
