"""The claims of the paper, judged on hand-made result files: as claimed, and with one thing turned round each time.

There are too few maps here for more than *holds on most maps*; test_claim_words.py has enough.
"""

import json

import numpy as np
import pytest

from fastrm import ConfigError, LearnerConfig, load
from fastrm.bench.__main__ import main
from fastrm.bench.studies.claims import judge

import made_results
from made_results import PAPER


def make_plan(**changes):
    """Plan enough maps for claims to hold on most: four per setup, and six with the distances of the appendix."""
    settings = {"seeds": 4, "setups": ("1a1b1c", "2a2b2c", "appendix"), "maps": 4, "map_files": PAPER.map_files}
    return made_results.make_plan(**{**settings, **changes})


PLAN = make_plan()
FEW = {"setups": ("1a1b1c",), "map_files": ()}
"""Changes of the plan that leave the four maps which are just enough for a claim to hold on most."""
FACTS = {}
"""Most files here have the same plan, and so the same exact facts."""


MOST = "holds on most maps"


def make_file(path, turn=lambda run: None, plan=PLAN, **rest):
    return made_results.make_file(path, turn, plan, **rest)


@pytest.fixture
def verdicts(tmp_path):
    def of(turn=lambda run: None, plan=PLAN):
        return {claim.number: claim for claim in judge(load(make_file(tmp_path / "x.h5", turn, plan)), FACTS)}

    return of


def when(**wanted):
    """Return a change of figures for runs with the given coordinates, a tuple meaning any of several."""
    changes = wanted.pop("to")

    def turn(run):
        if all(run[key] in (value if isinstance(value, tuple) else (value,)) for key, value in wanted.items()):
            run.update({key: change(run) if callable(change) else change for key, change in changes.items()})

    return turn


def test_all_claims_hold_in_a_file_that_is_as_claimed(verdicts):
    found = verdicts()
    assert {number: claim.verdict for number, claim in found.items()} == dict.fromkeys(range(1, 16), MOST)
    assert "the optimum is no shortest path (a-b on 8 of 8, a-b-c on 8 of 8 maps)" in found[2].reason
    assert "hrm-bool a-b 27, a-b-c 40" in found[4].numbers


SLOW = {"steps": lambda run: 900_000 + run["seed"]}
FALSE = [
    (1, when(label="qrm-num-bool", task="a-b", grid=1, to={"found": False}), (7, 8)),
    (1, when(label="crm-rs-bool", to={"found": False}), (0, 8)),
    (2, when(label="hrm-num", task="a", grid=0, to={"found": False}), (7, 8)),
    (3, when(label="crm-num", task="a-b-c", grid=(0, 4), to={"found": False}), (6, 8)),
    (3, when(label="qrm-num", task="a-b", to={"found": False}), (0, 8)),
    (4, when(label="hrm-num", setup="appendix", to={"length": 26}), (1, 6)),
    (4, when(label="hrm-num", setup="appendix", to={"length": -1}), (1, 6)),
    (4, when(label="hrm-bool", setup="appendix", task="a-b", to={"length": 28}), (1, 6)),
    (5, when(label="crm-num", task="a", grid=0, to=SLOW), (7, 8)),
    (6, when(setup="1a1b1c", to={"steps": 10}), (0, 4)),
    (6, when(grid=1, to={"steps": 10}), (3, 4)),
    (6, when(setup="1a1b1c", label="crm-num", task="a", to={"steps": 10}), (4, 4)),
    (7, when(label=("qrm-num", "crm-num"), setup="2a2b2c", to=SLOW), (4, 8)),
    (7, when(label=("qrm-num-bool", "crm-num-bool"), grid=0, to=SLOW), (7, 8)),
    (8, when(label="hrm-num-bool", task="a", grid=8, to={"score": 1.01}), (5, 6)),
    (8, when(label="hrm-num-bool", task="a", grid=8, to={"score": 0.8}), (5, 6)),
    (8, when(task="a", grid=8, to={"score": 0.95}), (5, 6)),
    (9, when(task="a", grid=3, label="crm-rs-bool", to=SLOW), (7, 8)),
    (10, when(label="crm-num-bool", task="a-b", grid=1, to=SLOW), (7, 8)),
    (10, when(label="hrm-bool", task="a", grid=1, to={"steps": 10}), (7, 8)),
    (10, when(label="qrm-num", task="a-b-c", to=SLOW), (0, 8)),
    (11, when(label="hrm-num-bool", task="a-b", grid=(1, 5), to=SLOW), (6, 8)),
    (11, when(task="a", label=("crm-num", "hrm-num"), to=SLOW), (8, 8)),
    (12, when(seed=0, label="qrm-num", task="a-b", grid=6, to={"score": 0.5}), (7, 8)),
    (13, when(label=("crm-rs-bool", "hrm-bool"), task="a-b", grid=2, to={"steps": 10}), (7, 8)),
    (14, when(label="hrm-num", task="a", grid=2, to={"score": 0.8}), (7, 8)),
    (14, when(label="hrm-num", task="a-b", grid=2, to={"score": 0.8}), (8, 8)),
    (15, when(label="hrm-bool", task="a-b", grid=2, to={"full_from": 9}), (7, 8)),
    (15, when(label="hrm-bool", grid=5, to={"found": True}), (7, 8)),
]


