"""Runs learn side by side as far as the memory goes; what does not fit is refused at once; results do not change."""

import numpy as np
import pytest

from fastrm import ConfigError, GridMap, RewardMachine, compile, resources, train_many
from fastrm.experiments import Plan, batches, work
from fastrm.learners import Batch, training

from compare import LEARNERS
from tiny_experiment import experiment


@pytest.fixture(scope="module")
def problem():
    grid = GridMap.generate("1a1b", size=9, seed=1)
    return compile(grid, RewardMachine.sequence("a-b"))


def limit(monkeypatch, memory_of_machine):
    monkeypatch.setattr(training, "usable_memory", lambda: memory_of_machine)
    monkeypatch.setattr(batches, "usable_memory", lambda: memory_of_machine)


@pytest.fixture
def group_sizes(monkeypatch):
    """The numbers of seeds that batches start with."""
    sizes, start = [], Batch.start

    def spy(batch, seeds, *warm_start):
        sizes.append(len(seeds))
        start(batch, seeds, *warm_start)

    monkeypatch.setattr(Batch, "start", spy)
    return sizes


@pytest.mark.parametrize("algo", [name for name in LEARNERS if name != "learn-merge"])  # whose tables grow
@pytest.mark.parametrize("window", [None, 7])
def test_the_bytes_of_a_seed_are_those_that_one_seed_more_takes(algo, window, problem):
    def held(seeds):
        state = Batch(problem, algo, steps=1000, seeds=range(seeds), tick=100, window=window, episodes=True).state
        own = [part for part in state.own if isinstance(part, np.ndarray)]  # HRM's options are of all seeds
        return sum(array.nbytes for array in (state.agents, *state.log, state.q, *own))

    empty = Batch(problem, algo, steps=1000, seeds=(), tick=100, window=window, episodes=True)
    assert held(5) - held(4) == empty.bytes_per_seed > 1000


@pytest.mark.parametrize("algo", LEARNERS)
def test_runs_are_the_same_however_many_learn_at_once(algo, problem, monkeypatch, group_sizes):
    plain = train_many(problem, algo, steps=3000, seeds=range(7), tick=1000)
    size = Batch(problem, algo, steps=3000, seeds=(), tick=1000).bytes_per_seed
    group_sizes.clear()
    limit(monkeypatch, 10 * size)
    few = train_many(problem, algo, steps=3000, seeds=range(7), tick=1000)
    assert max(group_sizes) == 3  # ten tables, seven of which the finished runs hold
    for one, two in zip(plain, few, strict=True):
        assert one.q.tobytes() == two.q.tobytes() and one.score.tobytes() == two.score.tobytes()
        assert one.seed == two.seed and one.greedy_path == two.greedy_path


def test_a_batch_of_an_experiment_keeps_to_its_room(group_sizes):
    plan = Plan.of(experiment(seeds=5, methods=("hrm-num",), tasks=("a-b",)))
    size = batches.bytes_of_largest_run(plan)
    plain, _ = work(plan.to_json(), range(plan.count))
    assert max(group_sizes) == 5
    group_sizes.clear()
    tight, _ = work(plan.to_json(), range(plan.count), room=2 * size)
    assert max(group_sizes) == 2
    assert all(plain[name].tobytes() == tight[name].tobytes() for name in plain)


@pytest.mark.parametrize(
    "request_",
    [
        {"seeds": range(10**9)},
        {"seeds": [0], "steps": 2**53, "tick": 1},
        {"seeds": [0], "steps": 10**13, "tick": 10**12, "episodes": True},
        {"seeds": range(30_000), "window": 10**6},
    ],
    ids=["seeds", "ticks", "episodes", "windows"],
)
def test_what_does_not_fit_is_refused_at_once(request_, problem):
    with pytest.raises(ConfigError, match=r"GB, and there are .* GB of memory; take a smaller map"):
        train_many(problem, "crm", **request_)


def test_a_run_that_does_not_fit_is_recorded_with_the_reason(monkeypatch):
    limit(monkeypatch, 1000)
    frame, _ = work(Plan.of(experiment(maps=1, seeds=1)).to_json(), [0])
    assert b"1 run takes 0.0 GB, and there are 0.0 GB of memory" in frame["error"][0]


def test_fewer_workers_are_taken_where_a_run_fills_the_memory(monkeypatch):
    plan = Plan.of(experiment())
    size = batches.bytes_of_largest_run(plan)
    limit(monkeypatch, 5 * size)
    assert batches.workers_that_fit(plan, 8) == 2
    limit(monkeypatch, size)
    assert batches.workers_that_fit(plan, 8) == 1


def test_the_forecast_of_memory_is_that_of_the_groups(monkeypatch):
    plan = Plan.of(experiment(seeds=5))
    size = batches.bytes_of_largest_run(plan)
    assert batches.peak_bytes(plan, 1) == 6 * size
    limit(monkeypatch, 8 * size)  # half of it for tables
    assert batches.peak_bytes(plan, 1) == 5 * size


@pytest.mark.parametrize(
    "membership, files, expected",
    [
        ("0::/job\n", {"job/memory.max": "1000\n"}, 1000),
        ("0::/job/step\n", {"job/memory.max": "2000\n", "job/step/memory.max": "max\n"}, 2000),
        ("0::/\n", {"memory.max": "3000\n"}, 3000),
        ("5:cpu,cpuacct:/x\n4:memory:/job\n", {"memory/job/memory.limit_in_bytes": "4000\n"}, 4000),
        ("4:memory:/gone\n", {"memory/memory.limit_in_bytes": "5000\n"}, 5000),
        ("0::/../..\n", {}, None),
        ("nonsense", {"memory.max": "\xff"}, None),
    ],
)
def test_limits_of_control_groups_count(membership, files, expected, tmp_path, monkeypatch):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="latin-1")
    (tmp_path / "membership").write_text(membership)
    monkeypatch.setattr(resources, "_GROUPS", tmp_path)
    monkeypatch.setattr(resources, "_MEMBERSHIP", tmp_path / "membership")
    without = resources._physical_memory()
    assert resources.usable_memory() == (min(without, *resources._ulimits(), without) if expected is None else expected)


def test_a_cache_forgets_the_oldest_when_it_grows_too_large(monkeypatch):
    made = []
    monkeypatch.setattr(resources, "usable_memory", lambda: 10_000)

    @resources.remember(most=4, share=0.1)
    def make(n):
        made.append(n)
        return np.zeros(n, dtype=np.uint8)

    for n in (400, 500, 400, 300, 400, 500, 2000, 2000, 1, 2, 3, 4, 5, 1):
        assert len(make(n)) == n
    assert made == [400, 500, 300, 500, 2000, 1, 2, 3, 4, 5, 1]
