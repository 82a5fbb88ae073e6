"""Batch runs lose nothing: crashes, kills, signals, full disks, damage."""

import contextlib
import itertools
import os
import random
import resource
import signal
import subprocess
import time
import warnings

import pytest

from fastrm import FastrmWarning, StoreError, load, run
from fastrm.bench.__main__ import main
from fastrm.errors import DiskError
from fastrm.experiments.plan import Plan
from fastrm.results.store import Store

from sizes import either
from tiny_experiment import TOML, Crash, CrashDisk, command, contents, experiment, saved_runs

PHASE = {"clean": 0, "torn": either(0, 1), "lossy": either(0, 2)}


@pytest.mark.parametrize("how", PHASE)
def test_a_crash_before_any_operation_leaves_whole_files_and_resumes_to_the_same(how, plain, tmp_path, monkeypatch):
    monkeypatch.setattr("fastrm.experiments.batches.BATCH_RUNS", either(5, 12))  # a first, a middle, a last
    total = 0
    for at in itertools.count(PHASE[how], either(1, 3)):  # the ways share them, unless all are asked for
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
    assert total > either(30, 6)


def test_real_kills_at_random_moments_lose_no_finished_batch(tmp_path):
    """kill -9 again and again; FASTRM_KILLS sets how often."""
    kills, chance = int(os.environ.get("FASTRM_KILLS", either("8", "2"))), random.Random(1)
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
        if "to do" in said:
            assert not before and "144 runs to do" in said
        elif "resuming" in said:
            assert before and f"resuming: {len(before)} of 144 runs are there" in said
        assert saved_runs(path) >= before
        if process.returncode == 0:
            assert contents(path) == expected
            path.unlink()
    subprocess.run(command(path, toml, "--quiet"), check=True)
    assert contents(path) == expected


SIGNALS = list(itertools.product(("thread", "process"), (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)))


@pytest.mark.parametrize(("isolation", "number"), either(SIGNALS, SIGNALS[1:4]))  # each at least once
def test_a_signal_publishes_what_is_done_and_exits_3(isolation, number, tmp_path):
    toml, path = tmp_path / "long.toml", tmp_path / "long.h5"
    toml.write_text(TOML.replace("400_000", "8_000_000"))
    more = ["--isolation", isolation, "-j", "2"]
    process = subprocess.Popen(command(path, toml, *more), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    while not saved_runs(path):  # a first batch
        assert process.poll() is None
        time.sleep(0.05)  # the others here need the processor too
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
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)  # another one, as two of the same may be delivered as one
    process.communicate(timeout=10)
    assert process.returncode == 130


def test_a_full_disk_is_said_and_loses_nothing(plain, tmp_path):
    path, toml = tmp_path / "tiny.h5", tmp_path / "full.toml"
    toml.write_text(TOML.replace("400_000", "100_000"))

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
