"""Objects in notebooks: well-formed SVG and HTML without matplotlib, names escaped, figures that show themselves."""

import re
import subprocess
import sys
import xml.etree.ElementTree as Tree
from pathlib import Path

import numpy as np
import pytest

from fastrm import GridMap, LearnerConfig, RewardMachine, compile, guarantee, run, train
from fastrm.pages import map_svg, score_svg
from fastrm.results import Results

from tiny_experiment import experiment

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"
GRID = GridMap.generate("2a1b", size=9, seed=1, layout="rooms")
NEVER = RewardMachine.sequence("a-b", kind="numeric", terminal_reward=0)
NASTY = '<script>alert("x")</script>&'


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return run(experiment(), tmp_path_factory.mktemp("notebook") / "tiny.h5")


def elements(text, name):
    """Return the elements of a name; the text must be well-formed."""
    return [element for element in Tree.fromstring(text).iter() if element.tag.removeprefix(SVG) == name]


def test_a_map_shows_its_walls_fences_objects_and_start():
    svg = GRID._repr_svg_()
    assert sorted(letter.text for letter in elements(svg, "text")) == ["a", "a", "b"]
    fences, cross = elements(svg, "path")
    assert fences.get("d").count("M") == len(GRID.fences) and cross.get("d").count("l") == 2
    walls = elements(GridMap.parse("XXXXX\nXXXXX\nXA XX\nX aXX\nXXXXX\n")._repr_svg_(), "rect")[1:]
    area = sum(int(wall.get("width")) * int(wall.get("height")) for wall in walls)
    assert area == (5 * 5 - 4) * 24**2


def test_a_machine_is_a_graph_and_prints_as_its_text(capsys):
    names = [text.text for text in elements(NEVER._repr_svg_(), "text")]
    assert {"u0", "u1", "done", "a : 0"} <= set(names)
    print(NEVER, end="")
    assert capsys.readouterr().out == NEVER.write()


def test_a_problem_shows_map_machine_and_facts():
    html = compile(GRID, NEVER)._repr_html_()
    assert len(elements(html, "svg")) == 2
    facts = dict(zip((e.text for e in elements(html, "th")), (e.text for e in elements(html, "td")), strict=True))
    assert facts["machine states"] == "2" and facts["shortest path"] == f"{compile(GRID, NEVER).shortest[0]} steps"
    many = compile(GRID, [RewardMachine.sequence("a")] * 6)._repr_html_()
    assert len(elements(many, "svg")) == 5 and "2 more machines" in many


def test_a_guarantee_shows_verdict_and_witness():
    problem = compile(GridMap.generate("1a1b", size=15, seed=1), NEVER)
    html, verdict = problem_html(problem), guarantee(problem)
    assert "never finishes" in html and f"{len(verdict.witness.loop)} cells for ever" in html
    shortest, optimal = (line.get("points").split() for line in elements(html, "polyline"))
    assert len(optimal) == len(verdict.witness.path) and len(shortest) == verdict.shortest + 1
    assert [circle.get("fill") for circle in elements(html, "circle")].count("none") == 1  # the others are objects
    fine = problem_html(compile(GRID, RewardMachine.sequence("a-b")))
    rings = [circle for circle in elements(fine, "circle") if circle.get("fill") == "none"]
    assert ">shortest<" in fine and not rings


def problem_html(problem):
    return guarantee(problem)._repr_html_()


def test_a_run_shows_its_figures_and_curve():
    problem = compile(GRID, RewardMachine.sequence("a-b"))
    html = train(problem, "crm", steps=20_000, tick=1000)._repr_html_()
    (curve,) = elements(html, "polyline")
    assert len(curve.get("points").split()) == 20 and f"{problem.shortest[0]} steps" in html
    short = train(problem, "crm", steps=50)._repr_html_()
    assert "no score yet" in short and not elements(short, "polyline")


