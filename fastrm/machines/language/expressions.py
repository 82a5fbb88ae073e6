"""Guards and rewards: as text, as trees, and their values.

A bare name is a proposition: the object type on the cell after the move. Where a number is expected, a bare name of
several letters is a feature of the world by that name, such as ``fuel``. A name that the machine declares as a clock or
count is its value, a number. The functions are `min` and `max` of numbers
and the features of `FEATURES`, one row each. The k-th object of type x in reading order has a name like a type: x1, ...

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

Exact tools need rewards as written, in rationals: 0.1 is one tenth, and 0.1 * 3 is 0.3. The float of a single number,
or of arithmetic on whole numbers, prints as it was written; `evaluate_exactly` evaluates any other reward again.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple

import numpy as np

from fastrm.errors import MachineError, did_you_mean, shown
from fastrm.machines.language.tokens import Tokens
from fastrm.worlds import RESERVED, is_label


class FeatureKind(NamedTuple):
    """A row of `FEATURES`. One more row, and the method of `Terrain` that it names, is one more feature."""

    name: str
    is_truth: bool  # else a whole number from 0
    objects: int  # how many object types it is applied to
    known: Literal["after", "before", "move", "state"]  # of the cell after or before, of the move, or of the state too
    measure: str  # the method of Terrain that gives it for all cells or moves; none can where the state counts
    meaning: str

    @property
    def written(self) -> str:
        """How it is written, for an object type x."""
        if self.name == OWN:
            return "fuel"
        return f"{self.name}({', '.join('xy'[: self.objects])})"


OWN = "own"
"""What a bare name of several letters means where a number is expected."""
_ROWS = (
    FeatureKind("d",          False, 1, "after",  "distance",   "distance to the nearest x after the move"),
    FeatureKind("d_before",   False, 1, "before", "distance",   "distance to the nearest x before the move"),
    FeatureKind("d_only",     False, 1, "after",  "distance",   "distance to the only x after the move"),
    FeatureKind("leg",        False, 2, "after",  "leg",        "distance from the only x to the only y"),
    FeatureKind("span",       False, 0, "after",  "span",       "a bound on all distances of this world"),
    FeatureKind("closer",     True,  1, "move",   "closer",     "the distance to the nearest x fell"),
    FeatureKind("closer_any", True,  1, "move",   "closer_any", "the distance to at least one x fell"),
    FeatureKind("to_go",      False, 0, "state",  "",           "fewest steps to a success after the move"),
    FeatureKind(OWN,          False, 1, "after",  "own",        "your own feature of the cell after the move"),
)  # fmt: skip
FEATURES = {row.name: row for row in _ROWS}
OF_SINGLE_OBJECTS = ("d_only", "leg")
"""Features that are errors on maps with several objects of a type."""
FOLDS: dict[str, Callable[..., Any]] = {"min": np.minimum, "max": np.maximum}
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt,
}  # fmt: skip
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide,
}  # fmt: skip
_FOLD: dict[str, Callable[..., Any]] = {"&": np.logical_and, "|": np.logical_or, **FOLDS}


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
    """An object of this type is on the cell after the move."""

    name: str


@dataclass(frozen=True, slots=True)
class Feature:
    """A distance or its change: one of `FEATURES` applied to up to two object types."""

    function: str
    name: str
    other: str = ""
    """The second object type, of `leg`."""

    @property
    def names(self) -> tuple[str, ...]:
        """The object types that it is applied to."""
        return (self.name, self.other)[: FEATURES[self.function].objects]


@dataclass(frozen=True, slots=True)
class Value:
    """What a clock or count shows; none is left once a machine is unrolled."""

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
SPAN = Feature("span", "")
"""A bound on all distances."""

Expression = Number | Truth | Proposition | Feature | Value | Unary | Binary | Chain
Guard = Expression | Otherwise


def is_truth(node: Expression) -> bool:
    """Return whether an expression is a truth value (else it is a number)."""
    match node:
        case Truth() | Proposition():
            return True
        case Feature(function, _):
            return FEATURES[function].is_truth
        case Unary(sign, _) | Chain(sign, _):
            return sign in "!&|"
        case Binary(sign, _, _):
            return sign in COMPARE
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


def values_read(node: Guard) -> Iterator[str]:
    """Yield the clocks and counts an expression reads, repeats included."""
    match node:
        case Value(name):
            yield name
        case Unary(_, operand):
            yield from values_read(operand)
        case Binary(_, left, right):
            yield from values_read(left)
            yield from values_read(right)
        case Chain(_, operands):
            for operand in operands:
                yield from values_read(operand)


def comparisons(node: Guard) -> Iterator[Expression]:
    """Yield the comparisons of numbers in a guard."""
    match node:
        case Unary("!", operand):
            yield from comparisons(operand)
        case Binary():
            yield node
        case Chain(_, operands):
            for operand in operands:
                yield from comparisons(operand)


def evaluate(node: Expression, columns: Mapping[Proposition | Feature, Any]) -> Any:
    """Evaluate an expression on whole columns of propositions and features at once.

    >>> evaluate(Unary("-", Feature("d", "a")), {Feature("d", "a"): np.array([0, 3])}).tolist()
    [0.0, -3.0]
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
                return (COMPARE.get(sign) or _ARITHMETIC[sign])(evaluate(left, columns), evaluate(right, columns))
        case Chain(sign, operands):
            fold = _FOLD[sign]
            result = evaluate(operands[0], columns)
            for operand in operands[1:]:
                result = fold(result, evaluate(operand, columns))
            return result
    raise TypeError(f"not an expression: {node!r}")


