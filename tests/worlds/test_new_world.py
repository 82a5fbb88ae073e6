"""A kind of world that fastrm does not know, written in one file (`helpers/torus.py`), works everywhere."""

import numpy as np
import pytest

import fastrm
from fastrm import Experiment, TableWorld, compile, guarantee, pages, run, solve, train

from torus import Torus, Wheel

TORUS = Torus(things={"apple": (2, 3), "bell": (0, 5)})
TEXT = "start u\nsuccess done\nu -> v when apple\nu -> u otherwise\nv -> done when bell reward 1\nv -> v otherwise"
MACHINE = fastrm.RewardMachine.parse(TEXT)


def fewest_steps(world, names):
    """Find the fewest steps to some things in order, one set of cells after the other."""
    places = {name: int(np.flatnonzero(world.marks[name])[0]) for name in names}
    steps, here = 0, {(0, 0)}
    while not any(done == len(names) for _, done in here):
        moved = {(int(there), done) for s, done in here for there in world.next_s[s]}
        here = {(s, done + (done < len(names) and s == places[names[done]])) for s, done in moved}
        steps += 1
    return steps


@pytest.fixture(scope="module")
def problem():
    return compile(TORUS, MACHINE)


def test_walls_have_a_door_each_and_the_way_leads_around(problem):
    assert TORUS.moved(1, 1, 0, 1) == (1, 2) and TORUS.moved(0, 1, 0, 1) == (0, 1)  # the door of wall 1 is in row 1
    assert TORUS.moved(0, 0, 0, -1) == (0, 5) and TORUS.moved(0, 5, 0, 1) == (0, 0)
    assert TORUS.moved(0, 3, -1, 0) == (2, 3)
    assert isinstance(problem, fastrm.problems.TabularProblem) and problem.actions == ("up", "right", "down", "left")
    assert problem.shortest == (fewest_steps(TORUS, ["apple", "bell"]),)


def test_exact_answers(problem):
    best, verdict = solve(problem), guarantee(problem)
    assert best.length == problem.shortest[0] == len(best.path) - 1
    assert verdict.verdict == "shortest" and verdict.is_shortest
    lured = compile(TORUS, fastrm.RewardMachine.parse(TEXT.replace("v -> v otherwise", "v -> v otherwise reward 0.2")))
    assert guarantee(lured).verdict == "never finishes" and guarantee(lured).critical_reward > 1
    assert fastrm.check(problem).guarantee.verdict == "shortest"


@pytest.mark.parametrize("algo", ["crm", "hrm"])
def test_learners(problem, algo):
    learned = train(problem, algo, steps=20_000, seed=0)
    assert learned.solved and learned.greedy_lengths == problem.shortest
    episode = problem.episode()
    for action in learned.path_actions(problem):
        episode.step(action)
    assert episode.success and episode.steps == problem.shortest[0]
    assert learned.plot(problem).axes and "torus" in problem._repr_html_()


def test_an_experiment_reads_a_saved_file_and_its_runs_are_replayed(tmp_path):
    TORUS.save(tmp_path / "torus.json")
    assert TableWorld.load(tmp_path / "torus.json") == TORUS
    (tmp_path / "fetch.rm").write_text(TEXT)
    experiment = Experiment(
        name="torus", map_files=(str(tmp_path / "torus.json"),), machine_files=(str(tmp_path / "fetch.rm"),),
        methods=("crm", "hrm"), seeds=2, steps=20_000, learner={"tick": 5000},
    )  # fmt: skip
    results = run(experiment, tmp_path / "torus.h5", workers=1)
    assert results["solved"].all() and set(results["shortest"]) == {fewest_steps(TORUS, ["apple", "bell"])}
    for row in range(results.runs):
        assert results.replay(row).score.tobytes() == results["score"][row].tobytes()
    page = pages.report_page(results)
    assert "torus" in page and "hrm" in page and page.lstrip().startswith("<!DOCTYPE html>")


def test_a_class_of_its_own_needs_one_row():
    gold = fastrm.RewardMachine.parse("start u\nsuccess done\nu -> done when gold reward 1\nu -> u otherwise")
    wheel = compile(Wheel(7), gold, slip=0.1)
    assert wheel.shortest == (6,) and wheel.slip == 0.1 and solve(compile(Wheel(7), [gold])).length == 6
    assert train(compile(Wheel(7), gold, start="anywhere"), "crm", steps=5000).solved
    with pytest.raises(fastrm.MapError, match="must be a GridMap"):
        compile(object(), gold)
