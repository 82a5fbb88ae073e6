"""Batch runs give the same bytes however they were computed."""

import contextlib
import itertools
import os
import signal
import threading
import warnings

import pytest

from fastrm import load, run
from fastrm.experiments import merge

from sizes import FULL
from tiny_experiment import Crash, CrashDisk, contents, experiment


def compute(path, interrupted, **how):
    """Run the experiment, killed after its second batch and resumed if asked for."""
    if interrupted:
        with contextlib.suppress(Crash):
            run(experiment(), path, disk=CrashDisk(11), **how)
    return run(experiment(), path, **how)


def compute_shards(folder, interrupted, **how):
    parts = [folder / f"part{k}.h5" for k in (1, 2, 3)]
    for k, part in enumerate(parts, start=1):
        compute(part, interrupted, shard=(k, 3), **how)
    merge([parts[2], parts[0], parts[1]], folder / "tiny.h5")


def ways():
    """Yield all combinations; starting processes is slow, so most of theirs only with FASTRM_FULL=1."""
    for isolation, workers, sharded, interrupted in itertools.product(
        ("thread", "process"), (1, 2, 4), (False, True), (False, True)
    ):
        daily = workers == 2 and interrupted > sharded if isolation == "process" else workers != 2
        if FULL or daily:
            yield isolation, workers, sharded, interrupted


@pytest.mark.parametrize(("isolation", "workers", "sharded", "interrupted"), list(ways()))
def test_every_dataset_is_the_same_however_it_was_computed(isolation, workers, sharded, interrupted, plain, tmp_path):
    (compute_shards if sharded else compute)(
        tmp_path if sharded else tmp_path / "tiny.h5", interrupted, workers=workers, isolation=isolation
    )
    assert contents(tmp_path / "tiny.h5") == plain
    assert load(tmp_path / "tiny.h5").complete


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")
    with (
        warnings.catch_warnings(),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
    ):
        yield cluster


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("interrupted", [False, True], ids=["straight", "resumed"])
@pytest.mark.parametrize("sharded", [False, True], ids=["whole", "shards"])
def test_a_dask_cluster_of_two_processes_computes_the_same(cluster, sharded, interrupted, plain, tmp_path):
    (compute_shards if sharded else compute)(
        tmp_path if sharded else tmp_path / "tiny.h5", interrupted, scheduler=cluster.scheduler_address
    )
    assert contents(tmp_path / "tiny.h5") == plain


@pytest.mark.filterwarnings("ignore")
def test_a_dask_worker_killed_mid_batch_costs_its_batch_only(cluster, tmp_path):
    long = experiment(steps=400_000, seeds=4)
    expected = tmp_path / "expected.h5"
    run(long, expected)
    victim = next(iter(cluster.workers.values())).pid
    threading.Timer(0.3, os.kill, (victim, signal.SIGKILL)).start()
    assert run(long, tmp_path / "tiny.h5", scheduler=cluster.scheduler_address).complete
    assert contents(tmp_path / "tiny.h5") == contents(expected)
