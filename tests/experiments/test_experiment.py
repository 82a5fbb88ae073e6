"""Experiments: TOML files, plans, run identity, and how bad ones are refused."""

import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from fastrm import ConfigError, Experiment, FastrmError, MapError, guarantee, optimal_arps, run as fastrm_run
from fastrm.bench.__main__ import main
from fastrm.exact import score_ceiling
from fastrm.experiments import Method, batches, list_suites
from fastrm.experiments.plan import Plan
from fastrm.kernels.contracts import SUCCESS
from fastrm.machines import SHORT_KINDS

ROOT = Path(__file__).parents[2]

TOML = """
name = "small"
setups = ["1a1b"]
maps = 2
size = 7
tasks = ["a", "a-b"]
methods = ["qrm-bool", "crm-rs-bool", "hrm-num"]
seeds = 2
steps = 3000
[learner]
tick = 500
"""


@pytest.fixture
def toml(tmp_path):
    def write(text=TOML):
        path = tmp_path / "small.toml"
        path.write_text(text)
        return path

    return write


def test_a_toml_file_becomes_a_plan_of_numbered_runs(toml):
    plan = Plan.of(Experiment.load(toml()))
    assert plan.count == 2 * 2 * 3 * 2 and len(plan.step) == 6
    assert plan.coordinates(0) == (0, 0, 0, 0, 0) and plan.coordinates(plan.count - 1) == (1, 1, 2, 0, 1)
    assert Plan.from_json(plan.to_json()) == plan


def test_run_ids_are_all_different_and_depend_on_what_determines_the_numbers(toml):
    plan = Plan.of(Experiment.load(toml()))
    ids = [plan.run_id(run) for run in range(plan.count)]
    assert len(set(ids)) == plan.count
    for change in ("steps = 3000", "steps = 3001"), ("seeds = 2", "seeds = 1"), ("tick = 500", "gamma = 0.8"):
        other = Plan.of(Experiment.load(toml(TOML.replace(*change))))
        assert (other.run_id(0) == ids[0]) == (change[0] == "seeds = 2")


def test_random_numbers_are_common_to_all_methods_and_tasks_of_a_map(toml):
    plan = Plan.of(Experiment.load(toml()))
    assert plan.stream(0, 0) != plan.stream(0, 1) != plan.stream(1, 0)
    other = Plan.of(Experiment.load(toml(TOML.replace('"qrm-bool", ', "").replace('"a", ', ""))))
    assert other.stream(1, 1) == plan.stream(1, 1)


def test_run_ids_are_pinned(toml):
    """A run's identity must not drift between versions, or nothing could be resumed or compared."""
    assert Plan.of(Experiment.load(toml())).run_id(7) == "49a6503728695e06"


@pytest.mark.parametrize("label", [f"{a}{rs}-{k}" for a in ("qrm", "crm", "hrm") for rs in ("", "-rs")
                                   for k in ("bool", "num-bool", "num")] + ["qrm", "crm-rs"])  # fmt: skip
