"""Documentation: every block runs, every example runs, and the site builds without a warning."""

import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from fastrm.bench.__main__ import main

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").rglob("*.md"))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT / "docs")))
def test_every_block_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for language, code in BLOCK.findall(page.read_text()):
        assert language in ("python", "console", "text"), f"{page.name}: a block in {language or 'no language'}"
        if language == "python":
            exec(compile(code, str(page), "exec"), names)  # noqa: S102 - our own pages
        for line in code.splitlines() if language == "console" else ():
            words = shlex.split(line)
            assert words[:3] == ["python", "-m", "fastrm.bench"] and main(words[3:]) == 0, line
    capsys.readouterr()


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "docs" / "examples").glob("*.py")))
def test_examples_run(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "docs" / "examples" / f"{name}.py"))
    assert list(tmp_path.iterdir()) and capsys.readouterr().out


def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs")
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "-q",
        "-f",
        ROOT / "mkdocs.yml",
        "-d",
        tmp_path / "site",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    assert (tmp_path / "site" / "learners" / "hrm" / "index.html").is_file()


def test_links_in_markdown_lead_somewhere():
    for page in [*PAGES, ROOT / "README.md", *(ROOT / "results").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page}: {target}"
