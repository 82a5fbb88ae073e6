"""Learners of Stable-Baselines3 on machines, where it is installed; `.ci/deep` installs it."""

import re
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import fastrm
from fastrm import ConfigError, GridMap
from fastrm.env import RewardMachineEnv, wrap

pytest.importorskip("stable_baselines3", reason="needs Stable-Baselines3; see .ci/deep")

from stable_baselines3 import DQN, SAC
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from fastrm.env.sb3 import CounterfactualReplayBuffer

GRID = GridMap.generate("2a2b", size=7, seed=1)
SMALL = {"replay_buffer_class": CounterfactualReplayBuffer, "seed": 0, "device": "cpu", "buffer_size": 5_000}


def on_map(kind="boolean", limit=60):
    problem = fastrm.compile(GRID, fastrm.task("a-b", kind=kind))
    return RewardMachineEnv(problem, observation="numbers", counterfactuals=True, episode_limit=limit)


class Line(gymnasium.Env):
    """A point on a line, moved by a force; a lies on the right and b on the left."""

    observation_space, action_space = spaces.Box(-1, 1, (1,), np.float32), spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = np.zeros(1, np.float32)
        return self.x.copy(), {}

    def step(self, action):
        self.x = np.clip(self.x + 0.2 * np.asarray(action, np.float32), -1, 1).astype(np.float32)
        return self.x.copy(), 0.0, False, False, {}


def labels(here, action, there):
    return "a" if there[0] > 0.9 else "b" if there[0] < -0.9 else None


def on_line(limit=40):
    env = wrap(Line(), fastrm.task("a-b", kind="numeric-boolean", terminal_reward=5.0), labels, {"d": distance})
    return gymnasium.wrappers.TimeLimit(env, limit)


def distance(here, action, there, name):
    return float(abs(there[0] - {"a": 1, "b": -1}[name]))


def walk(model, env):
    """Return the steps of the greedy policy, None if it does not succeed."""
    seen, _ = env.reset(seed=0)
    over, steps = False, 0
    while not over:
        action, _ = model.predict(seen, deterministic=True)
        seen, _, terminated, truncated, info = env.step(action if np.ndim(action) else int(action))
        over, steps = terminated or truncated, steps + 1
    return steps if info["success"] else None


def test_sb3_s_own_checks_pass():
    check_env(on_map(), warn=True)
    check_env(on_line(), warn=True)


def test_samples_are_the_machine_s_own_sweep():
    """Two environments, truncation, and the observations that an episode ended with."""
    n_u = 2
    envs = DummyVecEnv([lambda: on_map("numeric", limit=25)] * 2)
    single = RewardMachineEnv(on_map("numeric").problem, observation="numbers")
    buffer = CounterfactualReplayBuffer(400, envs.observation_space, envs.action_space, n_envs=2)
    problem, random, moves = single.problem, np.random.default_rng(0), {}
    seen = {
        cell: single.reset(options={"start": cell})[0][:-n_u] for cell in map(tuple, problem.terrain.cells.tolist())
    }
    for cell, here in seen.items():
        for action in range(4):
            taken = [problem.step(problem.number_of(cell), u, action) for u in range(n_u)]
            moves[(*here.tolist(), action)] = seen[tuple(problem.terrain.cells[taken[0].s].tolist())], taken
    here, cut = envs.reset(), 0
    for _ in range(400):
        actions = random.integers(4, size=2)
        there, reward, done, infos = envs.step(actions)
        real = there.copy()
        for k in np.flatnonzero(done):
            real[k] = infos[k]["terminal_observation"]
            cut += infos[k]["TimeLimit.truncated"]
        buffer.add(here, real, actions, reward, done, infos)
        here = there
    assert cut > 5
    for _ in range(40):
        batch = buffer.sample(256)
        for before, action, after, ended, paid in zip(
            *(batch[k].numpy() for k in range(5)), strict=True
        ):  # fmt: skip
            there, taken = moves[(*before[:-n_u].tolist(), int(action[0]))]
            step = taken[int(before[-n_u:].argmax())]
            assert np.array_equal(after[:-n_u], there) and (after[-n_u:] == (np.arange(n_u) == step.u)).all()
            assert paid[0] == np.float32(step.reward) and ended[0] == float(not step.is_live)


def test_dqn_learns_a_map_and_is_saved_and_loaded(tmp_path):
    env = on_map()
    model = DQN(
        "MlpPolicy", env, learning_starts=500, train_freq=4, gamma=0.9, learning_rate=1e-3, target_update_interval=250,
        exploration_fraction=0.4, **SMALL,
    )  # fmt: skip
    model.learn(6_000)
    assert walk(model, env) == env.problem.shortest[0]
    model.save(tmp_path / "model")
    model.save_replay_buffer(tmp_path / "buffer")
    loaded = DQN.load(tmp_path / "model", env=env)
    loaded.load_replay_buffer(tmp_path / "buffer")
    assert walk(loaded, env) == env.problem.shortest[0]
    loaded.learn(100, reset_num_timesteps=False)


def test_sac_learns_a_line():
    model = SAC(
        "MlpPolicy", on_line(), learning_starts=300, train_freq=2, gamma=0.95, learning_rate=3e-3, ent_coef=0.02,
        policy_kwargs={"net_arch": [32, 32]}, **SMALL,
    )  # fmt: skip
    model.learn(2_000)
    assert 15 <= walk(model, on_line()) <= 22  # five steps of at most 0.2 to the right, then ten to the left


def test_the_examples_of_the_page_run(tmp_path, monkeypatch):
    page = Path(__file__).parents[2] / "docs" / "howto" / "deep-learners.md"
    blocks, names = re.findall(r"<!-- not run: .*?-->\n```python\n(.*?)```", page.read_text(), re.DOTALL), {}
    monkeypatch.chdir(tmp_path)
    for block in blocks:
        assert "30_000" in block
        exec(compile(block.replace("30_000", "300"), str(page), "exec"), names)  # noqa: S102 - our own page
    assert len(blocks) == 2 and (tmp_path / "sac-point.zip").is_file()


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_the_same_seed_learns_the_same(share):
    found = []
    for _ in range(2):
        model = DQN("MlpPolicy", on_map(), learning_starts=50, replay_buffer_kwargs={"share": share}, **SMALL)
        model.learn(400)
        found.append([p.detach().numpy().copy() for p in model.q_net.parameters()])
    assert all(np.array_equal(one, other) for one, other in zip(*found, strict=True))


def learn(env, **settings):
    DQN("MlpPolicy", env, learning_starts=5, **{**SMALL, **settings}).learn(50)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: learn(RewardMachineEnv(on_map().problem, observation="numbers")), "info has no counterfactuals"),
        (lambda: learn(RewardMachineEnv(on_map().problem, counterfactuals=True)), "observations MultiDiscrete.*: must"),
        (lambda: learn(VecNormalize(DummyVecEnv([on_map]))), "VecNormalize: rewards of other machine states"),
        (lambda: learn(on_map(), optimize_memory_usage=True), "optimize_memory_usage: observations of the next place"),
        (lambda: learn(on_map(), replay_buffer_kwargs={"share": 3}), "share=3: must be"),
        (
            lambda: SAC("MultiInputPolicy", wrap(Line(), fastrm.task("a"), labels, observe="dict"), **SMALL),
            r"observations Dict.*must be a Box of one dimension",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_one_line(call, message):
    with pytest.raises((ConfigError, AssertionError), match=message):
        call()
