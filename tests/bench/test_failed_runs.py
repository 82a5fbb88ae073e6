"""Files in which runs failed: every command says how many and why, and none falls over."""

import numpy as np
import pytest

from fastrm import Experiment, LearnerConfig
from fastrm.bench.__main__ import main
from fastrm.experiments import Plan, work
from fastrm.results import Store

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
