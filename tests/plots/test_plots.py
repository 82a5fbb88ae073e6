"""Figures, the summary table, and text where matplotlib is missing."""

import csv
import io
import math
import struct
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from fastrm import ConfigError, LearnerConfig, load
from fastrm.bench.__main__ import main
from fastrm.plots import curves_as_text, figures_of, learning_curves
from fastrm.plots.palette import KIND_COLOURS
from fastrm.results.stats import band, censored_percentile

from made_results import make_file, make_plan
from sizes import either


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    def spread(run):
        run["score"] -= 0.05 * run["seed"]  # so that median and quartiles differ

    return load(make_file(tmp_path_factory.mktemp("plots") / "made.h5", spread, make_plan()))


def test_six_panels_with_one_colour_per_kind_and_one_line_per_learner(results):
    figure = learning_curves(results.select(setup=["1a1b1c", "2a2b2c"]))
    panels = [(setup, task) for task in ("a", "a-b", "a-b-c") for setup in ("1a1b1c", "2a2b2c")]
    assert [axis.get_title() for axis in figure.axes] == [f"{setup}, task {task}" for setup, task in panels]
    for axis, (setup, task) in zip(figure.axes, panels, strict=True):
        lines = [line for line in axis.get_lines() if line.get_color() != "0.6"]
        assert len(lines) == 8
        for line, method in zip(lines, results.plan.methods, strict=True):
            steps, scores = results.curves(setup=setup, task=task, method=method.label)
            assert np.array_equal(line.get_xdata(), steps)
            assert np.allclose(line.get_ydata(), np.median(scores, axis=0))
            assert line.get_color() == KIND_COLOURS[method.kind]
            assert line.get_marker() == {"qrm": "s", "crm": "o", "hrm": "^"}[method.algo]
            assert (line.get_markerfacecolor() == "white") == method.shaping
            dashes = line._unscaled_dash_pattern[1]
            assert (dashes[0] if dashes else None) == {"qrm": 1, "crm": None, "hrm": 5}[method.algo]
    assert [text.get_text() for text in figure.legends[0].get_texts()][:2] == ["CRM + shaping, Boolean", "HRM, Boolean"]
    assert figure.axes[4].get_xlabel() and figure.axes[0].get_ylabel()


def test_the_figure_in_the_form_of_the_paper_has_bands_two_columns_and_a_linear_axis(results):
    figures = dict(figures_of(results))
    panels = [f"{setup}, task {task}" for task in ("a", "a-b", "a-b-c") for setup in ("1a1b1c", "2a2b2c")]
    assert [axis.get_title() for axis in figures["paper"].axes] == panels
    for axis in figures["paper"].axes:
        setup, task = axis.get_title().split(", task ")
        lines = [line for line in axis.get_lines() if line.get_color() != "0.6"]
        beside = next(one for one in figures["one-map"].axes if one.get_title() == axis.get_title())
        assert [line.get_color() for line in lines] == [line.get_color() for line in beside.get_lines()[:8]]
        assert axis.get_xscale() == "linear" and beside.get_xscale() == "log" and len(axis.collections) == 8
        for line, shade, method in zip(lines, axis.collections, results.plan.methods, strict=True):
            steps, scores = results.curves(setup=setup, grid="0", task=task, method=method.label)
            low, middle, high = np.percentile(scores, [25, 50, 75], axis=0)
            assert np.allclose(line.get_ydata(), middle) and len(scores) == 3
            edges = shade.get_paths()[0].vertices
            for x, *ends in zip(steps, low, high, strict=True):
                at = edges[edges[:, 0] == x][:, 1]
                assert np.allclose([at.min(), at.max()], ends)
    plain = dict(figures_of(results, bands=False))["paper"]
    assert not any(axis.collections for axis in plain.axes)
    assert "paper" not in dict(figures_of(results.select(setup="1a1b1c")))


