"""Warm starts: a run begins with what another has learned."""

from dataclasses import replace

import numpy as np
import pytest

import fastrm

from compare import LEARNERS

GRID = fastrm.GridMap.generate("1a1b", size=9, seed=1)
PROBLEM = fastrm.compile(GRID, fastrm.task("a-b"))


@pytest.mark.parametrize("algo", LEARNERS)
def test_a_run_that_begins_with_what_another_learned_has_its_values_before_the_first_step(algo):
    source = fastrm.train(PROBLEM, algo, steps=20_000)
    batch = fastrm.learners.Batch(PROBLEM, algo, steps=1000, seeds=())
    batch.start([1, 2], source)
    for i in range(2):
        assert batch.values(i).q.tobytes() == source.q.tobytes()
        assert all(batch.values(i).more[name].tobytes() == source.more[name].tobytes() for name in source.more)


def test_columns_are_matched_by_machine_state_and_learners_of_one_kind_take_each_other_s_values():
    text = "states {}\nstart u0\nsuccess done\nu0 -> u1 when a reward 0\nu0 -> u0 otherwise reward 0\n"
    text += "u1 -> done when b reward 1\nu1 -> u1 otherwise reward 0\n"
    here, there = (fastrm.RewardMachine.parse(text.format(states)) for states in ("u0 u1", "u1 u0"))
    source = fastrm.train(fastrm.compile(GRID, here), "crm", steps=50_000)
    swapped = fastrm.compile(GRID, there)
    run = fastrm.train(swapped, "qrm", steps=1, warm_start=source, alpha=0.0)
    assert run.q.tobytes() == np.ascontiguousarray(source.q[:, ::-1]).tobytes() and run.solved
    many = fastrm.train_many(swapped, "sarsa", steps=1, seeds=[3, 4], warm_start=[source, run], alpha=0.0)
    assert many[0].q.tobytes() == many[1].q.tobytes() == run.q.tobytes()


def test_warm_starts_of_another_shape_are_refused_in_one_line():
    source = fastrm.train(PROBLEM, "crm", steps=1000)
    larger = fastrm.compile(fastrm.GridMap.generate("1a1b", size=11, seed=1), fastrm.task("a-b"))
    cases = [
        (larger, "crm", source, "values of 49 cells and 4 actions, and the problem has 81 and 4"),
        (fastrm.compile(GRID, fastrm.task("a")), "crm", source, "states u0, u1, and the problem has u0"),
        (PROBLEM, "hrm", source, "crm and hrm do not keep the same kind of values"),
        (PROBLEM, "crm", source.q, "must be a Run, or a list with a Run for each seed"),
        (PROBLEM, "crm", [source, source], "must be a Run, or a list with a Run for each seed"),
        (PROBLEM, "hrm", fastrm.train(PROBLEM, "hrm", steps=10, self_loop_options=True), "needs .*the same settings"),
    ]
    for problem, algo, given, message in cases:
        with pytest.raises(fastrm.ConfigError, match=message) as caught:
            fastrm.train(problem, algo, steps=10, warm_start=given)
        assert "\n" not in str(caught.value)


