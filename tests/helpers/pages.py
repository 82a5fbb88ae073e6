"""Pages of the documentation: their blocks, run in order, and what these print.

```python   runs; all blocks of a page share their names. A ```text block right after it is what it prints.
```console  holds commands, `$ python -m fastrm.bench ...` or `$ fastrm ...`, and below each what it prints, or nothing.
```toml     must be an experiment, ```rm a machine, ```map a map.

A comment right before a block says more about it:

    <!-- file: name.toml -->     the block is written to this file, for the blocks after it; Python is then not run
    <!-- not run: reason -->     the block is left alone
    <!-- exit: 2 -->             the commands of the block end with this code; standard error is shown too

In what is printed, a line that is only `...` stands for any lines. Blocks run in a folder of their own, at 100 columns.
"""

import contextlib
import io
import os
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from fastrm import GridMap, RewardMachine
from fastrm.bench.__main__ import main
from fastrm.experiments import read_suite
from fastrm.learners import registry

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SHOWN = ("text", "ebnf", "json", "csv", "latex")
"""Languages of blocks that are only shown."""
_FENCE = re.compile(r"( *)(`{3,})(\w*)\s*$")
_COMMENT = re.compile(r"\s*<!-- (file|not run|exit): (.+?) -->\s*$")
_PROGRAMS = (["python", "-m", "fastrm.bench"], ["fastrm"])


class _Terminal(io.StringIO):
    """Keeps what is printed; like a terminal of today it can show any character."""

    encoding = "utf-8"


@dataclass
class Block:
    """A fenced block of a page."""

    language: str
    first: int
    """Number of its first line, counted from 0, after the fence."""
    lines: list[str] = field(default_factory=list)
    indent: str = ""
    notes: dict[str, str] = field(default_factory=dict)
    follows: "Block | None" = None
    """The block before it, where only blank lines stand between."""

    @property
    def last(self) -> int:
        """Number of the line of the closing fence."""
        return self.first + len(self.lines)


@dataclass
class Printed:
    """What a block or a command printed, and where the page shows it."""

    first: int
    last: int
    indent: str
    shown: list[str]
    found: list[str]

    @property
    def agrees(self) -> bool:
        """Whether the page shows what was printed."""
        parts = (r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()) + r"\n" for line in self.shown)
        return re.fullmatch("".join(parts), "".join(f"{line}\n" for line in self.found)) is not None


def all_pages() -> list[Path]:
    """Return every page of the site, and the README."""
    return [*sorted(DOCS.rglob("*.md")), ROOT / "README.md"]


def name_of(page: Path) -> str:
    """Return how a page is called, from the root of the repository."""
    return str(page.relative_to(ROOT))


def blocks_of(text: str) -> list[Block]:
    """Return the fenced blocks of a page."""
    blocks: list[Block] = []
    fence, notes, between = "", {}, False
    for number, line in enumerate(text.split("\n")):
        opening, comment = _FENCE.match(line), _COMMENT.match(line)
        if fence:
            if line.strip() == fence:
                fence, notes, between = "", {}, True
            else:
                blocks[-1].lines.append(line.removeprefix(blocks[-1].indent))
        elif opening:
            before = blocks[-1] if blocks and between else None
            blocks.append(Block(opening[3], number + 1, indent=opening[1], notes=notes, follows=before))
            fence = opening[2]
        elif comment:
            notes, between = {**notes, comment[1]: comment[2]}, False
        elif line.strip():
            notes, between = {}, False
    if fence:
        raise ValueError(f"line {blocks[-1].first}: the block has no end")
    return blocks


