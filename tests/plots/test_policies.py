"""What a run learned, drawn: the path, arrows, values and visits, and that they agree with the run."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.quiver import Quiver

from fastrm import ConfigError, GridMap, RewardMachine, compile, task, train
from fastrm.learners import registry
from fastrm.learners.qrm import Qrm
from fastrm.plots import draw_learning, visits
from fastrm.plots.map_views import MOST_ARROWS
from fastrm.plots.palette import OBJECT_COLOURS, ink, rgb
from fastrm.problems import find_actions
from fastrm.worlds import OFFSETS

BACK = "start u\nsuccess e\nu -> v when a\nu -> e when c\nu -> u otherwise\nv -> u when b\nv -> v otherwise"
"""A machine that may be in u twice."""


@pytest.fixture(scope="module")
def rooms():
    """A problem with fences, whose path is in state u twice, and a run on it."""
    problem = compile(GridMap.generate("1a1b1c", size=11, seed=2, layout="rooms"), RewardMachine.parse(BACK))
    run = train(problem, "crm", steps=200_000, seed=0)
    there = problem.grid.objects
    around = [problem.grid.start, *(there[letter][0] for letter in "abc")]
    path = walk(problem, around)
    return problem, replace(run, greedy_paths=(path,), known_actions=(tuple(find_actions(problem, path)),))


def walk(problem, places):
    """Return a shortest walk from place to place, by breadth-first search."""
    cells = [tuple(cell) for cell in problem.terrain.cells.tolist()]
    path = [places[0]]
    for place in places[1:]:
        came, frontier = {path[-1]: None}, [path[-1]]
        for cell in frontier:
            for s in problem.tables.next_s[cells.index(cell)]:
                if cells[s] not in came:
                    came[cells[s]] = cell
                    frontier.append(cells[s])
        back = [place]
        while came[back[-1]] is not None:
            back.append(came[back[-1]])
        path += back[-2::-1]
    return tuple(path)


def panels(figure):
    """Return the panels of a figure in rows of policy, values, visits, without the colour bars."""
    axes = [axis for axis in figure.axes if axis.get_title()]
    return [axes[k : k + 3] for k in range(0, len(axes), 3)]


def test_visits_count_the_steps_of_a_good_policy_along_its_path():
    problem = compile(GridMap.generate("1a1b", size=9, seed=1), RewardMachine.sequence("a-b"))
    run = train(problem, "crm", steps=60_000, seed=0)
    count = visits(problem, run.q, epsilon=0.0)
    cells = {tuple(cell) for cell in problem.terrain.cells[count.sum(axis=1) > 0].tolist()}
    assert cells >= set(run.greedy_path) - {run.greedy_path[-1]}
    start, total = problem.tables.starts[0], 256 * 2000
    assert count.sum() == pytest.approx(total * problem.shortest[0] / (problem.shortest[0] + 1), rel=0.02)
    assert count[start, 0] >= total / (problem.shortest[0] + 1) * 0.9
    assert np.array_equal(count, visits(problem, run.q, epsilon=0.0))
    figure = draw_learning(problem, run)
    assert len(figure.axes) == 2 * 3 + 2 * 2  # and the colour bars


def test_paths_go_from_cell_to_cell_and_through_no_wall(rooms):
    problem, run = rooms
    parts = [
        [(round(y), round(x)) for x, y in line.get_xydata()]
        for row in panels(draw_learning(problem, run))
        for line in row[0].lines
        if line.get_gid() == "path"
    ]
    in_u = [line for line in panels(draw_learning(problem, run))[0][0].lines if line.get_gid() == "path"]
    assert len(in_u) == 2 * 2  # two visits, each with a white rim
    steps = {(here, there) for part in parts for here, there in itertools.pairwise(part)}
    assert steps == set(itertools.pairwise(run.greedy_path))
    cells = [tuple(cell) for cell in problem.terrain.cells.tolist()]
    for here, there in steps:
        assert cells.index(there) in problem.tables.next_s[cells.index(here)]


def test_arrows_point_where_the_greedy_path_goes():
    problem = compile(GridMap.generate("1a1b", size=11, seed=3), RewardMachine.sequence("a-b"))
    run = train(problem, "crm", steps=100_000, seed=0)
    arrows = {}
    for quiver in panels(draw_learning(problem, run))[0][0].findobj(Quiver):
        arrows |= {
            (round(y), round(x)): (v, u) for x, y, u, v in zip(quiver.X, quiver.Y, quiver.U, quiver.V, strict=True)
        }
    at_a = run.greedy_path.index(problem.grid.objects["a"][0])
    assert at_a > 2
    for here, there in itertools.pairwise(run.greedy_path[: at_a + 1]):
        assert arrows[here] == (there[0] - here[0], there[1] - here[1]) and arrows[here] in OFFSETS


@pytest.mark.parametrize("shape", ["square", "wide"])
def test_panels_are_aligned_and_show_the_same_cells(rooms, shape):
    problem, run = rooms
    if shape == "wide":
        problem = compile(
            GridMap.parse("XXXXXXXXXXX\nXA  a  b  X\nX         X\nXXXXXXXXXXX"), RewardMachine.sequence("a-b")
        )
        run = train(problem, "crm", steps=20_000, seed=0)
    figure = draw_learning(problem, run)
    figure.draw_without_rendering()
    for row in panels(figure):
        boxes = [axis.get_window_extent() for axis in row]
        assert len({(round(box.width, 6), round(box.height, 6), round(box.y0, 6)) for box in boxes}) == 1
        assert len({(axis.get_xlim(), axis.get_ylim()) for axis in row}) == 1
    bars = [axis for axis in figure.axes if not axis.get_title()]
    assert {bar.get_ylabel() for bar in bars if bar.axison} == {"value of the best action", "visits after training"}
    assert "256 agents" in figure.texts[0].get_text() and "epsilon 0.1" in figure.texts[0].get_text()


def test_objects_are_drawn_once_and_fences_on_every_panel(rooms):
    problem, run = rooms
    for axis in itertools.chain(*panels(draw_learning(problem, run))):
        assert sorted(text.get_text() for text in axis.texts) == ["a", "b", "c"]
        fences = [len(lines.get_segments()) for lines in axis.findobj(LineCollection) if not isinstance(lines, Quiver)]
        assert len(problem.grid.fences) in fences


def test_values_never_changed_and_cells_never_visited_are_blank():
    problem = compile(GridMap.generate("1a1b", size=21, seed=3), RewardMachine.sequence("a-b"))
    run = train(problem, "qrm", steps=500, seed=0, tick=100)
    count = visits(problem, run.q, run.config.epsilon, run.config.episode_limit)[:, 0]
    _, values, seen = panels(draw_learning(problem, run))[0]
    changed = (run.q[:, 0] != run.config.q_init).any(axis=1)
    assert 10 < changed.sum() < len(changed) - 10
    for axis, expected in ((values, changed), (seen, count > 0)):
        drawn = np.asarray(axis.images[0].get_array().filled(np.nan))[tuple(problem.terrain.cells.T)]
        assert np.array_equal(~np.isnan(drawn), expected)


def test_arrows_are_pale_where_no_agent_goes():
    problem = compile(GridMap.generate("1a1b", size=15, seed=0), RewardMachine.sequence("a-b"))
    run = train(problem, "crm", steps=2_000_000, seed=0)
    count = visits(problem, run.q, run.config.epsilon, run.config.episode_limit)[:, 0]
    at = {tuple(cell): n for cell, n in zip(problem.terrain.cells.tolist(), count.tolist(), strict=True)}
    pale, dark = panels(draw_learning(problem, run))[0][0].findobj(Quiver)
    assert pale.get_facecolor()[0][0] > 0.7 > 0.4 > dark.get_facecolor()[0][0]
    assert len(pale.X) > 20 and all(at[round(y), round(x)] == 0 for x, y in zip(pale.X, pale.Y, strict=True))
    assert len(dark.X) > 20 and all(at[round(y), round(x)] > 0 for x, y in zip(dark.X, dark.Y, strict=True))


def test_a_large_map_has_a_few_arrows():
    problem = compile(GridMap.generate("1a", size=41, seed=3), RewardMachine.sequence("a"))
    run = train(problem, "crm", steps=200_000, seed=0)
    arrows = sum(len(quiver.X) for quiver in panels(draw_learning(problem, run))[0][0].findobj(Quiver))
    assert MOST_ARROWS**2 / 4 < arrows <= MOST_ARROWS**2


def test_hrm_is_drawn_by_the_options_it_takes():
    problem = compile(GridMap.generate("1a1b", size=9, seed=1), task("{a,b}"))
    run = train(problem, "hrm", steps=60_000, seed=0)
    rows = panels(draw_learning(problem, run))
    first = problem.grid.objects["a"][0]
    goal = "u1" if first in run.greedy_path[:-1] and run.greedy_path[-1] != first else "u2"
    assert rows[0][0].get_title() == f"u0: option to {goal}"
    assert {row[0].get_title() for row in rows[1:]} == {"u1: option to done", "u2: option to done"}


def test_a_learner_with_values_of_another_kind_is_refused_in_one_line():
    class Odd(Qrm):
        name = "odd"
        per_state = False

    problem = compile(GridMap.generate("1a", size=7, seed=1), RewardMachine.sequence("a"))
    registry.register(Odd())
    try:
        with pytest.raises(ConfigError, match="odd keeps no values per machine state"):
            draw_learning(problem, train(problem, "odd", steps=1000, seed=0, tick=100))
    finally:
        registry.forget("odd")


def test_letters_of_objects_are_dark_enough_on_white():
    for colour in OBJECT_COLOURS:
        linear = [((x / 255 + 0.055) / 1.055) ** 2.4 if x > 10 else x / 255 / 12.92 for x in rgb(ink(colour))]
        assert 1.05 / (np.dot(linear, [0.2126, 0.7152, 0.0722]) + 0.05) >= 4.5
