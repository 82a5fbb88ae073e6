"""Batch runs that survive anything: the same bytes however they were computed, and nothing lost."""

import contextlib
import io
import itertools
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest

from fastrm import ConfigError, Experiment, FastrmWarning, LearnerConfig, StoreError, load, run
from fastrm.bench.__main__ import main
from fastrm.errors import DiskError
from fastrm.experiments import merge
from fastrm.experiments.plan import Plan
from fastrm.learners import registry
from fastrm.results.disk import Disk
from fastrm.results.hdf5 import PER_RUN, PER_TICK, SCHEMA, seal, unseal
from fastrm.results.store import Store


def experiment(**changes):
    settings = {
        "name": "tiny", "setups": ("1a1b",), "maps": 2, "size": 7, "tasks": ("a", "a-b"),
        "methods": ("qrm-bool", "crm-rs-bool", "hrm-num"), "seeds": 3, "steps": 2000,
        "learner": LearnerConfig(tick=500),
    }  # fmt: skip
    return Experiment(**{**settings, **changes})


def contents(path):
    """Return every dataset of a result file as bytes."""
    with h5py.File(io.BytesIO(unseal(Path(path).read_bytes(), str(path)))) as file:
        return {name: (str(d.dtype), d.shape, d[...].tobytes()) for name, d in file.items()}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """What one thread computes without any disturbance."""
    path = tmp_path_factory.mktemp("plain") / "tiny.h5"
    assert run(experiment(), path, workers=1).complete
    return contents(path)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr("fastrm.experiments.batches.BATCH_RUNS", 5)


class Crash(BaseException):
    """The machine stops here."""


