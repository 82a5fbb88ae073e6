"""Gymnasium environments: Gymnasium's own checks, the oracle's steps, and many environments as one."""

import copy
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import SyncVectorEnv

from fastrm import ConfigError, GridMap, RewardMachine, TableWorld, compile, task
from fastrm.env import RewardMachineEnv, RewardMachineVectorEnv

import naive
from machine_specs import sequence_spec

SMALL = {"grid": "2a1b", "size": 7, "machine": "a-b"}


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("fastrm/Craft-v0", {}), ("fastrm/Craft-v0", {**SMALL, "kind": "numeric", "render_mode": "ansi"}),
        ("fastrm/Craft-v0", {**SMALL, "counterfactuals": True, "render_mode": "rgb_array"}), ("fastrm/Office-v0", {}),
    ],
)  # fmt: skip
def test_gymnasium_s_own_checks_pass_without_a_warning(name, settings):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(name, **settings).unwrapped)


@pytest.mark.parametrize("kind", ["boolean", "numeric-boolean", "numeric"])
def test_steps_are_the_oracle_s(kind):
    text = GridMap.generate("2a1b", size=7, seed=3).render()
    problem = compile(GridMap.parse(text), RewardMachine.sequence("a-b", kind=kind, terminal_reward=5.0))
    env = RewardMachineEnv(problem, episode_limit=60)
    world = naive.World(text)
    machine = naive.Machine(0, sequence_spec("a-b", kind), world, naive.CLEAN, 0.9)
    random, ended = np.random.default_rng(0), 0
    for _ in range(20):
        env.reset(seed=0)
        cell, state, over = world.start, machine.start, False
        while not over:
            action = int(random.integers(4))
            observation, reward, terminated, truncated, info = env.step(action)
            before, cell = cell, world.move(cell, action)
            state, expected, outcome = machine.step(state, before, cell)
            assert info["cell"] == cell == tuple(problem.terrain.cells[observation[0]].tolist())
            assert info["labels"] == ((world.tile[cell],) if world.tile[cell] in "ab" else ())
            assert (reward, terminated, info["success"]) == (expected, outcome is not None, outcome == "success")
            assert info["rm_state"] == ("(terminal)" if outcome else state[1])
            over, ended = terminated or truncated, ended + terminated
    assert ended > 3


def test_terminated_and_truncated_are_told_apart():
    env = RewardMachineEnv(grid=GridMap.parse("XXXXX\nXA aX\nXXXXX"), machine="a", episode_limit=2)
    env.reset()
    assert env.step(3)[2:4] == (False, False) and env.step(3)[2:4] == (False, True)
    env.reset()
    assert env.step(1)[2:4] == (False, False) and env.step(1)[2:4] == (True, True)
    with pytest.raises(ConfigError, match="no episode is on"):
        env.step(0)
    env.reset()
    env.step(3), env.step(3)
    with pytest.raises(ConfigError, match="no episode is on"):
        env.step(0)


def test_a_seed_repeats_the_rotation_of_tasks():
    tasks = [RewardMachine.sequence("a"), RewardMachine.sequence("b")]
    env = RewardMachineEnv(grid="1a1b", size=7, machine=tasks)
    assert [env.reset(seed=s)[1]["task"] for s in (0, None, None, 0)] == [0, 1, 0, 0]
    check_env(gymnasium.make("fastrm/Craft-v0", grid="1a1b", size=7, machine=tasks).unwrapped)
    many = RewardMachineVectorEnv(2, grid="1a1b", size=7, machine=tasks)
    assert [many.reset(seed=s)[0][0, 1] for s in (0, None, 0)] == [0, 1, 0]


def test_walls_between_cells_are_shown():
    env = gymnasium.make("fastrm/Office-v0", render_mode="ansi")
    env.reset()
    assert env.render().count("|") > 30 and "@" in env.render()
    picture = gymnasium.make("fastrm/Office-v0", render_mode="rgb_array")
    picture.reset()
    image = picture.render()
    assert (image[5 * 12 - 1, 2 * 12 + 3] == 110).all() or (image == 110).all(axis=2).sum() > 48 * 12 * 12


def test_environments_can_be_copied():
    env = RewardMachineEnv(**SMALL)
    env.reset()
    twin = copy.deepcopy(env)
    assert np.array_equal(twin.step(1)[0], env.step(1)[0])


def test_a_failure_ends_the_episode_without_success():
    machine = RewardMachine.parse(
        "start u\nsuccess e\nfailure f\nu -> e when a reward 1\nu -> f when n reward -1\nu -> u otherwise"
    )
    env = RewardMachineEnv(grid=GridMap.parse("XXXXX\nXnAaX\nXXXXX"), machine=machine)
    for action, reward, success in ((3, -1.0, False), (1, 1.0, True)):
        env.reset()
        _, paid, terminated, _, info = env.step(action)
        assert (paid, terminated, info["success"]) == (reward, True, success)