@pytest.mark.parametrize(("number", "turn", "counts"), FALSE)
def test_each_claim_fails_where_a_file_says_otherwise(verdicts, number, turn, counts):
    claim = verdicts(turn)[number]
    assert claim.share_of() == counts


@pytest.mark.parametrize(
    ("maps", "verdict", "support"),
    [
        ((), MOST, "8 of 8 maps, 100 % [68 %, 100 %]"), ((0,), MOST, "7 of 8 maps, 88 % [53 %, 98 %]"),
        ((0, 1, 4), "undecided", "5 of 8 maps, 62 % [31 %, 86 %]"),
        (tuple(range(8)), "does not hold", "0 of 8 maps, 0 % [0 %, 32 %]"),
    ],
)  # fmt: skip
def test_a_claim_holds_where_an_interval_over_maps_says_so(verdicts, maps, verdict, support):
    claim = verdicts(when(label="crm-num", task="a-b-c", grid=maps, to={"found": False}))[3]
    assert (claim.verdict, claim.support) == (verdict, support)


def test_a_claim_of_two_parts_holds_only_if_both_do(verdicts):
    claim = verdicts(when(label=("qrm-num", "crm-num", "hrm-num"), setup="2a2b2c", to=SLOW))[7]
    assert claim.verdict == "does not hold" and claim.share_of() == (4, 8)
    assert claim.support == "1a1b1c: 4 of 4 maps, 100 % [51 %, 100 %]; 2a2b2c: 0 of 4 maps, 0 % [0 %, 49 %]"


def test_locked_runs_are_counted_where_the_reward_is_right(verdicts):
    found = verdicts(when(label="crm-num", task="a-b", seed=0, to={"found": False}))[3]
    assert "locked in although the reward is right: qrm-num 0 %, crm-num 8 %" in found.reason


def test_one_seed_of_four_does_not_turn_a_case(verdicts):
    found = verdicts(when(seed=0, to={"found": False, "steps": float("nan"), "score": 0.1}))
    assert {claim.verdict for number, claim in found.items() if number != 12} == {MOST}  # 12 is about single seeds


def test_runs_that_never_reach_90_percent_count_as_slowest(verdicts):
    found = verdicts(when(label="crm-num", task="a-b", grid=0, to={"steps": float("nan")}))
    assert found[5].share_of() == found[10].share_of() == (7, 8)


def test_ties_say_nothing_about_who_is_faster(verdicts):
    found = verdicts(when(label=("crm-num", "crm-num-bool", "qrm-num", "qrm-num-bool", "hrm-num", "hrm-num-bool"),
                          grid=0, to={"steps": 500.0}))  # fmt: skip
    assert found[7].share_of() == (7, 7) and found[5].verdict == MOST and "; 6 cases are ties" in found[5].numbers
    assert "ties: 9 on 1a1b1c left out, 0 on 2a2b2c count for the claim" in found[7].numbers


@pytest.mark.parametrize("steps", [500.0, float("nan")])
def test_numeric_is_at_least_as_good_on_2a2b2c_where_it_ties_and_says_nothing_where_neither_learns(verdicts, steps):
    kinds = tuple(f"{learner}-{kind}" for learner in ("qrm", "crm", "hrm") for kind in ("num", "num-bool"))
    claim = verdicts(when(label=kinds, setup="2a2b2c", to={"steps": steps}))[7]
    assert claim.verdict == (MOST if steps == 500.0 else f"{MOST} (without 2a2b2c)")
    assert f"{36 if steps == 500.0 else 0} on 2a2b2c count for the claim" in claim.numbers


def test_two_methods_that_never_get_there_say_nothing(verdicts):
    never = {"steps": float("nan")}
    found = verdicts(when(label=("crm-num", "qrm-num"), grid=0, to=never))
    assert found[5].verdict == MOST and len(found[5].cases) == len(verdicts()[5].cases) - 3
    found = verdicts(when(label=("crm-rs-bool",), task=("a-b", "a-b-c"), grid=0, to=never))
    assert found[9].verdict == MOST and len(found[9].cases) == 15  # endless against endless is no growth
    assert "of 8: a 0, a-b 1, a-b-c 1" in found[9].numbers


def test_failed_runs_do_not_count(verdicts):
    broken = when(seed=(0, 1), to={"failed": True, "found": False, "steps": float("nan"), "score": 0.0, "length": -1})
    found = {number: claim.verdict for number, claim in verdicts(broken).items()}
    assert found.pop(12) == "not in this file"  # two runs have no quartiles
    assert set(found.values()) == {MOST}


