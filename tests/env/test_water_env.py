"""Water world as an environment: the same moves as the problem's, alone or by the thousand."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import fastrm
from fastrm import FastrmError, RewardMachine, WaterWorld
from fastrm.env import RewardMachineEnv, RewardMachineVectorEnv

from machine_specs import machine_text
from water_specs import ORDERLY, READING, random_actions


def problem_of(*specs, seed=2, profile="clean"):
    return fastrm.compile(WaterWorld.generate(seed), [RewardMachine.parse(machine_text(s)) for s in specs], profile)


def test_it_is_an_environment_as_gymnasium_has_them():
    for observation in ("numbers", "states"):
        check_env(
            gymnasium.make("fastrm/WaterWorld-v0", problem=problem_of(ORDERLY), observation=observation).unwrapped
        )


def test_environments_are_made_by_name(tmp_path):
    world = WaterWorld.generate(2)
    world.save(tmp_path / "worlds.json")
    settings = {"machine": "a-b", "kind": "numeric", "observation": "states"}
    one = gymnasium.make("fastrm/WaterWorld-v0", world=f"{tmp_path / 'worlds.json'}:seed2", **settings)
    many = gymnasium.make_vec(
        "fastrm/WaterWorld-v0", num_envs=3, vectorization_mode="vector_entry_point", world_seed=2, **settings
    )
    assert one.unwrapped.problem.world == many.problem.world == world
    one.reset(seed=0)
    many.reset(seed=0)
    (expected, paid, *_), (seen, reward, *_) = one.step(1), many.step(np.full(3, 1))
    assert many.observation_space.contains(seen) and (*seen[2], reward[2]) == (*expected, paid)


def test_a_grid_may_be_a_water_world(tmp_path):
    world = WaterWorld.generate(2)
    world.save(tmp_path / "worlds.json")
    for settings in (
        {"grid": world}, {"grid": f"{tmp_path / 'worlds.json'}:seed2"}, {"grid": "water", "map_seed": 2},
    ):  # fmt: skip
        assert RewardMachineEnv(**settings).problem.world == world
        assert gymnasium.make("fastrm/WaterWorld-v0", **settings).unwrapped.problem.world == world
    env = gymnasium.make("fastrm/WaterWorld-v0", world_seed=2, velocity=(30, 0)).unwrapped
    assert env.problem.world == WaterWorld.generate(2, (30, 0)) and env.episode_limit == 600


def test_episodes_begin_at_rest_anywhere_if_the_problem_says_so():
    for profile in ("clean", "icarte2022"):
        machine = RewardMachine.parse(machine_text(ORDERLY))
        problem = fastrm.compile(WaterWorld.generate(2), machine, profile, start="anywhere")
        env, many = RewardMachineEnv(problem), RewardMachineVectorEnv(400, problem, episode_limit=2)
        first = [env.reset(seed=s)[0] for s in (7, None, None)]
        assert np.array_equal(first, [env.reset(seed=s)[0] for s in (7, None, None)])
        assert not np.array_equal(*first[:2]) and not np.array_equal(*first[1:])
        states = [many.reset(seed=0)[0]]
        assert many.step(np.ones(400, dtype=int))[2].sum() < 40
        many.step(np.ones(400, dtype=int))
        states.append(many.step(np.zeros(400, dtype=int))[0])  # the limit is reached: another episode
        for seen in states:
            for k, axis in enumerate((problem.physics.x, problem.physics.y)):
                assert (axis[seen[:, k], 1] == 0).all() and np.ptp(axis[seen[:, k], 0]) > 300
                assert abs(axis[seen[:, k], 0].mean() - 200) < 25
        assert not np.array_equal(*states) and (states[1][:, 2] == 0).mean() > 0.8


def test_the_box_is_shown_as_text():
    env = gymnasium.make("fastrm/WaterWorld-v0", world_seed=2, render_mode="ansi")
    env.reset(seed=0)
    before = env.render()
    assert before.startswith("+--") and before.count("@") == 1 and set("abcdef") <= set(before)
    env.step(1), env.step(1)
    assert env.render() != before


@pytest.mark.parametrize("profile", ["clean", "icarte2022"])
def test_an_episode_is_that_of_the_problem(profile):
    problem, actions = problem_of(READING, profile=profile), random_actions(4)
    env, walk = RewardMachineEnv(problem, observation="states", counterfactuals=True), problem.walk(actions)
    observation, _ = env.reset(seed=1)
    for n, reward in enumerate(walk.rewards.tolist()):
        u = observation[3]
        observation, paid, terminated, _, info = env.step(int(actions[n]))
        assert observation.tolist() == [*walk.states[n + 1, :2], n + 1, walk.states[n + 1, 2]]
        assert (paid, "".join(info["labels"])) == (reward, walk.labels[n])
        other = info["counterfactuals"]
        assert (other["reward"][u], other["next_state"][u], other["terminated"][u]) == (
            paid,
            observation[3],
            terminated,
        )
    assert terminated == (walk.outcome != 0) and info["success"] == (walk.outcome == 1)


@pytest.mark.parametrize("profile", ["clean", "icarte2022"])
def test_many_environments_move_as_single_ones_do(profile):
    problem, draw = problem_of(ORDERLY, READING, profile=profile), np.random.default_rng(0)
    many = RewardMachineVectorEnv(5, problem, observation="numbers", episode_limit=30, counterfactuals=True)
    singles = [RewardMachineEnv(problem, episode_limit=30, counterfactuals=True) for _ in range(5)]
    seen, _ = many.reset(seed=3)
    assert np.array_equal(seen, [env.reset(seed=3)[0] for env in singles])
    over = np.zeros(5, dtype=bool)
    for _ in range(120):
        actions = draw.integers(0, 5, 5)
        seen, reward, ends, cut, info = many.step(actions)
        assert (info["_counterfactuals"] == ~over).all()
        for i, env in enumerate(singles):
            expected = (env.reset()[0], 0.0, False, False, {}) if over[i] else env.step(int(actions[i]))
            assert np.array_equal(seen[i], expected[0]) and (reward[i], ends[i], cut[i]) == expected[1:4]
            for name, column in expected[4].get("counterfactuals", {}).items():
                assert np.array_equal(info["counterfactuals"][name][i], column)
        over = ends | cut


def test_an_episode_is_cut_off_at_the_limit():
    env = RewardMachineEnv(problem_of(ORDERLY), episode_limit=3)
    env.reset(seed=0)
    assert [env.step(0)[2:4] for _ in range(3)] == [(False, False), (False, False), (False, True)]


def test_numbers_are_those_of_agent_and_balls():
    problem = problem_of(ORDERLY)
    env = RewardMachineEnv(problem)
    seen, info = env.reset(seed=0)
    agent, ball = np.array(problem.world.agent), problem.world.balls[3]
    assert seen.shape == (54,) and seen[-2:].tolist() == [1, 0] and info["rm_state"] == "u0"
    assert seen[:4] == pytest.approx([*agent / 400, 0, 0])
    together = 90 + max(abs(v) for b in problem.world.balls for v in b.velocity)
    assert seen[16:20] == pytest.approx([*(np.array(ball.position) - agent) / 400, *np.array(ball.velocity) / together])
    assert env.in_state(seen, 1)[-2:].tolist() == [0, 1] and env.in_state(seen, 2)[-2:].tolist() == [0, 0]
    for state in (3, -1, "u1", 0.5):
        with pytest.raises(FastrmError, match=r"state=.*: must be"):
            env.in_state(seen, state)


@pytest.mark.parametrize(
    "ask, message",
    [
        (lambda p: RewardMachineEnv("a-b"), "must be a Problem"),
        (lambda p: RewardMachineEnv(p, machine="a"), "machine: a compiled problem has its own; leave it out"),
        (lambda p: RewardMachineEnv(wrld="M3"), "wrld: no such setting (did you mean world?)"),
        (lambda p: RewardMachineEnv(world=3), "world=3: must be a WaterWorld, or a file such as worlds.json:M3"),
        (lambda p: RewardMachineEnv(world=p.world, world_seed=3), "world_seed goes with a generated world"),
        (lambda p: RewardMachineEnv(p, observation="pixels"), "observation='pixels': must be one of numbers, states"),
        (lambda p: RewardMachineEnv(p, episode_limit=601), "episode_limit=601: must be a whole number from 1 to 600"),
        (lambda p: RewardMachineEnv(p, render_mode="rgb_array"), "<water seed 2> is drawn as text; use ansi"),
        (lambda p: RewardMachineEnv(p).reset(options={"start": (1, 2)}), "start=(1, 2): is for cells of a map"),
        (lambda p: RewardMachineEnv(grid=p.world, world_seed=3), "world_seed goes without a grid"),
        (lambda p: RewardMachineEnv(grid=p.world, map_seed=3), "map_seed goes with a grid given by name or file"),
        (lambda p: RewardMachineEnv(grid=p.world, slip=0.1), "metric, slip: are for maps"),
        (lambda p: RewardMachineEnv(p).step(0), "no episode is on; call reset() first"),
        (lambda p: RewardMachineEnv(p).step(5), "action 5: must be a number of 0 (none), 1 (up)"),
        (lambda p: RewardMachineVectorEnv(2, p).reset(seed="x"), "seed='x': must be a whole number"),
        (lambda p: RewardMachineVectorEnv(2, p).reset(seed=1.5), "seed=1.5: must be a whole number"),
        (lambda p: RewardMachineVectorEnv(2, p).reset(seed=[1, "x"]), "seed='x': must be a whole number"),
        (lambda p: RewardMachineVectorEnv(2, p).step(np.array([0, 5])), "actions: must be 2 whole numbers from 0 to 4"),
    ],
)
def test_what_an_environment_cannot_do_is_refused_in_one_line(ask, message):
    with pytest.raises(FastrmError) as caught:
        ask(problem_of(ORDERLY))
    assert message in str(caught.value) and "\n" not in str(caught.value)
