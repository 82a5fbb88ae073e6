"""What learning curves look like: told apart in grey, named where they end, begun where learning begins."""

import itertools
import struct
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from fastrm import ConfigError, LearnerConfig, load
from fastrm.bench.__main__ import main
from fastrm.experiments import Method
from fastrm.plots import figures_of, learning_curves, looks_of
from fastrm.plots.curves import spread
from fastrm.plots.palette import KIND_COLOURS, LEARNER_COLOURS, LIGHTNESS_APART, lightness

from made_results import METHODS, make_file, make_plan

KINDS = ("bool", "num-bool", "num", "pot", "dtg")
EVERYTHING = [f"{algo}{shaping}-{kind}" for algo in ("qrm", "crm", "hrm") for shaping in ("", "-rs") for kind in KINDS]
FIGURES = {
    "one": ["crm-num"],
    "paper": METHODS,
    "one learner": [f"hrm{shaping}-{kind}" for kind in KINDS for shaping in ("", "-rs")],
    "one kind": [f"{algo}{shaping}-num" for algo in ("qrm", "crm", "hrm") for shaping in ("", "-rs")],
    "files": ["qrm", "crm", "hrm", "crm-rs"],
    "starts": [f"{algo}-num@{k / 4}" for algo in ("crm", "hrm") for k in range(5)],
    "everything": EVERYTHING,
}


def looks(labels):
    return looks_of([Method.parse(label) for label in labels])


def made(folder, **changes):
    settings = {"setups": ("1a1b1c",), "maps": 1, "map_files": (), "tasks": ("a", "a-b"), "seeds": 2}
    return load(make_file(folder / "made.h5", plan=make_plan(**{**settings, **changes})))


def differ_in_grey(one, two):
    """Whether two looks differ in lightness, in line, or in marker, hollow ones being other markers."""
    line = one["linestyle"] != two["linestyle"]
    marker = (one["marker"], one["markerfacecolor"] == "white") != (two["marker"], two["markerfacecolor"] == "white")
    return line or marker or abs(lightness(one["color"]) - lightness(two["color"])) >= LIGHTNESS_APART


@pytest.mark.parametrize("labels", FIGURES.values(), ids=FIGURES)
def test_any_two_methods_of_a_figure_are_told_apart_in_grey(labels):
    for (a, one), (b, two) in itertools.combinations(looks(labels).items(), 2):
        assert differ_in_grey(one, two), (a, b)


def test_colours_mean_kinds_and_in_a_figure_of_one_kind_learners():
    for labels in (METHODS, FIGURES["one learner"], ["crm-num"]):
        assert {(Method.parse(x).kind, look["color"]) for x, look in looks(labels).items()} <= set(KIND_COLOURS.items())
    for labels in (FIGURES["one kind"], FIGURES["files"]):
        assert {(Method.parse(x).algo, look["color"]) for x, look in looks(labels).items()} <= {
            *LEARNER_COLOURS.items()
        }
    assert not {*KIND_COLOURS.values()} & {*LEARNER_COLOURS.values()}


def test_a_method_looks_the_same_beside_others_of_several_kinds_and_learners():
    some, all_of_them = looks(METHODS), looks(EVERYTHING)
    for label in METHODS:
        assert {**some[label], "markevery": 0} == {**all_of_them[label], "markevery": 0}


def test_steps_begin_where_a_run_has_a_score(tmp_path):
    results = made(tmp_path, methods=("crm-num", "qrm-num"), learner=LearnerConfig(tick=50_000))
    scores = results["score"].copy()
    scores[:, :3], scores[0, 2] = np.nan, 0.1
    late = replace(results, loaded={**results.columns, "score": scores})
    assert {axis.get_xlim()[0] for axis in learning_curves(late).axes} == {150_000}
    never = replace(results, loaded={**results.columns, "score": np.full_like(scores, np.nan)})
    assert learning_curves(never).axes[0].get_xlim()[0] == 50_000


@pytest.mark.parametrize("setups", [("1a1b1c",), ("1a1b1c", "2a2b2c")], ids=["wide", "narrow"])
@pytest.mark.parametrize("ticks", [(2, 19), (11, 17), (18, 19), (0, 9), (0, 17), (1, 19), (0, 19), (19, 19)])
def test_numbers_of_steps_do_not_overlap_and_some_are_there(tmp_path, ticks, setups):
    results = made(tmp_path, setups=setups, tasks=("a",), methods=("crm-num",), learner=LearnerConfig(tick=50_000))
    scores, steps = results["score"].copy(), results["step"][: ticks[1] + 1]
    scores[:, : ticks[0]] = np.nan
    some = replace(results, loaded={**results.columns, "score": scores[:, : ticks[1] + 1], "step": steps})
    figure = learning_curves(some, width=3.5)
    FigureCanvasAgg(figure).draw()
    labels = [label for label in figure.axes[0].get_xticklabels(which="both") if label.get_text()]
    low, high = figure.axes[0].get_xlim()
    drawn = [label.get_window_extent() for label in labels if low <= label.get_position()[0] <= high]
    assert drawn and not any(one.overlaps(two) for one, two in itertools.combinations(drawn, 2))


