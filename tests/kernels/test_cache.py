"""Machine code on disk is run, so it must be ours and whole; and no state of the disk may stop a command."""

import hashlib
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from fastrm.kernels import compile_lock
from fastrm.kernels._jit import cache_folder, house_cache, jit

if not hasattr(os, "geteuid"):
    pytest.skip("files have no owners and modes on this system", allow_module_level=True)

BIG = np.int64(0x0123456789ABCDEF)
NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as a second user")


@pytest.fixture
def shared():
    """A folder that every user may write, like /tmp, and that does not lie inside a private one."""
    folder = Path(tempfile.mkdtemp(prefix="fastrm-test-"))
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def no_home(monkeypatch, shared, tmp_path):
    """No usable home, so that the temporary folder is the only place; return where the cache will be.

    `tmp_path` is asked for because it must be made before the temporary folder moves.
    """
    (shared / "file").touch()
    monkeypatch.setenv("HOME", str(shared / "file" / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("FASTRM_CACHE_DIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(shared))
    return shared / f"fastrm-{os.geteuid()}"


@pytest.fixture
def named(monkeypatch, no_home, tmp_path):
    """A folder that the user named; the temporary one comes next."""
    monkeypatch.setenv("FASTRM_CACHE_DIR", str(tmp_path / "named"))
    return tmp_path / "named"


def new_kernel():
    """Define a kernel as a new process would: it knows nothing but the disk."""
    with house_cache():

        @jit
        def add(x):
            return x + BIG

    return add


def sum_and_hits(kernel):
    return int(kernel(1)), sum(kernel.stats.cache_hits.values())


RIGHT = int(BIG) + 1


def files_of(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def as_nobody(script, *arguments):
    """Run a script as another user."""
    begin = f"import os, sys; from pathlib import Path; os.setgid({NOBODY}); os.setuid({NOBODY}); os.umask(0)\n"
    subprocess.run([sys.executable, "-S", "-c", begin + script, *map(str, arguments)], check=True)


def poison(folder, marker):
    """Put a pickle that makes the file `marker` in place of every file of a cache."""

    class Marker:
        def __reduce__(self):
            return Path.touch, (marker,)

    data = pickle.dumps(Marker())
    for path in files_of(folder):
        path.write_bytes(hashlib.blake2b(data, digest_size=32).digest() + data)


def test_a_second_definition_finds_the_machine_code_of_the_first(named):
    assert sum_and_hits(new_kernel()) == (RIGHT, 0)
    assert sum_and_hits(new_kernel()) == (RIGHT, 1)


def test_a_second_process_compiles_nothing(tmp_path):
    script = """
import sys, fastrm.kernels
from fastrm import GridMap, RewardMachine, compile
compile(GridMap.generate("1a1b", size=5, seed=1), RewardMachine.sequence("a-b", kind="numeric"))
dispatchers = [f for name, module in list(sys.modules.items())
               if name.startswith("fastrm.kernels.") for f in vars(module).values() if hasattr(f, "stats")]
hits, misses = ({id(f): sum(getattr(f.stats, kind).values()) for f in dispatchers if f._cache.cache_path}
                for kind in ("cache_hits", "cache_misses"))
print(sum(hits.values()), sum(misses.values()))
"""
    environment = {**os.environ, "FASTRM_CACHE_DIR": str(tmp_path / "cache")}
    counts = [
        subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    (_, compiled), (found, compiled_again) = (map(int, done.stdout.split()) for done in counts)
    assert compiled > 0
    assert (found, compiled_again) == (compiled, 0)


@needs_root
def test_a_folder_that_another_user_made_is_not_used_and_nothing_in_it_is_run(no_home, tmp_path):
    marker = tmp_path / "marker"
    new_kernel()(1)
    poison(no_home, marker)
    sum_and_hits(new_kernel())
    assert marker.exists(), "the poison works in a folder of our own, or this test shows nothing"
    marker.unlink()
    for path in (no_home, *no_home.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
        path.chmod(0o777)
    assert sum_and_hits(new_kernel()) == (RIGHT, 0)
    assert not marker.exists()


@needs_root
def test_a_folder_that_was_prepared_for_us_is_not_used(no_home):
    as_nobody("Path(sys.argv[1]).mkdir()", no_home)
    assert cache_folder() is None
    assert files_of(no_home) == []


@needs_root
def test_a_file_of_another_user_in_our_own_folder_is_not_run(named, tmp_path):
    new_kernel()(1)
    poison(named, tmp_path / "marker")
    for path in files_of(named):
        os.chown(path, NOBODY, NOBODY)
    assert sum_and_hits(new_kernel()) == (RIGHT, 0)
    assert not (tmp_path / "marker").exists()


def test_a_file_that_others_may_write_is_not_run(named, tmp_path):
    new_kernel()(1)
    poison(named, tmp_path / "marker")
    for path in files_of(named):
        path.chmod(0o666)
    assert sum_and_hits(new_kernel()) == (RIGHT, 0)
    assert not (tmp_path / "marker").exists()


def test_a_link_is_not_used_as_cache(no_home, tmp_path):
    (tmp_path / "target").mkdir(mode=0o700)
    no_home.symlink_to(tmp_path / "target")
    assert cache_folder() is None
    assert list((tmp_path / "target").iterdir()) == []


@pytest.mark.parametrize("mode", [0o775, 0o757])
def test_a_named_folder_that_others_may_write_is_passed_over_and_left_as_it_is(named, no_home, mode):
    named.mkdir()
    named.chmod(mode)
    assert cache_folder().parent == no_home
    assert named.stat().st_mode & 0o777 == mode


def test_an_older_folder_that_a_umask_opened_to_the_group_is_closed(monkeypatch, no_home, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    base = tmp_path / ".cache" / "fastrm"
    base.mkdir(parents=True)
    base.chmod(0o775)
    assert cache_folder().parent == base
    assert base.stat().st_mode & 0o777 == 0o755


def test_folders_are_closed_to_others_whatever_the_umask_says(monkeypatch, no_home, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    before = os.umask(0)
    try:
        folder = cache_folder()
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (folder, folder.parent, folder.parent.parent)] == [0o700] * 3


def test_a_place_that_others_could_exchange_is_passed_over(monkeypatch, no_home, shared):
    monkeypatch.setenv("FASTRM_CACHE_DIR", str(shared / "open" / "cache"))
    (shared / "open").mkdir()
    (shared / "open").chmod(0o777)
    assert cache_folder().parent == no_home
    assert list((shared / "open").iterdir()) == []
    (shared / "open").chmod(0o1777)  # sticky: only the owner of an entry may rename it
    assert cache_folder().parent == shared / "open" / "cache"


@needs_root
def test_nothing_is_made_in_the_home_of_somebody_else(monkeypatch, no_home, shared):
    home = shared / "home"
    as_nobody("Path(sys.argv[1]).mkdir(0o755)", home)
    monkeypatch.setenv("HOME", str(home))  # as some versions of sudo leave it
    assert cache_folder().parent == no_home
    assert list(home.iterdir()) == []


def flip_one_byte_of_the_machine_code(content):
    place = content.find(int(BIG).to_bytes(8, "little"))
    return content if place < 0 else content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


DAMAGE = {
    "empty": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "garbage": lambda content: np.random.default_rng(1).bytes(len(content)),
    "flipped": flip_one_byte_of_the_machine_code,
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_file_is_compiled_and_written_anew(named, kind):
    new_kernel()(1)
    whole = {path: path.read_bytes() for path in files_of(named)}
    for path, content in whole.items():
        path.write_bytes(DAMAGE[kind](content))
    assert any(path.read_bytes() != content for path, content in whole.items())
    assert sum_and_hits(new_kernel()) == (RIGHT, 0)
    assert sum_and_hits(new_kernel()) == (RIGHT, 1)


def test_a_folder_that_vanishes_while_we_run_costs_the_cache_and_not_the_run(named):
    kernel = new_kernel()
    shutil.rmtree(named)
    named.touch()
    assert sum_and_hits(kernel) == (RIGHT, 0)


def test_folders_that_were_not_used_for_months_are_removed(named):
    new_kernel()
    in_use = cache_folder()
    months_ago = time.time() - 100 * 86_400
    old, young, foreign = (named / name for name in (f"kernels-{'0' * 24}", f"kernels-{'1' * 24}", "kernels-of-mine"))
    for folder in (old, young, foreign):
        folder.mkdir()
        (folder / "file").touch()
    outside = named.parent / "outside"
    outside.mkdir()
    link = named / f"kernels-{'2' * 24}"
    link.symlink_to(outside)
    for path in (old, foreign, outside, in_use):
        os.utime(path, (months_ago, months_ago))
    os.utime(link, (months_ago, months_ago), follow_symlinks=False)
    new_kernel()
    assert sorted(named.iterdir()) == sorted([in_use, young, foreign, link])
    assert outside.is_dir()
    assert in_use.stat().st_mtime > time.time() - 86_400


@needs_root
def test_an_old_folder_of_another_user_is_left_alone(named):
    named.mkdir(mode=0o700)
    old = named / f"kernels-{'0' * 24}"
    old.mkdir()
    os.chown(old, NOBODY, NOBODY)
    os.utime(old, (0, 0))
    new_kernel()
    assert old.is_dir()


def test_the_lock_does_not_follow_a_link(named):
    precious = named.parent / "precious"
    precious.write_text("kept")
    (cache_folder() / "compiling.lock").symlink_to(precious)
    with compile_lock():
        pass
    assert precious.read_text() == "kept"


KERNEL = """
import math

import numpy as np

from fastrm.custom import jit, part
{extra}
STEP, TABLE = {step}, np.array([1, {entry}])


@part
def piece(x):
    return x + STEP


@jit
def kernel(x):
    return piece(x) + TABLE[1]{end}
"""


def custom_kernel(step=1, entry=10, extra="", end=""):
    """Define a kernel as a new process would; return what it makes of 0, and whether its machine code was found."""
    names = {"__name__": "my_learner"}
    exec(KERNEL.format(step=step, entry=entry, extra=extra, end=end), names)  # noqa: S102 - our own text
    return int(names["kernel"](0)), bool(sum(names["kernel"].stats.cache_hits.values()))


def test_kernels_of_custom_learners_are_kept_and_any_edit_is_noticed(named):
    assert custom_kernel() == (11, False)
    assert custom_kernel() == custom_kernel(extra="OTHER = 5  # an edit that does not matter") == (11, True)
    assert custom_kernel(step=2) == (12, False)  # a number that a piece reads
    assert custom_kernel(entry=20) == (21, False)  # a table
    assert custom_kernel(end=" + 3") == (14, False)  # the code itself
    assert custom_kernel(step=2) == (12, True)
    assert custom_kernel(end=" + math.floor(2.5)") == (13, False) and custom_kernel(end=" + math.floor(2.5)")[1]


def test_a_kernel_that_refers_to_what_cannot_be_told_is_compiled_every_time(named, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "my_constants.py").write_text("LARGE = 100\n")
    for _ in range(2):
        assert custom_kernel(extra="import my_constants", end=" + my_constants.LARGE") == (111, False)
    assert not [path for path in files_of(named) if path.name.startswith("custom.")]


def test_constants_side_by_side_are_told_apart(named):
    for end in (" + x * 1000 + x * 2345", " + x * 10002 + x * 345"):
        assert custom_kernel(end=end) == (11, False)


def test_kernels_of_custom_learners_that_were_not_used_for_months_are_removed(named):
    months_ago = time.time() - 100 * 86_400
    custom_kernel()
    kept = {path for path in files_of(named) if path.name.startswith("custom.")}
    custom_kernel(step=2)
    for path in (path for path in files_of(named) if path.name.startswith("custom.")):
        os.utime(path, (months_ago, months_ago))
    assert custom_kernel() == (11, True)
    new_kernel()
    assert len(kept) == 1 and {path for path in files_of(named) if path.name.startswith("custom.")} == kept
