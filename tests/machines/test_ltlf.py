"""LTLf: machines against the textbook semantics on all short traces."""

import itertools

import pytest
from hypothesis import given, settings, strategies as st
from time_limit import does_not_hang

from fastrm import GridMap, MachineError, RewardMachine, compile

LETTERS = ("a", "b", "")


def holds(f, trace, i=0):
    """Evaluate a formula, as nested tuples, at a place of a finite trace, by the definitions."""
    head, *rest = f
    last = len(trace) - 1
    if head in ("true", "false"):
        return head == "true"
    if head == "is":
        return trace[i] == rest[0]
    if head == "!":
        return not holds(rest[0], trace, i)
    if head == "X":
        return i < last and holds(rest[0], trace, i + 1)
    if head == "N":
        return i == last or holds(rest[0], trace, i + 1)
    if head == "F":
        return any(holds(rest[0], trace, j) for j in range(i, len(trace)))
    if head == "G":
        return all(holds(rest[0], trace, j) for j in range(i, len(trace)))
    one, two = rest
    if head == "U":
        return any(
            holds(two, trace, j) and all(holds(one, trace, k) for k in range(i, j)) for j in range(i, len(trace))
        )
    if head == "R":
        return not holds(("U", ("!", one), ("!", two)), trace, i)
    if head == "W":
        return holds(("U", one, two), trace, i) or holds(("G", one), trace, i)
    left, right = holds(one, trace, i), holds(two, trace, i)
    return {"&": left and right, "|": left or right, "->": not left or right, "<->": left == right}[head]


def text(f):
    head, *rest = f
    if head in ("true", "false"):
        return head
    if head == "is":
        return rest[0]
    if len(rest) == 1:
        return f"{head} ({text(rest[0])})"
    return f"({text(rest[0])}) {head} ({text(rest[1])})"


def play(machine, trace, state=None):
    """Return how many labels a machine reads before it ends, and the state it is in."""
    state = state or machine.start
    for k, label in enumerate(trace):
        edges = [edge for edge in machine.edges if edge.source == state]
        open_edges = [edge for edge in edges if label and label in letters_of(edge.guard)]
        state = (open_edges or [edge for edge in edges if not letters_of(edge.guard)])[0].target
        if state in machine.terminals:
            return k + 1, state
    return len(trace), state


def letters_of(guard):
    if hasattr(guard, "operands"):
        return [operand.name for operand in guard.operands]
    return [guard.name] if hasattr(guard, "name") else []


TRACES = [list(trace) for n in range(1, 6) for trace in itertools.product(LETTERS, repeat=n)]


def check(f):
    """Compare a machine with the definitions on all traces of up to five labels."""
    first = {}
    for trace in TRACES:
        prefix = first.get(tuple(trace[:-1]))
        first[tuple(trace)] = prefix if prefix else len(trace) if holds(f, trace) else None
    try:
        machine = RewardMachine.from_ltlf(text(f))
    except MachineError as problem:
        assert "nothing satisfies" in str(problem) and not any(first.values())
        return None
    for trace in TRACES:
        steps, state = play(machine, trace)
        assert (state == "done") == (first[tuple(trace)] is not None), (text(f), trace)
        if state == "done":
            assert steps == first[tuple(trace)], (text(f), trace)
        if state == "failed":
            rest = tuple(trace[:steps])
            assert not any(first[tuple(t)] for t in TRACES if tuple(t[:steps]) == rest), (text(f), trace)
    for state in machine.states:  # from a live state the task can be completed
        reach, todo = {state}, [state]
        while todo:
            here = todo.pop()
            new = {edge.target for edge in machine.edges if edge.source == here} - reach
            reach |= new
            todo += [u for u in new if u in machine.states]
        assert "done" in reach
    return machine


formulas = st.recursive(
    st.sampled_from([("is", "a"), ("is", "b"), ("is", "a"), ("true",), ("false",)]),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from("!XNFG"), inner),
        st.tuples(st.sampled_from(["&", "|", "U", "R", "W", "->", "<->"]), inner, inner),
    ),
    max_leaves=6,
)


