"""The linter, bad input, and cases that were once judged wrongly."""

from pathlib import Path

import numpy as np
import pytest

from fastrm import (
    ConfigError,
    FastrmError,
    GridMap,
    MachineError,
    RewardMachine,
    compile,
    guarantee,
    hrm_fixed_point,
    lint,
    optimal_arps,
    solve,
    train,
)
from fastrm.exact.tabular import solve_rewards
from fastrm.kernels.contracts import SUCCESS
from fastrm.machines.language.drafts import read

from brute_force import truth_of
from small_problems import corridor, with_terminal_reward

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("gamma", [0, -0.5, 1.01, float("nan"), "much"])
def test_a_gamma_out_of_range_is_refused(gamma):
    problem = compile(corridor(3), RewardMachine.sequence("a"))
    for function in (solve, guarantee, hrm_fixed_point):
        with pytest.raises(ConfigError, match="gamma="):
            function(problem, gamma)


def test_gamma_one_is_solved_unless_a_loop_pays_for_ever():
    assert solve(compile(corridor(3), RewardMachine.sequence("a", kind="numeric")), 1.0).length == 3
    with pytest.raises(ConfigError, match=r"gamma=1: a loop pays for ever.*use a gamma below 1"):
        solve(compile(corridor(3), RewardMachine.sequence("a", kind="numeric-boolean")), 1.0)


def test_a_machine_of_a_multi_task_problem_is_chosen_by_number():
    tasks = [RewardMachine.sequence("a"), RewardMachine.sequence("a-b")]
    problem = compile(GridMap.generate("1a1b", size=9, seed=1), tasks)
    assert [solve(problem, machine=i).length for i in range(2)] == list(problem.shortest)
    with pytest.raises(ConfigError, match="machine=2"):
        solve(problem, machine=2)


def test_lint_reports_everything_that_is_wrong_not_only_the_first_thing():
    text = "start u0\nsuccess end\nu0 -> end when a\nu0 -> u1 when b\nu1 -> u1 otherwise\nu7 -> end when a\n"
    findings = lint(read(text, "x.rm"))
    assert [finding.kind for finding in findings] == ["structure", "structure"]
    assert "u7 cannot be reached" in findings[0].message and "u1 is a dead end" in findings[1].message


def test_lint_reports_overlaps_and_gaps_of_every_state():
    text = (
        "start u0\nsuccess end\n"
        "u0 -> u1 when a\nu0 -> u1 when d(a) <= 1\nu0 -> u0 otherwise\n"
        "u1 -> end when b\nu1 -> u1 when a\n"
    )
    findings = lint(RewardMachine.parse(text), GridMap.generate("1a1b", size=7))
    assert [(f.kind, f.state) for f in findings] == [("edges", "u0"), ("edges", "u1")]
    assert "both open" in findings[0].message and "has no open edge" in findings[1].message


def test_lint_reports_farming_and_procrastination_with_their_state():
    grid = GridMap.generate("1a1b", size=15, seed=1)
    farm = RewardMachine.sequence("a-b", kind="numeric-boolean", terminal_reward=0.01)
    kinds = {finding.kind: finding for finding in lint(farm, grid)}
    assert set(kinds) == {"farming", "procrastination"}
    assert "earns 0.1 every 2 steps" in kinds["farming"].message
    assert not any(finding.is_error for finding in kinds.values())
    assert lint(RewardMachine.sequence("a-b"), grid) == []


def test_lint_reports_a_task_that_cannot_be_completed():
    (finding,) = lint(RewardMachine.sequence("a-z"), GridMap.generate("1a1b", size=7))
    assert finding.kind == "task" and "this map offers a, b" in finding.message


def test_a_machine_without_terminal_is_refused():
    with pytest.raises(MachineError, match="no success state"):
        RewardMachine.parse("start u\nu -> u otherwise\n")


def test_the_boolean_twin_ignores_what_the_machine_pays():
    problem = compile(GridMap.generate("1a", size=7, seed=1), RewardMachine.sequence("a", kind="numeric"))
    twin = (problem.tables.outcome == SUCCESS).astype(float)
    assert solve_rewards(problem, twin, 0.9).length == problem.shortest[0]


def test_a_loop_that_pays_by_less_than_the_rounding_of_many_steps_is_not_called_shortest():
    """gamma 0.999: gaps below the rounding of one step add up over a thousand; only rationals can tell."""
    grid = GridMap.parse("XXXXXX\nXp AcX\nXXXXXX")
    text = (
        "start u\nsuccess done\nu -> done when c reward 1000.0000000011\n"
        "u -> u when d(p) == 0 & d_before(p) == 1 reward 1\n"
        "u -> u when d(p) == 1 & d_before(p) == 0 reward 1.0000000000033\n"
        "u -> u when d(p) == 1 & d_before(p) == 1 reward 1\nu -> u when d(p) == 1 & d_before(p) == 2 reward 1\n"
        "u -> u otherwise\n"
    )
    problem = compile(grid, RewardMachine.parse(text))
    assert guarantee(problem, 0.999).verdict == truth_of(problem, 0.999).verdicts[0][1] == "never finishes"


