"""Reward machines: states, guarded edges with rewards, terminals; read, written, built and checked.

A machine is a tuple (U, u0, F, E). In state u of U, the one edge (u, guard, u', reward) whose guard holds for the move
just made pays its reward and leads to u'. Reaching F ends the episode; each terminal is a success or a failure.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self, Unpack

from fastrm.checks import check_known, check_number
from fastrm.errors import ConfigError, MachineError, place, printable, shown
from fastrm.machines import ltlf, recognition, reward_kinds
from fastrm.machines.automaton import DONE, NO_LABEL, Automaton
from fastrm.machines.language import formats, rm_format
from fastrm.machines.language.agendas import Agenda
from fastrm.machines.language.draft import Draft
from fastrm.machines.language.expressions import constant
from fastrm.machines.language.tokens import fault
from fastrm.machines.reward_kinds import KindName, Payment, PaymentSettings, find_kind
from fastrm.machines.soundness import structural_faults
from fastrm.textfile import read_text
from fastrm.worlds import OBJECT_IN_WORDS, is_object

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        for line, message in structural_faults(self):
            raise MachineError(f"{place(self.source if isinstance(self.source, str) else '<machine>', line)}{message}")

    @classmethod
    def parse(cls, text: str, source: str = "<text>") -> Self:
        """Read a machine from text in the ``.rm`` format or the reference's, told apart by content.

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
        return cls.from_draft(formats.read(text.replace("\r\n", "\n"), source))

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
        """Check a draft and make it a machine."""
        return cls(**{name: getattr(draft, name) for name in Draft.__dataclass_fields__})

    def refuse_large(self, what: str) -> None:
        """Refuse something that needs all states of a machine."""
        if self.large is not None:
            raise MachineError(
                f"{self.name or self.source}: {what}: not for an agenda of {len(self.large.targets)} stages, whose "
                "machine states are too many to list; compile it, and train coupled"
            )

    def write(self) -> str:
        """Return the machine as ``.rm`` text; `parse` of it gives an equal machine."""
        return rm_format.write_machine(self)

    def __str__(self) -> str:
        return self.write()

    def _repr_svg_(self) -> str | None:
        """Show the machine in a notebook, as a graph."""
        from fastrm.pictures import machine_svg

        return machine_svg(self)

    def plot(self) -> Figure:
        """Draw the machine as a graph; needs matplotlib."""
        from fastrm.pictures import draw_machine

        return draw_machine(self)

    @cached_property
    def agenda(self) -> Agenda | None:
        """The stages of its task, where that is a matter of visits in turn and in any order; see `recognition`.

        >>> RewardMachine.sequence("a-b").agenda
        Agenda(targets=('a', 'b'), needs=(0, 1))
        """
        return self.large or recognition.find_agenda(self)

    @property
    def pays_at_the_end(self) -> bool:
        """Whether it pays 1 for completing the task and nothing else, as Boolean machines do."""
        ends = (1.0 if edge.target in self.success else 0.0 for edge in self.edges)
        return not self.potential and all(constant(e.reward) == paid for e, paid in zip(self.edges, ends, strict=True))

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
        kind : {"boolean", "numeric-boolean", "numeric", "potential", "distance-to-go"}
            Or in short ``bool``, ``num-bool``, ``num``, ``pot``, ``dtg``.
            What the machine pays on the way: nothing; `step_reward` for every step towards a target; minus the distance
            to it; a potential; or minus the steps to go to the end of the task (see `reward_kinds`).
        terminal_reward : float, optional
            Reward for the end of the task. By default the paper's: 1 (boolean, potential); 1000 (numeric-boolean); 0,
            10 000, 100 000 for one, two, three visits and ten times more for each further one (numeric); 0
            (distance-to-go).
        failure_reward : float, optional
            Reward for what must be avoided. By default 0; numeric: -1000 for one visit and ten times more for each
            further one; distance-to-go: minus the square of the longest way to go, less 1.
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
            Potential: what a step towards the end is worth, 0.01 by default.

        Raises
        ------
        MachineError
            When the task is not a sequence of letters.
        ConfigError
            When a setting is unknown or out of range.

        Examples
        --------
        >>> RewardMachine.sequence("a-b-c").states
        ('u0', 'u1', 'u2')
        """
        targets = task.split("-") if isinstance(task, str) else []
        for i, target in enumerate(targets or [""]):
            if not is_object(target):
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
            check_known(setting, PaymentSettings.__annotations__)
        name = " ".join(f"{text} {kind}".split())
        return cls.from_draft(reward_kinds.build(automaton, Payment(kind=kind, **payment), name, f"<{name}>"))
