"""The page of a problem, looked at in a real browser: it walks as Python walks, and nothing in it acts or leaves."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fastrm import GridMap, compile, guarantee, solve, task, train
from fastrm.bench.__main__ import main
from fastrm.errors import ConfigError
from fastrm.kernels.contracts import SUCCESS
from fastrm.kernels.exact import rollout
from fastrm.pages import explain, explain_page

NASTY = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&amp;\u2028\"'"
GRID = GridMap.generate("2a2b1c", size=17, seed=5, layout="rooms")
PROBLEMS = {
    "crm": (GRID, task("a-b-c"), {"steps": 60_000}),
    "qrm": (GRID, task("a-b", kind="numeric"), {"steps": 20_000, "q_init": 2.0}),
    "hrm": (GRID, task("{a,b}"), {"steps": 40_000}),
    "optimal": (GRID, task("{a,b}", kind="potential"), {}),
    "astray": (GridMap.generate("1a1b", size=15, seed=0), task("a-b", kind="numeric", terminal_reward=0), {}),
}


@pytest.fixture(scope="module")
def made():
    """Problem, run and page by name, each made once."""
    known = {}

    def make(name):
        if name not in known:
            grid, machine, settings = PROBLEMS[name]
            problem = compile(grid, machine)
            run = train(problem, name, **settings) if settings else None
            known[name] = problem, run, explain_page(problem, run)
        return known[name]

    return make


@pytest.fixture
def opened(browser, made, tmp_path):
    """Open the page of a problem; it must be silent and ask the network for nothing."""

    def open_page(name, **how):
        problem, run, page = made(name)
        (tmp_path / "e.html").write_text(page)
        browser.open(tmp_path / "e.html", **how)
        assert browser.console == []
        assert [url for url in browser.requests if not url.startswith("data:")] == [(tmp_path / "e.html").as_uri()]
        return problem, run

    return open_page


def python_walk(problem, values, s):
    """Return cells and outcome of Python's greedy roll-out from a cell."""
    tables = problem.tables
    path = np.empty(len(tables.next_s) * tables.n_u + 2, dtype=np.int64)
    q, more, u = values.q, values.more, int(tables.first_u[0])
    length, outcome = rollout.follow(tables, q, more.get("first_option"), more.get("controller"), s, u, path)
    return path[: length + 1].tolist(), int(outcome)


@pytest.mark.parametrize("name", ["crm", "qrm", "hrm"])
def test_from_any_cell_the_page_walks_as_python_does(name, opened, browser):
    problem, run = opened(name)
    some = range(0, len(problem.terrain.cells), 9)
    assert any(python_walk(problem, run, s)[1] == SUCCESS for s in some), "no walk succeeds: nothing to compare"
    for s in np.random.default_rng(7).integers(0, len(problem.terrain.cells), 100).tolist():
        browser.ask(f"window.walk = fastrm.setStart({s}).learned")
        walk = browser.ask("[walk.cells, walk.outcome, walk.loop]")
        cells, outcome = python_walk(problem, run, s)
        assert walk[0] == cells[: len(walk[0])] and walk[1] == outcome
        assert (walk[2] >= 0) == (outcome == 0) and (outcome == 0 or len(walk[0]) == len(cells))


@pytest.mark.parametrize("name", ["optimal", "astray", "crm"])
def test_from_any_cell_the_exact_tracks_have_the_exact_lengths(name, opened, browser):
    problem, _ = opened(name)
    best, first = solve(problem), int(problem.tables.first_u[0])
    one_hot = np.eye(4)[best.policy]
    for s in np.random.default_rng(8).integers(0, len(problem.terrain.cells), 100).tolist():
        browser.ask(f"window.walks = fastrm.setStart({s})")
        found = browser.ask("[walks.optimal.length, walks.shortest.length, walks.optimal.earned]")
        cells, outcome = rollout_of(problem, one_hot, s)
        assert found[0] == (len(cells) - 1 if outcome == SUCCESS else None)
        assert found[1] == problem.steps_to_go[s, first]
        if found[0] is not None:
            assert found[2] == pytest.approx(best.value[s, first])


