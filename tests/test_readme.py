"""The README has the two commands that people look for; `test_docs` runs its blocks."""

import re
from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_the_readme_has_its_two_commands():
    for name in ("main", "test"):
        assert re.search(rf"<!-- {name} command -->\n```\n.+\n```\n", README)
