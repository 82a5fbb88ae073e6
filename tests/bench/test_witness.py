"""The path that `check` draws in a terminal."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize(("encoding", "mark"), [("utf-8", "•"), ("ascii", "*")])
def test_the_path_of_check_is_marked_by_no_letter(tmp_path, encoding, mark):
    (tmp_path / "m.map").write_text("XXXXXXX\nXA   oX\nXXXXXXX\n")
    command = [sys.executable, "-m", "fastrm.bench", "check", "m.map", "o"]
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONPATH": str(ROOT)}
    said = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, encoding=encoding, check=True)
    assert f"#A{mark * 3}o#" in said.stdout and f"{mark} optimal path" in said.stdout
