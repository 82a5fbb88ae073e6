"""A learner of one's own: one kernel file, one file, one line of registration, and it works wherever a name does."""

import json
import subprocess
import sys
from typing import get_args

import numpy as np
import pytest

from fastrm import (
    ConfigError,
    Experiment,
    GridMap,
    LearnerConfig,
    RewardMachine,
    compile,
    config,
    load,
    run,
    train,
    train_many,
)  # fmt: skip
from fastrm.bench.__main__ import main
from fastrm.bench.speed import measure
from fastrm.experiments import Plan
from fastrm.learners import Batch, registry

from esarsa import ExpectedSarsa

SETTINGS = {
    "name": "own", "setups": ("1a1b",), "maps": 2, "size": 9, "tasks": ("a-b",), "seeds": 3, "steps": 40_000,
    "learner": LearnerConfig(tick=2000),
}  # fmt: skip


@pytest.fixture
def esarsa():
    registry.register(ExpectedSarsa())
    yield "esarsa"
    registry.forget("esarsa")


def test_names_are_known_without_numba():
    code = (
        "import sys; from fastrm.learners import registry; "
        "assert registry.names()[:3] == ('qrm', 'crm', 'hrm') and 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_it_trains_and_follows_its_equation(esarsa):
    problem = compile(GridMap.generate("1a1b", size=9, seed=1), RewardMachine.sequence("a-b"))
    runs = train_many(problem, esarsa, steps=100_000, seeds=[0, 1])
    assert [one.greedy_length for one in runs] == [problem.shortest[0]] * 2
    assert runs[1].q.tobytes() == train(problem, esarsa, steps=100_000, seed=1).q.tobytes()
    batch = Batch(problem, esarsa, steps=300, seeds=[3], tick=1, gamma=0.5, alpha=0.5, epsilon=0.25, optimum=[1.0])
    q = batch.values(0).q
    for _ in range(300):
        s, u = (int(batch.state.agents[0][name]) for name in ("s", "u"))
        batch.advance(1)
        now = batch.values(0).q
        for a in np.flatnonzero(now[s, u] != q[s, u]):
            taken = problem.step(s, u, int(a))
            ahead = q[taken.s, taken.u] if taken.is_live else np.zeros(4)
            mean = 0.25 * (0.25 * (ahead[0] + ahead[1] + ahead[2] + ahead[3])) + 0.75 * ahead.max()
            q[s, u, a] += 0.5 * (taken.reward + 0.5 * mean - q[s, u, a])
        assert now.tobytes() == q.tobytes()


def test_it_works_in_experiments_files_plots_and_speed(esarsa, tmp_path, capsys):
    out = tmp_path / "own.h5"
    results = run(Experiment(**SETTINGS, methods=("crm-bool", "esarsa-bool", "esarsa-rs-num")), out, workers=2)
    assert results.complete and (results.select(method="esarsa-bool")["solved"] == 1).all()
    assert run(Experiment(**SETTINGS, methods=("esarsa-bool",)), tmp_path / "one.h5").complete
    assert main(["plot", str(out), "--out", str(tmp_path / "figures")]) == 0
    assert (tmp_path / "figures" / "all-maps.png").stat().st_size > 10_000
    assert main(["plot", str(out), "--text"]) == 0 and main(["info", str(out)]) == 0
    row = measure.kernel_row(esarsa, "boolean", 41, 20_000, 1, "no C here")
    assert row["steps_per_s"] > 0 and row["vs_c"] is None and row["vs_naive"] is None
    capsys.readouterr()


def test_it_works_in_worker_processes(esarsa, tmp_path):
    experiment = Experiment(**SETTINGS, methods=("esarsa-bool",))
    here, there = (run(experiment, tmp_path / f"{k}.h5", isolation=k, workers=1) for k in ("thread", "process"))
    assert there.complete and here["score"].tobytes() == there["score"].tobytes()


def test_it_leaves_the_identity_of_others_alone(esarsa, tmp_path):
    experiment = Experiment(**SETTINGS, methods=("crm-bool", "hrm-num"))
    with_it = Plan.of(experiment)
    ids = [with_it.run_id(k) for k in range(with_it.count)]
    run(experiment, tmp_path / "x.h5", shard=(1, 2))
    registry.forget("esarsa")
    without = Plan.from_json(with_it.to_json())
    assert [without.run_id(k) for k in range(without.count)] == ids and without.digest == with_it.digest
    assert run(experiment, tmp_path / "x.h5").complete


def test_files_of_a_learner_that_is_not_known_here_can_be_read(esarsa, tmp_path):
    run(Experiment(**SETTINGS, methods=("esarsa-bool",)), tmp_path / "x.h5")
    registry.forget("esarsa")
    results = load(tmp_path / "x.h5")
    assert results.complete and len(results.summary()) == 1 and results["algo"][0] == "esarsa"
    with pytest.raises(ConfigError, match="method 'esarsa-bool' is unknown"):
        run(Experiment(**SETTINGS, methods=("esarsa-bool",)), tmp_path / "x.h5")


def test_types_name_every_learner_and_profile():
    assert get_args(registry.LearnerName) == tuple(registry.BUILT_IN)
    assert get_args(config.ProfileName) == tuple(config.PROFILES)


def test_names_that_are_taken_or_not_words_are_refused():
    for name in ("my learner", "", "Big", "a-", "-a", "a--b"):
        with pytest.raises(ConfigError, match="a name is lower-case letters, digits and hyphens"):
            registry.register(type("Odd", (ExpectedSarsa,), {"name": name})())
    for name in ("mine-rs", "mine-num", "mine-num-bool", "num", "my-boolean"):
        with pytest.raises(ConfigError, match="would be read as shaping or as a kind of machine"):
            registry.register(type("Odd", (ExpectedSarsa,), {"name": name})())
    for name in registry.BUILT_IN:
        with pytest.raises(ConfigError, match="there is one of this name already"):
            registry.register(type("Other", (ExpectedSarsa,), {"name": name})())
    with pytest.raises(ConfigError, match=r"alhpa: no such setting \(did you mean alpha\?\)"):
        registry.register(type("Odd", (ExpectedSarsa,), {"settings": ("alhpa",)})())
    with pytest.raises(ConfigError, match="learner 'half': has no 'begin'"):
        registry.register(type("Half", (), {"name": "half", "semantics": 1, "settings": (), "per_state": True})())
    with pytest.raises(ConfigError, match=r"algo='qmr': must be one of qrm, crm, hrm.*did you mean qrm"):
        registry.find("qmr")


@pytest.mark.parametrize(
    ("algo", "setting", "value", "reads"),
    [
        ("qrm", "r_max", 2.0, False), ("hrm", "r_max", 2.0, True), ("crm", "controller_alpha", 0.1, False),
        ("crm", "alpha", 0.1, True), ("qrm", "tick", 1000, True), ("crm", "self_loop_options", True, False),
    ],
)  # fmt: skip
def test_a_run_is_identified_by_the_settings_its_learner_reads(algo, setting, value, reads):
    def plan(**changes):
        return Plan.of(Experiment(**SETTINGS | {"learner": LearnerConfig(**changes)}, methods=(f"{algo}-bool",)))

    changed = plan(**{setting: value}).run_id(0) != plan().run_id(0)
    assert changed == reads and (plan(**{setting: value}).digest != plan().digest) == reads


@pytest.mark.parametrize(
    ("algo", "switch", "reads"),
    [
        ("qrm", "prune", False), ("crm", "prune", True), ("crm", "merge_terminals", False),
        ("hrm", "merge_terminals", True), ("hrm", "failure_options", True), ("crm", "failure_options", False),
        ("qrm", "falls_off", True), ("crm", "qrm_bootstraps_at_limit", False),
    ],
)  # fmt: skip
def test_and_by_the_switches_of_a_profile_that_it_reads(algo, switch, reads):
    plans = [
        Plan.of(Experiment(**SETTINGS, methods=(f"{algo}-bool",), profile=profile))
        for profile in ("clean", f"clean + {switch}")
    ]
    assert (plans[0].run_id(0) != plans[1].run_id(0)) == reads


def test_other_semantics_are_another_run(monkeypatch):
    plan = Plan.of(Experiment(**SETTINGS, methods=("crm-bool", "qrm-bool")))
    before = plan.run_id(0), plan.run_id(3)
    monkeypatch.setattr(type(registry.find("crm")), "semantics", 99)
    again = Plan.of(Experiment(**SETTINGS, methods=("crm-bool", "qrm-bool")))
    assert again.run_id(0) != before[0] and again.run_id(3) == before[1]
    assert json.loads(again.attributes()["semantics"]) == {"crm": 99, "qrm": registry.find("qrm").semantics}
