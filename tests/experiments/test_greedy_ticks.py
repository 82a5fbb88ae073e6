"""Greedy curves in experiments and their files."""

import json

import numpy as np
import pytest

import fastrm
from fastrm import ConfigError
from fastrm.experiments import Plan, merge
from fastrm.pages import report_page
from fastrm.plots import curves_as_text, learning_curves
from fastrm.results.schema import VARIABLES

from tiny_experiment import contents, experiment

ON_REQUEST = {"greedy_curve", "steps_to_shortest", "steps_to_lasting_shortest"}
LONGER = {"steps": 20_000, "learner": {"tick": 1_000}}


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    folder = tmp_path_factory.mktemp("greedy")
    watched = fastrm.run(experiment(greedy_ticks=True, **LONGER), out=folder / "on.h5", workers=1)
    return watched, fastrm.run(experiment(**LONGER), out=folder / "off.h5", workers=1)


def test_the_rows_of_the_schema_are_those_that_are_on_request():
    assert {variable.name for variable in VARIABLES if variable.on_request == "greedy_ticks"} == ON_REQUEST


def test_only_files_that_asked_have_greedy_curves_and_all_else_is_the_same(both):
    on, off = (contents(results.path) for results in both)
    assert set(on) - set(off) == ON_REQUEST
    assert all(on[name] == off[name] for name in off)
    assert both[0]["run_id"].tolist() == both[1]["run_id"].tolist()


def test_experiments_that_do_not_ask_are_written_as_before(both):
    assert "greedy" not in both[1].plan.to_json() + json.dumps(both[1].attributes["experiment"])
    assert both[0].plan.digest != both[1].plan.digest
    assert Plan.from_json(both[0].plan.to_json()).greedy_ticks


def test_a_curve_ends_with_the_greedy_length_and_steps_are_read_off_it(both):
    on = both[0]
    steps, curves = on.curves("greedy_curve")
    length = np.where(on["greedy_length"] < 0, np.nan, on["greedy_length"])
    assert np.array_equal(curves[:, -1], length, equal_nan=True)
    for row, curve in enumerate(curves):
        found = steps[curve == on["shortest"][row]]
        assert np.array_equal(on["steps_to_shortest"][row], found[0] if len(found) else np.nan, equal_nan=True)
    assert np.isfinite(on["steps_to_lasting_shortest"]).tolist() == on["solved"].astype(bool).tolist()


def test_summaries_comparisons_and_frames_have_them(both):
    on, off = both
    row = on.summary()[0]
    assert {"steps_to_shortest_50", "steps_to_lasting_shortest_50"} <= row.keys()
    assert not any("shortest_50" in name for name in off.summary()[0])
    assert on.compare("crm-rs-bool", "qrm-bool", "steps_to_lasting_shortest").pairs == 12
    assert set(on.to_pandas().columns) >= ON_REQUEST and set(on.to_xarray().data_vars) >= ON_REQUEST
    assert not ON_REQUEST & set(off.to_pandas().columns)


def test_curves_of_the_greedy_policy_end_at_1_where_most_runs_end_with_a_shortest_path(both):
    on, off = both
    drawn = learning_curves(on, value="greedy", methods=["crm-rs-bool"], names={"crm-rs-bool": "ours"})
    for axis, task in zip(drawn.axes, ("a", "a-b"), strict=True):
        (line,) = (line for line in axis.lines if line.get_label() == "ours")
        runs = on.select(task=task, method="crm-rs-bool")
        ratio = np.nan_to_num(runs["shortest"] / runs["greedy_curve"][:, -1])
        assert line.get_ydata()[-1] == np.median(ratio) and axis.get_ylabel() in ("shortest / greedy path", "")
    assert "shortest / greedy path" in curves_as_text(on, value="greedy")
    with pytest.raises(ConfigError, match="greedy_ticks = true"):
        learning_curves(off, value="greedy")


@pytest.mark.parametrize("ask", [
    lambda results: results.curves("greedy_curve"),
    lambda results: results["steps_to_shortest"],
    lambda results: results.compare("crm-rs-bool", "qrm-bool", "steps_to_lasting_shortest"),
])  # fmt: skip
def test_a_file_without_them_says_how_to_have_them(both, ask):
    with pytest.raises(ConfigError, match="greedy_ticks = true"):
        ask(both[1])


def test_replays_and_merged_shards_have_the_same_curves(both, tmp_path):
    on = both[0]
    assert on.replay(7).greedy_curve.tobytes() == on["greedy_curve"][7].tobytes()
    parts = [tmp_path / f"{k}.h5" for k in range(2)]
    for k, part in enumerate(parts):
        fastrm.run(experiment(greedy_ticks=True, **LONGER), out=part, shard=(k + 1, 2), workers=1)
    merge(parts, tmp_path / "whole.h5")
    assert contents(tmp_path / "whole.h5") == contents(on.path)


def test_tables_mark_steps_that_measure_a_schedule(both, tmp_path):
    assert both[0].schedule_note == ""
    falling = experiment(
        methods=("crm-rs-bool",), tasks=("a",), learner={"tick": 500, "epsilon": "linear(1, 0.1, 1000)"}
    )
    results = fastrm.run(falling, out=tmp_path / "falling.h5", workers=1)
    assert "measure the schedule; greedy_ticks = true tells" in results.schedule_note
    assert "to 90 %*" in results._repr_html_() and "measure the schedule" in report_page(results, replays=0)


def test_greedy_ticks_must_be_true_or_false():
    with pytest.raises(ConfigError, match="greedy_ticks=1"):
        experiment(greedy_ticks=1)
