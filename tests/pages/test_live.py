"""The live pages that the build of the documentation makes."""

import runpy
from pathlib import Path
from types import SimpleNamespace

HOOK = Path(__file__).parents[2] / "docs" / "hooks" / "live.py"


def test_the_build_writes_live_pages_that_open_silently(browser, tmp_path):
    hook = runpy.run_path(str(HOOK))
    hook["on_post_build"]({"site_dir": str(tmp_path)})
    made = sorted(path.stem for path in (tmp_path / "live").iterdir())
    assert made == sorted(hook["COMMANDS"])
    for name in made:
        browser.open(tmp_path / "live" / f"{name}.html")
        assert browser.console == [] and browser.ask("document.querySelectorAll('.knob').length") >= 2
    assert "waits beside a for ever" in browser.open(tmp_path / "live" / "waits.html").ask(
        "document.querySelector('.finding').textContent"
    )


def test_names_of_live_pages_become_links():
    page = SimpleNamespace(url="howto/look-at-runs/")
    html = runpy.run_path(str(HOOK))["on_page_content"]("<code>live/waits.html</code>", page, {}, [])
    assert html == '<a href="../../live/waits.html">live/waits.html</a>'
