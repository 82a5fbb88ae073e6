"""Text formats of reward machines: our ``.rm`` files and those of the reference, distinguished by content.

A ``.rm`` file has one statement a line; ``#`` starts a comment::

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

An edge without ``reward`` pays 0. ``u0 -> u1 agenda a b-c d`` leaves u0 when a, c after b, and d were read, in any
order; `drafts` replaces it by a state and edges for everything that may be left of them.

A file of the reference implementation (Toro Icarte et al., JAIR 2022) looks like this::

    0 # initial state
    [2] # terminal state
    (0,1,'a&!n',ConstantRewardFunction(0))

The reference hands each line to the Python interpreter; here every line must match one pattern, so a file can carry
no code. Such machines are scored by the rewards they pay.
"""

from __future__ import annotations

import math
import re
from typing import Literal, cast

from fastrm.errors import MachineError, did_you_mean, place, shown
from fastrm.machines.language.drafts import MAX_STAGES, Agenda, AgendaEdge, Draft, Edge, expand
from fastrm.machines.language.expressions import Number, Otherwise, Truth, parse_guard, parse_reward, write
from fastrm.machines.language.tokens import Statement, fault, statements
from fastrm.textfile import decode_text
from fastrm.worlds import OBJECT_IN_WORDS, is_object, split_object

