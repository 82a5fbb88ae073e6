"""What `run`, `merge` and `write_episodes` are called with: one line where it is wrong."""

from pathlib import Path

import pytest

from fastrm import ConfigError, FastrmError, run
from fastrm.experiments import Plan, merge, write_episodes

from tiny_experiment import experiment


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"out": None}, "out=None: must be the name of a file"),
        ({"out": 5}, "out=5: must be the name of a file"),
        ({"out": b"x.h5"}, "out=b'x.h5': must be the name of a file"),
        ({"out": ""}, "out='': must be the name of a file"),
        ({"out": "x\0.h5"}, r"out='x\\x00.h5': must be the name of a file"),
        ({"workers": 1.5}, "workers=1.5: must be a whole number"),
        ({"workers": "2"}, "workers='2': must be a whole number"),
        ({"workers": True}, "workers=True: must be a whole number"),
        ({"workers": 0}, "workers=0: must be a whole number from 1"),
        ({"isolation": 3}, "isolation=3: must be one of thread, process"),
        ({"isolation": "threads"}, r"isolation='threads': .*did you mean thread\?"),
        ({"isolation": "dask"}, "isolation='dask': must be one of thread, process"),
        ({"scheduler": 8786}, "scheduler=8786: must be an address such as tcp"),
        ({"shard": 1}, r"shard=1: must be a pair \(i, N\)"),
        ({"shard": "1/2"}, r"shard='1/2': must be a pair \(i, N\)"),
        ({"shard": (1, 2, 3)}, r"shard=\(1, 2, 3\): must be a pair"),
        ({"shard": (1.0, 2.0)}, "shard's part=1.0: must be a whole number"),
        ({"shard": (1, 2.5)}, "shard's number of parts=2.5: must be a whole number"),
        ({"shard": (0, 2)}, "shard's part=0: must be a whole number from 1"),
        ({"shard": (3, 2)}, "shard 3/2: the part must be between 1 and the number of parts"),
        ({"fresh": "no"}, "fresh='no': must be True or False"),
        ({"report": "loud"}, "report='loud': must be a function"),
        ({"report": "x" * 1000}, "report='x{59}: must be"),
        ({"disk": "/tmp"}, "disk='/tmp': must be a Disk"),
        ({"experiment": 5}, "experiment=5: must be a suite's name"),
        ({"experiment": None}, "experiment=None: must be a suite's name"),
    ],
    ids=repr,
)
def test_wrong_arguments_of_run_are_one_line_and_leave_nothing(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=message) as caught:
        run(**{"experiment": experiment(), "out": "tiny.h5", **arguments})
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("parts", "out", "message"),
    [
        ([], "x.h5", "nothing to merge; name the result files of shards"),
        ("a.h5", "x.h5", "parts='a.h5': must be a list of result files"),
        (None, "x.h5", "parts=None: must be a list of result files"),
        ([5], "x.h5", "part=5: must be the name of a file"),
        (["missing.h5"], "x.h5", "missing.h5: cannot be read: No such file"),
        (["missing.h5"], None, "out=None: must be the name of a file"),
    ],
)
def test_wrong_arguments_of_merge_are_one_line(parts, out, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FastrmError, match=message):
        merge(parts, out)
    assert list(tmp_path.iterdir()) == []


def test_wrong_workers_of_write_episodes_are_one_line(tmp_path):
    with pytest.raises(ConfigError, match="workers=0: must be a whole number"):
        write_episodes(Plan.of(experiment()), [0], Path(tmp_path), workers=0)
