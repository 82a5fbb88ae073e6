"""What is wrong with a machine whatever map it meets: its names, terminals and edges, and what they do not connect."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fastrm.checks import is_plain
from fastrm.errors import did_you_mean, shown
from fastrm.machines.automaton import reached_from
from fastrm.machines.language.draft import Draft, Edge, describe
from fastrm.machines.language.expressions import Otherwise, leaves
from fastrm.worlds import RESERVED

MAX_STATE_NAME = 200


def structural_faults(draft: Draft) -> Iterator[tuple[int | None, str]]:
    """Yield line and message of everything that is wrong with a machine whatever map it meets."""
    for message in _odd_fields(draft):
        yield None, message
        return
    lines: dict[str, int | None] = {}
    for edge in draft.edges:
        lines.setdefault(edge.source, edge.line)
        lines.setdefault(edge.target, edge.line)
    live, terminals = set(draft.states), set(draft.terminals)
    if re.search(r"#|->|^\s|\s$|\s\s|[^\S ]", draft.name) or not is_plain(draft.name):
        yield None, f"name {shown(draft.name)}: must not hold '#', '->', control characters or runs of white space"
    for name in sorted(set(draft.success) & set(draft.failure)):
        yield lines.get(name), f"state {name} is both success and failure; choose one"
    if not draft.success:
        yield None, "no success state; a machine needs a terminal, such as 'success done'"
    if draft.start in terminals or draft.start not in live:
        yield None, f"the start state {draft.start} is a terminal or unknown; start in one of {', '.join(draft.states)}"
        return
    if draft.large is not None:  # its states follow each other, as whoever made it has seen
        return
    defaults: set[str] = set()
    if not isinstance(draft.potential, float) or not 0 <= draft.potential <= 1e100:
        yield None, f"potential {shown(draft.potential)}: must be a number from 0 (none) to 1e100"
    if draft.score not in ("task", "own"):
        yield None, f"score {shown(draft.score)} is unknown; expected task or own"
    for edge in draft.edges:
        for name in (edge.source, edge.target):
            if name not in live and name not in terminals:
                near = did_you_mean(name, live | terminals)
                yield edge.line, f"edge {describe(edge)} names the unknown state {name}{near}"
                return
        if edge.source in terminals:
            yield edge.line, f"edge {describe(edge)} leaves a terminal state; remove it"
        if isinstance(edge.guard, Otherwise):
            if edge.source in defaults:
                yield edge.line, f"state {edge.source} has a second 'otherwise' edge; keep one"
            defaults.add(edge.source)
        for leaf in (*leaves(edge.guard), *leaves(edge.reward)):
            if leaf.name in RESERVED:
                yield edge.line, f"edge {describe(edge)} uses the reserved word {shown(leaf.name)}"
    yield from _unconnected(draft, lines)


def _odd_fields(draft: Draft) -> Iterator[str]:
    """Yield what is no machine at all: fields of other types, as only programs can write them."""
    for field in ("start", "name", "source", "score"):
        if not isinstance(getattr(draft, field), str):
            yield f"{field}={shown(getattr(draft, field))}: must be text"
    for field in ("states", "success", "failure"):
        names = getattr(draft, field)
        if not isinstance(names, tuple) or not all(map(_is_state_name, names)):
            yield f"{field}={shown(names)}: must be a tuple of names, each of at most {MAX_STATE_NAME} characters"
    if not _is_state_name(draft.start):
        yield f"start={shown(draft.start)}: must name a state"
    if not isinstance(draft.edges, tuple) or not all(isinstance(edge, Edge) for edge in draft.edges):
        yield f"edges={shown(draft.edges)}: must be a tuple of edges"


def _is_state_name(name: object) -> bool:
    return isinstance(name, str) and is_plain(name) and len(name) <= MAX_STATE_NAME


def _unconnected(draft: Draft, lines: dict[str, int | None]) -> Iterator[tuple[int | None, str]]:
    forward: dict[str, set[str]] = {}
    backward: dict[str, set[str]] = {}
    for edge in draft.edges:
        forward.setdefault(edge.source, set()).add(edge.target)
        backward.setdefault(edge.target, set()).add(edge.source)
    for name in draft.states:
        if name not in forward:
            near = did_you_mean(name, {*forward, *draft.terminals} - {name})
            yield (
                lines.get(name),
                f"no edge leaves state {name}{near}; add edges, or a line 'failure {name}' if it ends the episode",
            )
            return
    reached = reached_from([draft.start], forward)
    ending = reached_from(draft.terminals, backward)
    for name in (*draft.states, *draft.terminals):
        if name not in reached:
            near = did_you_mean(name, reached - {name})
            yield lines.get(name), f"state {name} cannot be reached from {draft.start}{near}; add an edge or remove it"
    for name in draft.states:
        if name not in ending:
            yield lines.get(name), f"state {name} is a dead end: no edges lead from it to a terminal state"
