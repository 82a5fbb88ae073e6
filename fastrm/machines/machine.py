"""Reward machines: states, guarded edges with rewards, terminals; read, written, built and checked.

A machine is a tuple (U, u0, F, E). In state u of U, the one edge (u, guard, u', reward) whose guard holds for the move
just made pays its reward and leads to u'. Reaching F ends the episode; each terminal is a success or a failure. The
checks here concern names, terminals, edges and what they connect: faults of a machine on any map.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self, Unpack

from fastrm.checks import check_known, check_number, is_plain
from fastrm.errors import ConfigError, MachineError, did_you_mean, place, printable, shown
from fastrm.machines import ltlf, reward_kinds, terms
from fastrm.machines.automaton import DONE, NO_LABEL, Automaton, reached_from
from fastrm.machines.language import drafts
from fastrm.machines.language.drafts import Agenda, Draft, Edge, StatePotential, describe
from fastrm.machines.language.expressions import FEATURES, Feature, Otherwise, constant, leaves, values_read, write
from fastrm.machines.language.tokens import fault
from fastrm.machines.language.variables import Variable, check_actions
from fastrm.machines.reward_kinds import KindName, Payment, PaymentSettings, find_kind
from fastrm.machines.unrolling import MAX_STATE_NAME, unroll
from fastrm.textfile import read_text
from fastrm.worlds import OBJECT_IN_WORDS, RESERVED, is_label, is_object

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def structural_faults(draft: Draft) -> Iterator[tuple[int | None, str]]:
    """Yield line and message of everything that is wrong with a machine on any map."""
    for message in _odd_fields(draft):
        yield None, message
        return
    lines: dict[str, int | None] = {}
    for edge in draft.edges:
        lines.setdefault(edge.source, edge.line)
        lines.setdefault(edge.target, edge.line)
    live, terminals = set(draft.states), set(draft.terminals)
    if re.search(r"#|->|^\s|\s$|\s\s|[^\S ]", draft.name) or not is_plain(draft.name):
        yield None, f"name {shown(draft.name)}: must not hold '#', '->', control characters or runs of white space"
    for name in sorted(set(draft.success) & set(draft.failure)):
        yield lines.get(name), f"state {name} is both success and failure; choose one"
    if not draft.success:
        yield None, "no success state; a machine needs a terminal, such as 'success done'"
    if draft.start in terminals or draft.start not in live:
        yield None, f"the start state {draft.start} is a terminal or unknown; start in one of {', '.join(draft.states)}"
        return
    if draft.large is not None:  # its states follow each other, as whoever made it has seen
        return
    defaults: set[str] = set()
    variables = {variable.name for variable in draft.variables}
    if not isinstance(draft.potential, float) or not 0 <= draft.potential <= 1e100:
        yield None, f"potential {shown(draft.potential)}: must be a number from 0 (none) to 1e100"
    yield from _odd_potentials(draft)
    if draft.score not in ("task", "own"):
        yield None, f"score {shown(draft.score)} is unknown; expected task or own"
    for edge in draft.edges:
        for name in (edge.source, edge.target):
            if name not in live and name not in terminals:
                near = did_you_mean(name, live if name == edge.source else live | terminals)
                yield edge.line, f"edge {describe(edge)} names the unknown state {name}{near}"
                return
        if wrong := check_actions(edge.actions, variables):
            yield edge.line, f"edge {describe(edge)}: {wrong}"
        for name in {*values_read(edge.guard), *values_read(edge.reward)} - variables:
            yield edge.line, f"edge {describe(edge)} reads {name}, which is no clock or count of the machine"
        if edge.source in terminals:
            yield edge.line, f"edge {describe(edge)} leaves a terminal state; remove it"
        if isinstance(edge.guard, Otherwise):
            if edge.source in defaults:
                yield edge.line, f"state {edge.source} has a second 'otherwise' edge; keep one"
            defaults.add(edge.source)
        for leaf in (*leaves(edge.guard), *leaves(edge.reward)):
            if leaf.name in RESERVED:
                yield edge.line, f"edge {describe(edge)} uses the reserved word {shown(leaf.name)}"
    yield from _unconnected(draft, lines)


def _odd_potentials(draft: Draft) -> Iterator[tuple[int | None, str]]:
    """Yield what is wrong with the potentials of single states."""
    seen: set[str] = set()
    for one in draft.state_potentials:
        if draft.potential:
            yield one.line, f"potential {one.state}: beside a potential of all states; keep one of the two"
        if one.state not in draft.states:
            yield one.line, f"potential {one.state}: is no state{did_you_mean(one.state, draft.states)}"
        if one.state in seen:
            yield one.line, f"potential {one.state}: is given twice; keep one line"
        seen.add(one.state)
        for leaf in leaves(one.value):
            if not isinstance(leaf, Feature) or FEATURES[leaf.function].known != "after":
                known = ", ".join(row.written for row in FEATURES.values() if row.known == "after")
                yield one.line, f"potential {one.state}: {write(leaf)} depends on the move; it may read {known}"


def _odd_fields(draft: Draft) -> Iterator[str]:
    """Yield messages about fields of the wrong type, which only programs can write."""
    for field in ("start", "name", "source", "score"):
        if not isinstance(getattr(draft, field), str):
            yield f"{field}={shown(getattr(draft, field))}: must be text"
    for field in ("states", "success", "failure"):
        names = getattr(draft, field)
        if not isinstance(names, tuple) or not all(map(_is_state_name, names)):
            yield f"{field}={shown(names)}: must be a tuple of names, each of at most {MAX_STATE_NAME} characters"
    if not _is_state_name(draft.start):
        yield f"start={shown(draft.start)}: must name a state"
    if not isinstance(draft.edges, tuple) or not all(isinstance(edge, Edge) for edge in draft.edges):
        yield f"edges={shown(draft.edges)}: must be a tuple of edges"
    if not isinstance(draft.variables, tuple) or not all(isinstance(one, Variable) for one in draft.variables):
        yield f"variables={shown(draft.variables)}: must be a tuple of clocks and counts"
    elif len({one.name for one in draft.variables}) < len(draft.variables):
        yield f"variables={shown(draft.variables)}: name a clock or count twice"
    if not isinstance(draft.written, Draft | None):
        yield f"written={shown(draft.written)}: must be a draft"
    if not isinstance(draft.state_potentials, tuple) or not all(
        isinstance(one, StatePotential) for one in draft.state_potentials
    ):
        yield f"state_potentials={shown(draft.state_potentials)}: must be a tuple of state potentials"


def _is_state_name(name: object) -> bool:
    return isinstance(name, str) and is_plain(name) and len(name) <= MAX_STATE_NAME


def _unconnected(draft: Draft, lines: dict[str, int | None]) -> Iterator[tuple[int | None, str]]:
    forward: dict[str, set[str]] = {}
    backward: dict[str, set[str]] = {}
    for edge in draft.edges:
        forward.setdefault(edge.source, set()).add(edge.target)
        backward.setdefault(edge.target, set()).add(edge.source)
    for name in draft.states:
        if name not in forward:
            near = did_you_mean(name, {*forward, *(() if name == draft.start else draft.terminals)} - {name})
            yield (
                lines.get(name),
                f"no edge leaves state {name}{near}; add edges, or a line 'failure {name}' if it ends the episode",
            )
            return
    reached = reached_from([draft.start], forward)
    ending = reached_from(draft.terminals, backward)
    defaults = {edge.source for edge in draft.edges if isinstance(edge.guard, Otherwise)}
    for name in (*draft.states, *draft.terminals):
        if name not in reached:
            without_clash = reached - defaults if name in defaults else reached
            near = did_you_mean(name, without_clash.intersection(draft.states if name in forward else ()))
            yield lines.get(name), f"state {name} cannot be reached from {draft.start}{near}; add an edge or remove it"
    for name in draft.states:
        if name not in ending:
            yield lines.get(name), f"state {name} is a dead end: no edges lead from it to a terminal state"


def _raise_faults(draft: Draft) -> None:
    for line, message in structural_faults(draft):
        raise MachineError(f"{place(draft.source if isinstance(draft.source, str) else '<machine>', line)}{message}")


@dataclass(frozen=True)
class RewardMachine(Draft):
    """A reward machine whose structure is sound: every state can be reached and can reach a terminal.

    On every move exactly one edge of the state is open; it pays its reward and leads on. Make a machine with
    `sequence`, `parse`, `load`, `from_ltlf` or `fastrm.task`, and a problem of it with `fastrm.compile`.

    Examples
    --------
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
        _raise_faults(self)
        if self.variables:
            raise MachineError(f"{self.source}: clocks and counts are not unrolled; make the machine with from_draft")

    @classmethod
    def parse(cls, text: str, source: str = "<text>") -> Self:
        """Read a machine from text in the ``.rm`` format or the reference's, distinguished by content.

        Parameters
        ----------
        text : str
            The statements, one a line.
        source : str
            The name that error messages give to the text.

        Raises
        ------
        MachineError
            Naming line and cure when the text is not a sound machine.
        """
        if not isinstance(source, str):
            raise MachineError(f"source={shown(source)}: must be text, such as the name of a file")
        if not isinstance(text, str):
            raise MachineError(f"{source}: a machine is read from text, not from {type(text).__name__}")
        return cls.from_draft(drafts.read(text.replace("\r\n", "\n"), source))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a machine file; see `parse` for the formats.

        Raises
        ------
        MachineError
            When the file cannot be read or is not a sound machine.
        """
        return cls.parse(read_text(path, MachineError), printable(str(path)))

    @classmethod
    def from_ltlf(cls, formula: str, *, reward: float = 1.0, failure_reward: float = 0.0) -> Self:
        """Build the smallest machine that watches a formula of linear temporal logic on finite traces.

        The episode succeeds at the first prefix that satisfies it, and fails where no continuation can. Operators are
        ``! & | -> <->``, ``X`` (next), ``N`` (next, if there is one), ``F`` (eventually), ``G`` (always), ``U``
        (until), ``R`` (release) and ``W`` (weak until); propositions are object letters, of which at most one holds at
        a time.

        Parameters
        ----------
        formula : str
            The formula, such as ``F(a & F b) & G !n``.
        reward : float
            What success pays.
        failure_reward : float
            What failing pays.

        Raises
        ------
        MachineError
            Naming the place in the formula, or that nothing satisfies it.

        Examples
        --------
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
        """
        for name, value in (("reward", reward), ("failure_reward", failure_reward)):
            check_number(name, value)
        return cls.from_draft(ltlf.build(formula, float(reward), float(failure_reward)))

    @classmethod
    def from_draft(cls, draft: Draft) -> Self:
        """Check a draft and make it a machine; clocks and counts are unrolled, and `written` keeps the draft."""
        if draft.variables and draft.written is None:
            _raise_faults(draft)
            draft = unroll(draft)
        return cls(**{name: getattr(draft, name) for name in Draft.__dataclass_fields__})

    def refuse_large(self, what: str) -> None:
        """Raise MachineError, naming what needs all states, if this machine has too many to list."""
        if self.large is not None:
            raise MachineError(
                f"{self.name or self.source}: {what}: not for an agenda of {len(self.large.targets)} stages, whose "
                "machine states are too many to list; compile it, and train coupled"
            )

    def write(self) -> str:
        """Return the machine as ``.rm`` text; `parse` of it gives an equal machine."""
        return drafts.write_machine(self)

    def __str__(self) -> str:
        return self.write()

    def _repr_svg_(self) -> str | None:
        """Show the machine in a notebook, as a graph."""
        from fastrm.pages import machine_svg

        return machine_svg(self)

    def plot(self) -> Figure:
        """Draw the machine as a graph; needs matplotlib."""
        from fastrm.plots import draw_machine

        return draw_machine(self)

    @cached_property
    def agenda(self) -> Agenda | None:
        """The stages of its task, where that consists of visits in turn and in any order; see `terms`.

        >>> RewardMachine.sequence("a-b").agenda
        Agenda(targets=('a', 'b'), needs=(0, 1))
        """
        return self.large or terms.find_agenda(self)

    @cached_property
    def stages_left(self) -> dict[str, int]:
        """What is left of the agenda in every state, as a bit mask of its stages; empty where it has none."""
        return {} if self.large else terms.stages_left(self)

    def in_kind(self, kind: KindName, **payment: Unpack[PaymentSettings]) -> RewardMachine:
        """Return the machine that asks for the same and pays in another kind; for `payment` see `sequence`.

        Raises
        ------
        MachineError
            When the kind is not for its task, or when it changes its state by more than the label of a move.

        Examples
        --------
        >>> fast = RewardMachine.sequence("a-b", kind="numeric", terminal_reward=7.0)
        >>> fast.in_kind("boolean") == RewardMachine.sequence("a-b")
        True
        """
        self.refuse_large("another kind of reward")
        automaton = terms.find_task(self)
        if automaton is None:
            raise MachineError(
                f"{self.source}: distances, or several labels at once, change its state; kinds of reward are for tasks "
                "whose every step is one label"
            )
        name, _, last = self.name.rpartition(" ")
        return type(self).from_automaton(automaton, name if last in reward_kinds.KINDS else self.name, kind, payment)

    def written_state(self, state: str) -> str:
        """Return the state that one of `states` is called in the file: without what clocks and counts show.

        >>> RewardMachine.sequence("a-b").written_state("u1")
        'u1'
        """
        return state if self.written is None else state.partition("[")[0]

    @property
    def pays_at_the_end(self) -> bool:
        """Whether it pays 1 for completing the task and nothing else, as Boolean machines do."""
        ends = (1.0 if edge.target in self.success else 0.0 for edge in self.edges)
        return not self.has_potential and all(
            constant(e.reward) == paid for e, paid in zip(self.edges, ends, strict=True)
        )

    @property
    def terminal_reward(self) -> float | None:
        """The largest reward of an edge to a success, R in papers; None where none is a number.

        >>> RewardMachine.sequence("a-b", kind="numeric-boolean").terminal_reward
        1000.0
        """
        paid = [constant(edge.reward) for edge in self.edges if edge.target in self.success]
        return max((reward for reward in paid if reward is not None), default=None)

    def potentials(self, gamma: float) -> dict[str, float]:
        """Return the shaping potential of every state, terminals included.

        The machine alone is solved by value iteration, ``V(u) = max over edges of r + gamma V(u')``, rewards that read
        the map counting as 0, in place and in state order until the largest change is at most 1e-12 of the largest
        value; the potential is ``-V``, and 0 for terminals.

        Parameters
        ----------
        gamma : float
            Discount factor, from 0 to 1.

        Returns
        -------
        dict
            The potential of every state by its name.

        Raises
        ------
        ConfigError
            When gamma is out of range, or is 1 and a loop pays for ever.

        Examples
        --------
        >>> RewardMachine.sequence("a-b").potentials(0.5)
        {'u0': -0.5, 'u1': -1.0, 'done': 0.0}
        """
        check_number("gamma", gamma, 0, 1)
        self.refuse_large("potentials")
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
    def sequence(cls, task: str, kind: KindName = "boolean", **payment: Unpack[PaymentSettings]) -> Self:
        """Build the machine that asks for object types one after the other; `fastrm.task` builds others.

        Parameters
        ----------
        task : str
            Letters of object types joined by ``-``, such as ``a-b-c``.
        kind : {"boolean", "numeric-boolean", "numeric", "offset", "potential", "local-potential", "distance-to-go"}
            Or in short ``bool``, ``num-bool``, ``num``, ``offset``, ``pot``, ``local``, ``dtg``.
            What the machine pays on the way: nothing; `step_reward` for every step towards a target; minus the distance
            to it; the same minus an offset for the targets after it; what a potential changes by, of the steps to go or
            of the distance to the target; or minus the steps to go to the end of the task (see `reward_kinds`).
        terminal_reward : float, optional
            Reward for the end of the task. By default the paper's: 1 (boolean, potentials); 1000 (numeric-boolean); 0,
            10 000, 100 000 for one, two, three visits and ten times more for each further one (numeric); 0 (offset,
            distance-to-go).
        failure_reward : float, optional
            Reward for what must be avoided. By default 0; numeric: -1000 for one visit and ten times more for each
            further one; distance-to-go: minus the square of the longest way to go, minus 1.
        step_reward : float
            Numeric-boolean: reward for a step towards the target, 0.1 by default.
        closer : {"nearest", "any"}
            Numeric-boolean: a step towards the target lowers the distance to the nearest object of its type, or to
            any one of them.
        distance : {"after", "before"}
            Numeric: pay the distance after the move (the paper's figure) or before it (its proof).
        arrival : {"step", "terminal"}
            Numeric-boolean: reaching a target before the last pays `step_reward` (the paper's figure) or
            `terminal_reward` (its text).
        scale : float
            Potentials: what a step towards the end is worth, 0.01 by default.
        offset : {"size", "legs"} or float
            Offset and local-potential: how far the targets after the next one count as being. By default each counts as
            the largest distance of the world, ``span()``; with "legs" as the distance from the target before it, on
            worlds with one object of each type; or as a number of steps.

        Raises
        ------
        MachineError
            When the task is not a sequence of letters, or the kind is not for it.
        ConfigError
            When a setting is unknown or out of range.

        Examples
        --------
        >>> RewardMachine.sequence("a-b-c").states
        ('u0', 'u1', 'u2')
        """
        targets = task.split("-") if isinstance(task, str) else []
        for i, target in enumerate(targets or [""]):
            if not is_object(target) and not is_label(target):
                wanted = f"expected {OBJECT_IN_WORDS}, found {target[:40]!r}; join such letters by '-', as in a-b-c"
                raise fault(wanted, len("-".join([*targets[:i], ""])), f"task {shown(task)}")
        labels, n = tuple(dict.fromkeys(targets)), len(targets)
        moves = [
            {NO_LABEL: i} | {x: (i if x != target else i + 1 if i + 1 < n else DONE) for x in labels}
            for i, target in enumerate(targets)
        ]
        return cls.from_automaton(Automaton(labels, tuple(moves)), task, kind, payment)

    @classmethod
    def from_automaton(cls, automaton: Automaton, text: str, kind: KindName, payment: PaymentSettings) -> Self:
        """Build the machine of a task in some kind, paying as `sequence` says."""
        kind = find_kind(kind)
        for setting in payment:
            check_known(setting, PaymentSettings.__annotations__, payment)
        name = " ".join(f"{text} {kind}".split())
        return cls.from_draft(reward_kinds.build(automaton, Payment(kind=kind, **payment), name, f"<{name}>"))
