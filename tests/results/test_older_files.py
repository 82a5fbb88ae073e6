"""Files outlive versions: older ones load, what they lack reads as missing, going on with them works or is refused."""

import io
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from fastrm import ConfigError, Experiment, LearnerConfig, StoreError, load, run
from fastrm.bench.__main__ import main
from fastrm.experiments import Plan, merge
from fastrm.results.hdf5 import pack, seal, unseal
from fastrm.results.schema import PER_TICK, empty_frame, variables_of
from fastrm.results.store import file_attributes

from tiny_experiment import contents, experiment

FIRST = Path(__file__).parents[1] / "data" / "first-landing.h5"
TINY = Experiment(
    name="tiny", setups=("1a1b",), maps=2, size=9, tasks=("a-b",), methods=("crm-bool", "hrm-num", "qrm-rs-bool"),
    seeds=2, steps=4000, learner=LearnerConfig(tick=1000),
)  # fmt: skip


def test_a_file_of_the_first_landing_loads_with_the_curves_of_today(tmp_path, capsys):
    """The first landing knew no lasting identities; everything else it computed is computed still."""
    old, new = load(FIRST), run(TINY, tmp_path / "new.h5")
    assert old.complete and old.plan.methods == new.plan.methods
    for name in new.columns:
        if name == "ceiling":  # not known then
            assert np.isnan(old["ceiling"]).all() and (new["ceiling"] > 0.9 * new["optimal_arps"]).all()
        elif name == "train_seed":
            assert (old["train_seed"] == 0).all() and (new["train_seed"] > 0).all()
        elif name != "run_id":
            assert old.columns[name].tobytes() == new.columns[name].tobytes(), name
    assert main(["info", str(FIRST)]) == 0 and main(["plot", str(FIRST), "--text"]) == 0
    capsys.readouterr()


def test_counts_that_an_older_file_holds_in_32_bits_read_in_64(tmp_path):
    with h5py.File(io.BytesIO(unseal(FIRST.read_bytes(), str(FIRST))), "r") as file:
        assert file["episodes"].dtype == file["completions"].dtype == np.int32
    old, new = load(FIRST), run(TINY, tmp_path / "new.h5")
    for name in ("episodes", "completions"):
        assert old[name].dtype == new[name].dtype == np.int64
        assert np.array_equal(old[name], new[name]) and old[name].max() > 0


def test_counts_beyond_32_bits_are_kept(tmp_path):
    """A step is an episode where targets are next door, so 3e9 steps end as many episodes."""
    plan = Plan.of(TINY)
    frame = empty_frame(plan, list(range(plan.count)))
    frame["episodes"][:], frame["completions"][:] = 3_000_000_000, 2**31
    (tmp_path / "x.h5").write_bytes(pack(plan, [frame], file_attributes(plan, "")))
    results = load(tmp_path / "x.h5")
    assert (results["episodes"] == 3_000_000_000).all() and (results["completions"] == 2**31).all()


def test_a_file_with_counts_in_32_bits_is_merged_with_one_of_today(tmp_path):
    def narrow(file):
        for name in ("episodes", "completions"):
            column, attributes = file[name][...], dict(file[name].attrs)
            del file[name]
            file.create_dataset(name, data=column.astype(np.int32))
            file[name].attrs["long_name"] = attributes["long_name"]

    run(TINY, tmp_path / "new.h5")
    edited(tmp_path / "old.h5", narrow, tmp_path / "new.h5")
    merge([tmp_path / "old.h5", tmp_path / "new.h5"], tmp_path / "both.h5")
    assert contents(tmp_path / "both.h5") == contents(tmp_path / "new.h5")


def test_going_on_with_it_is_refused_in_one_line(tmp_path, capsys):
    path = tmp_path / "old.h5"
    shutil.copy(FIRST, path)
    with pytest.raises(StoreError, match="begun before runs had lasting identities; it can be read, not continued"):
        run(TINY, path)
    assert path.read_bytes() == FIRST.read_bytes()


