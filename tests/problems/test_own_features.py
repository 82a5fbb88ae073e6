"""Features and labels by name: read by guards and rewards on tables and on maps, saved, and refused in one line."""

import numpy as np
import pytest

import fastrm
from fastrm import GridMap, RewardMachine, TableWorld, compile
from fastrm.env import RewardMachineEnv, RewardMachineVectorEnv
from fastrm.errors import ConfigError, MachineError
from fastrm.machines.language import Binary, Feature, Number, parse_guard, parse_reward, write

GRID = GridMap.parse("XXXXXX\nXA   X\nX X aX\nXXXXXX")
FUEL = """
start u
success done
failure dry
u -> done when a & fuel >= 2 reward fuel
u -> dry when fuel == 0
u -> u otherwise
"""


def test_a_bare_name_of_several_letters_is_a_feature_where_a_number_is_expected():
    assert parse_guard("fuel < 3") == Binary("<", Feature("own", "fuel"), Number(3.0))
    for text in ("fuel < 3", "coffee & -fuel + 2 >= 1", "!max(fuel, d(a)) == 2 | gold"):
        assert write(parse_guard(text)) == text and parse_guard(write(parse_guard(text))) == parse_guard(text)
    assert write(parse_reward("2 * fuel - d(a)")) == "2 * fuel - d(a)"
    for text in ("a < 3", "a1 < 3", "H < 3", "min < 3", "(gold | coffee) < 3"):
        with pytest.raises(MachineError, match="expected a number, found a truth value"):
            parse_guard(text)
    with pytest.raises(MachineError, match="unknown function 'own'"):
        parse_guard("own(fuel) < 3")


def test_features_of_a_table_are_read_by_name():
    world = TableWorld([[1, 0], [2, 0], [2, 1]], {2: "goal"}, features={"fuel": [5, 3, 1]})
    text = "start u\nsuccess done\nu -> done when goal & fuel < 2 reward 10 * fuel\nu -> u otherwise reward -fuel\n"
    problem = compile(world, RewardMachine.parse(text))
    assert [problem.step(0, 0, 0).reward, problem.step(0, 0, 1).reward, problem.step(1, 0, 0).reward] == [-3, -5, 10]
    assert problem.shortest == (2,) and problem.step(1, 0, 0).is_success
    with pytest.raises(MachineError, match=r"uses fule; this world offers goal, fuel \(did you mean fuel\?\)"):
        compile(world, RewardMachine.parse(text.replace("fuel", "fule")))


def fuel_of(cell):
    row, column = cell
    return max(0, 5 - column - row)


def test_features_of_a_map_are_functions_or_arrays_and_are_saved(tmp_path):
    array = np.array([[fuel_of((row, column)) for column in range(6)] for row in range(4)])
    plain = RewardMachine.parse(FUEL.replace(">= 2", ">= 0").replace("== 0", "== 7"))
    problems = [compile(GRID, plain, features={"fuel": given}) for given in (fuel_of, array, array.tolist())]
    assert all(problem.tables.event.tolist() == problems[0].tables.event.tolist() for problem in problems)
    assert problems[0].tables.reward.max() == 0 and problems[0].shortest == (4,)
    with pytest.raises(MachineError, match="no path on <text> leads to a success"):
        compile(GRID, RewardMachine.parse(FUEL), features={"fuel": fuel_of})
    rich = compile(GRID, RewardMachine.parse(FUEL), features={"fuel": lambda cell: 9 - sum(cell)})
    assert rich.shortest == (4,) and rich.step(rich.number_of((1, 4)), 0, 2).reward == 3
    run = fastrm.train(rich, steps=20_000)
    run.save(tmp_path / "run.npz")
    again = fastrm.load_run(tmp_path / "run.npz").problem
    assert again.tables.event.tolist() == rich.tables.event.tolist() and again.describe() == rich.describe()
    assert "features" not in compile(GRID, fastrm.task("a")).describe()["settings"]
    closer = (
        "start u\nsuccess done\nu -> done when a reward 1\nu -> u when !a & closer(fuel) reward 2\nu -> u otherwise\n"
    )
    assert compile(GRID, RewardMachine.parse(closer), features={"fuel": fuel_of}).step(0, 0, 1).reward == 2


