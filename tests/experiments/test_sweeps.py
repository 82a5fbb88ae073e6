"""Sweeps: settings of the learners with several values, crossed, as coordinates of the runs."""

import json

import numpy as np
import pytest

from fastrm import ConfigError, Experiment, LearnerConfig, StoreError, linear, load, run
from fastrm.bench.__main__ import main
from fastrm.bench.studies import judge
from fastrm.experiments import Plan, merge
from fastrm.plots import groups_of, sweep_points

from edited_files import edited

TOML = """
setups  = ["1a1b"]
maps    = 2
size    = 7
tasks   = ["a", "a-b"]
methods = ["crm-bool", "crm-num@0.5"]
seeds   = 2
steps   = 4_000
learner = {tick = 500, gamma = [0.9, 0.5], epsilon = [0.1, "linear(1, 0.25, 2000)"]}
"""
SETTINGS = {
    "name": "plain", "setups": ("1a1b",), "maps": 2, "size": 7, "tasks": ("a", "a-b"),
    "methods": ("crm-bool", "crm-num@0.5"), "seeds": 2, "steps": 4000,
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "swept.toml").write_text(TOML)
    run(Experiment.load(folder / "swept.toml"), folder / "swept.h5", workers=2)
    return folder


def test_a_run_of_a_sweep_is_the_run_of_an_experiment_with_its_values_to_the_byte(folder, tmp_path):
    swept = load(folder / "swept.h5")
    assert swept.complete and swept.runs == 64 and swept.swept == ("gamma", "epsilon")
    assert len(set(swept["run_id"].tolist())) == 64
    for gamma, epsilon in ((0.9, 0.1), (0.5, linear(1, 0.25, 2000))):
        learner = LearnerConfig(tick=500, gamma=gamma, epsilon=epsilon)
        plain = run(Experiment(**SETTINGS, learner=learner), tmp_path / "x.h5", fresh=True)
        mine = swept.select(gamma=gamma, epsilon=epsilon)
        for name in plain.columns:
            if name != "run":
                assert mine[name].tobytes() == plain[name].tobytes(), name
    for row in (0, 21, 42, 63):
        again = swept.replay(row)
        assert (again.config.gamma, str(again.config.epsilon)) == (swept["gamma"][row], swept["epsilon"][row])


def test_swept_settings_are_coordinates_wherever_a_coordinate_is(folder):
    results, xarray = load(folder / "swept.h5"), pytest.importorskip("xarray")
    with xarray.open_dataset(folder / "swept.h5") as dataset:
        assert dataset.gamma.dtype == np.float64 and set(dataset.epsilon.values) == {"0.1", "linear(1, 0.25, 2000)"}
        assert "gamma" in dataset.coords and results.to_xarray().coords["epsilon"].dims == ("run",)
    assert len(results.summary()) == 2 * 2 * 4 and len(results.summary(by=["gamma"])) == 2
    assert results.curves(gamma=0.5, method="crm-bool", task="a")[1].shape == (8, 8)
    pair = results.compare(0.9, 0.5, "area", by="gamma", task="a-b")
    assert (pair.one, pair.two, pair.pairs) == ("gamma 0.9", "gamma 0.5", 16)
    same = results.compare("crm-bool", "crm-num@0.5", epsilon="0.1")
    assert same.pairs == 2 * 2 * 2 * 2 and {"gamma", "epsilon"} <= {*results.per_run().columns}
    for wrong, message in (
        ({"gamma": 0.7}, r"gamma=0.7 selects nothing \(did you mean 0.9\?\); there are 0.5, 0.9"),
        ({"alpha": 0.5}, "no coordinate 'alpha'"),
    ):
        with pytest.raises(ConfigError, match=message):
            results.select(**wrong)
    with pytest.raises(ConfigError, match=r"by='alpha': must be one of setup, .*method, seed, gamma, epsilon"):
        results.compare(0.1, 0.5, by="alpha")


