"""The page of a water world, in a real browser: episodes are those of the problem, and nothing acts or leaves."""

import json
import re

from fastrm import compile, task, train
from fastrm.pages import explain_page

from water_specs import close_by


def test_the_page_plays_the_learned_and_the_optimal_episode(tmp_path, request):
    problem = compile(close_by(5), task("d-a"))
    run = train(problem, "crm", steps=30_000)
    page = explain_page(problem, run)
    assert page == explain_page(problem, run) and len(page) < 80_000
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
    best = data["episodes"]["optimal"]
    assert len(best["actions"]) == problem.shortest[0] == len(best["path"]) - 1 and best["outcome"] == 1
    assert tuple(best["path"][0]) == problem.world.agent
    assert len(data["balls"]) == max(len(one["path"]) for one in data["episodes"].values())
    (tmp_path / "e.html").write_text(page)
    browser = request.getfixturevalue("browser")  # the test is skipped from here on where there is none
    browser.open(tmp_path / "e.html")
    assert browser.console == []
    browser.ask("fastrm.choose('optimal')")
    browser.ask("[...document.querySelectorAll('.steps tbody tr')].at(-1).click()")
    assert "machine state success" in browser.ask("document.querySelector('.moment').textContent")
    assert browser.ask("document.querySelectorAll('.box .ball').length") == 6
    points = browser.ask("document.querySelector('.swim').getAttribute('points')").split()
    assert len(points) == problem.shortest[0] + 1
