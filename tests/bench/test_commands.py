"""The command line: what it prints, and how it fails."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import fastrm
from fastrm.bench.__main__ import main
from fastrm.machines import find_machine

from sizes import FULL

ROOT = Path(__file__).parents[2]
APPENDIX = str(ROOT / "bench" / "suites" / "appendix.map")


def test_check_prints_verdict_thresholds_and_a_drawn_witness(capsys):
    assert (
        main(["check", "1a1b", "a-b", "--kind", "numeric", "--terminal-reward", "0", "--size", "15", "--seed", "1"])
        == 0
    )
    printed = capsys.readouterr().out
    assert printed.startswith("never finishes at gamma 0.9")
    assert "terminal reward  above" in printed and "procrastination" in printed
    drawn, legend = printed.partition("#####")[2].rsplit("\n", 2)[:2]
    assert "!" in drawn and "! leaves the shortest routes" in legend
    assert ("@" in drawn) == ("@ its loop" in legend)  # this loop is the cell where the path leaves the others


def test_check_prints_json_for_programs(capsys):
    assert main(["check", APPENDIX, "a-b-c", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["verdict"] == "shortest" and report["is_shortest"] is True
    assert (report["optimal_length"], report["hrm_length"]) == (32, 40)
    assert report["critical_scale"] == "inf"


def test_check_advise_prints_the_advice_or_json(capsys):
    words = ["check", "2a1b", "a-b", "--size", "15", "--seed", "5", "--advise"]
    advice = fastrm.advise(fastrm.GridMap.generate("2a1b", size=15, seed=5), "a-b")
    assert main(words) == 0
    assert capsys.readouterr().out == f"{advice}\n"
    assert main([*words, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["recommended"] == advice.recommended.name == "local-potential"
    assert report["kinds"][1]["critical_step_reward"] == advice.kinds[1].critical_step_reward
    assert report["kinds"][0]["machine"] == advice.kinds[0].machine.write()


def test_check_works_for_machines_of_the_reference(capsys, reference):
    arguments = [str(reference / "maps" / "map_1.txt"), str(reference / "machines" / "craft" / "t10.txt")]
    assert main(["check", *arguments, "--profile", "icarte2022"]) == 0
    assert capsys.readouterr().out.startswith("shortest at gamma 0.9")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "nowhere.txt", "a-b"], "nowhere.txt: cannot be read: No such file"),
        (["check", "1a1b", "a-z"], "this map offers a, b"),
        (["check", "1a1b", "a-b", "--gamma", "2"], "gamma=2.0: must be a number from 0 to 1"),
        (["check", "1a1b", "a-b", "--gamma", "0"], "gamma=0"),
        (["check", "1a1b", "a-b", "--size", "1"], "size=1"),
        (["check", "1a1b", "a", "--kind", "numeric-boolean", "--gamma", "1"], "gamma=1: a loop"),
        (["check", "1a1b", "a-b", "--advise", "--fail"], "--fail: is about one machine, and --advise about all kinds"),
        (["check", "water", "a-b", "--advise"], "water world; this needs the cells of a map"),
        (["speed", "--out", "/nowhere/at/all.json"], "cannot be written: No such file"),
        (["speed", "--repeats", "0"], "--repeats must be at least 1"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(capsys, arguments, message):
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert message in printed.err and printed.err.count("\n") == 1 and not printed.out


@pytest.mark.parametrize(
    "arguments", [["chekc"], ["check"], ["check", "1a"], ["check", "1a", "a", "--kind", "x"], ["--no"]]
)
def test_bad_arguments_are_one_line_and_exit_code_2(capsys, arguments):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_help_does_not_import_numba():
    code = (
        "import sys; from fastrm.bench.__main__ import main\ntry: main(['speed', '--help'])\nexcept SystemExit: pass\n"
    )
    check = "assert not {'numba', 'h5py', 'matplotlib'} & set(sys.modules), sorted(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code + check], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not FULL, reason="takes long; FASTRM_FULL=1 runs it")
def test_the_speed_suite_prints_and_writes_its_figures(capsys, tmp_path, monkeypatch):
    from fastrm.bench.speed import measure

    monkeypatch.setattr(measure, "SIDES", (41,))
    monkeypatch.setattr(measure, "STATES", (1, 4))
    monkeypatch.setattr(measure, "NAIVE_STEPS", 200)
    monkeypatch.setattr(measure, "cold_compile_seconds", lambda: dict.fromkeys(("qrm", "crm", "hrm"), 0.0))
    assert main(["speed", "--steps", "40000", "--repeats", "1", "--out", str(tmp_path / "speed.json")]) == 0
    report = json.loads((tmp_path / "speed.json").read_text())
    assert [(row["algo"], row["kind"]) for row in report["kernels"]][:9:3] == [
        ("qrm", "boolean"), ("crm", "boolean"), ("hrm", "boolean"),
    ]  # fmt: skip
    assert all(row["steps_per_s"] > 0 and row["vs_naive"] > 1 for row in report["kernels"])
    assert set(report) == {"machine", "kernels", "growth", "scaling", "cold_compile_s", "vector_environment", "water"}
    assert "M steps/s" in capsys.readouterr().out
    assert main(["speed", "--steps", "40000", "--repeats", "1", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == set(report)


@pytest.mark.parametrize(("line", "flags"), [("fastrm ru", None), ("fastrm run qu", {"--shard", "--list"})])
def test_a_shell_is_told_the_arguments_of_the_command_at_hand(line, flags, monkeypatch):
    def autocomplete(parser):
        (commands,) = (action.choices for action in parser._actions if action.dest == "command")
        assert {"run", "plot"} <= commands.keys()
        if flags:
            actions = commands["run"]._actions
            assert flags <= {flag for action in actions for flag in action.option_strings}
            (suite,) = (action for action in actions if action.dest == "suite")
            assert {"quick", "paper"} <= {*suite.completer(prefix="qu")}
        raise SystemExit(0)

    monkeypatch.setenv("_ARGCOMPLETE", "1")
    monkeypatch.setenv("COMP_LINE", line)
    monkeypatch.setitem(sys.modules, "argcomplete", SimpleNamespace(autocomplete=autocomplete))
    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 0
    monkeypatch.setitem(sys.modules, "argcomplete", None)  # not installed: nothing happens
    assert main(["run", "--list"]) == 0


@pytest.mark.parametrize(("offset", "first"), [("legs", "leg(a, b)"), ("30", "30"), ("size", "span()")])
def test_an_offset_is_asked_for_on_the_command_line(capsys, tmp_path, offset, first):
    words = ["1a1b", "a-b", "--size", "9", "--kind", "offset", "--offset", offset, "--json"]
    assert main(["check", *words]) == 0 and json.loads(capsys.readouterr().out)["is_shortest"]
    machine = find_machine("a-b", kind="offset", offset=float(offset) if offset == "30" else offset)
    assert f"reward -{first}" in machine.write()
