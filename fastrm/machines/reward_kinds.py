"""Kinds of reward: what the edges of a task pay in each.

With x the targets of state u (the labels that advance it), d the distance to the nearest of them, K(u) an offset for
the targets after the next one, and D(s, u) the fewest steps that complete the task,

=================  ===========================  ================  ===========================================
kind               arrival, on the way          arrival, the end  otherwise
=================  ===========================  ================  ===========================================
boolean            0                            R = 1             0
numeric-boolean    r = 0.1                      R = 1000          r if closer(x) for some target x, else 0
numeric            0                            R                 -d
offset             -K(u)                        R = 0             -(d + K(u))
potential          gamma Phi(s', u') - Phi(s, u), with Phi = -c D, on every edge, and R = 1 at the end
local-potential    the same with Phi = -c (d + K(u))
distance-to-go     -D(s', u')                   R = 0             -D(s', u')
=================  ===========================  ================  ===========================================

The first three are the paper's, for one target at a time. The others cannot mislead. D(s', u') is at least D(s, u) - 1,
so -D is largest term by term on shortest paths, whatever the discount. The same holds for -(d + K) in sequences with
one object per type, if K(u) is at least K of the next state plus the way between the two targets. A potential changes
no optimal policy of the rewards it is added to (Ng, Harada and Russell 1999), here R at the end, worth most when early.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from graphlib import CycleError
from itertools import pairwise
from typing import Literal, NamedTuple, TypedDict

from fastrm.checks import check_choice, check_number
from fastrm.errors import ConfigError, MachineError, did_you_mean, shown
from fastrm.machines.automaton import DONE, FAILED, NO_LABEL, Automaton
from fastrm.machines.language.drafts import Draft, Edge, StatePotential
from fastrm.machines.language.expressions import (
    SPAN,
    TO_GO,
    Binary,
    Chain,
    Expression,
    Feature,
    Number,
    Otherwise,
    Proposition,
    Unary,
)

Kind = Literal[
    "boolean", "numeric-boolean", "numeric", "offset", "potential", "local-potential", "distance-to-go"
]  # fmt: skip
KindName = Kind | Literal["bool", "num-bool", "num", "pot", "local", "dtg"]
"""Names of kinds: in full, or as in names of methods."""
MAX_VISITS = 300
END, LOST = "done", "failed"


class PaymentSettings(TypedDict, total=False):
    """Settings of a machine's rewards besides its kind; see `RewardMachine.sequence`."""

    terminal_reward: float | None
    failure_reward: float | None
    step_reward: float
    closer: Literal["nearest", "any"]
    distance: Literal["after", "before"]
    arrival: Literal["step", "terminal"]
    scale: float
    offset: Literal["size", "legs"] | float


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
    offset: Literal["size", "legs"] | float = "size"

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, KINDS)
        check_choice("closer", self.closer, ("nearest", "any"))
        check_choice("distance", self.distance, ("after", "before"))
        check_choice("arrival", self.arrival, ("step", "terminal"))
        check_number("step_reward", self.step_reward)
        check_number("scale", self.scale, 1e-100, 1e100)
        check_offset(self.offset)
        for name in ("terminal_reward", "failure_reward"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name))
        if self.kind == "offset" and self.terminal_reward is not None and self.terminal_reward < 0:
            raise ConfigError(f"terminal_reward={shown(self.terminal_reward)}: offset needs a number from 0")

    @property
    def row(self) -> RewardKind:
        """The rules of its kind."""
        return _ROWS[self.kind]

    def terminal(self, visits: int) -> Number:
        """Return R for a task of `visits` visits."""
        if visits > MAX_VISITS and None in (self.terminal_reward, self.failure_reward):
            raise ConfigError(
                f"a {self.kind} machine of {visits} visits would pay more than floating point holds; give "
                "terminal_reward and failure_reward"
            )
        return _number(self.row.terminal(visits) if self.terminal_reward is None else self.terminal_reward)

    def failure(self, visits: int) -> Expression:
        """Return what failing in a task of `visits` visits pays."""
        return self.row.failure(visits) if self.failure_reward is None else _number(self.failure_reward)


def check_offset(offset: object) -> None:
    """Raise ConfigError unless `offset` is "size", "legs", or a number of steps from 0."""
    if isinstance(offset, str):
        check_choice("offset", offset, ("size", "legs"))
    else:
        check_number("offset", offset, 0, 1e100)


class Stage(NamedTuple):
    """What a machine state asks for."""

    targets: Sequence[str]
    """The labels that advance it."""
    visits: int
    """Most visits that are left."""
    sequence: Sequence[str] | None
    """The targets of all visits that are left, where they come one after the other."""


