"""Machines learned in experiments: columns of their verdicts, swept walks, and the same bytes whatever the workers."""

import numpy as np
import pytest

import fastrm
from fastrm.errors import ConfigError

SETTINGS = {
    "name": "learned", "maps": 2, "setups": ("1a1b1c",), "size": 11, "tasks": ("{a,b}-c",),
    "methods": ("learn-merge-bool", "crm-bool"), "seeds": 3, "steps": 30_000, "root_seed": 5,
}  # fmt: skip
COLUMNS = ("equivalent", "machine_states", "regret", "steps_to_machine", "steps_to_equivalent", "steps_to_no_regret")


def experiment(**changes):
    return fastrm.Experiment(**SETTINGS | changes)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return fastrm.run(experiment(learner={"walk": [0.0, 0.5]}, methods=("learn-merge-bool",)),
                      out=tmp_path_factory.mktemp("learned") / "swept.h5", workers=1)  # fmt: skip


def test_columns_tell_what_became_of_every_machine(results):
    assert (results["error"] == "").all()
    for row in range(results["run"].size):
        run = results.replay(row)
        log = fastrm.inference.read_learned(run).log
        assert results["equivalent"][row] == log[-1].equivalent
        assert results["machine_states"][row] == log[-1].states
        assert results["regret"][row] == log[-1].regret and results["steps_to_machine"][row] == log[-1].steps
        right = [guess.steps for guess in log if guess.equivalent]
        assert np.array_equal(results["steps_to_equivalent"][row], right[0] if right else np.nan, equal_nan=True)
    walks = results["walk"] == 0.5
    assert results["equivalent"][walks].all() and not results["equivalent"][~walks].all()
    assert (results["regret"][results["equivalent"] == 1] == 0).all()


def test_methods_that_learn_no_machine_have_no_verdict_and_other_files_no_columns(tmp_path):
    both = fastrm.run(experiment(), out=tmp_path / "both.h5", workers=1)
    plain = both["algo"] == "crm"
    assert (both["equivalent"][plain] == -1).all() and np.isnan(both["regret"][plain]).all()
    assert (both["equivalent"][~plain] == 1).all()
    other = fastrm.run(experiment(methods=("crm-bool",)), out=tmp_path / "other.h5", workers=1)
    assert not set(COLUMNS) & set(other.columns)
    with pytest.raises(ConfigError, match="regret: these runs learned no machines"):
        other["regret"]


def test_files_are_the_same_whatever_the_workers(results, tmp_path):
    again = fastrm.run(
        experiment(learner={"walk": [0.0, 0.5]}, methods=("learn-merge-bool",)), out=tmp_path / "two.h5", workers=2
    )
    for name in (*COLUMNS, "score", "reward", "episodes"):
        assert np.array_equal(results[name], again[name], equal_nan=True)
