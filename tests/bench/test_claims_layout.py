"""How the claims stand in a terminal."""

import re

import pytest

from fastrm.bench.__main__ import main

from made_results import make_file


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return str(make_file(tmp_path_factory.mktemp("claims") / "made.h5"))


@pytest.mark.parametrize(("columns", "widest"), [(80, 80), (120, 120), (300, 120)])
def test_lines_fit_and_hang_below_their_text(made, columns, widest, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["claims", made]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 20 and max(map(len, lines)) <= widest and "\x1b" not in "".join(lines)
    indent = 0
    for line in lines:
        assert line == line.rstrip()
        head = re.match(r"[ 1][0-9]\. |    - |p: ", line)
        assert head or re.match(f" {{{indent}}}[^ ]", line), line
        indent = head.end() if head else indent
    assert any(re.match(" {6}[^ ]", line) for line in lines) or columns > 80


def test_verdicts_have_their_colours_in_a_terminal(made, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert main(["claims", made]) == 0
    assert "\x1b[1;36mholds on most maps\x1b[0m" in capsys.readouterr().out