def test_counterfactuals_say_what_a_move_means_in_every_state():
    grid = GridMap.parse("XXXXX\nXAabX\nXXXXX")
    env = RewardMachineEnv(grid=grid, machine="a-b", kind="numeric-boolean", counterfactuals=True)
    env.reset()
    seen = env.step(1)[4]["counterfactuals"]
    assert seen["next_state"].tolist() == [1, 1] and seen["reward"].tolist() == [0.1, 0.1]
    seen = env.step(1)[4]["counterfactuals"]
    assert seen["terminated"].tolist() == [False, True] and seen["reward"].tolist() == [0.0, 1000.0]


def test_numbers_are_row_column_and_distances_from_minus_1_to_1_and_the_machine_state():
    grid = GridMap.parse("XXXXX\nXA bX\nX  aX\nXXXXX")
    env = RewardMachineEnv(grid=grid, machine="a-b", observation="numbers")
    many = RewardMachineVectorEnv(2, grid=grid, machine="a-b", observation="numbers")
    assert env.reset(seed=0)[0].tolist() == pytest.approx([-1, -1, 1, 1 / 3, 1, 0])
    assert np.array_equal(many.reset(seed=0)[0], [env.reset()[0]] * 2)
    for action, seen in (
        (1, [-1, 0, 1 / 3, -1 / 3, 1, 0]),
        (2, [1, 0, -1 / 3, 1 / 3, 1, 0]),
        (1, [1, 1, -1, -1 / 3, 0, 1]),
    ):
        assert np.allclose(env.step(action)[0], seen) and np.allclose(many.step(np.full(2, action))[0], [seen] * 2)
    env.step(0)
    assert env.in_state(np.zeros(6, np.float32), 0).tolist() == [0, 0, 0, 0, 1, 0]
    table = TableWorld([[1, 0], [0, 1]], labels={1: ["x1y"]}, start=0)
    machine = RewardMachine.parse("start u\nsuccess e\nu -> e when x1y reward 1\nu -> u otherwise")
    env = RewardMachineEnv(grid=table, machine=machine, observation="numbers")
    check_env(env, skip_render_check=True)
    assert env.reset()[0].tolist() == [-1, 1, 1] and env.step(0)[0].tolist() == [1, -1, 0]


@pytest.mark.parametrize("kind", ["boolean", "numeric", "local-potential"])
def test_counterfactuals_of_many_environments_are_those_of_single_ones(kind):
    tasks = [RewardMachine.sequence(task, kind=kind) for task in ("a-b", "b")]
    problem = compile(GridMap.generate("2a2b", size=7, seed=1), tasks)
    one = SyncVectorEnv([lambda: RewardMachineEnv(problem, episode_limit=20, counterfactuals=True)] * 4)
    ours, random = RewardMachineVectorEnv(4, problem, episode_limit=20, counterfactuals=True), np.random.default_rng(2)
    one.reset(seed=0), ours.reset(seed=0)
    begun = 0
    for _ in range(100):
        actions = random.integers(0, 4, 4)
        theirs, mine = one.step(actions)[4], ours.step(actions)[4]
        made = theirs.get("_counterfactuals", np.zeros(4, dtype=bool))
        begun += int((~made).sum())
        assert np.array_equal(mine["_counterfactuals"], made)
        for name, column in mine["counterfactuals"].items():
            assert made.sum() == 0 or np.array_equal(column[made], theirs["counterfactuals"][name][made])
    assert begun > 10


def test_an_observation_in_another_machine_state_has_its_number():
    env = RewardMachineEnv(**SMALL)
    seen, _ = env.reset(seed=0)
    assert env.in_state(seen, 1).tolist() == [seen[0], 1] and env.in_state(seen, 2).tolist() == [seen[0], 2]
    with pytest.raises(ConfigError, match=r"state=3: must be a whole number from 0 to 2"):
        env.in_state(seen, 3)


def test_a_world_with_more_labels_than_bits_moves_one_agent_only():
    names = [f"l{k:02}" for k in range(65)]
    world = TableWorld([[1, 0], [0, 1]], labels={1: names}, start=0)
    machine = RewardMachine.parse("start u\nsuccess e\nu -> e when l64 reward 1\nu -> u otherwise")
    env = RewardMachineEnv(grid=world, machine=machine)
    assert env.reset()[1]["labels"] == () and env.step(0)[4]["labels"] == tuple(names)
    with pytest.raises(ConfigError, match="tells 64 labels, and this world has 65"):
        RewardMachineVectorEnv(2, grid=world, machine=machine)


def test_an_agenda_is_refused_in_one_line():
    agenda = compile(GridMap.generate("1a1b1c1d1e1f1g1h1i1j1k", size=15), task("{a,b,c,d,e,f,g,h,i,j,k}"))
    for make in (RewardMachineEnv, lambda problem: RewardMachineVectorEnv(2, problem)):
        with pytest.raises(ConfigError, match=r"^this problem is an agenda of 11 stages .* not listed"):
            make(agenda)


