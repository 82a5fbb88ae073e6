"""Agendas in machines: the statement and what it stands for, agendas found again, and those too large to list."""

import string

import pytest

from fastrm import GridMap, MachineError, RewardMachine, compile, task
from fastrm.machines import find_machine
from fastrm.machines.language import Agenda

FRAME = "start u0\nsuccess done\n"


def follow(machine):
    """Return a machine's moves with states numbered in the order in which they are reached, and what each pays."""
    number, todo, moves = {machine.start: 0, **dict.fromkeys(machine.success, -1)}, [machine.start], []
    for state in todo:
        ways = sorted((str(e.guard), e) for e in machine.edges if e.source == state)
        for _, edge in ways:
            if edge.target not in number:
                number[edge.target] = len(number) - len(machine.success)
                todo.append(edge.target)
        moves.append([(guard, number[e.target], str(e.reward)) for guard, e in ways])
    return moves


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("{a,b,c}", "u0 -> done agenda a b c reward 1"),
        ("{a,b,c,d,e,f,g,h}", "u0 -> done agenda a b c d e f g h reward 1"),
        ("{a-b,c,d-e}", "u0 -> done agenda a-b c d-e reward 1"),
        ("{a,b,c}-d", "u0 -> u1 agenda a b c\nu1 -> done agenda d reward 1"),
        ("{a,b}-c-{d,e}", "u0 -> u1 agenda a b\nu1 -> u2 when c\nu1 -> u1 otherwise\nu2 -> done agenda d e reward 1"),
    ],
)
def test_an_agenda_is_the_machine_of_the_task_in_any_order(text, lines):
    machine = RewardMachine.parse(f"{FRAME}{lines}\n")
    assert follow(machine) == follow(task(text))
    for other in (machine, RewardMachine.parse(machine.write())):
        assert sorted(other.agenda.targets) == sorted(task(text).agenda.targets)
        assert other.agenda.sets(2**11).keys() and len(other.agenda.sets(2**11)) == len(task(text).states)


def test_other_edges_of_a_state_hold_until_its_agenda_is_empty():
    text = f"{FRAME}failure lost\nu0 -> done agenda a b reward 2\nu0 -> lost when n\nu0 -> u0 otherwise reward -3"
    edges = {(e.source, e.target): str(e.reward) for e in RewardMachine.parse(text).edges}
    assert {("u0", "lost"), ("u0_a", "lost"), ("u0_b", "lost")} <= set(edges)
    assert {("u0", "u0"), ("u0_a", "u0_a"), ("u0_b", "u0_b"), ("u0_a", "done"), ("u0_b", "done")} <= set(edges)


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("a-b-a", "aba"), ("{a-b,c}-d", "abcd"), ("a-{b,c}-a", "abca"), ("{a-b,a-c}", "abac"), ("{a-b,c-b}", "acb"),
        ("a|b", None), ("{a,b} !c", None), ("(a|b)-c", None), ("40*a", None),
    ],
)  # fmt: skip
def test_the_stages_of_a_task_are_found_in_its_machine(text, targets):
    machine = task(text)
    again = RewardMachine.parse(machine.write())
    assert machine.agenda == again.agenda and again == machine
    assert (machine.agenda and "".join(machine.agenda.targets)) == targets


def test_a_machine_that_only_looks_like_an_agenda_is_none():
    text = f"{FRAME}name {{a,b}} boolean\nu0 -> u1 when a\nu0 -> u0 otherwise\n"
    text += "u1 -> done when b reward 1\nu1 -> u1 otherwise"
    assert RewardMachine.parse(text).agenda == Agenda(("a", "b"), (0, 1))
    forgets = text.replace("u1 -> u1 otherwise", "u1 -> u0 when a\nu1 -> u1 otherwise")
    assert RewardMachine.parse(forgets).agenda is None


def test_an_agenda_too_large_to_list_is_kept_as_it_was_written():
    text = "{" + ",".join("abcdefghijkl") + "}-m-{n-o,p}"
    machine = task(text)
    assert machine == RewardMachine.parse(machine.write()) != task(text.replace("n-o", "o-n"))
    assert machine.agenda.targets == tuple("abcdefghijklmnop") and not machine.edges
    assert find_machine(text) == machine  # as commands and experiments ask for it
    thirty_two = " ".join(f"{x}{k}" for x in "abcdefgh" for k in range(1, 5))
    large = RewardMachine.parse(f"{FRAME}u0 -> done agenda {thirty_two} reward 1")
    problem = compile(GridMap.generate("4a4b4c4d4e4f4g4h", size=15, seed=1), large)
    assert len(problem.agenda.targets) == 32 and not problem.tour.is_shortest


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("agenda", "<text>:3: column 18: agenda: is empty; name what is to be done in any order, such as agenda a b c"),
        ("agenda reward 1", "agenda: is empty"),
        ("agenda a B", "column 21: agenda: expected a lower-case letter (or H), found 'B'; write agenda a b-c d"),
        ("agenda a b-", "column 23: agenda: expected a lower-case letter (or H), found the end"),
        ("agenda a - - b", "column 23: agenda: expected a lower-case letter (or H), found '-'"),
        ("agenda a b a", "column 23: agenda: 'a' is given twice"),
        ("agenda " + " ".join(f"a{k}" for k in range(1, 34)), "agenda: has 33 objects; at most 32 are supported"),
        ("agenda a\nu0 -> done agenda b", "<text>:4: state u0 has a second agenda; keep one, or add a state"),
        (
            "agenda " + " ".join(string.ascii_lowercase) + " reward 2",
            "<text>:3: the machine needs more than 1024 states",
        ),
    ],
)
def test_bad_agendas_are_refused_with_their_place(line, message):
    with pytest.raises(MachineError) as problem:
        RewardMachine.parse(f"{FRAME}u0 -> done {line}")
    assert message in str(problem.value)


def test_an_agenda_of_an_unknown_object_is_refused_with_what_the_map_offers():
    grid = GridMap.generate("1a1b", size=7, seed=1)
    for text in ("agenda a b q reward 1", f"agenda {' '.join('abcdefghijklmnopq')} reward 1"):
        with pytest.raises(MachineError, match="this map offers a, b"):
            compile(grid, RewardMachine.parse(f"{FRAME}u0 -> done {text}"))
