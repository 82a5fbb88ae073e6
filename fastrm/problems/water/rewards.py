"""Rewards that read distances, as words for a small stack machine, with bounds on what they pay."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import MachineError
from fastrm.kernels.water import ADD, DIVIDE, LARGEST, LEAST, MULTIPLY, NUMBER, READ, STACK, SUBTRACT
from fastrm.machines.language import Binary, Chain, Expression, Feature, Unary, constant, write

_WORDS = {"+": ADD, "-": SUBTRACT, "*": MULTIPLY, "/": DIVIDE, "min": LEAST, "max": LARGEST}

Word = tuple[int, float]


class Programs:
    """Rewards in words, equal ones once."""

    def __init__(self, features: Sequence[Feature], side: float) -> None:
        self.features, self.farthest = list(features), side * math.sqrt(2.0)
        self.known: dict[Expression, int] = {}
        self.code: list[list[Word]] = []

    def add(self, reward: Expression, at: str) -> int:
        """Return the number of a reward.

        Raises
        ------
        MachineError
            When it divides by a distance, may not be finite, or is too deep.
        """
        if reward not in self.known:
            self.check(reward, at)
            words = list(self._words(reward, at))
            height = top = 0
            for word, _ in words:
                top += 1 if word in (NUMBER, READ) else -1
                height = max(height, top)
            if height > STACK:
                raise MachineError(f"{at}the reward {write(reward)[:60]}... is too deep; write it more simply")
            self.known[reward] = len(self.code)
            self.code.append(words)
        return self.known[reward]

    def check(self, reward: Expression, at: str) -> None:
        """Refuse a reward that may not be finite."""
        low, high = reward_bounds(reward, self.farthest, at)
        if not (math.isfinite(low) and math.isfinite(high)):
            raise MachineError(f"{at}the reward {write(reward)} may not be finite; make its numbers smaller")

    def _words(self, node: Expression, at: str) -> list[Word]:
        if (value := constant(node)) is not None:
            return [(NUMBER, value)]
        match node:
            case Feature():
                return [(READ, float(self.features.index(node)))]
            case Unary("-", operand):
                return [(NUMBER, 0.0), *self._words(operand, at), (SUBTRACT, 0.0)]
            case Binary(sign, left, right) if sign in _WORDS:
                return [*self._words(left, at), *self._words(right, at), (_WORDS[sign], 0.0)]
            case Chain(sign, operands) if sign in _WORDS:
                words = self._words(operands[0], at)
                for operand in operands[1:]:
                    words += [*self._words(operand, at), (_WORDS[sign], 0.0)]
                return words
        raise MachineError(f"{at}the reward {write(node)} is not a number on Water world")

    def arrays(self) -> tuple[Array, Array, Array]:
        """Return where each reward begins, the words, and their numbers."""
        first = np.cumsum([0, *map(len, self.code)]).astype(np.int64)
        words = [word for code in self.code for word in code]
        return first, np.array([w for w, _ in words], dtype=np.int64), np.array([n for _, n in words], dtype=np.float64)


def reward_bounds(node: Expression, farthest: float, at: str = "") -> tuple[float, float]:
    """Return the least and the most that a reward can pay, distances being at most `farthest`."""
    if (value := constant(node)) is not None:
        return value, value
    match node:
        case Feature():
            return 0.0, farthest
        case Unary("-", operand):
            low, high = reward_bounds(operand, farthest, at)
            return -high, -low
        case Binary("/", _, right) if not constant(right):
            raise MachineError(f"{at}the reward {write(node)} divides by what may be 0; divide by a number")
        case Binary(sign, left, right):
            one, two = reward_bounds(left, farthest, at), reward_bounds(right, farthest, at)
            if sign == "/":
                sign, two = "*", (1.0 / two[0], 1.0 / two[0])
            if sign == "*":
                corners = [a * b for a in one for b in two]
                return min(corners), max(corners)
            return (one[0] + two[0], one[1] + two[1]) if sign == "+" else (one[0] - two[1], one[1] - two[0])
        case Chain(sign, operands):
            lows, highs = zip(*(reward_bounds(operand, farthest, at) for operand in operands), strict=True)
            fold = min if sign == "min" else max
            return fold(lows), fold(highs)
    return -math.inf, math.inf
