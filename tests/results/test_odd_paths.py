"""Where a result file is expected, pipes, devices and folders are refused at once."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from fastrm.bench.__main__ import main
from fastrm.results import load


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "link to a pipe"])
def test_only_regular_files_are_read(kind, tmp_path):
    path = tmp_path / "x.h5"
    if kind == "folder":
        path.mkdir()
    elif kind == "device":
        path = Path("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        os.mkfifo(tmp_path / "pipe")
        path.symlink_to(tmp_path / "pipe")
    words = [sys.executable, "-m", "fastrm.bench", "info", path]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr == f"fastrm: {path}: a folder, pipe or device; give a result file\n"


@pytest.mark.parametrize("name", ["\0", "a\0b", "x" * 5000, ""])
def test_names_that_no_file_can_have_are_refused_in_one_line(name, capsys):
    assert main(["info", name]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "length"), [(["run", "quick"], 230), (["run", "quick"], 300), (["merge", "missing.h5"], 300)]
)
def test_a_result_file_whose_name_is_too_long_is_refused_before_anything_runs(words, length, tmp_path, capsys):
    assert main([*words, "--out", str(tmp_path / ("x" * length))]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "bytes" in said
    assert not list(tmp_path.iterdir())


def test_the_command_in_a_result_file_is_the_one_that_was_typed(tmp_path):
    toml = tmp_path / "tiny.toml"
    toml.write_text('setups = ["1a"]\nsize = 5\ntasks = ["a"]\nmethods = ["qrm-bool"]\nseeds = 1\nsteps = 1000\n')
    words = ["-m", "fastrm.bench", "run", str(toml), "--out", "a file.h5", "--quiet"]
    subprocess.run([sys.executable, *words], cwd=tmp_path, check=True)
    assert load(tmp_path / "a file.h5").attributes["command"] == shlex.join(["python", *words])
