"""The README's Python blocks run, in order, in one namespace."""

import re
from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_the_python_blocks_of_the_readme_run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert blocks
    names: dict = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102


def test_the_readme_has_its_two_commands():
    for name in ("main", "test"):
        assert re.search(rf"<!-- {name} command -->\n```\n.+\n```\n", README)
