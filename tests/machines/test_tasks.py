"""Tasks in a few characters: their meaning on all short traces, their size, what each kind pays, and bad texts."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from fastrm import FastrmError, GridMap, MachineError, RewardMachine, TableWorld, compile, guarantee, solve, task, train
from fastrm.learners.training import Batch
from fastrm.machines import KINDS, PAPER_KINDS, find_machine
from fastrm.machines.automaton import DONE, FAILED
from fastrm.machines.language import Otherwise, Proposition, evaluate, leaves, write
from fastrm.machines.terms import automaton

import naive
from random_problems import maps
from random_tasks import end_of, letters_of, tasks, text_of


def play(machine, trace):
    """Return the state a machine is in after every label of a trace, until it ends."""
    state, visited = machine.start, []
    for label in trace:
        edges = [edge for edge in machine.edges if edge.source == state]
        names = {leaf for edge in edges if not isinstance(edge.guard, Otherwise) for leaf in leaves(edge.guard)}
        holds = {leaf: isinstance(leaf, Proposition) and leaf.name in (label, label[:1]) for leaf in names}
        guarded = [e for e in edges if not isinstance(e.guard, Otherwise) and evaluate(e.guard, holds)]
        (edge,) = guarded or [e for e in edges if isinstance(e.guard, Otherwise)]
        state = edge.target
        visited.append(state)
        if state in machine.terminals:
            break
    return visited


@settings(max_examples=120)
@given(tasks, st.sampled_from(["", "n", "nm"]), st.sampled_from(KINDS))
def test_machines_agree_with_the_definition_on_all_short_traces(term, avoided, kind):
    text = text_of(term) + "".join(f" !{letter}" for letter in avoided)
    try:
        machine = task(text, kind=kind)
    except MachineError as problem:  # {a, a} in another dress, such as {a|a, a}, no sequence, or no time
        assert re.search("given twice|nothing completes the task", str(problem)) or (
            kind == "offset" and "for different targets in turn" in str(problem)
        )
        assume(False)
    labels = ["", *sorted(letters_of(term)), *avoided]
    for trace in itertools.product(labels, repeat=4):
        done, lost = end_of(term, trace), next((i + 1 for i, x in enumerate(trace) if x and x in avoided), None)
        visited = play(machine, trace)
        if done is not None and (lost is None or done < lost):
            assert visited[-1] == "done" and len(visited) == done
        elif visited[-1] == "failed" and len(visited) != lost:  # too late: nothing that follows would do
            begun = trace[: len(visited)]
            assert not any(end_of(term, (*begun, *more)) for more in itertools.product(labels, repeat=2))
        elif lost is not None:
            assert visited[-1] == "failed"
        else:
            assert visited[-1] not in machine.terminals


@settings(max_examples=60)
@given(tasks)
def test_no_two_states_do_the_same(term):
    """Every pair of states is told apart by some continuation, found by refining outcomes of longer and longer ones."""
    try:
        moves = automaton(text_of(term)).moves
    except MachineError:
        assume(False)
    alike = {(i, j) for i in range(len(moves)) for j in range(i)}
    size = -1
    while len(alike) != size:
        size = len(alike)
        for i, j in list(alike):
            for label in moves[i]:
                one, two = moves[i][label], moves[j][label]
                if one != two and (min(one, two) < 0 or (max(one, two), min(one, two)) not in alike):
                    alike.discard((i, j))
    assert not alike


@pytest.mark.parametrize(
    ("text", "states"),
    [("a-b-c", 3), ("{a,b,c}", 7), ("a-{b,c}-d", 5), ("a|b", 1), ("a-b !n", 2), ("3*a", 3), ("(a|b)-(a|b)", 2),
     ("a-b within 4", 5), ("(a-b) within 4", 6), ("3*a-b", 4), ("(a within 2)|b", 3), ("{a within 2,b}", 4),
     ("{a,b}|{b,a}", 3), ("a|a-b", 1), ("2*{a,b}", 6),
     ("100*(a|b|c|d|e|f|g|h|i|j|k)", 100), ("{a,b,c,d,e,f,g,h}", 255), ("{a,b,c,d,e,f,g,h,i,j}", 1023)],
)  # fmt: skip
def test_machines_are_as_small_as_they_can_be(text, states):
    assert len(task(text).states) == states


def test_a_sequence_is_the_same_machine_whichever_way_it_is_built():
    for kind, text in itertools.product(KINDS, ("a", "a-b", "a-b-a", "b-b")):
        if (kind, text) == ("offset", "b-b"):
            continue
        assert task(text, kind=kind).write() == RewardMachine.sequence(text, kind=kind).write()


@pytest.mark.filterwarnings("ignore::fastrm.FastrmWarning")
@settings(max_examples=60)
@given(maps(fences=True), tasks, st.sampled_from(["", " !n"]), st.sampled_from(["manhattan", "geodesic"]))
def test_every_kind_pays_what_its_definition_says(text, term, avoid, metric):
    """Rewards of all moves in all states, from the definition of each kind and the oracle's distances."""
    text = text.replace("c", "n", 1) if avoid else text
    assume(letters_of(term) <= set(text))
    world = naive.World(text, metric)
    for kind in KINDS:
        try:
            machine = task(text_of(term) + avoid, kind=kind)
            problem = compile(GridMap.parse(text), machine, metric=metric, gamma=0.5)
        except FastrmError:
            if kind == "offset":
                continue
            assume(False)
        tables, cells = problem.tables, [tuple(cell) for cell in problem.terrain.cells.tolist()]
        watch = automaton(text_of(term) + avoid)
        steps = shortest_by_hand(world, watch, cells)
        hopeless = max(n for n in steps.values() if n is not None) ** 2 + 1
        far = (world.nearest(cell, x) for x in set(world.tile.values()) & set("abcn") for cell in cells)
        reach = max((n for n in far if n < float("inf")), default=0)
        span = reach if metric == "geodesic" else sum(max(axis) - min(axis) for axis in zip(*cells, strict=True))
        rest = {v: span * (left - 1) for v, left in watch.visits().items()}
        for (i, before), a, u in itertools.product(enumerate(cells), range(4), range(tables.n_u)):
            after = world.move(before, a)
            label = world.tile[after] if world.tile[after] in watch.labels else ""
            then, targets = watch.moves[u][label], watch.targets(u)
            near = {x: (world.nearest(before, x), world.nearest(after, x)) for x in targets}
            d = {FAILED: hopeless, DONE: 0}.get(then) if then < 0 else steps[after, then] or hopeless
            visits, arrives = watch.visits()[0], then != watch.moves[u][""]
            if kind == "distance-to-go":
                expected = -d
            elif kind == "potential":
                ahead = 0 if then < 0 else d
                expected = (then == DONE) + 0.01 * ((steps[before, u] or hopeless) - 0.5 * ahead)
            elif kind == "local-potential":
                here = min(sooner for sooner, _ in near.values()) + rest[u]
                there = 0 if then < 0 else min(world.nearest(after, x) for x in watch.targets(then)) + rest[then]
                expected = (then == DONE) + 0.01 * (here - 0.5 * there)
            elif kind == "offset":
                expected = 0 if then == DONE else -(min(later for _, later in near.values()) + rest[u])
            elif then == DONE:
                expected = {"boolean": 1, "numeric-boolean": 1000}.get(kind, 0 if visits == 1 else 10 ** (visits + 2))
            elif then == FAILED:
                expected = -(10 ** (visits + 2)) if kind == "numeric" else 0
            elif kind == "numeric":
                expected = 0 if arrives else -min(later for _, later in near.values())
            elif kind == "numeric-boolean":
                expected = 0.1 if arrives or any(later < sooner for sooner, later in near.values()) else 0
            else:
                expected = 0
            assert tables.reward[tables.event[i, a], u] == pytest.approx(expected, rel=1e-14, abs=1e-14)


