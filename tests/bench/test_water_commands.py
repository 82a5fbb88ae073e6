"""Commands on Water world: check, play, draw, and the study with its findings."""

import io
import json
import signal

import pytest
from PIL import Image

from fastrm.bench.__main__ import main

from water_specs import close_by

STUDY = """\
study = "water"
worlds = 2
tasks = ["d!"]
kinds = ["bool", "num"]
optimism = [0.0]
ways = ["memory", "sight anywhere"]
steps = 10_000
"""


@pytest.fixture
def near(tmp_path):
    """A file with a world whose balls are near."""
    close_by(5).save(tmp_path / "near.json")
    return tmp_path / "near.json"


def test_check_tells_the_verdict_and_its_witness(near, capsys):
    assert main(["check", str(near), "d", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["verdict"] == "shortest" and len(report["actions"]) == report["shortest"] == report["optimal_length"]
    assert main(["check", f"{near}:water", "d", "--profile", "icarte2022", "--fail"]) == 0
    assert "fewest steps" in capsys.readouterr().out
    assert main(["check", str(near), "d", "--learn", "crm", "--steps", "20000"]) == 0
    assert "crm learned      greedy" in capsys.readouterr().out
    assert main(["check", str(near), "d", "--learn", "hrm"]) == 2


def test_play_shows_the_box_and_what_the_machine_does(near, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("dddd" + "d" * 9 + "wrq"))
    assert main(["play", str(near), "a"]) == 0
    shown = capsys.readouterr().out
    assert "label a   reward 1   sum 1" in shown and "the episode is over: success" in shown
    assert shown.count("@") == shown.count("step ")


def test_play_refuses_to_learn_before_it_trains(near, capsys):
    assert main(["play", str(near), "a", "--learn", "crm", "--steps", "1000000000"]) == 2
    assert "--learn: learned moves cannot be played on Water world" in capsys.readouterr().err


def test_draw_makes_pictures_and_an_episode(near, tmp_path):
    learn = ["--map", str(near), "--machine", "d", "--learn", "crm", "--steps", "40000"]
    assert main(["draw", *learn, "--out", str(tmp_path / "path.png"), "--dpi", "50"]) == 0
    assert main(["draw", *learn, "--out", str(tmp_path / "episode.gif")]) == 0
    with Image.open(tmp_path / "episode.gif") as film:
        assert film.n_frames > 3
    with Image.open(tmp_path / "path.png") as picture:
        assert picture.size[0] > 200


def test_a_study_is_run_in_parts_and_told_of(tmp_path, capsys):
    (tmp_path / "study.toml").write_text(STUDY)
    worlds = {name: json.loads(close_by(seed).to_json())["water"] for seed, name in ((5, "one"), (6, "two"))}
    (tmp_path / "worlds.json").write_text(json.dumps(worlds))
    for part in (1, 2):
        where = ["--out", str(tmp_path / f"{part}.csv"), "--shard", f"{part}/2", "--quiet"]
        where += ["--worlds", str(tmp_path / "worlds.json")]
        assert main(["water", str(tmp_path / "study.toml"), *where]) == 0
    capsys.readouterr()
    assert main(["water", str(tmp_path / "1.csv"), str(tmp_path / "2.csv"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert len(report["cells"]) == 4 and {cell["runs"] for cell in report["cells"]} == {2}
    assert main(["water", str(tmp_path / "1.csv")]) == 0
    assert "| memory | num - bool | all |" in capsys.readouterr().out


def test_an_interrupted_study_is_resumed_to_the_same_bytes(tmp_path, capsys):
    (tmp_path / "study.toml").write_text(STUDY.replace("10_000", "10_001").replace("[0.0]", "[0]"))
    close_by(5).save(tmp_path / "near.json")
    out, words = tmp_path / "runs.csv", ["--worlds", str(tmp_path / "near.json"), "--quiet"]
    command = ["water", str(tmp_path / "study.toml"), "--out", str(out), *words]
    assert main([*command, "--workers", "0"]) == 2 and not out.exists()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fastrm.experiments.water_study.run_unit", lambda study, unit: signal.raise_signal(signal.SIGINT))
        assert main(command) == 3
    assert "interrupted; finished runs are in" in capsys.readouterr().err
    assert main(command) == 0
    whole = out.read_bytes()
    head = whole.index(b"\n") + 1
    for kept in (0, 5, head - 1, head, len(whole) // 2, len(whole) - 1, len(whole)):
        out.write_bytes(whole[:kept])
        assert main([*command, "--workers", "1"]) == 0
        assert out.read_bytes() == whole
    close_by(6).save(tmp_path / "near.json")  # another world of the same name
    capsys.readouterr()
    assert main(command) == 2
    assert "holds other runs than this study; remove it, or name another file with --out" in capsys.readouterr().err
    out.write_bytes(whole[:-1] + b"\r5\n")
    assert main(command) == 2
    assert "not a run; the file is damaged" in capsys.readouterr().err
    out.write_bytes(whole[:head])
    assert main(["water", str(out)]) == 2
    assert "holds no runs yet; run its study first" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["check", "water", "a-g"], "uses g; this world has balls of the colours a, b, c, d, e, f"),
        (["check", "water", "a", "--metric", "geodesic"], "--metric, --slip, --start: are for maps"),
        (["check", "no.json", "a"], "no.json: cannot be read"),
        (["check", "water", "a", "--size", "9"], "--size: is for maps"),
        (["water", "x.toml"], "--out: name the table"),
        (["water", "x.toml", "--out", "y.csv"], "x.toml: cannot be read"),
        (["water", "x.csv", "--shard", "1/2"], "--shard: is for a study that is run"),
        (["water", "x.csv"], "x.csv: cannot be read"),
        (["water", "x.txt"], "give one study (.toml) to run"),
    ],
)
def test_bad_input_gets_one_line(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


@pytest.mark.parametrize(
    "line, message",
    [
        ('tasks = ["a-z"]', "must be one of a, b, c, d, e, f"), ("worlds = -1", "worlds=-1"),
        ('ways = ["smell"]', "ways='smell'"), ('kinds = ["pot"]', "kinds='pot'"), ("optimism = []", "optimism=[]"),
        ("speed = 3", "unknown key 'speed'"), ("worlds =", "not TOML"),
    ],
)  # fmt: skip
def test_a_study_that_is_none_is_refused_in_one_line(line, message, capsys, tmp_path):
    (tmp_path / "s.toml").write_text(line + "\n")
    assert main(["water", str(tmp_path / "s.toml"), "--out", str(tmp_path / "s.csv")]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_a_damaged_table_is_named(capsys, tmp_path):
    (tmp_path / "r.csv").write_text("world,task\n1,2\n")
    assert main(["water", str(tmp_path / "r.csv")]) == 2
    assert "not a table of the runs of a study" in capsys.readouterr().err
