"""Files and names that are not what they should be: one line that says so, at once."""

import os
import subprocess
import sys
import tracemalloc

import pytest
from time_limit import does_not_hang

from fastrm import ConfigError, Experiment, FastrmError, GridMap, LearnerConfig, MapError, RewardMachine
from fastrm.errors import MissingExtra, shown
from fastrm.experiments import Plan, plan as written

EXPERIMENT = {"name": "odd", "setups": ("1a1b",), "size": 5, "tasks": ("a-b",), "methods": ("crm-bool",)}
READERS = (GridMap.load, RewardMachine.load, Experiment.load)


@pytest.mark.parametrize("read", READERS)
def test_a_pipe_a_device_and_a_folder_are_no_text_files(read, tmp_path):
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    (tmp_path / "folder.toml").mkdir()
    for path in (pipe, "/dev/zero", tmp_path / "folder.toml"):
        with does_not_hang(10), pytest.raises(FastrmError, match="a folder, pipe or device; give a text file"):
            read(path)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("name", ["x" * 300, "x" * 5000, "a\x00b", "\ud800", "", "\x1b[31m.map"])
def test_names_that_no_file_has_are_refused_in_one_line(read, name):
    with pytest.raises(FastrmError) as refusal:
        read(name)
    assert str(refusal.value).isprintable()


@pytest.mark.parametrize("nested", ["name = " + "[" * 5000, "a." * 5000 + "a = 1", "[" + "a." * 3000 + "a]"])
def test_deeply_nested_experiment_files_are_refused_in_one_line(tmp_path, nested):
    path = tmp_path / "deep.toml"
    path.write_text(nested + "\n")
    with does_not_hang(), pytest.raises(ConfigError, match=r"deep\.toml:(1:)? "):
        Experiment.load(path)


def test_a_number_of_five_thousand_digits_is_refused_in_one_line(tmp_path):
    path = tmp_path / "long.toml"
    path.write_text(f"seeds = {'9' * 5000}\n")
    with pytest.raises(ConfigError, match=r"long\.toml: a number has more digits than Python reads"):
        Experiment.load(path)


def test_an_enormous_experiment_file_is_refused_before_it_is_parsed(tmp_path):
    path = tmp_path / "large.toml"
    path.write_text("# a comment\n" * 100_000)
    with pytest.raises(ConfigError, match=r"large\.toml: larger than 1 MiB"):
        Experiment.load(path)


@pytest.mark.parametrize(
    "name", ["../up", "a/b", "a\\b", "..", ".", "a\x00", "\x1b[31m", "a\nb", " a", "é" * 101, 5, ""]
)
def test_the_name_of_an_experiment_must_do_for_a_file(name):
    with pytest.raises(ConfigError, match=r"^name="):
        Experiment(**EXPERIMENT | {"name": name})


def test_a_name_of_two_hundred_bytes_will_do():
    assert Experiment(**EXPERIMENT | {"name": "é" * 100}).name == "é" * 100


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"terminal_rewards": 5}, "terminal_rewards=5: must be a table"),
        ({"learner": {"tick": 1000}}, None),
        ({"learner": None}, "learner=None: must be a table of settings"),
        ({"map_files": ("a\x1b.map",)}, "map_files: .*must be at most 4096 printable characters"),
        ({"machine_files": ("x" * 5000,)}, "machine_files: .*must be at most 4096 printable characters"),
        ({"maps": 10**6}, "maps=1000000: maps of size 5 for 1 setups take 982 MiB of text, more than 256; lower maps"),
        ({"maps": 3, "size": 10_000}, "maps=3: maps of size 10000"),
        ({"maps": 10, "size": 3000, "setups": ("1a1b maze",)}, "maps=10: maps of size 3000"),
        ({"setups": ("9" * 10**6 + "a",)}, "setups: "),
        ({"setups": ("999999999a",), "maps": 10**5}, None),
    ],
)
def test_settings_that_would_fail_later_are_refused_at_once(settings, message):
    with does_not_hang(10):
        if message is None:
            Experiment(**EXPERIMENT | settings)
            return
        with pytest.raises(ConfigError, match=message) as refusal:
            Experiment(**EXPERIMENT | settings)
    assert len(str(refusal.value)) < 250


def test_more_objects_than_cells_are_refused_before_they_are_placed():
    tracemalloc.start()
    try:
        with pytest.raises(MapError, match="99999999 objects do not fit"):
            GridMap.generate("99999999a", size=5)
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()


def test_many_maps_are_compared_by_name_in_one_pass(monkeypatch):
    grid = GridMap.generate("1a1b", size=5)
    monkeypatch.setattr(written, "generate_world", lambda *_, **__: grid)
    with does_not_hang():
        assert Plan.of(Experiment(**EXPERIMENT | {"maps": 60_000})).count == 60_000


def test_a_quoted_value_is_short_and_plain():
    class Rude:
        def __repr__(self):
            raise RuntimeError

    for value in ("x" * 10**6, b"\x1b" * 99, 10**5000, -(10**5000), ["\x1b"] * 99, Rude(), "\ud800", LearnerConfig()):
        assert len(shown(value)) <= 60 and shown(value).isprintable()
    assert shown("a-b") == "'a-b'" and shown(5) == "5"


def test_a_missing_extra_is_also_an_import_error():
    program = (
        "import sys\n"
        "sys.modules['gymnasium'] = sys.modules['matplotlib'] = None\n"
        "from fastrm.plots import style\n"
        "for use in (lambda: __import__('fastrm.env.environments'), lambda: __import__('fastrm.env'), style.style):\n"
        "    try:\n"
        "        use()\n"
        "    except ImportError as problem:\n"
        "        print(type(problem).__name__)\n"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["MissingExtra"] * 3
    assert issubclass(MissingExtra, ConfigError) and issubclass(MissingExtra, ImportError)
