"""Linear QRM and CRM on Water world equal their oracle to the bit, learn, and refuse what they cannot do."""

import json
import pickle
import re
from dataclasses import asdict, replace

import numpy as np
import pytest

import fastrm
from fastrm import ConfigError, FastrmError, LearnerConfig, RewardMachine, WaterWorld
from fastrm.learners.linear import WaterLearner
from fastrm.worlds import Ball

import naive_water
from machine_specs import machine_text, sequence_spec
from water_specs import ORDERLY, READING, spec_of

STEPS = 1300
CASES = [
    (ORDERLY, "crm", "memory", "clean", {}),
    (ORDERLY, "crm", "memory", "icarte2022", {"episode_limit": 40}),
    (ORDERLY, "qrm", "sight", "icarte2022", {"episode_limit": 60, "epsilon": 0.5}),
    (READING, "crm", "sight", "clean", {"gamma": 0.99, "q_init": 1.0}),
    (sequence_spec("d-e-f", "numeric"), "crm", "memory", "clean", {"episode_limit": 90, "starts": "anywhere"}),
    (sequence_spec("d-e-f", "numeric-boolean"), "qrm", "memory", "clean", {"alpha": "linear(0.5, 0.1, 2000)"}),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_weights_equal_the_oracle_to_the_bit(case):
    spec, algo, features, profile, changes = CASES[case]
    world = WaterWorld.generate(case)
    problem = fastrm.compile(world, RewardMachine.parse(machine_text(spec)), profile=profile)
    settings = {"alpha": 0.4, "epsilon": 0.3, "q_init": 0.1, **changes}
    learner = WaterLearner(
        problem, algo, steps=STEPS, features=features, optimum=[0.5], episodes=True, tick=100, **settings
    )
    learner.start(case)
    learner.advance(777)
    learner.advance(STEPS)
    rests = [axis[axis[:, 1] == 0.0, 0].tolist() for axis in (problem.physics.x, problem.physics.y)]
    alpha = settings["alpha"]
    oracle = naive_water.LinearLearner(
        naive_water.Pool(spec_of(world), profile), spec, case, sweeps=algo == "crm", features=features,
        alpha=(lambda step: 0.5 * (1 - step / 2000) + 0.1 * (step / 2000)) if isinstance(alpha, str) else alpha,
        gamma=settings.get("gamma", 0.9), epsilon=settings["epsilon"], q_init=settings["q_init"],
        limit=settings.get("episode_limit", 600), rests=rests if settings.get("starts") else None,
    )  # fmt: skip
    for _ in range(STEPS):
        oracle.step()
    agent, log = learner.state.agents[0], learner.state.log
    assert (agent["t"], agent["banked"]) == (oracle.t, oracle.banked)
    ended = [tuple(episode) for episode in log.ended[0, : int(agent["episodes"])].tolist()]
    assert ended == oracle.lengths
    assert log.reward[0, -1] == oracle.banked + oracle.earned
    learned = learner.state.weights[learner.state.weights != 0]
    assert learned.size > 500
    assert np.sort(learned).tobytes() == np.sort([w for w in oracle.weights.values() if w != 0]).tobytes()


@pytest.mark.parametrize("features", ["memory", "sight"])
def test_a_task_is_learned(features):
    problem = fastrm.compile(WaterWorld.generate(3), fastrm.task("a-b"))
    run = fastrm.train(problem, "crm", steps=300_000, features=features)
    assert run.greedy_length <= 1.5 * problem.shortest[0]
    walk = problem.walk(run.greedy_actions[0])
    assert (walk.outcome, len(walk.rewards)) == (1, run.greedy_length)
    again = fastrm.train_many(problem, "crm", steps=300_000, seeds=[0], features=features)[0]
    assert again.score.tobytes() == run.score.tobytes() and again.greedy_actions == run.greedy_actions


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"algo": "hrm"}, "algo on Water world='hrm': must be one of qrm, crm"),
        ({"features": "sigth"}, "features='sigth': must be one of memory, sight (did you mean sight?)"),
        ({"starts": "x"}, "starts='x': must be one of world, anywhere"),
        ({"shaping": True}, "linear learners do not shape rewards"),
        ({"episode_limit": 601}, "episode_limit=601: on Water world it must be at most 600"),
        ({"alhpa": 0.1}, "alhpa: no such setting (did you mean alpha?)"),
        ({"optimum": [0]}, "must be a positive number per machine (1)"),
        ({"optimum": ["x"]}, "optimum=['x']: must be a positive number per machine (1)"),
        ({"optimum": 5}, "optimum=5: must be a positive number per machine (1)"),
        ({"seed": -1}, "seed=-1: must be a whole number"),
    ],
)
def test_what_linear_learners_cannot_do_is_refused_in_one_line(settings, message):
    problem = fastrm.compile(WaterWorld.generate(3), fastrm.task("a"))
    with pytest.raises(FastrmError) as caught:
        fastrm.train(problem, **{"algo": "crm", "steps": 100, **settings})
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_run_that_begins_anywhere_claims_no_shortest_path():
    problem = fastrm.compile(WaterWorld((200.0, 200.0), (Ball("a", (255.0, 200.0), (0.0, 0.0)),)), fastrm.task("a"))
    here, anywhere = (
        fastrm.train(problem, "crm", steps=30_000, q_init=1.0, starts=starts) for starts in ("world", "anywhere")
    )
    assert (here.shortest, here.solved) == (problem.shortest, True)
    assert np.isnan(anywhere.shortest).all() and not anywhere.solved and anywhere.unit == here.unit
    assert repr(here).startswith("<Run crm seed 0: greedy 4, shortest 4 steps, score")
    said = r"<Run crm seed 0 from anywhere: greedy takes 4 steps from the world's own start; score [\d.]+ in units of"
    assert re.fullmatch(said + r" 0\.25 a step>", repr(anywhere))
    assert here.plot(problem).axes and here.plot().axes


