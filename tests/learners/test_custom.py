"""Learners of others: one module of names, a kernel on CRM's sweep in under 40 lines, settings of their own, classes
in plain Python. The learners are those that the tutorials show."""

import ast
import importlib
import inspect
import math
import re
import sys
from itertools import product

import numpy as np
import pytest

import fastrm
import fastrm.custom
from fastrm import ConfigError, Experiment, GridMap, LearnerConfig, RewardMachine, TableWorld, WaterWorld
from fastrm.bench.speed import measure
from fastrm.experiments import Plan
from fastrm.learners import Batch, registry

import naive
import pages
from compare import PROFILES, assert_equal
from machine_specs import machine_text, sequence_spec
from sizes import either

TUTORIALS = ("my-own-learner", "my-own-learner-ucb", "my-own-learner-in-python")
LEARNER_PAGES = [pages.DOCS / "tutorials" / f"{name}.md" for name in TUTORIALS]
MAP = """\
XXXXXXX
XA  X X
X  a  X
X X   X
Xb  A X
XXXXXXX"""
SPECS = [sequence_spec("a-b", "numeric"), sequence_spec("b-a", "boolean")]
STEPS = 400


def files_of(page):
    """Return the Python files that a page shows, by name."""
    blocks = pages.blocks_of(page.read_text())
    return {b.notes["file"]: "\n".join(b.lines) + "\n" for b in blocks if b.language == "python" and "file" in b.notes}