class CrashDisk(Disk):
    """A disk that crashes before operation number `at`, in one of several ways."""

    def __init__(self, at, torn=False, lossy=False):
        self.at, self.torn, self.lossy, self.count = at, torn, lossy, 0
        self.unsynced, self.undo = set(), []

    def next(self):
        self.count += 1
        if self.count > self.at:
            self.crash()

    def crash(self):
        if self.lossy:  # what was not synced never reached the platter
            for path in self.unsynced:
                if path.exists():
                    path.write_bytes(b"")
            for undo in reversed(self.undo):
                undo()
        raise Crash

    def make_folder(self, path):
        self.next()
        super().make_folder(path)

    def write(self, path, data):
        if self.torn and self.count == self.at:
            super().write(path, data[: len(data) // 2])
        self.next()
        super().write(path, data)
        self.unsynced.add(path)

    def sync(self, path):
        self.next()
        super().sync(path)
        self.unsynced.discard(path)
        if path.is_dir():
            self.undo.clear()

    def rename(self, path, target):
        self.next()
        old = target.read_bytes() if target.exists() else None
        data = path.read_bytes()
        super().rename(path, target)
        if path in self.unsynced:  # a new name does not bring bytes to the platter
            self.unsynced = (self.unsynced - {path}) | {target}
        self.undo.append(lambda: (path.write_bytes(data), target.unlink() if old is None else target.write_bytes(old)))

    def remove(self, path):
        self.next()
        data = path.read_bytes() if path.exists() else b""
        super().remove(path)
        self.undo.append(lambda: path.parent.is_dir() and path.write_bytes(data))

    def remove_folder(self, path):
        self.next()
        super().remove_folder(path)


# --- the same bytes --------------------------------------------------------------------------------------------------


def compute(path, interrupted, **how):
    """Run the experiment, killed after its second batch and resumed if asked for."""
    if interrupted:
        with contextlib.suppress(Crash):
            run(experiment(), path, disk=CrashDisk(11), **how)
    return run(experiment(), path, **how)


def compute_shards(folder, interrupted, **how):
    parts = [folder / f"part{k}.h5" for k in (1, 2, 3)]
    for k, part in enumerate(parts, start=1):
        compute(part, interrupted, shard=(k, 3), **how)
    merge([parts[2], parts[0], parts[1]], folder / "tiny.h5")


def ways():
    """Yield all combinations; starting processes is slow, so all of theirs only with FASTRM_FULL=1."""
    for isolation, workers, sharded, interrupted in itertools.product(
        ("thread", "process"), (1, 2, 4), (False, True), (False, True)
    ):
        usual = workers == 2 or not (sharded or interrupted)
        if isolation == "thread" or usual or os.environ.get("FASTRM_FULL"):
            yield isolation, workers, sharded, interrupted


@pytest.mark.parametrize(("isolation", "workers", "sharded", "interrupted"), list(ways()))
def test_every_dataset_is_the_same_however_it_was_computed(isolation, workers, sharded, interrupted, plain, tmp_path):
    (compute_shards if sharded else compute)(
        tmp_path if sharded else tmp_path / "tiny.h5", interrupted, workers=workers, isolation=isolation
    )
    assert contents(tmp_path / "tiny.h5") == plain
    assert load(tmp_path / "tiny.h5").complete


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")
    with (
        warnings.catch_warnings(),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
    ):
        yield cluster


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("interrupted", [False, True], ids=["straight", "resumed"])
@pytest.mark.parametrize("sharded", [False, True], ids=["whole", "shards"])
def test_a_dask_cluster_of_two_processes_computes_the_same(cluster, sharded, interrupted, plain, tmp_path):
    (compute_shards if sharded else compute)(
        tmp_path if sharded else tmp_path / "tiny.h5", interrupted, scheduler=cluster.scheduler_address
    )
    assert contents(tmp_path / "tiny.h5") == plain


@pytest.mark.filterwarnings("ignore")
def test_a_dask_worker_killed_mid_batch_costs_its_batch_only(cluster, tmp_path):
    long = experiment(steps=400_000, seeds=4)
    expected = tmp_path / "expected.h5"
    run(long, expected)
    victim = next(iter(cluster.workers.values())).pid
    threading.Timer(0.3, os.kill, (victim, signal.SIGKILL)).start()
    assert run(long, tmp_path / "tiny.h5", scheduler=cluster.scheduler_address).complete
    assert contents(tmp_path / "tiny.h5") == contents(expected)


# --- nothing lost ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["clean", "torn", "lossy"])
def test_a_crash_before_any_operation_leaves_whole_files_and_resumes_to_the_same(how, plain, tmp_path):
    total = 0
    for at in itertools.count():
        path = tmp_path / f"{at}" / "tiny.h5"
        path.parent.mkdir()
        disk = CrashDisk(at, torn=how == "torn", lossy=how == "lossy")
        try:
            run(experiment(), path, workers=1, disk=disk)
            break
        except Crash:
            total += 1
        if path.exists():
            assert contents(path) == plain
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # no segment may be damaged either
            assert run(experiment(), path, workers=1).complete
        assert contents(path) == plain
        assert {p.name for p in path.parent.iterdir()} == {"tiny.h5"}
    assert total > 30


def command(path, toml, *more):
    return [sys.executable, "-m", "fastrm.bench", "run", str(toml), "--out", str(path), *more]


TOML = """
setups = ["1a1b1c"]
maps = 3
size = 15
tasks = ["a", "a-b-c"]
methods = ["qrm-bool", "crm-rs-bool", "hrm-num", "crm-num-bool"]
seeds = 6
steps = 400_000
"""


def saved_runs(path):
    """Return the runs that finished batches hold."""
    found = set()
    files = [*path.parent.glob(path.name + ".parts/*.seg"), *([path] if path.exists() else [])]
    for file in files:
        with h5py.File(io.BytesIO(unseal(file.read_bytes(), str(file)))) as segment:
            found |= set(segment["run"][...].tolist())
    return found


def test_real_kills_at_random_moments_lose_no_finished_batch(tmp_path):
    """kill -9 again and again; FASTRM_KILLS sets how often."""
    kills, chance = int(os.environ.get("FASTRM_KILLS", "8")), random.Random(1)
    toml, path = tmp_path / "kill.toml", tmp_path / "kill.h5"
    toml.write_text(TOML)
    subprocess.run(command(tmp_path / "plain.h5", toml, "--quiet"), check=True)
    expected = contents(tmp_path / "plain.h5")
    killed = 0
    while killed < kills:
        before = saved_runs(path)
        process = subprocess.Popen(command(path, toml), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        time.sleep(chance.uniform(0.5, 2.5))
        process.kill()
        said = process.communicate()[1]
        killed += process.returncode == -signal.SIGKILL
        if "runs to do" in said:
            assert f"{144 - len(before)} runs to do, {len(before)} done before" in said
        assert saved_runs(path) >= before
        if process.returncode == 0:
            assert contents(path) == expected
            path.unlink()
    subprocess.run(command(path, toml, "--quiet"), check=True)
    assert contents(path) == expected


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("isolation", ["thread", "process"])
def test_a_signal_publishes_what_is_done_and_exits_3(number, isolation, tmp_path):
    toml, path = tmp_path / "long.toml", tmp_path / "long.h5"
    toml.write_text(TOML.replace("400_000", "40_000_000"))
    more = ["--isolation", isolation, "-j", "2"]
    process = subprocess.Popen(command(path, toml, *more), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    while not saved_runs(path):  # a first batch
        assert process.poll() is None
    process.send_signal(number)
    said = process.communicate(timeout=20)[1]
    assert process.returncode == 3, said
    assert "interrupted:" in said and "the same command goes on from there" in said
    results = load(path)
    assert not results.complete and f"{results.runs} of 144" in said
    assert not path.with_name("long.h5.parts").exists()


def test_a_second_signal_leaves_at_once(tmp_path):
    toml, path = tmp_path / "long.toml", tmp_path / "long.h5"
    toml.write_text(TOML.replace("400_000", "400_000_000"))
    process = subprocess.Popen(command(path, toml), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    process.stderr.readline()
    while process.poll() is None:  # the first that comes after another one was heard
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
    process.communicate(timeout=10)
    assert process.returncode == 130


def test_a_full_disk_is_said_and_loses_nothing(plain, tmp_path):
    path, toml = tmp_path / "tiny.h5", tmp_path / "full.toml"
    toml.write_text(TOML)

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    done = subprocess.run(command(path, toml), preexec_fn=limit, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "cannot be written: File too large" in done.stderr and "run the same command again" in done.stderr
    assert "Traceback" not in done.stderr
    assert not path.exists() and not list(tmp_path.glob("**/.*tmp"))
    assert subprocess.run(command(path, toml, "--quiet"), check=False).returncode == 0
    assert load(path).complete


def test_a_failing_disk_raises_a_disk_error_and_keeps_what_was_saved(plain, tmp_path):
    class Full(CrashDisk):
        def crash(self):
            raise OSError(28, "No space left on device")

    with pytest.raises(DiskError, match="No space left on device; batches saved before are kept"):
        run(experiment(), tmp_path / "tiny.h5", workers=1, disk=Full(14))
    assert len(saved_runs(tmp_path / "tiny.h5")) == 15
    run(experiment(), tmp_path / "tiny.h5")
    assert contents(tmp_path / "tiny.h5") == plain


def test_a_damaged_segment_is_set_aside_and_its_runs_computed_again(plain, tmp_path):
    path = tmp_path / "tiny.h5"
    with contextlib.suppress(Crash):
        run(experiment(), path, workers=1, disk=CrashDisk(20))
    segment = sorted(path.with_name("tiny.h5.parts").glob("*.seg"))[1]
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    with pytest.warns(FastrmWarning, match=r"damaged .*set aside, its runs are computed again"):
        run(experiment(), path)
    assert contents(path) == plain
    assert [p.suffix for p in path.with_name("tiny.h5.parts").iterdir()] == [".damaged"]


def test_a_second_runner_on_the_same_file_is_refused_with_the_owner_named(tmp_path):
    path = tmp_path / "tiny.h5"
    store = Store(path, Plan.of(experiment()))
    try:
        with pytest.raises(StoreError, match=rf"in use by process {os.getpid()} on .* since .*wait for it"):
            run(experiment(), path)
    finally:
        store.abandon()
    assert run(experiment(), path).complete


def test_a_failed_run_is_recorded_with_its_error_and_the_rest_goes_on(tmp_path, capsys):
    """Task c cannot be completed on a map without c: its runs fail, the others do not."""
    toml = tmp_path / "part.toml"
    toml.write_text(TOML.replace('"1a1b1c"', '"1a1b"').replace("400_000", "10_000"))
    assert main(["run", str(toml), "--out", str(tmp_path / "part.h5")]) == 1
    assert "72 runs failed; the first:" in capsys.readouterr().err
    results = load(tmp_path / "part.h5")
    failed = results["error"] != ""
    assert not results.complete and results.runs == 144
    assert set(results["task"][failed]) == {"a-b-c"} and "cannot be completed" in results["error"][failed][0]
    assert (results["episodes"][~failed][:, -1] > 0).all()


# --- resuming and refusing -------------------------------------------------------------------------------------------


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
    with pytest.raises(StoreError, match=r"semantics of crm 1 there, 99 here"):
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


# --- reading ---------------------------------------------------------------------------------------------------------


def test_xarray_and_pandas_open_the_file_unchanged(tmp_path):
    xarray = pytest.importorskip("xarray", reason="needs the extra 'analysis'")
    run(experiment(), tmp_path / "tiny.h5")
    with xarray.open_dataset(tmp_path / "tiny.h5") as data:
        assert dict(data.sizes) == {"run": 36, "tick": 4}
        assert set(data.coords) >= {"setup", "grid", "task", "algo", "kind", "shaping", "label", "seed", "step"}
        assert data.score.where(data.label == "crm-rs-bool", drop=True).shape == (12, 4)
        assert set(data.data_vars) == {*PER_RUN, *PER_TICK}
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
        ({"metod": "x"}, r"no coordinate 'metod' \(did you mean method|no coordinate 'metod'"),
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
for _ in range(20_000):
    mutated = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8))):
        mutated[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    try:
        unpack(bytes(mutated), "x.h5", everything=True)
    except StoreError:
        refused += 1
print(refused)
"""


def test_twenty_thousand_flipped_files_never_crash_or_hang_the_reader(tmp_path):
    run(experiment(), tmp_path / "tiny.h5")
    done = subprocess.run(
        [sys.executable, "-c", FLIPS, tmp_path / "tiny.h5"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 19_990  # two flips of the same bit cancel


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
