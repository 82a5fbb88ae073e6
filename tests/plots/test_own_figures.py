"""Your own figures: methods, names, colours, axes and texts of learning curves, in Python, TOML and commands."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex

from fastrm import ConfigError, Experiment, load
from fastrm.bench.__main__ import main
from fastrm.experiments import Plan
from fastrm.plots import curves_as_text, figures_of, learning_curves

from made_results import make_file, make_plan

METHODS = ("crm-num", "qrm-num", "crm-rs-bool")
OWN = {
    "methods": ["crm-rs-bool", "crm-num"],
    "names": {"crm-num": "ours", "qrm-num": "not drawn"},
    "colours": {"crm-num": "tab:red", "crm-rs-bool": (0.0, 0.5, 1.0)},
    "xscale": "linear",
    "title": "my title",
    "xlabel": "steps",
    "ylabel": "share",
}


def made(folder, **changes):
    settings = {"setups": ("1a1b1c",), "maps": 2, "map_files": (), "tasks": ("a",), "methods": METHODS, "seeds": 2}
    return load(make_file(folder / "made.h5", plan=make_plan(**{**settings, **changes})))


@pytest.fixture
def axes():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def named_lines(ax):
    """Return the lines that a legend shows, by name."""
    handles, labels = ax.get_legend_handles_labels()
    return dict(zip(labels, handles, strict=True))


def test_lines_have_the_names_of_methods_as_labels(tmp_path):
    results = made(tmp_path, tasks=("a", "a-b"))
    for ax in learning_curves(results).axes:
        assert [*named_lines(ax)] == ["CRM, numeric", "QRM, numeric", "CRM + shaping, Boolean"]


def test_a_figure_has_the_methods_order_names_colours_axis_and_texts_that_are_asked_for(tmp_path):
    figure = learning_curves(made(tmp_path), **OWN)
    (ax,) = figure.axes
    lines = named_lines(ax)
    assert [*lines] == ["CRM + shaping, Boolean", "ours"]
    assert to_hex(lines["ours"].get_color()) == to_hex("tab:red")
    hollow = lines["CRM + shaping, Boolean"]
    assert to_hex(hollow.get_color()) == "#0080ff" and to_hex(hollow.get_markerfacecolor()) == "#ffffff"
    assert (ax.get_xscale(), ax.get_xlabel(), ax.get_ylabel()) == ("linear", "steps", "share")
    assert figure.get_suptitle() == "my title" and ax.get_title() == "1a1b1c, task a"
    assert [text.get_text() for text in figure.texts if text.get_text() in lines] == ["CRM + shaping, Boolean", "ours"]
    thousands = learning_curves(made(tmp_path), xscale="linear").axes[0]
    for one, number in ((ax, "250k"), (thousands, "250")):  # the text says no unit, so the numbers do
        assert one.xaxis.get_major_formatter()(250_000, 0) == number
        assert one.xaxis.get_major_formatter()(0, 0) == "0"


def test_a_legend_on_demand_has_the_order_of_methods(tmp_path):
    figure = learning_curves(made(tmp_path), methods=METHODS[::-1], legend=True)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["CRM + shaping, Boolean", "QRM, numeric", "CRM, numeric"]
    assert not learning_curves(made(tmp_path)).legends


def test_curves_are_drawn_into_given_axes(tmp_path, axes):
    results, size = made(tmp_path), axes.figure.get_size_inches().tolist()
    assert learning_curves(results, ax=axes, **OWN) is axes.figure
    alone = learning_curves(results, **OWN).axes[0]
    for name, line in named_lines(alone).items():
        assert np.array_equal(line.get_xydata(), named_lines(axes)[name].get_xydata())
    assert [*named_lines(axes)] == [*named_lines(alone)] and axes.get_xlim() == alone.get_xlim()
    assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()) == ("my title", "steps", "share")
    assert axes.figure.get_size_inches().tolist() == size and axes.figure.axes == [axes] and axes.get_legend() is None
    learning_curves(results, ax=axes, legend=True, names={"qrm-num": "theirs"})
    assert [text.get_text() for text in axes.get_legend().get_texts()][1] == "theirs"


def test_axes_keep_the_style_of_their_owner(tmp_path, axes):
    with plt.rc_context({"lines.linewidth": 7.0, "axes.titlesize": 21.0}):
        learning_curves(made(tmp_path), "", ax=axes)
        assert axes.get_title() == ""
        learning_curves(made(tmp_path), ax=axes)
    assert {line.get_linewidth() for line in named_lines(axes).values()} == {7.0}
    assert axes.title.get_fontsize() == 21.0 and axes.get_title() == "1a1b1c, task a"


def test_axes_take_one_panel_and_the_message_says_how_to_select_it(tmp_path, axes):
    results = made(tmp_path, tasks=("a", "a-b"), learner={"tick": 100_000, "alpha": [0.1, 0.5]})
    with pytest.raises(ConfigError) as caught:
        learning_curves(results, ax=axes)
    assert str(caught.value) == (
        "ax: takes one panel, and these runs make 4; draw one, as of results.select(task='a', alpha=0.1)"
    )
    learning_curves(results.select(task="a", alpha=0.1), ax=axes)
    assert axes.get_title() == "1a1b1c, task a, alpha 0.1"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"methods": ["crm-nm"]}, f"methods='crm-nm': must be one of {', '.join(METHODS)} (did you mean crm-num?)"),
        ({"names": {"qrm_num": "x"}}, f"names='qrm_num': must be one of {', '.join(METHODS)} (did you mean qrm-num?)"),
        ({"colours": {"hrm-num": "red"}}, "colours='hrm-num': must be one of"),
        ({"colours": {"crm-num": "rde"}}, "colours['crm-num']='rde': no such colour; write such as 'tab:red'"),
        ({"colours": {"crm-num": None}}, "colours['crm-num']=None: must be a text or a list of numbers"),
        ({"methods": "crm-num"}, "methods='crm-num': must be a list of methods"),
        ({"methods": []}, "methods=[]: must be a list of methods"),
        ({"methods": [3]}, "methods=3: must be one of"),
        ({"names": "ours"}, "names='ours': must be a table by method"),
        ({"names": {"crm-num": 3}}, "names['crm-num']=3: must be a text"),
        ({"xscale": "symlog"}, "xscale='symlog': must be one of log, linear"),
        ({"xlabel": 3}, "xlabel=3: must be a text"),
        ({"legend": "yes"}, "legend='yes': must be True or False"),
        ({"ax": "left"}, "ax='left': must be axes of matplotlib, such as those of plt.subplots()"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused_in_one_line(tmp_path, options, said):
    with pytest.raises(ConfigError) as caught:
        learning_curves(made(tmp_path), **options)
    assert str(caught.value).startswith(said) and "\n" not in str(caught.value)


def test_methods_without_runs_in_a_selection_are_passed_over(tmp_path):
    results = made(tmp_path)
    (ax,) = learning_curves(results.select(method="qrm-num"), methods=["crm-num", "qrm-num"]).axes
    assert [*named_lines(ax)] == ["QRM, numeric"]
    with pytest.raises(ConfigError, match="method='crm-num' selects nothing"):
        learning_curves(results.select(method="qrm-num"), methods=["crm-num"])


def test_all_figures_of_a_file_take_the_same_options(tmp_path):
    results = made(tmp_path, learner={"tick": 100_000, "alpha": [0.1, 0.5]})
    figures = dict(figures_of(results, **OWN))
    assert [*figures] == ["sweep-alpha", "curves", "overall", "maps"]
    for name in ("sweep-alpha", "curves"):
        for ax in figures[name].axes:
            assert [*named_lines(ax)] == ["CRM + shaping, Boolean", "ours"]
            assert to_hex(named_lines(ax)["ours"].get_color()) == to_hex("tab:red")
    assert figures["curves"].get_suptitle() == "my title" and figures["curves"].axes[0].get_xscale() == "linear"
    with pytest.raises(ConfigError, match="did you mean crm-num"):
        next(figures_of(results, names={"crm-nmu": "x"}))


def test_titles_count_the_methods_that_are_drawn(tmp_path):
    results = made(tmp_path, methods=(*METHODS, "hrm-num"))
    for methods, has_bands in ((None, False), (["hrm-num"], True)):
        figure = dict(figures_of(results, methods=methods))["all-maps"]
        assert ("25-75 %" in figure.get_suptitle()) == bool(figure.axes[0].collections) == has_bands


TABLE = """
[figure]
methods = ["crm-rs-bool", "crm-num"]
xscale = "linear"
title = "my title"
xlabel = "steps"
ylabel = "share"
names = {crm-num = "ours"}

