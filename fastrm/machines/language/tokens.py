"""Tokens that know their place, so that every message can name a column.

Guards, rewards, tasks and formulas are read by recursive descent over tokens; files are first cut into statements.
Places count characters from 0, columns from 1; a tab is one character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from fastrm.errors import MachineError


class Statement(NamedTuple):
    """A line of a file that is not blank."""

    number: int
    """Which line it is, from 1."""
    text: str
    """The line without its comment; blanks before the statement stay, so that places are those of the line."""
    place: int
    """Where in the line the statement begins."""


def statements(text: str) -> Iterator[Statement]:
    r"""Yield the lines that hold more than blanks and a comment.

    >>> list(statements("# a comment\n  start u0  # another"))
    [Statement(number=2, text='  start u0', place=2)]
    """
    for number, line in enumerate(text.split("\n"), start=1):
        statement = line.split("#", 1)[0].rstrip()
        if statement:
            yield Statement(number, statement, len(statement) - len(statement.lstrip()))


def fault(message: str, place: int, what: str = "") -> MachineError:
    """Return the error of a message about one place of a text.

    >>> fault("unexpected '?'", 1, "task 'a?b'")
    MachineError("task 'a?b', column 2: unexpected '?'")
    """
    return MachineError(f"{what}{', ' if what else ''}column {place + 1}: {message}")


class Token(NamedTuple):
    """A word, a number or a sign, and its place."""

    kind: str
    """The group of the pattern that matched it."""
    text: str
    place: int


class Tokens:
    """The tokens of one text, from the first to the last; parsers are subclasses.

    Parameters
    ----------
    text : str
        What to read.
    pattern : Pattern
        What a token is, one named group for each kind; what no group matches, blanks aside, is of kind ``other``.
    what : str
        How messages call the text, such as ``task 'a-b'``.
    deepest : int
        How deep `deeper` may go.
    offset : int
        Where in its line the text begins.
    known : str
        What there is, for messages about something else.
    """

    def __init__(
        self, text: str, pattern: str, what: str, *, deepest: int, offset: int = 0, known: str = ""
    ) -> None:  # fmt: skip
        self.what, self.deepest, self.offset, self.known = what, deepest, offset, known and f"; {known}"
        found = re.finditer(rf"{pattern}|(?P<other>\S)", text)
        self.tokens = [Token(match.lastgroup or "", match[0], match.start()) for match in found]
        self.end = Token("", "", len(text.rstrip()))
        self.at = self.depth = 0

    @property
    def next(self) -> Token:
        """The next token; at the end one without kind and text."""
        return self.tokens[self.at] if self.at < len(self.tokens) else self.end

    def take(self) -> str:
        """Return the text of the next token and go on."""
        text = self.next.text
        self.at += 1
        return text

    def accept(self, *signs: str) -> str:
        """Take the next token if it is one of some, else return an empty text."""
        return self.take() if self.next.text in signs else ""

    def expect(self, sign: str, opened: int | None = None) -> None:
        """Take the next token, which must be a sign; `opened` is the place that asked for it."""
        if not self.accept(sign):
            raise self.missing(repr(sign) + ("" if opened is None else f" for column {self.offset + opened + 1}"))

    @contextmanager
    def deeper(self, place: int | None = None) -> Iterator[None]:
        """Count one more level of nesting as long as the block lasts."""
        self.depth += 1
        if self.depth > self.deepest:
            raise self.error("too deeply nested; split it up", place)
        yield
        self.depth -= 1

    def missing(self, wanted: str) -> MachineError:
        """Return the error that something else was expected than the next token."""
        found = repr(self.next.text[:40]) if self.next.text else "the end"
        return self.error(f"expected {wanted}, found {found}{self.known}")

    def error(self, message: str, place: int | None = None) -> MachineError:
        """Return an error about a place, by default that of the next token."""
        return fault(message, self.offset + (self.next.place if place is None else place), self.what)
