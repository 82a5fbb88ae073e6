"""Files in which runs failed: every command says how many and why, and none falls over."""

import numpy as np
import pytest

from fastrm import Experiment, LearnerConfig
from fastrm.bench.__main__ import main
from fastrm.bench.console import print_summary
from fastrm.experiments import Plan, work
from fastrm.experiments.batches import reason_of
from fastrm.kernels._jit import jit
from fastrm.results import Store, load

WHICH = {
    "everything": lambda label, grid: True,
    "one method": lambda label, grid: label == "crm-num",
    "all but one method": lambda label, grid: label != "crm-num",
    "the first map": lambda label, grid: grid == "0",
    "one start": lambda label, grid: label.endswith("@0"),
}
COMMANDS = ["info", "plot", "plot --text", "claims", "claims --json", "claims --markdown", "findings"]


@pytest.fixture(scope="module")
def computed():
    """A plan whose runs the claims are about, and its columns."""
    plan = Plan.of(
        Experiment(
            name="failing", setups=("1a1b1c",), maps=2, size=7, tasks=("a", "a-b"), seeds=2, steps=1000,
            methods=("crm-bool", "crm-rs-bool", "crm-num", "crm-num-bool"), learner=LearnerConfig(tick=500),
        )
    )  # fmt: skip
    return plan, work(plan.to_json(), range(plan.count))[0]


def write(path, plan, frame, fails):
    """Write a file in which some runs failed, as `work` would have recorded them."""
    numbers, frame = np.arange(plan.count), dict(frame)
    labels, grids = (plan.coordinate(name, numbers).astype(str) for name in ("label", "grid"))
    failed = np.array([fails(label, grid) for label, grid in zip(labels, grids, strict=True)])
    frame["error"] = np.where(failed, b"MemoryError: made up", b"")
    for name in ("score", "reward", "optimal_arps", "ceiling", "steps_to_90"):
        frame[name] = frame[name].copy()
        frame[name][failed] = np.nan
    store = Store(path, plan)
    store.add(frame)
    store.close()
    return int(failed.sum()), plan.count


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("which", ["everything", "one method", "all but one method", "the first map"])
def test_every_command_says_how_many_runs_failed_and_why(which, command, computed, tmp_path, capsys):
    path = tmp_path / "failing.h5"
    failed, count = write(path, *computed, WHICH[which])
    words = command.split()
    code = main([words[0], str(path), *words[1:]])
    output = capsys.readouterr()
    text = output.out if command == "info" else output.err
    if failed == count and command != "info":
        assert code == 2
        assert text == f"fastrm: {path}: all {count} runs failed, nothing to show; the first: MemoryError: made up\n"
    else:
        assert code == 0
        assert f"{failed} runs failed; the first: MemoryError: made up" in " ".join(text.split())


def test_a_sweep_in_which_one_start_failed_is_drawn_without_it(tmp_path, capsys):
    plan = Plan.of(
        Experiment(
            name="starts", setups=("1a1b1c",), maps=2, size=7, tasks=("a",), seeds=2, steps=1000,
            methods=("crm-bool@0", "crm-bool@1"), learner=LearnerConfig(tick=500),
        )
    )  # fmt: skip
    path = tmp_path / "starts.h5"
    write(path, plan, work(plan.to_json(), range(plan.count))[0], WHICH["one start"])
    for command in ("plot", "findings"):
        assert main([command, str(path)]) == 0
        assert "4 runs failed; the first: MemoryError: made up" in capsys.readouterr().err
    assert {file.name for file in (tmp_path / "starts").iterdir()} >= {"curves-1.png", "starts.png"}
    assert not (tmp_path / "starts" / "curves-0.png").exists()


@pytest.mark.parametrize("more", [[], ["--report"], ["--quiet"]])
def test_a_run_in_which_everything_fails_ends_with_a_table_that_says_so(more, tmp_path, capsys):
    toml, path = tmp_path / "no.toml", tmp_path / "no.h5"
    toml.write_text(
        'setups = ["1a"]\nsize = 7\ntasks = ["a-b"]\nmethods = ["qrm-bool", "crm-num"]\nseeds = 3\nsteps = 20_000\n'
    )
    assert main(["run", str(toml), "--out", str(path), *more]) == 1
    output = capsys.readouterr()
    assert output.err.count(f"{path}: ") == 1 and "runs failed; the first: task a-b on map 1a 0: " in output.err
    if not more:
        rows = [line.split("│")[1:-1] for line in output.out.splitlines() if "│" in line]
        assert [[cell.strip() for cell in row[2:]] for row in rows] == [
            ["qrm-bool", "0", "3", "-", "-", "-"], ["crm-num", "0", "3", "-", "-", "-"],
        ]  # fmt: skip


def test_the_error_of_a_kernel_that_does_not_compile_names_its_line_in_plain_text():
    @jit
    def broken(x):
        return "a" + x

    with pytest.raises(Exception, match="No implementation") as caught:
        broken(1)
    line = broken.py_func.__code__.co_firstlineno + 2
    reason = " ".join(reason_of(caught.value).split())
    assert reason.startswith(f"test_failed_runs.py:{line}: No implementation of function") and "\x1b" not in reason
    assert len(reason) < 200 and "candidate" not in reason


def test_a_table_that_is_too_wide_loses_no_swept_setting(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    epsilon = [f"linear(1, 0.{k}, 50000)" for k in (1, 2)]
    plan = Plan.of(
        Experiment(
            name="wide", setups=("1a1b1c walls 0.2",), maps=1, size=9, tasks=("{a,b}-c-{a,b}-c-a",), seeds=1, steps=500,
            methods=("expected-sarsa-num-bool", "crm-bool"), learner={"tick": 500, "epsilon": epsilon},
            start="anywhere",
        )
    )  # fmt: skip
    write(tmp_path / "wide.h5", plan, work(plan.to_json(), range(plan.count))[0], lambda label, grid: False)
    print_summary(load(tmp_path / "wide.h5"))
    said = capsys.readouterr().out
    table = said.partition("medians")[2]
    assert max(map(len, said.splitlines()[1:])) <= 80 and "setup 1a1b1c walls 0.2, task {a,b}-c" in said
    assert all(
        words in table for words in ("linear(1, 0.2,", "50000)", "expected-sarsa-num-bool", "settled", "shortest")
    )
    assert main(["info", str(tmp_path / "wide.h5")]) == 0 and "  start     anywhere\n" in capsys.readouterr().out


def test_a_kind_that_a_map_refuses_fails_alone_whatever_the_order_of_methods():
    """On two a the kind offset is refused; the unit of the score belongs to the task, so another kind gives it."""
    methods = ("crm-offset", "crm-bool", "crm-local")
    scores = []
    for order in (methods, methods[::-1]):
        experiment = Experiment(
            name="refused", setups=("2a1b",), maps=1, size=7, tasks=("a-b",), seeds=1, steps=1000, methods=order
        )
        plan = Plan.of(experiment)
        frame = work(plan.to_json(), range(plan.count))[0]
        labels = plan.coordinate("label", np.arange(plan.count)).astype(str)
        failed = dict(zip(labels, frame["error"] != b"", strict=True))
        assert failed == {"crm-offset": True, "crm-bool": False, "crm-local": False}
        assert (
            b"there are 2 a: rewards of the kind offset can mislead" in frame["error"][list(labels).index("crm-offset")]
        )
        scores.append(frame["optimal_arps"][list(labels).index("crm-bool")])
    assert scores[0] == scores[1] > 0