@pytest.mark.parametrize(("count", "bands", "drawn"), [(3, None, 3), (4, None, 0), (4, True, 4), (3, False, 0)])
def test_bands_are_drawn_where_there_are_few_methods_or_on_demand(tmp_path, count, bands, drawn):
    results = made(tmp_path, methods=METHODS[:count])
    figure = next(figure for _, figure in figures_of(results, bands=bands))
    assert [len(axis.collections) for axis in figure.axes] == [drawn] * 2
    assert ("25-75 %" in figure.get_suptitle()) == bool(drawn)


def boxes(figure):
    FigureCanvasAgg(figure).draw()
    return [text.get_window_extent() for text in figure.texts if text is not figure._suptitle]


@pytest.mark.parametrize("count", [1, 2, 8])
def test_names_stand_at_the_ends_of_curves_and_do_not_overlap(tmp_path, count):
    figure = learning_curves(made(tmp_path, methods=METHODS[:count]), "a title")
    assert not figure.legends and len(boxes(figure)) == 2 * count
    whole = figure.get_window_extent()
    for box in boxes(figure):
        assert box.x1 <= whole.x1 and box.y1 <= whole.y1 and not figure.axes[0].get_window_extent().overlaps(box)
    for one, two in itertools.combinations(boxes(figure), 2):
        assert not one.overlaps(two)


def test_where_names_do_not_fit_there_is_a_legend(tmp_path):
    results = made(tmp_path, methods=METHODS)
    figure = learning_curves(results, width=3.5)
    assert len(figure.legends[0].get_texts()) == 8 and not boxes(figure)
    many = made(tmp_path, methods=tuple(EVERYTHING[:14]))
    assert learning_curves(many, width=30).legends  # there is room beside the panels, but they are too low


def test_places_are_kept_where_there_is_room_and_moved_apart_where_not():
    assert spread([1.0, 4.0], 1.0, 0.0, 5.0) == [1.0, 4.0]
    assert spread([5.0, 5.0, 5.0], 1.0, 0.0, 5.0) == [3.0, 4.0, 5.0]
    assert spread([0.0, 0.0], 1.0, 0.0, 5.0) == [0.0, 1.0]
    random = np.random.default_rng(0)
    for _ in range(50):
        places = spread(np.sort(random.random(8)), 0.1, 0.0, 1.0)
        assert min(np.diff(places)) > 0.1 - 1e-9 and places[0] >= 0 and places[-1] <= 1 + 1e-9


@pytest.mark.parametrize(
    ("words", "pixels"),
    [(["--width", "5", "--dpi", "100"], 500), (["--columns", "1"], 700), (["--columns", "2", "--dpi", "50"], 360)],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_figures_are_as_wide_as_asked_for(tmp_path, words, pixels):
    results = made(tmp_path, setups=("1a1b1c", "2a2b2c", "1a1b1c walls 0.1"), methods=METHODS[:2])
    assert main(["plot", str(results.path), *words, "--out", str(tmp_path)]) == 0
    width, _ = struct.unpack(">II", (tmp_path / "one-map.png").read_bytes()[16:24])
    assert abs(width - pixels) <= 1


def test_setups_that_do_not_fit_beside_each_other_go_on_below(tmp_path):
    results = made(tmp_path, setups=("1a1b1c", "2a2b2c", "1a1b1c walls 0.1"), methods=METHODS[:2])
    figure = learning_curves(
        results, "a title that is far too long for a column of a page, so that it is broken", width=3.5
    )
    FigureCanvasAgg(figure).draw()
    assert len(figure.axes) == 6 and sum(bool(axis.get_xlabel()) for axis in figure.axes) == 2
    title, whole = figure._suptitle.get_window_extent(), figure.get_window_extent()
    assert whole.x0 <= title.x0 and title.x1 <= whole.x1
    for one, two in itertools.combinations([axis.title for axis in figure.axes], 2):
        assert not one.get_window_extent().overlaps(two.get_window_extent())
        assert not one.get_window_extent().overlaps(title)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--width", "0.1"], "width=0.1: must be a number from 2 to 40"),
        (["--width", "nan"], "width=nan: must be a number from 2 to 40"),
        (["--dpi", "0"], "dpi=0: must be a whole number from 20 to 2400"),
        (["--width", "40", "--dpi", "2400"], "pixels are too many; lower dpi, or take pdf or svg"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_sizes_that_make_no_picture_are_refused_in_one_line(tmp_path, words, said, capsys):
    results = made(tmp_path, methods=("crm-num",))
    assert main(["plot", str(results.path), *words]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
    with pytest.raises(ConfigError, match="bands='yes': must be True or False"):
        learning_curves(results, bands="yes")
