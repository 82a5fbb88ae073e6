"""Linear temporal logic on finite traces, made into the smallest machine that watches it.

A trace is what the agent reads, one label or none after every move. A formula is *progressed* by a label into what the
rest of the trace must satisfy. Two marks keep the end of the trace apart: *more* (there is a rest) and *end* (there is
none); with them the rules are

    prog(X f) = f & more                       prog(N f) = f | end
    prog(F f) = prog(f) | (F f & more)         prog(f U g) = prog(g) | (prog(f) & f U g & more)
    prog(G f) = prog(f) & (G f | end)          prog(f R g) = prog(g) & (prog(f) | f R g | end)

The trace read so far satisfies the formula when what is left of it holds of an empty rest. Formulas are kept in
negation normal form, and as states told apart as alternatives of what must hold together; states from which nothing
satisfies become one failure, and states that no continuation can tell apart are merged (see `automaton`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from fastrm.errors import MachineError
from fastrm.machines import reward_kinds
from fastrm.machines.automaton import DONE, TooManyStates, explore, smallest
from fastrm.machines.language.draft import Draft
from fastrm.machines.language.tokens import Tokens
from fastrm.machines.reward_kinds import Payment
from fastrm.worlds import OBJECT_IN_WORDS, is_object

MAX_STATES = 2000
MAX_LENGTH = 2000
MAX_DEPTH = 240  # levels of the grammar; parentheses are five
UNARY = {"!": "not", "X": "strong next", "N": "weak next", "F": "eventually", "G": "always"}
BINARY = {"U": "until", "R": "release", "W": "weak until"}
_LEVELS = (("<->",), ("->",), ("|",), ("&",), tuple(BINARY))
_TOKEN = r"(?P<sign><->|->)|(?P<name>[A-Za-z_]\w*)"
_KNOWN = f"operators are ! & | -> <-> X N F G U R W, a proposition is {OBJECT_IN_WORDS}"


@dataclass(frozen=True, slots=True)
class Formula:
    """A node: an operator and its operands, or a literal."""

    sign: str
    parts: tuple[Formula, ...] = ()
    name: str = ""


TRUE, FALSE = Formula("true"), Formula("false")
MORE, END = Formula("more"), Formula("end")
State = frozenset[frozenset[Formula]]
"""A formula as alternatives of what must hold together."""


class _Parser(Tokens):
    """Recursive descent over the tokens of a formula."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str) or len(text) > MAX_LENGTH:
            raise MachineError(f"a formula is text of at most {MAX_LENGTH} characters")
        super().__init__(text, _TOKEN, f"formula {text[:60]!r}", deepest=MAX_DEPTH, known=_KNOWN)
        self.letters: set[str] = set()

    def parse(self) -> Formula:
        """Return the formula in negation normal form."""
        formula = self.level(0)
        if self.peek():
            raise self.missing("an operator or the end")
        return _normal(formula, True)

    def level(self, k: int) -> Formula:
        if k == len(_LEVELS):
            return self.unary()
        with self.deeper():
            left = self.level(k + 1)
            if sign := self.accept(*_LEVELS[k]):
                right = self.level(k if sign in ("->", *BINARY) else k + 1)  # these group to the right
                left = Formula(sign, (left, right))
                while sign := self.accept(*_LEVELS[k]):
                    left = Formula(sign, (left, self.level(k + 1)))
            return left

    def unary(self) -> Formula:
        place = self.place()
        if sign := self.accept(*UNARY):
            with self.deeper():
                return Formula(sign, (self.unary(),))
        if self.accept("("):
            inner = self.level(0)
            self.expect(")", place)
            return inner
        if word := self.accept("true", "false"):
            return Formula(word)
        if is_object(self.peek()):
            self.letters.add(self.peek())
            return Formula("is", name=self.take())
        raise self.missing("a formula")