def constant(node: Expression) -> float | None:
    """Return the value of a constant reward, None for one that reads the map."""
    return float(evaluate(node, {})) if next(leaves(node), None) is None else None


_LEVEL = {"|": 1, "&": 2, "!": 3, **dict.fromkeys(COMPARE, 4), "+": 5, "-": 5, "*": 6, "/": 6}


def write(node: Guard) -> str:
    """Write an expression so that parsing it gives it back.

    >>> write(Binary("*", Binary("-", Number(1.0), Feature("d", "a")), Number(2.0)))
    '(1 - d(a)) * 2'
    """
    return "otherwise" if isinstance(node, Otherwise) else _write(node, 0)


def _write(node: Expression, above: int) -> str:
    match node:
        case Number(value):
            return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
        case Truth(value):
            return "true" if value else "false"
        case Proposition(name) | Value(name):
            return name
        case Feature(function, name):
            return name if function == OWN else f"{function}({', '.join(node.names)})"
        case Chain("min" | "max" as sign, operands):
            return f"{sign}({', '.join(_write(operand, 0) for operand in operands)})"
        case Unary("-", operand):
            text, level = "-" + _write(operand, 7), 7
        case Unary(sign, operand):
            text, level = sign + _write(operand, 3), 3
        case Binary(sign, left, right):
            level = _LEVEL[sign]
            strict = 1 if sign in COMPARE else 0  # comparisons do not chain
            text = f"{_write(left, level + strict)} {sign} {_write(right, level + 1)}"
        case Chain(sign, operands):
            level = _LEVEL[sign]
            text = f" {sign} ".join(_write(operand, level + 1) for operand in operands)
    return f"({text})" if level < above else text


_EXACT: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip
_LARGEST_FEATURE, _WHOLE = 2.0**31, 2.0**53  # floats hold all whole numbers below the latter


@lru_cache(maxsize=10_000)
def as_written(number: float) -> Fraction:
    """Return the number that a float was written as.

    >>> as_written(0.1)
    Fraction(1, 10)
    """
    return Fraction(repr(float(number)))


def evaluate_exactly(node: Expression, features: Mapping[Feature, int]) -> Fraction:
    """Evaluate a reward in rationals, its numbers as they are written.

    >>> evaluate_exactly(Binary("*", Number(0.1), Number(3.0)), {})
    Fraction(3, 10)
    """
    match node:
        case Number(value):
            return as_written(value)
        case Feature():
            return Fraction(features[node])
        case Unary("-", operand):
            return -evaluate_exactly(operand, features)
        case Binary(sign, left, right) if sign in _EXACT:
            return _EXACT[sign](evaluate_exactly(left, features), evaluate_exactly(right, features))
        case Chain("min" | "max" as sign, operands):
            return (min if sign == "min" else max)(evaluate_exactly(operand, features) for operand in operands)
    raise TypeError(f"not a reward: {node!r}")


def may_round(node: Expression) -> bool:
    """Return whether a reward may differ from what its float prints as: arithmetic, except on whole numbers.

    >>> may_round(Number(0.1)), may_round(Unary("-", Feature("d", "a"))), may_round(Binary("/", Number(1), Number(3)))
    (False, False, True)
    """
    match node:
        case Unary(_, operand):
            return may_round(operand)
        case Chain(_, operands):
            return any(map(may_round, operands))
        case Binary():
            return not _whole_up_to(node) < _WHOLE
    return False


def _whole_up_to(node: Expression) -> float:
    """Bound the size of a reward made of whole numbers; infinite for others."""
    match node:
        case Number(value):
            return abs(value) if value == int(value) else math.inf
        case Feature():
            return _LARGEST_FEATURE
        case Unary(_, operand):
            return _whole_up_to(operand)
        case Binary("+" | "-", left, right):
            return _whole_up_to(left) + _whole_up_to(right)
        case Binary("*", left, right):
            return _whole_up_to(left) * _whole_up_to(right)
        case Chain(_, operands):
            return max(map(_whole_up_to, operands))
    return math.inf


