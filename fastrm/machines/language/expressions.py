"""Guards and rewards as trees: their nodes, their values, and their text.

A bare name is a proposition: the object type on the cell after the move. The functions are `min` and `max` of numbers
and the features of `FEATURES`, one row each. The k-th object of type x in reading order has a name like a type: x1, ...

Exact tools need rewards as written, in rationals: 0.1 is one tenth, and 0.1 * 3 is 0.3. The float of a single number,
or of arithmetic on whole numbers, prints as it was written; `evaluate_exactly` evaluates any other reward again.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np


class FeatureKind(NamedTuple):
    """A row of `FEATURES`. One more row, and the method of `Terrain` that it names, is one more feature."""

    name: str
    is_truth: bool  # else a whole number from 0
    takes_object: bool
    known: Literal["after", "before", "move", "state"]  # of the cell after or before, of the move, or of the state too
    measure: str  # the method of Terrain that gives it for all cells or moves; none can where the state counts
    meaning: str

    @property
    def written(self) -> str:
        """How it is written, for an object type x."""
        return f"{self.name}({'x' if self.takes_object else ''})"


_ROWS = (
    FeatureKind("d",          False, True,  "after",  "distance",   "distance to the nearest x after the move"),
    FeatureKind("d_before",   False, True,  "before", "distance",   "distance to the nearest x before the move"),
    FeatureKind("closer",     True,  True,  "move",   "closer",     "the distance to the nearest x fell"),
    FeatureKind("closer_any", True,  True,  "move",   "closer_any", "the distance to at least one x fell"),
    FeatureKind("to_go",      False, False, "state",  "",           "fewest steps to a success after the move"),
)  # fmt: skip
FEATURES = {row.name: row for row in _ROWS}
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