def test_a_linear_axis_ends_soon_after_the_last_median_of_its_row_has_settled(tmp_path):
    plan = make_plan(maps=1, map_files=(), seeds=1, steps=1_000_000, learner=LearnerConfig(tick=10_000))
    made = load(make_file(tmp_path / "made.h5", plan=plan))
    late, until = made["score"].copy(), {"a": 20, "a-b": 60, "a-b-c": 90}
    for row, task in enumerate(made["task"].tolist()):
        late[row] = 1.0
        if made["setup"][row] == "2a2b2c" and made["label"][row] == "hrm-num":
            late[row, : until[task]] = 0.9
    figure = learning_curves(replace(made, loaded={**made.columns, "score": late}), xscale="linear")
    for axis in figure.axes:  # both columns of a row, though all of the first settle at once
        ticks = min(100, math.ceil(1.25 * (until[axis.get_title().split(", task ")[1]] + 1)))
        assert axis.get_xlim() == (0, 1.02 * 10_000 * ticks)
        assert axis.xaxis.get_major_formatter()(250_000, 0) == "250" and axis.xaxis.get_tick_params()["labelbottom"]
    with pytest.raises(ConfigError, match="xscale='lin': must be one of log, linear"):
        learning_curves(made, xscale="lin")


def with_ceiling(results):
    """Return made results with a unit and, but for one setup, a ceiling that differs from run to run."""
    n = results.runs
    ceiling = np.where(results["setup"] == "2a2b2c", np.nan, 0.05 + 0.001 * np.arange(n) / n)
    columns = {**results.columns, "optimal_arps": np.full(n, 0.04), "ceiling": ceiling}
    return type(results)(results.attributes, results.path, columns)


def test_a_thin_dashed_line_shows_the_ceiling_where_the_file_has_it(results):
    def dashed(axis):
        lines = [line for line in axis.get_lines() if line.get_color() == "0.6"]
        return [line.get_ydata()[0] for line in lines if line.is_dashed()]

    some = with_ceiling(results).select(setup=["1a1b1c", "2a2b2c"])
    figure = learning_curves(some)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names[-1] == "ceiling" and names.count("ceiling") == 1
    for axis in figure.axes:
        setup, task = axis.get_title().split(", task ")
        mine = (some["setup"] == setup) & (some["task"] == task)
        expected = [] if setup == "2a2b2c" else [np.median(some["ceiling"][mine]) / 0.04]
        assert dashed(axis) == pytest.approx(expected)
        assert axis.get_ylim() == figure.axes[0].get_ylim() and axis.get_ylim()[1] > 0.051 / 0.04
    plain = learning_curves(results)
    assert not any(dashed(axis) for axis in plain.axes) and plain.axes[0].get_ylim() == (0, 1.1)
    assert "ceiling" not in [text.get_text() for text in plain.legends[0].get_texts()]


@pytest.mark.parametrize("methods", [None, ("crm-rs-num-bool", "hrm-rs-num-bool", "qrm-rs-num-bool", "qrm-rs-num")])
def test_nothing_is_clipped(results, tmp_path, methods):
    if methods:
        plan = make_plan(setups=("1a1b1c",), maps=1, map_files=(), methods=methods, seeds=1)
        results = with_ceiling(load(make_file(tmp_path / "long.h5", plan=plan)))
    for name, figure in figures_of(results):
        FigureCanvasAgg(figure).draw()
        whole = figure.get_window_extent()
        texts = [*figure.texts, *(t for legend in figure.legends for t in legend.get_texts())]
        for axis in figure.axes:
            texts += [axis.title, axis.xaxis.label, axis.yaxis.label]
        for text in texts:
            if not text.get_text():
                continue
            box = text.get_window_extent()
            assert box.x0 >= whole.x0 and box.x1 <= whole.x1, (name, text.get_text())
            assert box.y0 >= whole.y0 and box.y1 <= whole.y1, (name, text.get_text())


