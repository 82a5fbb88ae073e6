"""Reward machines: states, guarded edges with rewards, terminals; read, written, built and checked.

A machine is a tuple (U, u0, F, E). In state u of U, the one edge (u, guard, u', reward) whose guard holds for the move
just made pays its reward and leads to u'. Reaching F ends the episode; each terminal is a success or a failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from fastrm import formats, ltlf
from fastrm.config import check_choice, check_number
from fastrm.errors import ConfigError, MachineError, did_you_mean, place
from fastrm.formats.draft import Draft, Edge
from fastrm.guards import (
    RESERVED,
    Chain,
    Expression,
    Feature,
    Guard,
    Number,
    Otherwise,
    Proposition,
    Unary,
    constant,
    leaves,
    write,
)
from fastrm.textfile import read_text

Kind = Literal["boolean", "numeric-boolean", "numeric"]
KINDS: tuple[Kind, ...] = ("boolean", "numeric-boolean", "numeric")
END = "done"


@dataclass(frozen=True)
class RewardMachine(Draft):
    """A reward machine whose structure is sound: every state can be reached and can reach a terminal.

    Make one with `sequence`, `parse` or `load`.

    >>> machine = RewardMachine.sequence("a-b", kind="numeric")
    >>> print(machine.write(), end="")
    name    a-b numeric
    states  u0 u1
    start   u0
    success done
    <BLANKLINE>
    u0 -> u1    when a     reward 0
    u0 -> u0    otherwise  reward -d(a)
    u1 -> done  when b     reward 10000
    u1 -> u1    otherwise  reward -d(b)
    """

    def __post_init__(self) -> None:
        for line, message in structural_faults(self):
            raise MachineError(f"{place(self.source, line)}{message}")

    @classmethod
    def parse(cls, text: str, source: str = "<text>") -> Self:
        """Read a machine from text in the ``.rm`` format or the reference's, told apart by content.

        Raises
        ------
        MachineError
            Naming line and cure when the text is not a sound machine.
        """
        if not isinstance(text, str):
            raise MachineError(f"{source}: a machine is read from text, not from {type(text).__name__}")
        return cls.from_draft(formats.read(text.replace("\r\n", "\n"), source))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a machine file; see `parse`."""
        return cls.parse(read_text(path, MachineError), str(path))

    @classmethod
    def from_ltlf(cls, formula: str, *, reward: float = 1.0, failure_reward: float = 0.0) -> Self:
        """Build the smallest machine that watches a formula of linear temporal logic on finite traces.

        The episode succeeds at the first prefix that satisfies it, and fails where no continuation can. Operators are
        ``! & | -> <->``, ``X`` (next), ``N`` (next, if there is one), ``F`` (eventually), ``G`` (always), ``U``
        (until), ``R`` (release) and ``W`` (weak until); propositions are object letters, of which at most one holds at
        a time.

        >>> print(RewardMachine.from_ltlf("F(a & F b) & G !n").write(), end="")
        name    LTLf F(a & F b) & G !n
        states  u0 u1
        start   u0
        success done
        failure failed
        <BLANKLINE>
        u0 -> u1      when a     reward 0
        u0 -> failed  when n     reward 0
        u0 -> u0      otherwise  reward 0
        u1 -> done    when b     reward 1
        u1 -> failed  when n     reward 0
        u1 -> u1      otherwise  reward 0

        Raises
        ------
        MachineError
            Naming the place in the formula, or that nothing satisfies it.
        """
        for name, value in (("reward", reward), ("failure_reward", failure_reward)):
            check_number(name, value)
        return cls.from_draft(ltlf.build(formula, float(reward), float(failure_reward)))

    @classmethod
    def from_draft(cls, draft: Draft) -> Self:
        """Check a draft and make it a machine."""
        return cls(**{name: getattr(draft, name) for name in Draft.__dataclass_fields__})

    def write(self) -> str:
        """Return the machine as ``.rm`` text; `parse` of it gives an equal machine."""
        return formats.own.write_machine(self)

    def potentials(self, gamma: float) -> dict[str, float]:
        """Return the shaping potential of every state, terminals included.

        The machine alone is solved by value iteration, ``V(u) = max over edges of r + gamma V(u')``, rewards that read
        the map counting as 0, in place and in state order until the largest change is at most 1e-12 of the largest
        value; the potential is ``-V``, and 0 for terminals.

        >>> RewardMachine.sequence("a-b").potentials(0.5)
        {'u0': -0.5, 'u1': -1.0, 'done': 0.0}
        """
        check_number("gamma", gamma, 0, 1)
        value = dict.fromkeys((*self.states, *self.terminals), 0.0)
        ways = {u: [(constant(e.reward) or 0.0, e.target) for e in self.edges if e.source == u] for u in self.states}
        change, scale, sweeps = 1.0, 0.0, 0
        while change > 1e-12 * scale:
            if gamma >= 1 and sweeps > len(self.states):
                raise ConfigError(
                    f"gamma={gamma:g}: a loop of {self.source} pays for ever, so shaping needs a gamma below 1"
                )
            change, scale, sweeps = 0.0, 0.0, sweeps + 1
            for u in self.states:
                best = max(reward + gamma * value[target] for reward, target in ways[u])
                change, scale = max(change, abs(best - value[u])), max(scale, abs(best))
                value[u] = best
        return {u: 0.0 - v for u, v in value.items()}

    @classmethod
    def sequence(
        cls,
        task: str,
        kind: Kind = "boolean",
        *,
        terminal_reward: float | None = None,
        step_reward: float = 0.1,
        closer: Literal["nearest", "any"] = "nearest",
        distance: Literal["after", "before"] = "after",
        arrival: Literal["step", "terminal"] = "step",
    ) -> Self:
        """Build the machine that asks for object types one after the other.

        Parameters
        ----------
        task : str
            Object types joined by ``-``, such as ``a-b-c``.
        kind : {"boolean", "numeric-boolean", "numeric"}
            What the machine pays on the way: nothing, `step_reward` for every step towards the target, or minus the
            distance to it.
        terminal_reward : float, optional
            Reward for the last target. By default the paper's: 1 (boolean); 1000 (numeric-boolean); 0, 10 000,
            100 000 for one, two, three targets and ten times more for each further one (numeric).
        step_reward : float
            Numeric-boolean: reward for a step towards the target.
        closer : {"nearest", "any"}
            Numeric-boolean: a step towards the target lowers the distance to the nearest object of its type, or to
            any one of them.
        distance : {"after", "before"}
            Numeric: pay the distance after the move (the paper's figure) or before it (its proof).
        arrival : {"step", "terminal"}
            Numeric-boolean: reaching a target before the last pays `step_reward` (the paper's figure) or
            `terminal_reward` (its text).

        >>> RewardMachine.sequence("a-b-c").states
        ('u0', 'u1', 'u2')
        """
        check_choice("kind", kind, KINDS)
        check_choice("closer", closer, ("nearest", "any"))
        check_choice("distance", distance, ("after", "before"))
        check_choice("arrival", arrival, ("step", "terminal"))
        targets = task.split("-") if isinstance(task, str) else []
        if not targets or not all(re.fullmatch("[A-Za-z]", target) for target in targets):
            raise MachineError(f"task {task!r}: expected object letters joined by '-', such as a-b-c")
        if terminal_reward is None:
            numeric = 0.0 if len(targets) == 1 else float(f"1e{len(targets) + 2}")
            terminal_reward = {"boolean": 1.0, "numeric-boolean": 1000.0, "numeric": numeric}[kind]
        last, step = _reward("terminal_reward", terminal_reward), _reward("step_reward", step_reward)
        arrive = {"boolean": Number(0.0), "numeric": Number(0.0), "numeric-boolean": step}[kind]
        if kind == "numeric-boolean" and arrival == "terminal":
            arrive = last
        names = [*(f"u{i}" for i in range(len(targets))), END]
        edges: list[Edge] = []
        for i, target in enumerate(targets):
            here, final = names[i], i == len(targets) - 1
            edges.append(Edge(here, names[i + 1], Proposition(target), last if final else arrive))
            stay: Expression = Number(0.0)
            if kind == "numeric-boolean":
                feature = Feature("closer" if closer == "nearest" else "closer_any", target)
                approach = Chain("&", (Unary("!", Proposition(target)), feature))
                edges.append(Edge(here, here, approach, step))
            elif kind == "numeric":
                stay = Unary("-", Feature("d" if distance == "after" else "d_before", target))
            edges.append(Edge(here, here, Otherwise(), stay))
        return cls(
            start="u0", states=tuple(names[:-1]), edges=tuple(edges), success=(END,),
            name=f"{task} {kind}", source=f"<{task} {kind}>",
        )  # fmt: skip


