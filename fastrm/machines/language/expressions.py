"""The small language of guards and rewards.

One grammar serves both; a guard must come out as a truth value, a reward as a number::

    or      = and { "|" and }
    and     = not { "&" not }
    not     = "!" not | compare
    compare = sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]
    sum     = product { ("+" | "-") product }
    product = unary { ("*" | "/") unary }
    unary   = "-" unary | atom
    atom    = number | "true" | "false" | "(" or ")" | name | name "(" arguments ")"

A bare name is a proposition: the object type standing on the cell after the move. The functions are `d(x)` and
`d_before(x)`, the distance to the nearest x after and before the move, `closer(x)` and `closer_any(x)`, which say
whether that distance (or the distance to any one x) fell, and `min` and `max` of numbers. Rewards may read `to_go()`:
the fewest steps from there, in the machine state that the edge leads to, to a success. The k-th object of type x in
reading order is named like a type of its own: x1, x2, ... Nothing is ever passed to the Python interpreter.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastrm.errors import MachineError, did_you_mean

NUMBER_FEATURES = ("d", "d_before", "to_go")
TRUTH_FEATURES = ("closer", "closer_any")
FEATURES = NUMBER_FEATURES + TRUTH_FEATURES
FOLDS: dict[str, Callable[..., Any]] = {"min": np.minimum, "max": np.maximum}
RESERVED = frozenset({"true", "false", "otherwise", "when", "reward"})
MAX_NAME = 40
MAX_DEPTH = 30  # ten Python frames a level in the parser
MAX_OPERATORS = 200  # arithmetic operators nest to the left, a frame each when evaluated

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt,
}  # fmt: skip
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide,
}  # fmt: skip
_MEANT = {"and": "&", "or": "|", "not": "!", "=": "==", "&": "a single &", "|": "a single |", "^": "* or &"}
_FOLD: dict[str, Callable[..., Any]] = {"&": np.logical_and, "|": np.logical_or, **FOLDS}
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign><=|>=|==|!=|[<>&|!()+\-*/,]))"
)


@dataclass(frozen=True, slots=True)
class Number:
    """A constant number."""

    value: float


@dataclass(frozen=True, slots=True)
class Truth:
    """``true`` or ``false``."""

    value: bool


@dataclass(frozen=True, slots=True)
class Proposition:
    """An object of this type stands on the cell after the move."""

    name: str


@dataclass(frozen=True, slots=True)
class Feature:
    """A distance or its change: one of `FEATURES` applied to an object type, or to none."""

    function: str
    name: str


@dataclass(frozen=True, slots=True)
class Unary:
    """``!x`` or ``-x``."""

    sign: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    """A comparison or an arithmetic operation."""

    sign: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Chain:
    """``a & b & c``, ``a | b | c``, ``min(...)`` or ``max(...)``."""

    sign: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Otherwise:
    """The guard that is open when no other guard of its state is."""


TO_GO = Feature("to_go", "")
"""Steps to go after an edge: the one feature that depends on the machine."""

Expression = Number | Truth | Proposition | Feature | Unary | Binary | Chain
Guard = Expression | Otherwise


def parse_guard(text: str) -> Guard:
    """Read a guard.

    >>> parse_guard("a & !b")
    Chain(sign='&', operands=(Proposition(name='a'), Unary(sign='!', operand=Proposition(name='b'))))
    """
    if text.strip() == "otherwise":
        return Otherwise()
    guard = _Parser(text).whole("truth")
    if TO_GO in leaves(guard):
        raise MachineError(f"to_go() stands in the guard {text.strip()[:200]!r}; only rewards may read it")
    return guard


def parse_reward(text: str) -> Expression:
    """Read a reward.

    >>> parse_reward("10 - 2*d(b)").left
    Number(value=10.0)
    """
    return _Parser(text).whole("number")


def is_truth(node: Expression) -> bool:
    """Say whether an expression is a truth value (else it is a number)."""
    match node:
        case Truth() | Proposition():
            return True
        case Feature(function, _):
            return function in TRUTH_FEATURES
        case Unary(sign, _) | Chain(sign, _):
            return sign in "!&|"
        case Binary(sign, _, _):
            return sign in _COMPARE
    return False


def leaves(node: Guard) -> Iterator[Proposition | Feature]:
    """Yield the propositions and features an expression reads, in order, repeats included."""
    match node:
        case Proposition() | Feature():
            yield node
        case Unary(_, operand):
            yield from leaves(operand)
        case Binary(_, left, right):
            yield from leaves(left)
            yield from leaves(right)
        case Chain(_, operands):
            for operand in operands:
                yield from leaves(operand)


def is_constant(node: Expression) -> bool:
    """Say whether an expression reads nothing from the map."""
    return next(leaves(node), None) is None


def evaluate(node: Expression, columns: Mapping[Proposition | Feature, Any]) -> Any:
    """Evaluate an expression on whole columns of propositions and features at once.

    >>> evaluate(parse_reward("-d(a) / 2"), {Feature("d", "a"): np.array([0, 3])}).tolist()
    [0.0, -1.5]
    """
    match node:
        case Number(value) | Truth(value):
            return value
        case Proposition() | Feature():
            return columns[node]
        case Unary("!", operand):
            return np.logical_not(evaluate(operand, columns))
        case Unary(_, operand):
            return np.subtract(0.0, evaluate(operand, columns))  # 0 - 0 is +0, so no reward is ever -0
        case Binary(sign, left, right):
            with np.errstate(all="ignore"):  # the compiler looks for what is not finite
                return (_COMPARE.get(sign) or _ARITHMETIC[sign])(evaluate(left, columns), evaluate(right, columns))
        case Chain(sign, operands):
            fold = _FOLD[sign]
            result = evaluate(operands[0], columns)
            for operand in operands[1:]:
                result = fold(result, evaluate(operand, columns))
            return result
    raise TypeError(f"not an expression: {node!r}")


def constant(node: Expression) -> float | None:
    """Return the value of a constant reward, None for one that reads the map."""
    return float(evaluate(node, {})) if is_constant(node) else None


_LEVEL = {"|": 1, "&": 2, "!": 3, **dict.fromkeys(_COMPARE, 4), "+": 5, "-": 5, "*": 6, "/": 6}


def write(node: Guard) -> str:
    """Write an expression so that parsing it gives it back.

    >>> write(parse_reward("(1-d(a))*2"))
    '(1 - d(a)) * 2'
    """
    return "otherwise" if isinstance(node, Otherwise) else _write(node, 0)


def _write(node: Expression, above: int) -> str:
    match node:
        case Number(value):
            return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
        case Truth(value):
            return "true" if value else "false"
        case Proposition(name):
            return name
        case Feature(function, name):
            return f"{function}({name})"
        case Chain("min" | "max" as sign, operands):
            return f"{sign}({', '.join(_write(operand, 0) for operand in operands)})"
        case Unary("-", operand):
            text, level = "-" + _write(operand, 7), 7
        case Unary(sign, operand):
            text, level = sign + _write(operand, 3), 3
        case Binary(sign, left, right):
            level = _LEVEL[sign]
            strict = 1 if sign in _COMPARE else 0  # comparisons do not chain
            text = f"{_write(left, level + strict)} {sign} {_write(right, level + 1)}"
        case Chain(sign, operands):
            level = _LEVEL[sign]
            text = f" {sign} ".join(_write(operand, level + 1) for operand in operands)
    return f"({text})" if level < above else text


class _Parser:
    """Recursive descent over the tokens of one expression."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        self.at = 0
        self.depth = 0
        self.operators = 0
        position = 0
        text = text.rstrip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                rest = text[position:].lstrip()
                raise self.unexpected(rest[0])
            kind = match.lastgroup or ""
            if kind == "name" and len(match[kind]) > MAX_NAME:
                raise MachineError(f"the name {match[kind][:MAX_NAME]}... is longer than {MAX_NAME} characters")
            self.tokens.append((kind, match[kind], match.start(kind)))
            position = match.end()

    def whole(self, wanted: str) -> Expression:
        if not self.tokens:
            raise MachineError(f"an empty {'guard' if wanted == 'truth' else 'reward'}; write e.g. 'true' or '0'")
        node = self.chain("|")
        if self.at < len(self.tokens):
            raise self.unexpected(self.tokens[self.at][1])
        return self.typed(node, wanted)

    def unexpected(self, word: str) -> MachineError:
        hint = f" (write {_MEANT[word]} instead)" if word in _MEANT else ""
        return self.error(f"unexpected {word!r}{hint}")

    def error(self, message: str) -> MachineError:
        return MachineError(f"{message} in {self.text.strip()[:200]!r}")

    def typed(self, node: Expression, wanted: str) -> Expression:
        found = "truth" if is_truth(node) else "number"
        if found != wanted:
            words = {"truth": "a truth value", "number": "a number"}
            hint = " (write to_go())" if node == Proposition(TO_GO.function) else ""
            raise self.error(f"expected {words[wanted]}, found {words[found]} {_write(node, 0)[:40]!r}{hint}")
        return node

    def accept(self, *signs: str) -> str | None:
        if self.at < len(self.tokens) and self.tokens[self.at][0] != "number" and self.tokens[self.at][1] in signs:
            self.at += 1
            return self.tokens[self.at - 1][1]
        return None

    def expect(self, sign: str) -> None:
        if not self.accept(sign):
            found = repr(self.tokens[self.at][1]) if self.at < len(self.tokens) else "the end"
            raise self.error(f"expected {sign!r}, found {found}")

    def deeper(self, by: int = 1) -> None:
        self.depth += by
        if self.depth > MAX_DEPTH:
            raise MachineError(f"an expression nested more than {MAX_DEPTH} deep; split it up")

    def chain(self, sign: str) -> Expression:
        operands = [self.chain("&") if sign == "|" else self.negation()]
        while self.accept(sign):
            operands.append(self.chain("&") if sign == "|" else self.negation())
        if len(operands) == 1:
            return operands[0]
        return Chain(sign, tuple(self.typed(operand, "truth") for operand in operands))

    def negation(self) -> Expression:
        if self.accept("!"):
            self.deeper()
            operand = self.typed(self.negation(), "truth")
            self.deeper(-1)
            return Unary("!", operand)
        return self.comparison()

    def comparison(self) -> Expression:
        left = self.arithmetic("+", "-")
        sign = self.accept(*_COMPARE)
        if sign is None:
            return left
        right = self.arithmetic("+", "-")
        if self.accept(*_COMPARE):
            raise self.error("comparisons do not chain; join two with '&'")
        return Binary(sign, self.typed(left, "number"), self.typed(right, "number"))

    def arithmetic(self, *signs: str) -> Expression:
        node = self.arithmetic("*", "/") if "+" in signs else self.minus()
        while sign := self.accept(*signs):
            self.operators += 1
            if self.operators > MAX_OPERATORS:
                raise MachineError(f"an expression with more than {MAX_OPERATORS} operators; split it up")
            right = self.arithmetic("*", "/") if "+" in signs else self.minus()
            node = Binary(sign, self.typed(node, "number"), self.typed(right, "number"))
        return node

    def minus(self) -> Expression:
        if not self.accept("-"):
            return self.atom()
        self.deeper()
        operand = self.typed(self.minus(), "number")
        self.deeper(-1)
        return Number(-operand.value) if isinstance(operand, Number) and operand.value else Unary("-", operand)

    def atom(self) -> Expression:
        if self.at == len(self.tokens):
            raise self.error("something is missing at the end")
        kind, text, _ = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            value = float(text)
            if not math.isfinite(value):
                raise self.error(f"the number {text} is too large")
            return Number(value)
        if text == "(":
            self.deeper()
            node = self.chain("|")
            self.deeper(-1)
            self.expect(")")
            return node
        if kind == "sign":
            raise self.unexpected(text)
        if text in ("true", "false"):
            return Truth(text == "true")
        if text in RESERVED:
            raise self.error(f"the word {text!r} cannot stand inside an expression")
        return self.call(text) if self.accept("(") else Proposition(text)

    def call(self, function: str) -> Expression:
        if function in FOLDS:
            self.deeper()
            operands = [self.typed(self.chain("|"), "number")]
            while self.accept(","):
                operands.append(self.typed(self.chain("|"), "number"))
            self.deeper(-1)
            self.expect(")")
            return Chain(function, tuple(operands))
        known = (*FEATURES, *FOLDS)
        if function not in known:
            raise self.error(
                f"unknown function {function!r}{did_you_mean(function, known)}; there are {', '.join(known)}"
            )
        if function == TO_GO.function:
            self.expect(")")
            return TO_GO
        if self.at == len(self.tokens) or self.tokens[self.at][0] != "name" or self.tokens[self.at][1] in RESERVED:
            raise self.error(f"{function}(...) needs the name of an object type")
        name = self.tokens[self.at][1]
        self.at += 1
        self.expect(")")
        return Feature(function, name)
