"""Machines as written, before they are checked, and agendas: what is left to do, in any order that the task allows.

In a machine an agenda is one line for a state and edges for everything that may be left. A state with an agenda becomes
as many states as there are sets of stages that can be left. It keeps its name while everything is left; the others are
called after what is done: ``u0_a``, ``u0_ab``. All its other edges hold in each of them, and lead back to where they
came from if they led back to the state.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from fastrm.errors import MachineError
from fastrm.machines.language.expressions import Expression, Guard, Number, Otherwise, Proposition, constant, write

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
        return left & ~sum(1 << i for i in self.open(left) if self.targets[i] == label)

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
    name: str = ""
    """What the machine is called, empty if it has no name."""
    source: str = field(default="<machine>", compare=False)
    """Where the machine came from, for messages."""
    large: Agenda | None = None
    """The whole task where it has too many machine states to list; there are no edges then."""

    def statements(self) -> list[tuple[str, str, str, int]]:
        """Return state, target, text and reward of the agendas of a `large` machine, one after the other."""
        parts = self.large.statements() if self.large is not None else None
        ends = zip(self.states, (*self.states[1:], self.success[0]), parts or (), strict=parts is not None)
        return [(u, v, f"agenda {' '.join(words)}", int(v in self.success)) for u, v, words in ends]

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


class Expansion(NamedTuple):
    """All states and edges of a machine, or only its agenda where they are too many."""

    states: tuple[str, ...]
    edges: tuple[Edge, ...]
    large: Agenda | None = None


def expand(
    start: str, states: Sequence[str], edges: Sequence[Edge | AgendaEdge], success: Sequence[str]
) -> Expansion:  # fmt: skip
    """Replace agendas by states and edges; messages of errors begin with the line."""
    plain = [edge for edge in edges if isinstance(edge, Edge)]
    agendas: dict[str, AgendaEdge] = {}
    for edge in edges:
        if isinstance(edge, AgendaEdge) and agendas.setdefault(edge.source, edge) is not edge:
            raise MachineError(f"{edge.line}: state {edge.source} has a second agenda; keep one, or add a state")
    if not agendas:
        return Expansion(tuple(states), tuple(plain))
    sets = {state: edge.agenda.sets() for state, edge in agendas.items()}
    if None in sets.values() or len(states) + sum(len(ways or ()) - 1 for ways in sets.values()) > MAX_STATES:
        return _join_agendas(start, plain, agendas, success)
    all_states, all_edges = list[str](), list[Edge]()
    for state in states:
        leaving = [edge for edge in plain if edge.source == state]
        if state not in agendas:
            all_states.append(state)
            all_edges += leaving
            continue
        names = _names(agendas[state], sets[state] or {}, {*states, *success})
        all_states += names.values()
        for left, ways in (sets[state] or {}).items():
            all_edges += _edges_of(agendas[state], names, left, ways, leaving)
    return Expansion(tuple(all_states), tuple(all_edges))


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


def _names(edge: AgendaEdge, sets: dict[int, dict[str, int]], taken: set[str]) -> dict[int, str]:
    """Return names of states by what is left: after what is done where that tells them apart, else numbered."""
    targets, whole = edge.agenda.targets, edge.agenda.everything
    done = {left: "".join(x for i, x in enumerate(targets) if not left >> i & 1) for left in sets}
    names = {left: f"{edge.source}_{word}" if left != whole else edge.source for left, word in done.items()}
    if len({*names.values()}) < len(names) or max(map(len, names.values())) > LONGEST_NAME:
        names = {left: f"{edge.source}_{i}" if i else edge.source for i, left in enumerate(sets)}
    for name in names.values():
        if name in taken and name != edge.source:
            raise MachineError(f"{edge.line}: the agenda of {edge.source} needs the name {name} for a state; rename it")
    return names


def _join_agendas(start: str, plain: list[Edge], agendas: dict[str, AgendaEdge], success: Sequence[str]) -> Expansion:
    """Return the agenda of a whole machine whose states, each with an agenda or one object, follow each other."""
    line = next(iter(agendas.values())).line
    refusal = MachineError(
        f"{line}: the machine needs more than {MAX_STATES} states; that many may have only agendas, one after the "
        "other, that pay 1 at the end and nothing before"
    )
    state, chain, parts = start, list[str](), list[Agenda]()
    while state not in success:
        if state not in agendas or state in chain or any(edge.source == state for edge in plain):
            raise refusal
        step = agendas[state]
        if constant(step.reward) != (1.0 if step.target in success else 0.0):
            raise refusal
        chain.append(state)
        parts.append(step.agenda)
        state = step.target
    whole = Agenda.in_turn(parts)
    if len(chain) != len(agendas) or plain or len(success) != 1:
        raise refusal
    if len(whole.targets) > MAX_STAGES:
        raise MachineError(f"{line}: the agendas have {len(whole.targets)} objects; at most {MAX_STAGES} are supported")
    return Expansion(tuple(chain), (), whole)