def test_curves_and_points_never_mix_values_of_a_setting(folder):
    results = load(folder / "swept.h5")
    groups = groups_of(results)
    assert len(groups) == 2 * 2 * 4 and ("1a1b", "a, gamma 0.9, epsilon 0.1", "crm-bool") in groups
    for rows in groups.values():
        assert len({(results["gamma"][row], results["epsilon"][row]) for row in rows}) == 1
    points = list(sweep_points(results, "gamma"))
    assert len(points) == 2 * 2 * 2 * 2 and points[0].task == "a, epsilon 0.1"
    mine = results.select(task="a", epsilon="0.1", method="crm-bool", gamma=0.9)
    assert points[0].settled[1] == np.median(mine.per_run_values("settled"))
    with pytest.raises(ConfigError, match="has several values of gamma, epsilon; claims are about one value of each"):
        judge(results)


def test_commands_show_what_is_swept(folder, tmp_path, capsys):
    file = str(folder / "swept.h5")
    assert main(["info", file]) == 0 and "2 values of gamma" in capsys.readouterr().out.replace("\n            ", " ")
    assert main(["run", str(folder / "swept.toml"), "--dry-run"]) == 0
    assert "x 2 values of gamma x 2 values of epsilon x 2 seeds = 64 runs" in capsys.readouterr().out
    assert main(["run", str(folder / "swept.toml"), "--out", file, "--report"]) == 0
    made = {path.name for path in (folder / "swept").iterdir()}
    assert {"sweep-gamma.png", "sweep-epsilon.png", "curves.png", "report.html", "summary.csv"} <= made
    page = (folder / "swept" / "report.html").read_text()
    assert "Settled score by gamma" in page and "a-b, gamma 0.5, epsilon 0.1" in page
    assert "gamma,epsilon,method" in (folder / "swept" / "summary.csv").read_text()
    worst = ["replay", file, "--worst", "crm-bool", "a", "--out", str(tmp_path / "x.npz")]
    capsys.readouterr()
    assert main([*worst, "--where", "gamma=0.5"]) == 0 and "gamma 0.5, epsilon" in capsys.readouterr().out
    assert main([*worst, "--where", "gama=0.5"]) == 2 and "sweeps gamma, epsilon" in capsys.readouterr().err
    assert main([*worst, "--where", "gamma=x"]) == 2 and "gamma has numbers" in capsys.readouterr().err


def test_shards_of_a_sweep_join_to_the_whole(folder, tmp_path):
    whole, experiment = load(folder / "swept.h5"), Experiment.load(folder / "swept.toml")
    parts = [run(experiment, tmp_path / f"{k}.h5", shard=(k, 2)).path for k in (1, 2)]
    joined = merge(parts, tmp_path / "joined.h5")
    assert all(joined[name].tobytes() == whole[name].tobytes() for name in whole.columns)


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        ({"alpha": []}, r"alpha=\[\]: an empty list"),
        ({"alpha": [0.1, 0.5, 0.10]}, "alpha: 0.1 is given twice"),
        ({"epsilon": ["linear(1,0,9)", "linear(1.0, 0, 9)"]}, "epsilon: .* is given twice"),
        ({"alpha": [0.1, 1.5]}, "alpha=1.5: must be a number from 0 to 1"),
        ({"alhpa": [0.1]}, r"unknown key 'learner.alhpa' \(did you mean alpha\?\)"),
        ({"tick": [100, 200]}, "tick: takes one value"),
        ({"planning": [1, 2]}, r"planning: none of the methods \(crm-bool, crm-num@0.5\) reads it"),
        ({"alpha": list(np.linspace(0, 1, 200)), "gamma": list(np.linspace(0, 1, 200))}, "40000 combinations"),
        ({"window": [None, 5]}, "window: a list holds values"),
        (["alpha"], "learner=.* must be a table of settings"),
    ],
)  # fmt: skip
def test_bad_sweeps_are_refused_in_one_line(learner, message):
    with pytest.raises(ConfigError, match=message) as problem:
        Plan.of(Experiment(**SETTINGS, learner=learner))
    assert "\n" not in str(problem.value)