def describe(edge: Edge) -> str:
    """Name an edge in a message: ``u0 -> u1 (when a)``."""
    guard = write(edge.guard)
    guard = guard if len(guard) <= 80 else guard[:77] + "..."
    return f"{edge.source} -> {edge.target} ({guard if isinstance(edge.guard, Otherwise) else 'when ' + guard})"


def structural_faults(draft: Draft) -> Iterator[tuple[int | None, str]]:
    """Yield line and message of everything that is wrong with a machine whatever map it meets."""
    lines: dict[str, int | None] = {}
    for edge in draft.edges:
        lines.setdefault(edge.source, edge.line)
        lines.setdefault(edge.target, edge.line)
    live, terminals = set(draft.states), set(draft.terminals)
    if re.search(r"#|->|^\s|\s$|\s\s|[^\S ]", draft.name):
        yield None, f"name {draft.name!r}: must not hold '#', '->' or runs of white space"
    for name in sorted(set(draft.success) & set(draft.failure)):
        yield lines.get(name), f"state {name} is both success and failure; choose one"
    if not draft.success:
        yield None, "no success state; a machine needs a terminal, such as 'success done'"
    if draft.start in terminals or draft.start not in live:
        yield None, f"the start state {draft.start} is a terminal or unknown; start in one of {', '.join(draft.states)}"
        return
    defaults: set[str] = set()
    if draft.score not in ("task", "own"):
        yield None, f"score {draft.score!r} is unknown; expected task or own"
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
                yield edge.line, f"edge {describe(edge)} uses the reserved word {leaf.name!r}"
    yield from _unconnected(draft, lines)


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
    reached = _closure([draft.start], forward)
    ending = _closure(draft.terminals, backward)
    for name in (*draft.states, *draft.terminals):
        if name not in reached:
            near = did_you_mean(name, reached - {name})
            yield lines.get(name), f"state {name} cannot be reached from {draft.start}{near}; add an edge or remove it"
    for name in draft.states:
        if name not in ending:
            yield lines.get(name), f"state {name} is a dead end: no edges lead from it to a terminal state"


def _closure(seeds: Iterable[str], edges: dict[str, set[str]]) -> set[str]:
    seen, todo = set(seeds), list(seeds)
    while todo:
        for name in edges.get(todo.pop(), ()):
            if name not in seen:
                seen.add(name)
                todo.append(name)
    return seen


def _reward(field: str, value: float) -> Number:
    check_number(field, value)
    return Number(float(value) + 0.0)


__all__ = ["KINDS", "Edge", "Guard", "Kind", "RewardMachine", "describe", "structural_faults"]
