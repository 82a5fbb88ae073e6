"""Water worlds in experiments: beside maps and tables, swept, resumed, in parts, and replayed to the bit."""

import contextlib
import json

import numpy as np
import pytest

import fastrm
from fastrm import ConfigError, Experiment, LearnerConfig, TableWorld, WaterWorld, load, run, train
from fastrm.experiments import Plan, merge, problem_of, write_episodes

from tiny_experiment import Crash, CrashDisk, contents

CURVES = ("score", "reward", "completions", "episodes")
RAMP = "linear(0.5, 0.1, 900)"


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    """A folder with a map, a table, and a file of two water worlds."""
    folder = tmp_path_factory.mktemp("worlds")
    (folder / "small.map").write_text("XXXXXXX\nXA a bX\nXXXXXXX\n")
    TableWorld([[(s + 1) % 5, (s - 1) % 5] for s in range(5)], {3: "a", 1: "b"}).save(folder / "ring.json")
    pools = [json.loads(WaterWorld.generate(seed).to_json()) for seed in (3, 4)]
    named = {f"M{k}": world for k, pool in enumerate(pools) for world in pool.values()}
    (folder / "pools.json").write_text(json.dumps(named))
    return folder


def mixed(folder, **changes):
    """An experiment on a generated water world, a map, a table and a water world from a file."""
    settings = {
        "name": "mixed", "setups": ("water",), "tasks": ("a-b",), "methods": ("crm-bool", "qrm-bool"), "seeds": 2,
        "map_files": tuple(str(folder / name) for name in ("small.map", "ring.json", "pools.json:M1")),
        "steps": 900, "learner": {"alpha": [RAMP, 0.3], "tick": 300},
    }  # fmt: skip
    return Experiment(**settings | changes)


def water(**changes):
    """An experiment on a generated water world alone."""
    settings = {"name": "w", "setups": ("water",), "tasks": ("a",), "methods": ("crm-bool",), "steps": 300}
    return Experiment(**settings | {"learner": LearnerConfig(tick=100)} | changes)


@pytest.fixture(scope="module")
def results(worlds, tmp_path_factory):
    return run(mixed(worlds), tmp_path_factory.mktemp("mixed") / "mixed.h5", workers=1)


def test_worlds_of_all_kinds_are_rows_of_one_file(results):
    assert results.complete and set(results["error"].tolist()) == {""} and results.runs == 4 * 2 * 2 * 2
    assert list(dict.fromkeys(results["grid"].tolist())) == ["0", "small", "ring", "M1"]
    assert list(dict.fromkeys(results["setup"].tolist())) == ["water", "small", "ring", "pools"]
    assert results.plan.kinds == ("water", "tabular", "tabular", "water")
    assert len(set(results["run_id"].tolist())) == results.runs
    for name, world in (("0", WaterWorld.generate(0)), ("M1", WaterWorld.generate(4))):
        rows = results["grid"] == name
        assert set(results["shortest"][rows]) == set(fastrm.compile(world, fastrm.task("a-b")).shortest)
        assert results["completions"][rows].any() and np.isnan(results["ceiling"][rows]).all()
    again = load(results.path)
    assert again.plan == results.plan and again["score"].tobytes() == results["score"].tobytes()
    assert again.to_xarray().sizes["run"] == results.runs


def test_every_run_is_there_again_to_the_bit(results):
    for row in range(results.runs):
        replayed, plan = results.replay(row), results.plan
        place = plan.coordinates(row)
        trained = train(
            problem_of(results, row), plan.methods[place.method].algo, seed=results["train_seed"][row],
            steps=plan.steps, config=plan.config(place),
        )  # fmt: skip
        for name in CURVES:
            assert getattr(replayed, name).tobytes() == results[name][row].tobytes(), (row, name)
        assert trained.q.tobytes() == replayed.q.tobytes() and trained.greedy_path == replayed.greedy_path
        assert replayed.config.alpha == (RAMP, 0.3)[place.variant] == trained.config.alpha
        is_water = plan.kinds[place.grid] == "water"
        assert (replayed.config.q_init, replayed.config.episode_limit) == ((0.03, 600) if is_water else (2.0, 1000))


@pytest.mark.parametrize("how", ["resumed", "shards", "threads", "processes"])
def test_files_are_the_same_however_they_were_computed(how, results, worlds, tmp_path):
    path = tmp_path / "mixed.h5"
    if how == "shards":
        parts = [tmp_path / f"part{k}.h5" for k in (1, 2)]
        for k, part in enumerate(parts, start=1):
            run(mixed(worlds), part, shard=(k, 2), workers=1)
        merge(parts[::-1], path)
    else:
        if how == "resumed":
            with contextlib.suppress(Crash):
                run(mixed(worlds), path, workers=1, disk=CrashDisk(6))
        run(mixed(worlds), path, workers=2, isolation="process" if how == "processes" else "thread")
    assert contents(path) == contents(results.path)
    reports = []
    run(mixed(worlds), path, report=reports.append)
    assert not reports or reports[-1].runs == 0  # nothing is left to do


