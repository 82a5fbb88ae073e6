"""The knobs of a page: what it solves is what `solve` finds, and its verdict turns exactly at the threshold."""

import itertools
import json
import random
from fractions import Fraction

import numpy as np
import pytest

from fastrm import GridMap, compile, guarantee, solve, task
from fastrm.bench.__main__ import main
from fastrm.exact import critical_reward, reward_phases
from fastrm.pages import explain_page

from sizes import either

TURNED = (
    ("1a1b1c", "a-b-c", "numeric", {}),
    ("2a2b", "a-b", "numeric-boolean", {}),
    ("1a1b", "{a,b}", "potential", {}),
    ("2a1b1n", "a-b !n", "boolean", {}),
)


def made(setup, text, kind, seed=1, size=11, **payment):
    return compile(GridMap.generate(setup, size=size, seed=seed), task(text, kind=kind, **payment))


@pytest.fixture
def opened(browser, tmp_path):
    """Open the page of a problem; it must be silent and ask the network for nothing."""

    def open_page(problem, **how):
        page = tmp_path / f"{len(list(tmp_path.iterdir()))}.html"  # another fragment alone would load nothing
        page.write_text(explain_page(problem))
        browser.open(page, **how)
        assert browser.console == []
        assert [url for url in browser.requests if not url.startswith("data:")] == [page.as_uri()]

    return open_page


@pytest.mark.parametrize(("setup", "text", "kind", "settings"), TURNED)
def test_values_of_the_page_are_those_of_solve(setup, text, kind, settings, opened, browser):
    rng, problem = random.Random(kind), made(setup, text, kind, **settings)
    opened(problem)
    knobs, n_u = browser.ask("fastrm.data.knobs"), problem.tables.n_u
    for _ in range(either(50, 4)):
        R, r = float(f"{10 ** rng.uniform(-1, 4):.3g}"), float(f"{10 ** rng.uniform(-2, 1):.2g}")
        stop = rng.randrange(len(knobs["gammas"]))
        turn = {"R": R, "stop": stop} | ({"r": r} if knobs["step"] is not None else {})
        browser.ask(f"fastrm.turn({json.dumps(turn)})")
        pairs = f"{{length: {len(problem.terrain.cells) * n_u}}}"
        value = f"(_, x) => fastrm.valueAt(Math.floor(x / {n_u}), x % {n_u})"
        found = browser.ask(f"Array.from({pairs}, {value})")
        paid = {"terminal_reward": R} | ({"step_reward": r} if "r" in turn else {})
        best = solve(made(setup, text, kind, **paid), knobs["gammas"][stop])
        assert np.reshape(found, best.value.shape) == pytest.approx(best.value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(either(10, 3)))
def test_verdict_and_path_turn_exactly_at_the_threshold(seed, opened, browser):
    setup, kind = (("1a1b", "numeric"), ("2a2b", "numeric-boolean"))[seed % 2]
    problem = made(setup, "a-b", kind, seed, terminal_reward=7)
    opened(problem)
    critical = critical_reward(problem, gamma=0.9)
    near = float(critical)
    for R in (near * (1 - 1e-9), np.nextafter(near, -np.inf), near, np.nextafter(near, np.inf), near * (1 + 1e-9)):
        browser.ask(f"fastrm.turn({{R: {float(R)!r}}})")
        verdict, length = browser.ask("[fastrm.found().verdict, fastrm.walks().optimal.length]")
        is_above = Fraction(repr(float(R))) > critical
        assert (verdict == "shortest") == is_above, (R, verdict)
        if abs(R / near - 1) > 1e-10:
            assert (length == problem.shortest[0]) == is_above
            assert verdict == guarantee(made(setup, "a-b", kind, seed, terminal_reward=float(R))).verdict


def test_the_verdict_of_every_setting_is_that_of_guarantee(opened, browser):
    problem = made("2a2b", "a-b", "numeric-boolean")
    opened(problem)
    gammas = browser.ask("fastrm.data.knobs.gammas")
    for stop, R, r in itertools.product(range(0, len(gammas), 6), (0.05, 1, 400), (0.1, 3)):
        found = browser.ask(f"fastrm.finder.find({{R: {R}, r: {r}, stop: {stop}}}).verdict")
        other = made("2a2b", "a-b", "numeric-boolean", terminal_reward=R, step_reward=r)
        assert found == guarantee(other, gammas[stop]).verdict


