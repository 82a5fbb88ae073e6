"""Numbers and rewards as they are written: rationals, where floats hold only what is nearest.

0.1 is one tenth, and 0.1 * 3 is 0.3. The float of a single number, or of arithmetic on whole numbers, prints as it was
written; any other reward is evaluated again by `evaluate_exactly`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache

from fastrm.machines.language.expressions import Binary, Chain, Expression, Feature, Number, Unary

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
    """Say whether a reward may differ from what its float is written as: arithmetic, but on whole numbers.

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