@pytest.fixture
def shown(tmp_path, monkeypatch):
    """The files of the tutorials, in a folder from which they can be imported; what they register is forgotten."""
    for page in LEARNER_PAGES:
        for name, text in files_of(page).items():
            (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    before, modules = registry.names(), set(sys.modules)
    yield importlib.import_module
    for name in set(registry.names()) - set(before):
        registry.forget(name)
    for name in set(sys.modules) - modules:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def problem_of(tasks=1, slip=0.0, starts=2, profile="clean"):
    text = MAP if starts == 2 else MAP.replace("A X\nXXX", "  X\nXXX")
    machines = [RewardMachine.parse(machine_text(spec)) for spec in SPECS[:tasks]]
    return text, fastrm.compile(GridMap.parse(text), machines, slip=slip, profile=profile)


def assert_equals_the_oracle(oracle_class, algo, *, tasks=1, slip=0.0, starts=2, shaping=False, profile="clean"):
    text, problem = problem_of(tasks, slip, starts, profile)
    settings, optimum = {"tick": 37, "window": 5}, [0.5 + 0.25 * i for i in range(tasks)]
    batch = Batch(
        problem, algo, steps=STEPS, seeds=[3, 7], shaping=shaping, optimum=optimum, episodes=True, episode_limit=25,
        q_init=1.0, **settings,
    )  # fmt: skip
    batch.advance(100)  # in pieces, which no run may notice
    batch.advance(STEPS)
    for i, seed in enumerate(batch.seeds):
        oracle = oracle_class(
            text, SPECS[:tasks], seed, shaping=shaping, optimum=optimum, limit=25, slip=slip, q_init=1.0,
            profile=PROFILES[profile], **settings,
        )  # fmt: skip
        assert_equal(oracle.run(STEPS), batch, i)


class NaiveUcb(naive.CRM):
    """CRM that takes the action with the largest upper confidence bound."""

    c = 0.03

    def act(self):
        self.__dict__.setdefault("visits", {})
        visits = [self.visits.get((self.s, self.u, a), 0) for a in self.actions]
        bounds = [
            self.value(self.s, self.u, a) + self.c * math.sqrt(math.log(sum(visits)) / n) if n else math.inf
            for a, n in zip(self.actions, visits, strict=True)
        ]
        best = [a for a in self.actions if bounds[a] == max(bounds)]
        a = best[(next(self.draws) & 0xFFFFFFFF) * len(best) >> 32]
        self.visits[self.s, self.u, a] = visits[a] + 1
        return a


# --- one module of names ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [*LEARNER_PAGES, *sorted((pages.DOCS / "howto").glob("*.md"))], ids=pages.name_of)
def test_learners_on_pages_import_nothing_of_fastrm_but_the_documented_module(page):
    for name, text in files_of(page).items():
        found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
        modules = [getattr(node, "module", None) or alias.name for node in found for alias in node.names]
        if any(module == "fastrm.custom" or ".kernels" in module for module in modules):
            assert {module for module in modules if module.startswith("fastrm")} == {"fastrm.custom"}, name
    assert page not in LEARNER_PAGES or files_of(page)


def test_every_name_is_on_its_page_with_its_arguments():
    rows = re.findall(r"^\| `(\w+)\((.*?)\)` \|", (pages.DOCS / "reference" / "custom.md").read_text(), re.M)
    written = {name: arguments for name, arguments in rows if name in fastrm.custom.__all__}
    assert sorted(written) == fastrm.custom.__all__
    for name in fastrm.custom.__all__:
        thing = getattr(fastrm.custom, name)
        if not inspect.isclass(thing):
            assert written[name] == ", ".join(inspect.signature(getattr(thing, "py_func", thing)).parameters), name


# --- a kernel on CRM's sweep -----------------------------------------------------------------------------------------


def test_ucb_on_the_sweep_takes_less_than_40_lines():
    lines = files_of(LEARNER_PAGES[1])["ucb.py"].splitlines()
    assert 20 < sum(bool(line.strip()) for line in lines) < 40


@pytest.mark.parametrize(
    "case", [{"starts": 1}, {"tasks": 2, "slip": 0.3, "shaping": True}], ids=["plain", "slip, tasks, starts, shaping"]
)
def test_ucb_equals_its_naive_twin_to_the_bit(shown, case):
    shown("ucb")
    assert_equals_the_oracle(NaiveUcb, "ucb", **case)


def test_a_setting_of_its_own_identifies_runs_and_reaches_worker_processes(shown, tmp_path, monkeypatch):
    ucb = shown("ucb")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    fastrm.register(ucb.Ucb(name="ucb-1", c=1.0))
    experiment = Experiment(
        name="x", setups=("1a1b",), maps=1, size=7, tasks=("a-b",), methods=("ucb-bool", "ucb-1-bool"), steps=4000,
        learner=LearnerConfig(tick=500),
    )  # fmt: skip
    here, there = (fastrm.run(experiment, tmp_path / f"{k}.h5", isolation=k, workers=1) for k in ("thread", "process"))
    assert there.complete and here["reward"].tobytes() == there["reward"].tobytes()
    assert here["reward"][0].tolist() != here["reward"][1].tolist()
    before = Plan.of(experiment).run_id(1)
    fastrm.register(ucb.Ucb(name="ucb-1", c=0.5))
    assert Plan.of(experiment).run_id(1) != before
    fastrm.register(ucb.Ucb(name="ucb-1", c=1.0))
    assert Plan.of(experiment).run_id(1) == before
    with pytest.raises(ConfigError, match=r"learner 'ucb-1': c=\[1\]: must be a number, text or a truth value"):
        fastrm.register(ucb.Ucb(name="ucb-1", c=[1]))
    cure = r"c: is an attribute of the learner 'ucb'; register Ucb\(\.\.\.\) with another c, under another name"
    with pytest.raises(ConfigError, match=cure):
        fastrm.train(problem_of(starts=1)[1], "ucb", c=2.0)
    with pytest.raises(ConfigError, match=cure):
        Experiment(name="x", setups=("1a",), tasks=("a",), methods=("ucb-bool",), learner={"c": [0.1, 1.0]})
    with pytest.raises(ConfigError, match=r"bonus: no such setting"):
        fastrm.register(type("Odd", (ucb.Ucb,), {"settings": ("bonus",)})(name="odd"))


# --- in plain Python -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algo", ["qrm", "crm"])
def test_learners_in_plain_python_equal_the_oracle_to_the_bit(shown, algo):
    shown("slow_crm")
    for tasks, slip, starts, shaping in product((1, 2), (0.0, 0.3), (1, 2), (False, True)):
        assert_equals_the_oracle(
            naive.LEARNERS[algo], f"slow-{algo}", tasks=tasks, slip=slip, starts=starts, shaping=shaping
        )


def test_and_on_tables_with_other_numbers_of_actions_and_with_schedules(shown):
    shown("slow_crm")
    next_s = [[(s + k) % 7 for k in range(1, 6)] for s in range(7)]
    labels = [{"a"} if s == 2 else {"b"} if s == 5 else set() for s in range(7)]
    world = TableWorld(next_s, labels, start=[0, 3])
    three = [[[there, (3 * there) % 7, s] for there in row] for s, row in enumerate(next_s)]
    by_chance = TableWorld(three, labels, start=[0, 3], probability=[[[0.5, 0.2, 0.3]] * 5] * 7)
    machine = RewardMachine.parse(machine_text(SPECS[1]))
    problems = fastrm.compile(world, machine, slip=0.25), fastrm.compile(by_chance, machine)
    for algo, problem in product(either(("qrm", "crm"), ("crm",)), problems):
        settings = {"steps": 2500, "seed": 5, "tick": "log", "alpha": fastrm.linear(0.9, 0.1, 2000), "epsilon": 0.3}
        fast, slow = (fastrm.train(problem, name, greedy=True, **settings) for name in (algo, f"slow-{algo}"))
        assert fast.q.tobytes() == slow.q.tobytes() and fast.greedy_lengths == slow.greedy_lengths
        assert fast.score.tobytes() == slow.score.tobytes() and fast.reward.tobytes() == slow.reward.tobytes()
        assert np.array_equal(fast.greedy_curve, slow.greedy_curve, equal_nan=True)


def test_they_run_in_experiments_in_threads_and_processes_and_are_measured(shown, tmp_path, monkeypatch):
    shown("slow_crm")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    experiment = Experiment(
        name="x", setups=("1a1b",), maps=1, size=7, tasks=("a-b",), methods=("crm-bool", "slow-crm-bool"), seeds=2,
        steps=3000, learner=LearnerConfig(tick=500),
    )  # fmt: skip
    here, there = (fastrm.run(experiment, tmp_path / f"{k}.h5", isolation=k, workers=2) for k in ("thread", "process"))
    for name in ("score", "reward", "greedy_length", "solved"):
        assert here[name].tobytes() == there[name].tobytes()
        assert here[name][:2].tobytes() == here[name][2:].tobytes()
    assert here["run_id"][0] != here["run_id"][2]
    row = measure.kernel_row("slow-qrm", "boolean", 41, 20_000, 1, "no C here")
    assert row["steps_per_s"] > 0 and row["vs_c"] is None


def test_a_run_in_plain_python_is_asked_saved_and_begun_with_like_any_other(shown, tmp_path):
    shown("slow")
    problem = fastrm.compile(GridMap.generate("1a1b", size=7, seed=1), fastrm.task("a-b"))
    run = fastrm.train(problem, "slow-qrm", steps=6000, q_init=1.0)
    assert run.solved and run.evaluate().success == 1 and run.act((problem.starts[0], "u0")) in range(4)
    run.save(tmp_path / "run.npz")
    loaded = fastrm.load_run(tmp_path / "run.npz")
    assert loaded.q.tobytes() == run.q.tobytes() and loaded.greedy_path == run.greedy_path
    both = [fastrm.train(problem, algo, steps=500, warm_start=run) for algo in ("qrm", "slow-qrm")]
    assert both[0].q.tobytes() == both[1].q.tobytes() != run.q.tobytes()
    many = fastrm.train_many(problem, "slow-qrm", steps=500, seeds=[4, 9])
    assert many[1].q.tobytes() == fastrm.train(problem, "slow-qrm", steps=500, seed=9).q.tobytes()


def test_a_learner_without_a_table_is_followed_by_what_it_calls_best_and_cannot_be_saved(shown, tmp_path):
    shown("table_free")
    problem = fastrm.compile(GridMap.generate("1a1b", size=7, seed=1), fastrm.task("a-b"))
    run, again = (fastrm.train(problem, "habit", steps=3000, seed=2) for _ in range(2))
    assert run.q.tobytes() == again.q.tobytes() and np.unique(run.q).tolist() == [0.0, 1.0]
    assert run.greedy_length is not None and run.evaluate().length[1] == run.greedy_length
    with pytest.raises(ConfigError, match="save: habit has no 'put', so it cannot begin again with what it learned"):
        run.save(tmp_path / "x.npz")
    with pytest.raises(ConfigError, match="warm_start: habit has no 'put'"):
        fastrm.train(problem, "habit", steps=10, warm_start=run)


def test_what_a_learner_in_plain_python_cannot_be_is_said_in_one_line(shown):
    slow = shown("slow").SlowQrm
    problem = fastrm.compile(GridMap.generate("1a1b", size=7, seed=1), fastrm.task("a-b"))
    for answer in (4, -1, 1.5, None, True):
        fastrm.register(type("Odd", (slow,), {"name": "odd", "act": lambda self, s, u, answer=answer: answer})())
        with pytest.raises(ConfigError, match=r"'odd': act returned .*; it must be a whole number from 0 to 3$"):
            fastrm.train(problem, "odd", steps=10)
        registry.forget("odd")
    for member in ("begin", "act", "learn"):
        parts = {name: lambda *_: None for name in ("begin", "act", "learn") if name != member}
        with pytest.raises(ConfigError, match=rf"learner 'half': has no '{member}'; see fastrm\.custom\."):
            fastrm.register(type("Half", (), {"name": "half", **parts})())
    with pytest.raises(ConfigError, match="learner 'SlowQrm': a class; register an object"):
        fastrm.register(slow)
    water = fastrm.compile(WaterWorld.generate(seed=1), fastrm.task("a"))
    with pytest.raises(ConfigError, match="algo on Water world='slow-qrm': must be one of qrm, crm"):
        fastrm.train(water, "slow-qrm", steps=10)


def test_its_numbers_and_words_identify_a_run_unless_it_names_what_it_reads():
    class Tuned:
        name = "tuned"

        def __init__(self, power):
            self.power, self.table = power, {}

        def begin(self, trial):
            """Need nothing."""

        def act(self, s, u):
            return 0

        def learn(self, move):
            """Learn nothing."""

    def identity(power, **settings):
        fastrm.register(Tuned(power))
        methods, learner = ("tuned-bool",), LearnerConfig(**settings)
        plan = Plan.of(Experiment(name="x", setups=("1a",), size=7, tasks=("a",), methods=methods, learner=learner))
        found = plan.run_id(0)
        registry.forget("tuned")
        return found

    assert identity(1) == identity(1) != identity(2) and identity(1) != identity(1, r_max=2.0)
    Tuned.settings = ("alpha",)
    assert identity(1) == identity(2) == identity(1, r_max=2.0) != identity(1, alpha=0.1)
