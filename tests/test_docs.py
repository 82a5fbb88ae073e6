"""Documentation: every block runs and prints what the page shows, links lead somewhere, and the reference is whole.

`python tests/refresh_docs.py` writes what these tests compare.
"""

import importlib
import inspect
import os
import re
import runpy
import subprocess
import sys
import zlib
from dataclasses import fields
from pathlib import Path

import pytest

import fastrm
from fastrm.bench.__main__ import COMMANDS
from fastrm.results.schema import COORDINATES, VARIABLES

import generated
import pages
import prose
from pages import DOCS, ROOT

PAGES = pages.all_pages()
PUBLIC = ("fastrm", "fastrm.env", "fastrm.experiments", "fastrm.pages", "fastrm.plots", "fastrm.results")
TERMS = (
    "event",
    "tick",
    "score",
    "unit",
    "ceiling",
    "ARpS",
    "kind",
    "profile",
    "setup",
    "optimism",
    "R*",
    "lock-in",
    "hovering",
)
LONGEST = 18
"""Words of an average sentence, at most."""


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("page", PAGES, ids=pages.name_of)
def test_every_block_of_a_page_runs_and_prints_what_the_page_shows(page, tmp_path):
    for printed in pages.run_page(page, tmp_path):
        if not printed.agrees:
            assert printed.found == printed.shown, f"{pages.name_of(page)}, line {printed.first + 1}"
            pytest.fail(f"{pages.name_of(page)}, line {printed.first + 1}: a line of dots matches nothing")


@pytest.mark.parametrize("name", sorted(path.stem for path in (DOCS / "examples").glob("*.py")))
def test_examples_run(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(DOCS / "examples" / f"{name}.py"))
    assert list(tmp_path.iterdir()) and capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=pages.name_of)
def test_sentences_are_short(page):
    average = prose.average_length(page.read_text())
    longest = max(prose.sentences(page.read_text()), key=lambda sentence: len(prose.words(sentence)), default="")
    assert average < LONGEST, f"{average:.1f} words a sentence; the longest is: {longest}"


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "results").rglob("*.md"))], ids=pages.name_of
)
def test_links_pictures_and_anchors_lead_somewhere(page):
    for link in prose.links(page.read_text()):
        target, _, anchor = link.partition("#")
        if re.match(r"\w+:", target):
            continue
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), f"{pages.name_of(page)}: {link}"
        if anchor and there.suffix == ".md" and not anchor.startswith("fastrm."):  # those the site's builder checks
            assert anchor in prose.anchors(there), f"{pages.name_of(page)}: {link}"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built; and what its builder said."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("latex2mathml")
    folder = tmp_path_factory.mktemp("site")
    # without -q, which hides warnings from --strict too
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", ROOT / "mkdocs.yml", "-d", folder]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return folder, done


def test_the_site_builds_without_a_warning(site):
    folder, done = site
    said = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("INFO")]
    assert done.returncode == 0 and not said, "\n".join(said)
    assert (folder / "learners" / "hrm" / "index.html").is_file()


def test_the_site_fetches_nothing_from_the_net(site):
    for page in site[0].rglob("*.html"):
        fetched = re.findall(
            r"<(?:script|img|link|iframe)\b[^>]*?(?:src|href)=\"?((?:https?:)?//[^\"\s>]+)", page.read_text()
        )
        assert not fetched, page


def test_formulas_of_the_site_are_mathml(site):
    """A dollar sign or a backslash that is left over is one that no formula was made of."""
    page = (site[0] / "explanation" / "theory" / "index.html").read_text()
    formulas = re.findall(r"<math.*?</math>", page, re.S)
    assert len(formulas) > 100 and any('display="block"' in formula and "<mfrac>" in formula for formula in formulas)
    prose_left = re.sub(r"<(code|pre|script|title|head)\b.*?</\1>", "", page, flags=re.S)
    assert re.findall(r".{20}(?:\$|\\[a-z(\[]).{20}", prose_left) == []


def test_the_reference_has_every_public_name(site):
    inventory = zlib.decompress((site[0] / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode()
    documented = {tuple(line.split(" ")[:2]) for line in inventory.splitlines()}
    for package in map(importlib.import_module, PUBLIC):
        for name in package.__all__:
            thing = getattr(package, name)
            role = "py:class" if inspect.isclass(thing) else "py:function"
            paths = (f"{package.__name__}.{name}", f"fastrm.{name}", f"{getattr(thing, '__module__', '')}.{name}")
            if inspect.isclass(thing) or inspect.isfunction(thing):
                assert any((path, role) in documented for path in paths), paths[0]


@pytest.mark.parametrize("name", generated.PAGES)
def test_the_tables_of_the_reference_say_what_the_code_says(name):
    text = generated.PAGES[name].read_text()
    assert text == generated.refreshed(name, text)


def test_every_key_of_an_experiment_file_is_in_the_reference():
    text = generated.PAGES["experiment-files"].read_text()
    known = [field.name for cls in (fastrm.Experiment, fastrm.LearnerConfig) for field in fields(cls)]
    assert [key for key in (*known, "base", "series") if f"| `{key}` |" not in text] == []


def test_every_command_is_in_the_reference():
    assert generated.parts_of(generated.PAGES["commands"].read_text()) == list(COMMANDS)


def test_everything_a_result_file_holds_is_in_the_reference(tmp_path):
    text = generated.PAGES["result-file"].read_text()
    tiny = fastrm.Experiment(name="tiny", setups=("1a",), size=5, tasks=("a",), methods=("qrm-bool",), steps=100)
    attributes = fastrm.run(tiny, out=tmp_path / "tiny.h5", workers=1).attributes
    held = ("run", "tick", "step", *COORDINATES, *(variable.name for variable in VARIABLES), *attributes)
    assert [name for name in held if f"`{name}`" not in text] == []


def test_the_glossary_has_every_term():
    titles = re.findall(r"^#+ +(.*)$", (DOCS / "glossary.md").read_text(), re.M)
    assert [term for term in TERMS if not any(term.lower() in title.lower() for title in titles)] == []


def test_a_page_is_run_as_its_blocks_say(tmp_path):
    page = Path(tmp_path) / "page.md"
    page.write_text(
        "<!-- file: one.map -->\n```map\nXXXX\nXAaX\nXXXX\n```\n\n"
        '```python\nimport fastrm\nprint(fastrm.GridMap.load("one.map").start)\nprint("second")\n```\n\n'
        "```text\n(1, 1)\n...\n```\n\n"
        "<!-- exit: 2 -->\n```console\n$ fastrm check none.map a\nanother\n```\n\n"
        "<!-- not run: it is only a wish -->\n```python\n1 / 0\n```\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "name_of", str)
        (tmp_path / "folder").mkdir()
        right, wrong = pages.run_page(page, tmp_path / "folder")
    assert right.agrees and not wrong.agrees
    text = pages.refreshed(page.read_text(), [right, wrong])
    assert "(1, 1)\n...\n" in text and "another" not in text and "$ fastrm check none.map a\nfastrm: none.map: " in text


def test_a_sentence_is_counted_once_and_code_is_one_word():
    text = (
        "# A title\n\nTwo words. Then `some code` here:\n\n| a | b |\n|---|---|\n\n- this, i.e. that\n- [one](x.md)\n"
    )
    found = prose.sentences(text)
    assert [len(prose.words(sentence)) for sentence in found] == [2, 3, 3, 1], found