def test_where_nothing_can_succeed_any_more_it_is_farther_than_any_way():
    """Behind n, which must not be entered, there is no way to a; the longest other way is 4 steps, so D is 17."""
    grid = GridMap.parse("XXXXXXXX\nXa  An X\nXXXXXXXX\n")
    for kind, here, there in (("distance-to-go", -17.0, -17.0), ("potential", 0.01 * 8.5, 0.01 * 17)):
        problem = compile(grid, task("a !n", kind=kind), gamma=0.5)
        cells = [tuple(cell) for cell in problem.terrain.cells.tolist()]
        tables, hidden = problem.tables, cells.index((1, 6))
        assert tables.reward[tables.event[hidden, 1], 0] == pytest.approx(here)  # against the wall
        assert tables.reward[tables.event[hidden, 3], 0] == pytest.approx(there)  # onto n: a failure
        assert guarantee(problem, 0.5).is_shortest


def shortest_by_hand(world, watch, cells):
    """Return the fewest steps to success from every cell and state, None where there is no way."""
    steps = dict.fromkeys(itertools.product(cells, range(len(watch.moves))))
    for _ in steps:
        before = dict(steps)
        for cell, u in steps:
            ends = []
            for there in (world.move(cell, a) for a in range(4)):
                label = world.tile[there] if world.tile[there] in watch.labels else ""
                then = watch.moves[u][label]
                rest = 0 if then == DONE else None if then == FAILED else before[there, then]
                ends += [] if rest is None else [rest + 1]
            steps[cell, u] = min(ends, default=None)
        if steps == before:
            return steps
    return steps


