"""Commands on Water world: check, play, draw, and findings."""

import io
import json

import pytest
from PIL import Image

from fastrm.bench.__main__ import main

from water_specs import close_by


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
    assert "this needs the cells of a map" in capsys.readouterr().err


def test_draw_makes_pictures_and_an_episode(near, tmp_path):
    learn = ["--map", str(near), "--machine", "d", "--learn", "crm", "--steps", "40000"]
    assert main(["draw", *learn, "--out", str(tmp_path / "path.png"), "--dpi", "50"]) == 0
    assert main(["draw", *learn, "--out", str(tmp_path / "episode.gif")]) == 0
    with Image.open(tmp_path / "episode.gif") as film:
        assert film.n_frames > 3
    with Image.open(tmp_path / "path.png") as picture:
        assert picture.size[0] > 200


def test_a_suite_on_water_world_has_findings_and_a_figure(near, tmp_path, capsys):
    (tmp_path / "study.toml").write_text(
        'map_files = ["near.json"]\ntasks = ["d"]\nmethods = ["crm-bool@0", "crm-num@0", "crm-num-bool@0"]\n'
        "steps = 10_000\nseeds = 2\n[learner]\ntick = 1000\n"
    )
    file, figure = str(tmp_path / "w.h5"), tmp_path / "gaps.png"
    assert main(["run", str(tmp_path / "study.toml"), "--out", file, "--quiet"]) == 0
    capsys.readouterr()
    assert main(["findings", file, "--figure", str(figure)]) == 0
    printed = capsys.readouterr().out
    assert "crm-num - crm-bool" in printed and "Problems on which" not in printed  # verdicts take too long here
    with Image.open(figure) as picture:
        assert picture.size[0] > 200
    assert main(["findings", file, "--figure", "gaps.txt"]) == 2


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["check", "water", "a-g"], "uses g; this world has balls of the colours a, b, c, d, e, f"),
        (["check", "water", "a", "--metric", "geodesic"], "metric, slip: are for maps"),
        (["check", "no.json", "a"], "no.json: cannot be read"),
        (["check", "water", "a", "--size", "9"], "--size is for maps"),
    ],
)
def test_bad_input_gets_one_line(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
