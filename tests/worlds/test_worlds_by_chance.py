"""Worlds by chance from their tables to files, environments and pictures; what cannot be one is refused in a line."""

from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium.envs.toy_text.blackjack import BlackjackEnv
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

import fastrm
from fastrm import MapError, TableWorld
from fastrm.bench.__main__ import main
from fastrm.bench.play import play
from fastrm.env import RewardMachineEnv, RewardMachineVectorEnv
from fastrm.errors import ConfigError
from fastrm.plots import draw_learning
from fastrm.problems import retrace

ICE = [[[(s + 1) % 5, s], [(s - 1) % 5, s]] for s in range(5)]
SHARES = [[[0.8, 0.2]] * 2] * 5
TEXT = "start u\nsuccess done\nu -> done when gold reward 1\nu -> u otherwise reward 0"
GOLD = fastrm.RewardMachine.parse(TEXT)


def ice(**changes):
    return TableWorld(**{"next_s": ICE, "labels": {3: "gold"}, "probability": SHARES, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"probability": [[[0.8, 0.1]] * 2] * 5}, "action 0 in cell 0 does not sum to 1: 0.8, 0.1; give each"),
        ({"probability": [[[0.8, 0.2], [1.2, -0.2]]] * 5}, "action 1 in cell 0 has a number outside 0 to 1"),
        ({"probability": [[[0.5, float("nan")]] * 2] * 5}, "has a number outside 0 to 1: 0.5, nan"),
        ({"probability": [[[0.5, float("inf")]] * 2] * 5}, "has a number outside 0 to 1: 0.5, inf"),
        ({"probability": [[0.8, 0.2]] * 5}, r"probability: must be numbers, as many as in next_s, \[5, 2, 2\]"),
        ({"probability": [[[0.8, 0.2], [1.0]]] * 5}, "probability: must be numbers"),
        ({"probability": "half"}, "probability: must be numbers"),
        ({"probability": None}, r"next_s: must be whole numbers, \[cells, actions\]; outcomes need probability="),
        ({"next_s": [[1, 0]] * 5}, r"next_s: must be whole numbers, \[cells, actions, outcomes\], with a probability"),
        ({"next_s": [[[0] * 17] * 2] * 5, "probability": [[[1 / 17] * 17] * 2] * 5}, "17 outcomes; an action may"),
        ({"next_s": [[[0, 7]] * 2] * 5}, "next_s: action 0 leads from cell 0 to 7, and cells are 0 to 4"),
        ({"next_s": [[[0, 0.5]] * 2] * 5}, "action 0 leads from cell 0 to 0.5: must be a whole number"),
        ({"next_s": [[[0, 1], [1]]] * 5}, "next_s: rows differ in length; give a number per cell, action and outcome"),
        ({"labels": {(0, 0, 2): "gold"}}, r"labels: \(0, 0, 2\): must be cell, action and outcome, below 5 and 2"),
        ({"labels": {(0, 0, 1): "a", (0, 1): "b"}}, r"labels: \(0, 0, 1\): must be a pair of cell and action"),
        ({"labels": {(0, 0, 0): "a"}, "probability": [[[0.0, 1.0]] * 2] * 5}, "'a' holds only after outcomes"),
    ],
)  # fmt: skip
def test_chances_that_are_none_are_refused_in_one_line(changes, message):
    with pytest.raises(MapError, match=message) as caught:
        ice(**changes)
    assert "\n" not in str(caught.value)


def table_of(rows, starts=(1.0, 0.0)):
    """Make what `from_gymnasium` reads of an environment."""
    return SimpleNamespace(P=rows, initial_state_distrib=np.array(starts))