def test_what_repeats_count_is_a_stated_option():
    grid = GridMap.parse("XXXXXXXXX\nXa A   aX\nXXXXXXXXX\n")
    again = compile(grid, task("2*a"))
    different = compile(grid, task("2*a", used_up=True, grid=grid))
    assert again.shortest == (3,)  # two steps to a, one more against the wall
    assert different.shortest == (8,)
    assert len(task("2*a", used_up=True, grid=grid).states) == 3
    for kind in ("numeric", "numeric-boolean", "potential", "distance-to-go"):
        problem = compile(grid, task("2*a", kind=kind, used_up=True, grid=grid))
        assert problem.shortest == (8,)
        if kind not in PAPER_KINDS:
            assert guarantee(problem).is_shortest
    assert "d(a1)" in task("2*a", kind="numeric", used_up=True, grid=grid).write()


@settings(max_examples=40)
@given(st.integers(1, 3), st.integers(3, 4), tasks)
def test_used_up_objects_agree_with_the_definition_on_all_short_traces(count, objects, term):
    grid = GridMap.generate(f"{objects}e1a1b1c1d", size=9, seed=1)
    whole = ("then", ("different", "e", count), term)
    try:
        machine = task(f"{count}*e-({text_of(term)})", used_up=True, grid=grid)
    except MachineError:
        assume(False)
    assume("times" not in str(term))
    labels = ["", *(f"e{k}" for k in range(1, objects + 1)), *sorted(letters_of(term))[:2]]
    for trace in itertools.product(labels, repeat=4):
        visited, done = play(machine, trace), end_of(whole, trace)
        assert (visited[-1] == "done" and len(visited) == done) if done else visited[-1] != "done"


