"""Tasks as short texts, the smallest automata that watch them, and the agendas that machines watch.

::

    a-b-c         a, then b, then c
    {a, b, c}     all of them, in any order
    a | b         one of them
    3*a           a three times
    a-{b,c}-d     any of these inside one another; ( ) group
    a-b !n !m     never n nor m: the episode fails there
    coffee-desk   names of several letters, where the world has such labels
    a-b within 9  b at most 9 moves after a: a deadline for the part before it; ( ) for more than that part

A part is over as soon as it is done. Alternatives and the parts of ``{ }`` all watch every label, so one visit may
serve several of them. A label is read after every move, also one that a wall blocked. ``3*a`` counts three such
readings, of the same object or of others; where objects are *used up*, it asks for three different ones, known as a1,
a2, ... in reading order. Only what ``N*`` counts is used up, and only letters can then be repeated.

A task is progressed by a label into what is left of it, as regular expressions are by derivatives.

An *agenda* is a task of visits in turn and in any order. Machines are stored as states and edges, so `find_agenda` has
to find their stages again. It makes two guesses and checks each by following machine and agenda side by side: the task
that the machine is named after, and the one in which every letter is asked for once, or always as often before another.
A letter is then asked for after whatever was done in all states in which it leads on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fastrm.errors import MachineError
from fastrm.machines.automaton import DONE, FAILED, Automaton, TooManyStates, explore, minimise
from fastrm.machines.language.drafts import MAX_STAGES, MAX_STATES, Agenda, Draft
from fastrm.machines.language.expressions import (
    Chain,
    Expression,
    Feature,
    Otherwise,
    Proposition,
    evaluate,
    leaves,
)
from fastrm.machines.language.tokens import Tokens
from fastrm.machines.reward_kinds import KINDS
from fastrm.worlds import OBJECT_IN_WORDS, is_label, is_object, split_object

MAX_TARGETS = 10
MAX_REPEATS = 100
MAX_LENGTH = 1000
MAX_DEPTH = 30
WITHIN = "within"
_TOKEN = r"(?P<number>[0-9]+)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
_KNOWN = (
    "operators are - (then), { , } (any order), | (or), N* (repeat), within N (a deadline), ( ), and at the end of all "
    "!n (avoid)"
)


@dataclass(frozen=True, slots=True)
class Visit:
    """Stand on an object of a type, or where a label holds."""

    letter: str


@dataclass(frozen=True, slots=True)
class Different:
    """Stand on `count` more objects of a type, each of them once."""

    letter: str
    count: int
    used: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class InTurn:
    """One part after the other."""

    parts: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class AnyOrder:
    """All parts."""

    parts: frozenset[Term]


@dataclass(frozen=True, slots=True)
class OneOf:
    """The first part that is done."""

    parts: frozenset[Term]


@dataclass(frozen=True, slots=True)
class Within:
    """A part, in at most `left` more moves."""

    part: Term
    left: int


Term = Visit | Different | InTurn | AnyOrder | OneOf | Within
TOO_LATE = OneOf(frozenset())
"""What nothing completes."""


def progress(term: Term, label: str) -> Term | None:
    """Return what is left of a task after a move that reads a label or none, None if it is done."""
    match term:
        case Visit(letter):
            return None if _is_of(label, letter) else term
        case Different(letter, count, used):
            if not _is_of(label, letter) or label in used:
                return term
            return Different(letter, count - 1, used | {label}) if count > 1 else None
        case InTurn(parts):
            first = progress(parts[0], label)
            rest = parts[1:] if first is None else (first, *parts[1:])
            return TOO_LATE if first == TOO_LATE else rest[0] if len(rest) == 1 else InTurn(rest) if rest else None
        case AnyOrder(several):
            left = {progress(part, label) for part in several} - {None}
            if TOO_LATE in left:
                return TOO_LATE
            return left.pop() if len(left) == 1 else AnyOrder(frozenset(filter(None, left))) if left else None
        case OneOf(several):
            left = {progress(part, label) for part in several} - {TOO_LATE}
            return None if None in left else left.pop() if len(left) == 1 else OneOf(frozenset(filter(None, left)))
        case Within(part, moves):
            later = progress(part, label)
            return None if later is None else TOO_LATE if moves == 1 else Within(later, moves - 1)


def _is_of(label: str, letter: str) -> bool:
    """Return whether a label is a letter or name, or a single object of it.

    >>> [_is_of(label, "a") for label in ("a", "a2", "apple", "b")]
    [True, True, False, False]
    """
    return label == letter or (label[:1] == letter and label[1:].isdigit())


def automaton(text: str, objects: Mapping[str, int] | None = None) -> Automaton:
    """Read a task and return the smallest automaton that watches it.

    With `objects`, the number of objects of each type on a map, visited objects are used up by ``N*``.

    >>> automaton("{a,b}").moves[0]
    {'': 0, 'a': 1, 'b': 2}
    """
    parser = _Parser(text, objects)
    term, avoided = parser.parse()
    if parser.too_wide is not None:
        raise parser.too_wide
    labels = [label for letter in parser.asked for label in parser.labels_of(letter)]

    def step(state: Term, label: str) -> Term | int:
        if label in avoided:
            return FAILED
        rest = progress(state, label)
        return DONE if rest is None else rest

    try:
        moves = explore(term, [*labels, *avoided], step, MAX_STATES)
    except TooManyStates:
        raise parser.error(f"the task needs more than {MAX_STATES} machine states; split it", parser.widest) from None
    found = minimise([*labels, *avoided], moves)
    if found is None:
        raise parser.error("nothing completes the task", 0)
    return found


def agenda(text: str) -> Agenda | None:
    """Read a task and return its stages, in the order of the text; None if it is more than visits in turn or any order.

    >>> agenda("{a-b,c}-d").needs, agenda("a|b")
    ((0, 1, 0, 7), None)
    """
    parser = _Parser(text, None)
    term, avoided = parser.parse()
    return None if avoided else _agenda_of(term, parser.written)


def _agenda_of(term: Term, written: Mapping[Term, tuple[Term, ...]]) -> Agenda | None:
    if isinstance(term, Visit):
        return Agenda.visit(term.letter)
    if not isinstance(term, InTurn | AnyOrder):
        return None
    parts = [_agenda_of(part, written) for part in written.get(term, tuple(term.parts))]
    known = [part for part in parts if part is not None]
    build = Agenda.in_turn if isinstance(term, InTurn) else Agenda.any_order
    return build(known) if len(known) == len(parts) else None


def _size(term: Term) -> int:
    """Return the most visits that a task may take."""
    if isinstance(term, OneOf):
        return max(map(_size, term.parts))
    if isinstance(term, Within):
        return _size(term.part)
    return sum(map(_size, term.parts)) if isinstance(term, InTurn | AnyOrder) else 1


class _Parser(Tokens):
    """Recursive descent over the tokens of a task."""

    def __init__(self, text: str, objects: Mapping[str, int] | None) -> None:
        if not isinstance(text, str) or len(text) > MAX_LENGTH:
            raise MachineError(f"a task is a text of at most {MAX_LENGTH} characters, such as a-{{b,c}}-d")
        super().__init__(text, _TOKEN, f"task {text[:60]!r}", deepest=MAX_DEPTH, known=_KNOWN)
        self.objects, self.widest = objects, 0
        self.asked: dict[str, int] = {}
        self.counted: set[str] = set()
        self.too_wide: MachineError | None = None
        self.written: dict[Term, tuple[Term, ...]] = {}  # the parts of { } in the order of the text

    def parse(self) -> tuple[Term, dict[str, int]]:
        """Return the task and the places of the letters to avoid."""
        term = self.choice()
        avoided: dict[str, int] = {}
        while self.accept("!"):
            place = self.next.place
            letter = self.letter("the letter to avoid after !")
            if letter in self.asked:
                raise self.error(
                    f"{letter!r} is to be avoided, but the task asks for it in column {self.asked[letter] + 1}", place
                )
            avoided[letter] = place
        if self.next.text:
            raise self.error(f"unexpected {self.next.text[:40]!r}; {_KNOWN}")
        return term, avoided

    def choice(self) -> Term:
        parts = [self.turn()]
        while self.accept("|"):
            parts.append(self.turn())
        return parts[0] if len(set(parts)) == 1 else OneOf(frozenset(parts))

    def turn(self) -> Term:
        parts = [self.timed()]
        while self.accept("-"):
            parts.append(self.timed())
        return parts[0] if len(parts) == 1 else InTurn(tuple(parts))

    def timed(self) -> Term:
        term = self.part()
        if not self.accept(WITHIN):
            return term
        place = self.next.place
        if self.next.kind != "number":
            raise self.missing("a number of moves, as in 'b within 10'")
        digits = self.take()
        moves = int(digits) if len(digits) < 10 else MAX_STATES + 1
        if not 1 <= moves <= MAX_STATES:
            raise self.error(f"within {digits[:10]}: from 1 to {MAX_STATES} moves", place)
        if self.too_wide is not None:
            raise self.error(f"agendas have no deadlines; at most {MAX_TARGETS} targets in any order may", place)
        self.widest = place
        return Within(term, moves)

    def part(self) -> Term:
        place = self.next.place
        if self.next.kind == "number":
            return self.repeat(place)
        if sign := self.accept("(", "{"):
            with self.deeper(place):
                term = self.choice() if sign == "(" else self.any_order(place)
            self.expect(")" if sign == "(" else "}", place)
            return term
        letter = self.letter(f"{OBJECT_IN_WORDS}, a number, ( or {{")
        self.asked.setdefault(letter, place)
        return Visit(letter)

    def any_order(self, place: int) -> Term:
        parts: list[Term] = []
        while not parts or self.accept(","):
            here = self.next.place
            part = self.choice()
            if part in parts:
                raise self.error("given twice in { }; to visit it twice write 2*", here)
            parts.append(part)
        if len(parts) > MAX_TARGETS and self.too_wide is None:
            message = f"{len(parts)} targets in any order; at most {MAX_TARGETS} are supported"
            self.too_wide = self.error(f"{message}, {MAX_STAGES} for coupled learning of a Boolean machine", place)
        self.widest = place
        if len(parts) == 1:
            return parts[0]
        self.written.setdefault(whole := AnyOrder(frozenset(parts)), tuple(parts))
        return whole

    def repeat(self, place: int) -> Term:
        digits = self.take()
        count = int(digits) if len(digits) < 10 else MAX_REPEATS + 1
        if not 1 <= count <= MAX_REPEATS:
            raise self.error(f"{digits[:10]}*: repeat from 1 to {MAX_REPEATS} times", place)
        if not self.accept("*"):
            raise self.error(f"a number repeats what follows: write {count}*a", place)
        term = self.part()
        if count * _size(term) > MAX_STATES:
            raise self.error(f"the task needs more than {MAX_STATES} machine states; repeat less often", place)
        if self.objects is None or count == 1:
            return term if count == 1 else InTurn((term,) * count)
        if not isinstance(term, Visit):
            raise self.error(f"where objects are used up, only letters can be repeated, as in {count}*a", place)
        there = self.objects.get(term.letter, 0)
        if there < count:
            raise self.error(f"asks for {count} different {term.letter}, but this map has {there}", place)
        self.counted.add(term.letter)
        self.widest = place
        return Different(term.letter, count)

    def labels_of(self, letter: str) -> list[str]:
        """Return the labels of a letter: itself, or its single objects where they are distinguished."""
        if letter not in self.counted or self.objects is None:
            return [letter]
        return [f"{letter}{k}" for k in range(1, self.objects[letter] + 1)]

    def letter(self, wanted: str) -> str:
        word = self.next.text
        if not is_object(word) and not (self.next.kind == "name" and is_label(word)):
            raise self.missing(wanted)
        return self.take()


MOST_PAIRS = 1 << 14
"""Pairs of a machine state and an agenda that are followed."""
Ways = dict[str, dict[str, str]]
"""Where every object leads from every state; an empty name means success."""


def find_task(draft: Draft) -> Automaton | None:
    """Return the smallest automaton that ends as a machine does; None if more than the label of a move decides.

    >>> find_task(Draft(start="u", states=("u",), edges=(), success=("done",))) is None
    True
    """
    stay = {e.source: e.source for e in draft.edges} | {
        e.source: e.target for e in draft.edges if isinstance(e.guard, Otherwise)
    }
    deciding: dict[str, list[tuple[Expression, str]]] = {state: [] for state in draft.states}
    for edge in draft.edges:
        if isinstance(edge.guard, Otherwise) or edge.target == stay[edge.source]:
            continue  # whatever opens it, without it the same happens
        if any(isinstance(leaf, Feature) for leaf in leaves(edge.guard)):
            return None
        deciding[edge.source].append((edge.guard, edge.target))
    found = [(target in draft.failure, guard) for edges in deciding.values() for guard, target in edges]
    names = dict.fromkeys(leaf.name for _, guard in sorted(found, key=lambda one: one[0]) for leaf in leaves(guard))

    def step(state: str, label: str) -> str | int:
        held: dict[Proposition | Feature, bool] = {Proposition(name): name == label for name in names}
        there = next((target for guard, target in deciding[state] if evaluate(guard, held)), stay.get(state, state))
        return DONE if there in draft.success else FAILED if there in draft.failure else there

    return minimise(tuple(names), explore(draft.start, tuple(names), step, MAX_STATES))


def find_agenda(draft: Draft) -> Agenda | None:
    """Return the agenda that a machine watches, None if it watches none that can be recognised."""
    ways = _ways(draft)
    if ways is None:
        return None
    for guess in (_from_name(draft.name), _from_ways(draft.start, ways)):
        if guess is not None and len(guess.targets) <= MAX_STAGES and _left_in(draft.start, ways, guess):
            return guess
    return None


def stages_left(draft: Draft) -> dict[str, int]:
    """Return the stages that are left, as a bit mask, in every state of a machine that watches an agenda."""
    agenda, ways = find_agenda(draft), _ways(draft)
    return {} if agenda is None or ways is None else _left_in(draft.start, ways, agenda)


def _ways(draft: Draft) -> Ways | None:
    """Return where objects lead; None if a guard is more than some objects, or something can fail."""
    ways: Ways = {state: {} for state in draft.states}
    for edge in draft.edges:
        guard, target = edge.guard, edge.target
        if isinstance(guard, Otherwise) and target == edge.source:
            continue
        parts = guard.operands if isinstance(guard, Chain) and guard.sign == "|" else (guard,)
        names = [part.name for part in parts if isinstance(part, Proposition)]
        if target in draft.failure or len(names) < len(parts):
            return None
        if target != edge.source:
            ways[edge.source] |= dict.fromkeys(names, "" if target in draft.success else target)
    read = {name for row in ways.values() for name in row}
    return ways if all(split_object(name)[1] is None or name[:1] not in read for name in read) else None


def _from_name(name: str) -> Agenda | None:
    """Return the agenda of the task that a machine such as ``{a,b} boolean`` is named after."""
    text, _, kind = name.rpartition(" ")
    try:
        return agenda(text) if kind in KINDS else None
    except MachineError:
        return None


def _from_ways(start: str, ways: Ways) -> Agenda | None:
    """Return the agenda whose k-th visit to a letter is one stage; None if it depends on the way which one it is."""
    done: dict[str, frozenset[tuple[str, int]]] = {start: frozenset()}
    needs: dict[tuple[str, int], frozenset[tuple[str, int]]] = {}
    todo = [start]
    for state in todo:  # grows in the loop
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


def _left_in(start: str, ways: Mapping[str, Mapping[str, str]], agenda: Agenda) -> dict[str, int]:
    """Return what is left of an agenda in every state of a machine; nothing unless it does what the agenda does."""
    seen = {(start, agenda.everything)}
    todo = list(seen)
    while todo:
        state, left = todo.pop()
        if set(ways[state]) != {agenda.targets[i] for i in agenda.open(left)} or len(seen) > MOST_PAIRS:
            return {}
        for letter, there in ways[state].items():
            pair = there, agenda.after(left, letter)
            if bool(pair[0]) != bool(pair[1]):
                return {}
            if there and pair not in seen:
                seen.add(pair)
                todo.append(pair)
    return dict(sorted(seen))
