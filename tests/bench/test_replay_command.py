"""``replay``: a run of a file as a picture, a film and tables, and what it says of the run."""

import re

import numpy as np
import pytest

from fastrm import run
from fastrm.bench.__main__ import main

from tiny_experiment import experiment

METHODS = ("qrm-bool", "crm-rs-bool", "hrm-num")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return run(experiment(maps=1, methods=METHODS), tmp_path_factory.mktemp("replay") / "tiny.h5")


def replay(results, *words):
    return main(["replay", str(results.path), *map(str, words)])


def test_it_says_which_run_it_was_and_how_to_repeat_it(results, tmp_path, capsys):
    assert replay(results, "--worst", "crm-rs-bool", "a-b", "--setup", "1a1b", "--out", tmp_path / "x.npz") == 0
    first, second, line, out = capsys.readouterr().out.splitlines()
    found = re.fullmatch(r"run (\d+): setup 1a1b, map 0, task a-b, method crm-rs-bool, seed \d", first)
    row = int(found[1])
    assert f"settled score {results.per_run_values('settled')[row]:.3f}" in second
    again = eval(line, {"fastrm": __import__("fastrm")})  # noqa: S307 - the line is ours
    assert again.seed == results["train_seed"][row] and out == str(tmp_path / "x.npz")


def test_tables_are_those_of_the_run_and_need_no_pickle(results, tmp_path, capsys):
    row = results.runs - 1  # hrm, which learned options and a controller
    for name in ("one", "two"):
        assert replay(results, "--run", row, "--out", tmp_path / f"{name}.npz") == 0
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    again = results.replay(row)
    with np.load(tmp_path / "one.npz", allow_pickle=False) as tables:
        assert tables["q"].tobytes() == again.q.tobytes() and tables["score"].tobytes() == again.score.tobytes()
        assert tables["learned_controller"].tobytes() == again.controller.tobytes()
        assert [tuple(cell) for cell in tables["path"].tolist()] == list(again.greedy_path)


@pytest.mark.parametrize(("form", "begins"), [("png", b"\x89PNG"), ("gif", b"GIF89a"), ("svg", b"<?xml")])
def test_pictures_and_films_are_drawn(results, form, begins, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="needs the extra 'plot'")
    assert replay(results, "--median", "qrm-bool", "a", "--out", tmp_path / f"x.{form}") == 0
    assert (tmp_path / f"x.{form}").read_bytes().startswith(begins)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--run", "18", "--out", "x.npz"], "run=18: no such row; there are 0 to 17"),
        (["--run", "-1", "--out", "x.npz"], "run=-1: must be a whole number"),
        (["--run", "0", "--setup", "1a1b", "--out", "x.npz"], "--setup goes with --worst, --median or --best"),
        (["--best", "crm-bool", "a", "--out", "x.npz"], "method='crm-bool' selects nothing (did you mean qrm"),
        (["--best", "qrm-bool", "c", "--out", "x.npz"], "task='c' selects nothing"),
        (["--best", "qrm-bool", "a", "--setup", "9z", "--out", "x.npz"], "setup='9z' selects nothing"),
        (["--run", "0", "--out", "x.txt"], "--out x.txt: must end in .png, .pdf, .svg, .gif, .npz or .html"),
        (["--run", "0", "--out", "/nowhere/x.npz"], "/nowhere/x.npz: cannot be written: No such file"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_exit_code_2(results, words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert replay(results, *words) == 2
    printed = capsys.readouterr()
    assert message in printed.err and printed.err.count("\n") == 1 and not printed.out
    assert not list(tmp_path.iterdir())