[figure.colours]
crm-num = "tab:red"
crm-rs-bool = [0.0, 0.5, 1.0]
"""
EXPERIMENT = """
setups = ["1a1b"]
size = 7
tasks = ["a"]
methods = ["crm-num", "qrm-num", "crm-rs-bool"]
steps = 2000
learner = {tick = 200}
"""


def write_experiment(folder, table=TABLE):
    (folder / "my.toml").write_text(EXPERIMENT + table)
    return folder / "my.toml"


def test_the_table_of_an_experiment_file_is_kept_with_the_results_and_changes_no_run(tmp_path):
    plain, own = (Plan.of(Experiment.load(write_experiment(tmp_path, table))) for table in ("", TABLE))
    assert "figure" not in plain.experiment and own.digest == plain.digest
    assert [own.run_id(run) for run in range(own.count)] == [plain.run_id(run) for run in range(own.count)]
    results = load(make_file(tmp_path / "own.h5", plan=own))
    for figure in (learning_curves(results), results.plot(), dict(figures_of(results))["one-map"]):
        assert [*named_lines(figure.axes[0])] == ["CRM + shaping, Boolean", "ours"]
        assert to_hex(named_lines(figure.axes[0])["CRM + shaping, Boolean"].get_color()) == "#0080ff"
        assert figure.get_suptitle() == "my title" and figure.axes[0].get_xlabel() == "steps"
    assert learning_curves(results, "another", xscale="log").get_suptitle() == "another"
    assert results.plot(xscale="log").axes[0].get_xscale() == "log"


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('[figure]\nxscal = "log"', ":8: figure: xscal: no such setting (did you mean xscale?); there are methods"),
        ('[figure]\ntitle = ""\nmethods = ["crm-nm"]', ":10: figure: methods='crm-nm': must be one of crm-num"),
        ('[figure.names]\nhrm-num = "x"', ":8: figure: names='hrm-num': must be one of crm-num, qrm-num, crm-rs-bool"),
        ("figure = 3", ":8: figure: 3: must be a table of settings, such as {xscale = 'linear'}"),
    ],
    ids=["key", "method", "name", "no table"],
)  # fmt: skip
def test_a_mistake_in_the_table_is_told_with_its_line(tmp_path, table, said):
    path = write_experiment(tmp_path, table)
    with pytest.raises(ConfigError) as caught:
        Experiment.load(path)
    assert str(caught.value).startswith(f"{path}{said}") and "\n" not in str(caught.value)


def test_the_command_takes_the_same_settings_and_the_table_of_a_file(tmp_path, capsys, monkeypatch):
    drawn = {}
    monkeypatch.setattr("fastrm.plots.save", lambda figure, path, dpi=None: drawn.update({path.stem: figure}))
    results = made(tmp_path)
    words = (
        "--methods crm-rs-bool crm-num --names crm-num=ours --colours crm-num=tab:red crm-rs-bool=#0080ff "
        "--xscale linear --title a=b --xlabel steps --ylabel share"
    )
    for given in (words.split(), ["--figure", str(write_experiment(tmp_path)), "--title", "a=b"]):
        drawn.clear()
        assert main(["plot", str(results.path), *given, "--out", str(tmp_path)]) == 0
        ax = drawn["all-maps"].axes[0]
        assert [*named_lines(ax)] == ["CRM + shaping, Boolean", "ours"]
        assert [to_hex(line.get_color()) for line in named_lines(ax).values()] == ["#0080ff", to_hex("tab:red")]
        assert (ax.get_xscale(), ax.get_xlabel(), ax.get_ylabel()) == ("linear", "steps", "share")
        assert drawn["all-maps"].get_suptitle() == "a=b"
    capsys.readouterr()
    assert main(["plot", str(results.path), *words.split(), "--text"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]] == ["crm-rs-bool", "ours"]
    for wrong, said in ((["--names", "ours"], "--names ours: must be a method, = and its name"),
                        (["--methods", "crm-nmu"], "did you mean crm-num?")):  # fmt: skip
        assert main(["plot", str(results.path), *wrong, "--text"]) == 2
        error = capsys.readouterr().err
        assert said in error and error.count("\n") == 1


@pytest.mark.parametrize(("stored", "scale"), [({"xscale": "linear", "of a later version": 3}, "linear"), (3, "log")])
def test_what_a_file_says_of_its_figures_and_is_not_known_here_is_left_out(tmp_path, stored, scale):
    plan = Plan.of(Experiment.load(write_experiment(tmp_path, "")))
    odd = replace(plan, experiment={**plan.experiment, "figure": stored})
    assert learning_curves(load(make_file(tmp_path / "odd.h5", plan=odd))).axes[0].get_xscale() == scale


def test_a_method_has_the_same_curve_beside_whichever_methods(tmp_path):
    results = made(tmp_path, tasks=("a", "a-b"))
    score = results["score"] * np.linspace(0.2, 1.0, results.runs)[:, None]
    results = replace(results, loaded={**results.columns, "score": score})
    head, *lines = (line.split(" |") for line in curves_as_text(results).splitlines())
    bars = {line[0].strip(): line[1] for line in lines[:3]}
    assert len(set(bars.values())) == 3
    some = curves_as_text(results, methods=["crm-rs-bool", "qrm-num"], names={"qrm-num": "mine"}).splitlines()
    assert some[:3] == [head[0], f"  crm-rs-bool |{bars['crm-rs-bool']}", f"  mine        |{bars['qrm-num']}"]
    whole, part = (learning_curves(results, methods=methods) for methods in (None, ["crm-rs-bool", "qrm-num"]))
    for one, two in zip(whole.axes, part.axes, strict=True):
        for name, line in named_lines(two).items():
            assert np.array_equal(line.get_xydata(), named_lines(one)[name].get_xydata())