def test_half_of_a_claim_is_called_so(verdicts):
    assert verdicts(plan=make_plan(**FEW))[7].verdict == f"{MOST} (without 2a2b2c)"
    assert verdicts(plan=make_plan(tasks=("a",)))[2].verdict == f"{MOST} (without longer tasks)"
    critical = make_plan(**FEW, terminal_rewards={"numeric": "1.1 R*"})
    assert verdicts(plan=critical)[2].verdict == f"{MOST} (without task a)"  # task a is not paid 0 there


def test_with_one_tick_nothing_is_said_about_speed(verdicts):
    found = verdicts(plan=make_plan(**FEW, steps=1000))
    assert {found[number].verdict for number in range(5, 16)} == {"not in this file"}
    assert found[1].verdict == MOST and found[8].numbers == found[8].reason == ""


def test_facts_beyond_the_exact_tools_cost_a_reason_and_not_the_verdicts(verdicts):
    found = verdicts(plan=make_plan(**FEW, learner=LearnerConfig(tick=100_000, gamma=1.0)))
    assert found[5].verdict == MOST and "R*" not in found[3].reason


def test_with_nothing_paid_at_the_end_the_runs_themselves_decide_the_second_claim(verdicts):
    plan = make_plan(**FEW, terminal_rewards={"numeric": 0.0})
    numeric = {"label": ("qrm-num", "crm-num"), "task": ("a-b", "a-b-c")}
    assert verdicts(when(**numeric, to={"found": False}), plan)[2].verdict == MOST
    assert verdicts(plan=plan)[2].verdict == "does not hold"


def test_where_the_legs_are_short_numeric_machines_need_no_reward_at_the_end(verdicts, tmp_path):
    (tmp_path / "near.map").write_text("XXXXXXX\nXA a bX\nXXXXXXX\n")
    plan = make_plan(setups=(), map_files=(str(tmp_path / "near.map"),), tasks=("a", "a-b"))
    plan_file = make_file(tmp_path / "near.h5", plan=plan)
    second = judge(load(plan_file))[1]
    assert second.share_of() == (0, 1) and second.verdict == "undecided" and "a-b on 0 of 1" in second.reason


def test_reasons_come_from_the_exact_tools(verdicts):
    found = verdicts(when(label="crm-num", task="a-b-c", to={"found": False}))
    assert found[3].reason.startswith("a-b needs R above R* = 204 to ")
    plan = make_plan(**FEW, terminal_rewards={"numeric": 100.0})
    poor = verdicts(when(label="crm-num", to={"found": False, **SLOW}), plan)
    assert "R is above it on 0 of 4 maps" in poor[3].reason
    assert poor[10].reason == "24 cases fail; in 16 of them the machine's optimum is no shortest path"


def test_claims_without_their_methods_are_not_in_the_file(verdicts):
    plan = make_plan(methods=("qrm-num", "crm-num"))
    found = {number: claim.verdict for number, claim in verdicts(plan=plan).items()}
    assert [number for number, verdict in found.items() if verdict == "not in this file"] == [1, 4, 7, 8, 10, 15]
    with pytest.raises(ConfigError, match="nothing to judge"):
        verdicts(plan=make_plan(tasks=("b",), methods=("qrm-num",)))


def test_an_unfinished_file_is_judged_on_what_is_there_and_says_so(tmp_path, capsys):
    path = make_file(tmp_path / "part.h5", runs=np.arange(PLAN.count // 5))
    assert main(["claims", str(path), "--json"]) == 0
    printed = capsys.readouterr()
    assert "268 runs (of 1344)" in printed.err
    assert json.loads(printed.out)[str(path)][0]["of"] == 3
    assert main(["claims", str(path), "--markdown"]) == 0
    assert "| part (unfinished) |" in capsys.readouterr().out


def test_the_command_prints_the_same_bytes_every_time(tmp_path, capsys):
    paths = [str(make_file(tmp_path / name, plan=made_results.make_plan(seeds=4))) for name in ("one.h5", "two.h5")]
    for arguments in ([paths[0]], [*paths, "--markdown"], [paths[0], "--json"]):
        said = []
        for _ in range(2):
            assert main(["claims", *arguments]) == 0
            said.append(capsys.readouterr())
        assert said[0] == said[1] and said[0].out and not said[0].err


def test_files_of_different_semantics_are_not_set_side_by_side(tmp_path, capsys):
    paths = [str(make_file(tmp_path / "one.h5")), str(make_file(tmp_path / "two.h5", semantics='{"crm": 99}'))]
    assert main(["claims", *paths]) == 2
    printed = capsys.readouterr().err
    assert "two.h5: semantics" in printed and "they do not compare" in printed and printed.count("\n") == 1
