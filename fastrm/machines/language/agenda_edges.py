"""Agendas as statements of machines: one line that stands for a state and edges for everything that may be left.

A state with an agenda becomes as many states as there are sets of stages that can be left. The state keeps its own name
while everything is left; the others are called after what is done: ``u0_a``, ``u0_ab``. All its other edges hold in
each of them, and lead back to where they came from if they led back to the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from fastrm.errors import MachineError
from fastrm.machines.language.agendas import MAX_STAGES, MAX_STATES, Agenda
from fastrm.machines.language.draft import Edge
from fastrm.machines.language.expressions import Expression, Number, Otherwise, Proposition, constant

LONGEST_NAME = 40


@dataclass(frozen=True)
class AgendaEdge:
    """In state `source`, when nothing is left of an agenda, pay `reward` and go to `target`."""

    source: str
    target: str
    agenda: Agenda
    reward: Expression
    line: int


class Listed(NamedTuple):
    """All states and edges of a machine, or none but its agenda where they are too many."""

    states: tuple[str, ...]
    edges: tuple[Edge, ...]
    large: Agenda | None = None


def expand(
    start: str, states: Sequence[str], edges: Sequence[Edge | AgendaEdge], success: Sequence[str]
) -> Listed:  # fmt: skip
    """List the states and edges that agendas stand for.

    Raises
    ------
    MachineError
        Beginning with the line.
    """
    plain = [edge for edge in edges if isinstance(edge, Edge)]
    agendas: dict[str, AgendaEdge] = {}
    for edge in edges:
        if isinstance(edge, AgendaEdge) and agendas.setdefault(edge.source, edge) is not edge:
            raise MachineError(f"{edge.line}: state {edge.source} has a second agenda; keep one, or add a state")
    if not agendas:
        return Listed(tuple(states), tuple(plain))
    sets = {state: edge.agenda.sets() for state, edge in agendas.items()}
    if None in sets.values() or len(states) + sum(len(ways or ()) - 1 for ways in sets.values()) > MAX_STATES:
        return _unlisted(start, plain, agendas, success)
    all_states, all_edges = list[str](), list[Edge]()
    for state in states:
        mine = [edge for edge in plain if edge.source == state]
        if state not in agendas:
            all_states.append(state)
            all_edges += mine
            continue
        names = _names(agendas[state], sets[state] or {}, {*states, *success})
        all_states += names.values()
        for left, ways in (sets[state] or {}).items():
            all_edges += _edges_of(agendas[state], names, left, ways, mine)
    return Listed(tuple(all_states), tuple(all_edges))


def _edges_of(
    edge: AgendaEdge, names: dict[int, str], left: int, ways: dict[str, int], others: list[Edge]
) -> list[Edge]:  # fmt: skip
    """Return the edges of one of the states that an agenda stands for."""
    here = names[left]
    found = [
        Edge(here, names[rest], Proposition(letter), Number(0.0), edge.line)
        if rest
        else Edge(here, edge.target, Proposition(letter), edge.reward, edge.line)
        for letter, rest in ways.items()
    ]
    found += [replace(e, source=here, target=here if e.target == e.source else e.target) for e in others]
    if not any(isinstance(other.guard, Otherwise) for other in others):
        found.append(Edge(here, here, Otherwise(), Number(0.0), edge.line))
    return found


def _names(edge: AgendaEdge, sets: dict[int, dict[str, int]], taken: set[str]) -> dict[int, str]:
    """Return names of states by what is left: after what is done where that tells them apart, else numbered."""
    targets, whole = edge.agenda.targets, edge.agenda.everything
    done = {left: "".join(x for i, x in enumerate(targets) if not left >> i & 1) for left in sets}
    names = {left: f"{edge.source}_{word}" if left != whole else edge.source for left, word in done.items()}
    if len({*names.values()}) < len(names) or max(map(len, names.values())) > LONGEST_NAME:
        names = {left: f"{edge.source}_{i}" if i else edge.source for i, left in enumerate(sets)}
    for name in names.values():
        if name in taken and name != edge.source:
            raise MachineError(f"{edge.line}: the agenda of {edge.source} needs the name {name} for a state; rename it")
    return names


def _unlisted(start: str, plain: list[Edge], agendas: dict[str, AgendaEdge], success: Sequence[str]) -> Listed:
    """Return the agenda of a whole machine whose states, each with an agenda or one object, follow each other."""
    line = next(iter(agendas.values())).line
    refusal = MachineError(
        f"{line}: the machine needs more than {MAX_STATES} states; that many may have only agendas, one after the "
        "other, that pay 1 at the end and nothing before"
    )
    state, chain, parts = start, list[str](), list[Agenda]()
    while state not in success:
        if state not in agendas or state in chain or any(edge.source == state for edge in plain):
            raise refusal
        step = agendas[state]
        if constant(step.reward) != (1.0 if step.target in success else 0.0):
            raise refusal
        chain.append(state)
        parts.append(step.agenda)
        state = step.target
    whole = Agenda.in_turn(parts)
    if len(chain) != len(agendas) or plain or len(success) != 1:
        raise refusal
    if len(whole.targets) > MAX_STAGES:
        raise MachineError(f"{line}: the agendas have {len(whole.targets)} objects; at most {MAX_STAGES} are supported")
    return Listed(tuple(chain), (), whole)
