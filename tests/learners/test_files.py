"""Learners from a Python file that the command line names: run once, known everywhere, and nothing else runs a file."""

import sys
from pathlib import Path

import pytest

from fastrm import ConfigError, load
from fastrm.bench.__main__ import main
from fastrm.learners import files, load_again, load_file, loaded_files, registry

LEARNER = """\
import fastrm
from fastrm.learners.qrm import Qrm
from half_kernel import factor


class Half(Qrm):
    name, semantics, settings = "half", 1, ("alpha", "q_init")

    def begin(self, problem, reward, config, n):
        q, own = super().begin(problem, reward, config, n)
        q *= factor
        return q, own


fastrm.register(Half())
"""
TOML = """
setups  = ["1a1b"]
maps    = 2
size    = 7
tasks   = ["a-b"]
methods = ["crm-bool", "half-bool"]
seeds   = 2
steps   = 4_000
learner = {tick = 500, alpha = [0.1, 0.5]}
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    (tmp_path / "half.py").write_text(LEARNER)
    (tmp_path / "half_kernel.py").write_text("factor = 0.5\n")
    (tmp_path / "x.toml").write_text(TOML)
    yield tmp_path
    registry.forget("half")
    files._loaded.clear()


def test_a_learner_from_a_file_works_in_all_commands_and_in_worker_processes(here, capsys):
    assert main(["run", "x.toml", "--out", "x.h5"]) == 2 and "your own with --learner FILE" in capsys.readouterr().err
    run = ["run", "x.toml", "--learner", "half.py", "-q"]
    assert main([*run, "--out", "x.h5"]) == 0
    assert main([*run, "--out", "y.h5", "--isolation", "process", "-j", "1"]) == 0
    one, two = load("x.h5"), load("y.h5")
    assert one.complete and all(one[name].tobytes() == two[name].tobytes() for name in one.columns)
    rewards = [one.select(method=method, alpha=0.1)["reward"].tolist() for method in ("half-bool", "crm-bool")]
    assert rewards[0] != rewards[1]
    explain = ["explain", "1a1b", "a-b", "--size", "7", "--steps", "2000", "--out", "e.html", "--learner", "half.py"]
    assert main([*explain, "--learn", "half"]) == 0
    assert main(explain) == 2 and "goes with --learn half" in capsys.readouterr().err
    registry.forget("half")  # as in a new process
    replay = ["replay", "x.h5", "--worst", "half-bool", "a-b", "--out", "x.npz"]
    assert main(replay) == 2
    assert "learner 'half' is not known here; name its file with --learner FILE" in capsys.readouterr().err
    assert main(["merge", "x.h5", "--out", "z.h5"]) == 2 and "--learner FILE" in capsys.readouterr().err
    assert main(["plot", "x.h5", "--text"]) == 0 and main(["report", "x.h5", "--out", "r.html", "--no-verdicts"]) == 0
    assert main([*replay, "--learner", "half.py"]) == 0 and main(["merge", "x.h5", "--out", "z.h5"]) == 0


def test_another_process_loads_the_same_file_or_says_what_is_wrong(here):
    assert load_file("half.py") == load_file(here / "half.py") == ("half",)
    load_again(loaded_files())
    Path("half.py").write_text(LEARNER + "# edited\n")
    with pytest.raises(ConfigError, match=r"half\.py: has changed since this process loaded it"):
        load_file("half.py")
    known = loaded_files()
    registry.forget("half")  # as in a worker that comes later
    with pytest.raises(ConfigError, match=r"a worker cannot load the learner: .*half\.py is another file there"):
        load_again(known)
    Path("half.py").unlink()
    with pytest.raises(
        ConfigError, match=r"a worker cannot load the learner: .*half\.py: cannot be read: No such file"
    ):
        load_again(known)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1 +\n", r"bad\.py:1: SyntaxError: invalid syntax"),
        ("def f():\n    return nope\n\nf()\n", r"bad\.py:2: NameError: name 'nope' is not defined"),
        ("import fastrm\n", r"bad\.py: registers no learner; let it call fastrm\.register"),
        ("import sys\nsys.exit(3)\n", r"bad\.py:2: SystemExit: 3"),
        (LEARNER.replace('"half"', '"qrm"'), r"bad\.py:15: learner 'qrm': there is one of this name already"),
        (LEARNER.replace("Half())", "Half)"), r"bad\.py:15: learner 'Half': a class; register an object, Half\(\)"),
        ("raise ValueError('two\\nlines')\n", r"bad\.py:1: ValueError: two\\nlines"),
        ("x = '\0'\n", r"bad\.py: (Syntax|Value)Error: source code string cannot contain null bytes"),
    ],
)  # fmt: skip
def test_a_file_that_does_not_do_gets_one_line_and_exit_code_2(here, capsys, text, message):
    Path("bad.py").write_text(text)
    assert main(["run", "x.toml", "--out", "x.h5", "--learner", "bad.py"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "half" not in registry.names()
    with pytest.raises(ConfigError, match=message):
        load_file("bad.py")


def test_what_is_no_python_file_is_refused(here, capsys):
    Path("folder.py").mkdir()
    for name, message in (
        ("none.py", "none.py: cannot be read: No such file"),
        ("folder.py", "folder.py: cannot be read: Is a directory"),
        ("x.toml", "x.toml: must be a Python file"),
    ):
        assert main(["run", "x.toml", "--learner", name]) == 2 and message in capsys.readouterr().err


def test_a_file_whose_learner_was_replaced_is_not_loaded_by_workers(here):
    (here / "another.py").write_text(LEARNER)
    load_file("half.py")
    registry.forget("half")
    load_file("another.py")
    assert [Path(path).name for path, _ in loaded_files()] == ["another.py"]