@settings(max_examples=300)
@given(formulas)
def test_machines_follow_the_definitions_on_all_short_traces(f):
    machine = check(f)
    if machine is not None and len(machine.states) <= 4:  # smallest: some continuation tells any two states apart
        ends = [[play(machine, trace, state) for trace in TRACES if len(trace) <= 4] for state in machine.states]
        assert len({str([end if end in machine.terminals else "on" for _, end in row]) for row in ends}) == len(ends)


@pytest.mark.parametrize(
    ("formula", "states"),
    [
        ("F a", 1),
        ("F(a & F b)", 2),
        ("F a & F b & F c", 7),
        ("!b U a", 1),
        ("G !n & F a", 1),
        ("X X a", 3),
        ("true", 1),
    ],
)
def test_machines_are_as_small_as_expected(formula, states):
    assert len(RewardMachine.from_ltlf(formula).states) == states


def test_a_formula_becomes_a_task_that_can_be_learned():
    problem = compile(
        GridMap.generate("1a1b1n", size=9, seed=4), RewardMachine.from_ltlf("F(a & F b) & G !n", reward=5)
    )
    assert problem.shortest[0] > 0 and problem.tables.reward.max() == 5.0


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("F(a", r"formula 'F\(a', column 4: expected '\)' for column 2, found the end; operators are"),
        ("a b", "column 3: expected an operator or the end, found 'b'"),
        ("a Q b", "column 3: expected an operator or the end, found 'Q'"),
        (
            "F ab",
            r"column 3: expected a formula, found 'ab'; .* a proposition is a lower-case letter \(or H\)",
        ),
        ("a &", "column 4: expected a formula, found the end"),
        ("a ^ b", "column 3: expected an operator or the end"),
        ("\t a  b", "column 6: expected an operator or the end, found 'b'"),
        ("a &  ", "column 4: expected a formula, found the end"),
        ("", "column 1: expected a formula, found the end"),
        ("F(a & b)", "nothing satisfies it"),
        ("F a & G !a", "nothing satisfies it"),
        ("(" * 300 + "a" + ")" * 300, "column 49: too deeply nested; split it up"),
        ("!" * 300 + "a", "column 237: too deeply nested; split it up"),
        ("a" * 3000, "at most 2000 characters"),
    ],
)
def test_bad_formulas_are_refused_with_the_place(formula, message):
    with pytest.raises(MachineError, match=message):
        RewardMachine.from_ltlf(formula)


LETTERS_A_TO_Z = "abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize(
    ("formula", "states"),
    [
        ("<->".join("ab" * 10), 1),
        ("".join(f"F({letter} <-> " for letter in "ab" * 10) + "c" + ")" * 20, 3),
        (" & ".join(f"((F {x} & F n) | (F {x} & F m))" for x in "abcdefgh"), 2**9 - 1),
        (" & ".join(f"G({x} -> F {y})" for x, y in zip("abcdefghij", "klmnopqrst", strict=True)), 2**10),
        ("|".join("F X " * 28 + letter for letter in "abcdefgh"), 29),
        (" <-> ".join(f"({x} U {y})" for x in LETTERS_A_TO_Z[:8] for y in LETTERS_A_TO_Z[8:]), 1),
    ],
)
def test_formulas_whose_alternatives_would_double_with_every_part_become_machines(formula, states):
    with does_not_hang():
        assert len(RewardMachine.from_ltlf(formula).states) == states


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        (" & ".join(f"F {x}" for x in "abcdefghijk"), "needs more than 2000 states; split it into several tasks"),
        (
            " & ".join(f"(!{x} U {y})" for x in "abcdef" for y in LETTERS_A_TO_Z[6:]),
            "too much work; split it into several tasks",
        ),
    ],
)
def test_formulas_beyond_reach_are_refused_soon_with_the_cure(formula, message):
    with does_not_hang(), pytest.raises(MachineError, match=message) as refusal:
        RewardMachine.from_ltlf(formula)
    assert len(str(refusal.value)) < 200


def test_equal_formulas_are_one_and_the_same_state():
    one, two = (RewardMachine.from_ltlf(text) for text in ("F(a <-> b) & G !n", "G !n & !G((a & !b) | (!a & b))"))
    assert one.edges == two.edges and one.states == two.states
