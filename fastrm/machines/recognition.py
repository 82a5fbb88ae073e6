"""Which machines watch an agenda: visits in turn and in any order.

Machines are stored as states and edges, so their stages have to be found again. Two guesses are made, and each is
checked by following machine and agenda side by side: the task that the machine is named after, and the one in which
every letter is asked for once, or always as often before another. A letter is then asked for after whatever was done in
all states in which it leads on.
"""

from __future__ import annotations

from collections.abc import Mapping

from fastrm.errors import MachineError
from fastrm.machines import task_terms
from fastrm.machines.language.agendas import MAX_STAGES, Agenda
from fastrm.machines.language.draft import Draft
from fastrm.machines.language.expressions import Chain, Guard, Otherwise, Proposition
from fastrm.machines.reward_kinds import KINDS
from fastrm.worlds import split_object

MOST_PAIRS = 1 << 14
"""Pairs of a machine state and an agenda that are followed."""
Ways = dict[str, dict[str, str]]
"""Where every object leads from every state; an empty name stands for success."""


def find_agenda(draft: Draft) -> Agenda | None:
    """Return the agenda that a machine watches, None if it watches none that can be recognised."""
    ways = _ways(draft)
    if ways is None:
        return None
    for guess in (_from_name(draft.name), _from_ways(draft.start, ways)):
        if guess is not None and len(guess.targets) <= MAX_STAGES and _watches(draft.start, ways, guess):
            return guess
    return None


def _ways(draft: Draft) -> Ways | None:
    """Return where objects lead; None if a guard is more than some objects, or something can fail."""
    ways: Ways = {state: {} for state in draft.states}
    for edge in draft.edges:
        names = _objects(edge.guard)
        if isinstance(edge.guard, Otherwise) and edge.target == edge.source:
            continue
        if edge.target in draft.failure or not names:
            return None
        if edge.target != edge.source:
            ways[edge.source] |= dict.fromkeys(names, "" if edge.target in draft.success else edge.target)
    read = {name for row in ways.values() for name in row}
    return ways if all(split_object(name)[1] is None or name[:1] not in read for name in read) else None


def _objects(guard: Guard) -> tuple[str, ...]:
    """Return the objects that open a guard, none if it reads anything else."""
    parts = guard.operands if isinstance(guard, Chain) and guard.sign == "|" else (guard,)
    return tuple(part.name for part in parts if isinstance(part, Proposition)) if _are_objects(parts) else ()


def _are_objects(parts: tuple[Guard, ...]) -> bool:
    return all(isinstance(part, Proposition) for part in parts)


def _from_name(name: str) -> Agenda | None:
    """Return the agenda of the task that a machine such as ``{a,b} boolean`` is named after."""
    text, _, kind = name.rpartition(" ")
    try:
        return task_terms.agenda(text) if kind in KINDS else None
    except MachineError:
        return None


def _from_ways(start: str, ways: Ways) -> Agenda | None:
    """Return the agenda whose k-th visit to a letter is one stage; None if it depends on the way which one it is."""
    done: dict[str, frozenset[tuple[str, int]]] = {start: frozenset()}
    needs: dict[tuple[str, int], frozenset[tuple[str, int]]] = {}
    todo = [start]
    for state in todo:  # grows on the way
        for letter, there in ways[state].items():
            stage = letter, sum(other == letter for other, _ in done[state])
            needs[stage] = needs.get(stage, done[state]) & done[state]
            after = done[state] | {stage}
            if there not in done:
                done[there] = after
                todo += [there] if there else []
            elif done[there] != after:
                return None
    number = {stage: i for i, stage in enumerate(needs)}
    masks = (sum(1 << number[other] for other in before) for before in needs.values())
    return Agenda(tuple(letter for letter, _ in needs), tuple(masks))


def _watches(start: str, ways: Mapping[str, Mapping[str, str]], agenda: Agenda) -> bool:
    """Say whether a machine does what an agenda does, whatever is read."""
    seen = {(start, agenda.everything)}
    todo = list(seen)
    while todo:
        state, left = todo.pop()
        if set(ways[state]) != {agenda.targets[i] for i in agenda.open(left)} or len(seen) > MOST_PAIRS:
            return False
        for letter, there in ways[state].items():
            pair = there, agenda.after(left, letter)
            if bool(pair[0]) != bool(pair[1]):
                return False
            if there and pair not in seen:
                seen.add(pair)
                todo.append(pair)
    return True