def edited(path, change, original=FIRST):
    """Write a copy of a file with something changed inside, sealed again."""
    buffer = io.BytesIO(unseal(original.read_bytes(), str(original)))
    with h5py.File(buffer, "r+") as file:
        change(file)
    path.write_bytes(seal(buffer.getvalue()))
    return path


@pytest.mark.parametrize("variable", [v for v in variables_of() if v.name != "error"], ids=lambda v: v.name)
def test_a_variable_that_an_older_file_lacks_reads_as_missing(variable, tmp_path):
    results = load(edited(tmp_path / "x.h5", lambda file: file.pop(variable.name, None)))
    column = results[variable.name]
    assert column.shape == ((12, 4) if variable.per == "tick" else (12,))
    expected = variable.missing.decode() if isinstance(variable.missing, bytes) else variable.missing
    assert np.array_equal(column, np.full(column.shape, expected), equal_nan=column.dtype.kind == "f")
    assert results.complete and results.to_xarray()[variable.name].shape == column.shape


def test_runs_shorter_than_a_tick_that_have_no_row_read_as_one_row_of_missing_values(tmp_path):
    def without_rows(file):
        for name in ("tick", "step", *PER_TICK):
            if name in file:
                column = file[name][..., :0]
                del file[name]
                file.create_dataset(name, data=column)

    run(experiment(steps=300), tmp_path / "short.h5")
    results = load(edited(tmp_path / "old.h5", without_rows, tmp_path / "short.h5"))
    assert results.complete and results["step"].tolist() == [300] and results["score"].shape == (results.runs, 1)
    assert np.isnan(results["score"]).all() and not results["episodes"].any()
    assert results["solved"].tolist() == load(tmp_path / "short.h5")["solved"].tolist()
    assert results.summary()[0]["runs"] == 6 and results.to_xarray().sizes["tick"] == 1
    assert np.isnan(results.per_run_values("area")).all()
    with pytest.raises(ConfigError, match="area: some runs have none; nothing to compare"):
        results.compare("crm-rs-bool", "qrm-bool", "area")


def test_a_variable_that_a_newer_file_has_is_passed_over(tmp_path):
    def add(file):
        file.create_dataset("ceiling_of_tomorrow", data=np.ones(12))

    results = load(edited(tmp_path / "x.h5", add))
    assert results.complete and "ceiling_of_tomorrow" not in results.columns


def test_settings_that_a_newer_plan_has_are_passed_over(tmp_path):
    def add(file):
        file.attrs["plan"] = str(file.attrs["plan"]).replace('"alpha"', '"tomorrow": 1, "alpha"', 1)

    assert load(edited(tmp_path / "x.h5", add)).plan.learner == TINY.learner


def test_another_schema_is_refused(tmp_path):
    def change(file):
        file.attrs["schema"] = 99

    with pytest.raises(StoreError, match="schema 99; this version of fastrm reads schema 2"):
        load(edited(tmp_path / "x.h5", change))


def test_a_part_that_lacks_a_variable_belongs_to_one_that_has_it(tmp_path):
    """The same runs, computed before and after the variables were there."""

    def drop(file):
        file.pop("ceiling")
        file.pop("train_seed")

    run(TINY, tmp_path / "new.h5")
    edited(tmp_path / "old.h5", drop, tmp_path / "new.h5")
    merged = merge([tmp_path / "new.h5", tmp_path / "old.h5"], tmp_path / "both.h5")
    assert merged.complete and np.isfinite(merged["ceiling"]).all() and (merged["train_seed"] > 0).all()


def test_a_file_that_lacks_seeds_is_gone_on_with(tmp_path):
    path = tmp_path / "old.h5"
    run(TINY, tmp_path / "new.h5")
    run(TINY, path, shard=(1, 2))
    edited(path, lambda file: file.pop("train_seed"), path)
    before, after = load(path), run(TINY, path)
    assert after.complete and not before.complete and (before["train_seed"] == 0).all()
    is_new = ~np.isin(after["run"], before["run"])
    assert ((after["train_seed"] > 0) == is_new).all()
    assert after["score"].tobytes() == load(tmp_path / "new.h5")["score"].tobytes()