def rollout_of(problem, q, s):
    tables = problem.tables
    path = np.empty(len(tables.next_s) * tables.n_u + 2, dtype=np.int64)
    length, outcome = rollout.follow(tables, q, None, None, s, int(tables.first_u[0]), path)
    return path[: length + 1].tolist(), outcome


def test_the_start_can_be_dragged_and_moved_by_keys(opened, browser):
    problem, _ = opened("crm")
    cell = "fastrm.world.cell(Number(0))"
    assert browser.ask(cell) == list(problem.terrain.cells[0])
    label = "document.querySelector('.map .start').getAttribute('aria-label')"
    row, column = problem.grid.start
    assert f"row {row}, column {column}" in browser.ask(label)
    browser.ask("document.querySelector('.map .start').focus()")
    browser.press("ArrowUp")
    assert f"row {row - 1}, column {column}" in browser.ask(label)
    goal = problem.terrain.cells[3].tolist()
    box = browser.ask("(() => { const b = document.querySelector('.map').getBoundingClientRect();"
                      "return [b.left, b.top, b.width / fastrm.world.width]; })()")  # fmt: skip

    def point(where):
        return box[0] + (where[1] + 0.5) * box[2], box[1] + (where[0] + 0.5) * box[2]

    browser.mouse("mousePressed", *point((row - 1, column)))
    browser.mouse("mouseMoved", *point(goal))
    browser.mouse("mouseReleased", *point(goal))
    assert f"row {goal[0]}, column {goal[1]}" in browser.ask(label)


def test_an_episode_is_stepped_with_label_and_reward(opened, browser):
    problem, run = opened("crm")
    assert run.greedy_length == problem.shortest[0]
    for _ in range(run.greedy_length):
        browser.ask("[...document.querySelectorAll('.buttons button')].find((b) => b.textContent === 'Step').click()")
    said = browser.ask("document.querySelector('.moment').textContent")
    assert "label c, reward 1, sum 1, machine state success" in said
    assert browser.ask("document.querySelectorAll('.steps tbody tr').length") == run.greedy_length + 1
    browser.ask("document.querySelectorAll('.machine .state[role]')[1].dispatchEvent(new MouseEvent('click'))")
    assert browser.ask("document.querySelector('.state-name').textContent") == "u1"


def test_the_verdict_and_its_witness_are_shown(opened, browser):
    problem, _ = opened("astray")
    verdict = guarantee(problem)
    assert browser.ask("document.querySelector('.chip').textContent") == verdict.verdict == "never finishes"
    drawn = browser.ask("document.querySelector('.map .track.optimal').getAttribute('points').split(' ').length")
    assert drawn == len(verdict.witness.path) + 1
    leaves = [float(browser.ask(f"document.querySelector('.leaves').getAttribute('{side}')")) for side in ("cy", "cx")]
    assert [int(place) for place in leaves] == list(verdict.witness.leaves_at)
    earned = browser.ask("fastrm.walks().optimal.earned")
    assert earned == pytest.approx(verdict.witness.optimal_return, rel=1e-9)
    assert f"{verdict.critical_reward:.6g}" in browser.ask("document.querySelector('.facts').textContent")


def test_of_a_learner_with_rules_of_its_own_only_the_known_path_is_shown(made, browser, tmp_path, monkeypatch):
    problem, run, _ = made("crm")
    monkeypatch.setattr(explain, "learned_policy", lambda *_: None)
    (tmp_path / "e.html").write_text(explain_page(problem, run))
    browser.open(tmp_path / "e.html")
    assert browser.console == [] and "from the map's own start only" in browser.ask(
        "document.querySelector('.note').textContent"
    )
    rows = "[...document.querySelectorAll('.tracks tbody tr')].map((row) => row.textContent)"
    assert browser.ask(rows)[0].startswith(f"learned (CRM){run.greedy_length}\u00a0steps")
    browser.ask("fastrm.setStart(0)")
    assert not any("learned" in row for row in browser.ask(rows)) and browser.console == []


def test_values_never_updated_are_masked(made):
    problem, run, _ = made("qrm")
    policy = explain.learned_policy(problem, run, 0)
    masked = np.isnan(policy.value)
    assert masked.any() and (run.q[masked] == 2.0).all() and not (run.q[~masked] == 2.0).all(axis=1).any()
    levels = explain.policy_arrays(policy)["value"]
    assert ((levels == 0) == masked).all()