def test_episodes_are_written_for_water_worlds_too(results, tmp_path):
    rows = np.flatnonzero(results["grid"] == "M1")[:2].tolist()
    assert write_episodes(results.plan, rows, tmp_path) == 2
    logs = sorted(tmp_path.rglob("*.csv"))
    ended = [len(log.read_text().splitlines()) - 2 for log in logs]
    assert sorted(ended) == sorted(results["episodes"][rows, -1].tolist())


def test_settings_that_were_given_are_told_from_those_that_were_not():
    plain, given = (Plan.of(water(learner=learner)) for learner in (LearnerConfig(), LearnerConfig(q_init=2.0)))
    assert plain.learner == given.learner and plain.run_id(0) != given.run_id(0) and plain.digest != given.digest
    table = Plan.of(water(learner={"q_init": 2.0, "alpha": [0.5, 0.1]}))
    for plan, absent, q_init in (
        (plain, ("alpha", "q_init", "episode_limit"), 0.03),
        (given, ("alpha", "episode_limit"), 2.0),
        (table, ("episode_limit",), 2.0),
    ):
        again = Plan.from_json(plan.to_json())
        assert again.learner.not_given == plan.learner.not_given == absent
        assert again == plan and again.digest == plan.digest and again.to_json() == plan.to_json()
        assert [again.run_id(k) for k in range(again.count)] == [plan.run_id(k) for k in range(plan.count)]
        config = again.problem(0, 0, 0).defaults(300)
        assert again.config(again.coordinates(0)).filled(config).q_init == q_init


def test_a_value_that_was_given_is_kept_after_a_reload(tmp_path):
    results = run(water(learner=LearnerConfig(q_init=2.0, tick=100)), tmp_path / "given.h5", workers=1)
    config = load(tmp_path / "given.h5").replay(0).config
    assert (config.q_init, config.alpha, config.episode_limit) == (2.0, "linear(0.5, 0.1, 300)", 600)
    plain = run(water(), tmp_path / "plain.h5", workers=1)
    assert load(tmp_path / "plain.h5").replay(0).config.q_init == 0.03
    assert results["run_id"][0] != plain["run_id"][0] and results["train_seed"][0] == plain["train_seed"][0]


@pytest.mark.parametrize("absent", [5, None, "alpha", ["gamma"], [["alpha"]], {"alpha": 1}, ["alpha"]])
def test_a_foreign_plan_with_other_settings_not_given_is_refused_in_one_line(absent):
    plan = Plan.of(water(learner={"alpha": [0.5, 0.1]}))
    with pytest.raises(ConfigError, match=r"^not_given: must be a list of settings, of q_init, episode_limit$"):
        Plan.from_json(json.dumps(json.loads(plan.to_json()) | {"not_given": absent}))


def test_features_are_swept_and_episodes_begin_anywhere(tmp_path):
    experiment = water(start="anywhere", seeds=2, learner={"features": ["memory", "sight"], "tick": 100})
    results = run(experiment, tmp_path / "x.h5", workers=1)
    assert results["features"].tolist() == ["memory", "memory", "sight", "sight"] and results.complete
    assert not results["shortest"].any() and not results["solved"].any()  # 0 means missing
    runs = [results.replay(row) for row in range(4)]
    assert [r.config.features for r in runs] == results["features"].tolist() and runs[0].q.shape != runs[2].q.shape
    assert all(r.problem.is_anywhere and np.isnan(r.shortest).all() for r in runs)
    assert results["run_id"][0] != Plan.of(water(learner={"features": ["memory", "sight"], "tick": 100})).run_id(0)


def test_features_make_no_difference_where_all_worlds_are_maps(worlds):
    learner = {"features": ["memory", "sight"]}
    with pytest.raises(ConfigError, match=r"features: none of the methods \(crm-bool\) reads it"):
        Plan.of(water(setups=("1a",), learner=learner))
    assert Plan.of(water(setups=("1a", "water"), learner=learner)).count == 4