@pytest.mark.parametrize("form", either(["png", "pdf", "svg"], ["png", "svg"]))
def test_plot_writes_the_same_figures_and_a_summary_every_time(results, tmp_path, form):
    if form != "png":
        plan = make_plan(maps=1, tasks=("a",), seeds=1)
        results = load(make_file(tmp_path / "small.h5", plan=plan))
    for folder in ("one", "two"):
        assert main(["plot", str(results.path), "--out", str(tmp_path / folder), "--format", form]) == 0
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    figures = ("map-appendix", "maps", "one-map", "overall", "paper", *(("all-maps",) if form == "png" else ()))
    assert names == sorted([*(f"{name}.{form}" for name in figures), "summary.csv"])
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name
    if form == "png":
        rows = list(csv.DictReader((tmp_path / "one" / "summary.csv").read_text().splitlines()))
        assert len(rows) == 3 * 3 * 8 and rows[0]["runs"] == "6" and float(rows[0]["reached_90"]) == 1.0
        width, height = struct.unpack(">II", (tmp_path / "one" / "one-map.png").read_bytes()[16:24])
        assert 1300 <= width <= 1500 and height > 1000  # seven inches wide at 200 dots


def test_without_matplotlib_the_curves_are_printed(results, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("fastrm.plots.have_matplotlib", lambda: False)
    assert main(["plot", str(results.path), "--out", str(tmp_path / "x")]) == 0
    printed = capsys.readouterr()
    assert "2a2b2c, task a-b-c: median score" in printed.out and "pip install 'fastrm[plot]'" in printed.err
    assert printed.out.count("█") > 100 and (tmp_path / "x" / "summary.csv").exists()
    assert main(["plot", str(results.path), "--text"]) == 0
    assert capsys.readouterr().out == curves_as_text(results) + "\n"


def test_files_without_curves_are_refused_in_one_line(tmp_path, capsys):
    path = make_file(tmp_path / "none.h5", runs=[])
    assert main(["plot", str(path)]) == 2
    assert "no curves to draw" in capsys.readouterr().err
    assert not path.with_suffix("").exists()
    with pytest.raises(ConfigError, match="no curves to draw"):
        learning_curves(load(path))
    assert main(["plot", str(path), "--text"]) == 2


def test_unfinished_files_are_drawn_and_say_so(tmp_path, capsys):
    plan = make_plan()
    path = make_file(tmp_path / "part.h5", plan=plan, runs=np.arange(30))
    assert main(["plot", str(path)]) == 0
    drawn = {"all-maps.png", "one-map.png", "overall.png", "maps.png", "summary.csv"}
    assert {p.name for p in (tmp_path / "part").iterdir()} == drawn
    figures = dict(figures_of(load(path)))
    for name in ("all-maps", "overall"):
        assert "30 of 360 runs" in figures[name].get_suptitle()


def test_a_file_without_suffix_and_strange_names_can_be_drawn(tmp_path, capsys):
    (tmp_path / "co$t_$.map").write_text("XXXXX\nXA aX\nXXXXX\n")
    plan = make_plan(setups=(), map_files=(str(tmp_path / "co$t_$.map"),), tasks=("a",), methods=("qrm-num",))
    path = make_file(tmp_path / "bare", plan=plan)
    assert main(["plot", str(path)]) == 0
    assert (tmp_path / "bare-report" / "map-co$t_$.png").exists()


def test_terminals_without_unicode_get_ascii(results, monkeypatch):
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", out)
    assert main(["plot", str(results.path), "--text"]) == 0
    out.flush()
    assert b"%##|" in out.buffer.getvalue()


def test_failed_runs_are_left_out_of_summaries(tmp_path):
    path = make_file(tmp_path / "x.h5", lambda run: run.update(failed=run["seed"] == 0, found=run["seed"] != 0))
    rows = load(path).summary(by=("method",))
    assert [row["runs"] for row in rows] == [30] * 8 and rows[0]["shortest_share"] == 1.0


def test_the_summary_knows_medians_and_shares(results):
    rows = results.summary(by=("method", "task"))
    row = next(row for row in rows if row["method"] == "hrm-num" and row["task"] == "a-b")
    assert row["runs"] == 15 and row["shortest_share"] == 0.8 and row["settled_50"] == pytest.approx(0.95)
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


def test_more_setups_and_maps_than_fit_get_further_figures(results, monkeypatch):
    monkeypatch.setattr("fastrm.plots.figures.MAX_SETUPS", 1)
    monkeypatch.setattr("fastrm.plots.figures.MAX_MAPS", 3)
    names = [name for name, _ in figures_of(results)]
    assert names == ["all-maps", "one-map", "all-maps-2", "one-map-2", "map-appendix", "overall", "maps", "maps-2"]
