"""Pictures of the point mass: the box, the path of a run, and the film of its episode."""

import numpy as np
import pytest
from PIL import Image

import fastrm
from fastrm import PointMass
from fastrm.bench.__main__ import main
from fastrm.bench.play import play
from fastrm.plots import draw_learning, draw_world, paint_point, save_episode, show_point

WORLD = PointMass([("a", 15, 15, 2), ("b", 3, 15, 1), ("a", 15, 3, 1)], (9, 4), walls=[(8, 8, 10, 20)], side=21)


@pytest.fixture(scope="module")
def learned():
    problem = fastrm.compile(WORLD, fastrm.task("a-b", kind="numeric"))
    return problem, fastrm.train(problem, "crm", steps=400_000, gamma=0.95, episode_limit=100)


def test_a_box_is_drawn_with_discs_walls_and_start():
    (axis,) = draw_world(WORLD).axes
    circles = [(p.center, p.radius) for p in axis.patches if hasattr(p, "radius")]
    assert [(disc.x, disc.y) for disc in WORLD.discs] == [at for at, _ in circles[:3]] and circles[3][0] == (9, 4)
    (wall,) = [patch for patch in axis.patches if hasattr(patch, "get_xy") and hasattr(patch, "get_height")]
    assert (*wall.get_xy(), wall.get_width(), wall.get_height()) == (7.5, 7.5, 3, 13)
    assert [text.get_text() for text in axis.texts] == ["a", "b", "a"]
    assert axis.get_xlim() == axis.get_ylim() == (-0.5, 20.5)  # y grows upwards


def test_a_run_is_drawn_as_its_path_and_where_it_arrived(learned):
    problem, run = learned
    (axis,) = draw_learning(problem, run).axes
    line = axis.lines[0].get_xydata()
    assert np.array_equal(line[::2], np.array(run.greedy_path)[:, :2]) and axis.lines[0].get_markevery() == 2
    assert np.array_equal(line[1::2, 0], line[2::2, 0]) and np.array_equal(line[1::2, 1], line[:-1:2, 1])  # x, then y
    between = np.linspace(line[:-1], line[1:], 7).reshape(-1, 2)
    assert not ((between > (7.5, 7.5)) & (between < (10.5, 20.5))).all(axis=1).any()  # no line leads through the wall
    marks = [text.get_text() for text in axis.texts[3:]]
    assert [mark.split()[0] for mark in marks] == ["a", "b"] and marks[1] == f"b {run.greedy_length}"
    assert axis.get_title() == f"CRM, seed 0: greedy path {run.greedy_length} steps, shortest {problem.shortest[0]}"


def test_a_film_has_a_frame_for_every_step(learned, tmp_path):
    problem, run = learned
    save_episode(problem, run.greedy_path, tmp_path / "x.gif", actions=run.path_actions(problem))
    with Image.open(tmp_path / "x.gif") as film:
        assert film.n_frames == run.greedy_length + 1
        first = np.array(film.convert("RGB")).astype(int)
        film.seek(film.n_frames - 1)
        assert (np.array(film.convert("RGB")).astype(int) != first).any()


def test_text_and_image_show_places_where_they_are():
    rows = show_point(WORLD, 3, 20).splitlines()
    assert len(rows) == 23 and {len(row) for row in rows} == {52}
    assert rows[1].index("@") == 1 + 3 * 50 // 21 and rows[21 - 15].count("b") > 0
    image = paint_point(WORLD, 3, 20)
    assert (image[0, 3 * 19 : 4 * 19] == 0).all() and image.shape == (399, 399, 3)
    assert (image[0, 9 * 19] == image[12 * 19, 9 * 19]).all() and (image[13 * 19, 9 * 19] == 255).all()  # the wall


def test_keys_push_the_point():
    problem, keys, shown = fastrm.compile(WORLD, fastrm.task("a")), iter("w d q"), []
    play(problem, lambda: next(keys), shown.append)
    text = "".join(shown)
    assert "velocity 0, 1" in text and "velocity 1, 1" in text and "space waits" in text


def test_the_command_line_takes_a_point_mass(tmp_path, capsys):
    out = tmp_path / "x.png"
    assert main(["draw", "--map", "point 1a side 11 walls 1", "--out", str(out), "--dpi", "40"]) == 0 and out.is_file()
    assert main(["check", "point 1a side 11", "a", "--start", "2,3", "--seed", "1"]) == 0
    assert "shortest path" in capsys.readouterr().out
    for words, message in (
        (["check", "point 1a sid 11", "a"], "map 'point 1a sid 11': expected point and a setup such as 1a1b1c, and if"),
        (["check", "point 1a side 11", "a", "--size", "9"], "--size is for maps; write point 1a1b1c side 51 in the"),
        (["check", "point 1a side 11", "a", "--start", "3"], "--start 3: must be 'anywhere', or row and column of a"),
        (["check", "point 1a side 11", "a", "--start", "3,40"], "cell (3, 40, 0, 0): must be x and y from 0 to 10"),
        (["explain", "point 1a side 11", "a", "--out", str(tmp_path / "x.html")], "the page shows maps; draw what was"),
    ):
        assert main(words) == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1
