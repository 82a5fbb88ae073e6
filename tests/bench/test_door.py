"""How the program is started and left: its two names, help, exit codes, pipes, and where results go."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fastrm.bench import reproduce
from fastrm.bench.__main__ import COMMANDS, main
from fastrm.bench.console import MODULE, SCRIPT

from sizes import either

ROOT = Path(__file__).parents[2]
TINY = """# A tiny experiment.
setups = ["1a1b"]
size = 7
tasks = ["a-b"]
methods = ["qrm-bool", "crm-num"]
seeds = 2
steps = 2000
[learner]
tick = 500
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with nothing but a tiny experiment, which is the current one."""
    monkeypatch.chdir(tmp_path)
    Path("tiny.toml").write_text(TINY)
    return tmp_path


def help_of(words, program, capsys):
    with pytest.raises(SystemExit) as stop:
        main(words, program)
    assert stop.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("words", [[], ["--help"], ["help"]])
def test_the_script_alone_shows_an_overview_with_every_command(words, capsys):
    text = help_of(words, SCRIPT, capsys)
    assert text.startswith("usage: fastrm COMMAND") and "python -m" not in text
    assert all(f"\n  {name} " in text for name in COMMANDS)


def test_the_module_alone_reproduces_the_paper(monkeypatch):
    seen = []
    monkeypatch.setattr(reproduce, "run_suite", lambda arguments: seen.append(arguments) or 0)
    assert main([], MODULE) == main(["reproduce"], SCRIPT) == 0
    assert all((one.suite, one.report, one.out) == ("paper", True, None) for one in seen) and len(seen) == 2


@pytest.mark.parametrize("program", [MODULE, SCRIPT])
@pytest.mark.parametrize("name", [*COMMANDS, "overview"])
def test_help_names_the_program_as_it_was_started_and_fits_80_columns(name, program, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    words = [] if name == "overview" else [name]
    text = help_of([*words, "--help"], program, capsys)
    assert text.startswith(f"usage: {' '.join([program, *words])} ")
    assert f"  {program} {name if words else 'run quick'}" in text.split("examples:" if words else "start with:")[1]
    assert max(map(len, text.splitlines())) <= 80
    assert program == MODULE or MODULE not in text


def test_the_package_is_the_same_program_as_the_script():
    """Also on a system without locks, terminals, limits, owners and most signals, and where only ASCII is printed."""
    without = (
        "import os, runpy, signal, sys\n"
        "sys.modules |= dict.fromkeys(('fcntl', 'termios', 'tty', 'resource', 'pwd', 'grp'))\n"
        "for home, names in {os: sys.argv.pop(1), signal: sys.argv.pop(1)}.items():\n"
        "    for name in names.split():\n"
        "        if hasattr(home, name):\n"
        "            delattr(home, name)\n"
        "runpy.run_module('fastrm', run_name='__main__', alter_sys=True)\n"
    )
    absent = (
        "fchmod fork geteuid getuid killpg process_cpu_count sched_getaffinity sysconf O_DIRECTORY O_NOFOLLOW",
        "SIGCHLD SIGHUP SIGKILL SIGPIPE SIGTSTP SIGUSR1",
    )
    words = [sys.executable, "-c", without, *absent, "check", "1a1b", "a-b", "--size", "9"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr and done.stdout.startswith("shortest at gamma 0.9\n")
    assert "optimal path" in done.stdout and done.stdout.isascii()


def test_an_unknown_command_is_met_with_the_nearest(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["chekc"])
    said = capsys.readouterr().err
    assert stop.value.code == 2 and said.startswith("fastrm: no command 'chekc' (did you mean check?); there are ")


def test_results_and_reports_land_in_a_folder_called_results(here, capsys):
    assert main(["run", "tiny.toml", "--report"]) == 0
    assert {path.name for path in (here / "results").iterdir()} == {"tiny.h5", "tiny"}
    assert (here / "results" / "tiny" / "claims.md").is_file()
    assert "results/tiny.h5" in capsys.readouterr().out


def test_a_folder_for_results_that_cannot_be_made_is_refused(here, capsys):
    Path("results").write_text("a file")
    assert main(["run", "tiny.toml"]) == 2
    assert capsys.readouterr().err == (
        "fastrm: results: cannot make this folder: File exists; name a result file with --out\n"
    )


def test_a_run_needs_a_suite_or_the_list(capsys):
    assert main(["run"]) == 2
    assert "name a suite, such as quick" in capsys.readouterr().err
    assert main(["run", "--list"]) == 0
    printed = capsys.readouterr().out
    assert "144 runs of 200 000 steps" in printed and "done in seconds" in printed
    assert max(map(len, printed.splitlines())) <= 80


@pytest.mark.parametrize(
    "words",
    [
        ["info", "results/tiny.h5"], ["claims", "results/tiny.h5"], ["findings", "results/tiny.h5"],
        ["check", "1a1b", "a-b", "--size", "9"], ["run", "--list"], ["run", "tiny.toml", "--dry-run"],
        ["reproduce", "--dry-run", "--maps", "1"],
    ],
    ids=lambda words: " ".join(words[:2]),
)  # fmt: skip
def test_json_is_a_flag_and_prints_json_and_nothing_else(words, here, capsys):
    if words[0] in ("info", "claims", "findings"):
        assert main(["run", "tiny.toml", "--quiet"]) == 0
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


def test_json_without_anything_to_print_is_refused(here, capsys):
    assert main(["run", "tiny.toml", "--json"]) == 2
    assert "--json goes with --list or --dry-run" in capsys.readouterr().err and not Path("results").exists()


def test_info_is_a_table_of_80_columns_and_its_json_is_everything(here, capsys):
    assert main(["run", "tiny.toml", "--quiet"]) == 0
    assert main(["info", "results/tiny.h5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    names = [line[:12].strip() for line in lines if line[:12].strip()]
    assert names == ["what", "when", "command", "versions", "machine", "shape", "setups", "tasks", "methods", "failed"]
    assert max(map(len, lines)) <= 80 and lines[0] == "  what      tiny: 4 of 4 runs (complete), in results/tiny.h5"
    assert main(["info", "results/tiny.h5", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["complete"], told["runs"], told["methods"]) == (True, 4, ["qrm-bool", "crm-num"])
    assert told["attributes"]["experiment"]["steps"] == 2000 and told["attributes"]["machine"]["cores"] >= 1
    assert told["variables"]["score"] == "float32" or told["variables"]["score"].startswith("float")


@pytest.mark.parametrize(("kind", "code"), [("boolean", 0), ("bool", 0), ("numeric", 1), ("num", 1)])
def test_check_fails_on_request_where_the_verdict_is_not_shortest(kind, code, capsys):
    words = ["check", "1a1b", "a-b", "--kind", kind, "--size", "15", "--seed", "1", "--terminal-reward", "0.5"]
    assert main(words) == 0
    assert main([*words, "--fail"]) == code
    assert main([*words, "--fail", "--json"]) == code


def test_a_forecast_does_not_count_on_cores_that_are_not_there(here, monkeypatch, capsys):
    monkeypatch.setattr("fastrm.resources.usable_cores", lambda: 2)
    found = {}
    for workers in ("1", "2", "64"):
        assert main(["run", "tiny.toml", "--dry-run", "--json", "-j", workers]) == 0
        found[workers] = json.loads(capsys.readouterr().out)
    assert [found[n]["cores"] for n in ("1", "2", "64")] == [1, 2, 2] and found["64"]["workers"] == 64
    assert main(["run", "tiny.toml", "--dry-run", "--json", "--shard", "1/2"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == 2


def test_a_resumed_run_says_how_much_is_there(here, monkeypatch, capsys):
    monkeypatch.setattr("fastrm.experiments.batches.BATCH_RUNS", 500)
    Path("tiny.toml").write_text(TINY.replace("seeds = 2", "seeds = 1200").replace("2000", "500"))
    assert main(["run", "tiny.toml", "--shard", "1/2", "--out", "x.h5", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["run", "tiny.toml", "--out", "x.h5", "-j", "1"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "fastrm: resuming: 1 200 of 2 400 runs are there"
    assert re.fullmatch(r"fastrm: 1 700 of 2 400 runs, about \d+ s left", lines[1])


def test_verbose_logs_what_happens_and_quiet_says_nothing(here, capsys):
    assert main(["run", "tiny.toml", "--quiet"]) == 0
    said = capsys.readouterr()
    assert not said.out and not said.err
    assert main(["run", "tiny.toml", "--fresh", "-v"]) == 0
    said = capsys.readouterr().err
    assert "s: experiment tiny: 4 runs of 2000 steps, saved in results/tiny.h5\n" in said
    assert "4 of 4 runs saved" in said


def test_warnings_of_a_run_name_file_line_and_key(here):
    Path("tiny.toml").write_text(TINY.replace("a-b", "a-b !n"))
    done = subprocess.run(
        [sys.executable, "-m", "fastrm.bench", "run", "tiny.toml"], env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (
        "fastrm: tiny.toml:4: tasks: a-b !n: edge u0 -> failed reads 'n', which never holds on the map 1a1b; this map "
        "offers a, b\n"
    ) in done.stderr and "<text>" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["--help"], ["run", "--list"], ["run", "tiny.toml", "--report"], ["info", "results/tiny.h5"],
        *either([
            ["run", "--help"], ["run", "tiny.toml"], ["info", "results/tiny.h5", "--json"],
            ["claims", "results/tiny.h5"], ["findings", "results/tiny.h5"], ["plot", "results/tiny.h5", "--text"],
            ["check", "1a1b", "a-b", "--size", "9"],
        ], []),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_reader_that_leaves_ends_a_command_without_noise(words, here):
    assert main(["run", "tiny.toml", "--quiet"]) == 0
    read, write = os.pipe()
    os.close(read)  # nobody will ever read
    done = subprocess.run(
        [sys.executable, "-m", "fastrm.bench", *words], env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=write, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(write)
    assert done.returncode == 0 and "Error" not in done.stderr and "Traceback" not in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "quick", "--seed", "3"], "run: no argument '--seed' (did you mean --seeds?)"),
        (["check", "1a", "a", "--metrc", "geodesic"], "check: no argument '--metrc' (did you mean --metric?)"),
    ],
)
def test_an_argument_that_is_not_there_is_refused_by_its_command_with_the_nearest(words, message, capsys):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2 and message in capsys.readouterr().err
