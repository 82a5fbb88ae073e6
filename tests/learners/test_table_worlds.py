"""Worlds given by tables: learners equal the oracle there, and known worlds have their known values."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
from gymnasium.envs.toy_text.taxi import TaxiEnv

import fastrm
from fastrm import pages
from fastrm.bench.__main__ import main
from fastrm.bench.play import play
from fastrm.env import RewardMachineEnv, RewardMachineVectorEnv
from fastrm.errors import ConfigError, FastrmError, MapError
from fastrm.learners import Batch
from fastrm.problems import retrace

import naive
from compare import ANY_MACHINE, assert_equal
from sizes import either

MACHINE = {
    "states": ["u0", "u1"],
    "start": "u0",
    "success": ["done"],
    "failure": ["lost"],
    "edges": [
        ("u0", ("and", ("prop", "a"), ("not", ("prop", "b"))), "u1", ("num", 0.5)),
        ("u0", "otherwise", "u0", ("neg", ("d", "a"))),
        ("u1", ("and", ("prop", "b"), ("not", ("prop", "c"))), "done", ("num", 10)),
        ("u1", ("prop", "c"), "lost", ("num", -1)),
        ("u1", "otherwise", "u1", ("num", 0)),
    ],
    "score": "task",
    "potential": 0.0,
}
TEXT = """
states u0 u1
start u0
success done
failure lost
u0 -> u1   when a & !b reward 0.5
u0 -> u0   otherwise   reward -d(a)
u1 -> done when b & !c reward 10
u1 -> lost when c      reward -1
u1 -> u1   otherwise   reward 0
"""


ALL = ((2, 3, 5, 8, 16), 3, 0.25)
TABLES = either(
    dict.fromkeys(ANY_MACHINE, ALL),
    {"qrm": ((5, 8), 3, 0.0), "crm": ((5, 8), 1, 0.0), "hrm": ((2, 3), 3, 0.0)},
)
"""Numbers of actions, most starts and slip for each learner. A kernel is compiled for every number of blocks of four
actions, and for slip or none: the daily ones are those that other tests here need too."""


def random_tables(seed, numbers, most):
    """Make a random table whose cells hold up to three labels at once, one way in a circle always being open."""
    draw = random.Random(seed)
    n_s, n_a = draw.randint(5, 9), draw.choice(numbers)
    next_s = [[(s + 1) % n_s, *(draw.randrange(n_s) for _ in range(n_a - 1))] for s in range(n_s)]
    labels = [{name for name in "abc" if draw.random() < 0.25} for _ in range(n_s)]
    labels[:3] = {"a"}, {"b"}, labels[2] | {"c"}
    return next_s, labels, sorted(draw.sample(range(n_s), draw.randint(either(1, min(most, 2)), most)))


@pytest.mark.parametrize("algo", TABLES)
def test_learners_equal_the_oracle_on_random_tables(algo):
    *sizes, slip = TABLES[algo]
    for seed in range(either(12, 6)):
        next_s, labels, starts = random_tables(seed, *sizes)
        world = fastrm.TableWorld(next_s, labels, start=starts)
        problem = fastrm.compile(world, fastrm.RewardMachine.parse(TEXT), slip=slip)
        oracle = naive.LEARNERS[algo](
            naive.TableWorld(next_s, labels, starts), [MACHINE], seed, slip=slip, limit=25, tick=37, window=5
        )
        batch = Batch(
            problem, algo, steps=300, seeds=[seed], episode_limit=25, tick=37, window=5, optimum=[1.0], episodes=True
        )
        batch.advance(300)
        assert_equal(oracle.run(300), batch)


def value_iteration(table, gamma):
    """Return the optimal values of a table of Gymnasium, {s: {a: [(probability, s', reward, is_over)]}}."""
    value = np.zeros(len(table))
    for _ in range(5000):
        worth = [
            max(sum(p * (r + gamma * (0.0 if over else value[s])) for p, s, r, over in table[x][a]) for a in table[x])
            for x in range(len(table))
        ]
        if np.abs(worth - value).max() < 1e-15:
            break
        value = np.array(worth)
    return value


def test_taxi_has_the_values_of_plain_value_iteration_and_learners_reach_them():
    env = TaxiEnv()
    next_s, labels = np.zeros((500, 6), dtype=int), {}
    for s, actions in env.P.items():
        for a, [(_, there, reward, over)] in actions.items():
            next_s[s, a] = there
            if over or reward == -10:
                labels[s, a] = "delivered" if over else "illegal"
    starts = np.flatnonzero(env.initial_state_distrib).tolist()
    world = fastrm.TableWorld(next_s, labels, starts, names=["south", "north", "east", "west", "pick up", "drop off"])
    machine = fastrm.RewardMachine.parse(
        "start u\nsuccess done\nu -> done when delivered reward 20\n"
        "u -> u when illegal reward -10\nu -> u otherwise reward -1"
    )
    problem = fastrm.compile(world, machine)
    best = fastrm.solve(problem, gamma=0.95)
    assert np.abs(best.value[:, 0] - value_iteration(env.P, 0.95)).max() <= 1e-10
    run = fastrm.train(problem, "qrm", steps=1_000_000, q_init=20.0, gamma=0.95)
    assert run.solved and run.greedy_length == best.length == problem.shortest[0]
    lengths = [problem.from_start(s).shortest[0] for s in problem.starts]
    assert np.mean(lengths) == problem.shortest[0] and len(set(lengths)) > 10


def test_frozen_lake_is_a_grid_with_slip_and_has_the_values_of_plain_value_iteration():
    lake = FrozenLakeEnv(map_name="4x4")
    rows = ["".join(tile.decode() for tile in row) for row in lake.desc]
    walled = ["X" * 6, *(f"X{row}X" for row in rows), "X" * 6]
    text = "\n".join(walled).replace("S", "A").replace("F", " ").replace("H", "h").replace("G", "g")
    machine = fastrm.RewardMachine.parse(
        "start u\nsuccess done\nfailure drowned\nu -> done when g reward 1\n"
        "u -> drowned when h reward 0\nu -> u otherwise reward 0"
    )
    problem = fastrm.compile(fastrm.GridMap.parse(text), machine, slip=2 / 3)
    best, expected = fastrm.solve(problem, gamma=0.95), value_iteration(lake.P, 0.95).reshape(4, 4)
    for (row, column), value in zip(problem.terrain.cells.tolist(), best.value[:, 0], strict=True):
        if rows[row - 1][column - 1] in "SF":
            assert abs(value - expected[row - 1, column - 1]) <= 1e-10
    run = fastrm.train(
        problem, "qrm", steps=2_000_000, gamma=0.95, q_init=0.0, alpha="harmonic(0.5, 20000)", epsilon=0.3
    )
    learned = run.q[problem.start, 0].max()
    assert abs(learned - best.value[problem.start, 0]) < 0.1 * best.value[problem.start, 0]


def test_a_world_with_eight_directions_is_drawn_on_its_layout(tmp_path):
    world = eight_directions(fastrm.GridMap.generate("1a1b", size=9, seed=1))
    problem = fastrm.compile(world, fastrm.task("a-b"))
    run = fastrm.train(problem, "crm", steps=50_000)
    assert run.solved and run.greedy_length < fastrm.compile(world.layout, fastrm.task("a-b")).shortest[0]
    for picture in (run.plot(problem), problem._repr_html_(), run._repr_html_(), world.layout.plot()):
        assert picture


def eight_directions(grid):
    """Make the world of a map on which one can also move diagonally."""
    number = {cell: s for s, cell in enumerate(grid.floor)}
    offsets = [(-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1)]
    next_s = [[number.get((r + i, c + j), s) for i, j in offsets] for (r, c), s in number.items()]
    labels = {number[cell]: letter for letter, cells in grid.objects.items() for cell in cells}
    return fastrm.TableWorld(next_s, labels, start=number[grid.start], layout=grid)


RING = [[1, 2], [2, 0], [0, 1]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"next_s": [[1, 2], [2, -1], [0, 1]]}, "next_s: action 1 leads from cell 1 to -1, and cells are 0 to 2"),
        ({"next_s": [[1, 2], [2, 7], [0, 1]]}, "action 1 leads from cell 1 to 7"),
        ({"next_s": [[1, 2], [2]]}, "next_s: rows differ in length"),
        ({"next_s": [[0], [0]]}, "2 cells and 1 actions; up to"),
        ({"next_s": [[0.5, 1]]}, "action 0 leads from cell 0 to 0.5: must be a whole number"),
        ({"labels": [{"a"}, set()]}, r"labels: must be one collection of names per cell \(3\)"),
        ({"labels": {5: "a"}}, "labels: 5: must be a cell, below 3"),
        ({"labels": {(0, 2): "a"}}, r"labels: \(0, 2\): must be a pair of cell and action, below 3 and 2"),
        ({"labels": {0: "a b"}}, "labels: 'a b' at 0: must be a name such as gold"),
        ({"next_s": [[0, 1], [1, 0], [2, 2]], "labels": {2: "a"}}, "labels: no way leads from the start to 'a'"),
        ({"start": 3}, "start=3: must be 'anywhere', or one or several cells 0 to 2"),
        ({"start": []}, "start="),
        ({"features": {"fuel": [1, 2]}}, r"features: fuel: must be a whole number from 0 per cell \(3\)"),
        ({"features": {"fuel": [1, 2, -1]}}, "features: fuel"),
        ({"names": ["left"]}, "names=.*must be a list of 2 names, one per action"),
        ({"layout": fastrm.GridMap.generate("1a", size=5)}, "layout: .* has 9 floor cells, and the world 3 cells"),
    ],
)
def test_bad_worlds_are_refused_in_one_line(arguments, message):
    with pytest.raises(fastrm.MapError, match=message) as caught:
        fastrm.TableWorld(**{"next_s": RING, "labels": {2: "a"}, **arguments})
    assert "\n" not in str(caught.value)


def test_what_a_table_cannot_answer_is_refused_in_one_line(tmp_path):
    four = [[*actions, s, s] for s, actions in enumerate(RING)]
    problem = fastrm.compile(fastrm.TableWorld(four, {2: "a"}), fastrm.task("a"))
    with pytest.raises(fastrm.MapError, match="this world has no layout, so it cannot be drawn"):
        fastrm.train(problem, steps=1000).plot(problem)
    with pytest.raises(fastrm.MapError, match="start=7: must be 'anywhere', or one or several cells 0 to 2"):
        fastrm.compile(fastrm.TableWorld(RING, {2: "a"}), fastrm.task("a"), start=7)
    with pytest.raises(fastrm.MachineError, match="this world offers a"):
        fastrm.compile(fastrm.TableWorld(RING, {2: "a"}), fastrm.task("b"))


def test_a_world_is_saved_and_read_back_and_its_features_are_read(tmp_path):
    world = fastrm.TableWorld(RING, {(0, 1): ["a", "b"], (1, 0): "b"}, [0, 1], {"fuel": [3, 1, 0]}, ["on", "back"])
    world.save(tmp_path / "ring.json")
    again = fastrm.TableWorld.load(tmp_path / "ring.json")
    assert again.to_json() == world.to_json() and again.names == ("on", "back")
    machine = fastrm.RewardMachine.parse(
        "start u\nsuccess done\nu -> done when a & b reward 1\nu -> u otherwise reward -d(fuel)"
    )
    problem = fastrm.compile(again, machine)
    assert {problem.step(0, 0, 0).reward, problem.step(1, 0, 0).reward} == {-1.0, 0.0}
    assert problem.step(0, 0, 1).is_success and problem.shortest == (1.5,)
    (tmp_path / "bad.json").write_text('{"next_s": [[0, 1], [1, 0]], "labels": {"a": [[0, 9]]}}')
    with pytest.raises(fastrm.MapError, match=r"bad\.json: labels: \(0, 9\)"):
        fastrm.TableWorld.load(tmp_path / "bad.json")


def test_labels_of_moves_are_told_by_the_action_taken_not_by_the_cells():
    """Two actions lead from cell 0 to 1, and only the second is a `pick`."""
    world = fastrm.TableWorld([[1, 1, 0, 0], [2, 0, 1, 1], [2, 2, 2, 2]], {(0, 1): "pick", (1, 0): "end"})
    text = "start u\nsuccess done\nu -> v when pick reward 1\nu -> u otherwise\nv -> done when end reward 1\n"
    problem = fastrm.compile(world, fastrm.RewardMachine.parse(text + "v -> v otherwise\n"))
    for algo in ("crm", "hrm", "double-q"):
        run = fastrm.train(problem, algo, steps=3000, q_init=1.0)
        assert run.greedy_path == (0, 1, 2) and run.path_actions(problem) == [1, 0]
        assert [run.next_action(problem, 0, 0), run.next_action(problem, 1, 1)] == [1, 0]
    for actions in (None, [1, 0]):
        moments = list(retrace(problem, run.greedy_path, actions=actions))
        assert [moment.label for moment in moments] == ["", "pick", "end"] and moments[-1].success
    with pytest.raises(ConfigError, match="coupled keeps no values per machine state"):
        replace(run, algo="coupled").next_action(problem, 0, 0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"labels": [[[1], 2]]}, "labels: 'a' at [[1], 2]: must be a cell, or a cell and an action"),
        ({"labels": [{}]}, "labels: 'a' at {}: must be a cell"),
        ({"features": [1]}, "features=[1]: must be a table"),
        ({"features": {"f": [[1], [1, 2]]}}, "features: f: must be a whole number from 0 per cell (3)"),
        ({"features": {"when": [1, 2, 3]}}, "features: 'when': is a word of machines"),
        ({"layout": 3}, "layout=3: must be the text of a map"),
        ({"next_s": [[1, 1], [2, None], [2, 2]]}, "action 1 leads from cell 1 to None: must be a whole number"),
        ({"next_s": [[1, 1], [2, float("nan")], [2, 2]]}, "action 1 leads from cell 1 to nan"),
        ({"labels": [0], "next_s": [[1, 1], [2, 1], [2, 2]]}, "no way leads from the start to 'a' at 0"),
    ],
)
def test_a_table_that_is_not_one_is_refused_in_a_line(given, message):
    told = {"next_s": [[1, 1], [2, 0], [2, 2]], "labels": [1]} | given
    told["labels"] = {"a": told["labels"]}
    with pytest.raises(MapError) as caught:
        fastrm.TableWorld.from_json(json.dumps(told))
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_labels_files_and_equality_of_worlds(tmp_path):
    moves = [[1, 1], [2, 0], [2, 2]]
    with pytest.raises(MapError, match="labels: 'true' at 1: is a word of machines"):
        fastrm.TableWorld(moves, {1: "true"})
    with pytest.raises(MapError, match=r"0 is a cell and \(0, 1\) a cell with an action"):
        fastrm.TableWorld(moves, {0: "x", (0, 1): "y"})
    world = fastrm.TableWorld(moves, {1: "a"})
    with pytest.raises(MapError, match="cannot be written: No such file"):
        world.save(tmp_path / "missing" / "w.json")
    world.save(tmp_path / "w.json")
    again = fastrm.TableWorld.load(tmp_path / "w.json")
    assert again == world and hash(again) == hash(world) and again.source != world.source
    assert world != fastrm.TableWorld(moves, {2: "a"}) and world != 3


