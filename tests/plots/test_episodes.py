"""Episodes: followed step by step, and as animations."""

import numpy as np
import pytest
from PIL import Image, ImageSequence

from fastrm import ConfigError, GridMap, RewardMachine, compile
from fastrm.bench.__main__ import main
from fastrm.plots import animation, save_episode
from fastrm.plots.palette import HERE_COLOUR, PATH_COLOUR, object_colour, rgb
from fastrm.problems import retrace

CORRIDOR = "XXXXXXXX\nXA a  bX\nX      X\nXXXXXXXX"
HOME = "start u\nsuccess home\nfailure lava\nu -> home when b\nu -> lava when a\nu -> u otherwise"
WAY = [(1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6)]


def frames_of(path):
    """Return the frames of a GIF as arrays of red, green and blue."""
    with Image.open(path) as film:
        return [np.asarray(frame.convert("RGB")).astype(int) for frame in ImageSequence.Iterator(film)]


def has(image, colour):
    """Count the pixels of about a colour."""
    return int((np.abs(image - np.array(rgb(colour))).sum(axis=-1) < 40).sum())


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


def test_a_moment_tells_the_terminal_by_its_name():
    problem = compile(GridMap.parse(CORRIDOR), RewardMachine.parse(HOME))
    assert [moment.end for moment in retrace(problem, WAY)] == ["", "", "lava"]
    around = [(1, 1), (2, 1), (2, 2), (2, 3), (2, 4), (2, 5), (2, 6), (1, 6)]
    assert [moment.end for moment in retrace(problem, around)][-1] == "home"


def test_an_animation_marks_the_terminal_that_the_machine_names(tmp_path, monkeypatch):
    marked, paint = [], animation.GraphImage.paint

    def watched(graph, image, corner, here):
        marked.append(here)
        paint(graph, image, corner, here)

    monkeypatch.setattr(animation.GraphImage, "paint", watched)
    save_episode(compile(GridMap.parse(CORRIDOR), RewardMachine.parse(HOME)), WAY, tmp_path / "x.gif")
    assert marked == ["u", "u", "lava"]


def test_an_animation_of_a_path_that_loops_stops_where_it_comes_back(tmp_path):
    problem = compile(GridMap.parse(CORRIDOR), RewardMachine.sequence("a-b"))
    to_and_fro = [(1, 1), (1, 2), (1, 3), *[(1, 4), (1, 5)] * 50]
    save_episode(problem, to_and_fro, tmp_path / "x.gif")
    assert len(frames_of(tmp_path / "x.gif")) == 6  # the last one shows (1, 4) for the second time


def test_a_path_that_passes_a_cell_again_in_another_state_is_shown_whole(tmp_path):
    problem = compile(GridMap.parse(CORRIDOR), RewardMachine.sequence("b-a"))
    save_episode(problem, WAY + WAY[-2:1:-1], tmp_path / "x.gif")
    assert len(frames_of(tmp_path / "x.gif")) == len(WAY) + 3


def test_the_trail_hides_no_object(tmp_path):
    problem = compile(GridMap.parse(CORRIDOR), RewardMachine.sequence("a-b"))
    save_episode(problem, WAY, tmp_path / "x.gif")
    first, *_, last = frames_of(tmp_path / "x.gif")
    side, (left, top) = animation.SIDE // 8, animation._set_up(problem.grid, problem.machines[0])[0].corner
    cell = np.s_[top + side : top + 2 * side, left + 3 * side : left + 4 * side]  # that of a
    assert has(last[cell], object_colour(0)) >= 0.9 * has(first[cell], object_colour(0)) > 50
    assert has(last, PATH_COLOUR) > 500 > has(first, PATH_COLOUR)


@pytest.mark.parametrize("n", [3, 60])
def test_the_state_that_a_machine_is_in_is_marked_however_many_there_are(tmp_path, n):
    machine = RewardMachine.sequence("-".join(("ab" * n)[:n]))
    problem = compile(GridMap.parse("XXXXX\nXAabX\nXXXXX"), machine)
    way = [(1, 1), *([(1, 2), (1, 3)] * n)[:n]]
    save_episode(problem, way, tmp_path / "x.gif")
    frames = frames_of(tmp_path / "x.gif")
    assert len(frames) == n + 1
    panel = animation._set_up(problem.grid, machine)[0].panel
    assert all(has(frame[:, panel:], HERE_COLOUR) > 300 for frame in frames)


def test_an_animation_is_small_and_the_same_each_time(tmp_path):
    problem = compile(GridMap.generate("1a1b1c", size=15, seed=11), RewardMachine.sequence("a-b-c"))
    cells = [problem.grid.start]
    for letter in "abc":
        goal = problem.grid.objects[letter][0]
        while cells[-1] != goal:
            (row, column), down = cells[-1], np.sign(goal[0] - cells[-1][0])
            cells.append((row + int(down), column) if down else (row, column + int(np.sign(goal[1] - column))))
    for name in ("x.gif", "y.gif"):
        save_episode(problem, cells, tmp_path / name)
    data = (tmp_path / "x.gif").read_bytes()
    assert data == (tmp_path / "y.gif").read_bytes() and len(data) < 400_000
    with Image.open(tmp_path / "x.gif") as film:
        assert film.width <= 700