@pytest.mark.parametrize("machines", [1, 2])
def test_many_environments_give_the_transitions_of_so_many_single_ones(machines):
    tasks = [RewardMachine.sequence(task, kind="numeric-boolean") for task in ("a-b", "b")][:machines]
    problem = compile(GridMap.generate("2a2b", size=7, seed=1), tasks)
    single = SyncVectorEnv([lambda: RewardMachineEnv(problem, episode_limit=20)] * 16)
    ours = RewardMachineVectorEnv(16, problem, episode_limit=20)
    random = np.random.default_rng(2)
    assert np.array_equal(single.reset(seed=0)[0], ours.reset(seed=0)[0])
    ended = 0
    for _ in range(400):
        actions = random.integers(0, 4, 16)
        theirs, mine = single.step(actions), ours.step(actions)
        for one, other in zip(theirs[:4], mine[:4], strict=True):
            assert np.array_equal(one, other)
        ended += int(mine[2].sum() + mine[3].sum())
        names = ["(terminal)" if u == problem.tables.n_u else problem.states[u][1] for u in mine[4]["rm_state"]]
        assert names == theirs[4]["rm_state"].tolist()
        labels = [(chr(code),) if code else () for code in mine[4]["labels"]]
        assert labels == [tuple(labels) for labels in theirs[4]["labels"]]
    assert ended > 100


def test_vector_environments_are_made_by_name():
    envs = gymnasium.make_vec("fastrm/Craft-v0", num_envs=8, vectorization_mode="vector_entry_point", **SMALL)
    envs.reset(seed=1)
    observations, reward, terminated, truncated, info = envs.step(np.zeros(8, dtype=np.int64))
    assert observations.shape == (8, 2) and envs.observation_space.contains(observations)
    assert reward.shape == terminated.shape == truncated.shape == info["rm_state"].shape == (8,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RewardMachineEnv(**SMALL, episode_limit=0), "episode_limit=0"),
        (lambda: RewardMachineEnv(**SMALL, render_mode="human"), "render_mode='human'"),
        (lambda: RewardMachineEnv(**SMALL).step(7), "action 7: must be"),
        (lambda: RewardMachineVectorEnv(0, **SMALL), "num_envs=0"),
        (lambda: RewardMachineVectorEnv(3, **SMALL).step([0, 1]), "actions: must be 3 whole numbers"),
        (lambda: RewardMachineVectorEnv(1, **SMALL).step([4]), "actions: must be 1 whole numbers"),
        (lambda: RewardMachineVectorEnv(1, **SMALL).step([1.0]), "actions: must be 1 whole numbers"),
        (lambda: RewardMachineEnv(**SMALL).step(1), "no episode is on"),
        (lambda: RewardMachineEnv(**SMALL, episode_limt=3), r"episode_limt: no such setting"),
        (
            lambda: RewardMachineEnv(grid=GridMap.generate("1a"), size=9),
            "size goes with a grid given by",
        ),
        (lambda: RewardMachineEnv(machine=RewardMachine.sequence("a"), kind="numeric"), "kind goes with a machine"),
        (
            lambda: RewardMachineEnv(compile(GridMap.generate("1a"), RewardMachine.sequence("a")), size=3),
            "size: a compiled problem has its own; leave it out",
        ),
        (lambda: RewardMachineEnv(machine=5), "machine=5: must be"),
        (lambda: RewardMachineEnv(**SMALL, observation="pixels"), "observation='pixels': must be one of states"),
        (lambda: RewardMachineVectorEnv(2, **SMALL, observation=""), "observation='': must be one of states"),
        (lambda: RewardMachineEnv(**SMALL, world_seed=3), "world_seed goes without a grid; leave one of them out"),
        (lambda: RewardMachineVectorEnv(2, **SMALL).reset(options={"reset_mask": [True]}), "reset_mask: must be 2"),
    ],
)
def test_bad_settings_and_actions_are_refused(call, message):
    with pytest.raises(ConfigError, match=message):
        call()


def test_a_tabular_agent_in_ten_lines_learns():
    env = gymnasium.make("fastrm/Craft-v0", grid="1a1b", size=7, machine="a-b", episode_limit=200)
    q, random = np.full((*env.observation_space.nvec, 4), 2.0), np.random.default_rng(0)
    lengths = []
    for _ in range(300):
        (here, _), over, steps = env.reset(), False, 0
        while not over:
            action = int(random.integers(4)) if random.random() < 0.1 else int(q[tuple(here)].argmax())
            there, reward, done, cut, _ = env.step(action)
            goal = reward + 0.9 * q[tuple(there)].max() * (not done)
            q[tuple(here)][action] += 0.5 * (goal - q[tuple(here)][action])
            here, over, steps = there, done or cut, steps + 1
        lengths.append(steps)
    assert np.mean(lengths[-50:]) < 1.5 * env.unwrapped.problem.shortest[0] < np.mean(lengths[:20])