def test_only_settings_of_the_learner_are_swept_and_the_line_is_named(tmp_path, capsys):
    for line, message in (
        ("steps   = [1_000, 2_000]", "takes one value; only settings of the learner"),
        ("slip = [0.1, 0.2]", "takes one value; only settings of the learner"),
        ("terminal_rewards = {boolean = '2 R*'}", r"R* depends on gamma, which has several values here"),
        ("base = 'papre'", "suite 'papre' is unknown (did you mean paper?)"),
    ):
        key = line.split()[0]
        lines = [old for old in TOML.splitlines() if not old.startswith(key)]
        (tmp_path / "x.toml").write_text("\n".join([line, *lines]))
        assert main(["run", str(tmp_path / "x.toml"), "--dry-run"]) == 2
        said = capsys.readouterr().err
        assert message in said and said.count("\n") == 1
        assert "x.toml:1: " in said or key == "terminal_rewards"


def test_the_base_of_a_file_may_be_a_suite_whose_maps_lie_elsewhere(tmp_path):
    (tmp_path / "mine.toml").write_text('base = "paper"\nmaps = 1\n[learner]\nalpha = [0.1, 0.5]\n')
    mine, paper = Experiment.load(tmp_path / "mine.toml"), Experiment.named("paper")
    assert mine.name == "mine" and mine.tasks == paper.tasks and mine.map_files == paper.map_files
    assert dict(Plan.of(mine).sweep) == {"alpha": (0.1, 0.5)} and mine.learner["gamma"] == paper.learner.gamma


def test_a_file_whose_plan_and_columns_disagree_about_a_sweep_is_refused(folder, tmp_path):
    def without(file):
        del file["gamma"]

    def other_values(file):
        plan = json.loads(file.attrs["plan"])
        plan["sweep"][0][1] = [0.9, 0.6]
        file.attrs["plan"] = json.dumps(plan)

    def nonsense(file):
        plan = json.loads(file.attrs["plan"])
        plan["sweep"] = [["os.system", ["x"]]]
        file.attrs["plan"] = json.dumps(plan)

    for change, message in (
        (without, "differ in what is swept: gamma"),
        (other_values, "'gamma' of run .* is 0.5; its plan says"),
        (nonsense, "sweep: must name settings of the learners"),
    ):
        with pytest.raises(StoreError, match=message):
            load(edited(folder / "swept.h5", tmp_path / "x.h5", change))


def test_initial_values_in_terminal_rewards_are_those_numbers_of_every_task_and_kind(tmp_path):
    how = {**SETTINGS, "methods": ("crm-num-bool", "crm-num", "hrm-pot"), "maps": 1}
    swept = run(Experiment(**how, learner={"tick": 500, "q_init": [2.0, "0.1 R", "R"]}), tmp_path / "s.h5")
    assert swept.complete and sorted(set(swept["q_init"].tolist())) == ["0.1 R", "2.0", "R"]
    for method, task, reward in (("crm-num-bool", "a", 1000), ("crm-num", "a-b", 10_000), ("hrm-pot", "a-b", 1)):
        for given, factor in (("0.1 R", 0.1), ("R", 1.0)):
            learner = LearnerConfig(tick=500, q_init=factor * reward)
            plain = run(Experiment(**how, learner=learner), tmp_path / "x.h5", fresh=True)
            mine, theirs = (r.select(method=method, task=task) for r in (swept.select(q_init=given), plain))
            for name in ("score", "reward", "greedy_length", "episodes"):
                assert mine[name].tobytes() == theirs[name].tobytes(), (method, given, name)
            assert not {*mine["run_id"].tolist()} & {*theirs["run_id"].tolist()}
    assert swept.replay(int(np.flatnonzero(swept["q_init"] == "R")[0])).config.q_init == 1000.0
