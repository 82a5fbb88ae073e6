"""The guard and reward language, and the two file formats."""

import math
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fastrm import ConfigError, MachineError, RewardMachine
from fastrm.machines import KINDS, PAPER_KINDS, SHORT_KINDS, Kind
from fastrm.machines.language import (
    FEATURES,
    Binary,
    Chain,
    Feature,
    Number,
    Otherwise,
    Proposition,
    Truth,
    Unary,
    evaluate,
    parse_guard,
    parse_reward,
    write,
)

from sample_files import GOLD, REFERENCE

A, B = Proposition("a"), Proposition("b")
DA, DB = Feature("d", "a"), Feature("d", "b")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a", A),
        ("true", Truth(True)),
        (" otherwise ", Otherwise()),
        ("!a&b", Chain("&", (Unary("!", A), B))),
        ("a | b & !a", Chain("|", (A, Chain("&", (B, Unary("!", A)))))),
        ("(a | b) & a", Chain("&", (Chain("|", (A, B)), A))),
        ("d(a) <= 3", Binary("<=", DA, Number(3.0))),
        ("d(a) < d(b)", Binary("<", DA, DB)),
        ("!d(a) < d(b)", Unary("!", Binary("<", DA, DB))),
        ("closer(a)", Feature("closer", "a")),
        ("d & d(d) == 0", Chain("&", (Proposition("d"), Binary("==", Feature("d", "d"), Number(0.0))))),
        ("(d(a) + 1) * 2 > 3", Binary(">", Binary("*", Binary("+", DA, Number(1.0)), Number(2.0)), Number(3.0))),
    ],
)
def test_guards_parse_to_the_expected_tree(text, tree):
    assert parse_guard(text) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("0.1", Number(0.1)),
        ("-3", Number(-3.0)),
        ("1e5", Number(100000.0)),
        ("-d(a)", Unary("-", DA)),
        ("10 - 2*d(b)", Binary("-", Number(10.0), Binary("*", Number(2.0), DB))),
        ("1 - 2 - 3", Binary("-", Binary("-", Number(1.0), Number(2.0)), Number(3.0))),
        ("-min(d(a), d(b))", Unary("-", Chain("min", (DA, DB)))),
    ],
)
def test_rewards_parse_to_the_expected_tree(text, tree):
    assert parse_reward(text) == tree


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty guard"),
        ("a &", "missing at the end"),
        ("(a", r"expected '\)' for column 1, found the end"),
        ("a)", r"unexpected '\)'"),
        ("a b", "unexpected 'b'"),
        ("a $ b", r"unexpected '\$'"),
        ("d(a)", "expected a truth value, found a number"),
        ("a + 1 > 2", "expected a number, found a truth value 'a'"),
        ("1 < d(a) < 3", "comparisons do not chain"),
        ("dd(a)", r"unknown function 'dd' \(did you mean d\?\)"),
        ("closre(a)", "did you mean closer"),
        ("d(3)", "needs the name of an object type"),
        ("d()", "needs the name"),
        ("when", "cannot stand inside"),
        ("a & otherwise", "cannot stand inside"),
        ("d(a) < 1e999", "too large"),
        ("(" * 10_000 + "a" + ")" * 10_000, "too deeply nested; split it up"),
        ("!" * 10_000 + "a", "too deeply nested; split it up"),
        ("1" + " + 1" * 5000 + " > 0", "more than 200 operators"),
        ("__import__('os')", "unexpected"),
        ("a.__class__", "unexpected"),
        ("lambda: 1", "unexpected"),
    ],
)
def test_bad_guards_are_refused(text, message):
    with pytest.raises(MachineError, match=message):
        parse_guard(text)


def test_a_reward_that_is_a_truth_value_is_refused():
    with pytest.raises(MachineError, match="expected a number, found a truth value"):
        parse_reward("a")


def test_the_page_on_the_language_knows_every_feature():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "language.md").read_text()
    assert [row.name for row in FEATURES.values() if f"| `{row.written}` |" not in page] == []