CIRCLE = fastrm.TableWorld([[(s + 1) % 5, (s - 1) % 5, s] for s in range(5)], {3: "gold"}, names=["on", "back", "stay"])
GOLD = fastrm.RewardMachine.parse("start u\nsuccess done\nu -> done when gold reward 1\nu -> u otherwise reward 0")


def test_starts_of_a_world_can_be_others_than_its_own():
    assert fastrm.compile(CIRCLE, GOLD, start="anywhere").starts == (0, 1, 2, 3, 4)
    assert fastrm.compile(CIRCLE, GOLD, start=[4, 2]).starts == (2, 4) and fastrm.compile(
        CIRCLE, GOLD, start=1
    ).shortest == (2,)
    grid = fastrm.GridMap.parse("XXXXXXX\nXA    X\nXXXXXXX")
    laid = fastrm.TableWorld(CIRCLE.next_s, {3: "gold"}, layout=grid)
    assert fastrm.compile(laid, GOLD, start=(1, 2)).starts == ((1, 2),)
    for world, start in ((CIRCLE, 9), (CIRCLE, (1, 2.0)), (laid, (9, 9)), (laid, [3.5]), (CIRCLE, "anywere")):
        with pytest.raises(FastrmError, match="start="):
            fastrm.compile(world, GOLD, start=start)


