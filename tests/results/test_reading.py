"""Reading files: by other libraries, by selections, and files that are damaged or forged."""

import subprocess
import sys

import h5py
import numpy as np
import pytest

from fastrm import ConfigError, StoreError, load, run
from fastrm.bench.__main__ import main
from fastrm.results.hdf5 import PER_RUN, PER_TICK, SCHEMA, seal
from fastrm.results.schema import VARIABLES

from sizes import either
from tiny_experiment import experiment


def test_xarray_and_pandas_open_the_file_unchanged(tmp_path):
    xarray = pytest.importorskip("xarray", reason="needs the extra 'analysis'")
    run(experiment(greedy_ticks=True), tmp_path / "tiny.h5")
    with xarray.open_dataset(tmp_path / "tiny.h5") as data:
        assert dict(data.sizes) == {"run": 36, "tick": 4}
        assert set(data.coords) >= {"setup", "grid", "task", "algo", "kind", "shaping", "label", "seed", "step"}
        assert data.score.where(data.label == "crm-rs-bool", drop=True).shape == (12, 4)
        learned = {value.name for value in VARIABLES if value.on_request == "learned machines"}
        assert set(data.data_vars) == {*PER_RUN, *PER_TICK} - learned
        assert len(data.to_dataframe()) == 144
        ours = load(tmp_path / "tiny.h5").to_xarray()
        assert set(ours.variables) == set(data.variables)
        for name in ours.variables:
            assert np.array_equal(ours[name].values, data[name].values, equal_nan=ours[name].dtype.kind == "f"), name
    assert len(load(tmp_path / "tiny.h5").to_pandas()) == 144


def test_curves_and_selections(tmp_path):
    results = run(experiment(), tmp_path / "tiny.h5")
    steps, scores = results.curves(method="crm-rs-bool", task="a-b")
    assert steps.tolist() == [500, 1000, 1500, 2000] and scores.shape == (6, 4)
    assert results.select(label=["qrm-bool", "hrm-num"], seed=1).runs == 8
    for wanted, message in [
        ({"metod": "x"}, r"no coordinate 'metod' \(did you mean method\?\); there are setup"),
        ({"method": "crm-rs-bol"}, r"selects nothing \(did you mean crm-rs-bool\?\)"),
        ({"algo": "qrm", "kind": "numeric"}, "nothing is selected by algo='qrm', kind='numeric' together"),
    ]:
        with pytest.raises(ConfigError, match=message):
            results.select(**wanted)
    with pytest.raises(ConfigError, match=r"no curve 'scor' \(did you mean score\?\)"):
        results.curves("scor")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: b"", "empty"),
        (lambda data: b"hello", "not a fastrm result file"),
        (lambda data: data[: len(data) // 2], "truncated or foreign"),
        (lambda data: data[:-1], "truncated or foreign"),
        (lambda data: data[:5000] + b"\0" + data[5001:], "damaged"),
        (lambda data: seal(b"not hdf5"), "cannot be read"),
    ],
)
def test_files_that_are_not_ours_or_damaged_are_refused(damage, message, tmp_path, capsys):
    path = tmp_path / "tiny.h5"
    run(experiment(), path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StoreError, match=message):
        load(path)
    assert main(["info", str(path)]) == 2 and capsys.readouterr().err.count("\n") == 1
    with pytest.raises(StoreError):
        run(experiment(), path)


def forged(change):
    with h5py.File("x", "w", driver="core", backing_store=False) as file:
        file.attrs["schema"] = SCHEMA
        change(file)
        file.flush()
        return seal(file.id.get_file_image())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.attrs.__setitem__("schema", 99), "schema 99"),
        (lambda f: f.__setitem__("score", h5py.ExternalLink("/etc/passwd", "/x")), "'score', which is not part"),
        (lambda f: f.__setitem__("score", h5py.SoftLink("/run")), "'score', which is not part"),
        (lambda f: f.create_group("score"), "'score', which is not part"),
        (lambda f: f.create_dataset("evil", data=1), "lacks"),
        (lambda f: f.create_dataset("score", shape=(8,), dtype="u1", external=[("/etc/passwd", 0, 8)]), "another file"),
        (lambda f: f.create_dataset("run", shape=(10**15,), dtype="f8", chunks=(1,)), "lacks"),
        (lambda f: None, "lacks"),
    ],
)
def test_forged_files_are_refused(change, message, tmp_path):
    (tmp_path / "x.h5").write_bytes(forged(change))
    with pytest.raises(StoreError, match=message):
        load(tmp_path / "x.h5")


def test_absurd_sizes_are_refused_before_anything_is_allocated(tmp_path):
    def change(file):
        for name in ("run", "tick", "step", *PER_RUN, *PER_TICK,
                     "setup", "grid", "task", "algo", "kind", "shaping", "label", "seed"):  # fmt: skip
            file.create_dataset(name, shape=(10**12,), dtype="f8", chunks=(1024,))

    (tmp_path / "x.h5").write_bytes(forged(change))
    with pytest.raises(StoreError, match="claims more than 4 GiB"):
        load(tmp_path / "x.h5")


FLIPS = """
import random, sys
from fastrm.results.hdf5 import unpack
from fastrm import StoreError
data, chance, refused = open(sys.argv[1], "rb").read(), random.Random(2), 0
for _ in range(int(sys.argv[2])):
    mutated = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8))):
        mutated[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    try:
        unpack(bytes(mutated), "x.h5", everything=True)
    except StoreError:
        refused += 1
print(refused)
"""


def test_thousands_of_flipped_files_never_crash_or_hang_the_reader(tmp_path):
    run(experiment(), tmp_path / "tiny.h5")
    flipped = either(20_000, 5_000)
    words = [sys.executable, "-c", FLIPS, tmp_path / "tiny.h5", str(flipped)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > flipped - 10  # two flips of the same bit cancel


def test_steps_to_90_and_greedy_lengths_are_those_of_the_runs(tmp_path):
    results = run(experiment(steps=500), tmp_path / "short.h5")
    assert 0 < results["solved"].mean() < 1  # some runs have not learned yet
    check_figures(results)
    check_figures(run(experiment(steps=20_000), tmp_path / "tiny.h5"))


def check_figures(results):
    for k in range(results.runs):
        above = np.flatnonzero(results["score"][k] >= 0.9)
        expected = results["step"][above[0]] if above.size else np.nan
        assert np.array_equal(results["steps_to_90"][k], expected, equal_nan=True)
        assert results["solved"][k] == (results["greedy_length"][k] == results["shortest"][k])
