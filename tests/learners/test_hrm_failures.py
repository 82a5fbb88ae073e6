"""HRM where a task can fail: which options it has, whether it learns, and what is said of it without training."""

import pytest

from fastrm import GridMap, RewardMachine, check, compile, hrm_fixed_point, lint, train_many
from fastrm.bench.__main__ import main
from fastrm.learners import option_pairs

ROOMS = """
XXXXXXXXXXXXX
XA  X     a X
X   X       X
X   X  n    X
X      nn   X
X   X       X
XXX XXXX XXXX
X   X       X
X b       n X
X   X       X
XXXXXXXXXXXXX
"""
FETCH = """
start   looking
success home
failure dead
looking  -> carrying  when a     reward 0
looking  -> dead      when n     reward COST
looking  -> looking   otherwise  reward 0
carrying -> home      when b     reward 1
carrying -> dead      when n     reward COST
carrying -> carrying  otherwise  reward 0
"""
DOOMED = """
start u
success done
failure dead lost
u -> done when a reward 1
u -> doom when b
u -> dead when n reward -1
u -> u otherwise
doom -> dead when a reward -1
doom -> lost when n reward -1
doom -> doom otherwise
"""

PIT = GridMap.parse("XXXXXX\nXbAnaX\nX    X\nXXXXXX")


def fetch(profile="clean", cost="-1"):
    return compile(GridMap.parse(ROOMS), RewardMachine.parse(FETCH.replace("COST", cost)), profile=profile)


def goals(problem, self_loops=False):
    return [(problem.states[column][1], goal) for _, column, goal in option_pairs(problem, self_loops)]


def test_hrm_completes_a_task_that_can_fail_unless_it_has_options_to_failures():
    share = {}
    for profile in ("clean", "clean + failure_options", "icarte2022"):
        runs = train_many(fetch(profile), "hrm", steps=200_000, seeds=range(10))
        share[profile] = sum(run.solved for run in runs)
    assert share["clean"] == 10 and max(share["clean + failure_options"], share["icarte2022"]) <= 2


def test_options_to_failures_are_a_switch_of_the_profile():
    assert goals(fetch()) == [("looking", "carrying"), ("carrying", "home")]
    assert goals(fetch("clean + failure_options")) == [
        ("looking", "carrying"), ("looking", "dead"), ("carrying", "home"), ("carrying", "dead"),
    ]  # fmt: skip
    assert goals(fetch("icarte2022")) == [("looking", "carrying"), ("looking", ""), ("carrying", "")]
    assert goals(fetch("icarte2022 - failure_options")) == [("looking", "carrying"), ("carrying", "")]


def test_a_state_that_can_only_fail_keeps_its_options_unless_it_has_another():
    problem = compile(PIT, RewardMachine.parse(DOOMED))
    assert goals(problem) == [("u", "done"), ("u", "doom"), ("doom", "dead"), ("doom", "lost")]
    assert goals(problem, self_loops=True) == [("u", "done"), ("u", "doom"), ("u", "u"), ("doom", "doom")]
    assert hrm_fixed_point(problem).length == problem.shortest[0] == 4


def test_the_fixed_point_has_the_options_of_the_profile():
    """Failing pays 0.2, which is worth more than b so far away, and which only an option to the failure goes for."""
    assert hrm_fixed_point(fetch(cost="0.2")).length == 30
    assert hrm_fixed_point(fetch("clean + failure_options", cost="0.2")).fails


def test_check_says_that_exploration_is_left_out(tmp_path, capsys):
    (tmp_path / "x.map").write_text(ROOMS.lstrip())
    (tmp_path / "x.rm").write_text(FETCH.replace("COST", "-1"))
    assert main(["check", str(tmp_path / "x.map"), str(tmp_path / "x.rm")]) == 0
    assert "  HRM settles on   30 steps (exploration left out)\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("profile", "cost", "accused"),
    [
        ("clean", "-1", []), ("clean + failure_options", "-0.99", []), ("icarte2022 - failure_options", "-1", []),
        ("clean + failure_options", "-1", ["looking", "carrying"]), ("icarte2022", "-1", ["looking"]),
        ("clean + failure_options", "-1 - d(a)", ["looking", "carrying"]), ("icarte2022", "0 - d(b)", ["looking"]),
        ("icarte2022", "7.5 - d(b)", []),
    ],
)  # fmt: skip
def test_lint_warns_of_failures_that_cost_r_max_where_hrm_has_options_to_them(profile, cost, accused):
    machine = RewardMachine.parse(FETCH.replace("COST", cost))
    findings = [finding for finding in lint(machine, GridMap.parse(ROOMS), profile=profile) if finding.kind == "option"]
    assert [finding.state for finding in findings] == accused
    assert not any(finding.is_error or "\n" in finding.message for finding in findings)
    again = check(fetch(profile, cost)).findings
    assert [finding for finding in again if finding.kind == "option"] == findings


def test_the_warning_names_state_goal_and_cure():
    (finding,) = lint(RewardMachine.parse(FETCH.replace("COST", "-3")), GridMap.parse(ROOMS), profile="icarte2022")
    assert finding.message == (
        "in state looking HRM's option to the end earns -3 + r_max 1 for failing: it wanders, and HRM may prefer that; "
        "pay more than -1, or leave out the switch failure_options"
    )


def test_lint_does_not_warn_of_a_state_that_can_only_fail():
    findings = lint(RewardMachine.parse(DOOMED), PIT, profile="clean + failure_options")
    assert [(finding.kind, finding.state) for finding in findings] == [("option", "u")]
