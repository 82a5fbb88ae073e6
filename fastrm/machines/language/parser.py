"""The small language of guards and rewards, read into expressions.

One grammar serves both; a guard must come out as a truth value, a reward as a number::

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

from fastrm.errors import MachineError, did_you_mean
from fastrm.machines.language.expressions import (
    COMPARE,
    FEATURES,
    FOLDS,
    RESERVED,
    TO_GO,
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
    leaves,
    write,
)

MAX_NAME = 40
MAX_DEPTH = 30  # ten Python frames a level in the parser
MAX_OPERATORS = 200  # arithmetic operators nest to the left, a frame each when evaluated

_MEANT = {"and": "&", "or": "|", "not": "!", "=": "==", "&": "a single &", "|": "a single |", "^": "* or &"}
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign><=|>=|==|!=|[<>&|!()+\-*/,]))"
)


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
            raise self.error(f"expected {words[wanted]}, found {words[found]} {write(node)[:40]!r}{hint}")
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
        sign = self.accept(*COMPARE)
        if sign is None:
            return left
        right = self.arithmetic("+", "-")
        if self.accept(*COMPARE):
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
