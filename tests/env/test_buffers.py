"""Experiences told for other machine states are those of the machine itself."""

import os

import numpy as np
import pytest

import fastrm
from fastrm import ConfigError, GridMap
from fastrm.env import CounterfactualBuffer, RewardMachineEnv, RewardMachineVectorEnv

SAMPLES = 10_000 if os.environ.get("FASTRM_FULL") else 2_000
GRID = GridMap.generate("2a2b", size=7, seed=1)


def problem_of(kind="numeric"):
    return fastrm.compile(
        GRID, fastrm.task("a-b", kind=kind, **({"terminal_reward": 5.0} if kind == "numeric" else {}))
    )


def told_by(problem):
    """Return what every move means by the numbers that an agent sees and the action, from single environments."""
    env, table = RewardMachineEnv(problem, observation="numbers"), {}
    n_u = len(problem.states)
    seen = {cell: env.reset(options={"start": cell})[0] for cell in map(tuple, problem.terrain.cells.tolist())}
    for cell, here in seen.items():
        for action in range(4):
            s = problem.number_of(cell)
            taken = [problem.step(s, u, action) for u in range(n_u)]
            there = seen[tuple(problem.terrain.cells[taken[0].s].tolist())]
            table[(*here[:-n_u].tolist(), action)] = there[:-n_u], taken
    return table


@pytest.mark.parametrize("count", [None, 2])
@pytest.mark.parametrize("kind", ["boolean", "numeric", "local-potential"])
def test_samples_are_the_machine_s_own_sweep(count, kind):
    problem, random = problem_of(kind), np.random.default_rng(0)
    settings = {"observation": "numbers", "counterfactuals": True, "episode_limit": 40}
    env = RewardMachineVectorEnv(count, problem, **settings) if count else RewardMachineEnv(problem, **settings)
    buffer, table, n_u = CounterfactualBuffer(500), told_by(problem), len(problem.states)
    here, _ = env.reset(seed=0)
    moves, cut = 0, 0
    for _ in range(700):
        action = random.integers(4, size=count)
        there, _, terminated, truncated, info = env.step(action if count else int(action))
        buffer.add(here, action, there, info)
        moves += int(info["_counterfactuals"].sum()) if count else 1
        cut += int(np.sum(truncated))
        here = there
        if not count and (terminated or truncated):
            here, _ = env.reset()
    assert len(buffer) == 500 and buffer.added == moves and cut > 3
    batch, ends = buffer.sample(SAMPLES), 0
    for before, action, reward, after, ended in zip(*batch, strict=True):
        there, taken = table[(*before[:-n_u].tolist(), int(action))]
        step = taken[int(before[-n_u:].argmax())]
        assert before[-n_u:].sum() == 1 and np.array_equal(after[:-n_u], there)
        assert (after[-n_u:] == (np.arange(n_u) == step.u)).all()
        assert reward == np.float32(step.reward) and ended == (not step.is_live)
        ends += ended
    assert ends > 10 and abs(batch.observations[:, -n_u:].mean(axis=0) - 1 / n_u).max() < 0.05


def test_a_share_of_nothing_keeps_the_machine_state_that_a_move_was_made_in():
    env = RewardMachineEnv(problem_of(), observation="numbers", counterfactuals=True)
    buffer, random, made = CounterfactualBuffer(1000, share=0.0, seed=3), np.random.default_rng(0), set()
    here, _ = env.reset(seed=0)
    for _ in range(300):
        action = int(random.integers(4))
        there, reward, terminated, truncated, info = env.step(action)
        buffer.add(here, action, there, info)
        made.add((*here.tolist(), action, np.float32(reward), terminated, *there.tolist()))
        here = env.reset()[0] if terminated or truncated else there
    drawn = {(*a.tolist(), int(b), c, bool(e), *d.tolist()) for a, b, c, d, e in zip(*buffer.sample(2000), strict=True)}
    assert drawn <= made and len(drawn) > 0.9 * len(made)


def test_the_same_seed_draws_the_same_samples():
    env = RewardMachineEnv(problem_of(), observation="numbers", counterfactuals=True)
    here, _ = env.reset(seed=0)
    there, *_, info = env.step(1)
    batches = []
    for _ in range(2):
        buffer = CounterfactualBuffer(10, seed=4)
        buffer.add(here, 1, there, info)
        batches.append(buffer.sample(50))
    assert all(np.array_equal(one, other) for one, other in zip(*batches, strict=True))


def test_what_does_not_fit_is_refused_in_one_line():
    env = RewardMachineEnv(problem_of(), observation="numbers", counterfactuals=True)
    here, info = env.reset(seed=0)
    buffer = CounterfactualBuffer(10)
    with pytest.raises(ConfigError, match=r"info has no counterfactuals; make the environment with fastrm.env.wrap"):
        buffer.add(here, 1, here, info)
    with pytest.raises(ConfigError, match=r"sample: the buffer is empty; add moves first"):
        buffer.sample(3)
    *_, info = env.step(1)
    with pytest.raises(ConfigError, match=r"observation=.*: must be numbers, the last 2 of them the one-hot"):
        buffer.add(np.zeros((3, 3)), 1, np.zeros((3, 3)), info)
    buffer.add(here, 1, here, info)
    with pytest.raises(ConfigError, match=r"observation of shape \(3,\): must be as long as those before, 6"):
        buffer.add(here[:3], 1, here[:3], info)
    with pytest.raises(ConfigError, match=r"next_observation of shape \(5,\): must be \(6,\), like the observation"):
        buffer.add(here, 1, here[:5], info)
    with pytest.raises(ConfigError, match=r"action=array\(\[1, 2\]\): must be numbers of shape \(\), like"):
        buffer.add(here, np.array([1, 2]), here, info)
    with pytest.raises(ConfigError, match=r"action='left': must be numbers"):
        buffer.add(here, "left", here, info)
    with pytest.raises(ConfigError, match=r"info has no counterfactuals"):
        buffer.add(here, 1, here, None)
    assert len(buffer) == 1
    for settings in ({"capacity": 0}, {"capacity": 5, "share": 2}, {"capacity": 5, "seed": -1}):
        with pytest.raises(ConfigError, match="must be a"):
            CounterfactualBuffer(**settings)
