"""One process owns a result file; lock and temporary files lead nowhere else."""

import errno
import fcntl
import os
import resource
import stat
import subprocess
from pathlib import Path

import pytest

from fastrm import StoreError, load, run
from fastrm.errors import DiskError
from fastrm.experiments.plan import Plan
from fastrm.results.store import Disk, Store

from tiny_experiment import TOML, Crash, CrashDisk, command, contents, experiment


def test_a_lock_file_removed_between_opening_and_locking_it_is_nobodys(tmp_path, monkeypatch):
    path, plan, flock, later = tmp_path / "tiny.h5", Plan.of(experiment()), fcntl.flock, []
    first = Store(path, plan)

    def slow(file, how):
        """While one process is between opening and locking, the owner leaves and another becomes owner."""
        if not later:
            later.append(None)
            first.abandon()
            later[0] = Store(path, plan)
        return flock(file, how)

    monkeypatch.setattr(fcntl, "flock", slow)
    with pytest.raises(StoreError, match=f"in use by process {os.getpid()}"):
        Store(path, plan)
    later[0].abandon()


def test_an_owner_whose_lock_file_was_removed_notices_before_it_writes(plain, tmp_path):
    path = tmp_path / "tiny.h5"
    others = []

    def take_over(progress):
        if progress.runs_done >= 10 and not others:
            path.with_name("tiny.h5.lock").unlink()
            others.append(Store(path, Plan.of(experiment())))

    with pytest.raises(DiskError, match=r"in use by process .*tiny\.h5\.lock was removed during this run"):
        run(experiment(), path, workers=1, report=take_over)
    assert not path.exists() and path.with_name("tiny.h5.lock").exists()
    others[0].abandon()
    assert run(experiment(), path).complete
    assert contents(path) == plain


def test_an_owner_takes_its_lock_again_where_nobody_else_has(plain, tmp_path):
    path, lock, seen = tmp_path / "tiny.h5", tmp_path / "tiny.h5.lock", []

    def remove_lock(progress):
        seen.append(lock.exists())
        lock.unlink(missing_ok=True)

    run(experiment(), path, workers=1, report=remove_lock)
    assert all(seen) and len(seen) > 3
    assert contents(path) == plain
    assert [file.name for file in tmp_path.iterdir()] == ["tiny.h5"]


@pytest.mark.parametrize("target", ["precious.txt", "nowhere.txt"])
def test_a_lock_file_that_is_a_link_is_not_followed(target, tmp_path):
    (tmp_path / "precious.txt").write_text("mine")
    (tmp_path / "tiny.h5.lock").symlink_to(tmp_path / target)
    with pytest.raises(StoreError, match=r"tiny\.h5\.lock: not a lock file of fastrm; remove it"):
        run(experiment(), tmp_path / "tiny.h5")
    assert (tmp_path / "precious.txt").read_text() == "mine" and not (tmp_path / "nowhere.txt").exists()


def test_somebody_elses_file_called_like_the_lock_is_left_alone(tmp_path):
    lock = tmp_path / "tiny.h5.lock"
    lock.write_text("resolved dependencies")
    with pytest.raises(StoreError, match=r"tiny\.h5\.lock: not a lock file of fastrm"):
        run(experiment(), tmp_path / "tiny.h5")
    assert lock.read_text() == "resolved dependencies"


def test_a_lock_file_left_by_a_killed_process_is_taken_over(tmp_path):
    (tmp_path / "tiny.h5.lock").write_text("process 1 on elsewhere since 2020-01-01T00:00:00+00:00\n")
    assert run(experiment(), tmp_path / "tiny.h5").complete
    assert [file.name for file in tmp_path.iterdir()] == ["tiny.h5"]