names = st.sampled_from(["a", "b", "gold"])
numbers = st.recursive(
    st.one_of(
        st.floats(allow_nan=False, allow_infinity=False).map(lambda x: Number(x + 0.0)),
        st.builds(Feature, st.sampled_from(["d", "d_before"]), names),
    ),
    lambda inner: st.one_of(
        st.builds(Binary, st.sampled_from("+-*/"), inner, inner),
        inner.filter(lambda x: not isinstance(x, Number)).map(lambda x: Unary("-", x)),
        st.builds(lambda s, x: Chain(s, tuple(x)), st.sampled_from(["min", "max"]), st.lists(inner, min_size=1)),
    ),
    max_leaves=8,
)
truths = st.recursive(
    st.one_of(
        names.map(Proposition),
        st.booleans().map(Truth),
        st.builds(Feature, st.sampled_from(["closer", "closer_any"]), names),
        st.builds(Binary, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), numbers, numbers),
    ),
    lambda inner: st.one_of(
        inner.map(lambda x: Unary("!", x)),
        st.builds(lambda s, x: Chain(s, tuple(x)), st.sampled_from("&|"), st.lists(inner, min_size=2, max_size=4)),
    ),
    max_leaves=8,
)


@settings(max_examples=500)
@given(truths, numbers)
def test_writing_and_parsing_are_inverse(guard, reward):
    assert parse_guard(write(guard)) == guard
    assert parse_reward(write(reward)) == reward


def test_expressions_are_evaluated_column_wise():
    columns = {A: np.array([True, False]), DA: np.array([0, 4]), DB: np.array([2, 2])}
    assert evaluate(parse_guard("!a & d(b) < d(a)"), columns).tolist() == [False, True]
    assert evaluate(parse_reward("10 - 2*min(d(a), d(b))"), columns).tolist() == [10.0, 6.0]
    assert math.copysign(1, evaluate(parse_reward("-d(a)"), columns)[0]) == 1.0  # never minus zero


def test_the_own_format_reads_as_documented():
    machine = RewardMachine.parse(GOLD)
    assert machine.name == "gold run"
    assert machine.states == ("u0", "u1")
    assert machine.terminals == ("done", "lost")
    assert [edge.line for edge in machine.edges] == [7, 8, 9, 10, 11]
    assert machine.edges[1].reward == Number(0.0)
    assert RewardMachine.parse(machine.write()) == machine


def test_the_reference_format_is_recognised_by_content():
    machine = RewardMachine.parse(REFERENCE)
    assert machine.states == ("0", "1")
    assert machine.success == ("2",)
    assert machine.score == "own"
    assert machine.edges[2].reward == Number(-0.5)
    assert RewardMachine.parse(machine.write()) == machine