ONE = [(1.0, 1, 0.0, False)]


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (BlackjackEnv(), "<BlackjackEnv>: has no table of transitions P, as FrozenLake, Taxi and CliffWalking have"),
        (3, "<int>: has no table of transitions P"),
        (table_of({0: {0: ONE, 1: [(1.0, 1)]}, 1: {0: ONE, 1: ONE}}), r"P: must list \(probability, next"),
        (table_of({0: {0: ONE, 1: ONE}, 1: {0: ONE}}), "P: must list"),
        (table_of({0: {0: ONE, 1: []}, 1: {0: ONE, 1: ONE}}), "P: must list"),
        (table_of({"a": {0: ONE}}), "P: must list"),
        (table_of("some"), "P: must list"),
        (table_of([[ONE, ONE], [ONE, ONE]], (0.7, 0.3)), "its start states are unknown or not equally likely"),
        (table_of([[ONE, ONE], [ONE, [(0.5, 0, 0.0, False)]]]), "action 1 in cell 1 does not sum to 1"),
        (table_of([[ONE, ONE], [ONE, [(0.5, 0, 0.0, False), (0.4, 1, 0.0, False)]]]), "in cell 1 does not sum to 1"),
        (table_of([[ONE, ONE], [ONE, [(1.0, 7, 0.0, False)]]]), "action 1 leads from cell 1 to 7"),
    ],
)  # fmt: skip
def test_environments_without_a_table_are_refused_in_one_line(env, message):
    with pytest.raises(MapError, match=message) as caught:
        TableWorld.from_gymnasium(env, {1: "a"})
    assert "\n" not in str(caught.value)


def test_what_never_happens_is_as_if_it_were_not_there():
    """An outcome of probability 0 that would be a short cut, or would have a label, changes nothing."""
    shares = [[[0.8, 0.2, 0.0]] * 2] * 5
    moves = [[[*outcomes, 3] for outcomes in row] for row in ICE]
    world = ice(next_s=moves, probability=shares, labels={(2, 0, 0): "gold", (0, 0, 2): "gold"})
    problem = fastrm.compile(world, GOLD)
    assert problem.shortest == (3,) and world == TableWorld.from_json(world.to_json())
    assert fastrm.solve(problem).expected_length() == pytest.approx(3 / 0.8)


def test_labels_belong_to_cells_to_actions_or_to_outcomes():
    for labels, shortest, length in (
        ({3: "gold"}, 2, 2 / 0.8),
        ({(2, 0): "gold"}, 3, 1 / 0.8 + 1 / 0.8 + 1),
        ({(2, 0, 0): "gold"}, 3, 3 / 0.8),
        ({(2, 0, 1): "gold"}, 3, None),
    ):
        problem = fastrm.compile(ice(labels=labels), GOLD)
        assert problem.shortest == (shortest,)
        if length is not None:
            assert fastrm.solve(problem, gamma=0.999).expected_length() == pytest.approx(length)
    episode = problem.episode(start=2)
    episode.step(1)  # action 0, outcome 1: it stays
    assert (episode.s, episode.labels, episode.success) == (2, ("gold",), True)


def test_a_world_by_chance_is_saved_with_its_runs_and_read_back(tmp_path):
    world = ice(names=["on", "back"], features={"fuel": [4, 3, 2, 1, 0]})
    world.save(tmp_path / "ice.json")
    again = TableWorld.load(tmp_path / "ice.json")
    assert again == world and again.probability.tobytes() == world.probability.tobytes()
    assert world != ice(probability=[[[0.5, 0.5]] * 2] * 5, names=["on", "back"], features={"fuel": [4, 3, 2, 1, 0]})
    run = fastrm.train(fastrm.compile(again, GOLD), "crm", steps=20_000)
    run.save(tmp_path / "run.npz")
    loaded = fastrm.load_run(tmp_path / "run.npz")
    assert loaded.problem.terrain.world == world and loaded.evaluate(300, seed=1).lengths.mean() > 2
    assert loaded.evaluate(300, seed=1).lengths.tolist() == run.evaluate(300, seed=1).lengths.tolist()
    assert "probability" not in TableWorld([[0, 1], [1, 0]], {1: "a"}).to_json()


