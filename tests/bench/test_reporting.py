"""A report is made once and read back as long as nothing it was made from has changed."""

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


@pytest.fixture
def start(tmp_path, capsys):
    """Start the same command; return what it printed and how often a report was made."""
    toml, made, make = tmp_path / "x.toml", [], reporting._make
    toml.write_text(TOML)

    def again():
        made.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reporting, "_make", lambda *words: made.append(1) or make(*words))
            assert main(["run", str(toml), "--out", str(tmp_path / "x.h5"), "--report"]) == 0
        return capsys.readouterr().out, len(made)

    return again


def test_a_second_start_prints_the_same_and_makes_nothing(start):
    first, made = start()
    assert made == 1 and "claims.md, report.html in" in first
    assert start() == (first, 0)


@pytest.mark.parametrize("change", ["figure", "missing", "garbage", "program", "file"])
def test_a_report_is_made_again_when_something_changed(change, start, tmp_path, monkeypatch):
    first, _ = start()
    folder = tmp_path / "x"
    kept = folder / "report.json"
    if change == "figure":
        (folder / "summary.csv").write_text("something else")
    elif change == "missing":
        (folder / "claims.md").unlink()
    elif change == "garbage":
        kept.write_text(json.dumps({**json.loads(kept.read_text()), "claims": [{"number": "x"}]}))
    elif change == "program":
        kept.write_text(json.dumps({**json.loads(kept.read_text()), "made_from": "another"}))
    else:
        kept.write_bytes(b"\xff[")
    assert start() == (first, 1)
    assert start() == (first, 0)