def _number(value: float) -> Number:
    return Number(float(value) + 0.0)  # no minus zero


def _zero(*_: object) -> Expression:
    return Number(0.0)


def _minus_steps_to_go(*_: object) -> Expression:
    return Unary("-", TO_GO)


def _ten_to_the_visits(visits: int) -> float:
    return float(f"1e{visits + 2}")


def _step_or_terminal(payment: Payment, stage: Stage) -> Expression:
    return payment.terminal(1) if payment.arrival == "terminal" else _number(payment.step_reward)


def _distance(stage: Stage, feature: str) -> Expression:
    """Return the distance to the nearest target of a state, 0 where it has none."""
    distances = tuple(Feature(feature, label) for label in stage.targets)
    if not distances:
        return Number(0.0)
    return distances[0] if len(distances) == 1 else Chain("min", distances)


def _minus_distance(payment: Payment, stage: Stage) -> Expression:
    return _minus(_distance(stage, "d" if payment.distance == "after" else "d_before"))


def _with_offset(payment: Payment, stage: Stage, distance: Expression) -> Expression:
    """Add to a distance how far the targets after the next one count as being."""
    later = stage.visits - 1
    if payment.offset == "size":
        return _sum(distance, _product(later, SPAN))
    if not isinstance(payment.offset, str):
        return _sum(distance, _number(later * payment.offset))
    if stage.sequence is None:
        raise ConfigError("offset='legs': is for targets one after the other; take 'size', or a number of steps")
    return reduce(_sum, (Feature("leg", x, y) for x, y in pairwise(stage.sequence)), distance)


def _minus_offset(payment: Payment, stage: Stage) -> Expression:
    return _minus(_with_offset(payment, stage, Number(0.0)))


def _minus_distance_and_offset(payment: Payment, stage: Stage) -> Expression:
    return _minus(_with_offset(payment, stage, _distance(stage, "d_only")))


def _local_potential(payment: Payment, stage: Stage) -> Expression:
    """Return Phi: minus `scale` times the distance to the next target and the offset of the others."""
    return _product(-payment.scale, _with_offset(payment, stage, _distance(stage, "d")))


def _minus(operand: Expression) -> Expression:
    return _number(-operand.value) if isinstance(operand, Number) else Unary("-", operand)


def _sum(left: Expression, right: Expression) -> Expression:
    return left if right == Number(0.0) else right if left == Number(0.0) else Binary("+", left, right)


def _product(factor: float, operand: Expression) -> Expression:
    return Number(0.0) if factor == 0 else operand if factor == 1 else Binary("*", _number(factor), operand)


@dataclass(frozen=True)
class RewardKind:
    """What machines of a kind pay, where nothing else is asked for."""

    name: Kind
    short: str
    """Its name in names of methods."""
    meaning: str
    terminal: Callable[[int], float]
    """R by the visits of a task."""
    failure: Callable[[int], Expression] = _zero
    """What failing pays, by the visits of a task."""
    arrive: Callable[[Payment, Stage], Expression] = _zero
    """What reaching a target before the last pays."""
    wait: Callable[[Payment, Stage], Expression] = _zero
    """What every other move pays."""
    counts_visits: bool = False
    """Whether R or failing depends on the visits of a task; they count as 1 elsewhere."""
    pays_approach: bool = False
    """Whether an edge of its own pays `step_reward` for a step towards a target."""
    has_potential: bool = False
    """Whether all edges also pay a potential, `scale` times the steps to go."""
    potential: Callable[[Payment, Stage], Expression] | None = None
    """Phi of a state, where edges pay another potential."""
    looks_ahead: bool = False
    """Whether it reads how many visits of a task are left, and which."""
    only_sequences: bool = False
    """Whether it is only for tasks of different targets in turn."""
    in_paper: bool = False