@pytest.mark.parametrize(
    "code",
    [
        "(0,1,'a',__import__('os').system('touch {}'))",
        "(0,1,'a',ConstantRewardFunction(__import__('os').system('touch {}')))",
        "(0,1,__import__('os').system('touch {}'),ConstantRewardFunction(0))",
        "__import__('os').system('touch {}')",
        "(0,1,'a',open('{}', 'w'))",
    ],
)
def test_code_in_a_reference_file_is_refused_and_does_not_run(tmp_path, code):
    trap = tmp_path / "trap"
    lines = REFERENCE.splitlines()
    lines[3] = code.format(trap)
    path = tmp_path / "evil.txt"
    path.write_text("\n".join(lines))
    with pytest.raises(MachineError, match=r"evil\.txt:4: column 1: expected \(STATE,STATE,'GUARD'"):
        RewardMachine.load(path)
    assert not trap.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("# only a comment\n", "empty"),
        ("success end\nu0 -> end when a\n", "no start state; add a line such as 'start u0'"),
        ("start u0\nu0 -> u0 when a\n", "no success state"),
        (
            "start u0\nsuccess end\nu0 -> end when (a & b\n",
            r":3: edge u0 -> end, column 22: expected '\)'",
        ),
        ("start u0\nsuccess end\nu0 -> end when a\nu7 -> end when a\n", ":4: state u7 cannot be reached from u0"),
        ("start u0\nsuccess end lost\nu0 -> end when a\n", "state lost cannot be reached"),
        ("start u0\nsuccess end\nu0 -> end when a\nu0 -> u1 when b\n", ":4: no edge leaves state u1"),
        (
            "start u0\nsuccess end\nu0 -> end when a\nu0 -> u1 when b\nu1 -> u1 otherwise\n",
            ":4: state u1 is a dead end",
        ),
        ("start u0\nsuccess end\nu0 -> end when a\nu0 -> u0 otherwise\nu0 -> u0 otherwise\n", ":5: .*second"),
        ("start u0\nsuccess end\nu0 -> end when a\nend -> u0 when a\n", ":4: .*leaves a terminal"),
        ("start end\nsuccess end\nu0 -> end when a\n", "start state end is a terminal"),
        ("start u0\nsuccess end\nfailure end\nu0 -> end when a\n", "both success and failure"),
        ("start u0\nstart u1\n", ":2: column 1: 'start' is given twice"),
        ("strat u0\n", r":1: column 1: unknown statement 'strat' \(did you mean start\?\)"),
        ("start u0 u1\n", ":1: column 10: 'start' takes one word"),
        ("start\n", ":1: column 6: 'start' needs a value"),
        ("start u0\nscore best\n", ":2: column 7: score 'best' is unknown"),
        ("start ü\n", ":1: column 7: state name 'ü'"),
        ("start u0\nsuccess end\nu0 -> end if a\n", ":3: column 11: expected 'STATE -> STATE when GUARD reward VALUE'"),
        ("start u0\nsuccess end\nu0 -> end when a reward a\n", ":3: edge u0 -> end, column 25: expected a number"),
        ("start u0\nsuccess end\nu0 -> end when " + "a & " * 3000 + "a\n", ":3: longer than"),
        ("0\n", ":1: column 1: expected the list of terminal states"),
        ("0\n(0,1,'a',ConstantRewardFunction(0))\n", ":2: column 1: expected the list of terminal states"),
        (
            "[2]\n(0,2,'a',ConstantRewardFunction(0))\n",
            ":1: column 1: no start state; the first line must be",
        ),
        ("0\n[]\n(0,1,'a',ConstantRewardFunction(0))\n", "no success state"),
        ("0\n[1]\n(0,1,'a',ConstantRewardFunction(1e999))\n", ":3: column 33: the reward 1e999 is too large"),
        ("0\n[1]\n(0,1,'a&',ConstantRewardFunction(1))\n", ":3: edge 0 -> 1, column 9: something is missing"),
        ("0\n[1]\n(0,1,'a',RewardControl())\n", ":3: column 1: expected"),
        ("XX\0", "binary"),
    ],
)
def test_bad_machines_are_refused_in_one_line_that_names_file_line_and_cure(text, message):
    with pytest.raises(MachineError, match=message) as caught:
        RewardMachine.parse(text, "task.rm")
    assert str(caught.value).startswith("task.rm:")
    assert "\n" not in str(caught.value)


BAD_GUARDS = [
    ("a @$ b", r"unexpected '\$'"),
    ("a @= b", r"unexpected '=' \(write == instead\)"),
    ("\ta\t@b", "unexpected 'b'"),
    ("a@)", r"unexpected '\)'"),
    ("a & @)", r"unexpected '\)'"),
    ("a &@", "something is missing at the end"),
    ("b & (a@", r"expected '\)' for column .*, found the end"),
    ("b | @d(a)", "expected a truth value, found a number"),
    ("!@(d(a))", "expected a truth value, found a number"),
    ("  @a + 1 > 2", "expected a number, found a truth value 'a'"),
    ("1 * @a > 2", "expected a number, found a truth value 'a'"),
    ("d(a) < -@b", "expected a number, found a truth value 'b'"),
    ("min(1, @a) > 0", "expected a number, found a truth value 'a'"),
    ("1 < d(a) @< 3", "comparisons do not chain"),
    ("a & @dd(a)", "unknown function 'dd'"),
    ("d( @3)", r"d\(\.\.\.\) needs the name of an object type"),
    ("d(a @b)", r"expected '\)', found 'b'"),
    ("a & @when", "the word 'when' cannot stand inside"),
    ("d(a) < @1e999", "the number 1e999 is too large"),
    ("1" + " + 1" * 200 + " @+ 1 > 0", "an expression with more than 200 operators"),
    ("(" * 30 + "@((a" + ")" * 32, "too deeply nested"),
    ("!" * 30 + "@!a", "too deeply nested"),
    ("a & @" + "x" * 41, "the name x{40}... is longer than 40 characters"),
    ("a & @to_go() < 3", r"to_go\(\) stands in a guard; only rewards may read it"),
]  # @ marks the column that the message must name