def test_method_names_are_read_and_written(label):
    assert Method.parse(label).label == label


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("seeds = 2", "seeds = 0"), "seeds=0: must be a whole number from 1"),
        (("seeds = 2", 'seeds = "two"'), "seeds='two'"),
        (("seeds = 2", "seed = 2"), r"unknown key 'seed' \(did you mean seeds\?\)"),
        (("seeds = 2", "epsilon = 0.2"), r"\d+: epsilon is a setting of learners; write it below a line \[learner\]"),
        (("tick = 500", "tik = 500"), r"unknown key 'learner.tik' \(did you mean tick\?\)"),
        (("tick = 500", "alpha = 7"), "alpha=7"),
        (('"hrm-num"', '"hrm-mun"'), r"method 'hrm-mun' is unknown \(did you mean hrm-num\?\)"),
        (('"hrm-num"', '"hrm"'), "names no kind of reward"),
        (('"hrm-num"', '"qrm-bool"'), "methods: 'qrm-bool' is given twice; leave one out"),
        (('["1a1b"]', '"1a1b"'), "setups='1a1b': must be a list of strings"),
        (('["1a1b"]', "[3]"), "must be a list of strings"),
        (('["1a1b"]', "[]"), "no maps: give setups such as"),
        (('tasks = ["a", "a-b"]', ""), "no tasks"),
        (("methods", "profile = 'x'\nmethods"), "profile='x': must be one of"),
        (("size = 7", "size = 2"), "size=2"),
        (('name = "small"', "name = 3"), "name=3"),
        (('name = "small"', "name = "), "not TOML"),
        (("size = 7", "terminal_rewards = {numeric = 'much'}"), "terminal_rewards.numeric='much'"),
        (("size = 7", "terminal_rewards = {numeric = '-1 R*'}"), r"terminal_rewards.numeric='-1 R\*'"),
        (
            ("size = 7", "terminal_rewards = {numerc = 1}"),
            r"terminal_rewards: kind='numerc': must be .*\(did you mean numeric\?\)",
        ),
        (("size = 7", "base = 'gone.toml'"), r"gone\.toml: cannot be read"),
        (("size = 7", "base = '../small.toml'"), r"base='\.\./small\.toml': must name a TOML file of the same folder"),
        (("size = 7", "base = 'small.toml'"), "one that has no base itself"),
    ],
)
def test_bad_toml_files_are_refused_in_one_line_with_the_key(toml, capsys, change, message):
    path = toml(TOML.replace(*change))
    with pytest.raises(ConfigError, match=message):
        Experiment.load(path)
    assert main(["run", str(path), "--out", str(path.with_suffix(".h5"))]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not path.with_suffix(".h5").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "qiuck"], "suite 'qiuck' is unknown (did you mean quick?)"),
        (["run", "nowhere.toml"], "nowhere.toml: cannot be read"),
        (["run", "quick", "--shard", "3/2"], "expected i/N"),
        (["run", "quick", "--shard", "x"], "expected i/N"),
        (["run", "quick", "--seeds", "0"], "seeds=0"),
        (["run", "quick", "-j", "0", "--out", "x.h5"], "workers=0"),
        (["run", "quick", "--out", "/nowhere/x.h5"], "the folder /nowhere does not exist"),
        (["run", "quick", "--out", "/proc/x.h5"], "/proc/x.h5: cannot be written"),
        (["run", "quick", "--scheduler", "tcp://127.0.0.1:1", "--out", "x.h5"], "cannot be reached"),
        (["info", "nowhere.h5"], "nowhere.h5: cannot be read"),
        (["merge", "nowhere.h5", "--out", "x.h5"], "nowhere.h5: cannot be read"),
    ],
)
def test_bad_arguments_of_run_are_refused_in_one_line(capsys, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fastrm.experiments.executors.CONNECT", "1s")
    assert main(arguments) == 2
    printed = capsys.readouterr().err
    assert message in printed and printed.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_missing_map_file_is_named(toml):
    with pytest.raises(MapError, match=r"gone\.map: cannot be read"):
        Plan.of(Experiment.load(toml(TOML.replace("size = 7", "map_files = ['gone.map']"))))


def test_the_suites_that_come_with_fastrm_are_sound():
    paper, fewer = 92 * 3 * 8 * 6, 32 * 3 * 8 * 6
    counts = {
        "paper": paper,
        "paper-optimistic": paper,
        "paper-nearest": fewer,
        "paper-clean": fewer,
        "paper-critical": fewer,
        "paper-zero": fewer,
        "quick": 144,
    }
    for name, count in counts.items():
        experiment = Experiment.named(name)
        assert experiment.name == name and Plan.of(experiment).count == count


def test_a_toml_file_says_only_what_differs_from_its_base(toml, tmp_path):
    toml()
    (tmp_path / "other.toml").write_text('base = "small.toml"\nsteps = 500\n')
    assert Experiment.load(tmp_path / "other.toml") == replace(Experiment.load(toml()), name="other", steps=500)
    (tmp_path / "other.toml").write_text('base = "small.toml"\n[learner]\ngamma = 0.8\n')
    learner = Experiment.load(tmp_path / "other.toml").learner
    assert (learner.gamma, learner.tick) == (0.8, 500)  # tables are merged key by key
    toml(TOML.replace("seeds", "seed"))
    with pytest.raises(ConfigError, match=r"small\.toml:\d+: unknown key 'seed'"):
        Experiment.load(tmp_path / "other.toml")


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (("seeds = 2", "seeds = 0"), "seeds = 0"),
        (("seeds = 2", "seed = 2"), "seed = 2"),
        (('"a-b"', '"a--b"'), "a--b"),
        (('"hrm-num"', '\n"hrm-mun"'), "hrm-mun"),
        (("tick = 500", "alpha = 7"), "alpha = 7"),
        (("size = 7", "base = '../x.toml'"), "base = "),
        (('["1a1b"]', '["1a1b wals 0.2"]'), "wals"),
    ],
)
def test_a_message_about_a_toml_file_begins_with_the_line_of_the_culprit(toml, change, place):
    path = toml(TOML.replace(*change))
    lines = path.read_text().splitlines()
    number = 1 + next(k for k, line in enumerate(lines) if place in line)
    with pytest.raises(ConfigError) as refused:
        Experiment.load(path)
    assert str(refused.value).startswith(f"{path}:{number}: ")


