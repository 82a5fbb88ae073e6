"""What a release says about itself in several places is the same everywhere."""

import re
import tomllib
from pathlib import Path

import fastrm

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_version_is_written_once():
    assert "version" in PROJECT["project"]["dynamic"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "fastrm.__version__"}
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert cited and cited[1] == fastrm.__version__


def test_every_python_that_is_promised_is_tried():
    promised = [c.rpartition(" ")[2] for c in PROJECT["project"]["classifiers"] if re.search(r"3\.\d+$", c)]
    tried = re.search(r"python: \[(.+)\]", (ROOT / ".github" / "workflows" / "tests.yml").read_text())
    assert tried and promised == re.findall(r"[\d.]+", tried[1])
    assert PROJECT["project"]["requires-python"] == f">={promised[0]}"


def test_the_changelog_names_the_version():
    assert f"[{fastrm.__version__}]" in (ROOT / "CHANGELOG.md").read_text()