MAX_NAME = 40
MAX_DEPTH = 30  # ten Python frames a level in the parser
MAX_OPERATORS = 200  # arithmetic operators nest to the left, a frame each when evaluated

_MEANT = {"and": "&", "or": "|", "not": "!", "=": "==", "&": "a single &", "|": "a single |", "^": "* or &"}
_TOKEN = (
    r"(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign><=|>=|==|!=|[<>&|!()+\-*/,])"
)
_WORDS = {"truth": "a truth value", "number": "a number"}


def parse_guard(text: str, what: str = "", offset: int = 0, values: Collection[str] = ()) -> Guard:
    """Read a guard; messages call it `what`, and count columns from `offset` places before it.

    `values` are the names of clocks and counts.

    >>> parse_guard("a & !b")
    Chain(sign='&', operands=(Proposition(name='a'), Unary(sign='!', operand=Proposition(name='b'))))
    """
    if text.strip() == "otherwise":
        return Otherwise()
    return _Parser(text, "guard", what, offset, values).whole("truth")


def parse_reward(text: str, what: str = "", offset: int = 0, values: Collection[str] = ()) -> Expression:
    """Read a reward; messages call it `what`, and count columns from `offset` places before it.

    `values` are the names of clocks and counts.

    >>> parse_reward("10 - 2*d(b)").left
    Number(value=10.0)
    """
    return _Parser(text, "reward", what, offset, values).whole("number")


def _may_be_feature(name: str) -> bool:
    """Return whether a bare name can be that of a feature: no object, and no function without its brackets.

    >>> [_may_be_feature(name) for name in ("fuel", "a", "a2", "to_go")]
    [True, False, False, False]
    """
    return is_label(name) and name not in FEATURES and name not in FOLDS


class _Parser(Tokens):
    """Recursive descent over the tokens of one expression."""

    def __init__(self, text: str, role: str, what: str, offset: int, values: Collection[str]) -> None:
        super().__init__(text, _TOKEN, what or f"{role} {text.strip()[:60]!r}", deepest=MAX_DEPTH, offset=offset)
        self.role, self.values = role, values
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
        if wanted == "number" and isinstance(node, Proposition) and _may_be_feature(node.name):
            return Feature(OWN, node.name)
        found = "truth" if is_truth(node) else "number"
        if found != wanted and isinstance(node, Value):
            cure = f"compare it, as in {node.name} <= 3, or rename it if an object is meant"
            raise self.error(f"expected a truth value, found the clock or count {node.name!r}; {cure}", place)
        if found != wanted:
            row = FEATURES.get(node.name) if isinstance(node, Proposition) else None
            hint = f" (write {row.written})" if row and not row.objects else ""
            if isinstance(node, Proposition) and not hint:
                hint = did_you_mean(node.name, self.values) or " (a clock or count must be declared)"
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
        node = Binary(sign, self.check_type("number", *left), self.check_type("number", *right))
        for value, (place, other) in ((node.left, right), (node.right, left)):
            if isinstance(value, Value) and isinstance(other, Number) and other.value != int(other.value):
                raise self.error(f"{value.name} shows whole numbers; compare it with one of them", place)
        return node

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
        if word in self.values and self.next.text != "(":
            return Value(word)
        return self.call(word, place) if self.accept("(") else Proposition(word)

    def call(self, function: str, place: int) -> Expression:
        if function in FOLDS:
            operands: list[Expression] = []
            with self.deeper(place):
                while not operands or self.accept(","):
                    operands.append(self.check_type("number", self.next.place, self.chain("|")))
            self.expect(")")
            return Chain(function, tuple(operands))
        if function not in FEATURES or function == OWN:
            of_state = "state" if self.role == "guard" else ""  # what guards cannot read is not named
            known = [*(name for name, row in FEATURES.items() if name != OWN and row.known != of_state), *FOLDS]
            near = did_you_mean(function, known)
            raise self.error(f"unknown function {shown(function)}{near}; there are {', '.join(known)}", place)
        row = FEATURES[function]
        if row.known == "state" and self.role == "guard":
            raise self.error(f"{row.written} stands in a guard; only rewards may read it", place)
        names: list[str] = []
        while len(names) < row.objects:
            if names:
                self.expect(",")
            names.append(self.object_type(function))
        self.expect(")")
        return Feature(function, *(names or [""]))

    def object_type(self, function: str) -> str:
        if self.next.kind != "name" or self.next.text in RESERVED:
            raise self.error(f"{function}(...) needs the name of an object type")
        if self.next.text in self.values:
            raise self.error(f"{self.next.text!r} is a clock or count; rename it if the object is meant")
        return self.take()
