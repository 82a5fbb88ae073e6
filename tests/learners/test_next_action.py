"""What a run would do in a cell and a machine state, however these are named; anything else is one line."""

import numpy as np
import pytest

from fastrm import ConfigError, GridMap, TableWorld, WaterWorld, compile, task, train

from compare import ANY_MACHINE

GRID = GridMap.generate("1a1b", size=9, seed=1, walls=0.1)
PROBLEM = compile(GRID, task("a-b"))
ACTING = ANY_MACHINE


@pytest.mark.parametrize("algo", ACTING)
def test_cells_are_named_by_place_or_number_and_states_by_number_or_name(algo):
    run = train(PROBLEM, algo, steps=2000, optimum=[1.0])
    cells = PROBLEM.terrain.cells_of(range(len(PROBLEM.terrain.cells)))
    for s, cell in enumerate(cells):
        for u, name in enumerate(("u0", "u1")):
            action = run.next_action(PROBLEM, s, u)
            assert type(action) is int and 0 <= action < 4
            others = [(cell, u), (list(cell), name), (np.int64(s), np.uint8(u)), (s, (0, name))]
            assert {run.next_action(PROBLEM, *other) for other in others} == {action}


def test_the_action_is_that_of_the_greedy_path():
    run = train(PROBLEM, "crm", steps=50_000)
    assert [run.next_action(PROBLEM, run.greedy_path[0], "u0")] == run.path_actions(PROBLEM)[:1]


@pytest.mark.parametrize(
    ("cell", "state", "message"),
    [
        ((0, 0), 0, r"cell=\(0, 0\): no cell that the agent can be in; give one such as \(4, 4\)"),
        ((99, 1), 0, r"cell=\(99, 1\): no cell"), ((1, 2, 3), 0, "cell="), ((), 0, "cell="), ([[1], 2], 0, "cell="),
        (-1, 0, r"cell=-1: must be a whole number from 0 to \d+"), (10**6, 0, "cell=1000000: must be"),
        (1.0, 0, "cell=1.0: no cell"), (True, 0, "cell=True: no cell"), (None, 0, "cell=None"), ("A", 0, "cell='A'"),
        (0, -1, "state=-1: must be a whole number from 0 to 1, or one of u0, u1"), (0, 2, "state=2: must be"),
        (0, 10**6, "state=1000000"), (0, 0.0, "state=0.0"), (0, True, "state=True"), (0, None, "state=None"),
        (0, "u7", r"state='u7': must be a whole number from 0 to 1, or one of u0, u1"), (0, (1, "u0"), "state="),
        (0, [0, "u0"], "state="), (0, (0, ["u0"]), "state="),
    ],
)  # fmt: skip
@pytest.mark.parametrize("algo", ["qrm", "hrm"])
def test_what_is_no_cell_or_no_machine_state_is_refused_in_one_line(algo, cell, state, message):
    run = train(PROBLEM, algo, steps=100, optimum=[1.0])
    with pytest.raises(ConfigError, match=message) as caught:
        run.next_action(PROBLEM, cell, state)
    assert "\n" not in str(caught.value)


def test_a_name_that_several_machines_use_needs_the_number_of_its_machine():
    problem = compile(GRID, [task("a-b"), task("b")])
    run = train(problem, "crm", steps=2000, optimum=[1.0, 1.0])
    assert run.next_action(problem, 3, (1, "u0")) == run.next_action(problem, 3, 2)
    assert run.next_action(problem, 3, "u1") == run.next_action(problem, 3, 1)
    with pytest.raises(ConfigError, match=r"state='u0': must be a whole number from 0 to 2, or one of \(0, 'u0'\), u1"):
        run.next_action(problem, 3, "u0")


def test_another_problem_than_the_run_s_is_refused():
    run = train(PROBLEM, "crm", steps=100, optimum=[1.0])
    for other, message in [
        (compile(GridMap.generate("1a1b", size=11), task("a-b")), "the run learned about 44 cells"),
        (compile(GRID, task("a-b-a")), "the run learned about 44 cells, 4 actions and the states u0, u1"),
        (compile(TableWorld([[1] * 2] * 44, {1: "a"}), task("a-a")), "the run learned about 44 cells"),
        (compile(WaterWorld.generate(), task("a")), "is a water world"), (None, "problem=None: must be a Problem"),
    ]:  # fmt: skip
        with pytest.raises(ConfigError, match=message):
            run.next_action(other, 0, 0)


def test_a_run_on_water_world_and_one_of_coupled_tell_no_action_of_a_cell():
    with pytest.raises(ConfigError, match="coupled keeps no values per machine state"):
        train(PROBLEM, "coupled", steps=100, optimum=[1.0]).next_action(PROBLEM, 0, 0)
    water = compile(WaterWorld.generate(seed=1), task("a"))
    run = train(water, "crm", steps=100, optimum=[1.0])
    for problem in (water, PROBLEM):
        with pytest.raises(ConfigError, match="is a water world; this needs the cells of a map"):
            run.next_action(problem, 0, 0)


def test_the_next_move_of_an_episode_is_that_of_its_cell_and_state():
    problem = compile(GridMap.generate("1a1b", size=9, seed=1), task("a-b"))
    run, episode = train(problem, "crm", steps=50_000), problem.episode()
    moves = []
    while not episode.terminated:
        moves.append(run.act(episode))
        episode.step(moves[-1])
    assert tuple(moves) == run.greedy_actions[0]
    with pytest.raises(ConfigError, match="must be a cell and a machine state, such as"):
        run.act(0)
