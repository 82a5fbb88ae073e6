"""Figures, the summary table, and text where matplotlib is missing."""

import csv
import math
import struct

import numpy as np
import pytest
from test_claims import make_file, make_plan

from fastrm import ConfigError, load
from fastrm.bench.__main__ import main
from fastrm.plots import COLOURS, LINES, figures_of, learning_curves
from fastrm.stats import band, censored_percentile
from fastrm.textplot import curves_as_text


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return load(make_file(tmp_path_factory.mktemp("plots") / "made.h5", plan=make_plan(seeds=2)))


def test_six_panels_with_one_colour_per_kind_and_one_line_per_learner(results):
    figure = learning_curves(results.select(setup=["1a1b1c", "2a2b2c"]))
    assert len(figure.axes) == 6
    titles = [axis.get_title() for axis in figure.axes]
    assert titles == [f"{setup}, task {task}" for task in ("a", "a-b", "a-b-c") for setup in ("1a1b1c", "2a2b2c")]
    lines = figure.axes[0].get_lines()
    drawn = {line.get_color() for line in lines} - {"0.6"}
    assert drawn == {COLOURS[kind] for kind in ("boolean", "numeric-boolean", "numeric")}
    assert len(figure.legends[0].get_texts()) == 8
    assert figure.axes[4].get_xlabel() and figure.axes[0].get_ylabel()


def test_nothing_is_clipped(results):
    for name, figure in figures_of(results).items():
        figure.canvas.draw()
        whole = figure.get_window_extent()
        for text in [*figure.texts, *(t for legend in figure.legends for t in legend.get_texts())]:
            box = text.get_window_extent()
            assert box.x0 >= whole.x0 and box.x1 <= whole.x1, (name, text.get_text())
            assert box.y0 >= whole.y0 and box.y1 <= whole.y1, (name, text.get_text())


def test_kinds_differ_in_lightness_so_that_grey_keeps_them_apart():
    def lightness(colour):
        red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
        return 0.299 * red + 0.587 * green + 0.114 * blue

    shades = sorted(lightness(COLOURS[kind]) for kind in ("boolean", "numeric-boolean", "numeric"))
    assert min(np.diff(shades)) > 0.2 and len({str(line) for line in LINES.values()}) == 3


@pytest.mark.parametrize("form", ["png", "pdf", "svg"])
def test_plot_writes_the_same_figures_and_a_summary_every_time(results, tmp_path, capsys, form):
    for folder in ("one", "two"):
        assert main(["plot", str(results.path), "--out", str(tmp_path / folder), "--format", form]) == 0
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    figures = ("all-maps", "map-appendix", "maps", "one-map")
    assert names == sorted([*(f"{name}.{form}" for name in figures), "summary.csv"])
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name
    if form == "png":
        width, height = struct.unpack(">II", (tmp_path / "one" / "one-map.png").read_bytes()[16:24])
        assert 1300 <= width <= 1500 and height > 1000  # seven inches wide at 200 dots
    rows = list(csv.DictReader((tmp_path / "one" / "summary.csv").read_text().splitlines()))
    assert len(rows) == 3 * 3 * 8 and rows[0]["runs"] == "4" and float(rows[0]["reached_90"]) == 1.0


def test_without_matplotlib_the_curves_are_printed(results, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("fastrm.plots.have_matplotlib", lambda: False)
    assert main(["plot", str(results.path), "--out", str(tmp_path / "x")]) == 0
    printed = capsys.readouterr()
    assert "2a2b2c, task a-b-c: median score" in printed.out and "pip install 'fastrm[plot]'" in printed.err
    assert printed.out.count("█") > 100 and (tmp_path / "x" / "summary.csv").exists()
    assert main(["plot", str(results.path), "--text"]) == 0
    assert capsys.readouterr().out == curves_as_text(results) + "\n"


def test_files_without_curves_are_refused_in_one_line(tmp_path, capsys):
    path = make_file(tmp_path / "none.h5", plan=make_plan(steps=1000, maps=1))
    assert main(["plot", str(path)]) == 2
    assert "no curves to draw" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="selects nothing"):
        learning_curves(load(path).select(setup="3a"))


def test_the_summary_knows_medians_and_shares(results):
    rows = results.summary(by=("label", "task"))
    row = next(row for row in rows if row["label"] == "hrm-num" and row["task"] == "a-b")
    assert row["runs"] == 10 and row["shortest"] == 0.8 and row["score_50"] == pytest.approx(0.95)
    with pytest.raises(ConfigError, match=r"no coordinate 'lable' \(did you mean label\?\)"):
        results.summary(by=("lable",))


def test_censored_percentiles_agree_with_numpy_where_nothing_is_censored():
    rng = np.random.default_rng(0)
    for count in (1, 2, 5, 8):
        values = rng.normal(size=count)
        for q in (0, 25, 50, 75, 100):
            assert censored_percentile(values, q) == pytest.approx(np.percentile(values, q), rel=1e-12)
    assert censored_percentile(np.array([1.0, 2.0, math.nan, math.nan]), 25) == 1.75
    assert censored_percentile(np.array([1.0, 2.0, math.nan, math.nan]), 75) == math.inf
    assert band(np.array([[math.nan], [1.0]]), [50]).tolist() == [[0.5]]
