"""Fixtures of tests with files."""

import pytest

from fastrm import run

from tiny_experiment import contents, experiment


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """What one thread computes without any disturbance."""
    path = tmp_path_factory.mktemp("plain") / "tiny.h5"
    assert run(experiment(), path, workers=1).complete
    return contents(path)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr("fastrm.experiments.batches.BATCH_RUNS", 5)