# fmt: off
_ROWS: dict[Kind, RewardKind] = {row.name: row for row in (
    RewardKind("boolean", "bool", "R at the end, nothing on the way",
               lambda visits: 1.0, in_paper=True),
    RewardKind("numeric-boolean", "num-bool", "R at the end, a little for every target and every step towards one",
               lambda visits: 1000.0, arrive=_step_or_terminal, pays_approach=True, in_paper=True),
    RewardKind("numeric", "num", "R at the end, minus the distance to the nearest target on the way",
               lambda visits: 0.0 if visits == 1 else _ten_to_the_visits(visits),
               lambda visits: Number(-_ten_to_the_visits(visits)),
               wait=_minus_distance, counts_visits=True, in_paper=True),
    RewardKind("offset", "offset", "R at the end, minus the distance to the target and an offset for those after it",
               lambda visits: 0.0, arrive=_minus_offset, wait=_minus_distance_and_offset,
               looks_ahead=True, only_sequences=True),
    RewardKind("potential", "pot", "R at the end, and what every move changes of a potential",
               lambda visits: 1.0, has_potential=True),
    RewardKind("local-potential", "local", "the same, of a potential made of the distance to the next target",
               lambda visits: 1.0, potential=_local_potential, looks_ahead=True),
    RewardKind("distance-to-go", "dtg", "minus the steps to go to the end of the task",
               lambda visits: 0.0, _minus_steps_to_go, arrive=_minus_steps_to_go, wait=_minus_steps_to_go),
)}
# fmt: on
KINDS: tuple[Kind, ...] = tuple(_ROWS)
PAPER_KINDS: tuple[Kind, ...] = tuple(row.name for row in _ROWS.values() if row.in_paper)
SHORT_KINDS: dict[str, Kind] = {row.short: row.name for row in _ROWS.values()}


def find_kind(name: KindName) -> Kind:
    """Return the kind of a long or short name; raise ConfigError, with the nearest, if there is none.

    >>> find_kind("num-bool"), find_kind("numeric")
    ('numeric-boolean', 'numeric')
    """
    if isinstance(name, str) and name in SHORT_KINDS:
        return SHORT_KINDS[name]
    if isinstance(name, str) and name in _ROWS:
        return name
    known = ", ".join(f"{kind} ({short})" for short, kind in SHORT_KINDS.items())
    near = did_you_mean(name, (*KINDS, *SHORT_KINDS))
    raise ConfigError(f"kind={shown(name)}: must be one of {known}{near}")


def build(automaton: Automaton, payment: Payment, name: str, source: str) -> Draft:
    """Give every move of an automaton its reward."""
    row, sequence = payment.row, automaton.sequence()
    left = dict.fromkeys(range(len(automaton.moves)), 1)
    if row.counts_visits or row.looks_ahead:
        try:
            left = automaton.visits()
        except CycleError:
            raise MachineError(
                f"{source}: a state can come again, so the visits that are left cannot be counted, as the kind "
                f"{row.name} does; use the kind boolean or potential"
            ) from None
    if row.only_sequences and (sequence is None or any(x == y for x, y in pairwise(sequence))):
        raise MachineError(
            f"{source}: the kind {row.name} is for different targets in turn, such as a-b-a; rewards for other tasks "
            "could mislead; use the kind local-potential"
        )
    visits = left[0] if row.counts_visits else 1
    last, failure = payment.terminal(visits), payment.failure(visits)
    names = {DONE: END, FAILED: LOST, **{i: f"u{i}" for i in range(len(automaton.moves))}}
    edges: list[Edge] = []
    potentials: list[StatePotential] = []
    for state, ways in enumerate(automaton.moves):
        stay, targets = ways[NO_LABEL], automaton.targets(state)
        stage = Stage(targets, left[state], None if sequence is None else sequence[-left[state] :])
        arrive = row.arrive(payment, stage)
        if row.potential is not None:
            potentials.append(StatePotential(names[state], row.potential(payment, stage)))
        leaving = [label for label in automaton.labels if ways[label] != stay]
        for there in dict.fromkeys(ways[label] for label in leaving):
            guard = _any([Proposition(label) for label in leaving if ways[label] == there])
            paid = last if there == DONE else failure if there == FAILED else arrive
            edges.append(Edge(names[state], names[there], guard, paid))
        if row.pays_approach and targets and stay not in (DONE, FAILED):
            approach = _approach(payment, targets, leaving)
            edges.append(Edge(names[state], names[stay], approach, _number(payment.step_reward)))
        otherwise = last if stay == DONE else failure if stay == FAILED else row.wait(payment, stage)
        edges.append(Edge(names[state], names[stay], Otherwise(), otherwise))
    return Draft(
        start=names[0], states=tuple(names[i] for i in range(len(automaton.moves))), edges=tuple(edges),
        success=(END,), failure=(LOST,) if automaton.fails else (), name=name, source=source,
        potential=float(payment.scale) if row.has_potential else 0.0, state_potentials=tuple(potentials),
    )  # fmt: skip


def _approach(payment: Payment, targets: Sequence[str], leaving: Sequence[str]) -> Expression:
    """Return the guard of a step towards a target that stays in the state."""
    nearer = _any([Feature("closer" if payment.closer == "nearest" else "closer_any", label) for label in targets])
    if not leaving:
        return nearer
    return Chain("&", (Unary("!", _any([Proposition(label) for label in leaving])), nearer))


def _any(parts: Sequence[Expression]) -> Expression:
    return parts[0] if len(parts) == 1 else Chain("|", tuple(parts))
