"""The smallest finite automata over labels: tasks and formulas before anything is paid.

A move reads one label, or none. An automaton says for every state and label where it leads: to another state, to
`DONE` or to `FAILED`. States that cannot be reached are dropped, states from which nothing succeeds are `FAILED`, and
states that no continuation distinguishes are merged (Hopcroft's refinement), so no smaller automaton does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import TypeVar, cast

DONE, FAILED = -1, -2
NO_LABEL = ""

State = TypeVar("State")
Name = TypeVar("Name", bound=Hashable)
Ways = dict[str, int]
"""Where every label leads."""


@dataclass(frozen=True)
class Automaton:
    """States 0, 1, 2, ... in the order in which play can reach them, 0 first."""

    labels: tuple[str, ...]
    """The labels that it distinguishes, besides none."""
    moves: tuple[Ways, ...]
    """Where every label leads from every state; `NO_LABEL` is for no label and for every other one."""

    @property
    def fails(self) -> bool:
        """Whether some label ends in failure."""
        return any(FAILED in ways.values() for ways in self.moves)

    def targets(self, state: int) -> list[str]:
        """Return the labels that advance a state: they lead elsewhere than no label does, and not to failure."""
        stay = self.moves[state][NO_LABEL]
        return [label for label in self.labels if self.moves[state][label] not in (stay, FAILED)]

    def visits(self) -> dict[int, int]:
        """Return the most labels that advance on a path to success, from every state; only where states never recur."""
        ways = [{there: there != ways[NO_LABEL] for there in ways.values()} for ways in self.moves]
        ahead = [{there: n for there, n in row.items() if there not in (u, FAILED)} for u, row in enumerate(ways)]
        longest = dict[int, int]()
        for state in TopologicalSorter(dict(enumerate(ahead))).static_order():
            paths = () if state == DONE else (advances + longest[there] for there, advances in ahead[state].items())
            longest[state] = max(paths, default=0)
        return longest

    def sequence(self) -> list[str] | None:
        """Return the targets of a task that visits one after the other, None for all other tasks."""
        targets, state = list[str](), 0
        while state != DONE:
            ways = {label: there for label, there in self.moves[state].items() if there != state}
            if len(ways) != 1 or NO_LABEL in ways or FAILED in ways.values():
                return None
            ((label, state),) = ways.items()
            targets.append(label)
        return targets


class TooManyStates(Exception):
    """An automaton would grow beyond its limit."""


def explore(
    start: State, labels: Sequence[str], step: Callable[[State, str], State | int], limit: int
) -> list[Ways]:  # fmt: skip
    """Return where every label, none included, leads from every reachable state; `step` may also return `DONE`."""
    number, todo, moves = {start: 0}, [start], list[Ways]()
    for state in todo:  # grows in the loop
        ways: Ways = {}
        for label in (NO_LABEL, *labels):
            after = step(state, label)
            if isinstance(after, int) and after in (DONE, FAILED):  # states may be integers too, from 0
                ways[label] = after
                continue
            there = cast(State, after)
            if there not in number:
                number[there] = len(number)
                todo.append(there)
                if len(number) > limit:
                    raise TooManyStates
            ways[label] = number[there]
        moves.append(ways)
    return moves


def reached_from(seeds: Iterable[Name], ways: Mapping[Name, Iterable[Name]]) -> set[Name]:
    """Return the seeds and everything that can be reached from them.

    >>> sorted(reached_from("a", {"a": "b", "b": "ac", "d": "a"}))
    ['a', 'b', 'c']
    """
    reached = set(seeds)
    todo = list(reached)
    while todo:
        new = set(ways.get(todo.pop(), ())) - reached
        reached |= new
        todo += new
    return reached


def minimise(labels: Sequence[str], moves: list[Ways]) -> Automaton | None:
    """Return the smallest automaton equivalent to `moves` from state 0; None if nothing succeeds."""
    into: dict[int, list[int]] = {}
    for state, ways in enumerate(moves):
        for to in ways.values():
            into.setdefault(to, []).append(state)
    alive = reached_from([DONE], into) - {DONE}  # the states from which success can be reached
    if 0 not in alive:
        return None
    live = {
        k: {label: to if to in alive or to == DONE else FAILED for label, to in moves[k].items()} for k in sorted(alive)
    }
    part = refine(live, [{DONE}, {FAILED}, set(alive)])
    order = {block: i for i, block in enumerate(dict.fromkeys(part[k] for k in live))}
    first = {order[part[k]]: k for k in reversed(live)}
    number = {k: order[part[k]] for k in live} | {DONE: DONE, FAILED: FAILED}
    merged = ({label: number[to] for label, to in live[first[i]].items()} for i in range(len(order)))
    return Automaton(tuple(labels), tuple(merged))


def refine(moves: Mapping[int, Mapping[Name, int]], blocks: list[set[int]]) -> dict[int, int]:
    """Return the block of every state: those of a block have moves of the same names into the same blocks.

    `blocks` hold all states and ends to begin with; the states of one have moves of the same names. They are split.
    """
    into: dict[int, list[tuple[Name, int]]] = {}
    for state, ways in moves.items():
        for label, there in ways.items():
            into.setdefault(there, []).append((label, state))
    part = {state: number for number, block in enumerate(blocks) for state in block}
    todo = set(range(len(blocks)))
    while todo:
        leading: dict[Name, list[int]] = {}
        for there in blocks[todo.pop()]:
            for label, state in into.get(there, ()):
                leading.setdefault(label, []).append(state)
        for sources in leading.values():
            apart: dict[int, set[int]] = {}
            for state in sources:
                apart.setdefault(part[state], set()).add(state)
            for block, some in apart.items():
                if len(some) == len(blocks[block]):
                    continue
                new = len(blocks)
                blocks[block] -= some
                blocks.append(some)
                part.update(dict.fromkeys(some, new))
                smaller = new if len(some) < len(blocks[block]) else block  # the other half adds nothing
                todo.add(new if block in todo else smaller)
    return part
