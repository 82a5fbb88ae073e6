"""Linear QRM and CRM on Water world equal their oracle to the bit, learn, and refuse what they cannot do."""

import json
import pickle
from dataclasses import asdict, replace

import numpy as np
import pytest

import fastrm
from fastrm import ConfigError, FastrmError, LearnerConfig, RewardMachine, WaterWorld
from fastrm.learners import Batch, iter_runs
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
    (sequence_spec("d-e-f", "numeric"), "crm", "memory", "clean", {"episode_limit": 90, "start": "anywhere"}),
    (sequence_spec("d-e-f", "numeric-boolean"), "qrm", "memory", "clean", {"alpha": "linear(0.5, 0.1, 2000)"}),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_weights_equal_the_oracle_to_the_bit(case):
    spec, algo, features, profile, changes = CASES[case]
    world = WaterWorld.generate(case)
    settings = {"alpha": 0.4, "epsilon": 0.3, "q_init": 0.1, **changes}
    start = settings.pop("start", None)
    problem = fastrm.compile(world, RewardMachine.parse(machine_text(spec)), profile=profile, start=start)
    batch = Batch(
        problem, algo, steps=STEPS, seeds=[99, case], features=features, optimum=[0.5], episodes=True, tick=100,
        **settings,
    )  # fmt: skip
    batch.advance(777)
    batch.advance(STEPS)
    rests = [axis[axis[:, 1] == 0.0, 0].tolist() for axis in (problem.physics.x, problem.physics.y)]
    alpha = settings["alpha"]
    oracle = naive_water.LinearLearner(
        naive_water.Pool(spec_of(world), profile), spec, case, sweeps=algo == "crm", features=features,
        alpha=(lambda step: 0.5 * (1 - step / 2000) + 0.1 * (step / 2000)) if isinstance(alpha, str) else alpha,
        gamma=settings.get("gamma", 0.9), epsilon=settings["epsilon"], q_init=settings["q_init"],
        limit=settings.get("episode_limit", 600), rests=rests if start else None,
    )  # fmt: skip
    for _ in range(STEPS):
        oracle.step()
    agent, log = batch.state.agents[1], batch.state.log
    assert (agent["t"], agent["banked"]) == (oracle.t, oracle.banked)
    ended = [tuple(episode) for episode in log.ended[1, : int(agent["episodes"])].tolist()]
    assert ended == oracle.lengths
    assert log.reward[1, -1] == oracle.banked + oracle.earned
    learned = batch.state.own.runs[1][batch.state.own.runs[1] != 0]
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
        ({"start": "anywhere"}, "start: belongs to the problem; give it to fastrm.compile(grid, machine, start=...)"),
        ({"starts": "x"}, "starts: belongs to the problem; give it to fastrm.compile"),
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
    world = WaterWorld((200.0, 200.0), (Ball("a", (255.0, 200.0), (0.0, 0.0)),))
    problem, open_problem = (fastrm.compile(world, fastrm.task("a"), start=start) for start in (None, "anywhere"))
    here, anywhere = (fastrm.train(p, "crm", steps=30_000, q_init=1.0) for p in (problem, open_problem))
    assert (here.shortest, here.solved) == (problem.shortest, True) and here.problem is problem
    assert np.isnan(anywhere.shortest).all() and not anywhere.solved and anywhere.unit == here.unit
    assert repr(here).startswith("<Run crm seed 0: greedy 4, shortest 4 steps, score")
    assert repr(anywhere).startswith("<Run crm seed 0: greedy 4, shortest not known, score")
    assert here.plot(problem).axes and here.plot().axes


def test_a_problem_without_fewest_steps_is_refused_before_the_run():
    problem = fastrm.compile(WaterWorld.generate(3), fastrm.task("a-b", kind="num-bool"), "icarte2022")
    with pytest.raises(FastrmError, match="cannot be searched together; compile with profile='clean'"):
        Batch(problem, "crm", steps=1000, optimum=[1.0])


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


def test_settings_that_are_given_are_kept_and_the_others_are_those_of_the_problem():
    problem = fastrm.compile(WaterWorld.generate(3), fastrm.task("a"))
    usual = {"alpha": "linear(0.5, 0.1, 100)", "q_init": 0.03, "episode_limit": 600}
    assert problem.defaults(100) == usual
    plain, empty = (
        fastrm.train(problem, "crm", steps=100, tick=50, config=config) for config in (None, LearnerConfig())
    )
    assert plain.config == empty.config == LearnerConfig(tick=50, **usual)
    assert plain.q.tobytes() == empty.q.tobytes() and plain.score.tobytes() == empty.score.tobytes()
    given = {"alpha": 0.3, "gamma": 0.8, "epsilon": 0.2, "q_init": 0.5, "tick": 50, "window": 7, "features": "sight"}
    assert fastrm.train(problem, "crm", steps=100, config=LearnerConfig(**given)).config == replace(
        LearnerConfig(**given), episode_limit=600
    )
    for changes in ({"q_init": 2.0}, {"alpha": 0.5}, {"alpha": 0.5, "q_init": 2.0}):  # the paper's own, but given
        for kept in (
            fastrm.train(problem, "crm", steps=100, config=LearnerConfig(**changes)),
            fastrm.train(problem, "crm", steps=100, **changes),
            fastrm.train(problem, "crm", steps=100, config=replace(LearnerConfig(), **changes)),
        ):
            assert kept.config == LearnerConfig(**(usual | changes))