def run_page(page: Path, folder: Path) -> list[Printed]:
    """Run the blocks of a page in an empty folder; return what they printed wherever the page shows it."""
    (folder / "docs" / "assets").mkdir(parents=True)
    environment = {"COLUMNS": "100", "LINES": "50", "NO_COLOR": "1", "MPLBACKEND": "agg", "PYTHONHASHSEED": "0"}
    blocks, names, printed = blocks_of(page.read_text()), {"__name__": "page"}, []
    known = registry.names()
    answers = {id(block.follows): block for block in blocks if block.language == "text" and block.follows}
    patches = mock.patch.dict(os.environ, environment), mock.patch.object(sys, "path", [str(folder), *sys.path])
    with contextlib.chdir(folder), patches[0], patches[1]:
        for block in blocks:
            where = f"{name_of(page)}, line {block.first + 1}"
            if "not run" in block.notes:
                continue
            if block.language == "python" and "file" in block.notes:
                Path(block.notes["file"]).write_text("\n".join(block.lines) + "\n")
            elif block.language == "python":
                found = _run_python(block, names, where)
                if (answer := answers.get(id(block))) is not None and "not run" not in answer.notes:
                    printed.append(Printed(answer.first, answer.last, answer.indent, _tidy(answer.lines), found))
            elif block.language == "console":
                printed += _run_commands(block, where)
            elif block.language in ("toml", "rm", "map"):
                _read_file(block)
            else:
                allowed = (*SHOWN, *(("", "bash") if page.name == "README.md" else ()))
                if block.language not in allowed:
                    raise AssertionError(
                        f"{where}: a block in {block.language or 'no language'} is neither run nor marked"
                    )
    for name, module in list(sys.modules.items()):  # that the page wrote
        if str(getattr(module, "__file__", "")).startswith(str(folder)):
            del sys.modules[name]
    for name in set(registry.names()) - set(known):  # of a learner that the page registers
        registry.forget(name)
    return printed


def _run_python(block: Block, names: dict, where: str) -> list[str]:
    code = compile("\n" * block.first + "\n".join(block.lines), where.partition(",")[0], "exec")
    with contextlib.redirect_stdout(_Terminal()) as out, contextlib.redirect_stderr(_Terminal()):
        exec(code, names)  # noqa: S102 - our own pages
    return _tidy(out.getvalue().split("\n"))


def _run_commands(block: Block, where: str) -> list[Printed]:
    """Run the commands of a block."""
    printed = []
    if not block.lines[:1] or not block.lines[0].startswith("$ "):
        raise AssertionError(f"{where}: a block of commands begins with '$ '")
    for command, begin, stop in _commands_of(block):
        words = shlex.split(command)
        program = next((p for p in _PROGRAMS if words[: len(p)] == p and len(words) > len(p)), None)
        if program is None:
            raise AssertionError(f"{where}: {command!r} is neither 'python -m fastrm.bench ...' nor 'fastrm ...'")
        with contextlib.redirect_stdout(_Terminal()) as out, contextlib.redirect_stderr(_Terminal()) as err:
            try:
                code = main(words[len(program) :])
            except SystemExit as stopped:
                code = int(stopped.code or 0)
        wanted = int(block.notes.get("exit", 0))
        if code != wanted:
            raise AssertionError(f"{where}: {command!r} ends with {code}, not {wanted}: {err.getvalue()[-500:]}")
        found = _tidy((out.getvalue() + (err.getvalue() if wanted else "")).split("\n"))
        shown = _tidy(block.lines[begin:stop])
        if shown:
            end = block.first + begin + len(shown)
            printed.append(Printed(block.first + begin, end, block.indent, shown, found))
    return printed


def _commands_of(block: Block) -> Iterator[tuple[str, int, int]]:
    """Yield the commands of a block, and where what each prints begins and ends; a backslash goes on in the next."""
    starts = [k for k, line in enumerate(block.lines) if line.startswith("$ ")]
    for start, stop in zip(starts, [*starts[1:], len(block.lines)], strict=True):
        begin = start + 1
        command = block.lines[start][2:]
        while command.endswith("\\"):
            command, begin = command[:-1] + block.lines[begin], begin + 1
        yield command, begin, stop


def code_of(text: str) -> Iterator[str]:
    """Yield all lines of a page that are run: code, commands and the files they read, without what they print."""
    for block in blocks_of(text):
        if block.language == "console":
            yield from (command for command, _, _ in _commands_of(block))
        elif block.language not in SHOWN:
            yield from block.lines


def _read_file(block: Block) -> None:
    """Write a file for the blocks after it, and see that it can be read."""
    text = "\n".join(block.lines) + "\n"
    path = Path(block.notes.get("file", f"block.{block.language}"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    {"toml": read_suite, "rm": RewardMachine.load, "map": GridMap.load}[block.language](str(path))
    if "file" not in block.notes:
        path.unlink()


def _tidy(lines: list[str]) -> list[str]:
    """Drop blanks at the ends of lines, and empty lines at the end."""
    kept = [line.rstrip() for line in lines]
    while kept and not kept[-1]:
        kept.pop()
    return kept


def refreshed(text: str, printed: list[Printed]) -> str:
    """Return the text of a page that shows what was printed."""
    lines = text.split("\n")
    for one in sorted(printed, key=lambda one: -one.first):
        if not one.agrees:
            lines[one.first : one.last] = [(one.indent + line).rstrip() for line in one.found]
    return "\n".join(lines)