@pytest.mark.parametrize("width", [1400, 800, 400])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_wider_than_the_window(width, dark, opened, browser):
    opened("crm", width=width, dark=dark, phone=width == 400)
    assert browser.ask("document.documentElement.scrollWidth") <= width


def test_nothing_in_a_page_acts(browser, tmp_path):
    grid = GridMap(GRID.rows, NASTY, GRID.fences)
    machine = replace(task("a-b"), name=NASTY.replace("\u2028", ""), source=NASTY)
    page = explain_page(compile(grid, machine), command=NASTY)
    assert "<script>alert" not in page and "<img" not in page
    (tmp_path / "e.html").write_text(page)
    browser.open(tmp_path / "e.html")
    assert browser.console == [] and "<script>alert(1)</script>" in browser.ask(
        "document.querySelector('h1').textContent"
    )
    assert browser.ask("document.querySelectorAll('img, iframe, object, embed').length") == 0
    assert browser.ask("document.querySelectorAll('script').length") == 2


def test_scripts_that_are_not_ours_are_refused(browser, tmp_path):
    problem = compile(GRID, task("a"))
    page = explain_page(problem).replace("</body>", "<script>document.title = 'taken over'</script></body>")
    (tmp_path / "e.html").write_text(page)
    browser.open(tmp_path / "e.html")
    assert browser.ask("document.title") != "taken over" and "Content Security Policy" in " ".join(browser.console)


def test_the_same_page_has_the_same_bytes(made):
    problem, run, page = made("crm")
    assert explain_page(problem, run) == page


def test_a_page_stays_small(tmp_path):
    problem = compile(GridMap.generate("1a1b1c1d1e1f", seed=3), task("{a,b,c,d,e,f}", kind="potential"))
    assert problem.tables.n_u == 63
    page = explain_page(problem, train(problem, "crm", steps=300_000))
    assert len(page.encode()) < 400_000


def test_code_and_style_are_of_moderate_size_and_know_no_colour():
    folder = Path(explain.__file__).parent
    for path in [*folder.glob("*.js"), *folder.glob("*.css"), *folder.glob("*.py")]:
        text = path.read_text()
        for colour in re.findall(r"(?<![\w&])#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{3})\b", text):
            assert len(set(colour[1:])) == 1, f"{path.name} has the colour {colour}"
        assert "innerHTML" not in text and "eval(" not in text, path.name
        assert path.suffix == ".py" or len(text.splitlines()) <= 300, path.name
    assert sum(len((folder / name).read_text()) for name in explain.SCRIPTS) < 80_000


def test_bad_requests_are_one_line(tmp_path, capsys, monkeypatch):
    small = ["explain", "1a1b", "a-b", "--size", "9"]
    for more, cure in (
        (["--out", str(tmp_path / "no" / "e.html")], "choose another --out"),
        (["--out", str(tmp_path / "e.png")], "ends in .html"),
        (["--gamma", "2", "--out", str(tmp_path / "e.html")], "gamma"),
    ):
        assert main([*small, *more]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and cure in said
    monkeypatch.setattr(explain, "MOST_PAIRS", 10)
    assert main([*small, "--out", str(tmp_path / "e.html")]) == 2
    assert "take a smaller map or machine" in capsys.readouterr().err


def test_the_command_writes_the_page_and_names_itself(tmp_path, capsys):
    out = tmp_path / "e.html"
    command = ["explain", "1a1b", "a-b", "--size", "9", "--learn", "crm", "--steps", "20000", "-o", str(out)]
    assert main(command) == 0 and str(out) in capsys.readouterr().out
    first = out.read_bytes()
    assert b"fastrm explain 1a1b a-b --size 9 --learn crm --steps 20000 --out e.html" in first
    assert main(command) == 0 and out.read_bytes() == first


def test_one_task_of_several_can_be_chosen():
    problem = compile(GRID, [task("a"), task("b-c")])
    run = train(problem, "crm", steps=20_000)
    page = explain_page(problem, run, machine=1)
    assert "b-c boolean" in page
    with pytest.raises(ConfigError, match="counted from 0"):
        explain_page(problem, machine=2)
