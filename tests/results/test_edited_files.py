"""A checksum keeps accidents out, not people: files edited inside and sealed again are refused in one line."""

import json
import subprocess
import sys
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest

from fastrm import Experiment, StoreError, load
from fastrm.bench.__main__ import main
from fastrm.experiments import Plan
from fastrm.results.hdf5 import pack
from fastrm.results.schema import empty_frame
from fastrm.results.store import file_attributes

from edited_files import EDITS, TOML, edited, plan, replaced
from sizes import either


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = tmp_path_factory.mktemp("original")
    (folder / "tiny.toml").write_text(TOML)
    assert main(["run", str(folder / "tiny.toml"), "--out", str(folder / "tiny.h5"), "--quiet"]) == 0
    return folder / "tiny.h5"


def test_the_file_that_is_edited_is_fine(original, tmp_path):
    assert load(edited(original, tmp_path / "x.h5", lambda file: None)).complete


@pytest.mark.parametrize("name", [name for name, (_, message) in EDITS.items() if message])
def test_an_edited_file_is_refused_with_the_reason(name, original, tmp_path):
    change, message = EDITS[name]
    path = edited(original, tmp_path / "x.h5", change)
    with pytest.raises(StoreError) as problem:
        load(path)
    text = str(problem.value)
    assert text.startswith(f"{path}: ") and message in text and "\n" not in text and len(text) < 400 + len(str(path))


def commands(path, original, folder, few):
    """Yield commands that read a file; a few are enough where others read it in the same way."""
    yield ["info", path]
    if few:
        yield ["run", original.with_suffix(".toml"), "--out", path, "--quiet"]
        return
    yield ["claims", path]
    yield ["claims", "--json", path, original]
    yield ["findings", path, "--no-exact"]
    yield ["findings", path]
    yield ["plot", path, "--text"]
    yield ["plot", path, "--out", folder / "figures", "--format", "svg"]
    yield ["merge", path, original, "--out", folder / "joined.h5"]
    yield ["merge", original, path, "--out", folder / "joined.h5"]
    yield ["run", original.with_suffix(".toml"), "--out", path, "--quiet"]


@pytest.mark.parametrize("name", EDITS)
def test_every_command_ends_in_order_on_an_edited_file(name, original, tmp_path, capsys):
    change, message = EDITS[name]
    path = edited(original, tmp_path / "x.h5", change)
    drawn = name in ("enormous ceilings", "infinite scores", "a name with markup")  # the others look alike
    for words in commands(path, original, tmp_path, few=either(False, message is not None)):
        if message is None and words[0] == "plot" and "--out" in words and not drawn:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as of means of infinite scores
            code = main([str(word) for word in words])
        said = capsys.readouterr()
        assert code in (0, 1, 2), words
        lines = said.err.splitlines()
        assert all(line.startswith("fastrm: ") for line in lines), words
        assert code == 0 or len(lines) == (2 if "there" in said.err else 1), words  # the note that runs are missing
        # what a run goes on with is its own plan, so that of the file may be strange
        assert code == 2 or message is None or words[0] in ("run", "merge"), words
        assert not {"\x1b", "\x07", "\u202e"} & {*said.out, *said.err}, words


def test_what_a_failed_run_says_is_stored_without_control_characters(tmp_path):
    """Such as the name of a map file: what is written can be read."""
    quick = Plan.of(Experiment.named("quick"))
    frame = empty_frame(quick, list(range(quick.count)))
    frame["error"] = np.full(quick.count, b"map \x1b[31m\x00\x7f: broke")
    (tmp_path / "x.h5").write_bytes(pack(quick, [frame], file_attributes(quick, "")))
    assert set(load(tmp_path / "x.h5")["error"]) == {"map ?[31m??: broke"}


def test_a_plan_of_many_runs_that_were_not_made_takes_no_memory(original, tmp_path, capsys):
    """One run fits any number of seeds."""

    def change(file):
        for name in [name for name in file if name not in ("tick", "step")]:
            replaced(name, lambda column: column[:1])(file)
        grids = json.loads(file.attrs["plan"])["grids"]
        plan(seeds=10**6, grids=grids[:1] * 4)(file)

    path = edited(original, tmp_path / "x.h5", change)
    tracemalloc.start()
    try:
        for words in (["info"], ["claims"], ["plot", "--text"]):
            assert main([*words, str(path)]) == (2 if words == ["claims"] else 0)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()
    assert "claims are judged on at most" in capsys.readouterr().err


CRASHING = """
import sys
from pathlib import Path
from fastrm import StoreError
from fastrm.results.hdf5 import seal, unpack, unseal
image = bytearray(unseal(Path(sys.argv[1]).read_bytes(), "x.h5"))
assert image[11488] == 18
image[11488] = 2
try:
    unpack(seal(bytes(image)), "x.h5", everything=True)
except StoreError as problem:
    print(problem)
"""


def test_a_chunk_shorter_than_its_checksum_does_not_crash_the_reader():
    """HDF5 takes four bytes off the size of a chunk without looking."""
    path = Path(__file__).parents[1] / "data" / "first-landing.h5"
    done = subprocess.run(
        [sys.executable, "-c", CRASHING, path], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "x.h5: 'grid' has a chunk of the wrong size\n")
