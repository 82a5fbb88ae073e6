"""Workers that die cost the batches they had, not the run."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from fastrm import FastrmWarning, run
from fastrm.bench.__main__ import main
from fastrm.errors import RunError

from tiny_experiment import TOML, command, contents, experiment, saved_runs


def kill_a_child():
    """Kill one worker process."""
    workers = [child for child in multiprocessing.active_children() if child.name.startswith("SpawnProcess")]
    os.kill(workers[0].pid, signal.SIGKILL)


def test_a_killed_worker_process_costs_its_batches_only(plain, tmp_path):
    path, killed = tmp_path / "tiny.h5", []

    def report(progress):
        if progress.runs_done and not killed:
            killed.append(kill_a_child())

    with pytest.warns(FastrmWarning, match="workers were lost .*; new ones go on with what is left"):
        assert run(experiment(), path, workers=2, isolation="process", report=report).complete
    assert contents(path) == plain


def test_worker_processes_that_die_again_and_again_end_the_run_in_one_line(tmp_path, monkeypatch):
    """Another learner in every batch, whose module cannot even be imported without dying."""
    (tmp_path / "deadly.py").write_text("import os\nos._exit(9)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setattr("fastrm.learners.registry.custom_learners", lambda: (("deadly", "deadly", {}),))
    path = tmp_path / "tiny.h5"
    with (
        pytest.warns(FastrmWarning, match="new ones go on"),
        pytest.raises(
            RunError,
            match=r"workers were lost .* 3 times in a row before a batch was finished; finished batches",
        ),
    ):
        run(experiment(), path, workers=1, isolation="process")
    assert not path.with_name("tiny.h5.lock").exists()


@pytest.fixture
def scheduler(tmp_path):
    """A Dask scheduler of its own process, without workers: its process and its address."""
    pytest.importorskip("distributed", reason="needs the extra 'dask'")
    file = tmp_path / "scheduler.json"
    words = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
    process = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", *words],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    address = ""
    while not address:
        assert process.poll() is None
        time.sleep(0.05)
        if file.exists() and file.read_text().endswith("}"):
            address = json.loads(file.read_text())["address"]
    yield process, address
    process.kill()
    process.wait()


def start_worker(address):
    words = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", address, *words],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_cluster_without_workers_is_said_and_waited_for(scheduler, plain, tmp_path, monkeypatch):
    monkeypatch.setattr("fastrm.experiments.execution.QUIET_SECONDS", 0.3)
    started = []
    threading.Timer(1.0, lambda: started.append(start_worker(scheduler[1]))).start()
    try:
        with pytest.warns(
            FastrmWarning, match=r"scheduler tcp://.*: no workers; waiting for one to come \(. s so far\)"
        ):
            assert run(experiment(), tmp_path / "tiny.h5", scheduler=scheduler[1]).complete
    finally:
        for process in started:
            process.kill()
            process.wait()
    assert contents(tmp_path / "tiny.h5") == plain


def test_a_scheduler_that_dies_in_mid_run_is_one_line_and_exit_code_1(scheduler, tmp_path):
    toml, path = tmp_path / "long.toml", tmp_path / "long.h5"
    toml.write_text(TOML.replace("400_000", "40_000_000"))
    worker = start_worker(scheduler[1])
    try:
        code = (
            "import sys, fastrm.experiments.executors as e; e.CONNECT = '1s'; "
            "from fastrm.bench.__main__ import main; sys.exit(main(sys.argv[1:]))"
        )
        words = command(path, toml, "--scheduler", scheduler[1])[3:]
        process = subprocess.Popen([sys.executable, "-c", code, *words], stderr=subprocess.PIPE, text=True)
        while not saved_runs(path):  # a first batch
            assert process.poll() is None
            time.sleep(0.05)
        scheduler[0].kill()
        message = process.communicate(timeout=60)[1]
    finally:
        worker.kill()
        worker.wait()
    assert process.returncode == 1, message
    assert f"fastrm: scheduler {scheduler[1]}: cannot be reached" in message.splitlines()[-1]
    assert "finished batches are saved, the same command goes on from there" in message.splitlines()[-1]
    assert "Traceback" not in message
    assert saved_runs(path)


def test_a_scheduler_that_is_not_there_is_a_bad_argument(tmp_path, capsys, monkeypatch):
    pytest.importorskip("distributed", reason="needs the extra 'dask'")
    monkeypatch.setattr("fastrm.experiments.executors.CONNECT", "1s")
    toml = tmp_path / "tiny.toml"
    toml.write_text(TOML)
    assert main(["run", str(toml), "--out", str(tmp_path / "x.h5"), "--scheduler", "tcp://127.0.0.1:9"]) == 2
    assert capsys.readouterr().err.startswith("fastrm: scheduler tcp://127.0.0.1:9: cannot be reached: ")
    assert not (tmp_path / "x.h5.lock").exists()
