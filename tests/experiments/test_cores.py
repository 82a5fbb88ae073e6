"""How many cores there are to use: what the process is bound to, and what its container allows."""

import os

import pytest

from fastrm import resources
from fastrm.resources import usable_cores


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root / "cgroup"


@pytest.fixture
def bound_to_eight(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(os, "process_cpu_count", lambda: 8, raising=False)


@pytest.mark.parametrize(
    ("groups", "files", "cores"),
    [
        ("0::/", {}, 8),
        ("0::/job", {"job/cpu.max": "max 100000\n"}, 8),
        ("0::/job", {"job/cpu.max": "250000 100000\n"}, 3),
        ("0::/job/step", {"job/cpu.max": "200000 100000\n", "job/step/cpu.max": "max 100000\n"}, 2),
        ("0::/", {"cpu.max": "50000 100000\n"}, 1),
        ("0::/job", {"job/cpu.max": "6400000 100000\n"}, 8),
        ("4:cpu,cpuacct:/job\n0::/", {"cpu/job/cpu.cfs_quota_us": "150000", "cpu/job/cpu.cfs_period_us": "100000"}, 2),
        ("4:cpu,cpuacct:/job", {"cpu/job/cpu.cfs_quota_us": "-1", "cpu/job/cpu.cfs_period_us": "100000"}, 8),
        ("4:cpu:/elsewhere", {"cpu/cpu.cfs_quota_us": "400000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 4),
        ("4:memory:/job", {"cpu.max": "100000 100000"}, 8),
        ("0::/../../up", {"cpu.max": "300000 100000"}, 3),
        ("nonsense", {"cpu.max": "what is this"}, 8),
        ("0::/job", {"job/cpu.max": "0 0"}, 8),
    ],
)
def test_cores_are_those_bound_to_and_no_more_than_the_quota(
    groups, files, cores, bound_to_eight, tmp_path, monkeypatch
):
    proc = write(tmp_path / "proc", {"cgroup": groups})
    write(tmp_path / "sys", files)
    (tmp_path / "sys").mkdir(exist_ok=True)
    monkeypatch.setattr(resources, "_MEMBERSHIP", proc)
    monkeypatch.setattr(resources, "_GROUPS", tmp_path / "sys")
    assert usable_cores() == cores


def test_a_system_without_control_groups_or_affinity_counts_its_cores(monkeypatch, tmp_path):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.delattr(os, "process_cpu_count", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    monkeypatch.setattr(resources, "_MEMBERSHIP", tmp_path / "none")
    assert usable_cores() == 5
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cores() == 1


def test_a_run_uses_the_cores_it_is_bound_to(monkeypatch, tmp_path):
    from fastrm import run

    from tiny_experiment import experiment

    seen = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    monkeypatch.setattr(os, "process_cpu_count", lambda: 1, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    run(experiment(), tmp_path / "tiny.h5", report=lambda progress: seen.append(progress.workers))
    assert set(seen) == {1}
