"""What files and arguments are called is shown in a terminal and in pictures, never obeyed."""

import logging
import sys
import warnings
from dataclasses import replace

import pytest

from fastrm import Experiment, LearnerConfig, load, run
from fastrm.bench.__main__ import main
from fastrm.bench.console import one_line_messages, print_summary
from fastrm.experiments import Plan
from fastrm.plots import figures_of, have_matplotlib, save

ODD = "x\x1b[2J\x07\u202e[/x][red] :smile: $\\frac$ \"q'"
"""An escape sequence, a bell, a change of direction, markup, an emoji, mathematics and quotes."""
SIGNS = {"\x1b", "\x07", "\u202e", "\u2066", "\r"}


@pytest.fixture(scope="module")
def odd_results(tmp_path_factory):
    """A file called something odd, of an experiment and maps called something odd, as an experiment cannot be today."""
    plan = Plan.of(
        Experiment(
            name="odd", setups=("1a1b",), maps=2, size=7, tasks=("a-b",), methods=("crm-bool", "crm-num"), seeds=1,
            steps=2000, learner=LearnerConfig(tick=500),
        )
    )  # fmt: skip
    grids = tuple((f"{ODD}{k}", f"{ODD}{k}", text) for k, (_, _, text) in enumerate(plan.grids))
    path = tmp_path_factory.mktemp("odd") / f"{ODD.replace('/', '|')}.h5"
    run(replace(plan, experiment={**plan.experiment, "name": ODD}, grids=grids), path)
    return path


def check_said(said, *expected):
    assert not SIGNS & {*said.out, *said.err}
    for text in expected:
        assert text in (said.out + said.err).replace("\n", "")


@pytest.mark.parametrize(
    "words",
    [["info"], ["claims"], ["claims", "--markdown"], ["findings", "--no-exact"], ["plot", "--text"]],
    ids=" ".join,
)
def test_commands_show_odd_names_as_text(words, odd_results, capsys):
    assert main([*words, str(odd_results)]) == 0
    check_said(capsys.readouterr())


def test_the_summary_shows_odd_names_as_text(odd_results, capsys):
    print_summary(load(odd_results))
    check_said(capsys.readouterr(), "x\\x1b[2J\\x07\\u202e[/x][red] :smile:")


def test_info_shows_odd_names_as_text(odd_results, capsys):
    assert main(["info", str(odd_results)]) == 0
    check_said(capsys.readouterr(), "what      x\\x1b[2J\\x07\\u202e[/x][red] :smile:")


@pytest.mark.parametrize(
    "words",
    [
        ["info", f"/tmp/{ODD}/none.h5"],
        ["run", ODD],
        ["check", ODD, ODD],
        ["draw", "--map", "1a", "--out", f"{ODD}.xyz"],
        ["run", "quick", "--shard", "\x1b[2J\n"],
    ],
    ids=lambda words: words[0],
)
def test_errors_are_one_line_without_control_characters(words, capsys):
    assert main(words) == 2
    said = capsys.readouterr()
    check_said(said, "\\x1b")
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    "words", [["info", "a", ODD], [ODD], ["run", "quick", "-j", ODD], ["plot", "--format", ODD, "x"]]
)
def test_bad_arguments_are_one_line_without_control_characters(words, capsys):
    with pytest.raises(SystemExit) as stop:
        main(words)
    said = capsys.readouterr()
    assert stop.value.code == 2 and said.err.count("\n") == 1
    check_said(said)


def test_bad_arguments_are_quoted_in_part(capsys):
    with pytest.raises(SystemExit):
        main(["run", "quick", "-j", "9" * 50 + "x" * 10_000])
    assert len(capsys.readouterr().err) < 300


@pytest.mark.skipif(not have_matplotlib(), reason="needs the extra 'plot'")
def test_figures_show_odd_names_as_text_and_stay_in_their_folder(odd_results, tmp_path, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main(["plot", str(odd_results), "--out", str(tmp_path / "figures"), "--format", "svg"]) == 0
        for _, figure in figures_of(load(odd_results)):
            save(figure, tmp_path / "x.svg")
    for path in (tmp_path / "figures").iterdir():
        assert not SIGNS & {*path.name, *path.read_text()} or path.suffix == ".csv"
    assert {path.name for path in tmp_path.iterdir()} == {"figures", "x.svg"}
    check_said(capsys.readouterr())


@pytest.mark.parametrize(("is_terminal", "lines"), [(True, 1), (False, 0)])
def test_a_person_is_told_once_that_kernels_are_compiled(is_terminal, lines, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal, raising=False)
    with one_line_messages():
        for _ in range(3):
            logging.getLogger("fastrm.kernels").info("compiling kernels, once; this takes some seconds")
    logging.getLogger("fastrm.kernels").info("nobody listens")
    assert capsys.readouterr().err == "fastrm: compiling kernels (once); this takes some seconds\n" * lines
