"""The scripts for job queues in the tutorial, run by local processes: together they compute the whole experiment."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fastrm import load, run

from pages import DOCS, ROOT, blocks_of
from tiny_experiment import contents

TASKS = 2
BLOCKS = blocks_of((DOCS / "tutorials" / "on-a-cluster.md").read_text())
TOML = next("\n".join(block.lines) for block in BLOCKS if block.language == "toml")
SLURM, CLOUD = ("\n".join(block.lines) + "\n" for block in BLOCKS if block.lines[0] == "#!/bin/bash")


@pytest.mark.parametrize(
    ("script", "variables", "parts"),
    [
        (SLURM, {"SLURM_ARRAY_TASK_ID": 1, "SLURM_ARRAY_TASK_COUNT": TASKS, "SLURM_CPUS_PER_TASK": 1}, "parts"),
        (CLOUD, {"JOB_COMPLETION_INDEX": 0, "COUNT": TASKS, "OUT": "."}, "."),
    ],
    ids=["slurm", "kubernetes"],
)
def test_the_script_of_a_job_queue_computes_every_run_once(script, variables, parts, tmp_path):
    (tmp_path / "sweep.toml").write_text(TOML)
    (tmp_path / "job.sh").write_text(script)
    paths = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    jobs = []
    for k in range(TASKS):
        own = {name: str(value + k if name == next(iter(variables)) else value) for name, value in variables.items()}
        jobs.append(subprocess.Popen(["bash", "job.sh"], cwd=tmp_path, env={**os.environ, **paths, **own}))
    assert [job.wait() for job in jobs] == [0] * TASKS
    joined = load(f"{tmp_path / parts}/*.h5")
    assert joined.complete and len(list((tmp_path / parts).glob("*.h5"))) == TASKS
    assert sum(load(path).runs for path in (tmp_path / parts).glob("*.h5")) == joined.runs
    run(tmp_path / "sweep.toml", tmp_path / "whole.h5")
    whole = contents(tmp_path / "whole.h5")
    assert {name: column.tobytes() for name, column in joined.columns.items()} == {n: c[2] for n, c in whole.items()}