def test_a_setting_of_the_base_is_blamed_on_the_base(toml, tmp_path):
    path = toml(TOML.replace("seeds = 2", "seeds = 0"))
    (tmp_path / "other.toml").write_text('base = "small.toml"\nsteps = 500\n')
    with pytest.raises(ConfigError, match=rf"^{path}:\d+: seeds=0"):
        Experiment.load(tmp_path / "other.toml")


def test_long_and_short_names_of_kinds_are_the_same_experiment(toml):
    short = TOML.replace("size = 7", "size = 7\nterminal_rewards = {num = 5}")
    long = short.replace("{num =", "{numeric =")
    for name, kind in SHORT_KINDS.items():
        long = re.sub(rf'("[a-z]+(-rs)?)-{name}"', rf'\1-{kind}"', long)
    assert long != short
    one, two = (Plan.of(Experiment.load(toml(text))) for text in (short, long))
    assert one.to_json() == two.to_json() and one.digest == two.digest


def test_methods_may_be_given_as_a_product(toml):
    line = next(line for line in TOML.splitlines() if line.startswith("methods"))
    one, two = (
        Plan.of(Experiment.load(toml(TOML.replace(line, text))))
        for text in (
            'methods = ["hrm-num@0.5", "qrm-bool", "qrm-num", "crm-rs-bool", "crm-rs-num"]',
            'learners = ["qrm", "crm-rs"]\nmethods = ["hrm-num@0.5"]\nkinds = ["boolean", "num"]',
        )
    )
    assert one.to_json() == two.to_json() and one.attributes() == two.attributes()
    assert [one.run_id(k) for k in range(one.count)] == [two.run_id(k) for k in range(two.count)]


def test_learners_alone_are_methods_for_machine_files():
    made = Experiment(name="x", setups=("1a",), machine_files=("x.rm",), learners=("qrm", "crm-rs"))
    assert made.methods == ("qrm", "crm-rs") and replace(made, seeds=2).methods == made.methods
    assert replace(made, methods=(), learners=("hrm@0.5",)).methods == ("hrm@0.5",)


@pytest.mark.parametrize(
    ("base", "changes", "methods"),
    [
        ('methods = ["hrm-num"]', 'learners = ["qrm"]\nkinds = ["bool"]', ("qrm-bool",)),
        ('learners = ["qrm"]\nkinds = ["bool"]', 'kinds = ["num", "pot"]', ("qrm-num", "qrm-pot")),
        ('learners = ["qrm"]\nkinds = ["bool"]', 'learners = ["crm"]', ("crm-bool",)),
        ('learners = ["qrm"]\nkinds = ["bool"]', 'methods = ["hrm-num"]', ("hrm-num",)),
    ],
)
def test_methods_given_in_one_way_replace_those_that_the_base_gives_in_another(toml, tmp_path, base, changes, methods):
    toml(re.sub(r"(?m)^methods.*$", base, TOML))
    (tmp_path / "other.toml").write_text(f'base = "small.toml"\n{changes}\n')
    assert Experiment.load(tmp_path / "other.toml").methods == methods


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            'learners = ["crn"]\nkinds = ["bool"]',
            r":\d+: learners: 'crn' is unknown \(did you mean crm\?\)",
        ),
        (
            'learners = ["crm-bool"]\nkinds = ["num"]',
            r":\d+: learners: 'crm-bool' names a kind of reward; write crm",
        ),
        ('learners = ["crm"]\nkinds = ["bol"]', r":\d+: kinds: kind='bol': must be .*\(did you mean bool\?\)"),
        ('learners = ["crm"]\nkinds = ["bool", "boolean"]', r":\d+: kinds: 'bool' and 'boolean' mean the same"),
        ('learners = "crm"\nkinds = ["bool"]', r":\d+: learners='crm': must be a list of strings"),
        ('kinds = ["bool"]', r":\d+: kinds=\('bool',\): go with learners"),
        (
            'learners = ["qrm", "coupled"]\nkinds = ["bool", "num"]',
            r":\d+: method 'coupled-num': coupled learns tasks of",
        ),
        ('learners = ["crm"]', r":\d+: method 'crm' names no kind of reward"),
        ("", "no methods: give a list such as"),
    ],
)
def test_a_bad_product_is_refused_with_its_line(toml, given, message):
    with pytest.raises(ConfigError, match=message):
        Experiment.load(toml(re.sub(r"(?m)^methods.*$", given, TOML)))


