"""Machines as written, before they are checked: agendas, drafts, and the two text formats, distinguished by content.

A ``.rm`` file has one statement a line; ``#`` starts a comment::

    name    gold
    states  u0 u1            # optional: the order of the states; by default that of appearance
    start   u0
    success done
    failure lost             # optional
    score   task             # optional: task (1 for completing it) or own (the rewards paid)
    potential 1              # optional: c; every edge also pays gamma Phi' - Phi, with Phi = -c times the steps to go
    potential u0 = -d(a)     # or instead: Phi in one state, 0 in the states that have no such line

    u0 -> u1    when a & !n        reward 0
    u0 -> lost  when n
    u0 -> u0    otherwise          reward -d(a)
    u1 -> done  when b             reward 10000
    u1 -> u1    otherwise          reward -d(b)

An edge without ``reward`` pays 0. ``u0 -> u1 agenda a b-c d`` leaves u0 when a, c after b, and d were read, in any
order. Such a state becomes as many states as there are sets of stages that can be left. It keeps its name while
everything is left; the others are called after what is done: ``u0_a``, ``u0_ab``. All its other edges hold in each of
them, and lead back to where they came from if they led back to the state.

Clocks and counts are declared, compared in guards, read by rewards, and changed where an edge ends (see `variables`)::

    clock   t 0..21

    u0 -> u1    when a            reward 0       do t = 0
    u1 -> done  when b & t <= 20  reward 21 - t
    u1 -> lost  when t > 20

A file of the reference implementation (Toro Icarte et al., JAIR 2022) looks like this::

    0 # initial state
    [2] # terminal state
    (0,1,'a&!n',ConstantRewardFunction(0))

The line of terminals may be missing, as in files of JIRP (Xu et al., 2020): then a state whose only edge is a
``True`` loop is a success, and a state without edges a failure. The reference hands each line to the Python
interpreter; here every line must match one pattern, so a file can carry no code. Such machines are scored by the
rewards they pay.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal, cast

from fastrm.errors import MachineError, did_you_mean, place, shown
from fastrm.machines.language.expressions import (
    Expression,
    Guard,
    Number,
    Otherwise,
    Proposition,
    Truth,
    constant,
    parse_guard,
    parse_reward,
    write,
)
from fastrm.machines.language.tokens import Statement, fault, statements
from fastrm.machines.language.variables import Action, Variable, read_actions, read_variable
from fastrm.textfile import decode_text
from fastrm.worlds import OBJECT_IN_WORDS, is_label, is_object, split_object

MAX_STAGES = 32
"""Stages of a task that is learned by agenda."""
MAX_STATES = 1024
"""Machine states that are listed."""


@dataclass(frozen=True)
class Agenda:
    """The stages of a task: the object that completes each, and which stages must come before.

    A stage is on the agenda when it is not done and all that must come before it are. Reading its object takes it off.
    The task is done when all stages are.

    Examples
    --------
    >>> errand = Agenda.in_turn([Agenda.visit("a"), Agenda.visit("b")])
    >>> both = Agenda.any_order([errand, Agenda.visit("c")])
    >>> both.targets, both.needs
    (('a', 'b', 'c'), (0, 1, 0))
    """

    targets: tuple[str, ...]
    """The object, or type of objects, that completes each stage."""
    needs: tuple[int, ...]
    """The stages that must come before each, as a bit mask."""

    @classmethod
    def visit(cls, target: str) -> Agenda:
        """Return the agenda of one visit."""
        return cls((target,), (0,))

    @classmethod
    def any_order(cls, parts: Iterable[Agenda]) -> Agenda:
        """Return the agenda of all parts, in any order."""
        whole = cls((), ())
        for part in parts:
            whole = whole._with(part, 0)
        return whole

    @classmethod
    def in_turn(cls, parts: Iterable[Agenda]) -> Agenda:
        """Return the agenda of all parts, one after the other."""
        whole = cls((), ())
        for part in parts:
            whole = whole._with(part, (1 << len(whole.targets)) - 1)
        return whole

    def _with(self, part: Agenda, before: int) -> Agenda:
        """Add a part, every stage of which needs the stages `before`."""
        shift = len(self.targets)
        return Agenda(self.targets + part.targets, self.needs + tuple(needs << shift | before for needs in part.needs))

    @property
    def everything(self) -> int:
        """The set of all stages."""
        return (1 << len(self.targets)) - 1

    def open(self, left: int) -> list[int]:
        """Return the stages on the agenda while some are left."""
        return [i for i, needs in enumerate(self.needs) if left >> i & 1 and not needs & left]

    def after(self, left: int, label: str) -> int:
        """Return what is left after a label was read."""
        return self.without(left, sum(1 << i for i, target in enumerate(self.targets) if target == label))

    def without(self, left: int, done: int) -> int:
        """Return what is left after what completes some stages, those of them that are on the agenda."""
        return left & ~sum(1 << i for i in self.open(left) if done >> i & 1)

    def sets(self, most: int = MAX_STATES) -> dict[int, dict[str, int]] | None:
        """Return the sets of stages that can be left and where each object leads; None if there are more than `most`.

        >>> Agenda.any_order([Agenda.visit("a"), Agenda.visit("b")]).sets()
        {3: {'a': 2, 'b': 1}, 2: {'b': 0}, 1: {'a': 0}}
        """
        ways: dict[int, dict[str, int]] = {}
        todo = [self.everything]
        for left in todo:  # grows in the loop
            if left in ways:
                continue
            if len(ways) == most:
                return None
            ways[left] = {self.targets[i]: self.after(left, self.targets[i]) for i in self.open(left)}
            todo += [rest for rest in ways[left].values() if rest]
        return ways

    def statements(self) -> list[list[str]] | None:
        """Return the words of equivalent ``agenda`` statements, one after the other; None where parts nest deeper.

        The parts of a statement are in any order, each of them visits in turn.

        >>> Agenda.in_turn([Agenda.any_order(map(Agenda.visit, "ab")), Agenda.visit("c")]).statements()
        [['a', 'b'], ['c']]
        """
        n = len(self.targets)
        cuts = [i for i in range(n) if all(not ~needs & (1 << i) - 1 for needs in self.needs[i:])]
        found: list[list[str]] = []
        for first, end in zip(cuts, [*cuts[1:], n], strict=True):
            found.append([])
            begin, before = first, (1 << first) - 1
            for i in range(first, end):
                if self.needs[i] == before:
                    begin = i
                    found[-1].append(self.targets[i])
                elif self.needs[i] == before | (1 << i) - (1 << begin):
                    found[-1][-1] += f"-{self.targets[i]}"
                else:
                    return None
        return found


@dataclass(frozen=True)
class Edge:
    """One edge: in state `source`, when `guard` is open, pay `reward` and go to `target`."""

    source: str
    target: str
    guard: Guard
    reward: Expression
    line: int | None = field(default=None, compare=False)
    """Line of the file the edge was read from, for messages."""
    actions: tuple[Action, ...] = ()
    """What it does to clocks and counts."""


@dataclass(frozen=True)
class StatePotential:
    """Phi in one state: a number that reads the cell alone, not the move."""

    state: str
    value: Expression
    line: int | None = field(default=None, compare=False)
    """Line of the file it was read from, for messages."""


@dataclass(frozen=True)
class Draft:
    """States, edges and terminals by name, in file order."""

    start: str
    """The state in which every episode begins."""
    states: tuple[str, ...]
    """The states that are not terminal; learners sweep them in this order."""
    edges: tuple[Edge, ...]
    """All edges, in file order."""
    success: tuple[str, ...]
    """Terminal states that complete the task."""
    failure: tuple[str, ...] = ()
    """Terminal states that end the episode without completing the task."""
    score: Literal["task", "own"] = "task"
    """How an episode is scored: 1 for completing the task, or by the rewards the machine itself pays."""
    potential: float = 0.0
    """c: every edge also pays gamma Phi(s', u') - Phi(s, u), where Phi is -c times the fewest steps to success."""
    state_potentials: tuple[StatePotential, ...] = ()
    """Phi by state, in place of the steps to success; 0 in all other states, and at every end."""
    name: str = ""
    """What the machine is called, empty if it has no name."""
    source: str = field(default="<machine>", compare=False)
    """Where the machine came from, for messages."""
    large: Agenda | None = None
    """The whole task where it has too many machine states to list; there are no edges then."""
    variables: tuple[Variable, ...] = ()
    """Clocks and counts, of a machine that is not unrolled yet."""
    written: Draft | None = None
    """The machine as it is written, where it has clocks or counts and is unrolled."""

    def statements(self) -> list[tuple[str, str, str, int]]:
        """Return state, target, text and reward of the agendas of a `large` machine, one after the other."""
        parts = self.large.statements() if self.large is not None else None
        ends = zip(self.states, (*self.states[1:], self.success[0]), parts or (), strict=parts is not None)
        return [(u, v, f"agenda {' '.join(words)}", int(v in self.success)) for u, v, words in ends]

    @property
    def has_potential(self) -> bool:
        """Whether edges also pay what a potential changes by."""
        return bool(self.potential or self.state_potentials)

    @property
    def terminals(self) -> tuple[str, ...]:
        """All terminal states, successes first."""
        return self.success + self.failure


def describe(edge: Edge) -> str:
    """Name an edge in a message: ``u0 -> u1 (when a)``."""
    guard = write(edge.guard)
    guard = guard if len(guard) <= 80 else guard[:77] + "..."
    return f"{edge.source} -> {edge.target} ({guard if isinstance(edge.guard, Otherwise) else 'when ' + guard})"


LONGEST_NAME = 40


@dataclass(frozen=True)
class AgendaEdge:
    """In state `source`, when nothing is left of an agenda, pay `reward` and go to `target`."""

    source: str
    target: str
    agenda: Agenda
    reward: Expression
    line: int


def _expand(draft: Draft, statements: Sequence[AgendaEdge]) -> Draft:
    """Replace agendas by states and edges, or by the agenda of the whole machine where they are too many."""
    agendas: dict[str, AgendaEdge] = {}
    for edge in statements:
        if agendas.setdefault(edge.source, edge) is not edge:
            problem = f"state {edge.source} has a second agenda; keep one, or add a state"
            raise MachineError(f"{place(draft.source, edge.line)}{problem}")
    sets = {state: edge.agenda.sets() for state, edge in agendas.items()}
    if None in sets.values() or len(draft.states) + sum(len(ways or ()) - 1 for ways in sets.values()) > MAX_STATES:
        return _join_agendas(draft, agendas)
    states, edges = list[str](), list[Edge]()
    for state in draft.states:
        leaving = [edge for edge in draft.edges if edge.source == state]
        if state not in agendas:
            states.append(state)
            edges += leaving
            continue
        names = _names(agendas[state], sets[state] or {}, draft)
        states += names.values()
        for left, ways in (sets[state] or {}).items():
            edges += _edges_of(agendas[state], names, left, ways, leaving)
    if agenda := next((one for one in draft.state_potentials if one.state in agendas), None):
        problem = f"state {agenda.state} has an agenda, which is several states; give it no potential of its own"
        raise MachineError(f"{place(draft.source, agenda.line)}{problem}")
    return replace(draft, states=tuple(states), edges=tuple(edges))


def _edges_of(
    edge: AgendaEdge, names: dict[int, str], left: int, ways: dict[str, int], others: list[Edge]
) -> list[Edge]:  # fmt: skip
    """Return the edges of one of the states of an agenda."""
    here, end = names[left], (edge.target, edge.reward)
    found = []
    for letter, rest in ways.items():
        target, reward = (names[rest], Number(0.0)) if rest else end
        found.append(Edge(here, target, Proposition(letter), reward, edge.line))
    found += [replace(e, source=here, target=here if e.target == e.source else e.target) for e in others]
    if not any(isinstance(other.guard, Otherwise) for other in others):
        found.append(Edge(here, here, Otherwise(), Number(0.0), edge.line))
    return found


def _names(edge: AgendaEdge, sets: Iterable[int], draft: Draft) -> dict[int, str]:
    """Return names of states by what is left: after what is done where that tells them apart, else numbered."""
    targets, whole = edge.agenda.targets, edge.agenda.everything
    done = {left: "".join(x for i, x in enumerate(targets) if not left >> i & 1) for left in sets}
    names = {left: f"{edge.source}_{word}" if left != whole else edge.source for left, word in done.items()}
    if len({*names.values()}) < len(names) or max(map(len, names.values())) > LONGEST_NAME:
        names = {left: f"{edge.source}_{i}" if i else edge.source for i, left in enumerate(sets)}
    for name in names.values():
        if name in (*draft.states, *draft.success) and name != edge.source:
            problem = f"the agenda of {edge.source} needs the name {name} for a state; rename it"
            raise MachineError(f"{place(draft.source, edge.line)}{problem}")
    return names


def _join_agendas(draft: Draft, agendas: dict[str, AgendaEdge]) -> Draft:
    """Return the agenda of a whole machine whose states, each with an agenda or one object, follow each other."""
    where = place(draft.source, next(iter(agendas.values())).line)
    state, chain = draft.start, dict[str, AgendaEdge]()
    while state in agendas and state not in (*chain, *draft.success):
        chain[state] = agendas[state]
        state = agendas[state].target
    pays_at_the_end = all(constant(step.reward) == float(step.target in draft.success) for step in chain.values())
    is_chain = state in draft.success and len(chain) == len(agendas) and len(draft.success) == 1
    if draft.edges or not (is_chain and pays_at_the_end):
        raise MachineError(
            f"{where}the machine needs more than {MAX_STATES} states; that many may have only agendas, one after the "
            "other, that pay 1 at the end and nothing before"
        )
    whole = Agenda.in_turn(step.agenda for step in chain.values())
    if len(whole.targets) > MAX_STAGES:
        raise MachineError(f"{where}the agendas have {len(whole.targets)} objects; at most {MAX_STAGES} are supported")
    return replace(draft, states=tuple(chain), large=whole)


_NAME = re.compile(r"[A-Za-z0-9_]{1,40}")
_POSITIVE = re.compile(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?")
# Quantifiers that cannot give back: a line takes time in proportion to its length, however many blanks it holds.
_OWN_EDGE = re.compile(
    r"((?:(?!->)\S)+)\s*->\s*(\S+)\s+(?:(?P<when>when\b)|(?P<agenda>agenda(?=\s|$))|otherwise(?=\s|$))"
)
_REWARD, _DO = re.compile(r"\breward\b"), re.compile(r"\bdo\b")
_ENDS = re.compile(r"(?:(?:(?!->)\S)+\s*->\s*(?:\S+\s*)?)?")
"""As much of an edge as there is before `when` or `otherwise`."""
_KEYWORDS = ("name", "states", "start", "success", "failure", "score", "potential", "clock", "count")
_VARIABLE = re.compile(r"\s*(clock|count)(?=\s|$)")
_STATE_POTENTIAL = re.compile(r"potential\s+([^\s=]+)\s*=")


@contextmanager
def _located(source: str, statement: Statement) -> Iterator[None]:
    """Let the message of an error begin with file and line."""
    try:
        yield
    except MachineError as problem:
        raise MachineError(f"{place(source, statement.number)}{problem}") from None


def read_own(text: str, source: str) -> Draft:
    """Read the text of a ``.rm`` file."""
    fields: dict[str, list[str]] = {}
    edges: list[Edge | AgendaEdge] = []
    potentials: list[StatePotential] = []
    variables = _read_variables(text, source)
    for statement in statements(text):
        with _located(source, statement):
            if "->" in statement.text:
                edges.append(_read_own_edge(statement, variables))
            elif match := _STATE_POTENTIAL.match(statement.text, statement.place):
                potentials.append(_read_potential(statement, match, variables))
            elif not _VARIABLE.match(statement.text):
                _read_field(statement, fields)
    if not fields.get("start"):
        raise MachineError(f"{source}: no start state; add a line such as 'start u0'")
    start = fields["start"][0]
    success, failure = tuple(fields.get("success", ())), tuple(fields.get("failure", ()))
    seen = dict.fromkeys([*fields.get("states", ()), start, *(name for e in edges for name in (e.source, e.target))])
    draft = Draft(
        start=start,
        states=tuple(name for name in seen if name not in success and name not in failure),
        edges=tuple(edge for edge in edges if isinstance(edge, Edge)),
        success=success,
        failure=failure,
        score=cast(Literal["task", "own"], fields.get("score", ["task"])[0]),
        potential=float(fields["potential"][0]) if "potential" in fields else 0.0,
        state_potentials=tuple(potentials),
        name=" ".join(fields.get("name", ())),
        source=source,
        variables=tuple(variables.values()),
    )
    agendas = [edge for edge in edges if isinstance(edge, AgendaEdge)]
    return _expand(draft, agendas) if agendas else draft


def _read_variables(text: str, source: str) -> dict[str, Variable]:
    """Return the clocks and counts that a text declares, by name."""
    variables: dict[str, Variable] = {}
    for statement in statements(text):
        if _VARIABLE.match(statement.text) and "->" not in statement.text:
            with _located(source, statement):
                variable = read_variable(statement)
                if variables.setdefault(variable.name, variable) is not variable:
                    raise fault(f"{variable.name} is declared twice; keep one line", statement.place)
    return variables


def _read_own_edge(statement: Statement, variables: dict[str, Variable]) -> Edge | AgendaEdge:
    begin = statement.place
    head = _OWN_EDGE.match(statement.text, begin)
    done = None if head is None else _DO.search(statement.text, head.end())
    line = statement.text if done is None else statement.text[: done.start()].rstrip()
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
    guard = parse_guard(line[head.end() : guard_end], edge, head.end(), variables) if head["when"] else Otherwise()
    reward = Number(0.0) if paid is None else parse_reward(line[paid.end() :], edge, paid.end(), variables)
    if agenda is not None and (variables or done):
        raise fault(
            "agenda: has no deadlines; in a machine with clocks or counts write its edges", head.start("agenda")
        )
    if agenda is not None:
        return AgendaEdge(head[1], head[2], agenda, reward, statement.number)
    actions = () if done is None else read_actions(statement.text[done.end() :], done.end(), variables)
    return Edge(head[1], head[2], guard, reward, statement.number, actions)


def _read_potential(statement: Statement, head: re.Match[str], variables: dict[str, Variable]) -> StatePotential:
    _check_state(head[1], head.start(1))
    value = parse_reward(statement.text[head.end() :], f"potential {head[1]}", head.end(), variables)
    return StatePotential(head[1], value, statement.number)


def _read_agenda(line: str, begin: int, end: int) -> Agenda:
    """Read the parts of an agenda, each an object or several in turn: ``a b-c d``."""
    words = [(match[0], begin + match.start()) for match in re.finditer(r"-|[^\s-]+", line[begin:end])]
    parts: list[list[str]] = []
    places: list[int] = []
    for (before, _), (word, where) in pairwise([("", begin), *words, ("", len(line[:end].rstrip()))]):
        if before != "-" and (not word or (word == "-" and parts)):
            continue
        if not is_object(split_object(word)[0]) and not is_label(word):
            found = repr(word[:40]) if word else "the end"
            raise fault(f"agenda: expected {OBJECT_IN_WORDS}, found {found}; write agenda a b-c d", where)
        if before == "-":
            parts[-1].append(word)
        else:
            parts.append([word])
            places.append(where)
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
            f"unknown statement {keyword[:40]!r}{did_you_mean(keyword, {*_KEYWORDS} - fields.keys())}; "
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


def write_actions(edge: Edge, before: str = "  do ") -> str:
    """Return what an edge does to clocks and counts as text behind its reward; empty if it does nothing."""
    return before * bool(edge.actions) + ", ".join(action.write() for action in edge.actions)


def write_machine(draft: Draft) -> str:
    """Write a machine as ``.rm`` text; reading it gives an equal machine."""
    draft = draft.written or draft
    lines = [f"name    {draft.name}"] if draft.name else []
    lines += [f"states  {' '.join(draft.states)}", f"start   {draft.start}"]
    terminals = {"success": draft.success, "failure": draft.failure}
    lines += [f"{word} {' '.join(names)}" for word, names in terminals.items() if names]
    if draft.score != "task":
        lines.append(f"score   {draft.score}")
    if draft.potential:
        lines.append(f"potential {write(Number(draft.potential))}")
    lines += [f"potential {one.state} = {write(one.value)}" for one in draft.state_potentials]
    lines += [variable.write() for variable in draft.variables]
    lines.append("")
    rows = [(f"{u} -> {v}", agenda, f"reward {paid}") for u, v, agenda, paid in draft.statements()]
    for edge in draft.edges:
        guard = "otherwise" if isinstance(edge.guard, Otherwise) else f"when {write(edge.guard)}"
        paid = f"reward {write(edge.reward)}"
        rows.append((f"{edge.source} -> {edge.target}", guard, paid + write_actions(edge)))
    widths = [max((len(row[i]) for row in rows), default=0) for i in (0, 1)]
    lines += [f"{way:<{widths[0]}}  {guard:<{widths[1]}}  {paid}" for way, guard, paid in rows]
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
    with _located(source, first):
        if not _match_whole(_START, first):
            raise fault("no start state; the first line must be its number, such as 0", first.place)
    start, second = str(int(first.text)), rest[0] if rest else first
    with _located(source, second):
        match = _match_whole(_TERMINALS, second) if rest else None
        lacks_list = fault("expected the list of terminal states, such as [2]", second.place)
        if match is None and not (rest and second.text[second.place] == "("):
            raise lacks_list
    edges = []
    for statement in rest[match is not None :]:
        with _located(source, statement):
            edges.append(_read_reference_edge(statement))
    if match is not None:
        success = tuple(dict.fromkeys(str(int(word)) for word in (match[1] or "").split(",") if word.strip()))
        failure: tuple[str, ...] = ()
    else:
        success, failure = _terminals_without_list(edges)
        with _located(source, second):
            if not success:
                raise lacks_list
    edges = [edge for edge in edges if edge.source not in success]  # as the reference: nothing leaves a terminal
    named = {start, *(name for edge in edges for name in (edge.source, edge.target))}
    return Draft(
        start=start,
        states=tuple(sorted(named - {*success, *failure}, key=int)),
        edges=tuple(edges),
        success=success,
        failure=failure,
        score="own",
        source=source,
    )


def _terminals_without_list(edges: Sequence[Edge]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the states that a ``True`` loop is the only edge of, and those that no edge leaves, in order."""
    leaving: dict[str, list[Edge]] = {name: [] for edge in edges for name in (edge.source, edge.target)}
    for edge in edges:
        leaving[edge.source].append(edge)
    success = [u for u, ways in leaving.items() if [(e.target, e.guard) for e in ways] == [(u, Truth(True))]]
    return tuple(sorted(success, key=int)), tuple(sorted((u for u, ways in leaving.items() if not ways), key=int))


def _read_reference_edge(statement: Statement) -> Edge:
    match = _match_whole(_REFERENCE_EDGE, statement)
    if match is None:
        raise fault(
            "expected (STATE,STATE,'GUARD',ConstantRewardFunction(NUMBER)), found "
            f"{statement.text.lstrip()[:60]!r}; nothing else is accepted and nothing in a file is executed",
            statement.place,
        )
    before, after, reward = match["before"], match["after"], float(match["reward"])
    if not math.isfinite(reward):
        raise fault(f"the reward {match['reward'][:40]} is too large", match.start("reward"))
    quoted = "single" if match["single"] is not None else "double"
    guard = _CONSTANTS.get(match[quoted]) or parse_guard(
        match[quoted], f"edge {before} -> {after}", match.start(quoted)
    )
    return Edge(str(int(before)), str(int(after)), guard, Number(reward), statement.number)


def _match_whole(pattern: re.Pattern[str], statement: Statement) -> re.Match[str] | None:
    return pattern.fullmatch(statement.text, statement.place)


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