def spoiled(array, value):
    """Return a copy of an array with one entry replaced."""
    copy = array.copy()
    copy.flat[len(copy.flat) // 2] = value
    return copy


ODD_VALUES = {
    "nan": lambda q: spoiled(q, np.nan), "inf": lambda q: spoiled(q, np.inf), "-inf": lambda q: spoiled(q, -np.inf),
    "text": lambda q: q.astype(str), "objects": lambda q: q.astype(object), "complex": lambda q: q.astype(complex),
    "truth values": lambda q: q > 0, "lists": lambda q: q.tolist(), "None": lambda q: None,
    "too flat": lambda q: q[:, :, 0],
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD_VALUES.values(), ids=ODD_VALUES)
@pytest.mark.parametrize("algo", ["qrm", "hrm", "double-q", "coupled"])
def test_values_that_are_no_finite_numbers_are_refused_in_one_line(algo, odd):
    source = fastrm.train(PROBLEM, algo, steps=100, optimum=[1.0])
    spoiled_runs = [replace(source, q=odd(source.q))]
    if "controller" in source.more and odd is not ODD_VALUES["too flat"]:
        spoiled_runs.append(replace(source, more={**source.more, "controller": odd(source.controller)}))
    for run in spoiled_runs:
        with pytest.raises(fastrm.ConfigError, match=r"^warm_start: (q|controller): must be") as caught:
            fastrm.train(PROBLEM, algo, steps=10, warm_start=run, optimum=[1.0])
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("algo", "more", "message"),
    [
        ("hrm", {}, "warm_start: the run lacks 'controller'"), ("coupled", {}, "warm_start: the run lacks 'cell'"),
        ("coupled", {"cell": np.array([0, 10**6])}, r"warm_start: cell: must be numbers of cells, or -1"),
        ("coupled", {"cell": np.array([-2, 0])}, "warm_start: cell: must be numbers of cells"),
        ("coupled", {"cell": np.array([0.5, 0])}, "warm_start: cell: must be numbers of cells"),
        ("coupled", {"cell": np.array([0])}, "has a table of shape"),
    ],
)  # fmt: skip
def test_what_else_was_learned_must_be_there_and_make_sense(algo, more, message):
    source = fastrm.train(PROBLEM, algo, steps=100, optimum=[1.0])
    with pytest.raises(fastrm.ConfigError, match=message):
        fastrm.train(PROBLEM, algo, steps=10, warm_start=replace(source, more=more), optimum=[1.0])


def test_columns_of_coupled_by_type_do_not_fit_columns_by_object():
    problem = fastrm.compile(fastrm.GridMap.generate("2a2b", size=9, seed=1), fastrm.task("a-b"))
    source = fastrm.train(problem, "coupled", steps=10, per="type")
    with pytest.raises(fastrm.ConfigError, match=r"has a table of shape .*and this one needs"):
        fastrm.train(problem, "coupled", steps=10, per="object", warm_start=source)


@pytest.mark.parametrize(
    ("methods", "warm_start", "message"),
    [
        (["coupled-num"], {}, "method 'coupled-num': coupled learns tasks of kind boolean alone; write coupled-bool"),
        (["coupled-rs-bool"], {}, "method 'coupled-rs-bool': coupled learns no shaped rewards; write coupled-bool"),
        (["hrm-bool", "crm-bool"], {"crm-bool": "hrm-bool"}, "warm_start: crm-bool cannot start with what hrm-bool"),
    ],
)
def test_experiments_refuse_at_once_what_no_run_could_do(methods, warm_start, message, tmp_path):
    text = f"setups = ['1a1b']\ntasks = ['a-b']\nmethods = {methods}\n"
    text += "".join(f"[warm_start]\n{one} = '{two}'\n" for one, two in warm_start.items())
    (tmp_path / "e.toml").write_text(text)
    with pytest.raises(fastrm.ConfigError) as caught:
        fastrm.Experiment.load(tmp_path / "e.toml")
    line = 4 if warm_start else 3
    assert f"e.toml:{line}: {message}" in str(caught.value) and "\n" not in str(caught.value)
    (tmp_path / "e.toml").write_text("setups = ['1a']\ntasks = ['a']\nmethods = ['crm-bool']\nstart = 'anywere'\n")
    with pytest.raises(fastrm.ConfigError, match=r"e\.toml:4: start='anywere': must be 'anywhere'; without it"):
        fastrm.Experiment.load(tmp_path / "e.toml")


def test_small_mistakes_are_answered_with_their_cure():
    with pytest.raises(fastrm.MachineError, match=r"must be a RewardMachine; write fastrm.task\('a-b'\)"):
        fastrm.compile(GRID, "a-b")
    run = fastrm.train(PROBLEM, "coupled", steps=10)
    with pytest.raises(fastrm.ConfigError, match=r"give the text of a task, such as 'a-\{b,c\}', not a machine"):
        fastrm.compose(run, fastrm.task("a"))