def test_labels_of_a_map_are_read_beside_its_objects(tmp_path):
    text = "start u\nsuccess done\nu -> v when coffee reward d(desk)\nu -> u otherwise\n"
    text += "v -> done when desk & a reward 100\nv -> v otherwise\n"
    names = {(1, 4): "coffee", (2, 4): ["desk"]}
    for labels in (names.get, {"coffee": [(1, 4)], "desk": [[2, 4]]}):
        problem = compile(GRID, RewardMachine.parse(text), labels=labels)
        assert problem.shortest == (4,) and problem.terrain.propositions == ("a", "coffee", "desk")
        assert problem.step(problem.number_of((1, 3)), 0, 1).reward == 1
    run = fastrm.train(problem, steps=20_000)
    run.save(tmp_path / "run.npz")
    assert fastrm.load_run(tmp_path / "run.npz").problem.describe() == problem.describe() and run.greedy_length == 4
    env = RewardMachineEnv(problem)
    env.reset(seed=0)
    told = [env.step(action)[4]["labels"] for action in (1, 1, 1, 2)]
    assert told == [(), (), ("coffee",), ("a", "desk")]
    many = RewardMachineVectorEnv(1, problem)
    many.reset(seed=0)
    assert [many.step([action])[4]["labels"].tolist() for action in (1, 1, 1, 2)] == [[0], [0], [2], [5]]
    assert RewardMachineEnv(grid=GRID, machine=problem.machines[0], labels=names.get).problem.shortest == (4,)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"features": {"fuel": [1, 2]}}, "fuel: must be a function of a cell, or an array of 4 x 6, with whole"),
        ({"features": {"fuel": lambda cell: -1}}, "features: fuel: must be a function of a cell"),
        ({"features": {"fuel": lambda cell: 0.5}}, "features: fuel: must be a function of a cell"),
        ({"features": {"fuel": lambda cell: None}}, "features: fuel: must be a function of a cell"),
        ({"features": {"fuel": [[1], [1, 2]]}}, "features: fuel: must be a function of a cell"),
        ({"features": {"f": fuel_of}}, "features: 'f': must be a name of several letters, such as fuel"),
        ({"features": {"a1": fuel_of}}, "features: 'a1': must be a name of several letters"),
        ({"features": {"when": fuel_of}}, "features: 'when': must be a name"),
        ({"features": [fuel_of]}, "features=.*: must be a table, such as"),
        ({"labels": 3}, "labels=3: must be a table"),
        ({"labels": {"coffee": [(0, 0)]}}, r"labels: coffee: \(0, 0\) is no cell of <text> that the agent can be in"),
        ({"labels": {"coffee": [7]}}, "labels: coffee: 7 is no cell of <text>"),
        ({"labels": lambda cell: "b"}, "labels: 'b': must be a name of several letters"),
        ({"labels": lambda cell: ["coffee", 3]}, "labels: 3: must be a name"),
    ],
)  # fmt: skip
def test_what_is_no_feature_or_label_is_refused_in_one_line(settings, message):
    with pytest.raises(ConfigError, match=message) as caught:
        compile(GRID, fastrm.task("a"), **settings)
    assert "\n" not in str(caught.value)


def test_worlds_that_have_their_own_refuse_others():
    table = TableWorld([[1, 0], [1, 0]], {1: "a"})
    with pytest.raises(ConfigError, match="features, labels: <table> is a TableWorld; give them to TableWorld itself"):
        compile(table, fastrm.task("a"), features={"fuel": fuel_of})
    with pytest.raises(ConfigError, match="features, labels: are for maps"):
        compile(fastrm.WaterWorld.generate(0), fastrm.task("a"), labels=lambda cell: None)
    with pytest.raises(MachineError, match=r"uses fuel; Water world has d\(x\), d_before\(x\) and closer\(x\) only"):
        compile(fastrm.WaterWorld.generate(0), RewardMachine.parse(FUEL))
    with pytest.raises(MachineError, match=r"uses fuel; this map offers a$"):
        compile(GRID, RewardMachine.parse(FUEL))
    with pytest.raises(ConfigError, match="labels: belongs to the problem"):
        fastrm.train(compile(GRID, fastrm.task("a")), labels={})
