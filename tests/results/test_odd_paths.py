"""Where a result file is expected, pipes, devices and folders are refused at once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fastrm.bench.__main__ import main


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
