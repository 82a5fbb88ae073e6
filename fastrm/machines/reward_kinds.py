"""What machines pay: the edges of a task in each kind.

With x the targets of state u (the labels that bring it forward), and D(s, u) the fewest steps that complete the task,

=================  ===========================  ================  ===========================================
kind               arrival, on the way          arrival, the end  otherwise
=================  ===========================  ================  ===========================================
boolean            0                            R = 1             0
numeric-boolean    r = 0.1                      R = 1000          r if closer(x) for some target x, else 0
numeric            0                            R                 minus the distance to the nearest target
distance-to-go     -D(s', u')                   R = 0             -D(s', u')
potential          gamma Phi(s', u') - Phi(s, u), with Phi = -c D, on every edge, and R = 1 at the end
=================  ===========================  ================  ===========================================

The first three are the paper's, for one target at a time. The last two, paid as above, cannot mislead: D(s', u') is at
least D(s, u) - 1, so -D is largest term by term on shortest paths, whatever the discount; and a potential changes no
optimal policy of the rewards it is added to (Ng, Harada and Russell 1999), here R at the end, worth most when early.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict, get_args

from fastrm.checks import check_choice, check_number
from fastrm.errors import ConfigError
from fastrm.machines.automaton import DONE, FAILED, NO_LABEL, Automaton
from fastrm.machines.language.draft import Draft, Edge
from fastrm.machines.language.expressions import (
    TO_GO,
    Chain,
    Expression,
    Feature,
    Number,
    Otherwise,
    Proposition,
    Unary,
)

Kind = Literal["boolean", "numeric-boolean", "numeric", "potential", "distance-to-go"]
KINDS: tuple[Kind, ...] = get_args(Kind)
PAPER_KINDS: tuple[Kind, ...] = KINDS[:3]
SHORT_KINDS: dict[str, Kind] = {
    "bool": "boolean", "num-bool": "numeric-boolean", "num": "numeric", "pot": "potential", "dtg": "distance-to-go",
}  # fmt: skip
MAX_VISITS = 300
END, LOST = "done", "failed"


class PaymentSettings(TypedDict, total=False):
    """What may be said of a machine's rewards besides its kind; see `RewardMachine.sequence`."""

    terminal_reward: float | None
    failure_reward: float | None
    step_reward: float
    closer: Literal["nearest", "any"]
    distance: Literal["after", "before"]
    arrival: Literal["step", "terminal"]
    scale: float


@dataclass(frozen=True, kw_only=True)
class Payment:
    """What a machine pays; see `RewardMachine.sequence` for the meaning of each."""

    kind: Kind = "boolean"
    terminal_reward: float | None = None
    failure_reward: float | None = None
    step_reward: float = 0.1
    closer: Literal["nearest", "any"] = "nearest"
    distance: Literal["after", "before"] = "after"
    arrival: Literal["step", "terminal"] = "step"
    scale: float = 0.01

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, KINDS)
        check_choice("closer", self.closer, ("nearest", "any"))
        check_choice("distance", self.distance, ("after", "before"))
        check_choice("arrival", self.arrival, ("step", "terminal"))
        check_number("step_reward", self.step_reward)
        check_number("scale", self.scale, 1e-100, 1e100)
        for name in ("terminal_reward", "failure_reward"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name))

    def terminal(self, visits: int) -> Number:
        """Return R for a task of so many visits."""
        if self.kind == "numeric" and visits > MAX_VISITS and None in (self.terminal_reward, self.failure_reward):
            raise ConfigError(
                f"a numeric machine of {visits} visits would pay more than floating point holds; give terminal_reward "
                "and failure_reward"
            )
        usual = {
            "boolean": 1.0, "numeric-boolean": 1000.0, "numeric": 0.0 if visits == 1 else float(f"1e{visits + 2}"),
            "potential": 1.0, "distance-to-go": 0.0,
        }  # fmt: skip
        return _number(usual[self.kind] if self.terminal_reward is None else self.terminal_reward)

    def failure(self, visits: int) -> Expression:
        """Return what failing pays; for numeric machines as much as the end of such a task, negated, or 1000."""
        if self.failure_reward is not None:
            return _number(self.failure_reward)
        if self.kind == "numeric":
            return Number(-float(f"1e{visits + 2}"))
        return Unary("-", TO_GO) if self.kind == "distance-to-go" else Number(0.0)


def build(automaton: Automaton, payment: Payment, name: str, source: str) -> Draft:
    """Give every move of an automaton its reward."""
    visits = automaton.visits() if payment.kind == "numeric" else 1
    last, failure = payment.terminal(visits), payment.failure(visits)
    names = {DONE: END, FAILED: LOST, **{i: f"u{i}" for i in range(len(automaton.moves))}}
    edges: list[Edge] = []
    for state, ways in enumerate(automaton.moves):
        stay = ways[NO_LABEL]
        leaving = [label for label in automaton.labels if ways[label] != stay]
        for there in dict.fromkeys(ways[label] for label in leaving):
            guard = _any([Proposition(label) for label in leaving if ways[label] == there])
            paid = last if there == DONE else failure if there == FAILED else _arrive(payment, last)
            edges.append(Edge(names[state], names[there], guard, paid))
        targets = automaton.targets(state)
        if payment.kind == "numeric-boolean" and targets:
            function = "closer" if payment.closer == "nearest" else "closer_any"
            nearer = _any([Feature(function, label) for label in targets])
            elsewhere = _any([Proposition(label) for label in leaving])
            approach = Chain("&", (Unary("!", elsewhere), nearer)) if leaving else nearer
            edges.append(Edge(names[state], names[stay], approach, _number(payment.step_reward)))
        otherwise = last if stay == DONE else failure if stay == FAILED else _wait(payment, targets)
        edges.append(Edge(names[state], names[stay], Otherwise(), otherwise))
    return Draft(
        start=names[0], states=tuple(names[i] for i in range(len(automaton.moves))), edges=tuple(edges),
        success=(END,), failure=(LOST,) if automaton.fails else (), name=name, source=source,
        potential=float(payment.scale) if payment.kind == "potential" else 0.0,
    )  # fmt: skip


def _arrive(payment: Payment, last: Number) -> Expression:
    """Return what reaching a target before the last pays."""
    if payment.kind == "numeric-boolean":
        return last if payment.arrival == "terminal" else _number(payment.step_reward)
    return Unary("-", TO_GO) if payment.kind == "distance-to-go" else Number(0.0)


def _wait(payment: Payment, targets: Sequence[str]) -> Expression:
    """Return what every other move pays."""
    if payment.kind == "distance-to-go":
        return Unary("-", TO_GO)
    if payment.kind != "numeric" or not targets:
        return Number(0.0)
    distances = tuple(Feature("d" if payment.distance == "after" else "d_before", label) for label in targets)
    return Unary("-", distances[0] if len(distances) == 1 else Chain("min", distances))


def _any(parts: Sequence[Expression]) -> Expression:
    return parts[0] if len(parts) == 1 else Chain("|", tuple(parts))


def _number(value: float) -> Number:
    return Number(float(value) + 0.0)
