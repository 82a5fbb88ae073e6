"""Values and verdicts on Water world, against every row of actions in the oracle."""

import numpy as np
import pytest

import fastrm
from fastrm import FastrmError, RewardMachine, WaterWorld
from fastrm.worlds import Ball

import naive_water
from machine_specs import machine_text, sequence_spec
from water_search import best_return, fewest_steps
from water_specs import READING, close_by, spec_of

LIMIT = 5
PICKY = {
    "states": ["u0"], "start": "u0", "success": ["done"], "failure": [], "score": "own",
    "edges": [
        ("u0", ("and", ("prop", "a"), ("not", ("prop", "b"))), "done", ("num", 1)),
        ("u0", ("not", ("or", ("prop", "a"), ("prop", "b"))), "u0", ("num", 0)),
    ],
}  # fmt: skip
"""Reach a and not b; in the reference falling off at b pays as much."""

COSTLY = {
    "states": ["u0", "u1"], "start": "u0", "success": ["done"], "failure": [], "score": "own",
    "edges": [
        ("u0", "otherwise", "u1", ("num", -3)),
        ("u1", ("prop", "a"), "done", ("num", 1)),
        ("u1", "otherwise", "u1", ("num", -1)),
    ],
}  # fmt: skip
"""Every move costs, and the first, which in the reference shows nothing, changes the state."""
HASTY = {
    "states": ["u0"], "start": "u0", "success": ["done"], "failure": [], "score": "own",
    "edges": [("u0", ("not", ("prop", "a")), "done", ("num", 1)), ("u0", ("prop", "a"), "u0", ("num", 0.5))],
}  # fmt: skip
"""In the reference the first move completes the task, since it shows nothing."""


def returned(problem, actions, gamma):
    rewards = problem.walk(actions).rewards
    return sum(reward * gamma**k for k, reward in enumerate(rewards.tolist()))


@pytest.mark.parametrize(
    "spec, profile, gamma",
    [
        (READING, "clean", 0.9),
        (READING, "clean", 1.0),
        (PICKY, "icarte2022", 0.9),
        (COSTLY, "icarte2022", 0.9),
        (HASTY, "icarte2022", 0.9),
        (sequence_spec("d-e", "numeric", terminal=0.0), "clean", 0.9),
        (sequence_spec("d", "numeric", terminal=90.0), "clean", 0.9),
        (sequence_spec("a", "boolean"), "clean", 0.9),
        (sequence_spec("a", "boolean"), "clean", 1.0),
    ],
)
def test_values_and_paths_are_those_of_all_rows_of_actions(monkeypatch, spec, profile, gamma):
    for place in ("problems.water", "exact.water"):
        monkeypatch.setattr(f"fastrm.{place}.WATER_LIMIT", LIMIT)
    monkeypatch.setattr("fastrm.exact.water.MARGINS", (1, LIMIT))
    world = close_by(5)
    problem = fastrm.compile(world, RewardMachine.parse(machine_text(spec)), profile=profile)
    pool = naive_water.Pool(spec_of(world), profile)
    best, ends = best_return(pool, spec["start"], spec, gamma, LIMIT)
    verdict = fastrm.guarantee(problem, gamma)
    solution = verdict.solution
    assert problem.shortest == (fewest_steps(pool, spec, LIMIT),)
    soonest = min(ends, key=lambda end: (end <= 0, end == 0, abs(end) if end > 0 else -abs(end)))
    assert solution.value == pytest.approx(best, rel=1e-12) and solution.ends == soonest
    assert verdict.is_shortest == (ends == set(problem.shortest))
    for room in (10**9, 0):  # all layers at once, and halved until there is one
        monkeypatch.setattr("fastrm.exact.water.ROOM", room)
        solution.__dict__.pop("actions", None)
        assert returned(problem, solution.actions, gamma) == pytest.approx(best, rel=1e-12)
        assert len(solution.actions) == (abs(soonest) or LIMIT)
    walk = problem.walk(verdict.shortest_actions)
    assert (len(walk.rewards), walk.outcome) == (problem.shortest[0], 1)
    assert returned(problem, verdict.shortest_actions, gamma) == pytest.approx(verdict.shortest_return, rel=1e-12)
    assert verdict.shortest_return <= best + 1e-12 * abs(best)
    some = "shortest" if ends == set(problem.shortest) else "shortest for some"
    expected = some if soonest in problem.shortest else "never" if soonest == 0 else "ends" if soonest < 0 else "detour"
    assert verdict.verdict.startswith(expected) and verdict.is_shortest == (verdict.verdict == "shortest")