def test_a_limit_that_is_not_given_is_stored_as_a_number_and_stays_not_given():
    assert json.dumps(asdict(LearnerConfig())["episode_limit"]) == str(LearnerConfig().episode_limit) == "1000"
    assert LearnerConfig() == LearnerConfig(episode_limit=1000) and hash(LearnerConfig()) == hash(LearnerConfig())
    again = pickle.loads(pickle.dumps(LearnerConfig()))  # noqa: S301
    problem = fastrm.compile(WaterWorld.generate(3), fastrm.task("a"))
    assert fastrm.train(problem, "crm", steps=100, config=again).config.episode_limit == 600


@pytest.fixture(scope="module")
def learned():
    problem = fastrm.compile(WaterWorld.generate(3), fastrm.task("a-b"))
    return problem, fastrm.train(problem, "crm", steps=100_000, seed=4)


@pytest.mark.parametrize("algo", ["crm", "qrm"])
def test_a_warm_start_begins_with_what_was_learned(learned, algo):
    problem, source = learned
    assert source.greedy_length is not None
    still = fastrm.train(problem, algo, steps=700, seed=8, warm_start=source, alpha=0.0)
    assert still.greedy_actions == source.greedy_actions and still.greedy_path == source.greedy_path
    assert still.greedy_length == source.greedy_length < fastrm.train(problem, algo, steps=700, seed=8).greedy_length
    met = len(source.more["tiles"])
    assert np.array_equal(still.more["tiles"][:met], source.more["tiles"])  # tiles that are met later come behind
    assert still.q[: met + 1].tobytes() == source.q.tobytes()


def test_warm_starts_of_several_seeds_equal_those_of_one_and_leave_the_source_as_it_was(learned):
    problem, source = learned
    before = source.q.tobytes(), {name: array.tobytes() for name, array in source.more.items()}
    one = fastrm.train(problem, "crm", steps=500, seed=2, tick=100, warm_start=source)
    many = fastrm.train_many(problem, "crm", steps=500, seeds=[1, 2], tick=100, warm_start=[source, source])[1]
    assert one.q.tobytes() == many.q.tobytes() and one.score.tobytes() == many.score.tobytes()
    assert one.q.tobytes() != fastrm.train(problem, "crm", steps=500, seed=2, tick=100).q.tobytes()
    assert before == (source.q.tobytes(), {name: array.tobytes() for name, array in source.more.items()})


def test_a_warm_start_with_what_does_not_fit_is_refused_in_one_line(learned):
    problem, source = learned
    grid = fastrm.compile(fastrm.GridMap.generate("1a1b", size=7), fastrm.task("a-b"))
    other = fastrm.compile(WaterWorld.generate(4), fastrm.task("a-b"))
    longer = fastrm.compile(WaterWorld.generate(3), fastrm.task("a-b-c"))
    tables = fastrm.train(grid, "crm", steps=100)
    for where, settings, message in [
        (problem, {"warm_start": source, "features": "sight"}, "weights of other features"),
        (other, {"warm_start": source}, "the run learned about <water seed 3>, and this problem is <water seed 4>"),
        (longer, {"warm_start": source}, "the run has values of the states u0, u1, and the problem has u0, u1, u2"),
        (problem, {"warm_start": tables}, "the run learned about <1a1b size 7 seed 0>, and this problem is <water"),
        (grid, {"warm_start": source}, "the run has values of "),
        (problem, {"warm_start": "run"}, "must be a Run, or a list with a Run for each seed"),
    ]:
        with pytest.raises(ConfigError) as caught:
            fastrm.train(where, "crm", steps=10, **settings)
        assert message in str(caught.value) and "\n" not in str(caught.value)
    seeing = fastrm.train(problem, "crm", steps=100, features="sight")
    assert fastrm.train(problem, "crm", steps=10, features="sight", warm_start=seeing).config.features == "sight"
    with pytest.raises(ConfigError, match="weights of other features"):
        fastrm.train(problem, "crm", steps=10, warm_start=seeing)


@pytest.mark.parametrize("features", ["memory", "sight"])
def test_weights_grow_with_the_tiles_that_are_met_and_are_counted(features):
    """With a constant alpha, 60 000 steps are one span: it must not ask for all the tiles that they might meet."""
    problem = fastrm.compile(WaterWorld.generate(3), fastrm.task("a-b-c-d"))
    batch = Batch(problem, "crm", steps=60_000, seeds=[0, 1], features=features, alpha=0.3, tick=60_000)
    batch.advance(60_000)
    for i, weights in enumerate(batch.state.own.runs):
        rows, width = int(batch.state.agents["rows"][i]), batch.state.own.columns * 5
        assert rows < (1 << 16) + 2 * batch.steps and weights.size < 4 * max(rows, 1 << 16) * width
        assert weights.nbytes + batch.state.own.row_of[i].nbytes < 2 * batch.bytes_per_seed
    assert batch.bytes_per_seed > batch.state.own.row_of[0].nbytes + 8 * width * rows
    assert (batch.state.log.episodes[:, 0] == batch.state.agents["episodes"]).all()


def test_many_runs_learn_side_by_side_only_if_their_weights_fit(monkeypatch):
    problem = fastrm.compile(WaterWorld.generate(3), fastrm.task("a"))
    each, sizes = Batch(problem, "crm", steps=2000).bytes_per_seed, []
    start = Batch.start
    monkeypatch.setattr(
        Batch, "start", lambda self, seeds, *more: (sizes.append(len(seeds)), start(self, seeds, *more))
    )
    list(iter_runs(problem, "crm", seeds=range(5), steps=2000, room=2 * each))
    assert sizes == [2, 2, 1]