def test_a_problem_without_fewest_steps_is_refused_before_the_run():
    problem = fastrm.compile(WaterWorld.generate(3), fastrm.task("a-b", kind="num-bool"), "icarte2022")
    with pytest.raises(FastrmError, match="cannot be searched together; compile with profile='clean'"):
        WaterLearner(problem, "crm", steps=1000, optimum=[1.0])


@pytest.mark.parametrize("config", [None, LearnerConfig(tick=100), replace(LearnerConfig(), gamma=0.5)])
def test_a_limit_that_is_not_given_is_that_of_water_world(config):
    problem = fastrm.compile(WaterWorld.generate(3), fastrm.task("a"))
    assert fastrm.train(problem, "crm", steps=100, config=config).config.episode_limit == 600


@pytest.mark.parametrize("limit", [1000, 601, np.int64(1000)])
def test_a_limit_that_is_given_is_kept_or_refused(limit):
    problem = fastrm.compile(WaterWorld.generate(3), fastrm.task("a"))
    with pytest.raises(ConfigError, match=f"episode_limit={limit}: on Water world it must be at most 600"):
        fastrm.train(problem, "crm", steps=100, config=LearnerConfig(episode_limit=limit))
    run = fastrm.train(problem, "crm", steps=100, config=LearnerConfig(episode_limit=limit), episode_limit=50)
    assert run.config.episode_limit == 50


def test_a_config_that_is_given_is_kept_whole():
    problem = fastrm.compile(WaterWorld.generate(3), fastrm.task("a"))
    for given in (LearnerConfig(), LearnerConfig(alpha=0.3, gamma=0.8, epsilon=0.2, q_init=0.5, tick=50, window=7)):
        run = fastrm.train(problem, "crm", steps=100, config=given)
        assert run.config == replace(given, episode_limit=600)


def test_a_limit_that_is_not_given_is_stored_as_a_number_and_stays_not_given():
    assert json.dumps(asdict(LearnerConfig())["episode_limit"]) == str(LearnerConfig().episode_limit) == "1000"
    assert LearnerConfig() == LearnerConfig(episode_limit=1000) and hash(LearnerConfig()) == hash(LearnerConfig())
    again = pickle.loads(pickle.dumps(LearnerConfig()))  # noqa: S301
    problem = fastrm.compile(WaterWorld.generate(3), fastrm.task("a"))
    assert fastrm.train(problem, "crm", steps=100, config=again).config.episode_limit == 600