@pytest.mark.parametrize(("marked", "message"), BAD_GUARDS)
def test_messages_about_guards_name_the_column(marked, message):
    text, column = marked.replace("@", ""), marked.index("@") + 1
    with pytest.raises(MachineError, match=rf"^guard '.*', column {column}: {message}"):
        parse_guard(text)
    for before, after in [
        ("u0 -> end when ", ""),
        ("u0 -> end when ", "  # when a (comment)"),
        (" \t u0->end\twhen\t ", "\treward 1"),
        ("u0 -> end when ", " # reward 3"),
    ]:
        with pytest.raises(MachineError, match=rf"m:3: edge u0 -> end, column {len(before) + column}: {message}"):
            RewardMachine.parse(f"start u0\nsuccess end\n{before}{text}{after}\n", "m")
    for before, after in [("(0,1,'", "',"), ('\t( 0, 1 , "', '" ,  ')]:
        with pytest.raises(MachineError, match=rf"m:3: edge 0 -> 1, column {len(before) + column}: {message}"):
            RewardMachine.parse(f"0 # start\n[1]\n{before}{text}{after}ConstantRewardFunction(0)) # x\n", "m")


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("@a", "expected a number, found a truth value 'a'"),
        ("@to_go", r"expected a number, found a truth value 'to_go' \(write to_go\(\)\)"),
        ("1 -@", "something is missing at the end"),
        ("10 - 2*d(b) @!", "unexpected '!'"),
        ("2 * @(a | b)", "expected a number, found a truth value"),
        ("to_go(@a)", r"expected '\)', found 'a'"),
    ],
)
def test_messages_about_rewards_name_the_column(marked, message):
    text, column = marked.replace("@", ""), marked.index("@") + 1
    with pytest.raises(MachineError, match=rf"^reward '.*', column {column}: {message}"):
        parse_reward(text)
    for before, after in [("u0 -> end when a reward ", ""), ("  u0->end\totherwise\treward\t", "\t# reward 3")]:
        with pytest.raises(MachineError, match=rf"m:3: edge u0 -> end, column {len(before) + column}: {message}"):
            RewardMachine.parse(f"start u0\nsuccess end\n{before}{text}{after}\n", "m")


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("@strat u0", "unknown statement 'strat'"),
        ("start u0 @u1", "'start' takes one word, not 2"),
        ("start@", "'start' needs a value"),
        ("start  @ü", "state name 'ü'"),
        ("success end lost\t@end", "'success' names a state twice"),
        ("score @best", "score 'best' is unknown"),
        ("potential\t@0", "potential '0': must be a number above 0"),
        ("@ü -> end when a", "state name 'ü'"),
        ("u0->@ü when a", "state name 'ü'"),
        ("u0 -> end @if a", "expected 'STATE -> STATE when GUARD reward VALUE'"),
        ("u0 -> end @otherwise a", "expected 'STATE -> STATE when GUARD reward VALUE'"),
        ("u0 -> end@", "expected 'STATE -> STATE when GUARD reward VALUE'"),
        ("u0 ->@", "expected 'STATE -> STATE when GUARD reward VALUE'"),
        ("@-> end when a", "expected 'STATE -> STATE when GUARD reward VALUE'"),
        ("u0 -> end when@", "an empty guard"),
        ("u0 -> end when a reward@", "an empty reward"),
    ],
)
def test_messages_about_statements_name_the_column(marked, message):
    for before, after in [("", ""), ("\t  ", ""), ("", "   # -> when a"), (" ", "\t# reward 1")]:
        column = len(before) + marked.index("@") + 1
        with pytest.raises(MachineError, match=rf"m:2: (edge u0 -> end, )?column {column}: {message}"):
            RewardMachine.parse(f"# a comment\n{before}{marked.replace('@', '')}{after}\n", "m")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("\t(0,1)", "1: column 2: no start state"),
        ("0\n  2", "2: column 3: expected the list of terminal states"),
        ("0\n[1]\n (0,1,'a',print())", r"3: column 2: expected \(STATE,STATE"),
        ("0\n[1]\n (0,1,'a',ConstantRewardFunction( 1e999))", "3: column 35: the reward 1e999 is too large"),
    ],
)
def test_messages_about_files_of_the_reference_name_the_column(text, place):
    with pytest.raises(MachineError, match=f"m:{place}"):
        RewardMachine.parse(text, "m")


