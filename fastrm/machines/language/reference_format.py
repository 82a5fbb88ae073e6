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

_START = re.compile(r"[0-9]{1,9}")
_TERMINALS = re.compile(r"\[\s*(\d{1,9}(?:\s*,\s*\d{1,9})*)?\s*,?\s*\]", re.ASCII)
_CONSTANTS = {"True": Truth(True), "False": Truth(False)}
_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_EDGE = re.compile(
    r"\(\s*(\d{1,9})\s*,\s*(\d{1,9})\s*,\s*(?:'([^'\\]*)'|\"([^\"\\]*)\")\s*,"
    rf"\s*ConstantRewardFunction\(\s*({_NUMBER})\s*\)\s*\)",
    re.ASCII,
)


def _statements(text: str) -> list[tuple[int, str]]:
    lines = ((number, line.split("#", 1)[0].strip()) for number, line in enumerate(text.split("\n"), start=1))
    return [(number, line) for number, line in lines if line]


def recognises(text: str) -> bool:
    """Say whether the text is in this format: its first statement is a bare state number, or a list or tuple."""
    statements = _statements(text)
    return bool(statements) and (bool(_START.fullmatch(statements[0][1])) or statements[0][1][0] in "[(")


def read(text: str, source: str) -> Draft:
    """Read the text of a machine file of the reference."""
    statements = _statements(text)
    number, line = statements[0]
    if not _START.fullmatch(line):
        raise MachineError(f"{place(source, number)}no start state; the first line must be its number, such as 0")
    start = str(int(line))
    if len(statements) < 2 or not (match := _TERMINALS.fullmatch(statements[1][1])):
        where = statements[1][0] if len(statements) > 1 else number
        raise MachineError(f"{place(source, where)}expected the list of terminal states, such as [2]")
    success = tuple(dict.fromkeys(str(int(word)) for word in (match[1] or "").split(",") if word.strip()))
    edges = [_read_edge(line, number, source) for number, line in statements[2:]]
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


def _read_edge(line: str, number: int, source: str) -> Edge:
    match = _EDGE.fullmatch(line)
    if match is None:
        raise MachineError(
            f"{place(source, number)}expected (STATE,STATE,'GUARD',ConstantRewardFunction(NUMBER)), "
            f"found {line[:60]!r}; nothing else is accepted and nothing in a file is executed"
        )
    before, after, single, double, reward = match.groups()
    value = float(reward)
    if not math.isfinite(value):
        raise MachineError(f"{place(source, number)}the reward {reward} is too large")
    try:
        written = single if single is not None else double
        guard = _CONSTANTS[written] if written in _CONSTANTS else parse_guard(written)
    except MachineError as problem:
        raise MachineError(f"{place(source, number)}edge {before} -> {after}: {problem}") from None
    return Edge(str(int(before)), str(int(after)), guard, Number(value), number)
