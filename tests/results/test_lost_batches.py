"""Batches that vanish while an experiment runs are noticed and computed again."""

import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

from fastrm import FastrmWarning, load, run
from fastrm.errors import DiskError
from fastrm.experiments import Interrupted, Plan, work
from fastrm.results import Store, hdf5

from tiny_experiment import TOML, CrashDisk, command, contents, experiment, saved_runs


def after(runs, act):
    """Return a report that acts once, when so many runs are done."""
    acted = []

    def report(progress):
        if progress.runs_done >= runs and not acted:
            acted.append(act())

    return report


def remove_parts(path):
    shutil.rmtree(path.with_name(path.name + ".parts"))


def remove_one(path):
    sorted(path.with_name(path.name + ".parts").glob("*.seg"))[1].unlink()


@pytest.mark.parametrize("remove", [remove_parts, remove_one])
def test_finished_batches_removed_during_a_run_are_computed_again_in_the_same_call(remove, plain, tmp_path):
    path = tmp_path / "tiny.h5"
    with pytest.warns(FastrmWarning, match=r"[0-9]+ finished runs have vanished .* computed again"):
        assert run(experiment(), path, workers=1, report=after(15, lambda: remove(path))).complete
    assert contents(path) == plain
    assert [file.name for file in tmp_path.iterdir()] == ["tiny.h5"]


def test_a_result_file_removed_while_it_is_continued_is_computed_again(plain, tmp_path):
    path = tmp_path / "tiny.h5"
    run(experiment(), path, shard=(1, 2))
    with pytest.warns(FastrmWarning, match="18 finished runs have vanished"):
        run(experiment(), path, report=after(5, path.unlink))
    assert contents(path) == plain


def test_batches_that_vanish_again_and_again_end_the_run_with_an_error(tmp_path):
    path = tmp_path / "tiny.h5"

    def remove_all(_):
        shutil.rmtree(path.with_name("tiny.h5.parts"), ignore_errors=True)

    with (
        pytest.warns(FastrmWarning, match="vanished"),
        pytest.raises(DiskError, match=r"tiny\.h5\.parts: finished batches vanish again and again"),
    ):
        run(experiment(), path, workers=1, report=remove_all)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_run_counts_only_what_it_could_save(tmp_path):
    path = tmp_path / "tiny.h5"

    def act():
        remove_parts(path)
        os.kill(os.getpid(), signal.SIGTERM)

    assert issubclass(Interrupted, KeyboardInterrupt)  # so that a notebook stops as people expect
    with pytest.raises(Interrupted) as stop:
        run(experiment(), path, workers=1, report=after(15, act))
    assert str(stop.value).startswith(f"interrupted: {load(path).runs} of 36 runs are saved")
    assert load(path).runs < 36


def test_a_disk_that_is_full_when_an_interrupted_run_is_saved_is_said(plain, tmp_path):
    path = tmp_path / "tiny.h5"

    class Full(CrashDisk):
        def write(self, target, data):
            if not target.name.endswith(".seg.tmp") and target.parent == tmp_path:
                raise OSError(28, "No space left on device")
            super().write(target, data)

    stop = after(15, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(DiskError, match="No space left on device; batches saved before are kept"):
        run(experiment(), path, workers=1, report=stop, disk=Full(10**6))
    assert {file.name for file in tmp_path.iterdir()} == {"tiny.h5.parts"}
    run(experiment(), path)
    assert contents(path) == plain


def test_the_command_line_says_so_in_one_line_and_exits_0(tmp_path):
    toml, path = tmp_path / "tiny.toml", tmp_path / "tiny.h5"
    toml.write_text(TOML.replace("400_000", "10_000"))
    code = (
        "import shutil, sys; from fastrm.bench.__main__ import main; from fastrm.results import Store; "
        "close, calls = Store.close, []; "
        "remove = lambda store: calls or calls.append(shutil.rmtree(store.parts)); "
        "Store.close = lambda self, **how: (remove(self), close(self, **how))[1]; "
        "sys.exit(main(sys.argv[1:]))"
    )
    words = [sys.executable, "-c", code, *command(path, toml)[3:]]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    expected = f"fastrm: {path}: 144 finished runs have vanished from it or from tiny.h5.parts; they are computed again"
    assert expected in done.stderr.splitlines() and all(
        line.startswith("fastrm: ") for line in done.stderr.splitlines()
    )
    assert load(path).complete


def test_batches_that_begin_and_end_alike_are_kept_apart(tmp_path):
    """A failed run is tried again beside other runs, as many as before."""
    plan = Plan.of(experiment())
    store = Store(tmp_path / "tiny.h5", plan)
    for runs in ([0, 1, 2], [0, 3, 4]):
        store.add(work(plan.to_json(), runs)[0])
    store.abandon()
    assert saved_runs(tmp_path / "tiny.h5") == {0, 1, 2, 3, 4}


def test_a_finished_batch_that_lacks_a_variable_is_merged_all_the_same(tmp_path, monkeypatch):
    plan, path = Plan.of(experiment()), tmp_path / "tiny.h5"
    store = Store(path, plan)
    with monkeypatch.context() as patch:
        known = hdf5.variables_of
        patch.setattr(hdf5, "variables_of", lambda *asked: tuple(v for v in known(*asked) if v.name != "ceiling"))
        store.add(work(plan.to_json(), [0, 1, 2])[0])
    store.abandon()
    results = run(experiment(), path)
    assert results.complete and np.isnan(results["ceiling"][:3]).all() and not np.isnan(results["ceiling"][3:]).any()
