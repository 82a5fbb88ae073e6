"""Machines with clocks and counts unrolled into ordinary ones, whose states also hold what clocks and counts show.

A state is a pair of a state as written and the values. On a move labels are read, guards are evaluated with the old
values, the reward is paid, the actions of the edge are done, and then every clock that is not at its top adds 1: a
clock set to 0 by this move shows 1 at the next. Breadth first from the start, where everything is 0, the values are put
in place of names and constants are folded. States with equal edges into equal states are merged, the first of them
giving the name, such as ``u1[t=3,n=1]``: a clock that a state does not read costs nothing there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fastrm.errors import MachineError, place
from fastrm.machines.automaton import refine
from fastrm.machines.language.drafts import MAX_STATES, Draft, Edge, StatePotential, describe
from fastrm.machines.language.expressions import (
    Binary,
    Chain,
    Expression,
    Guard,
    Number,
    Otherwise,
    Truth,
    Unary,
    Value,
    as_written,
    evaluate,
    evaluate_exactly,
    is_truth,
    leaves,
    values_read,
)

MOST_PAIRS = 1 << 15
"""Pairs of a state and values that are followed before equal ones are merged."""
MAX_STATE_NAME = 200
MOST_ATOMS = 10
"""Propositions that guards of a state may read before all of them are taken to be able to open."""

Values = tuple[int, ...]
Pair = tuple[str, Values]


class Way(NamedTuple):
    """An edge of a pair, and the pair it leads to; at an end the values are none."""

    edge: Edge
    guard: Guard
    reward: Expression
    there: Pair


def unroll(draft: Draft) -> Draft:
    """Return the machine without clocks and counts that does the same.

    Raises
    ------
    MachineError
        When a count would leave its range, a state cannot be reached or left, or there are more than 1024 states.
    """
    unroller = _Unroller(draft)
    start = draft.start, tuple(0 for _ in draft.variables)
    number, todo, ways = {start: 0}, [start], list[list[Way]]()
    for pair in todo:  # grows in the loop
        ways.append(unroller.ways(pair))
        for way in ways[-1]:
            if way.there[1] and way.there not in number:
                number[way.there] = len(number)
                todo.append(way.there)
        if len(number) > MOST_PAIRS:
            raise unroller.too_many(f"more than {MOST_PAIRS} pairs of a state and values", [])
    unroller.check_reached({u for u, _ in todo})
    names = unroller.merge(todo, ways, number)
    firsts = {name: k for k, name in reversed([*enumerate(names)])}
    if len(firsts) > MAX_STATES:
        raise unroller.too_many(f"{len(firsts)} states", [todo[k] for k in firsts.values()])
    states = sorted(firsts, key=firsts.__getitem__)
    edges = [
        Edge(name, names[number[there]] if there[1] else there[0], guard, reward, edge.line)
        for name in states
        for edge, guard, reward, there in ways[firsts[name]]
    ]
    potentials = [
        replace(one, state=name, value=unroller.fold(one.value, todo[firsts[name]][1]))
        for name in states
        for one in unroller.potentials_of(todo[firsts[name]][0])
    ]
    return replace(
        draft, start=names[0], states=tuple(states), edges=tuple(edges), state_potentials=tuple(potentials),
        variables=(), written=draft,
    )  # fmt: skip


class _Unroller:
    """Finds the ways out of pairs of a state and values."""

    def __init__(self, draft: Draft) -> None:
        self.draft, self.variables = draft, draft.variables
        self.names = [variable.name for variable in self.variables]
        self.leaving: dict[str, list[Edge]] = {u: [] for u in draft.states}
        for edge in draft.edges:
            self.leaving[edge.source].append(edge)
        self.folded: dict[tuple[Expression, Values], Expression] = {}
        self.reads: dict[Expression, frozenset[str]] = {}

    def ways(self, pair: Pair) -> list[Way]:
        """Return the edges of a pair that may open."""
        u, values = pair
        guards = [
            edge.guard if isinstance(edge.guard, Otherwise) else self.fold(edge.guard, values)
            for edge in self.leaving[u]
        ]
        found = [
            Way(edge, guard, self.fold(edge.reward, values), self._there(edge, pair))
            for edge, guard, opens in zip(self.leaving[u], guards, can_open(tuple(guards)), strict=True)
            if opens
        ]
        if not found:
            line = self.leaving[u][0].line
            raise self._error(line, f"state {self.name(pair)} has no edge that can open; add an 'otherwise' edge")
        return found

    def fold(self, node: Expression, values: Values) -> Expression:
        """Put the values in place of names, and fold constants; equal expressions of equal values only once."""
        if node not in self.reads:
            self.reads[node] = frozenset(values_read(node))
        shown = {name: value for name, value in zip(self.names, values, strict=True) if name in self.reads[node]}
        key = node, tuple(shown.values())
        if key not in self.folded:
            self.folded[key] = fold(node, shown)
        return self.folded[key]

    def _there(self, edge: Edge, pair: Pair) -> Pair:
        """Return where an edge leads: actions are done, then clocks tick."""
        actions = {action.name: action for action in edge.actions}
        after: list[int] = []
        for variable, value in zip(self.variables, pair[1], strict=True):
            wanted = actions[variable.name].apply(value) if variable.name in actions else value
            reached = variable.within(wanted)
            if reached is None:
                raise self._error(
                    edge.line,
                    f"edge {describe(edge)} takes {variable.name} to {wanted} in state {self.name(pair)}, beyond "
                    f"{variable.what}; compare it in the guard, or declare it 'saturate'",
                )
            after.append(min(reached + variable.is_clock, variable.high))
        return (edge.target, ()) if edge.target in self.draft.terminals else (edge.target, tuple(after))

    def name(self, pair: Pair) -> str:
        """Return the name of a pair: ``u1[t=3,n=1]``."""
        shown = ",".join(f"{name}={value}" for name, value in zip(self.names, pair[1], strict=True))
        name = f"{pair[0]}[{shown}]"
        if len(name) > MAX_STATE_NAME:
            raise self._error(self.variables[0].line, f"the state name {name[:40]}... is too long; shorten names")
        return name

    def potentials_of(self, u: str) -> list[StatePotential]:
        """Return what Phi is in a state as written, if anything is said about it."""
        return [one for one in self.draft.state_potentials if one.state == u]

    def merge(self, pairs: list[Pair], ways: list[list[Way]], number: Mapping[Pair, int]) -> list[str]:
        """Return the name of every pair; equal ones have that of the first."""
        ends = {name: -1 - k for k, name in enumerate(self.draft.terminals)}
        moves, kinds = dict[int, dict[object, int]](), dict[object, set[int]]()
        for k, (u, values) in enumerate(pairs):
            moves[k] = {}
            for way in ways[k]:
                label: object = way.guard, way.reward
                while label in moves[k]:  # the same guard twice, which compiling refuses where it can open
                    label = (label,)
                moves[k][label] = number[way.there] if way.there[1] else ends[way.there[0]]
            phi = tuple(self.fold(one.value, values) for one in self.potentials_of(u))
            kinds.setdefault((frozenset(moves[k]), phi), set()).add(k)
        part = refine(moves, [*kinds.values(), *({end} for end in ends.values())])
        first = {part[k]: k for k in reversed(range(len(pairs)))}
        return [self.name(pairs[first[part[k]]]) for k in range(len(pairs))]

    def check_reached(self, reached: set[str]) -> None:
        """Raise MachineError for states that no values lead to."""
        for u in self.draft.states:
            if u not in reached:
                names = " and ".join(self.names) + (" shows" if len(self.names) == 1 else " show")
                line = self.leaving[u][0].line
                raise self._error(line, f"state {u} cannot be reached, whatever {names}; change guards or ranges")

    def too_many(self, found: str, pairs: list[Pair]) -> MachineError:
        """Return the error that there are too many states, which names the variable without which fewest were left."""

        def cost(k: int) -> tuple[int, int]:
            left = {(u, values[:k] + values[k + 1 :]) for u, values in pairs}
            return -len(left), self.variables[k].high - self.variables[k].low

        costly = self.variables[max(range(len(self.variables)), key=cost)]
        return self._error(
            costly.line,
            f"unrolled, the machine has {found}; at most {MAX_STATES} states are supported, and {costly.what} costs "
            "most; shorten its range",
        )

    def _error(self, line: int | None, message: str) -> MachineError:
        return MachineError(place(self.draft.source, line) + message)


@lru_cache(maxsize=10_000)
def can_open(guards: tuple[Guard, ...]) -> list[bool]:
    """Return which guards of a state hold for some truth values of what they read; numbers may compare in any way.

    >>> from fastrm.machines.language import parse_guard
    >>> can_open(tuple(map(parse_guard, ("a", "!a", "otherwise"))))
    [True, True, False]
    """
    read = {guard: list(leaves(guard)) for guard in guards if not isinstance(guard, Otherwise)}
    known = [guard for guard, atoms in read.items() if all(map(is_truth, atoms))]
    atoms = list(dict.fromkeys(atom for guard in known for atom in read[guard]))
    if len(atoms) > MOST_ATOMS:
        atoms, known = [], [guard for guard in known if not read[guard]]
    cases = np.arange(2 ** len(atoms))
    columns = {atom: (cases >> k & 1).astype(np.bool_) for k, atom in enumerate(atoms)}
    holds = {guard: np.broadcast_to(evaluate(guard, columns), len(cases)) for guard in known}
    left = ~np.any([cases < 0, *holds.values()], axis=0)
    return [
        bool(left.any() if isinstance(guard, Otherwise) else holds.get(guard, cases >= 0).any()) for guard in guards
    ]


def fold(node: Expression, values: Mapping[str, int]) -> Expression:
    """Put values in place of clocks and counts and fold what became constant, where that changes no bit.

    >>> from fastrm.machines.language import parse_guard, write
    >>> write(fold(parse_guard("a & t + 1 <= 3 | t > 7", values=["t"]), {"t": 2}))
    'a'
    """
    match node:
        case Value(name):
            return Number(float(values[name]))
        case Unary(sign, operand):
            return _settle(Unary(sign, fold(operand, values)))
        case Binary(sign, left, right):
            return _settle(Binary(sign, fold(left, values), fold(right, values)))
        case Chain("&" | "|" as sign, operands):
            neutral = Truth(sign == "&")
            parts = tuple(part for part in (fold(operand, values) for operand in operands) if part != neutral)
            if Truth(sign == "|") in parts:
                return Truth(sign == "|")
            return Chain(sign, parts) if len(parts) > 1 else parts[0] if parts else neutral
        case Chain(sign, operands):
            return _settle(Chain(sign, tuple(fold(operand, values) for operand in operands)))
    return node


def _settle(node: Unary | Binary | Chain) -> Expression:
    """Return the value of an operation on constants, unless rounding it would hide what is written."""
    parts = (
        node.operands
        if isinstance(node, Chain)
        else (node.operand,)
        if isinstance(node, Unary)
        else (node.left, node.right)
    )
    if not all(isinstance(part, Number | Truth) for part in parts):
        return node
    if is_truth(node):
        return Truth(bool(evaluate(node, {})))
    try:
        exact = evaluate_exactly(node, {})
        number = float(evaluate(node, {}))
        return Number(number + 0.0) if as_written(number) == exact else node
    except (ZeroDivisionError, OverflowError, ValueError):  # not finite: compiling names the move
        return node
