"""The path that `check` draws in a terminal."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fastrm import GridMap, RewardMachine, check, compile
from fastrm.bench.check import draw_witness

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize(("encoding", "mark"), [("utf-8", "•"), ("ascii", "*")])
def test_the_path_of_check_is_marked_by_no_letter(tmp_path, encoding, mark):
    (tmp_path / "m.map").write_text("XXXXXXX\nXA   oX\nXXXXXXX\n")
    command = [sys.executable, "-m", "fastrm.bench", "check", "m.map", "o"]
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONPATH": str(ROOT)}
    said = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, encoding=encoding, check=True)
    assert f"#A{mark * 3}o#" in said.stdout and f"{mark} optimal path" in said.stdout


def test_the_legend_explains_only_marks_that_are_on_the_map():
    grid = GridMap.parse("XXXXX\nXAa X\nXXXXX")
    said = draw_witness(grid, check(compile(grid, RewardMachine.sequence("a"))), "*@!").plain
    legend, drawn = said.splitlines()[-1], "".join(said.splitlines()[:-1])
    assert [mark for mark in "*@!" if f"{mark} " in legend] == [mark for mark in "*@!" if mark in drawn]


def test_a_loop_on_an_object_is_named():
    grid = GridMap.parse("XXXXX\nXAabX\nXXXXX")
    edges = "u -> done when b reward 1\nu -> u when a reward 5\nu -> u otherwise reward 0"
    machine = RewardMachine.parse(f"start u\nsuccess done\n\n{edges}")
    found = check(compile(grid, machine))
    assert found.guarantee.witness.loop and "its loop" in draw_witness(grid, found).plain.splitlines()[-1]
