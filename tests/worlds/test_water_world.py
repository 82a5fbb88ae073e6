"""Water world: kernels and oracle move alike to the last bit, and what is no world is refused in a line."""

import json
import os

import numpy as np
import pytest

import fastrm
from fastrm import FastrmError, RewardMachine, WaterWorld

import naive_water
from machine_specs import machine_text
from water_specs import ORDERLY, READING, random_actions, spec_of

WORLDS = range(50 if os.environ.get("FASTRM_FULL") else 3)
WATCH = {
    "states": ["u0"], "start": "u0", "success": ["done"], "failure": [], "score": "task",
    "edges": [
        ("u0", ("<", ("d", "a"), ("num", -1)), "done", ("num", 1)),
        ("u0", "otherwise", "u0", ("neg", ("d", "a"))),
    ],
}  # fmt: skip
"""A machine that never ends, so that whole episodes can be compared."""


def oracle_walk(world, spec, actions, profile):
    """Follow actions in the oracle; return states, labels and rewards, and how it ended."""
    pool = naive_water.Pool(spec_of(world), profile, world.velocity)
    u, rows, labels, rewards = spec["start"], [(*pool.position, *pool.speed)], [], []
    for action in actions:
        label, before, after = pool.step(action)
        u, reward, outcome = naive_water.machine_step(spec, u, (label, before, after), profile == "icarte2022")
        rows.append((*pool.position, *pool.speed))
        labels.append("".join(sorted(label)))
        rewards.append(reward)
        if outcome:
            return rows, labels, rewards, outcome
    return rows, labels, rewards, None


def same(world, spec, actions, profile):
    problem = fastrm.compile(world, RewardMachine.parse(machine_text(spec)), profile=profile)
    walk = problem.walk(actions)
    rows, labels, rewards, outcome = oracle_walk(world, spec, actions.tolist(), profile)
    x, y = problem.physics.x[walk.states[:, 0]], problem.physics.y[walk.states[:, 1]]
    assert np.array_equal(np.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], axis=1), np.array(rows))
    assert list(walk.labels) == labels
    assert walk.rewards.tobytes() == np.array(rewards).tobytes()
    assert {0: None, 1: "success", 2: "failure"}[walk.outcome] == outcome
    return walk


@pytest.mark.parametrize("profile", ["clean", "icarte2022"])
def test_positions_velocities_labels_and_rewards_equal_the_oracle(profile):
    shown = set()
    for seed in WORLDS:
        velocity = (30.0 * (seed % 7 - 3), 30.0 * (seed * 3 % 7 - 3))
        world, actions = WaterWorld.generate(seed, velocity), random_actions(seed)
        shown |= set(same(world, WATCH, actions, profile).labels)
        for spec in (ORDERLY, READING):
            same(world, spec, actions, profile)
    assert {"", "a", "f"} < shown


def test_the_reference_worlds_move_alike(reference):
    for name in ("M0", "M1", "M2", "M3", "M4"):
        world = WaterWorld.load(reference / "water" / "worlds.json", name)
        for profile in ("clean", "icarte2022"):
            same(world, WATCH, random_actions(int(name[1:])), profile)


def test_a_world_is_written_and_read_again(tmp_path):
    world = WaterWorld.generate(5)
    world.save(tmp_path / "w.json")
    assert WaterWorld.load(tmp_path / "w.json") == world == WaterWorld.load(tmp_path / "w.json", "seed5")
    assert WaterWorld.names(tmp_path / "w.json") == ("seed5",)
    assert WaterWorld.load(tmp_path / "w.json", velocity=(0, -30)).velocity == (0.0, -30.0)


def changed(change):
    table = json.loads(WaterWorld.generate(1).to_json())
    change(table["seed1"])
    return json.dumps(table)


BAD_WORLDS = [
    (lambda w: w.update(radius=200), "the borders overlap"),
    (lambda w: w.update(radius=-15), "radius -15.0: must be a number above 0"),
    (lambda w: w["balls"][3].update(colour="q"), "ball 3: unknown colour 'q'"),
    (lambda w: w["balls"][3].update(position=[10, float("nan")]), "NaN is not a number"),
    (lambda w: w["balls"][3].update(position=[10, 500]), "ball 3: position (10.0, 500.0): both must be from 0 to 400"),
    (lambda w: w["balls"][3].update(velocity=[10]), "ball 3: velocity [10]: must be two finite numbers"),
    (lambda w: w.update(agent="here"), "the agent: position 'here': must be two finite numbers"),
    (lambda w: w.update(balls=[]), "must have 1 to 16 balls"),
    (lambda w: w.pop("agent"), "needs the keys agent and balls"),
    (lambda w: w["balls"][0].pop("colour"), "ball 0: needs the keys"),
    (lambda w: w.update(raduis=3), "unknown key 'raduis' (did you mean radius?)"),
]


@pytest.mark.parametrize("change, message", BAD_WORLDS)
def test_what_is_no_world_is_refused_in_one_line(change, message):
    with pytest.raises(FastrmError) as caught:
        WaterWorld.parse(changed(change), source="w.json")
    assert message in str(caught.value) and str(caught.value).startswith("w.json") and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: WaterWorld.parse("{", source="w.json"), "w.json: not JSON"),
        (lambda: WaterWorld.parse(WaterWorld.generate(1).to_json(), "M9"), "no world 'M9'; it has seed1"),
        (lambda: WaterWorld.parse(WaterWorld.generate(1).to_json(), ["a"]), "no world ['a']; it has seed1"),
        (lambda: WaterWorld.generate(1, velocity=(10, 0)), "velocity (10.0, 0.0): both parts must be one of -90"),
        (lambda: WaterWorld.generate(-1), "seed=-1: must be a whole number"),
        (lambda: WaterWorld.load("no.json"), "no.json: cannot be read"),
    ],
)
def test_what_cannot_be_a_world_says_why(make, message):
    with pytest.raises(FastrmError) as caught:
        make()
    assert message in str(caught.value) and "\n" not in str(caught.value)
