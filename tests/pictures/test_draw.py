"""Pictures of machines, maps and policies, and how bad requests are refused."""

import io

import numpy as np
import pytest
from PIL import Image

from fastrm import ConfigError, GridMap, RewardMachine, compile, train
from fastrm.bench.__main__ import main
from fastrm.bench.play import play
from fastrm.pictures.policies import draw_learning, visits
from fastrm.problems.episode import retrace


def test_visits_count_the_steps_of_a_good_policy_along_its_path():
    problem = compile(GridMap.generate("1a1b", size=9, seed=1), RewardMachine.sequence("a-b"))
    run = train(problem, "crm", steps=60_000, seed=0)
    count = visits(problem, run.q, epsilon=0.0)
    cells = {tuple(cell) for cell in problem.terrain.cells[count.sum(axis=1) > 0].tolist()}
    assert cells >= set(run.greedy_path) - {run.greedy_path[-1]}
    start, total = problem.tables.start, 256 * 2000
    assert count.sum() == pytest.approx(total * problem.shortest[0] / (problem.shortest[0] + 1), rel=0.02)
    assert count[start, 0] >= total / (problem.shortest[0] + 1) * 0.9
    assert np.array_equal(count, visits(problem, run.q, epsilon=0.0))
    figure = draw_learning(problem, run)
    assert len(figure.axes) == 2 * 3 + 2 * 2  # and the colour bars
    with pytest.raises(ConfigError, match="hrm keeps no values per machine state"):
        draw_learning(problem, train(problem, "hrm", steps=1000, seed=0, tick=100))


@pytest.mark.parametrize("name", ["m.png", "m.pdf", "m.svg", "m.dot", "m.mmd"])
def test_a_machine_is_drawn_by_the_command(tmp_path, name, capsys):
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        assert main(["draw", "--machine", "a-b-c", "--kind", "numeric", "--out", str(tmp_path / folder / name)]) == 0
    assert (tmp_path / "x" / name).read_bytes() == (tmp_path / "y" / name).read_bytes() != b""


def test_maps_and_policies_are_drawn_by_the_command(tmp_path, capsys):
    small = ["--map", "1a1b", "--size", "9", "--out", str(tmp_path / "x.png")]
    assert main(["draw", *small]) == 0
    plain = (tmp_path / "x.png").read_bytes()
    assert main(["draw", *small, "--machine", "a-b", "--learn", "crm", "--steps", "20000"]) == 0
    assert plain.startswith(b"\x89PNG") and (tmp_path / "x.png").read_bytes() != plain


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "x.png"], "name --machine, --map"),
        (["--machine", "a", "--out", "x.jpg"], "must end in .png"),
        (["--machine", "a", "--out", "x.gif"], "add --learn"),
        (["--machine", "a", "--map", "1a", "--out", "x.png"], "together need --learn"),
        (["--machine", "a", "--learn", "crm", "--out", "x.png"], "--learn needs --map and --machine"),
        (["--map", "1a", "--out", "x.dot"], "dot is for machines"),
        (["--machine", "gone.rm", "--out", "x.png"], "gone.rm: cannot be read"),
        (["--machine", "a", "--out", "/nowhere/x.dot"], "/nowhere/x.dot: cannot be written"),
        (["--machine", "a", "--out", "/nowhere/x.png"], "/nowhere/x.png: cannot be written"),
    ],
)
def test_bad_requests_are_refused_in_one_line(capsys, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["draw", *arguments]) == 2
    printed = capsys.readouterr().err
    assert message in printed and printed.count("\n") == 1


def test_an_episode_becomes_an_animation_with_a_frame_a_step(tmp_path, capsys):
    out = tmp_path / "x.gif"
    small = ["--map", "1a1b", "--size", "9", "--machine", "a-b", "--learn", "crm", "--steps", "60000"]
    assert main(["draw", *small, "--out", str(out)]) == 0
    problem = compile(GridMap.generate("1a1b", size=9, seed=0), RewardMachine.sequence("a-b"))
    with Image.open(out) as film:
        assert film.n_frames == problem.shortest[0] + 1


def test_a_replay_follows_the_machine():
    problem = compile(GridMap.parse("XXXXXX\nXA abX\nXXXXXX"), RewardMachine.sequence("a-b", kind="numeric"))
    moments = list(retrace(problem, [(1, 1), (1, 1), (1, 2), (1, 3), (1, 4)]))
    assert [moment.state for moment in moments] == [0, 0, 0, 1, 2]
    assert [moment.label for moment in moments] == ["", "", "", "a", "b"]
    assert [moment.paid for moment in moments] == [0, -2, -3, -3, 9997]
    with pytest.raises(ConfigError, match="no move leads"):
        list(retrace(problem, [(1, 1), (1, 3)]))


def test_playing_shows_label_state_and_reward(capsys, monkeypatch):
    problem = compile(GridMap.parse("XXXXXX\nXA abX\nXXXXXX"), RewardMachine.sequence("a-b", kind="numeric"))
    keys, shown = iter(["d", "\x1b[C", "x", "l", "d", "r", "q"]), []
    play(problem, lambda: next(keys), shown.append)
    text = "".join(shown)
    assert "X.@abX" in text and "state u1   label a   reward 0   sum -1   step 2" in text
    assert "state done   label b   reward 10000   sum 9999   step 3\nthe episode is over" in text
    assert text.count("step 0") == 2
    monkeypatch.setattr("sys.stdin", io.StringIO("d\nd\n"))
    assert main(["play", "1a1b", "a-b", "--size", "7"]) == 0
    assert "step 2" in capsys.readouterr().out