def test_kinds_are_those_that_the_type_checker_knows():
    assert KINDS == get_args(Kind) == tuple(SHORT_KINDS.values()) and KINDS[:3] == PAPER_KINDS


def test_every_kind_of_sequence_pays_what_the_paper_says():
    def edges(**settings):
        machine = RewardMachine.sequence("a-b", **settings)
        return [(e.source, write(e.guard), e.target, write(e.reward)) for e in machine.edges]

    assert edges() == [
        ("u0", "a", "u1", "0"), ("u0", "otherwise", "u0", "0"),
        ("u1", "b", "done", "1"), ("u1", "otherwise", "u1", "0"),
    ]  # fmt: skip
    assert edges(kind="numeric-boolean") == [
        ("u0", "a", "u1", "0.1"), ("u0", "!a & closer(a)", "u0", "0.1"), ("u0", "otherwise", "u0", "0"),
        ("u1", "b", "done", "1000"), ("u1", "!b & closer(b)", "u1", "0.1"), ("u1", "otherwise", "u1", "0"),
    ]  # fmt: skip
    assert edges(kind="numeric") == [
        ("u0", "a", "u1", "0"), ("u0", "otherwise", "u0", "-d(a)"),
        ("u1", "b", "done", "10000"), ("u1", "otherwise", "u1", "-d(b)"),
    ]  # fmt: skip


def test_every_ambiguity_of_the_paper_is_a_keyword():
    def rewards(task="a-b", **settings):
        return [write(e.reward) for e in RewardMachine.sequence(task, **settings).edges]

    assert rewards("a", kind="numeric")[0] == "0"
    assert rewards("a-b-c", kind="numeric")[4] == "100000"
    assert rewards(kind="numeric", distance="before")[1] == "-d_before(a)"
    assert rewards(kind="numeric-boolean", arrival="terminal")[0] == "1000"
    assert rewards(kind="numeric-boolean", terminal_reward=7, step_reward=0.5)[:2] == ["0.5", "0.5"]
    machine = RewardMachine.sequence("a", kind="numeric-boolean", closer="any")
    assert write(machine.edges[1].guard) == "!a & closer_any(a)"


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "bolean"}, {"closer": "all"}, {"distance": 3}, {"arrival": None},
        {"terminal_reward": float("nan")}, {"step_reward": "much"}, {"terminal_reward": float("inf")},
    ],
)  # fmt: skip
def test_bad_settings_of_a_sequence_are_refused_by_name(settings):
    with pytest.raises(ConfigError, match=next(iter(settings))):
        RewardMachine.sequence("a-b", **settings)


@pytest.mark.parametrize(
    ("task", "column", "found"),
    [("", 1, ""), ("a-", 3, ""), ("-", 1, ""), ("a--b", 3, ""), ("a1", 1, "a1"), ("a b", 1, "a b"), ("a-1", 3, "1"),
     (None, 1, ""), ("a-b-", 5, ""), ("a-B", 3, "B"), ("A", 1, "A"), ("a-X-b", 3, "X"), ("a-\n", 3, r"\n")],
)  # fmt: skip
def test_malformed_tasks_are_refused(task, column, found):
    with pytest.raises(MachineError, match=r"task .*, column \d: expected a lower-case letter \(or H\)") as caught:
        RewardMachine.sequence(task)
    assert f"column {column}: " in str(caught.value) and f"found '{found}'; join" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_files_of_the_reference_load_and_survive_our_format(reference: Path):
    files = sorted(reference.glob("machines/*/*.txt"))
    counts = {folder: sum(path.parent.name == folder for path in files) for folder in ("craft", "office")}
    assert counts == {"craft": 10, "office": 4}  # and those of other worlds, where they are at hand
    for path in files:
        machine = RewardMachine.load(path)
        assert RewardMachine.parse(machine.write()) == machine
