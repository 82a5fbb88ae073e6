"""Tokens that know their place, so that every message can name a column, and the language of guards and rewards.

Guards, rewards, tasks and formulas are read by recursive descent over tokens; files are first cut into statements.
Places count characters from 0, columns from 1; a tab is one character.

Guards and rewards have one grammar; a guard must be a truth value, a reward a number::

    or      = and { "|" and }
    and     = not { "&" not }
    not     = "!" not | compare
    compare = sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]
    sum     = product { ("+" | "-") product }
    product = unary { ("*" | "/") unary }
    unary   = "-" unary | atom
    atom    = number | "true" | "false" | "(" or ")" | name | name "(" arguments ")"

Nothing is ever passed to the Python interpreter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from fastrm.errors import MachineError, did_you_mean, shown
from fastrm.machines.language.expressions import (
    COMPARE,
    FEATURES,
    FOLDS,
    Binary,
    Chain,
    Expression,
    Feature,
    Guard,
    Number,
    Otherwise,
    Proposition,
    Truth,
    Unary,
    is_truth,
    write,
)
from fastrm.worlds import RESERVED


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


MAX_NAME = 40
MAX_DEPTH = 30  # ten Python frames a level in the parser
MAX_OPERATORS = 200  # arithmetic operators nest to the left, a frame each when evaluated

_MEANT = {"and": "&", "or": "|", "not": "!", "=": "==", "&": "a single &", "|": "a single |", "^": "* or &"}
_TOKEN = (
    r"(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign><=|>=|==|!=|[<>&|!()+\-*/,])"
)
_WORDS = {"truth": "a truth value", "number": "a number"}


def parse_guard(text: str, what: str = "", offset: int = 0) -> Guard:
    """Read a guard; messages call it `what`, and count columns from `offset` places before it.

    >>> parse_guard("a & !b")
    Chain(sign='&', operands=(Proposition(name='a'), Unary(sign='!', operand=Proposition(name='b'))))
    """
    if text.strip() == "otherwise":
        return Otherwise()
    return _Parser(text, "guard", what, offset).whole("truth")


def parse_reward(text: str, what: str = "", offset: int = 0) -> Expression:
    """Read a reward; messages call it `what`, and count columns from `offset` places before it.

    >>> parse_reward("10 - 2*d(b)").left
    Number(value=10.0)
    """
    return _Parser(text, "reward", what, offset).whole("number")


class _Parser(Tokens):
    """Recursive descent over the tokens of one expression."""

    def __init__(self, text: str, role: str, what: str, offset: int) -> None:
        super().__init__(text, _TOKEN, what or f"{role} {text.strip()[:60]!r}", deepest=MAX_DEPTH, offset=offset)
        self.role = role
        self.operators = 0
        for kind, word, place in self.tokens:
            if kind == "other":
                raise self.unexpected(word, place)
            if kind == "name" and len(word) > MAX_NAME:
                raise self.error(f"the name {word[:MAX_NAME]}... is longer than {MAX_NAME} characters", place)

    def whole(self, wanted: str) -> Expression:
        if not self.tokens:
            raise self.error(f"an empty {self.role}; write e.g. 'true' or '0'")
        part = self.next.place, self.chain("|")
        if self.next.text:
            raise self.unexpected(self.next.text, self.next.place)
        return self.check_type(wanted, *part)

    def unexpected(self, word: str, place: int) -> MachineError:
        hint = f" (write {_MEANT[word]} instead)" if word in _MEANT else ""
        return self.error(f"unexpected {word[:MAX_NAME]!r}{hint}", place)

    def check_type(self, wanted: str, place: int, node: Expression) -> Expression:
        found = "truth" if is_truth(node) else "number"
        if found != wanted:
            row = FEATURES.get(node.name) if isinstance(node, Proposition) else None
            hint = f" (write {row.written})" if row and not row.takes_object else ""
            message = f"expected {_WORDS[wanted]}, found {_WORDS[found]} {write(node)[:MAX_NAME]!r}{hint}"
            raise self.error(message, place)
        return node

    def chain(self, sign: str) -> Expression:
        parts: list[tuple[int, Expression]] = []
        while not parts or self.accept(sign):
            parts.append((self.next.place, self.chain("&") if sign == "|" else self.negation()))
        if len(parts) == 1:
            return parts[0][1]
        return Chain(sign, tuple(self.check_type("truth", *part) for part in parts))

    def negation(self) -> Expression:
        place = self.next.place
        if not self.accept("!"):
            return self.comparison()
        with self.deeper(place):
            return Unary("!", self.check_type("truth", self.next.place, self.negation()))

    def comparison(self) -> Expression:
        left = self.next.place, self.arithmetic("+", "-")
        sign = self.accept(*COMPARE)
        if not sign:
            return left[1]
        right = self.next.place, self.arithmetic("+", "-")
        if self.next.text in COMPARE:
            raise self.error("comparisons do not chain; join two with '&'")
        return Binary(sign, self.check_type("number", *left), self.check_type("number", *right))

    def arithmetic(self, *signs: str) -> Expression:
        operand = partial(self.arithmetic, "*", "/") if "+" in signs else self.minus
        first, node = self.next.place, operand()
        while self.next.text in signs:
            self.operators += 1
            if self.operators > MAX_OPERATORS:
                raise self.error(f"an expression with more than {MAX_OPERATORS} operators; split it up")
            sign, place = self.take(), self.next.place
            right = operand()
            node = Binary(sign, self.check_type("number", first, node), self.check_type("number", place, right))
        return node

    def minus(self) -> Expression:
        place = self.next.place
        if not self.accept("-"):
            return self.atom()
        with self.deeper(place):
            operand = self.check_type("number", self.next.place, self.minus())
        return Number(-operand.value) if isinstance(operand, Number) and operand.value else Unary("-", operand)

    def atom(self) -> Expression:
        kind, word, place = self.next
        self.take()
        if not word:
            raise self.error("something is missing at the end")
        if kind == "number":
            value = float(word)
            if not math.isfinite(value):
                raise self.error(f"the number {word[:MAX_NAME]} is too large", place)
            return Number(value)
        if word == "(":
            with self.deeper(place):
                node = self.chain("|")
            self.expect(")", place)
            return node
        if kind == "sign":
            raise self.unexpected(word, place)
        if word in ("true", "false"):
            return Truth(word == "true")
        if word in RESERVED:
            raise self.error(f"the word {shown(word)} cannot stand inside an expression", place)
        return self.call(word, place) if self.accept("(") else Proposition(word)

    def call(self, function: str, place: int) -> Expression:
        if function in FOLDS:
            operands: list[Expression] = []
            with self.deeper(place):
                while not operands or self.accept(","):
                    operands.append(self.check_type("number", self.next.place, self.chain("|")))
            self.expect(")")
            return Chain(function, tuple(operands))
        known = (*FEATURES, *FOLDS)
        if function not in known:
            near = did_you_mean(function, known)
            raise self.error(f"unknown function {shown(function)}{near}; there are {', '.join(known)}", place)
        row = FEATURES[function]
        if row.known == "state" and self.role == "guard":
            raise self.error(f"{row.written} stands in a guard; only rewards may read it", place)
        name = self.object_type(function) if row.takes_object else ""
        self.expect(")")
        return Feature(function, name)

    def object_type(self, function: str) -> str:
        if self.next.kind != "name" or self.next.text in RESERVED:
            raise self.error(f"{function}(...) needs the name of an object type")
        return self.take()
