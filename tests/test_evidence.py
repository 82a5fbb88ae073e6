"""Committed figures, tables and records are what the code makes today, as `provenance.json` in the record tells."""

import re

import pytest

from fastrm.config import Profile
from fastrm.experiments import suites
from fastrm.learners.hrm import Hrm
from fastrm.plots import palette

import evidence
from evidence import DOCS, RECORD, ROOT

ROWS = evidence.rows()
CURE = {True: "python tests/refresh_record.py {}", False: "python tests/refresh_docs.py {}"}


def test_every_committed_file_has_one_row_and_is_what_was_made():
    stamped = [item for row in ROWS.values() for item in row["files"].items()]
    assert sorted(path for path, _ in stamped) == evidence.committed_files()
    changed = [path for path, old in stamped if evidence.hash_of((ROOT / path).read_bytes()) != old]
    assert not changed, "made or edited by hand; let tests/refresh_record.py or tests/refresh_docs.py make them"


@pytest.mark.parametrize("name", ROWS)
def test_what_made_a_file_is_what_the_code_says(name):
    found = list(evidence.differences(name, ROWS[name]))
    assert not found, f"stale; {CURE['commands' in ROWS[name]].format(name)}"


def stale(*names):
    return {name for name in names if list(evidence.differences(name, ROWS[name]))}


def test_another_semantics_number_is_noticed(monkeypatch):
    monkeypatch.setattr(Hrm, "semantics", Hrm.semantics + 1)
    assert stale("paper", "docs/learners/hrm.md", "beyond-scale", "docs/learners/crm.md") == {
        "paper",
        "docs/learners/hrm.md",
    }


def test_another_colour_is_noticed(monkeypatch):
    monkeypatch.setitem(palette.KIND_COLOURS, "numeric", "#000001")
    assert stale("paper", "docs/learners/crm.md", "beyond-scale") == {"paper", "docs/learners/crm.md"}


def test_another_suite_is_noticed(monkeypatch, tmp_path):
    for path in suites.SUITES[0].glob("beyond*.toml"):
        (tmp_path / path.name).write_text(path.read_text().replace("scale = 1", "scale = 2"))
    monkeypatch.setattr(suites, "SUITES", (tmp_path,))
    assert stale("beyond-geodesic", "beyond-scale") == {"beyond-scale"}


def test_other_code_of_a_page_is_noticed_and_other_words_are_not(monkeypatch, tmp_path):
    name = "docs/learners/crm.md"
    text = (ROOT / name).read_text()
    (tmp_path / "docs" / "learners").mkdir(parents=True)
    monkeypatch.setattr(evidence, "ROOT", tmp_path)
    (tmp_path / name).write_text("Other words.\n\n" + text)
    assert not list(evidence.differences(name, ROWS[name]))
    (tmp_path / name).write_text(text.replace("steps=", "steps=1+", 1))
    assert any(said.startswith("code: ") for said in evidence.differences(name, ROWS[name]))


def test_a_row_is_written_with_what_the_code_says_and_takes_files_from_other_rows(monkeypatch, tmp_path):
    for name in ("one.png", "two.md"):
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(evidence, "ROOT", tmp_path)
    monkeypatch.setattr(evidence, "MANIFEST", tmp_path / "p.json")
    (tmp_path / "p.json").write_text("{}")
    with evidence.learners_asked_for() as learners:
        evidence.semantics_of("hrm")
    evidence.write_row("first", [tmp_path / "one.png", tmp_path / "two.md"], learners, commands=["x"])
    evidence.write_row("second", [tmp_path / "two.md"], {})
    first, second = evidence.rows().values()
    assert first["semantics"] == {"hrm": Hrm.semantics} and first["palette"] == evidence.palette()
    assert [*first["files"]] == ["one.png"] and [*second["files"]] == ["two.md"] and "palette" not in second


def test_intervals_on_the_page_beyond_the_paper_are_those_of_the_record():
    record = "".join(path.read_text() for path in (RECORD / "beyond").glob("*.md"))
    quoted = re.findall(r"\d\.\d\d\s\[\d\.\d\d, \d\.\d\d\]", (DOCS / "explanation" / "beyond.md").read_text())
    assert len(quoted) > 20 and not [one for one in quoted if one.replace("\n", " ") not in record]


def test_the_ablation_on_the_page_is_that_of_the_record_and_has_every_switch():
    table = (RECORD / "quirks.md").read_text()
    assert table in (DOCS / "explanation" / "quirks.md").read_text()
    assert [switch for switch in Profile.__dataclass_fields__ if f"| icarte2022 - {switch} |" not in table] == []
