"""The point mass as an environment: forces are rounded onto the lattice, so that no episode can beat its optimum."""

from itertools import pairwise

import gymnasium
import naive_point
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import fastrm
from fastrm import ConfigError, GridMap, PointMass
from fastrm.env import RewardMachineEnv, RewardMachineVectorEnv

WORLD = PointMass.generate(3, "1a1b", 21, 2)
SPEC = {"side": 21, "fastest": 3, "walls": WORLD.walls}


@pytest.fixture(scope="module")
def problem():
    return fastrm.compile(WORLD, fastrm.task("a-b", kind="numeric"))


def test_it_is_an_environment_as_gymnasium_has_them(problem):
    for settings in ({}, {"forces": False}, {"observation": "states"}, {"render_mode": "rgb_array"}):
        check_env(gymnasium.make("fastrm/PointMass-v0", problem=problem, **settings).unwrapped)


def test_forces_are_rounded_and_episodes_are_those_of_the_lattice(problem):
    env, random = gymnasium.make("fastrm/PointMass-v0", problem=problem, episode_limit=300), np.random.default_rng(0)
    shortest, lengths = problem.shortest[0], []
    for seed in range(40):
        observation, info = env.reset(seed=seed)
        cell, steps, over = info["cell"], 0, False
        while not over:
            force = random.uniform(-1, 1, 2).astype(np.float32)
            rounded = [(-1, 0, 1)[int(f > -0.5) + int(f >= 0.5)] for f in force.tolist()]
            cell = naive_point.push(SPEC, cell, naive_point.FORCES.index(tuple(rounded)))
            observation, _, terminated, truncated, info = env.step(force)
            assert info["cell"] == cell
            assert np.allclose(observation[:4], [cell[0] / 10 - 1, cell[1] / 10 - 1, cell[2] / 3, cell[3] / 3])
            steps, over = steps + 1, terminated or truncated
        if terminated:
            assert info["success"] and steps >= shortest and not observation[4:].any()
            lengths.append(steps)
    assert len(lengths) > 5


def test_halves_are_rounded_away_from_0(problem):
    push = RewardMachineEnv(problem, forces=True)._agents.push
    number = {force: action for action, force in enumerate(naive_point.FORCES)}
    cases = ((0.5, -0.5), (1, -1)), ((0.499, -0.499), (0, 0)), ((-1, 1), (-1, 1)), ((0.0, -0.7), (0, -1))
    for force, rounded in cases:
        assert push([force]) == [number[rounded]]


def test_an_optimal_path_takes_as_many_steps_as_the_lattice_says(problem):
    env, best = RewardMachineEnv(problem, forces=True), fastrm.solve(problem)
    env.reset(seed=0)
    for cell, there in pairwise(best.path):
        action = next(a for a in range(9) if naive_point.push(SPEC, cell, a) == there)
        *_, terminated, _, info = env.step(np.array(naive_point.FORCES[action], dtype=np.float32))
    assert terminated and info["success"] and len(best.path) - 1 == problem.shortest[0]


@pytest.mark.parametrize("forces", [True, False])
def test_many_points_move_like_one(problem, forces):
    many = gymnasium.make_vec(
        "fastrm/PointMass-v0", num_envs=4, vectorization_mode="vector_entry_point", problem=problem, forces=forces,
        observation="numbers", episode_limit=40,
    )  # fmt: skip
    ones = [RewardMachineEnv(problem, forces=forces, episode_limit=40) for _ in range(4)]
    many.reset(seed=0)
    for one in ones:
        one.reset(seed=0)
    many.action_space.seed(1)
    for _ in range(40):
        actions = many.action_space.sample()
        seen, paid, ends, cuts, _ = many.step(actions)
        single = [one.step(action) for one, action in zip(ones, actions, strict=True)]
        assert np.array_equal(seen, [s[0] for s in single]) and np.array_equal(paid, [s[1] for s in single])
        assert np.array_equal(ends, [s[2] for s in single]) and np.array_equal(cuts, [s[3] for s in single])
        if ends.any():
            break
    assert many.single_observation_space.contains(seen[0])


def test_a_move_says_what_it_means_in_every_machine_state(problem):
    env = gymnasium.make("fastrm/PointMass-v0", problem=problem, counterfactuals=True).unwrapped
    observation, _ = env.reset(seed=0)
    *_, info = env.step(np.array([1, 0], dtype=np.float32))
    cell, found = info["cell"], info["counterfactuals"]
    spec = {**SPEC, "discs": WORLD.discs}
    assert found["reward"].tolist() == [-naive_point.distance(spec, cell, name) for name in "ab"]
    assert env.in_state(observation, 1)[4:].tolist() == [0, 1]


def test_the_box_is_shown_as_text_and_as_an_image(problem):
    for mode in ("ansi", "rgb_array"):
        env = gymnasium.make("fastrm/PointMass-v0", problem=problem, render_mode=mode)
        env.reset(seed=0)
        before = env.render()
        for _ in range(3):
            env.step(np.array([1, 1], dtype=np.float32))
        after = env.render()
        if mode == "ansi":
            assert before != after and before.count("@") == after.count("@") == 1 and {"a", "b", "X"} <= set(before)
        else:
            assert before.shape == after.shape == (399, 399, 3) and (before != after).any()
            y, x = np.argwhere((after == 0).all(axis=2)).mean(axis=0)
            assert abs(x / 19 - 16.5) < 0.6 and abs(y / 19 - 4.5) < 0.6  # from 10, 10 to 16, 16; y grows upwards


def test_names_and_defaults():
    env = gymnasium.make("fastrm/PointMass-v0", grid="point 1a side 11", map_seed=4, machine="a").unwrapped
    assert env.problem.world == PointMass.generate(4, "1a", 11) and env.action_space.shape == (2,)
    assert RewardMachineEnv(grid="point 1a side 11", machine="a").action_space.n == 9


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda env: env.step(4), "action [4]: must be two forces from -1 to 1 for every point"),
        (lambda env: env.step([0.0, float("nan")]), "action [[0.0, nan]]: must be two forces from -1 to 1"),
        (lambda env: env.step([0.0, 1.01]), "must be two forces from -1 to 1 for every point"),
        (lambda env: env.step("up"), "must be two forces from -1 to 1 for every point"),
        (lambda env: RewardMachineEnv(env.problem, forces=1), "forces=1: must be True or False"),
        (
            lambda env: RewardMachineEnv(grid=GridMap.generate("1a", 9), machine="a", forces=True),
            "forces=True: is for a point mass, and <1a size 9 seed 0> is none; leave it out",
        ),
        (
            lambda env: RewardMachineVectorEnv(3, env.problem, forces=True).step(np.zeros((2, 2))),
            "must be two forces from -1 to 1 for every point",
        ),
        (lambda env: env.reset(options={"start": (1, 99)}), "start=(1, 99): no cell that the point can be in; give x"),
    ],
)
def test_what_it_cannot_do_is_refused_in_one_line(problem, build, message):
    env = RewardMachineEnv(problem, forces=True)
    env.reset(seed=0)
    with pytest.raises(ConfigError) as caught:
        build(env)
    assert message in str(caught.value) and "\n" not in str(caught.value)
