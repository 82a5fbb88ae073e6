"""The README has the two commands that people look for; `test_docs` runs its blocks."""

import re
from collections import Counter
from pathlib import Path

import pytest

from fastrm import GridMap, compile, task
from fastrm.exact import optimal_arps

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
RECORD = ROOT / "results" / "record"
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def test_the_readme_has_its_two_commands():
    for name in ("main", "test"):
        assert re.search(rf"<!-- {name} command -->\n```\n.+\n```\n", README)


def test_the_readmes_have_the_verdicts_of_the_record():
    rows = [line.split(" | ") for line in (RECORD / "claims.md").read_text().splitlines()]
    verdicts = {row[0].removeprefix("| "): row[2] for row in rows if re.match(r"\| \d", row[0])}
    assert list(verdicts) == [str(number) for number in range(1, 16)]
    words, record = ("holds", "holds on most maps", "undecided", "does not hold"), (RECORD / "README.md").read_text()
    for word in words:
        assert f"| {word} | {', '.join(n for n, verdict in verdicts.items() if verdict == word)} |" in record
    found = Counter(verdicts.values())
    holds, most, unsure, fails = (NUMBERS[found[word]] for word in words)
    said = f"fifteen claims {holds} hold, {most} hold on most maps, {unsure} are undecided and {fails} do not hold"
    assert said in README.replace("\n", " ")


def test_the_unit_of_the_score_is_below_what_the_shortest_path_earns():
    problem = compile(GridMap.generate("1a1b1c", size=41, seed=0), task("a-b-c"))
    assert optimal_arps(problem, 0.9, 0.1)[0] * problem.shortest[0] == pytest.approx(0.889, abs=1e-3)
    assert "expected reward per step of an optimal policy that makes random moves a tenth of the time" in " ".join(
        README.split()
    )