def test_a_warm_start_goes_on_with_the_weights_of_another_method(tmp_path):
    experiment = water(methods=("crm-bool", "qrm-bool"), warm_start={"qrm-bool": "crm-bool"})
    results = run(experiment, tmp_path / "x.h5", workers=1)
    source, warm = (results.replay(row) for row in range(2))
    alone = train(problem_of(results, 1), "qrm", seed=source.seed, steps=300, tick=100, warm_start=source)
    assert warm.q.tobytes() == alone.q.tobytes() and warm.q.shape[0] > source.q.shape[0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": ("crm-pot",)}, "a potential is for maps; on Water world it would depend on time"),
        ({"tasks": ("{a,b,c,d,e,f,g,h,i,j,k}",)}, "an agenda of more than 1024 machine states is learned on maps"),
        ({"tasks": ("a-z",)}, "this world has balls of the colours a, b, c, d, e, f"),
        ({"profile": "clean + prune"}, "on Water world it must be clean or icarte2022, as a whole"),
        ({"learner": {"episode_limit": 900, "tick": 100}}, "episode_limit=900: on Water world it must be at most 600"),
    ],
)
def test_what_water_world_does_not_have_is_recorded_in_one_line(changes, message, tmp_path):
    experiment = water(**changes)
    results = run(experiment, tmp_path / "x.h5", workers=1)
    (error,) = results["error"].tolist()
    assert error.startswith(f"task {experiment.tasks[0]} on map water 0: ") and message in error and "\n" not in error
    assert "Error:" not in error


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": ("hrm-bool",)}, "method 'hrm-bool': Water world has the learners qrm, crm, without shaping"),
        ({"methods": ("coupled-bool",)}, "method 'coupled-bool': Water world has the learners qrm, crm"),
        ({"methods": ("crm-rs-bool",)}, "method 'crm-rs-bool': Water world has the learners qrm, crm, without shaping"),
        ({"slip": 0.1}, "slip, metric: are for maps, and '0' is a water world"),
        ({"metric": "geodesic"}, "slip, metric: are for maps, and '0' is a water world"),
    ],
)
def test_what_cannot_be_run_at_all_is_refused_before_anything_runs(changes, message, tmp_path):
    with pytest.raises(ConfigError, match=message):
        run(water(**changes), tmp_path / "x.h5", workers=1)
    assert not (tmp_path / "x.h5").exists()


def test_a_method_that_only_maps_have_runs_on_the_maps(worlds, tmp_path):
    experiment = mixed(
        worlds, methods=("hrm-bool", "crm-bool"), seeds=1, steps=300, map_files=(str(worlds / "small.map"),)
    )
    results = run(experiment, tmp_path / "x.h5", workers=1)
    failed = results["error"] != ""
    assert np.array_equal(failed, (results["setup"] == "water") & (results["algo"] == "hrm"))


def test_a_threshold_of_the_terminal_reward_is_refused_in_one_line():
    with pytest.raises(ConfigError) as caught:
        Plan.of(water(methods=("crm-num",), terminal_rewards={"numeric": "1.1 R*"}))
    assert str(caught.value).startswith("terminal_rewards.numeric='1.1 R*': problem: is a water world; this needs the")


def test_a_world_that_is_not_in_the_file_is_named(worlds):
    with pytest.raises(fastrm.MapError, match=r"pools.json: no world 'M7'.*; it has M0, M1"):
        Plan.of(water(setups=(), map_files=(str(worlds / "pools.json:M7"),)))
    with pytest.raises(fastrm.MapError, match=r"pools.json: holds 2 worlds; name one of M0, M1"):
        Plan.of(water(setups=(), map_files=(str(worlds / "pools.json"),)))


def test_a_toml_file_names_worlds_and_features(worlds):
    text = """
setups = ["water"]
maps = 2
map_files = ["pools.json:M1"]
tasks = ["a-b"]
methods = ["crm-bool"]
steps = 300
start = "anywhere"
learner = {features = "sight", q_init = 2.0, tick = 100}
"""
    (worlds / "study.toml").write_text(text)
    plan = Plan.of(Experiment.load(worlds / "study.toml"))
    assert [name for _, name, _ in plan.grids] == ["0", "1", "M1"] and plan.start == "anywhere"
    assert plan.learner.features == "sight" and plan.learner.not_given == ("alpha", "episode_limit")


def test_kinds_of_one_task_share_the_search_and_its_answer():
    plan = Plan.of(water(methods=("crm-bool", "crm-num", "crm-num-bool"), tasks=("a-b", "c")))
    for task, text in enumerate(("a-b", "c")):
        (alone,) = fastrm.compile(WaterWorld.generate(0), fastrm.task(text, kind="numeric")).reached
        problems = [plan.problem(0, task, method) for method in range(3)]
        for problem in problems:  # what is paid on the way is another question, which is not shared
            assert (problem.reached[0].succeeds, problem.reached[0].actions) == (alone.succeeds, alone.actions)
            assert problem.reached is problems[0].reached