def test_temporary_files_have_names_that_nobody_can_prepare_and_follow_no_links(tmp_path):
    class Watched(Disk):
        names = ()

        def write(self, path, data):
            self.names = (*self.names, path.name)
            super().write(path, data)

    disk, precious = Watched(), tmp_path / "precious.txt"
    precious.write_text("mine")
    for _ in range(2):
        disk.publish(tmp_path / "x.h5", b"data")
    assert len(set(disk.names)) == 2
    (tmp_path / "link").symlink_to(precious)
    for name in ("link", "precious.txt"):
        with pytest.raises(FileExistsError):
            disk.write(tmp_path / name, b"data")
    assert precious.read_text() == "mine"


def test_leftovers_of_a_killed_process_are_removed_and_files_of_others_are_not(plain, tmp_path):
    path = tmp_path / "tiny.h5"
    with pytest.raises(Crash):
        run(experiment(), path, workers=1, disk=CrashDisk(20))
    parts = tmp_path / "tiny.h5.parts"
    (parts / ".000000000-5.seg.0123456789abcdef.tmp").write_bytes(b"torn")
    (tmp_path / ".tiny.h5.0123456789abcdef.tmp").write_bytes(b"torn")
    (tmp_path / ".tiny.h5.4711.tmp").write_bytes(b"torn, by an earlier version")
    others = [tmp_path / name for name in (".other.h5.0123456789abcdef.tmp", ".tiny.h5.notes.tmp", "tiny.h5.1.tmp")]
    for other in others:
        other.write_text("mine")
    run(experiment(), path)
    assert contents(path) == plain
    assert {file.name for file in tmp_path.iterdir()} == {"tiny.h5", *(other.name for other in others)}


@pytest.mark.parametrize(
    ("place", "thing"),
    [
        (f"tiny.h5{suffix}", thing)
        for suffix in ("", ".parts", ".lock")
        for thing in ("pipe", "folder", "device")
        if (suffix, thing) != (".parts", "folder")  # that is what it should be
    ],
)
def test_what_is_no_file_in_the_way_is_one_line_and_no_wait(place, thing, tmp_path):
    toml, obstacle = tmp_path / "tiny.toml", tmp_path / place
    toml.write_text(TOML.replace("400_000", "2_000"))
    if thing == "pipe":
        os.mkfifo(obstacle)
    elif thing == "device":
        obstacle.symlink_to("/dev/zero")
    else:
        obstacle.mkdir()
    done = subprocess.run(
        command(tmp_path / "tiny.h5", toml), capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith(f"fastrm: {obstacle}: ") and done.stderr.count("\n") == 1
    assert obstacle.exists()


def test_a_disk_that_is_full_at_the_very_start_is_one_line_and_exit_code_1(tmp_path):
    toml = tmp_path / "tiny.toml"
    toml.write_text(TOML)

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    done = subprocess.run(
        command(tmp_path / "tiny.h5", toml), preexec_fn=limit, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert done.stderr.splitlines()[-1].startswith(f"fastrm: {tmp_path / 'tiny.h5'}: cannot be written: File too large")
    assert "Traceback" not in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["tiny.toml"]


@pytest.mark.parametrize("fails", ["open", "fsync"])
def test_a_system_that_cannot_sync_folders_still_saves(fails, plain, tmp_path, monkeypatch):
    """Windows opens no folders; some file systems sync none."""
    original, path = getattr(os, fails), tmp_path / "tiny.h5"

    def guarded(what, *more):
        is_folder = Path(what).is_dir() if fails == "open" else stat.S_ISDIR(os.fstat(what).st_mode)
        if is_folder:
            raise PermissionError(errno.EACCES, "no") if fails == "open" else OSError(errno.EINVAL, "no")
        return original(what, *more)

    monkeypatch.setattr(os, fails, guarded)
    run(experiment(), path)
    assert contents(path) == plain


def test_a_folder_that_cannot_be_synced_for_a_real_reason_is_said(tmp_path, monkeypatch):
    original = os.fsync

    def failing(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, "Input/output error")
        original(descriptor)

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(DiskError, match="Input/output error"):
        run(experiment(), tmp_path / "tiny.h5")
    monkeypatch.undo()
    assert run(experiment(), tmp_path / "tiny.h5").complete and load(tmp_path / "tiny.h5").complete
