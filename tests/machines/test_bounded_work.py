"""Texts made to keep a reader busy: read or refused in time that grows with their length and no faster."""

import pytest
from time_limit import does_not_hang

from fastrm import GridMap, MachineError, MapError, RewardMachine, task

HEAD = "start u0\nsuccess done\n"
WORDS = ("", "u0", "->", "done", "when", "a", "reward", "1", "")


@pytest.mark.parametrize("k", range(1, len(WORDS)))
def test_many_blanks_anywhere_in_an_edge_change_nothing(k):
    edge = " ".join(WORDS[:k]) + " " * 9000 + " ".join(WORDS[k:])
    with does_not_hang():
        machine = RewardMachine.parse(HEAD + f"{edge}\n" * 50)
    assert machine.edges[0] == RewardMachine.parse(HEAD + "u0 -> done when a reward 1").edges[0]


@pytest.mark.parametrize("line", ["->" * 4900, "u0->" * 2400, "u0 -> done when" + " " * 9000 + "?", "u0" + " " * 9000])
def test_lines_that_are_no_edges_are_refused_soon(line):
    with does_not_hang(), pytest.raises(MachineError, match="<text>:3: "):
        for _ in range(20):
            try:
                RewardMachine.parse(HEAD + line)
            except MachineError as problem:
                refusal = problem
        raise refusal


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "u0 -> done when a\n" * 100_000, "more than 100000 statements"),
        ("#a\n" * 3_000_000, "longer than 8 Mi characters"),
    ],
)
def test_machines_of_more_lines_than_any_machine_has_are_refused_before_they_are_read(text, message):
    with does_not_hang(10), pytest.raises(MachineError, match=message):
        RewardMachine.parse(text, "big.rm")


def test_a_map_of_more_lines_than_any_map_has_is_refused_before_it_is_cut_up():
    with pytest.raises(MapError, match=r"long\.map: more than 100000 lines; a side has at most 10000 cells"):
        GridMap.parse("\n" * 100_001 + "XXX\nXAX\nXXX\n", "long.map")


@pytest.mark.parametrize(
    "text",
    [
        "100*{" + ",".join("abcdefghij") + "}",
        "{" + ",".join(f"{k}*{letter}" for k, letter in enumerate("abcdefghij", start=10)) + "}",
        "|".join("{" + ",".join("abcdefghijklmnopqrst"[i : i + 6]) + "}" for i in range(14)),
    ],
)
def test_tasks_of_too_many_states_are_refused_soon(text):
    with does_not_hang(), pytest.raises(MachineError, match="more than 1024 machine states"):
        task(text)
