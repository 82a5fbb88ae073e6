"""What a release says about itself in several places is the same everywhere."""

import re
import runpy
import tomllib
from pathlib import Path

import fastrm

ROOT = Path(__file__).parent.parent
ADDRESS = "https://example.org/project"
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


def built_readme(address):
    names = runpy.run_path(str(ROOT / "setup.py"), run_name="setup")
    return names["absolute_links"]((ROOT / "README.md").read_text(), address)


def test_a_package_index_shows_no_link_that_leads_nowhere():
    links = re.compile(r"\]\((?!https?://|#)([^)\s]+)\)")
    relative = links.findall((ROOT / "README.md").read_text())
    assert len(relative) > 20
    for address in ("", ADDRESS):
        assert not links.search(built_readme(address)) and "![](" not in built_readme(address)
    assert all(f"/HEAD/{target})" in built_readme(ADDRESS) for target in relative)
    assert f"({ADDRESS}/raw/HEAD/docs/assets/" in built_readme(ADDRESS) and "![" not in built_readme("")


def test_the_address_of_the_project_is_written_once():
    address = PROJECT["tool"]["fastrm"]["address"]
    cited = re.search(r"^repository-code: (.+)$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert (cited[1] if cited else "") == address
    assert "urls" not in PROJECT["project"] and "site_url" not in (ROOT / "mkdocs.yml").read_text()
