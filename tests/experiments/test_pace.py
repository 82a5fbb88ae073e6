"""Batches take about a second: small while nothing is known, then sized by how long finished ones took."""

import itertools

import numpy as np

from fastrm.experiments import Plan
from fastrm.experiments.batches import BATCH_RUNS, Pace, make_batches, runs_per_batch
from fastrm.learners import iter_runs, train_many

from small_problems import of_each_kind
from tiny_experiment import experiment

PLAN = Plan.of(experiment(maps=1, methods=("qrm-bool", "crm-bool"), seeds=200_000))
RUNS = np.arange(PLAN.count)


def test_batches_grow_once_their_pace_is_known_and_shrink_where_runs_are_slow():
    pace = Pace(PLAN)
    batches = make_batches(PLAN, RUNS, pace)
    first = next(batches)
    pace.learn(np.array(first), 30.0)  # the kernel was compiled
    second = next(batches)
    assert 100 < 5 * len(first) <= len(second) < runs_per_batch(PLAN) <= BATCH_RUNS
    pace.learn(np.array(second), 1e-3 * len(second))
    assert 990 <= len(next(batches)) <= 1000
    pace.learn(np.array(second), 1e-9)
    assert len(next(batches)) == runs_per_batch(PLAN)


def test_what_is_known_of_one_task_and_method_says_nothing_of_others():
    pace, ends = Pace(PLAN), RUNS[[0, -1]]
    for _ in range(2):
        pace.learn(RUNS[:100], 100.0)
    assert pace.seconds(ends)[0] == 1.0 > 100 * pace.seconds(ends)[1]


def test_every_run_is_in_one_batch_whatever_the_pace():
    few, random = RUNS[::997], np.random.default_rng(0)
    pace, found = Pace(PLAN), []
    for batch in make_batches(PLAN, few, pace):
        pace.learn(np.array(batch), random.exponential() * len(batch))
        found += batch
    assert found == few.tolist()


def test_a_piece_of_a_slow_run_is_cut_short_and_changes_nothing(monkeypatch):
    problem, made = of_each_kind()["grid"][0], [0]
    whole = train_many(problem, "crm", steps=30_000, seeds=[0, 1])
    clock = itertools.count(0.0)  # every piece takes a second
    monkeypatch.setattr("fastrm.learners.training.time.perf_counter", lambda: next(clock))
    monkeypatch.setattr("fastrm.learners.training.PIECE_STEPS", 20_000)
    ask = {"steps": 30_000, "seeds": [0, 1], "between": lambda _, steps, total: made.append(steps)}
    slow = list(iter_runs(problem, "crm", **ask))
    assert np.diff(made)[:4].tolist() == [20_000, 4_000, 800, 160]
    assert [run.q.tobytes() for run in slow] == [run.q.tobytes() for run in whole]