@pytest.mark.parametrize("ticks", [1, 2, 339, 340, 341, 100_000])
def test_a_curve_ends_where_the_run_does_and_stays_small(ticks):
    svg = score_svg(np.arange(1, ticks + 1) * 10, np.linspace(0, 1, ticks))
    if ticks > 1:
        (line,) = elements(svg, "polyline")
        points = line.get("points").split()
        assert len(points) <= 341 and points[-1].startswith("332.0,")
    assert len(elements(svg, "circle")) == (ticks == 1)


def test_results_show_their_summary_also_of_failed_and_no_runs(results):
    html = results._repr_html_()
    assert len(elements(html, "tr")) == 1 + 6 and "hrm-num" in html
    columns = dict(results.columns)
    columns["error"] = np.where(results["label"] == "hrm-num", b"made up", b"")
    assert "failed" in Results(results.attributes, None, columns)._repr_html_()
    per_tick = ("tick", "step")
    none = {name: column if name in per_tick else column[:0] for name, column in results.columns.items()}
    assert "0 runs" in Results(results.attributes, None, none)._repr_html_()


def test_names_are_shown_not_obeyed():
    grid = GridMap.parse(GRID.render(), source=NASTY)
    machine = RewardMachine.parse(f"name {NASTY}\n" + NEVER.write().split("\n", 1)[1], source=NASTY)
    problem = compile(grid, machine)
    for text in (grid._repr_svg_(), machine._repr_svg_(), problem._repr_html_(), problem_html(problem)):
        Tree.fromstring(text)
        assert "<script" not in text
    assert "&lt;script&gt;" in problem._repr_html_()


def test_what_is_too_large_is_not_drawn():
    large = GridMap.generate("1a", size=203)
    assert large._repr_svg_() is None
    assert not elements(compile(large, RewardMachine.sequence("a"))._repr_html_(), "svg")[1:]
    assert RewardMachine.sequence("-".join("ab" * 40))._repr_svg_() is None
    assert map_svg(GridMap.generate("1a", size=201)) is not None


def test_notebooks_need_no_matplotlib():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import fastrm\n"
        "grid, machine = fastrm.GridMap.generate('1a', size=7), fastrm.RewardMachine.sequence('a')\n"
        "problem = fastrm.compile(grid, machine)\n"
        "assert grid._repr_svg_() and machine._repr_svg_() and problem._repr_html_()\n"
        "assert fastrm.guarantee(problem)._repr_html_() and fastrm.train(problem, steps=10)._repr_html_()\n"
        "try: grid.plot()\n"
        "except fastrm.MissingExtra as problem: print(problem)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "pictures need matplotlib; install it with: pip install 'fastrm[plot]'\n"


def test_figures_show_themselves(results):
    pytest.importorskip("matplotlib", reason="needs the extra 'plot'")
    problem = compile(GRID, RewardMachine.sequence("a-b"))
    learned = train(problem, "crm", steps=5000, config=LearnerConfig(tick=500))
    for figure in (GRID.plot(), NEVER.plot(), results.plot(), learned.plot(), learned.plot(problem)):
        image = figure._repr_png_()
        assert image.startswith(b"\x89PNG") and image == figure._repr_png_()


def test_the_example_notebook_runs(tmp_path, monkeypatch):
    nbconvert = pytest.importorskip("nbconvert", reason="needs nbconvert, which is no extra of fastrm")
    pytest.importorskip("ipykernel", reason="needs ipykernel, which is no extra of fastrm")
    pytest.importorskip("matplotlib", reason="needs the extra 'plot'")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    source = ROOT / "docs" / "examples" / "notebook.ipynb"
    assert '"outputs": []' in source.read_text() and not re.search(r'"outputs": \[[^]]', source.read_text())
    import nbformat

    notebook = nbformat.read(source, as_version=4)
    nbconvert.preprocessors.ExecutePreprocessor(timeout=200).preprocess(notebook, {"metadata": {"path": tmp_path}})
    shown = [set(output.get("data", ())) for cell in notebook.cells for output in cell.get("outputs", ())]
    assert sum("image/svg+xml" in kinds for kinds in shown) == 2  # a map and a machine
    assert sum("text/html" in kinds for kinds in shown) == 5  # problem, guarantee, two runs, results
    assert sum("image/png" in kinds for kinds in shown) == 2  # a policy and curves