def test_experiments_on_worlds_by_chance_are_stored_and_replayed(tmp_path):
    ice().save(tmp_path / "ice.json")
    (tmp_path / "gold.rm").write_text(TEXT)
    experiment = fastrm.Experiment(
        name="ice", map_files=(str(tmp_path / "ice.json"),), machine_files=(str(tmp_path / "gold.rm"),),
        methods=("crm", "hrm"), seeds=2, steps=4000, learner=fastrm.LearnerConfig(tick=1000),
    )  # fmt: skip
    results = fastrm.run(experiment, tmp_path / "ice.h5")
    assert (results["error"] == "").all() and (results["ceiling"] >= 0.95 * results["optimal_arps"]).all()
    unit = fastrm.optimal_arps(fastrm.compile(ice(), GOLD))[0]
    assert np.allclose(results["optimal_arps"], unit) and 0 < unit < 0.5
    replayed = results.replay(1)
    assert np.array_equal(replayed.score, results["score"][1], equal_nan=True)
    TableWorld([[(s + 1) % 5, (s - 1) % 5] for s in range(5)], {3: "gold"}).save(tmp_path / "ring.json")
    ring = fastrm.Experiment(
        name="ring", map_files=(str(tmp_path / "ring.json"),), machine_files=(str(tmp_path / "gold.rm"),),
        methods=("crm",), seeds=1, steps=1000, learner=fastrm.LearnerConfig(tick=1000),
    )  # fmt: skip
    assert fastrm.experiments.Plan.of(ring).run_id(0) == "6b8333a8d7129095", "from before worlds by chance"


def test_environments_draw_outcomes_as_often_as_said():
    problem = fastrm.compile(ice(), GOLD)
    env = RewardMachineEnv(problem)
    (here, _), _ = env.reset(seed=3)
    stays = 0
    for _ in range(3000):
        (there, _), reward, ends, _, info = env.step(0)
        stays, here = stays + (there == here), there
        if ends:
            assert reward == 1 and info["labels"] == ("gold",)
            (here, _), _ = env.reset()
    assert abs(stays / 3000 - 0.2) < 0.03
    many = RewardMachineVectorEnv(2000, problem)
    first, _ = many.reset(seed=1)
    second, *_ = many.step(np.zeros(2000, dtype=int))
    assert (first[:, 0] == 0).all() and abs((second[:, 0] == 0).mean() - 0.2) < 0.03


def test_a_slippery_lake_is_drawn_played_checked_and_not_explained(tmp_path, capsys):
    lake = TableWorld.from_gymnasium(
        FrozenLakeEnv(), lambda s, a, there, r, over: "gold" if r else "hole" if over else (), names=list("wsen")
    )
    assert lake.layout.render() == "XXXXXX\nXA   X\nX h hX\nX   hX\nXh  gX\nXXXXXX\n"
    machine = fastrm.RewardMachine.parse(
        "start u\nsuccess done\nfailure lost\nu -> done when gold reward 1\nu -> lost when hole\nu -> u otherwise"
    )
    problem = fastrm.compile(lake, machine)
    run = fastrm.train(problem, steps=100_000, gamma=0.99)
    assert draw_learning(problem, run) and run._repr_html_() and problem._repr_html_()
    path = [(1, 1), (1, 2), (1, 1), (1, 1)]
    assert [moment.cell for moment in retrace(problem, path)] == path
    with pytest.raises(ConfigError, match="no move leads from"):
        list(retrace(problem, [(1, 1), (4, 4)]))
    with pytest.raises(ConfigError, match="the page shows maps"):
        fastrm.pages.explain_page(problem, run)
    said, keys = [], iter("111q")
    play(problem, lambda: next(keys), said.append)
    assert any("step 1" in line for line in said)
    lake.save(tmp_path / "lake.json")
    (tmp_path / "goal.rm").write_text(machine.write())
    names = [str(tmp_path / "lake.json"), str(tmp_path / "goal.rm")]
    assert main(["check", *names, "--gamma", "0.99"]) == 0
    assert "moves have several outcomes by chance, so no path is certain" in capsys.readouterr().out
    assert main(["check", *names, "--fail"]) == 2 and "left to chance; leave out --fail" in capsys.readouterr().err
