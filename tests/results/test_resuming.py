"""What a file holds already is not computed again; what does not belong to it is refused."""

import io

import h5py
import pytest

from fastrm import StoreError, load, run
from fastrm.bench.__main__ import main
from fastrm.experiments import merge
from fastrm.learners import registry
from fastrm.results.hdf5 import seal, unseal

from tiny_experiment import TOML, Crash, CrashDisk, contents, experiment, saved_runs


def test_a_complete_file_is_not_computed_again(plain, tmp_path, monkeypatch):
    run(experiment(), tmp_path / "tiny.h5")
    stamp = (tmp_path / "tiny.h5").stat().st_mtime_ns
    monkeypatch.setattr("fastrm.experiments.executors.work", None)
    assert run(experiment(), tmp_path / "tiny.h5").complete
    assert (tmp_path / "tiny.h5").stat().st_mtime_ns == stamp


def test_another_experiment_in_the_file_is_refused_with_what_differs_and_fresh_starts_over(tmp_path, capsys):
    path, toml = tmp_path / "x.h5", tmp_path / "x.toml"
    toml.write_text(TOML.replace("400_000", "20_000"))
    assert main(["run", str(toml), "--out", str(path), "--quiet"]) == 0
    assert main(["run", str(toml), "--out", str(path), "--steps", "30000"]) == 2
    assert "holds another experiment (steps 20000 there, 30000 here)" in capsys.readouterr().err
    assert main(["run", str(toml), "--out", str(path), "--steps", "30000", "--fresh", "--quiet"]) == 0
    assert load(path).complete and load(path)["step"][-1] == 30_000
    assert load(tmp_path / "x.h5.bak")["step"][-1] == 20_000


def test_a_file_of_another_version_goes_on_and_one_of_other_semantics_is_refused(tmp_path, monkeypatch):
    run(experiment(), tmp_path / "tiny.h5", shard=(1, 2))
    monkeypatch.setattr("fastrm.__version__", "9.9")
    assert run(experiment(), tmp_path / "tiny.h5").complete
    monkeypatch.setattr(type(registry.find("crm")), "semantics", 99)
    with pytest.raises(StoreError, match=r"semantics of crm 2 there, 99 here"):
        run(experiment(), tmp_path / "tiny.h5")
    assert load(tmp_path / "tiny.h5").complete


def test_shards_that_disagree_are_not_merged(tmp_path):
    run(experiment(), tmp_path / "a.h5", shard=(1, 2))
    run(experiment(root_seed=1), tmp_path / "b.h5", shard=(2, 2))
    with pytest.raises(StoreError, match="root_seed 1 there, 0 here"):
        merge([tmp_path / "a.h5", tmp_path / "b.h5"], tmp_path / "c.h5")


def test_runs_that_occur_twice_must_be_the_same_to_the_bit(plain, tmp_path):
    path = tmp_path / "tiny.h5"
    run(experiment(), path)
    merge([path, path], tmp_path / "twice.h5")
    assert contents(tmp_path / "twice.h5") == plain
    with h5py.File("x", "w", driver="core", backing_store=False) as file:
        with h5py.File(io.BytesIO(unseal(path.read_bytes(), ""))) as old:
            for name in old:
                old.copy(name, file)
            file.attrs.update(old.attrs)
        file["score"][0, 0] = 0.123
        file.flush()
        (tmp_path / "other.h5").write_bytes(seal(file.id.get_file_image()))
    with pytest.raises(StoreError, match="run 0 occurs twice with different results"):
        merge([path, tmp_path / "other.h5"], tmp_path / "c.h5")


def test_batches_of_another_experiment_are_refused_with_what_differs_and_left_alone(plain, tmp_path, recwarn):
    path = tmp_path / "tiny.h5"
    with pytest.raises(Crash):
        run(experiment(), path, workers=1, disk=CrashDisk(20))
    before = {file.name: file.read_bytes() for file in path.with_name("tiny.h5.parts").iterdir()}
    with pytest.raises(StoreError, match=r"tiny\.h5\.parts: holds another experiment \(steps 2000 there, 3000 here\)"):
        run(experiment(steps=3000), path)
    assert {file.name: file.read_bytes() for file in path.with_name("tiny.h5.parts").iterdir()} == before
    assert not recwarn.list
    run(experiment(), path)
    assert contents(path) == plain


def test_fresh_keeps_every_older_file_and_its_finished_batches(plain, tmp_path):
    path = tmp_path / "tiny.h5"
    for steps in (1000, 1500):
        run(experiment(steps=steps), path, fresh=True)
    with pytest.raises(Crash):
        run(experiment(), path, fresh=True, workers=1, disk=CrashDisk(20))
    run(experiment(steps=2500), path, fresh=True)
    kept = {name: load(tmp_path / name)["step"][-1] for name in ("tiny.h5", "tiny.h5.bak", "tiny.h5.bak.1")}
    assert kept == {"tiny.h5": 2500, "tiny.h5.bak": 1000, "tiny.h5.bak.1": 1500}
    assert len(saved_runs(tmp_path / "tiny.h5.bak.2")) > 5
    assert run(experiment(), tmp_path / "tiny.h5.bak.2").complete  # it goes on there
    assert contents(tmp_path / "tiny.h5.bak.2") == plain