@pytest.mark.parametrize("place", [(120.0, 200.0), (280.0, 200.0), (200.0, 120.0), (200.0, 280.0)])
def test_a_verdict_does_not_depend_on_the_side_on_which_a_ball_lies(place):
    problem = fastrm.compile(WaterWorld((200.0, 200.0), (Ball("a", place, (0.0, 0.0)),)), fastrm.task("a"))
    verdict = fastrm.guarantee(problem, gamma=1.0)
    assert (verdict.solution.length, verdict.verdict) == (7, "shortest for some optimal policies only")
    assert fastrm.guarantee(problem, gamma=0.9).verdict == "shortest"


def test_a_boolean_machine_is_solved_by_the_fewest_steps():
    problem = fastrm.compile(WaterWorld.generate(3), fastrm.task("a-b"))
    best = fastrm.solve(problem)
    assert (best.length, best.value) == (21, pytest.approx(0.9**20)) and len(best.path) == 22
    assert np.isclose(best.path[0], problem.world.agent).all()
    report = fastrm.check(problem)
    assert report.guarantee.verdict == "shortest" and report.findings == () and report.optimal_arps == 1 / 21


@pytest.mark.parametrize(
    ("edge", "verdict", "kind", "message"),
    [
        (
            "u -> u otherwise reward 2", "never finishes", "procrastination",
            "an optimal policy never finishes: that returns 20, finishing in the fewest steps 1",
        ),
        (
            "failure lost\nu -> lost otherwise reward 9", "ends in failure", "failure",
            "failing is optimal: it returns 9, succeeding 1",
        ),
    ],
)  # fmt: skip
def test_a_check_has_the_same_parts_on_water_as_on_a_map(edge, verdict, kind, message):
    """In a small box a ball is one move away."""
    machine = fastrm.RewardMachine.parse(f"start u\nsuccess done\nu -> done when a reward 1\n{edge}")
    world = WaterWorld((16.0, 16.0), (Ball("a", (44.0, 28.0), (0.0, 0.0)),), side=60.0)
    report = fastrm.check(fastrm.compile(world, machine))
    assert isinstance(report, fastrm.Check)
    assert (report.guarantee.verdict, report.optimal_arps) == (verdict, 1)
    assert report.findings == (fastrm.Finding(kind, message, is_error=False),)


@pytest.mark.parametrize(
    "ask, message",
    [
        (lambda p: fastrm.solve(p, gamma=1.5), "gamma=1.5: must be"),
        (lambda p: fastrm.guarantee(p, machine=1), "machine=1: must be a whole number from 0 to 0"),
        (lambda p: fastrm.hrm_fixed_point(p), "is a water world; this needs the cells of a map"),
        (lambda p: fastrm.solve(fastrm.compile(p.world, fastrm.task("a", kind="num"), "icarte2022")), "clean' only"),
    ],
)
def test_what_has_no_exact_answer_is_refused_in_one_line(ask, message):
    with pytest.raises(FastrmError) as caught:
        ask(fastrm.compile(WaterWorld.generate(3), fastrm.task("a")))
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_the_unit_of_a_score_is_one_completion_in_the_fewest_steps():
    problem = fastrm.compile(WaterWorld.generate(3), [fastrm.task("a"), fastrm.task("a-b")])
    units = tuple(1 / length for length in problem.shortest)
    assert fastrm.optimal_arps(problem) == units == fastrm.optimal_arps(problem, gamma=0.5, epsilon=0.3)
    assert tuple(fastrm.check(problem, machine=k).optimal_arps for k in range(2)) == units


def test_answers_share_their_classes_with_those_of_maps():
    water = fastrm.compile(WaterWorld.generate(3), fastrm.task("a"))
    tabular = fastrm.compile(fastrm.GridMap.generate("1a", size=7), fastrm.task("a"))
    for problem in (water, tabular):
        assert isinstance(problem, fastrm.Problem)
        best, verdict = fastrm.solve(problem), fastrm.guarantee(problem)
        assert isinstance(best, fastrm.Solution) and isinstance(verdict, fastrm.Guarantee)
        assert best.length == best.shortest == problem.shortest[0] == verdict.length
        assert repr(verdict) == f"<Guarantee shortest: optimal {best.length}, shortest {best.length} steps>"
    for ask in (lambda: fastrm.guarantee(water).critical_reward, lambda: fastrm.guarantee(water).gamma_interval):
        with pytest.raises(FastrmError, match=r"needs the cells of a map, and <water seed 3> has none$"):
            ask()
    with pytest.raises(FastrmError, match="is a water world; this needs the cells of a map"):
        fastrm.solve(water).arps()


@pytest.mark.parametrize("question", [fastrm.solve, fastrm.guarantee, fastrm.check])
def test_answers_about_one_start_are_refused_where_episodes_begin_anywhere(question):
    problem = fastrm.compile(WaterWorld.generate(3), fastrm.task("a"), start="anywhere")
    with pytest.raises(fastrm.ConfigError, match=r"^start='anywhere': values on Water world are found from"):
        question(problem)
