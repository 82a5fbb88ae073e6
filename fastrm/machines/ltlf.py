"""Linear temporal logic on finite traces: the smallest machine that watches a formula.

A trace is what the agent reads, one label or none after every move. A formula is *progressed* by a label into what the
rest of the trace must satisfy: a truth value for an empty rest, and a formula for one that goes on,

    prog(X f) = false, f                prog(f U g) = prog(g) | (prog(f) & (false, f U g))

while letters are true or false, and what joins formulas joins their progressions. The others are written with these:
N f = !X !f, F f = true U f, G f = !F !f, f R g = !(!f U !g), f W g = g R (f | g). The trace read so far satisfies the
formula when what is left of it holds of an empty rest.

Formulas are Boolean functions of letters, X f and f U g, stored as reduced ordered decision diagrams (Bryant 1986). A
diagram asks for one variable at a time, the newest first, and goes to one of two smaller diagrams. No variable is asked
for in vain and no diagram is stored twice, so equal functions have the same number and ``<->`` costs no more than
``&``. Some functions have exponential diagrams; the work is bounded. `automaton` then merges equivalent states.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fastrm.errors import MachineError
from fastrm.machines import reward_kinds
from fastrm.machines.automaton import DONE, TooManyStates, explore, minimise
from fastrm.machines.language.drafts import Draft
from fastrm.machines.language.tokens import Tokens
from fastrm.machines.reward_kinds import Payment
from fastrm.worlds import OBJECT_IN_WORDS, is_object

NEVER, ALWAYS = 0, 1
"""The two diagrams that ask for nothing."""

_Question = tuple[int, int, int]


class TooMuchWork(Exception):
    """Diagrams would take more steps than allowed."""


MAX_STATES = 2000
MAX_LENGTH = 2000
MAX_DEPTH = 240  # levels of the grammar; parentheses are five
MAX_WORK = 600_000  # steps of diagrams: about a second; everyday formulas take a few hundred
_LEVELS = (("<->",), ("->",), ("|",), ("&",), ("U", "R", "W"))
_TO_THE_RIGHT = ("->", "U", "R", "W")  # operators that group to the right
_TOKEN = r"(?P<sign><->|->)|(?P<name>[A-Za-z_]\w*)"
_KNOWN = f"operators are ! & | -> <-> X N F G U R W, a proposition is {OBJECT_IN_WORDS}"


class Part(NamedTuple):
    """A formula that is no Boolean function of others: a letter, X f or f U g, its operands as diagrams."""

    sign: str
    left: int = NEVER
    right: int = NEVER


class Rest(NamedTuple):
    """What the rest of a trace must satisfy."""

    empty: bool
    """Whether an empty rest satisfies it."""
    more: int
    """The formula, as a diagram, that a rest which goes on must satisfy."""


class Formulas:
    """Formulas as diagrams over their parts, built by operators and progressed by labels.

    >>> formulas = Formulas()
    >>> a, b = formulas.part(Part("a")), formulas.part(Part("b"))
    >>> formulas.both(a, b) == formulas.both(b, a)
    True
    """

    def __init__(self) -> None:
        self.count = 0
        self.nodes: list[_Question] = [(-1, NEVER, NEVER), (-1, ALWAYS, ALWAYS)]
        """Variable of every diagram, and the diagrams to go to where it is false and where it is true."""
        self._numbers: dict[_Question, int] = {}
        self._chosen: dict[_Question, int] = {}
        self._diagrams: dict[Part, int] = {}
        self._parts: dict[int, Part] = {}
        self._rests: dict[str, dict[int, Rest]] = {}
        self.unary: dict[str, Callable[[int], int]] = {
            "!": self.negate,
            "X": lambda f: self.part(Part("X", f)),
            "N": lambda f: self.negate(self.part(Part("X", self.negate(f)))),
            "F": lambda f: self.until(ALWAYS, f),
            "G": lambda f: self.negate(self.until(ALWAYS, self.negate(f))),
        }
        self.binary: dict[str, Callable[[int, int], int]] = {
            "&": self.both,
            "|": self.either,
            "->": lambda f, g: self.choose(f, g, ALWAYS),
            "<->": lambda f, g: self.choose(f, g, self.negate(g)),
            "U": self.until,
            "R": self.release,
            "W": lambda f, g: self.release(g, self.either(f, g)),
        }

    def work(self) -> None:
        """Count a step; raise TooMuchWork after the last one allowed."""
        self.count += 1
        if self.count > MAX_WORK:
            raise TooMuchWork

    def negate(self, f: int) -> int:
        """Return not f."""
        return self.choose(f, NEVER, ALWAYS)

    def both(self, f: int, g: int) -> int:
        """Return f and g."""
        return self.choose(f, g, NEVER)

    def either(self, f: int, g: int) -> int:
        """Return f or g."""
        return self.choose(f, ALWAYS, g)

    def choose(self, f: int, g: int, h: int) -> int:
        """Return g where f holds and h where it does not."""
        answer, nodes, todo = self._known(f, g, h), self.nodes, [(f, g, h)]
        while answer is None:  # no recursion: diagrams may be deeper than Python's stack
            self.work()
            f, g, h = todo[-1]
            (f_asks, f_low, f_high), (g_asks, g_low, g_high), (h_asks, h_low, h_high) = nodes[f], nodes[g], nodes[h]
            top = max(f_asks, g_asks, h_asks)
            if f_asks != top:
                f_low = f_high = f
            if g_asks != top:
                g_low = g_high = g
            if h_asks != top:
                h_low = h_high = h
            low, high = self._known(f_low, g_low, h_low), self._known(f_high, g_high, h_high)
            if low is None:
                todo.append((f_low, g_low, h_low))
            if high is None:
                todo.append((f_high, g_high, h_high))
            if low is not None and high is not None:
                found = self._chosen[todo.pop()] = self._node(top, low, high)
                answer = None if todo else found
        return answer

    def _known(self, f: int, g: int, h: int) -> int | None:
        """Return the result where it is trivial or known, else None."""
        if f == ALWAYS or g == h:
            return g
        if f == NEVER:
            return h
        if g == ALWAYS and h == NEVER:
            return f
        nodes = self.nodes
        if nodes[f][0] == f and nodes[g][0] < f and nodes[h][0] < f:  # a variable newer than all of g and h
            return self._node(f, h, g)
        return self._chosen.get((f, g, h))

    def _node(self, variable: int, low: int, high: int) -> int:
        if low == high:
            return low
        number = self._numbers.setdefault((variable, low, high), len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append((variable, low, high))
        return number

    def part(self, part: Part) -> int:
        """Return the diagram of a part, the same whenever it is the same."""
        if part not in self._diagrams:
            found = self._diagrams[part] = self._node(len(self.nodes), NEVER, ALWAYS)  # a variable is its place
            self._parts[found] = part
        return self._diagrams[part]

    def until(self, f: int, g: int) -> int:
        """Return f U g."""
        return self.part(Part("U", f, g))

    def release(self, f: int, g: int) -> int:
        """Return f R g."""
        return self.negate(self.until(self.negate(f), self.negate(g)))

    def progress(self, formula: int, label: str) -> Rest:
        """Return what the rest of a trace must satisfy after a label ("" for none)."""
        known = self._rests.setdefault(label, {NEVER: Rest(False, NEVER), ALWAYS: Rest(True, ALWAYS)})
        todo = [formula]
        while todo:  # no recursion: diagrams may be deeper than Python's stack
            here = todo[-1]
            if here in known:
                todo.pop()
                continue
            variable, low, high = self.nodes[here]
            if variable == here:
                todo += self._progress_part(here, label, known)
            elif variable in known and low in known and high in known:
                self.work()
                asked, no, yes = known[variable], known[low], known[high]
                more = self.choose(asked.more, yes.more, no.more)
                known[here] = Rest(yes.empty if asked.empty else no.empty, more)
            else:
                todo += (variable, low, high)
        return known[formula]

    def _progress_part(self, formula: int, label: str, known: dict[int, Rest]) -> tuple[int, ...]:
        """Progress a part if its operands are; return the operands to progress first."""
        sign, f, g = self._parts[formula]
        if sign == "X":
            known[formula] = Rest(False, f)
        elif sign != "U":
            known[formula] = known[ALWAYS if sign == label else NEVER]
        elif f in known and g in known:
            stay = self.both(known[f].more, formula)
            known[formula] = Rest(known[g].empty, self.either(known[g].more, stay))
        else:
            return f, g
        return ()


class _Parser(Tokens):
    """Recursive descent over the tokens of a formula."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str) or len(text) > MAX_LENGTH:
            raise MachineError(f"a formula is text of at most {MAX_LENGTH} characters")
        super().__init__(text, _TOKEN, f"formula {text[:60]!r}", deepest=MAX_DEPTH, known=_KNOWN)
        self.letters: set[str] = set()
        self.formulas = Formulas()

    def parse(self) -> int:
        """Return the diagram of the formula."""
        formula = self.level(0)
        if self.next.text:
            raise self.missing("an operator or the end")
        return formula

    def level(self, k: int) -> int:
        if k == len(_LEVELS):
            return self.unary()
        with self.deeper():
            left = self.level(k + 1)
            if sign := self.accept(*_LEVELS[k]):
                right = self.level(k if sign in _TO_THE_RIGHT else k + 1)
                left = self.formulas.binary[sign](left, right)
                while sign := self.accept(*_LEVELS[k]):
                    left = self.formulas.binary[sign](left, self.level(k + 1))
            return left

    def unary(self) -> int:
        place = self.next.place
        if sign := self.accept(*self.formulas.unary):
            with self.deeper():
                return self.formulas.unary[sign](self.unary())
        if self.accept("("):
            inner = self.level(0)
            self.expect(")", place)
            return inner
        if word := self.accept("true", "false"):
            return ALWAYS if word == "true" else NEVER
        if is_object(self.next.text):
            self.letters.add(self.next.text)
            return self.formulas.part(Part(self.take()))
        raise self.missing("a formula")


def build(text: str, success_reward: float, failure_reward: float) -> Draft:
    """Build the smallest machine that succeeds at the first prefix satisfying a formula and fails where none can."""
    parser = _Parser(text)

    def step(state: int, label: str) -> int:
        rest = parser.formulas.progress(state, label)
        return DONE if rest.empty else rest.more

    try:
        formula, labels = parser.parse(), sorted(parser.letters)
        moves = explore(formula, labels, step, MAX_STATES)
    except TooManyStates:
        raise MachineError(f"{parser.what}: needs more than {MAX_STATES} states; split it into several tasks") from None
    except TooMuchWork:
        raise MachineError(f"{parser.what}: takes too much work; split it into several tasks") from None
    automaton = minimise(labels, moves)
    if automaton is None:
        raise MachineError(f"{parser.what}: nothing satisfies it (at most one object stands on a cell)")
    payment = Payment(terminal_reward=success_reward, failure_reward=failure_reward)
    name = " ".join(["LTLf", *text.replace("<->", " iff ").replace("->", " implies ").split()])  # arrows mean edges
    return reward_kinds.build(automaton, payment, name, "<formula>")