def test_ten_targets_in_any_order_compile_and_learn():
    grid = GridMap.generate("1a1b1c1d1e1f1g1h1i1j", size=9, seed=2)
    problem = compile(grid, task("{a,b,c,d,e,f,g,h,i,j}", kind="numeric"))
    assert problem.tables.n_u == 1023
    run = train(problem, algo="crm", steps=60_000, seed=0, tick=10_000)
    assert run.completions[-1] > 0
    best = solve(compile(grid, task("{a,b,c,d,e,f,g,h,i,j}")), gamma=0.99)
    assert best.length == problem.shortest[0]
    assert {grid.rows[r][c] for r, c in best.path} >= set("abcdefghij")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "",
            "task '', column 1: expected a lower-case letter (or H), a number, ( or {, found the end",
        ),
        ("a-", "column 3: expected a lower-case letter"),
        ("a--b", "column 3: expected a lower-case letter (or H), a number, ( or {, found '-'"),
        (
            "a?b",
            "column 2: unexpected '?'; operators are - (then), { , } (any order), | (or), N* (repeat)",
        ),
        ("a & b", "column 3: unexpected '&'"),
        ("a b", "column 3: unexpected 'b'"),
        ("A-b", "column 1: expected a lower-case letter (or H), a number, ( or {, found 'A'"),
        ("{a,b", "column 5: expected '}' for column 1, found the end"),
        ("(a|b}", "column 5: expected ')' for column 1, found '}'"),
        ("a)", "column 2: unexpected ')'"),
        ("{}", "column 2: expected a lower-case letter"),
        ("{a,a}", "column 4: given twice in { }; to visit it twice write 2*"),
        ("a-b !a", "column 6: 'a' is to be avoided, but the task asks for it in column 1"),
        ("a|b !n !b", "column 9: 'b' is to be avoided, but the task asks for it in column 3"),
        ("a !", "column 4: expected the letter to avoid after !, found the end"),
        ("!n", "column 1: expected a lower-case letter"),
        ("a !n-b", "column 5: unexpected '-'"),
        ("  a -- b", "column 6: expected a lower-case letter"),
        ("\ta\t?", "column 4: unexpected '?'"),
        ("a -  ", "column 4: expected a lower-case letter"),
        ("{a,b,c,d,e,f,g,h,i,j,k} !n", "column 1: 11 targets in any order; at most 10 are supported"),
        ("x-{a,b,c,d,e,f,g,h,i,j}-{k,l} !n", "column 25: the task needs more than 1024 machine states; split it"),
        ("²*a", "column 1: expected a lower-case letter (or H), a number, ( or {, found '²'"),
        ("0*a", "column 1: 0*: repeat from 1 to 100 times"),
        ("101*a", "column 1: 101*: repeat from 1 to 100 times"),
        ("b-99999999999999*a", "column 3: 9999999999*: repeat from 1 to 100 times"),
        ("100*(100*a)", "column 1: the task needs more than 1024 machine states; repeat less often"),
        ("3a", "column 1: a number repeats what follows: write 3*a"),
        ("(" * 40 + "a" + ")" * 40, "column 31: too deeply nested; split it up"),
        ("a-" * 600 + "a", "a task is a text of at most 1000 characters, such as a-{b,c}-d"),
        (7, "a task is a text of at most 1000 characters"),
    ],
)
def test_bad_texts_are_refused_with_their_place(text, message):
    with pytest.raises(MachineError) as caught:
        task(text)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_tasks_that_a_map_cannot_offer_are_refused_with_their_place():
    grid = GridMap.generate("2a1b", size=9, seed=1)
    with pytest.raises(
        MachineError, match=r"column 3: where objects are used up, only letters can be repeated, as in 2\*a"
    ):
        task("a-2*(a|b)", used_up=True, grid=grid)
    for text, options, message in [
        ("b-3*a", {"used_up": True}, "task 'b-3*a', column 3: asks for 3 different a, but this map has 2"),
        ("a-z", {}, "task 'a-z', column 3: this map has no z"),
    ]:
        with pytest.raises(MachineError, match="column 3") as caught:
            task(text, grid=grid, **options)
        assert message in str(caught.value)
    assert len(task("a-b !z", grid=grid).states) == 2  # what is not there is easily avoided
    for options, message in [
        ({"used_up": True}, "used_up=True: needs the map whose objects are used up"),
        ({"used_up": "yes"}, "used_up='yes': must be True or False"),
        ({"grid": "1a"}, "grid='1a': must be a GridMap"),
        ({"kind": "numerical"}, "kind='numerical': must be one of"),
        ({"kind": "potential", "scale": 0}, "scale=0: must be a number from 1e-100"),
        ({"terminal_rewards": 1}, "terminal_rewards: no such setting (did you mean terminal_reward?)"),
        ({"failure_reward": float("nan")}, "failure_reward=nan"),
    ]:
        with pytest.raises(FastrmError) as caught:
            task("a-b", **options)
        assert message in str(caught.value)


def test_written_machines_are_read_back():
    for kind, text in itertools.product(KINDS, ("a-b-a", "{a,b} !n", "2*a", "a|b-c")):
        if kind == "offset" and text != "a-b-a":
            with pytest.raises(MachineError, match="kind offset is for different targets in turn, such as a-b-a"):
                task(text, kind=kind)
            continue
        for offset in ("size", "legs", 12.5) if text == "a-b-a" else ("size", 0):
            machine = task(text, kind=kind, offset=offset)
            assert RewardMachine.parse(machine.write()) == machine
    assert "potential 2.5" in task("a", kind="potential", scale=2.5).write()


def test_potentials_and_steps_to_go_are_refused_where_they_make_no_sense():
    head = "start u0\nsuccess done\n"
    for text, message in [
        ("potential 0\nu0 -> done otherwise", "potential '0': must be a number above 0 and at most 1e100"),
        ("potential -1\nu0 -> done otherwise", "potential '-1': must be a number above 0"),
        ("potential 1 2\nu0 -> done otherwise", "'potential' takes one word"),
        ("potential u0 = closer(a)\nu0 -> done otherwise", "column 16: expected a number, found a truth value"),
        ("potential u0 = to_go()\nu0 -> done otherwise", ":3: potential u0: to_go() depends on the move"),
        ("potential u0 = d_before(a)\nu0 -> done otherwise", ":3: potential u0: d_before(a) depends on the move"),
        ("potential u0 = 1\npotential u0 = 2\nu0 -> done otherwise", ":4: potential u0: is given twice"),
        ("potential u9 = 1\nu0 -> done otherwise", ":3: potential u9: is no state"),
        ("potential 1\npotential u0 = 1\nu0 -> done otherwise", ":4: potential u0: beside a potential of all states"),
        ("potential u0 =\nu0 -> done otherwise", "potential u0, column 15: an empty reward"),
        ("potential u0 = 1\nu0 -> done agenda a b", ":3: state u0 has an agenda, which is several states"),
        ("u0 -> done when a reward leg(a)", "expected ','"),
        ("u0 -> done when to_go() < 3", "column 17: to_go() stands in a guard; only rewards may read it"),
        ("u0 -> done when a reward to_go(a)", "column 32: expected ')', found 'a'"),
    ]:
        with pytest.raises(MachineError) as caught:
            RewardMachine.parse(head + text)
        assert message in str(caught.value)