def _normal(f: Formula, positive: bool) -> Formula:
    """Push negations down to the literals; -> and <-> and W are written out."""
    if f.sign in ("true", "false"):
        return TRUE if (f.sign == "true") == positive else FALSE
    if f.sign == "is":
        return f if positive else Formula("is not", name=f.name)
    if f.sign == "!":
        return _normal(f.parts[0], not positive)
    if f.sign in ("X", "N", "F", "G"):
        other = {"X": "N", "N": "X", "F": "G", "G": "F"}[f.sign]
        return Formula(f.sign if positive else other, (_normal(f.parts[0], positive),))
    left, right = f.parts
    if f.sign == "->":
        return _normal(Formula("|", (Formula("!", (left,)), right)), positive)
    if f.sign == "<->":
        return _normal(Formula("&", (Formula("->", (left, right)), Formula("->", (right, left)))), positive)
    if f.sign == "W":  # f W g: g releases f | g
        return _normal(Formula("R", (right, Formula("|", (left, right)))), positive)
    other = {"&": "|", "|": "&", "U": "R", "R": "U"}[f.sign]
    return Formula(f.sign if positive else other, (_normal(left, positive), _normal(right, positive)))


def _both(one: State, two: State) -> State:
    return _shortest({a | b for a in one for b in two})


def _either(one: State, two: State) -> State:
    return _shortest(one | two)


def _shortest(alternatives: set[frozenset[Formula]] | State) -> State:
    """Drop alternatives that contradict themselves or ask for more than another."""
    fine = [a for a in alternatives if not (MORE in a and END in a)]
    return frozenset(a for a in fine if not any(b < a for b in fine))


_YES: State = frozenset({frozenset()})
_NO: State = frozenset()


def _as_state(f: Formula) -> State:
    if f.sign == "&":
        return _both(_as_state(f.parts[0]), _as_state(f.parts[1]))
    if f.sign == "|":
        return _either(_as_state(f.parts[0]), _as_state(f.parts[1]))
    return _YES if f == TRUE else _NO if f == FALSE else frozenset({frozenset({f})})


@lru_cache(maxsize=100_000)
def _progress(f: Formula, label: str) -> State:
    """Return what the rest of a trace must satisfy after a label ("" for none)."""
    match f.sign:
        case "true" | "more":
            return _YES
        case "false" | "end":
            return _NO
        case "is":
            return _YES if f.name == label else _NO
        case "is not":
            return _NO if f.name == label else _YES
        case "&":
            return _both(_progress(f.parts[0], label), _progress(f.parts[1], label))
        case "|":
            return _either(_progress(f.parts[0], label), _progress(f.parts[1], label))
        case "X":
            return _both(_as_state(f.parts[0]), _as_state(MORE))
        case "N":
            return _either(_as_state(f.parts[0]), _as_state(END))
        case "F":
            return _either(_progress(f.parts[0], label), _both(_as_state(f), _as_state(MORE)))
        case "G":
            return _both(_progress(f.parts[0], label), _either(_as_state(f), _as_state(END)))
        case "U":
            stay = _both(_progress(f.parts[0], label), _both(_as_state(f), _as_state(MORE)))
            return _either(_progress(f.parts[1], label), stay)
        case _:  # R
            stay = _either(_progress(f.parts[0], label), _either(_as_state(f), _as_state(END)))
            return _both(_progress(f.parts[1], label), stay)


def _step(state: State, label: str) -> State:
    found: State = _NO
    for together in state:
        rest = _YES
        for f in together:
            rest = _both(rest, _progress(f, label))
        found = _either(found, rest)
    return found


def _satisfied(state: State) -> bool:
    """Whether an empty rest will do."""
    return any(all(f == END for f in together) for together in state)


def build(text: str, success_reward: float, failure_reward: float) -> Draft:
    """Make the smallest machine that succeeds at the first prefix satisfying a formula and fails where none can follow.

    Raises
    ------
    MachineError
        When the text is not a formula, nothing satisfies it, or it needs too many states.
    """
    parser = _Parser(text)
    formula, labels = parser.parse(), sorted(parser.letters)

    def step(state: State, label: str) -> State | int:
        rest = _step(state, label)
        return DONE if _satisfied(rest) else rest

    try:
        moves = explore(_as_state(formula), labels, step, MAX_STATES)
    except TooManyStates:
        raise MachineError(f"formula {text[:60]!r}: needs more than {MAX_STATES} states") from None
    automaton = smallest(labels, moves)
    if automaton is None:
        raise MachineError(f"formula {text!r}: nothing satisfies it (at most one object stands on a cell)")
    payment = Payment(terminal_reward=success_reward, failure_reward=failure_reward)
    return reward_kinds.build(automaton, payment, _name(text), "<formula>")


def _name(text: str) -> str:
    """Return the formula as a name; arrows mean edges there."""
    return f"LTLf {' '.join(text.replace('<->', ' iff ').replace('->', ' implies ').split())}"