@pytest.mark.parametrize(("short", "kind"), SHORT_KINDS.items())
def test_method_names_may_hold_the_long_name_of_a_kind(short, kind):
    assert Method.parse(f"crm-rs-{kind}").label == f"crm-rs-{short}"
    assert Method.parse(f"hrm-{kind}@0.5").label == f"hrm-{short}@0.5"


def test_two_names_of_one_kind_are_refused(toml):
    with pytest.raises(ConfigError, match="'qrm-bool' and 'qrm-boolean' mean the same, and would be run twice"):
        Experiment.load(toml(TOML.replace('"hrm-num"', '"qrm-boolean"')))


def test_suites_are_listed_with_their_sizes_and_without_the_published_data(monkeypatch):
    monkeypatch.delenv("FASTRM_REFERENCE", raising=False)
    suites = {suite.name: suite for suite in list_suites()}
    assert {path.stem for path in (ROOT / "bench" / "suites").glob("*.toml")} == set(suites)
    assert all(20 < len(suite.description) <= 76 and suite.description.endswith(".") for suite in suites.values())
    for name in ("quick", "paper", "beyond"):
        assert suites[name].runs == Plan.of(Experiment.named(name)).count and not suites[name].needs_reference
    assert len(suites["icarte"].steps) == 4 and suites["icarte"].needs_reference


def test_thresholds_without_multiples_are_refused(toml, tmp_path):
    with pytest.raises(ConfigError, match=r"terminal_rewards.boolean='1.1 R\*': R\* of task a is 0"):
        Plan.of(Experiment.load(toml(TOML.replace("size = 7", "terminal_rewards = {boolean = '1.1 R*'}"))))
    (tmp_path / "long.map").write_text(f"X{'X' * 1204}X\nXA a{' ' * 1200}bX\nX{'X' * 1204}X\n")
    far = TOML.replace("gamma", "").replace("setups = ['1a1b']", "").replace("tick = 500", "tick = 500\ngamma = 0.5")
    far = far.replace("size = 7", "map_files = ['long.map']\nterminal_rewards = {numeric = '1.1 R*'}")
    with pytest.raises(ConfigError, match="beyond floating point"):
        Plan.of(Experiment.load(toml(far)))


def test_two_maps_of_one_name_are_refused(toml, tmp_path):
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "m.map").write_text("XXXX\nXAaX\nXXXX\n")
    with pytest.raises(ConfigError, match="two maps are called 'm'"):
        Plan.of(Experiment.load(toml(TOML.replace("size = 7", "map_files = ['x/m.map', 'y/m.map']"))))


def test_terminal_rewards_follow_the_exact_threshold_of_each_map(toml):
    plan = Plan.of(Experiment.load(toml(TOML.replace("size = 7", "terminal_rewards = {numeric = '1.1 R*'}"))))
    for grid, task in product(range(2), range(2)):
        problem = plan.problem(grid, task, 2)
        verdict = guarantee(problem)
        paid = problem.tables.reward[problem.tables.outcome == SUCCESS]
        assert verdict.is_shortest and (paid == paid[0]).all()
        assert paid[0] == pytest.approx(verdict.critical_reward + 0.1 * abs(verdict.critical_reward), rel=1e-12)
    assert plan.machines(0, 1, 2) != plan.machines(1, 1, 2)
    assert plan.machines(0, 1, 0) == plan.machines(1, 1, 0)


def test_a_dry_run_says_how_much_it_would_be(capsys, tmp_path):
    assert main(["run", "quick", "--dry-run", "--out", str(tmp_path / "x.h5")]) == 0
    printed = capsys.readouterr().out
    assert "= 144 runs\n" in printed and "200 000 a run" in printed and re.search(r"about \d+ s with ", printed)
    assert not list(tmp_path.iterdir())