_NAME = re.compile(r"[A-Za-z0-9_]{1,40}")
_POSITIVE = re.compile(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?")
# Quantifiers that cannot give back: a line takes time in proportion to its length, however many blanks it holds.
_OWN_EDGE = re.compile(
    r"((?:(?!->)\S)+)\s*->\s*(\S+)\s+(?:(?P<when>when\b)|(?P<agenda>agenda(?=\s|$))|otherwise(?=\s|$))"
)
_REWARD = re.compile(r"\breward\b")
_ENDS = re.compile(r"(?:(?:(?!->)\S)+\s*->\s*(?:\S+\s*)?)?")
"""As much of an edge as there is before `when` or `otherwise`."""
_KEYWORDS = ("name", "states", "start", "success", "failure", "score", "potential")


def read_own(text: str, source: str) -> Draft:
    """Read the text of a ``.rm`` file."""
    fields: dict[str, list[str]] = {}
    edges: list[Edge | AgendaEdge] = []
    for statement in statements(text):
        try:
            if "->" in statement.text:
                edges.append(_read_own_edge(statement))
            else:
                _read_field(statement, fields)
        except MachineError as problem:
            raise MachineError(f"{place(source, statement.number)}{problem}") from None
    if not fields.get("start"):
        raise MachineError(f"{source}: no start state; add a line such as 'start u0'")
    start = fields["start"][0]
    success, failure = tuple(fields.get("success", ())), tuple(fields.get("failure", ()))
    seen = dict.fromkeys([*fields.get("states", ()), start, *(name for e in edges for name in (e.source, e.target))])
    states = tuple(name for name in seen if name not in success and name not in failure)
    try:
        expansion = expand(start, states, edges, success)
    except MachineError as problem:
        raise MachineError(f"{source}:{problem}") from None
    return Draft(
        start=start,
        states=expansion.states,
        edges=expansion.edges,
        large=expansion.large,
        success=success,
        failure=failure,
        score=cast(Literal["task", "own"], fields.get("score", ["task"])[0]),
        potential=float(fields["potential"][0]) if "potential" in fields else 0.0,
        name=" ".join(fields.get("name", ())),
        source=source,
    )


def _read_own_edge(statement: Statement) -> Edge | AgendaEdge:
    line, begin = statement.text, statement.place
    head = _OWN_EDGE.match(line, begin)
    paid = None if head is None else _REWARD.search(line, head.end())
    guard_end = len(line) if paid is None else paid.start()
    is_otherwise = head is not None and head["when"] is None and head["agenda"] is None
    if head is None or (is_otherwise and line[head.end() : guard_end].strip()):
        stuck = cast(re.Match[str], _ENDS.match(line, begin)).end()
        raise fault(
            "expected 'STATE -> STATE when GUARD reward VALUE' (or 'otherwise', or 'agenda a b c', for 'when GUARD')",
            stuck,
        )
    for group in (1, 2):
        _check_state(head[group], head.start(group))
    edge = f"edge {head[1]} -> {head[2]}"
    agenda = _read_agenda(line, head.end(), guard_end) if head["agenda"] else None
    guard = parse_guard(line[head.end() : guard_end], edge, head.end()) if head["when"] else Otherwise()
    reward = Number(0.0) if paid is None else parse_reward(line[paid.end() :], edge, paid.end())
    if agenda is not None:
        return AgendaEdge(head[1], head[2], agenda, reward, statement.number)
    return Edge(head[1], head[2], guard, reward, statement.number)


def _read_agenda(line: str, begin: int, end: int) -> Agenda:
    """Read the parts of an agenda, each an object or several in turn: ``a b-c d``."""
    parts: list[list[str]] = []
    places: list[int] = []
    is_joined = False
    for match in (*re.finditer(r"-|[^\s-]+", line[begin:end]), None):
        place = begin + match.start() if match else len(line[:end].rstrip())
        word = match[0] if match else ""
        if word == "-" and parts and not is_joined:
            is_joined = True
            continue
        if match is None and not is_joined:
            break
        if not is_object(split_object(word)[0]):
            found = repr(word[:40]) if word else "the end"
            raise fault(f"agenda: expected {OBJECT_IN_WORDS}, found {found}; write agenda a b-c d", place)
        if is_joined:
            parts[-1].append(word)
        else:
            parts.append([word])
            places.append(place)
        is_joined = False
    for i, part in enumerate(parts):
        if part in parts[:i]:
            raise fault(f"agenda: {'-'.join(part)[:40]!r} is given twice", places[i])
    if not parts:
        raise fault("agenda: is empty; name what is to be done in any order, such as agenda a b c", begin)
    agenda = Agenda.any_order(Agenda.in_turn(map(Agenda.visit, part)) for part in parts)
    if len(agenda.targets) > MAX_STAGES:
        raise fault(f"agenda: has {len(agenda.targets)} objects; at most {MAX_STAGES} are supported", begin)
    return agenda


def _read_field(statement: Statement, fields: dict[str, list[str]]) -> None:
    (keyword, begin), *words = [(match[0], match.start()) for match in re.finditer(r"\S+", statement.text)]
    if keyword not in _KEYWORDS:
        raise fault(
            f"unknown statement {keyword[:40]!r}{did_you_mean(keyword, _KEYWORDS)}; "
            f"expected {', '.join(_KEYWORDS)} or an edge 'u0 -> u1 when a reward 0'",
            begin,
        )
    if keyword in fields:
        raise fault(f"{shown(keyword)} is given twice; keep one line", begin)
    if not words:
        raise fault(f"{shown(keyword)} needs a value", len(statement.text))
    if keyword in ("start", "score", "potential") and len(words) > 1:
        raise fault(f"{shown(keyword)} takes one word, not {len(words)}", words[1][1])
    for i, (word, where) in enumerate(words):
        if keyword == "score" and word not in ("task", "own"):
            raise fault(f"score {word[:40]!r} is unknown; expected task or own", where)
        if keyword == "potential" and not (_POSITIVE.fullmatch(word) and 0 < float(word) <= 1e100):
            raise fault(f"potential {word[:40]!r}: must be a number above 0 and at most 1e100", where)
        if keyword in ("states", "start", "success", "failure"):
            _check_state(word, where)
            if word in dict(words[:i]):
                raise fault(f"{shown(keyword)} names a state twice", where)
    fields[keyword] = [word for word, _ in words]


def _check_state(word: str, where: int) -> None:
    if not _NAME.fullmatch(word):
        raise fault(f"state name {word[:40]!r}: use at most 40 letters, digits and underscores", where)


def write_machine(draft: Draft) -> str:
    """Write a machine as ``.rm`` text; reading it gives an equal machine."""
    lines = [f"name    {draft.name}"] if draft.name else []
    lines += [f"states  {' '.join(draft.states)}", f"start   {draft.start}"]
    terminals = {"success": draft.success, "failure": draft.failure}
    lines += [f"{word} {' '.join(names)}" for word, names in terminals.items() if names]
    if draft.score != "task":
        lines.append(f"score   {draft.score}")
    if draft.potential:
        lines.append(f"potential {write(Number(draft.potential))}")
    lines.append("")
    rows = [(f"{u} -> {v}", agenda, f"reward {paid}") for u, v, agenda, paid in draft.statements()]
    rows += [
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


_START = re.compile(r"[0-9]{1,9}")
_TERMINALS = re.compile(r"\[\s*(\d{1,9}(?:\s*,\s*\d{1,9})*)?\s*,?\s*\]", re.ASCII)
_CONSTANTS = {"True": Truth(True), "False": Truth(False)}
_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_REFERENCE_EDGE = re.compile(
    r"\(\s*(?P<before>\d{1,9})\s*,\s*(?P<after>\d{1,9})\s*,"
    r"\s*(?:'(?P<single>[^'\\]*)'|\"(?P<double>[^\"\\]*)\")\s*,"
    rf"\s*ConstantRewardFunction\(\s*(?P<reward>{_NUMBER})\s*\)\s*\)",
    re.ASCII,
)


def _is_reference(text: str) -> bool:
    """Return whether the first statement is a bare state number, a list or a tuple, as in files of the reference."""
    first = next(statements(text), None)
    return first is not None and (bool(_match_whole(_START, first)) or first.text[first.place] in "[(")


def read_reference(text: str, source: str) -> Draft:
    """Read the text of a machine file of the reference."""
    first, *rest = statements(text)
    if not _match_whole(_START, first):
        raise _reference_fault("no start state; the first line must be its number, such as 0", source, first)
    start = str(int(first.text))
    if not rest or not (match := _match_whole(_TERMINALS, rest[0])):
        raise _reference_fault("expected the list of terminal states, such as [2]", source, rest[0] if rest else first)
    success = tuple(dict.fromkeys(str(int(word)) for word in (match[1] or "").split(",") if word.strip()))
    edges = [_read_reference_edge(statement, source) for statement in rest[1:]]
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


def _read_reference_edge(statement: Statement, source: str) -> Edge:
    match = _match_whole(_REFERENCE_EDGE, statement)
    if match is None:
        raise _reference_fault(
            "expected (STATE,STATE,'GUARD',ConstantRewardFunction(NUMBER)), found "
            f"{statement.text.lstrip()[:60]!r}; nothing else is accepted and nothing in a file is executed",
            source,
            statement,
        )
    before, after, reward = match["before"], match["after"], float(match["reward"])
    if not math.isfinite(reward):
        raise _reference_fault(
            f"the reward {match['reward'][:40]} is too large", source, statement, match.start("reward")
        )
    quoted = "single" if match["single"] is not None else "double"
    try:
        guard = _CONSTANTS.get(match[quoted]) or parse_guard(
            match[quoted], f"edge {before} -> {after}", match.start(quoted)
        )
    except MachineError as problem:
        raise MachineError(f"{place(source, statement.number)}{problem}") from None
    return Edge(str(int(before)), str(int(after)), guard, Number(reward), statement.number)


def _match_whole(pattern: re.Pattern[str], statement: Statement) -> re.Match[str] | None:
    return pattern.fullmatch(statement.text, statement.place)


def _reference_fault(message: str, source: str, statement: Statement, where: int | None = None) -> MachineError:
    where = statement.place if where is None else where
    return MachineError(f"{place(source, statement.number)}{fault(message, where)}")


MAX_TEXT = 8 * 2**20
MAX_STATEMENTS = 100_000
MAX_LINE = 10_000


def read(text: str, source: str) -> Draft:
    """Read a machine in either format."""
    if "\0" in text:
        decode_text(b"\0", source, MachineError)
    if len(text) > MAX_TEXT:
        raise MachineError(f"{source}: longer than {MAX_TEXT // 2**20} Mi characters; give the text of a machine")
    if not any(statements(text)):
        raise MachineError(f"{source}: empty; a machine needs a start state and edges")
    for number, line in enumerate(text.split("\n"), start=1):
        if len(line) > MAX_LINE:
            raise MachineError(f"{source}:{number}: longer than {MAX_LINE} characters; give one statement a line")
    if sum(1 for _ in statements(text)) > MAX_STATEMENTS:
        raise MachineError(f"{source}: more than {MAX_STATEMENTS} statements; split the task into smaller machines")
    return read_reference(text, source) if _is_reference(text) else read_own(text, source)
