"""A report is made once and read back as long as nothing it was made from has changed."""

import contextlib
import io
import json

import pytest

from fastrm.bench import reporting
from fastrm.bench.__main__ import main

TOML = """
setups = ["1a1b"]
size = 7
tasks = ["a-b"]
methods = ["qrm-bool", "crm-bool"]
seeds = 2
steps = 2000
[learner]
tick = 500
"""


def start(folder):
    """Start the same command; return what it printed and how often a report was made."""
    made, make = [], reporting._make
    (folder / "x.toml").write_text(TOML)
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as out:
        patch.setattr(reporting, "_make", lambda *words: made.append(1) or make(*words))
        assert main(["run", str(folder / "x.toml"), "--out", str(folder / "x.h5"), "--report"]) == 0
    return out.getvalue(), len(made)


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A folder in which the command ran once, and what it said; every test leaves a whole report there."""
    folder = tmp_path_factory.mktemp("report")
    return folder, *start(folder)


def test_a_second_start_prints_the_same_and_makes_nothing(begun):
    folder, first, made = begun
    assert made == 1 and "claims.md, report.html in" in first
    assert start(folder) == (first, 0)


@pytest.mark.parametrize("change", ["figure", "missing", "garbage", "program", "file"])
def test_a_report_is_made_again_when_something_changed(change, begun):
    folder, first, _ = begun
    report = folder / "x"
    kept = report / "report.json"
    if change == "figure":
        (report / "summary.csv").write_text("something else")
    elif change == "missing":
        (report / "claims.md").unlink()
    elif change == "garbage":
        kept.write_text(json.dumps({**json.loads(kept.read_text()), "claims": [{"number": "x"}]}))
    elif change == "program":
        kept.write_text(json.dumps({**json.loads(kept.read_text()), "made_from": "another"}))
    else:
        kept.write_bytes(b"\xff[")
    assert start(folder) == (first, 1)
    assert start(folder) == (first, 0)


def test_curves_come_before_what_is_judged(begun):
    folder, first, _ = begun
    page = (folder / "x" / "report.html").read_text()
    assert first.startswith("1a1b, task a-b: median score") and 0 < first.find("qrm-bool |") < first.find(" 1. ")
    assert 0 < page.find("<svg") < page.find("<ol>")
    assert 0 < page.find("curves.node,") < page.rfind("claimsPanel(data.claims")