def test_at_the_threshold_itself_some_best_policies_only_are_shortest(browser, tmp_path):
    grid = GridMap.parse("XXXXXXXXXXXXX\nX    b   A aX\nXXXXXXXXXXXXX")
    problem = compile(grid, task("a-b", kind="numeric", terminal_reward=130))
    assert guarantee(problem, 0.5).verdict == "shortest for some optimal policies only"
    (tmp_path / "e.html").write_text(explain_page(problem, gamma=0.5))
    browser.open(tmp_path / "e.html")
    assert browser.ask("fastrm.found().verdict") == "shortest for some optimal policies only"
    assert browser.ask("fastrm.walks().optimal.loop") >= 0
    assert "at R = 130 exactly" in browser.ask("document.querySelector('.finding').textContent")


def test_phases_agree_with_guarantee_between_their_thresholds():
    for setup, kind, gamma in itertools.product(("2a2b", "1a1b1n"), ("numeric", "numeric-boolean"), (0.7, 0.95)):
        text = "a-b !n" if "n" in setup else "a-b"
        phases = reward_phases(made(setup, text, kind), gamma)
        assert phases[-1].above == critical_reward(made(setup, text, kind), gamma)
        ends = [phase.above for phase in phases[1:]]
        assert ends == sorted(ends)
        for phase, low, high in zip(phases, [None, *ends], [*ends, None], strict=True):
            inside = (low if high is None else high) + (1 if high is None else -1 if low is None else (low - high) / 2)
            found = guarantee(made(setup, text, kind, terminal_reward=float(inside)), gamma)
            assert (found.length, found.verdict == "ends in failure") == (phase.length, phase.fails)


def test_the_headline_says_what_is_wrong_and_what_mends_it(opened, browser):
    problem = made("1a1b", "a-b", "numeric", size=15, terminal_reward=10)
    opened(problem)
    said = browser.ask("document.querySelector('.finding').textContent")
    assert "With R = 10, γ = 0.9 the best policy waits beside a for ever." in said and "Above R = " in said
    browser.ask("fastrm.turn({R: 1e6})")
    said = browser.ask("document.querySelector('.finding').textContent")
    assert f"it takes a shortest path, {problem.shortest[0]}\u00a0steps." in said and "never finishes" in said


def test_sliders_and_fields_turn_the_knobs(opened, browser):
    opened(made("1a1b", "a-b", "numeric", terminal_reward=10))
    assert "b : 10" in browser.ask("document.querySelector('.machine').textContent")
    field = "document.querySelector('.knob input[inputmode]')"
    browser.ask(f"{field}.value = '12345.5'; {field}.dispatchEvent(new Event('change'))")
    assert browser.ask("fastrm.setting.R") == 12345.5 and "R=12345.5" in browser.ask("location.hash")
    assert "b : 12345.5" in browser.ask("document.querySelector('.machine').textContent")
    browser.ask(f"{field}.value = 'many'; {field}.dispatchEvent(new Event('change'))")
    assert browser.ask("fastrm.setting.R") == 12345.5 and browser.console == []
    slider = "document.querySelectorAll('.knob input[type=range]')[1]"
    browser.ask(f"{slider}.value = 0; {slider}.dispatchEvent(new Event('input'))")
    assert browser.ask("fastrm.world.gamma") == 0.5


def test_a_link_keeps_the_view(opened, browser):
    problem = made("1a1b", "a-b", "numeric", terminal_reward=10)
    row, column = problem.terrain.cells[5].tolist()
    opened(problem, fragment=f"#R=250000&gamma=0.95&start={row},{column}&state=1&step=2")
    found = browser.ask("[fastrm.setting.R, fastrm.world.gamma, fastrm.episode.at()]")
    assert found == [250000, 0.95, 2]
    assert browser.ask("document.querySelector('.state-name').textContent") == "u1"
    assert f"row {row}, column {column}" in browser.ask(
        "document.querySelector('.map .start').getAttribute('aria-label')"
    )
    opened(problem, fragment="#R=x&gamma=7&start=0,0&state=99&step=-1")
    assert browser.ask("fastrm.setting.R") == 10 and browser.console == []


def test_the_map_can_be_saved_as_a_picture(opened, browser):
    opened(made("1a1b", "a-b", "numeric"))
    browser.ask("HTMLAnchorElement.prototype.click = () => {}")
    assert browser.ask("fastrm.picture()").startswith("data:image/png;base64,") and browser.console == []


def test_without_a_constant_terminal_reward_the_discount_alone_turns(tmp_path, opened, browser):
    machine = tmp_path / "two.rm"
    machine.write_text(
        "start u\nsuccess near far\n\nu -> near when a reward 1\nu -> far when b reward 5\nu -> u otherwise reward 0\n"
    )
    page = tmp_path / "e.html"
    assert main(["explain", "1a1b", str(machine), "--size", "11", "--out", str(page)]) == 0
    browser.open(page)
    assert browser.console == [] and browser.ask("document.querySelectorAll('.knob').length") == 1
    assert browser.ask("document.querySelector('.chip').textContent") == browser.ask("fastrm.data.verdict.verdict")
