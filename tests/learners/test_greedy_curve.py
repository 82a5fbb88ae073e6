"""How long the greedy policy takes, at every tick of a run."""

import math

import numpy as np
import pytest

import fastrm
from fastrm import ConfigError
from fastrm.learners import registry
from fastrm.learners.qrm import Qrm

from compare import LEARNERS
from sizes import either

GRID = fastrm.GridMap.generate("1a1b1c", size=9, seed=1)
SLOW = {"steps": 24_000, "tick": 3_000}


def any_order():
    return fastrm.compile(GRID, fastrm.task("{a,b,c}"))


def two_tasks_from_anywhere():
    tasks = [fastrm.task("a-b"), fastrm.task("b-c", kind="numeric-boolean")]
    return fastrm.compile(GRID, tasks, start="anywhere", profile="icarte2022")


def water():
    return fastrm.compile(fastrm.WaterWorld.generate(seed=2), fastrm.task("a"))


def large_agenda():
    return fastrm.compile(
        fastrm.GridMap.generate("1a1b1c1d1e1f1g1h1i1j1k", size=9), fastrm.task("{a,b,c,d,e,f,g,h,i,j,k}")
    )


CASES = [
    *((any_order, name) for name in either(LEARNERS, ("crm", "coupled"))),
    *((two_tasks_from_anywhere, name) for name in either(("qrm", "crm", "hrm", "double-q"), ("hrm",))),
    *((water, name) for name in either(("qrm", "crm"), ("crm",))),
    *either([(large_agenda, "coupled")], []),
]
"""Every day one learner of each kind of view; double Q-learning, which has two tables, with all others."""


@pytest.mark.parametrize(("make", "algo"), CASES, ids=lambda item: getattr(item, "__name__", item))
def test_a_greedy_curve_is_what_shorter_runs_end_with(make, algo):
    problem = make()
    run = fastrm.train(problem, algo, seed=3, greedy=True, **SLOW)
    plain = fastrm.train(problem, algo, seed=3, **SLOW)
    assert plain.greedy_curve is None and run.q.tobytes() == plain.q.tobytes()
    cut = [fastrm.train(problem, algo, seed=3, config=run.config, steps=int(n)).greedy_lengths for n in run.step]
    wanted = [sum(math.nan if length is None else length for length in lengths) for lengths in cut]
    assert np.array_equal(run.greedy_curve, wanted, equal_nan=True)


def test_the_cases_above_see_policies_that_finish_and_that_do_not():
    curve = fastrm.train(any_order(), "crm", seed=3, greedy=True, **SLOW).greedy_curve
    assert np.isnan(curve).any() and np.isfinite(curve).any()


def test_seeds_side_by_side_have_the_curves_of_single_ones():
    problem, settings = two_tasks_from_anywhere(), {"greedy": True, **SLOW}
    for run in fastrm.train_many(problem, "hrm", seeds=range(5), **settings):
        alone = fastrm.train(problem, "hrm", seed=run.seed, **settings)
        assert alone.greedy_curve.tobytes() == run.greedy_curve.tobytes()


def test_logarithmic_ticks_and_schedules_have_curves_too():
    problem, settings = any_order(), {"steps": 20_000, "tick": "log", "epsilon": "linear(1, 0, 15000)"}
    run = fastrm.train(problem, "crm", greedy=True, **settings)
    assert len(run.greedy_curve) == len(run.step) and run.greedy_curve[-1] == run.greedy_length


def test_the_first_and_the_lasting_shortest_path_are_told_apart():
    run = fastrm.train(any_order(), "crm", seed=3, greedy=True, **SLOW)
    best = run.shortest[0]
    for curve, first, lasting in (
        ([math.nan, best, best + 2, best, best, best, best, best], 6_000, 12_000),
        ([best] * 8, 3_000, 3_000),
        ([best + 1] * 8, math.nan, math.nan),
        ([best] * 7 + [math.nan], 3_000, math.nan),
    ):
        seen = run.__class__(**{**vars(run), "greedy_curve": np.array(curve)})
        assert np.array_equal(
            [seen.steps_to_shortest, seen.steps_to_lasting_shortest], [first, lasting], equal_nan=True
        )


def test_a_learner_without_a_view_has_a_curve_all_the_same():
    class Blind(Qrm):
        name = "blind"
        view = property()

        def values(self, problem, state, i):
            return registry.Values(Qrm.view(self, problem, state).q[i].copy())

    fastrm.register(Blind())
    try:
        blind, plain = (fastrm.train(any_order(), name, seed=3, greedy=True, **SLOW) for name in ("blind", "qrm"))
    finally:
        registry.forget("blind")
    assert blind.greedy_curve.tobytes() == plain.greedy_curve.tobytes()


def test_greedy_must_be_true_or_false():
    with pytest.raises(ConfigError, match="greedy='yes'"):
        fastrm.train(any_order(), "crm", greedy="yes")