def test_solvers_and_learners_put_in_their_own_discount():
    grid = GridMap.generate("1a1b", size=9, seed=3)
    machine = task("a-b", kind="potential")
    problem, other = compile(grid, machine), compile(grid, machine, gamma=0.5)
    assert not np.array_equal(problem.tables.reward, other.tables.reward)
    assert problem.at(0.5).tables.reward.tobytes() == other.tables.reward.tobytes()
    assert solve(problem, gamma=0.5).value.tobytes() == solve(other, gamma=0.5).value.tobytes()
    runs = [train(p, algo="crm", steps=3000, gamma=0.7, tick=1000) for p in (problem, other)]
    assert runs[0].q.tobytes() == runs[1].q.tobytes()
    assert Batch(problem, "crm", steps=1, seeds=[0], gamma=0.7).problem.gamma == 0.7


def test_names_of_several_letters_are_targets_beside_letters():
    machine = task("coffee-{desk,a} !rain")
    assert [(edge.source, write(edge.guard), edge.target) for edge in machine.edges if edge.source == "u0"] == [
        ("u0", "coffee", "u1"), ("u0", "rain", "failed"), ("u0", "otherwise", "u0"),
    ]  # fmt: skip
    guards = [(edge.source, write(edge.guard)) for edge in task("a-apple").edges if edge.target != edge.source]
    assert guards == [("u0", "a"), ("u1", "apple")]  # no letter is part of a name
    assert RewardMachine.sequence("coffee-a", kind="numeric").write() == task("coffee-a", kind="numeric").write()
    assert task("2*coffee").write() == task("coffee-coffee").write().replace("coffee-coffee", "2*coffee")
    assert find_machine("coffee").name == "coffee boolean"
    assert find_machine("coffee-desk").agenda.targets == ("coffee", "desk")
    for text in ("coffee-A", "a1-b", "when-a", "co.ffee", "coffee desk"):
        with pytest.raises(MachineError, match=f"task {text!r}, column"):
            task(text)


def test_a_named_task_is_learned_where_a_world_has_the_labels():
    ring = TableWorld([[(s + 1) % 6, (s - 1) % 6] for s in range(6)], {2: "coffee", 5: "goal"})
    problem = compile(ring, task("coffee-goal"))
    assert problem.shortest == (5,) and train(problem, steps=20_000).solved
    grid = GridMap.parse("XXXXXX\nXA   X\nX  a X\nXXXXXX")
    on_a_map = compile(grid, task("{coffee,a}-goal"), labels={"coffee": [(1, 4)], "goal": [(2, 1)]})
    assert on_a_map.shortest == (7,) and train(on_a_map, "coupled", steps=20_000).solved
    with pytest.raises(MachineError, match=r"uses 'coffe'; this world offers coffee, goal \(did you mean coffee\?\)"):
        compile(ring, task("coffe-goal"))
    with pytest.raises(MachineError, match="task 'coffee-a', column 1: this map has no coffee"):
        task("coffee-a", grid=grid)


def test_a_large_agenda_of_names_is_written_and_read_back():
    names = [f"room_{letter}" for letter in "abcdefghijkl"]
    large = task("{" + ",".join(names) + "}")
    again = RewardMachine.parse(large.write())
    assert again.large == large.large and again.large.targets == tuple(names)
    few = RewardMachine.parse("start u\nsuccess done\nu -> done agenda coffee desk reward 1\n")
    assert few.agenda.targets == ("coffee", "desk") and RewardMachine.parse(few.write()).agenda == few.agenda


@pytest.mark.parametrize("text", ["a", "a-b-a", "{a,b}-c", "a|b-c", "2*a", "a-b !n"])
def test_a_machine_says_what_it_asks_for_so_it_can_be_had_in_every_kind(text):
    for kind in ("boolean", "numeric-boolean", "numeric", "potential", "local-potential", "distance-to-go"):
        for other in KINDS if text in ("a", "a-b-a") else (k for k in KINDS if k != "offset"):
            assert task(text, kind=kind).in_kind(other) == task(text, kind=other)
