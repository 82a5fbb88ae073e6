"""Pictures of machines, maps and policies, and how bad requests are refused."""

import io

import numpy as np
import pytest
from PIL import Image

from fastrm import GridMap, RewardMachine, compile, train
from fastrm.bench.__main__ import main
from fastrm.bench.play import play
from fastrm.plots import visits

from sample_files import DEADLINE


@pytest.mark.parametrize("name", ["m.png", "m.pdf", "m.svg", "m.dot", "m.mmd"])
def test_a_machine_is_drawn_by_the_command(tmp_path, name, capsys):
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        assert main(["draw", "--machine", "a-b-c", "--kind", "numeric", "--out", str(tmp_path / folder / name)]) == 0
    assert (tmp_path / "x" / name).read_bytes() == (tmp_path / "y" / name).read_bytes() != b""


def test_the_command_draws_a_machine_unrolled(tmp_path, capsys):
    (tmp_path / "m.rm").write_text(DEADLINE.format(k=3, top=3))
    out = tmp_path / "m.dot"
    for more, has_clock in (([], True), (["--unrolled"], False)):
        assert main(["draw", "--machine", str(tmp_path / "m.rm"), "--out", str(out), *more]) == 0
        assert ("t <= 3" in out.read_text()) == has_clock and ("r[t=2]" in out.read_text()) != has_clock


def test_maps_and_policies_are_drawn_by_the_command(tmp_path, capsys):
    small = ["--map", "1a1b", "--size", "9", "--out", str(tmp_path / "x.png")]
    assert main(["draw", *small]) == 0
    plain = (tmp_path / "x.png").read_bytes()
    assert main(["draw", *small, "--machine", "a-b", "--learn", "crm", "--steps", "20000"]) == 0
    assert plain.startswith(b"\x89PNG") and (tmp_path / "x.png").read_bytes() != plain


@pytest.mark.parametrize("what", [["--machine", "a-b"], ["--map", "1a1b", "--size", "9"]])
def test_width_and_dots_are_those_that_were_asked_for(tmp_path, capsys, what):
    out = tmp_path / "x.png"
    assert main(["draw", *what, "--out", str(out), "--width", "3", "--dpi", "100"]) == 0
    with Image.open(out) as image:
        assert image.width == 300 and image.info["dpi"][0] == pytest.approx(100, abs=0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "x.png"], "name --machine, --map"),
        (["--machine", "a", "--out", "x.jpg"], "must end in .png"),
        (["--machine", "a", "--out", "x.gif"], "add --learn"),
        (["--machine", "a", "--map", "1a", "--out", "x.png"], "together need --learn"),
        (["--machine", "a", "--learn", "crm", "--out", "x.png"], "--learn needs --map and --machine"),
        (["--map", "1a", "--out", "x.dot"], "dot is for machines"),
        (["--map", "1a", "--out", "x.png", "--unrolled"], "--unrolled: is for --machine alone; leave it out"),
        (["--machine", "gone.rm", "--out", "x.png"], "gone.rm: cannot be read"),
        (["--machine", "a", "--out", "x.dot", "--width", "3"], "--width: is for .png, .pdf and .svg, not for x.dot"),
        (["--machine", "a", "--out", "x.pdf", "--dpi", "300"], "--dpi: is for .png, not for x.pdf"),
        (["--machine", "a", "--out", "x.png", "--width", "0"], "--width=0.0: must be a number from 1 to 40"),
        (["--machine", "a", "--out", "x.png", "--dpi", "5"], "--dpi=5: must be a whole number from 20 to 1200"),
        (["--machine", "a", "--out", "x.png", "--width", "40", "--dpi", "1200"], "smaller --width or --dpi"),
        (["--map", "1a", "--machine", "a", "--learn", "crm", "--out", "x.png", "--width", "3"], "from 4 to 40"),
        (["--machine", "a", "--out", "/nowhere/x.dot"], "/nowhere/x.dot: cannot be written"),
        (["--machine", "a", "--out", "/nowhere/x.png"], "/nowhere/x.png: cannot be written"),
    ],
)
def test_bad_requests_are_refused_in_one_line(capsys, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["draw", *arguments]) == 2
    printed = capsys.readouterr().err
    assert message in printed and printed.count("\n") == 1


def test_playing_shows_label_state_and_reward(capsys, monkeypatch):
    problem = compile(GridMap.parse("XXXXXX\nXA abX\nXXXXXX"), RewardMachine.sequence("a-b", kind="numeric"))
    keys, shown = iter(["d", "\x1b[C", "x", "l", "d", "r", "q"]), []
    play(problem, lambda: next(keys), shown.append)
    text = "".join(shown)
    assert "X.@abX" in text and "state u1   label a   reward 0   sum -1   step 2" in text
    assert "state done   label b   reward 10000   sum 9999   step 3\nthe episode is over: success" in text
    assert text.count("step 0") == 2
    monkeypatch.setattr("sys.stdin", io.StringIO("d\nd\n"))
    assert main(["play", "1a1b", "a-b", "--size", "7"]) == 0
    assert "step 2" in capsys.readouterr().out


def test_playing_names_the_terminal_as_the_machine_does():
    machine = RewardMachine.parse(
        "start u\nsuccess home\nfailure lava\nu -> home when a\nu -> lava when b\nu -> u otherwise"
    )
    for key, said in (("a", "state home"), ("d", "state lava")):
        problem, keys, shown = compile(GridMap.parse("XXXXX\nXaAbX\nXXXXX"), machine), iter([key, "q"]), []
        play(problem, keys.__next__, shown.append)
        assert said in "".join(shown)


def test_visits_slip_where_moves_do():
    grid = GridMap.generate("1a1b", size=9, seed=1)
    problems = [compile(grid, RewardMachine.sequence("a-b"), slip=slip) for slip in (0.0, 0.4)]
    q = train(problems[0], "qrm", steps=50_000).q
    plain, slipping = (visits(problem, q) for problem in problems)
    assert (slipping > 0).sum() > (plain > 0).sum() and not np.array_equal(plain, slipping)
