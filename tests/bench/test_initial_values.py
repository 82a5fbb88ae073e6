"""The study of initial values: factors of steps, safety by map, and the front of both."""

import json
import re
import sys

import numpy as np
import pytest

from fastrm import ConfigError, load
from fastrm.bench.__main__ import main
from fastrm.bench.studies import starts as study
from fastrm.bench.studies.starts import Starts, findings

from evidence import DOCS, RECORD
from made_results import make_file, make_plan

METHODS = ("crm-bool", "crm-num-bool", "crm-num")
SPEED = {"crm-bool": 1.0, "crm-num-bool": 4.0, "crm-num": 2.0}
FROM = {"0.0": 2.0, "2.0": 1.0, "0.1 R": 1.0, "R": 0.5}


def make(path, **changes):
    """Runs that need fewer steps by kind and start; numeric ones mislead once on map 0, except from R."""
    settings = {"maps": 3, "map_files": (), "methods": METHODS, "tasks": ("a", "a-b"), "greedy_ticks": True}
    settings["learner"] = {"tick": 100_000, "q_init": [0.0, 2.0, "0.1 R", "R"]}

    def turn(run):
        slow = 100_000 * (1 + run["grid"] % 3) * (1 + run["seed"])
        is_misled = run["label"] == "crm-num" and (run["grid"] % 3, run["seed"]) == (0, 1) and run["q_init"] != "R"
        run.update(steps=slow / SPEED[run["label"]] / FROM[run["q_init"]], found=not is_misled)

    return load(make_file(path / "x.h5", turn, make_plan(**settings | changes)))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return make(tmp_path_factory.mktemp("starts"))


def test_a_factor_is_the_ratio_of_geometric_means(results):
    starts = Starts([results])
    for slow, fast, expected in (
        (("crm-bool", "2"), ("crm-num-bool", "2"), 4.0),
        (("crm-bool", "R"), ("crm-num-bool", "2"), 8.0),
        (("crm-num", "0"), ("crm-num", "R"), 0.25),
    ):
        found = starts.factor("1a1b1c", slow, fast, "a-b")
        assert (found.middle, found.low, found.high) == pytest.approx((expected,) * 3)
    assert starts.factor("1a1b1c", ("crm-bool", "0.5"), ("crm-num", "2")) is None


def test_a_factor_has_an_interval_over_maps_and_counts_never_as_the_whole_run(tmp_path):
    def turn(run):
        run.update(steps=np.nan if run["label"] == "crm-bool" else 10_000.0 * 2 ** (run["grid"] % 3))

    plan = make_plan(
        maps=3, map_files=(), methods=METHODS, greedy_ticks=True, learner={"tick": 100_000, "q_init": [0.0, 2.0]}
    )
    starts = Starts([load(make_file(tmp_path / "x.h5", turn, plan))])
    found = starts.factor("2a2b2c", ("crm-bool", "2"), ("crm-num", "2"))
    assert found.middle == pytest.approx(1_000_000 / 20_000) and found.low < 40 < 60 < found.high


def test_the_share_of_the_kind_is_a_ratio_of_logarithms():
    whole, part = np.log([16.0, 16.0, 16.0]), np.log([4.0, 2.0, 8.0])
    assert study.share_text(part, whole).startswith("50% [") and study.share_text(None, whole) == ""


def test_safety_is_counted_by_map_and_the_front_has_what_nothing_betters(results):
    points = {(p.setup, p.method, p.start): p for p in Starts([results]).points()}
    misled = points["1a1b1c", "crm-num", "2"]
    assert (misled.safe_maps, misled.maps, misled.safe_runs) == (2, 3, pytest.approx(8 / 9))
    assert points["1a1b1c", "crm-num", "R"].safe_maps == 3
    front = {key for key, point in points.items() if point.on_front}
    assert front == {(setup, "crm-num-bool", "0") for setup in ("1a1b1c", "2a2b2c")}


def test_tables_and_figures_are_written(results, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["starts", str(results.path), "--out", str(tmp_path / "out")])
    monkeypatch.setattr(study, "verdicts", lambda plan: {})
    study.main()
    said = capsys.readouterr().out
    assert "| 1a1b1c | a-b | crm-num-bool over crm-bool | 4 [4, 4] | 4 [4, 4] |" in said
    assert "| 1a1b1c | crm-num | 2 of 3, 88.9% | 2 of 3, 88.9% | 2 of 3, 88.9% | 3 of 3, 100.0% |" in said
    assert said == (tmp_path / "out" / "findings.md").read_text() and "nan" not in said
    for name in ("starts.png", "pareto.png"):
        assert (tmp_path / "out" / name).stat().st_size > 10_000


def test_the_command_findings_tells_the_same_of_one_file(results, capsys):
    assert main(["findings", str(results.path), "--no-exact"]) == 0
    said = capsys.readouterr().out
    assert "| 1a1b1c | a-b | crm-num-bool over crm-bool | 4 [4, 4] | 4 [4, 4] |" in said and "exact" not in said
    assert main(["findings", str(results.path), "--no-exact", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["tables"]) == 6


def test_files_without_several_initial_values_are_refused(tmp_path):
    plain = make_plan(maps=1, map_files=(), seeds=1)
    results = load(make_file(tmp_path / "x.h5", plan=plain))
    with pytest.raises(ConfigError, match="must sweep q_init, and nothing else"):
        Starts([results])
    with pytest.raises(ConfigError, match="no file sweeps q_init"):
        findings([results])


def test_intervals_on_the_page_about_the_speed_up_are_those_of_the_record():
    record = (RECORD / "paper-safe" / "findings.md").read_text()
    page = (DOCS / "explanation" / "what-the-speed-up-is.md").read_text()
    quoted = re.findall(r"\d[\d.]*[k%]?\s\[\d[\d.]*[k%]?, \d[\d.]*[k%]?\]", page)
    assert len(quoted) > 40 and not [one for one in quoted if one.replace("\n", " ") not in record]
