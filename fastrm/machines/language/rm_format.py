"""The ``.rm`` format: one statement a line, ``#`` starts a comment.

::

    name    gold
    states  u0 u1            # optional: the order of the states; by default that of appearance
    start   u0
    success done
    failure lost             # optional
    score   task             # optional: task (1 for completing it) or own (the rewards paid)
    potential 1              # optional: c; every edge also pays gamma Phi' - Phi, with Phi = -c times the steps to go

    u0 -> u1    when a & !n        reward 0
    u0 -> lost  when n
    u0 -> u0    otherwise          reward -d(a)
    u1 -> done  when b             reward 10000
    u1 -> u1    otherwise          reward -d(b)

An edge without ``reward`` pays 0.
"""

from __future__ import annotations

import re
from typing import Literal, cast

from fastrm.errors import MachineError, did_you_mean, place
from fastrm.machines.language.draft import Draft, Edge
from fastrm.machines.language.expressions import Number, Otherwise, write
from fastrm.machines.language.parser import parse_guard, parse_reward

_NAME = re.compile(r"[A-Za-z0-9_]{1,40}")
_EDGE = re.compile(r"(\S+)\s*->\s*(\S+)\s+(?:when\b(?P<guard>.*?)|otherwise)\s*(?:\breward\b(?P<reward>.*))?")
_KEYWORDS = ("name", "states", "start", "success", "failure", "score", "potential")


def read(text: str, source: str) -> Draft:
    """Read the text of a ``.rm`` file."""
    fields: dict[str, list[str]] = {}
    edges: list[Edge] = []
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.split("#", 1)[0].strip()
        if not line:
            continue
        try:
            if "->" in line:
                edges.append(_read_edge(line, number))
            else:
                _read_field(line, fields)
        except MachineError as problem:
            raise MachineError(f"{place(source, number)}{problem}") from None
    if not fields.get("start"):
        raise MachineError(f"{source}: no start state; add a line such as 'start u0'")
    start = fields["start"][0]
    success, failure = tuple(fields.get("success", ())), tuple(fields.get("failure", ()))
    seen = dict.fromkeys([*fields.get("states", ()), start, *(name for e in edges for name in (e.source, e.target))])
    return Draft(
        start=start,
        states=tuple(name for name in seen if name not in success and name not in failure),
        edges=tuple(edges),
        success=success,
        failure=failure,
        score=cast(Literal["task", "own"], fields.get("score", ["task"])[0]),
        potential=_positive(fields["potential"][0]) if "potential" in fields else 0.0,
        name=" ".join(fields.get("name", ())),
        source=source,
    )


def _read_edge(line: str, number: int) -> Edge:
    match = _EDGE.fullmatch(line)
    if match is None:
        raise MachineError("expected 'STATE -> STATE when GUARD reward VALUE' (or 'otherwise' for 'when GUARD')")
    source, target = _state(match[1]), _state(match[2])
    guard, reward = match["guard"], match["reward"]
    try:
        return Edge(
            source,
            target,
            Otherwise() if guard is None else parse_guard(guard),
            Number(0.0) if reward is None else parse_reward(reward),
            number,
        )
    except MachineError as problem:
        raise MachineError(f"edge {source} -> {target}: {problem}") from None


def _read_field(line: str, fields: dict[str, list[str]]) -> None:
    keyword, *words = line.split()
    if keyword not in _KEYWORDS:
        raise MachineError(
            f"unknown statement {keyword[:40]!r}{did_you_mean(keyword, _KEYWORDS)}; "
            f"expected {', '.join(_KEYWORDS)} or an edge 'u0 -> u1 when a reward 0'"
        )
    if keyword in fields:
        raise MachineError(f"{keyword!r} is given twice; keep one line")
    if not words:
        raise MachineError(f"{keyword!r} needs a value")
    if keyword in ("start", "score", "potential") and len(words) > 1:
        raise MachineError(f"{keyword!r} takes one word, not {len(words)}")
    if keyword == "score" and words[0] not in ("task", "own"):
        raise MachineError(f"score {words[0][:40]!r} is unknown; expected task or own")
    if keyword == "potential":
        _positive(words[0])
    if keyword in ("states", "start", "success", "failure"):
        words = [_state(word) for word in words]
        if len(set(words)) < len(words):
            raise MachineError(f"{keyword!r} names a state twice")
    fields[keyword] = words


def _positive(word: str) -> float:
    if not re.fullmatch(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?", word) or not 0 < (value := float(word)) <= 1e100:
        raise MachineError(f"potential {word[:40]!r}: must be a number above 0 and at most 1e100")
    return value


def _state(word: str) -> str:
    if not _NAME.fullmatch(word):
        raise MachineError(f"state name {word[:40]!r}: use at most 40 letters, digits and underscores")
    return word


def write_machine(draft: Draft) -> str:
    """Write a machine as ``.rm`` text; reading it gives an equal machine."""
    lines = [f"name    {draft.name}"] if draft.name else []
    lines += [f"states  {' '.join(draft.states)}", f"start   {draft.start}"]
    lines += [f"{word} {' '.join(names)}" for word, names in _terminal_lines(draft) if names]
    if draft.score != "task":
        lines.append(f"score   {draft.score}")
    if draft.potential:
        lines.append(f"potential {write(Number(draft.potential))}")
    lines.append("")
    rows = [
        (
            f"{edge.source} -> {edge.target}",
            "otherwise" if isinstance(edge.guard, Otherwise) else f"when {write(edge.guard)}",
            f"reward {write(edge.reward)}",
        )
        for edge in draft.edges
    ]
    widths = [max((len(row[i]) for row in rows), default=0) for i in (0, 1)]
    lines += [f"{way:<{widths[0]}}  {guard:<{widths[1]}}  {reward}" for way, guard, reward in rows]
    return "\n".join(lines) + "\n"


def _terminal_lines(draft: Draft) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return ("success", draft.success), ("failure", draft.failure)
