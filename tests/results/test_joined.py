"""Shards of any number have equal parts of the runs, and their files load as one, each column when it is asked for."""

import csv
import tracemalloc

import numpy as np
import pytest

from fastrm import ConfigError, StoreError, load, run
from fastrm.bench.__main__ import main
from fastrm.experiments import Plan, merge
from fastrm.results import runs_of_shard, stats
from fastrm.results.hdf5 import pack
from fastrm.results.joined import JoinedColumns
from fastrm.results.schema import empty_frame
from fastrm.results.stats import iqm
from fastrm.results.store import file_attributes

from tiny_experiment import contents, experiment

SHARDS = 13


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Thirteen shards of an experiment of 36 runs in 12 cells, so that cells are split, and the whole of it."""
    folder = tmp_path_factory.mktemp("shards")
    run(experiment(), folder / "whole.h5", workers=1)
    for k in range(1, SHARDS + 1):
        run(experiment(), folder / f"part-{k:02}.h5", shard=(k, SHARDS), workers=1)
    return folder


@pytest.fixture
def joined(folder):
    return load(f"{folder}/part-*.h5")


@pytest.mark.parametrize(("cells", "seeds"), [(1, 1), (1, 7), (4, 1), (5, 3), (8, 2)])
def test_shards_of_any_number_are_equal_parts_of_all_runs(cells, seeds):
    plan = Plan.of(experiment(maps=cells, seeds=seeds, tasks=("a",), methods=("qrm-bool",)))
    for count in range(1, plan.count + 1):
        shards = [runs_of_shard(plan, k, count) for k in range(1, count + 1)]
        assert sorted(np.concatenate(shards)) == list(range(plan.count))
        assert {len(shard) for shard in shards} <= {plan.count // count, -(-plan.count // count)}
        if cells % count == 0:  # whole cells, in turn
            assert all((shard // seeds % count == k).all() for k, shard in enumerate(shards))


def test_more_shards_than_runs_are_refused_in_one_line(tmp_path, capsys):
    with pytest.raises(ConfigError, match="shard 1/37: the experiment has 36 runs; take at most as many shards"):
        run(experiment(), tmp_path / "x.h5", shard=(1, 37))
    assert main(["run", "quick", "--dry-run", "--shard", "1/9999"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_shards_that_split_seeds_merge_to_the_whole(folder, tmp_path):
    merge(sorted(folder.glob("part-*.h5")), tmp_path / "merged.h5")
    assert contents(tmp_path / "merged.h5") == contents(folder / "whole.h5")


def test_many_files_load_as_the_one_that_holds_all_their_runs(folder, joined):
    whole = load(folder / "whole.h5")
    assert isinstance(joined.columns, JoinedColumns) and set(joined.columns) == set(whole.columns)
    for name in whole.columns:
        assert joined.columns[name].tobytes() == whole.columns[name].tobytes(), name
    assert repr(joined) == repr(whole) and joined.complete and joined.path.name == "part-*.h5"
    assert joined.attributes["identity"] == whole.attributes["identity"]


def test_statistics_and_selections_of_many_files_are_those_of_one(folder, joined):
    whole = load([folder / "whole.h5", folder / "part-03.h5"])  # one file lies within the other
    for one, two in ((joined, whole), (joined.select(task="a-b"), load(folder / "whole.h5").select(task="a-b"))):
        assert one.summary() == two.summary() and one.summary(by="grid") == two.summary(by="grid")
        assert np.array_equal(one.curves("reward", method="hrm-num")[1], two.curves("reward", method="hrm-num")[1])
        assert np.array_equal(one.per_run_values("area"), two.per_run_values("area"))
        assert one.per_run_values("reached_90").dtype == two.per_run_values("reached_90").dtype
        assert one.compare("qrm-bool", "hrm-num") == two.compare("qrm-bool", "hrm-num")
        assert one.to_pandas().equals(two.to_pandas())


def test_a_run_of_many_files_can_be_replayed(joined):
    assert np.array_equal(joined.replay(20).score, joined["score"][20], equal_nan=True)


def test_what_is_there_loads_when_shards_are_missing(folder):
    some = load([folder / "part-02.h5", f"{folder}/part-1*.h5"])
    assert some.runs == 15 and not some.complete and (np.diff(some["run"]) > 0).all()


def test_files_that_cannot_be_joined_are_refused_in_one_line(folder, tmp_path, capsys):
    run(experiment(root_seed=1), tmp_path / "other.h5", shard=(1, 2))
    for names, message in (
        ([], r"path=\[\]: name at least one result file"),
        ([3], r"path=\[3\]: must be the name of a result file, a pattern, or a list"),
        (f"{tmp_path}/none-*.h5", r"none-\*\.h5: no file matches this pattern"),
        ([folder / "part-01.h5", tmp_path / "none.h5"], r"none\.h5: cannot be read"),
        ([folder / "part-01.h5", tmp_path / "other.h5"], r"other\.h5: holds another experiment \(root_seed 1 there"),
    ):
        with pytest.raises((ConfigError, StoreError), match=message):
            load(names)
    assert main(["info", f"{tmp_path}/none-*.h5"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_file_that_changes_after_it_was_checked_is_refused_and_one_that_was_read_is_not(folder, tmp_path):
    for k in (1, 2):
        (tmp_path / f"{k}.h5").write_bytes((folder / f"part-{k:02}.h5").read_bytes())
    results = load(f"{tmp_path}/*.h5")
    results["score"]
    (tmp_path / "2.h5").write_bytes((folder / "part-03.h5").read_bytes() + b" ")
    with pytest.raises(StoreError, match=r"2\.h5: cannot be read: it has changed since it was checked; load it again"):
        results["score"]
    (tmp_path / "2.h5").unlink()
    with pytest.raises(StoreError, match=r"2\.h5: cannot be read: it has changed"):
        results["reward"]


def test_a_summary_of_many_files_needs_the_curves_of_one_at_a_time(tmp_path):
    plan = Plan.of(experiment(maps=1, tasks=("a",), methods=("qrm-bool",), seeds=4000))
    for k in range(1, 9):
        frame = empty_frame(plan, runs_of_shard(plan, k, 8).tolist())
        frame["score"][:] = np.linspace(0, 1, 500)[:, None]
        frame["reward"][:] = 1.0
        (tmp_path / f"{k}.h5").write_bytes(pack(plan, [frame], file_attributes(plan, "")))
    results = load(f"{tmp_path}/*.h5")
    results.per_run_values("settled")
    curves = 8 * plan.count * plan.ticks
    tracemalloc.start()
    assert results.per_run_values("settled").mean() == pytest.approx(0.5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.75 * curves  # all scores and rewards alone are two


@pytest.mark.parametrize("maps", [1, 12])
def test_intervals_of_very_many_runs_are_as_wide_as_those_from_resamples(maps, monkeypatch):
    random = np.random.default_rng(0)
    which = np.arange(6000) % maps
    values = random.exponential(size=6000) + random.normal(size=maps)[which]
    resampled = stats.interval_of(iqm, values, which, rounds=2000)
    monkeypatch.setattr(stats, "MOST_RESAMPLED", 5999)
    left_out = stats.interval_of(iqm, values, which)
    assert left_out.over == resampled.over and left_out.low < iqm(values) < left_out.high
    assert 0.75 < (left_out.high - left_out.low) / (resampled.high - resampled.low) < 1.35


def test_merge_writes_a_summary_of_every_cell_instead_of_runs(folder, joined, tmp_path, capsys):
    out, parts = tmp_path / "cells.csv", list(map(str, folder.glob("part-*.h5")))
    assert main(["merge", *parts, "--summary", "--out", str(out)]) == 0
    assert f"12 rows written to {out}" in capsys.readouterr().err
    rows = list(csv.DictReader(out.read_text().splitlines()))
    expected = joined.summary(by=("setup", "grid", "task", "method"))
    medians = [row["settled_50"] for row in expected]
    assert [float(row["settled_50"]) for row in rows] == pytest.approx(medians, rel=1e-5)
    assert [row["method"] for row in rows] == [row["method"] for row in expected] and rows[0]["over"] == "seeds"
    assert main(["merge", *parts, "--summary", "--out", str(folder / "whole.h5")]) == 2
    assert "a summary ends in .csv" in capsys.readouterr().err
