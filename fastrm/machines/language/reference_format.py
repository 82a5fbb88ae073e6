"""Reader for the text format of the reference implementation (Toro Icarte et al., JAIR 2022).

::

    0 # initial state
    [2] # terminal state
    (0,1,'a&!n',ConstantRewardFunction(0))

The reference hands each line to the Python interpreter; here every line must match one pattern, so a file can carry
no code. Such machines are scored by the rewards they pay.
"""

from __future__ import annotations

import math
import re

from fastrm.errors import MachineError, place
from fastrm.machines.language.draft import Draft, Edge
from fastrm.machines.language.expressions import Number, Truth
from fastrm.machines.language.parser import parse_guard
from fastrm.machines.language.tokens import Statement, fault, statements

_START = re.compile(r"[0-9]{1,9}")
_TERMINALS = re.compile(r"\[\s*(\d{1,9}(?:\s*,\s*\d{1,9})*)?\s*,?\s*\]", re.ASCII)
_CONSTANTS = {"True": Truth(True), "False": Truth(False)}
_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_EDGE = re.compile(
    r"\(\s*(?P<before>\d{1,9})\s*,\s*(?P<after>\d{1,9})\s*,"
    r"\s*(?:'(?P<single>[^'\\]*)'|\"(?P<double>[^\"\\]*)\")\s*,"
    rf"\s*ConstantRewardFunction\(\s*(?P<reward>{_NUMBER})\s*\)\s*\)",
    re.ASCII,
)


def recognises(text: str) -> bool:
    """Say whether the text is in this format: its first statement is a bare state number, or a list or tuple."""
    first = next(statements(text), None)
    return first is not None and (bool(_match(_START, first)) or first.text[first.place] in "[(")


def read(text: str, source: str) -> Draft:
    """Read the text of a machine file of the reference."""
    first, *rest = statements(text)
    if not _match(_START, first):
        raise _fault("no start state; the first line must be its number, such as 0", source, first)
    start = str(int(first.text))
    if not rest or not (match := _match(_TERMINALS, rest[0])):
        raise _fault("expected the list of terminal states, such as [2]", source, rest[0] if rest else first)
    success = tuple(dict.fromkeys(str(int(word)) for word in (match[1] or "").split(",") if word.strip()))
    edges = [_read_edge(statement, source) for statement in rest[1:]]
    edges = [edge for edge in edges if edge.source not in success]  # as the reference: nothing leaves a terminal
    named = {start, *(name for edge in edges for name in (edge.source, edge.target))}
    return Draft(
        start=start,
        states=tuple(sorted(named - set(success), key=int)),
        edges=tuple(edges),
        success=success,
        score="own",
        source=source,
    )


def _read_edge(statement: Statement, source: str) -> Edge:
    match = _match(_EDGE, statement)
    if match is None:
        raise _fault(
            "expected (STATE,STATE,'GUARD',ConstantRewardFunction(NUMBER)), found "
            f"{statement.text.lstrip()[:60]!r}; nothing else is accepted and nothing in a file is executed",
            source,
            statement,
        )
    before, after, reward = match["before"], match["after"], float(match["reward"])
    if not math.isfinite(reward):
        raise _fault(f"the reward {match['reward'][:40]} is too large", source, statement, match.start("reward"))
    quoted = "single" if match["single"] is not None else "double"
    try:
        guard = _CONSTANTS.get(match[quoted]) or parse_guard(
            match[quoted], f"edge {before} -> {after}", match.start(quoted)
        )
    except MachineError as problem:
        raise MachineError(f"{place(source, statement.number)}{problem}") from None
    return Edge(str(int(before)), str(int(after)), guard, Number(reward), statement.number)


def _match(pattern: re.Pattern[str], statement: Statement) -> re.Match[str] | None:
    return pattern.fullmatch(statement.text, statement.place)


def _fault(message: str, source: str, statement: Statement, where: int | None = None) -> MachineError:
    where = statement.place if where is None else where
    return MachineError(f"{place(source, statement.number)}{fault(message, where)}")