def test_a_dry_run_where_machines_differ_from_map_to_map_is_no_refusal(toml, capsys):
    path = toml(TOML.replace("size = 7", "terminal_rewards = {numeric = '1.1 R*'}"))
    assert main(["run", str(path), "--dry-run"]) == 0
    assert "time " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": ()}, "no methods: give a list such as"),
        ({"setups": ("1a1b", "1a1b open")}, "setups: '1a1b' and '1a1b open' mean the same"),
        ({"setups": ("1a1b walls 0.2", "1a1b walls 0.20")}, "mean the same, and would be run twice"),
        ({"tasks": ("{a,b}", "{a, b}")}, "tasks: '{a,b}' and '{a, b}' mean the same"),
        ({"methods": ("crm-pot@0.5", "crm-pot@0.50")}, "mean the same, and would be run twice"),
        ({"tasks": ("a-?",)}, "task 'a-?', column 3"),
        ({"setups": ("1a1b mase",)}, "did you mean maze?"),
        ({"terminal_rewards": {"numeric": "R*"}}, "must be a number, or such as '1.1 R*'"),
        ({"slip": 1.5}, "slip=1.5: must be a number from 0 to 1"),
        ({"scale": 0}, "scale=0"),
        (
            {"tasks": (), "machine_files": ("x.rm",)},
            "names a kind of reward, but machine_files have their own; write 'crm'",
        ),
    ],
)
def test_new_settings_are_checked_when_an_experiment_is_made(changes, message):
    whole = {"name": "x", "setups": ("1a1b",), "tasks": ("a-b",), "methods": ("crm-num",), **changes}
    with pytest.raises(FastrmError) as caught:
        Experiment(**whole)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_thresholds_are_refused_where_moves_slip():
    given = Experiment(name="x", setups=("1a1b",), size=9, tasks=("a-b",), methods=("crm-num",), slip=0.1,
                       terminal_rewards={"numeric": "1.1 R*"})  # fmt: skip
    with pytest.raises(ConfigError, match=r"R\* is for moves that do not slip"):
        Plan.of(given)


def test_failed_runs_never_got_anywhere_and_say_where(tmp_path):
    given = Experiment(name="x", setups=("1a1b",), size=9, tasks=("a", "a-z"), methods=("crm-bool",), steps=20_000)
    results = fastrm_run(given, out=tmp_path / "x.h5")
    failed = results.select(task="a-z")
    assert np.isnan(failed["score"]).all() and np.isnan(failed["steps_to_90"]).all()
    assert failed["greedy_length"].tolist() == [-1] and "task a-z on map 1a1b 0: " in failed["error"][0]
    rows = results.summary()
    assert rows[1]["runs"] == 0 and np.isnan(rows[1]["iqm"]) and rows[0].keys() == rows[1].keys()
    with pytest.raises(ConfigError, match="is a folder; name a result file such as"):
        fastrm_run(given, out=tmp_path)


def test_every_run_knows_the_ceiling_of_its_score(toml, tmp_path):
    experiment = replace(Experiment.load(toml()), methods=("crm-bool", "qrm-num"))
    results = fastrm_run(experiment, tmp_path / "x.h5")
    for run in range(results.runs):
        problem = results.plan.problem(*results.plan.coordinates(run)[:3])
        assert results["ceiling"][run] == score_ceiling(problem)[0] >= 0.99 * results["optimal_arps"][run]
    short = replace(experiment, learner=replace(experiment.learner, episode_limit=5, epsilon=0.3))
    results = fastrm_run(short, tmp_path / "short.h5")
    assert results["ceiling"][0] == score_ceiling(results.plan.problem(0, 0, 0), 0.3, 5)[0]


def test_the_ceiling_of_tasks_in_turn_is_that_of_their_mean_score(toml, tmp_path):
    experiment = replace(Experiment.load(toml()), methods=("crm-bool",), rotate=True, maps=1)
    results = fastrm_run(experiment, tmp_path / "x.h5")
    problem = results.plan.problem(0, 0, 0)
    ratios = np.array(score_ceiling(problem)) / np.array(optimal_arps(problem))
    assert len(ratios) == 2
    assert results["ceiling"] / results["optimal_arps"] == pytest.approx(np.mean(ratios), rel=1e-12)


def test_a_ceiling_that_cannot_be_found_fails_no_run(toml, tmp_path, monkeypatch):
    def broken(*_):
        raise MemoryError

    monkeypatch.setattr(batches, "score_ceiling", broken)
    experiment = replace(Experiment.load(toml()), root_seed=5)
    results = fastrm_run(experiment, tmp_path / "x.h5", isolation="thread")
    assert results.complete and np.isnan(results["ceiling"]).all() and (results["optimal_arps"] > 0).all()