def test_a_world_without_a_layout_in_environments_cards_games_and_commands(tmp_path, capsys):
    env = RewardMachineEnv(grid=CIRCLE, machine=GOLD)
    env.reset(seed=0)
    assert env.render() is None and env.step(1)[4]["labels"] == ()
    with pytest.raises(ConfigError, match="has no layout, so it cannot be drawn"):
        RewardMachineEnv(grid=CIRCLE, machine=GOLD, render_mode="ansi")
    by_move = fastrm.TableWorld([[1, 1], [0, 0]], {(0, 1): "pick", (1, 0): "gold"})
    single, many = (kind(problem=fastrm.compile(by_move, GOLD)) for kind in (RewardMachineEnv, RewardMachineVectorEnv))
    single.reset(seed=0), many.reset(seed=0)
    for action in (0, 1, 1):
        labels = single.step(action)[4]["labels"]
        assert many.step([action])[4]["labels"].tolist() == [sum(1 << ["gold", "pick"].index(k) for k in labels)]
    crowded = fastrm.TableWorld(CIRCLE.next_s, {3: ["gold", *(f"x{k}" for k in range(64))]})
    with pytest.raises(ConfigError, match="tells 64 labels, and this world has 65"):
        RewardMachineVectorEnv(grid=crowded, machine=GOLD)
    assert "on, back, stay" in pages.problem_card(fastrm.compile(CIRCLE, GOLD))
    assert "shortest" in pages.guarantee_card(fastrm.guarantee(fastrm.compile(CIRCLE, GOLD)))
    said, keys = [], iter("17 q")
    play(fastrm.compile(CIRCLE, GOLD), lambda: next(keys), said.append)
    assert "keys make moves: 0 on, 1 back, 2 stay; r begins again; q leaves\n" in said and "cell 4\n" in said
    CIRCLE.save(tmp_path / "ring.json")
    (tmp_path / "gold.rm").write_text(GOLD.write())
    names = [str(tmp_path / "ring.json"), str(tmp_path / "gold.rm")]
    assert main(["check", *names, "--start", "anywhere"]) == 0 and "mean of 5 starts" in capsys.readouterr().out
    assert main(["check", *names, "--start", "1"]) == 0 and "2 steps" in capsys.readouterr().out
    assert main(["check", *names, "--start", "1,2"]) == 2
    assert capsys.readouterr().err == "fastrm: --start 1,2: must be 'anywhere', or the number of a cell, such as 3\n"
    assert main(["check", "1a", "a", "--size", "9", "--start", "2"]) == 2
    assert "--start 2: must be 'anywhere', or row and column of a cell, such as 1,2" in capsys.readouterr().err
