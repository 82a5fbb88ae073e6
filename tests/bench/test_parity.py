"""Parity with the reference implementation: published logs, optima, curves, and what a half-copied folder gives."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats as scipy_stats

from fastrm import (
    ConfigError,
    Experiment,
    GridMap,
    LearnerConfig,
    Profile,
    RewardMachine,
    StoreError,
    compile,
    run,
    train,
)
from fastrm.bench.__main__ import main
from fastrm.bench.parity import (
    ALGORITHMS,
    CASES,
    COMPARED_AT,
    Comparison,
    WaterOptimum,
    compare_optima,
    compare_speeds,
    load_curves,
    parity_experiments,
    published_optima,
    published_runs,
    rejected,
)
from fastrm.experiments import read_suite, reference_folder
from fastrm.experiments.batches import Monitor, log_path, read_monitor, write_monitor
from fastrm.experiments.execution import write_episodes
from fastrm.experiments.plan import Plan
from fastrm.results.stats import permutation_p

from sizes import FULL


def test_scores_of_a_log_leave_out_the_episode_that_crosses_a_step():
    log = Monitor(np.array([1.0, 0.0, 1.0]), np.array([10, 30, 20]), np.zeros(3), {})
    assert log.scores(np.array([9, 10, 39, 40, 59, 60]), [0.1]).tolist() == pytest.approx([0, 1, 1, 0.5, 0.5, 0.5])
    assert log.scores(np.array([60]), [0.1], window=2).tolist() == pytest.approx([0.25])


def test_scores_of_a_log_equal_the_kernel_s():
    grid, machine = GridMap.load(Experiment.named("paper").map_files[0]), RewardMachine.sequence("a")
    problem = compile(grid, machine)
    trained = train(problem, "crm", steps=60_000, seed=3, tick=1000, optimum=[0.04], episodes=True)
    paid, length = trained.episode_log
    log = Monitor(paid, length, np.zeros(len(paid)), {})
    assert log.scores(trained.step, [0.04]) == pytest.approx(np.nan_to_num(trained.score), abs=1e-12)


def test_logs_are_read_back_as_written(tmp_path):
    path = tmp_path / "0.0.monitor.csv"
    path.write_text(write_monitor(np.array([0.1, 1.0]), np.array([3, 1000]), {"env_id": "Office-single-v0"}))
    log = read_monitor(path)
    assert (log.reward.tolist(), log.length.tolist()) == ([0.1, 1.0], [3, 1000])
    assert log.about["env_id"] == "Office-single-v0" and log.seconds[-1] == pytest.approx(0.001003)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a log of episodes"),
        ("r,l,t\n1,2,3\n", "not a log of episodes"),
        ('# {"a": 1}\nr,l,t\n', "no episodes"),
        ("# {\nr,l,t\n1,2,3\n", ":1: the first line is not '# ' and JSON"),
        ("# {}\nr,l,t\n1,2,3\n1,2\n", ":4: expected reward,length,seconds, found '1,2'"),
        ("# {}\nr,l,t\n1,x,3\n", ":3: expected reward,length,seconds"),
        ("# {}\nr,l,t\n1.0,66,0.1\n7", ":4: expected reward,length,seconds, found '7'"),
        ("# {}\nr,l,t\n1,0,3\n", ":3: an episode needs a finite reward and a whole length"),
        ("# {}\nr,l,t\nnan,2,3\n", ":3: an episode needs a finite reward"),
        ("# {}\nr,l,t\n1,2.5,3\n", ":3: an episode needs a finite reward and a whole length"),
    ],
)
def test_malformed_logs_are_refused_with_the_line(tmp_path, text, message):
    path = tmp_path / "0.0.monitor.csv"
    path.write_text(text)
    with pytest.raises(StoreError, match=message):
        read_monitor(path)


def test_episodes_are_written_on_request_as_the_kernels_played_them(tmp_path, capsys):
    experiment = Experiment(name="tiny", setups=("1a1b",), size=7, tasks=("a-b",), methods=("qrm-num", "hrm-bool"),
                            seeds=2, steps=3000, learner=LearnerConfig(tick=500))  # fmt: skip
    plan = Plan.of(experiment)
    results = run(plan, tmp_path / "x.h5")
    assert write_episodes(plan, range(4), tmp_path / "logs") == 4
    assert write_episodes(plan, range(4), tmp_path / "logs") == 0  # they are there
    for k in range(4):
        log = read_monitor(log_path(plan, k, tmp_path / "logs"))
        assert len(log.length) == results["episodes"][k, -1] and 2000 < log.length.sum() <= 3000
        assert log.reward.sum() == results["completions"][k, -1]
    assert log_path(plan, 0, tmp_path).parts[-5:-1] == ("qrm-num", "a-b", "1a1b-0", "0")
    other = Plan.of(replace(experiment, steps=2000))
    assert write_episodes(other, range(4), tmp_path / "logs") == 4  # another run's logs are replaced


def test_permutation_p_values_agree_with_scipy():
    random = np.random.default_rng(1)
    for shift in (0.0, 0.5, 1.5):
        one, two = random.normal(size=60), random.normal(shift, size=8)
        exact = scipy_stats.ks_2samp(one, two, method="exact")
        p = permutation_p(one, two)
        assert abs(p - exact.pvalue) < 4 * np.sqrt(exact.pvalue * (1 - exact.pvalue) / 20_000) + 1 / 20_000
        assert permutation_p(one, two) == p
    assert permutation_p(np.zeros(60), np.zeros(6)) == 1.0
    assert permutation_p(np.zeros(60), np.ones(6)) < 1e-3


def test_single_quirks_can_be_switched():
    assert Profile.named("icarte2022 - prune").prune is False and Profile.named("icarte2022 - prune").falls_off
    assert Profile.named("clean + prune").prune and not Profile.named("clean + prune").falls_off
    for name in ("icarte2022 + prune", "icarte2022 -", "icarte2022 prune", "", "icarte2022 - purne", 3):
        with pytest.raises(ConfigError, match="profile"):
            Profile.named(name)


def test_tasks_can_be_played_in_rotation(tmp_path):
    experiment = Experiment(name="turns", setups=("1a1b",), size=7, tasks=("a", "b-a"), rotate=True,
                            methods=("crm-bool",), steps=4000, learner=LearnerConfig(tick=500))  # fmt: skip
    plan = Plan.of(experiment)
    assert plan.tasks[0][0] == "a+b-a" and len(plan.problem(0, 0, 0).machines) == 2
    results = run(plan, tmp_path / "x.h5")
    both = train(plan.problem(0, 0, 0), "crm", steps=4000, seed=plan.stream(0, 0), tick=500)
    assert results["score"][0].tobytes() == both.score.tobytes()
    with pytest.raises(ConfigError, match="true goes with tasks or machine_files, not both"):
        Experiment(name="x", setups=("1a",), tasks=("a",), machine_files=("m.rm",), rotate=True, methods=("crm-bool",))


def test_a_series_names_its_suites(reference, monkeypatch, capsys):
    parts = ["icarte-craft-single", "icarte-office-single", "icarte-craft-multi", "icarte-office-multi"]
    assert [one.name for one in read_suite("icarte", reference)] == parts
    with pytest.raises(ConfigError, match="a series of experiments, where one is expected"):
        Experiment.named("icarte")
    assert main(["run", "icarte", "--out", "x.h5", "--reference", str(reference)]) == 2
    assert "--out goes with one of icarte-craft-single" in capsys.readouterr().err
    monkeypatch.delenv("FASTRM_REFERENCE", raising=False)
    for command in (["run", "icarte"], ["parity"]):
        assert main(command) == 2
        assert "name its folder, or set FASTRM_REFERENCE" in capsys.readouterr().err
    assert main(["parity", "--reference", "/nowhere"]) == 2
    assert "/nowhere: no such folder" in capsys.readouterr().err


def test_the_published_experiments_are_sound(reference):
    counts = {"icarte-craft-single": 6 * 6 * 6, "icarte-craft-multi": 6 * 6 * 6, "icarte-office-single": 360,
              "icarte-office-multi": 360}  # fmt: skip
    for experiment in read_suite("icarte", reference):
        plan = Plan.of(experiment)
        assert plan.count == counts[experiment.name]
    assert len(plan.problem(0, 0, 0).machines) == 4 and plan.learner.window == 400


def test_all_published_optima_are_met(reference):
    optima = compare_optima(reference)
    assert len(optima) == 64
    for one in optima:
        assert abs(one.deviation) < (0.005 if one.name.startswith("office") else 0.001), one


def test_curves_are_compared_with_the_published_ones(reference, tmp_path):
    """A short form of the command: one task and four in turn, only Office, which takes a second."""
    experiments = parity_experiments(reference, runs=20)
    assert set(experiments) == {case.domain for case in CASES}
    offices = [case for case in CASES if case.domain.startswith("office")]
    results = {case.domain: run(Plan.of(experiments[case.domain]), tmp_path / case.domain) for case in offices}
    curves = load_curves(reference, results)
    assert len(curves) == len(offices) * len(ALGORITHMS) == 12
    comparisons = [one for curve in curves for one in curve.compare()]
    assert len(comparisons) == 12 * len(COMPARED_AT) and not rejected(comparisons)
    assert np.median([one.p for one in comparisons]) > 0.1


def test_the_correction_counts_the_comparisons():
    one = Comparison(CASES[0], "ql", 1, 0.0, 0.0, 0.001)
    assert rejected([one]) == [one] and rejected([one] * 11) == []


def test_speeds_stand_beside_the_published_ones(reference):
    speeds = compare_speeds(reference, steps=10_000)
    assert [one.name for one in speeds][-1] == "craft-multi crm" and speeds[-1].published == 678
    assert [round(one.published, -3) for one in speeds[:6]] == [35000, 30000, 5000, 5000, 4000, 4000]


@pytest.fixture
def copied(reference, tmp_path):
    folder = tmp_path / "reference"
    for part in ("maps", "machines", "results/crm/office-single"):
        shutil.copytree(reference / part, folder / part)
    shutil.copy(reference / "optimal_arps.json", folder)
    return folder


def test_a_half_copied_folder_is_refused_with_what_is_missing(copied, capsys):
    assert len(published_runs(copied, "crm", "office-single", "M1")) == 10
    with pytest.raises(StoreError, match=r"ql/office-single/M1: no runs; .* half copied"):
        published_runs(copied, "ql", "office-single", "M1")
    (copied / "results/crm/office-single/M1/3/0.0.monitor.csv").unlink()
    with pytest.raises(StoreError, match=r"M1/3/0.0.monitor.csv: missing"):
        published_runs(copied, "crm", "office-single", "M1")
    shutil.rmtree(copied / "results/crm/office-single/M1/3")
    with pytest.raises(StoreError, match="9 runs of 10"):
        published_runs(copied, "crm", "office-single", "M1")
    shutil.copytree(copied / "results/crm/office-single/M1/4", copied / "results/crm/office-single/M1/3")
    whole = (copied / "results/crm/office-single/M1/4/0.0.monitor.csv").read_text().splitlines()
    half = "\n".join(whole[: len(whole) // 2])
    (copied / "results/crm/office-single/M1/4/0.0.monitor.csv").write_text(half + "\n")
    with pytest.raises(StoreError, match=r"M1/4/0.0.monitor.csv: ends after .* of 100000 steps"):
        published_runs(copied, "crm", "office-single", "M1")
    (copied / "maps" / "map_4.txt").unlink()
    assert main(["parity", "--reference", str(copied)]) == 2
    assert "half copied" in capsys.readouterr().err
    with pytest.raises(StoreError, match=r"map_4.txt: missing; the folder of published data is only half copied"):
        compare_optima(copied)
    table = json.loads((copied / "optimal_arps.json").read_text())
    for text in ("{}", "[]", "x", json.dumps({**table, "office": table["office"][:3]})):
        (copied / "optimal_arps.json").write_text(text)
        with pytest.raises(StoreError, match=r"optimal_arps\.json"):
            published_optima(copied)
    assert reference_folder(copied) == copied


@pytest.mark.skipif(not FULL, reason="takes long; FASTRM_FULL=1 runs it")
def test_no_published_episode_of_water_world_is_shorter_than_the_optimum(reference, capsys):
    assert main(["parity", "--water", "--json", "--reference", str(reference)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [one["paid"] for one in report["optima"]] == [[35, 36, 35, 35, 36], [26, 26, 26, 26, 27]]
    assert [one["completed"] for one in report["optima"]] == [[39, 40, 39, 39, 40], [39, 39, 39, 39, 40]]
    best = {(one["world"], one["algorithm"]): one["best"] for one in report["records"]}
    assert len(best) == 12 and best["M1", "crm"] == 36 and best["M3", "crm"] == 26
    assert min(one["fell_off"] for one in report["records"] if one["world"] == "M3") > 0.97


def test_water_worlds_that_are_not_there_are_named_in_one_line(tmp_path, capsys):
    (tmp_path / "machines" / "water").mkdir(parents=True)
    (tmp_path / "machines" / "water" / "t10.txt").write_text("0\n[1]\n(0,1,'a',ConstantRewardFunction(1))\n")
    assert main(["parity", "--water", "--reference", str(tmp_path)]) == 2
    assert "worlds.json: missing; the folder of published data is only half copied" in capsys.readouterr().err


@pytest.mark.parametrize("rewards, code", [([0.0, 0.0], 0), ([0.0, 1.0], 1)])
def test_an_episode_of_water_world_below_the_optimum_fails_the_whole_comparison(
    tmp_path, monkeypatch, capsys, rewards, code
):
    (tmp_path / "water").mkdir()
    log = Monitor(np.array(rewards), np.array([600, 34]), np.zeros(2), {})
    optimum = WaterOptimum("M1", (35, 36, 35, 35, 36), (39, 40, 39, 39, 40))
    for name, made in {
        "bench.parity.check_folder": None, "bench.parity.compare_optima": [],
        "bench.parity.compare_speeds": [], "bench.parity.water_optima": [optimum],
        "bench.parity.published_runs": [log], "plots.have_matplotlib": False, "bench.parity.compute": [],
        "bench.parity.print_parity": None, "bench.parity.print_optima": None,
    }.items():  # fmt: skip
        monkeypatch.setattr(f"fastrm.{name}", lambda *_, made=made: made)
    arguments = ["parity", "--reference", str(tmp_path), "--out", str(tmp_path / "out")]
    assert main([*arguments, "--json"]) == main([*arguments, "--quiet"]) == code
    records = json.loads(capsys.readouterr().out)["water"]["records"]
    assert [record["best"] for record in records] == [34 * code] * len(ALGORITHMS)
    assert main(arguments) == code
    assert f"{code * len(ALGORITHMS) or 'no'} best episode is shorter" in capsys.readouterr().out
