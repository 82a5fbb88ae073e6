"""Runs that were made elsewhere, written as a result file, are read like any other."""

import math

import numpy as np
import pytest
import xarray

import fastrm
from fastrm import ConfigError
from fastrm.bench.__main__ import main
from fastrm.plots import figures_of
from fastrm.results import write_runs

NAMES = {"setup": "2a2b", "grid": "0", "task": "a-b"}


def runs(methods=("dqn-bool", "dqn-crm-bool"), seeds=3):
    return [
        {
            **NAMES, "method": method, "seed": seed, "score": [math.nan, 0.1 * seed + k, 0.9],
            "episodes": [0, 5 + seed, 9], "shortest": 7, "greedy_length": 8, "solved": False, "steps_to_90": 300.0,
        }
        for k, method in enumerate(methods)
        for seed in reversed(range(seeds))
    ]  # fmt: skip


def test_a_file_has_what_was_given_and_opens_with_xarray(tmp_path):
    path = tmp_path / "dqn.h5"
    written = write_runs(path, runs(), name="dqn", tick=100, about={"torch": "2.13"})
    results = fastrm.load(path)
    assert str(results) == str(written) == "<Results dqn: 6 runs (complete), 3 ticks>"
    assert results["method"].tolist() == ["dqn-bool"] * 3 + ["dqn-crm-bool"] * 3
    assert (
        results["algo"][-1] == "dqn-crm"
        and results["kind"][0] == "boolean"
        and results["seed"].tolist() == [0, 1, 2] * 2
    )
    steps, scores = results.curves(method="dqn-crm-bool")
    assert steps.tolist() == [100, 200, 300] and np.allclose(scores[:, 1], [1.0, 1.1, 1.2])
    assert results["episodes"][2].tolist() == [0, 7, 9] and np.isnan(results["reward"]).all()
    assert results.summary(by=("method",))[0]["method"] == "dqn-bool"
    with xarray.open_dataset(path) as data:
        assert dict(data.sizes) == {"run": 6, "tick": 3} and data.attrs["command"]


def test_missing_runs_leave_a_file_that_is_not_complete(tmp_path):
    assert str(write_runs(tmp_path / "x.h5", runs()[1:], name="dqn", tick=1)) == "<Results dqn: 5 runs (of 6), 3 ticks>"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], r"runs=\[\]: must be a list of runs"),
        (
            [{**runs()[0], "score": [1.0]}, runs()[1]],
            r"runs: curves have \[1, 3\] values; each must have one for every",
        ),
        ([{**NAMES, "method": "dqn-bool", "seed": 0}], "runs: curves have no values"),
        ([{**runs()[0], "task": ""}], "runs: task='': must be a name; every run has setup, grid, task, method"),
        ([{**runs()[0], "seed": -1}], "seed=-1: must be a whole number"),
        ([{**runs()[0], "scor": 1}], r"runs: no variable 'scor' \(did you mean score\?\)"),
        ([{**runs()[0], "solved": "x"}], "runs: solved='x' of 2a2b 0 a-b dqn-bool seed 2: does not fit"),
        ([runs()[0], runs()[0]], "runs: 2a2b 0 a-b dqn-bool seed 2 is given twice"),
        ([{**runs()[0], "score": 0.5}], "runs: score=0.5: must be a list of values, one for every tick"),
        ([{**NAMES, "method": "dqn-bool", "seed": 0, "score": []}], r"runs: score=\[\]: must be a list of values"),
        ([{**runs()[0], "run": 7}], "runs: no variable 'run'"),
        ([{**runs()[0], "run_id": "x"}], "runs: no variable 'run_id'"),
        ([{**runs()[0], "task": "a\0"}], "must be a name"),
        ([{**runs()[0], "setup": "\ud800"}], "must be a name"),
        ([{**runs()[0], "setup": "a" * 5000}], "must be a name"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(given, message, tmp_path):
    with pytest.raises(ConfigError, match=message) as error:
        write_runs(tmp_path / "x.h5", given, name="dqn", tick=1)
    assert "\n" not in str(error.value) and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"about": {"seen": {1}}}, "about=.*: JSON cannot hold it: Object of type set"),
        ({"about": {5: 1}}, "about=.*: must be a table of names and values"),
        ({"about": "torch"}, "about='torch': must be a table of names and values"),
        ({"name": None}, "name=None: must be a text of one line"),
        ({"path": None}, "None: not a file name"),
        ({"path": "a\0b"}, "not a file name"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_in_one_line(settings, message, tmp_path):
    given = {"path": tmp_path / "x.h5", "name": "dqn", "tick": 1} | settings
    with pytest.raises(ConfigError, match=message):
        write_runs(given.pop("path"), runs(), **given)
    assert not list(tmp_path.iterdir())


def test_seeds_may_be_numbers_of_numpy_and_messages_of_failed_runs_are_kept_whole(tmp_path):
    given = [{**runs()[0], "seed": np.int64(1), "error": "out of memory"}, {**runs()[0], "seed": np.int64(0)}]
    results = write_runs(tmp_path / "x.h5", given, name="dqn", tick=1)
    assert results["seed"].tolist() == [0, 1] and results["error"].tolist() == ["", "out of memory"]


def test_a_file_plots_and_what_needs_its_maps_is_refused_in_one_line(tmp_path, capsys):
    path = tmp_path / "x.h5"
    results = write_runs(path, runs(), name="dqn", tick=100)
    names = [name for name, _ in figures_of(results)]
    assert "one-map" in names and not any(name.startswith("maps") for name in names)
    for command in (["claims", str(path)], ["findings", str(path)]):
        assert main(command) == 2
        error = capsys.readouterr().err
        assert "its runs were made elsewhere, and its file holds names of maps and tasks only" in error, command


def test_files_of_the_same_runs_load_as_one(tmp_path):
    given = runs()
    for name, some in (("a.h5", given), ("b.h5", given[:2] + given[3:])):
        write_runs(tmp_path / name, some, name="dqn", tick=100)
    assert str(fastrm.load(str(tmp_path / "*.h5"))) == "<Results dqn: 6 runs (complete), 3 ticks>"