def test_a_state_that_cannot_finish_does_not_hang_the_score():
    grid = GridMap.parse("XXXXXXX\nXA   aX\nX  b  X\nXXXXXXX")
    text = (
        "start u0\nsuccess done\nu0 -> done when a\nu0 -> trap when b\nu0 -> u0 otherwise\n"
        "trap -> done when d(a) > 1000\ntrap -> trap otherwise\n"
    )
    (unit,) = optimal_arps(compile(grid, RewardMachine.parse(text)))
    assert 0.15 < unit < 0.25
    assert train(compile(grid, RewardMachine.parse(text)), steps=1000).episodes.tolist() == [1]


def test_a_machine_that_hovers_by_its_own_score_is_refused_not_waited_for():
    grid = GridMap.parse("XXXXXXX\nXA   aX\nX     X\nXXXXXXX")
    text = "start u\nsuccess done\nscore own\nu -> done when a reward -1\nu -> u otherwise reward -0.01\n"
    with pytest.raises(ConfigError, match=r"earns -9\.99.* an episode, random steps -1\.4.*, so there is"):
        train(compile(grid, RewardMachine.parse(text)), steps=1000)
    assert train(compile(grid, RewardMachine.parse(text)), steps=1000, optimum=[1.0]).q.size


def test_gamma_one_follows_a_path_that_earns_its_value():
    problem = compile(GridMap.generate("1a1b", size=9, seed=1), RewardMachine.sequence("a-b"))
    best = solve(problem, 1.0)
    assert best.length is not None and best.value[problem.tables.starts[0], 0] == 1.0


def test_shaping_with_gamma_one_and_a_loop_that_pays_is_refused():
    problem = compile(GridMap.generate("1a", size=7), RewardMachine.sequence("a", kind="numeric-boolean"))
    with pytest.raises(ConfigError, match="pays for ever, so shaping needs a gamma below 1"):
        train(problem, steps=100, gamma=1.0, shaping=True)


def test_a_machine_whose_optimum_fails_is_said_to():
    text = (
        "start u\nsuccess done\nfailure lost\nu -> lost when b reward 10\n"
        "u -> done when !b & d(b) == 3\nu -> u otherwise\n"
    )
    grid = GridMap.parse("XXXXXXX\nX  A bX\nXXXXXXX")
    problem = compile(grid, RewardMachine.parse(text))
    verdict = guarantee(problem)
    assert verdict.verdict == "ends in failure" and verdict.length is None and not verdict.witness.loop
    assert [finding.kind for finding in lint(problem.machines[0], grid)] == ["failure"]


def test_products_of_distances_do_not_overflow():
    grid = GridMap.generate("1a", size=41, seed=1)
    text = "start u\nsuccess done\nu -> done when a\nu -> u otherwise reward 10 - d(a)*d(a)*d(a)*d(a)*d(a)*d(a)\n"
    assert compile(grid, RewardMachine.parse(text)).tables.reward.max() <= 10


def test_the_scale_of_rewards_is_not_invented_where_the_terminal_reward_is_not_positive():
    grid = GridMap.generate("1a", size=9, seed=1)
    assert guarantee(with_terminal_reward(grid, "a", "boolean", -1.0)).critical_scale is None
    assert guarantee(with_terminal_reward(grid, "a", "numeric-boolean", -5.0)).critical_scale == 0
    assert guarantee(with_terminal_reward(grid, "a", "boolean", 1.0)).critical_scale == float("inf")


def test_a_loop_whose_rewards_cancel_is_not_farming():
    grid = GridMap.parse("XXXXXX\nXA  aX\nXXXXXX")
    text = (
        "start u\nsuccess done\nu -> done when a reward 1\nu -> u when d(a) == 3 & d_before(a) == 2 reward 0.1\n"
        "u -> u when d(a) == 3 & d_before(a) == 3 reward 0.2\nu -> u when d(a) == 2 & d_before(a) == 3 reward -0.3\n"
        "u -> u otherwise\n"
    )
    assert all("e-1" not in finding.message for finding in lint(RewardMachine.parse(text), grid))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: lint(p.machines[0], p.grid, gamma=1.0), "gamma=1"),
        (lambda p: hrm_fixed_point(p, machine=3), "machine=3"),
        (lambda p: optimal_arps(p, gamma=5), "gamma=5"),
        (lambda p: optimal_arps(p, gamma="x"), "gamma='x'"),
        (lambda p: train(p, q_init=10**400), "q_init=1000"),
        (lambda p: train(p, alpha=np.complex128(0.5)), "alpha="),
        (lambda p: train(p, config={"alpha": 1}), "config="),
        (lambda p: train(p, optimum=["x"]), "optimum="),
        (lambda p: RewardMachine.sequence("a", terminal_reward=10**400), "terminal_reward=1000"),
        (lambda p: compile(p.grid, "a-b"), "must be a RewardMachine"),
        (lambda p: compile("XXX", p.machines[0]), "must be a GridMap"),
        (lambda p: compile(p.grid, p.machines[0], profile=None), "profile=None"),
    ],
)
def test_wrong_arguments_give_a_fastrm_error(call, message):
    with pytest.raises(FastrmError, match=message):
        call(compile(corridor(3), RewardMachine.sequence("a")))
