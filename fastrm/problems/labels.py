"""A world by labels: what holds after every move, and machines that read nothing else as tables by label.

A *label* is a set of propositions that hold together after some move; they are numbered, the empty set first. A machine
whose guards read propositions and whose rewards are constants is a table: the state and the *output* (what is paid, and
whether the episode ends) by label and state. So two machines can be compared, and one can be learned from what the
other pays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fastrm.arrays import Array, freeze
from fastrm.config import Profile
from fastrm.dispatch import add_row, by_kind
from fastrm.errors import ConfigError, MachineError, place
from fastrm.kernels.contracts import FAILURE, LIVE, SUCCESS, Labelled, Mealy
from fastrm.machines import RewardMachine
from fastrm.machines.language import Feature, Proposition, describe, write
from fastrm.problems.events import EventTable, TableEvaluator, find_events, leaves_by_edge, leaves_read
from fastrm.problems.problem import Problem, check_machines, unsupported
from fastrm.problems.tabular import TabularProblem

Label = tuple[str, ...]
"""Names of the propositions that hold together, in alphabetical order."""


class Output(NamedTuple):
    """What a move gives."""

    reward: float
    """What it pays."""
    end: int
    """LIVE, SUCCESS or FAILURE."""

    @property
    def word(self) -> str | None:
        """How the episode ends, None while it goes on."""
        return END_WORDS[self.end]


END_WORDS = {LIVE: None, SUCCESS: "success", FAILURE: "failure"}
NOTHING = Output(0.0, LIVE)
"""Output 0: nothing is paid and the episode goes on."""


@dataclass(frozen=True)
class _LabelTable(EventTable):
    """Labels as events of a machine."""

    labels: tuple[Label, ...]
    columns: dict[Any, Array]
    possible = True

    @property
    def count(self) -> int:
        """Number of labels."""
        return len(self.labels)

    def describe(self, event: int) -> str:
        """Name a label in a message."""
        return f"a move after which {' and '.join(self.labels[event]) or 'no proposition'} holds"


@dataclass(frozen=True)
class LabelledWorld:
    """A problem by labels, and its machine and others as tables by label."""

    labels: tuple[Label, ...]
    """By number; those that the map has in some cell within reach come first."""
    on_map: int
    """How many labels the map has."""
    outputs: tuple[Output, ...]
    """By number."""
    tables: Labelled
    """What kernels read."""
    machines: tuple[Mealy, ...]
    """The machine of the problem, and the others that were given, as kernels read them."""


@by_kind
def by_labels(problem: Problem, *others: RewardMachine, what: str = "learn") -> LabelledWorld:
    """Return a problem by labels, with its machine and others as tables; messages call what needs that `what`.

    All labels of the map are there, and besides each proposition that one of the machines reads, alone.

    Raises
    ------
    MachineError
        When what a machine pays does not follow from labels alone.
    ConfigError
        When the problem has several machines, or its moves are not certain.
    """
    if isinstance(problem, Problem):
        raise ConfigError(f"{what}: not on {problem.source}: it needs a map or a table whose machine states are listed")
    raise unsupported(problem)


@add_row(by_labels, TabularProblem)
def table_by_labels(problem: TabularProblem, *others: RewardMachine, what: str = "learn") -> LabelledWorld:
    """Return a map or a table by labels."""
    if len(problem.machines) > 1:
        raise ConfigError(f"{what}: the problem has {len(problem.machines)} machines; compile it with one")
    if not problem.is_certain:
        raise ConfigError(f"{what}: moves on {problem.source} are not certain; compile it without slip or chance")
    machines = (*problem.machines, *(check_machines(machine)[0] for machine in others))
    for machine in machines:
        _check_labelled(machine, what)
    read = [leaf for leaf in leaves_read(machines) if isinstance(leaf, Proposition)]
    leaves = list(dict.fromkeys([*map(Proposition, problem.terrain.propositions), *read]))
    events = find_events(problem.terrain, leaves)
    held = np.array([events.columns[leaf] for leaf in leaves], dtype=np.bool_).reshape(len(leaves), events.count)
    found = [tuple(sorted(leaves[k].name for k in np.flatnonzero(column))) for column in held.T]
    labels = sorted({(), *found})
    on_map = len(labels)
    labels += [(leaf.name,) for leaf in sorted(read, key=lambda leaf: leaf.name) if (leaf.name,) not in labels]
    number = np.array([labels.index(label) for label in found], dtype=np.uint32)
    numbers: dict[Output, int] = {NOTHING: 0}
    mealys = tuple(_tabulate(machine, tuple(labels), problem.profile, numbers) for machine in machines)
    outputs = tuple(numbers)
    tables = Labelled(
        next_s=np.ascontiguousarray(problem.tables.next_s),
        label=number[events.of_move],
        starts=problem.tables.starts,
        reward=np.array([output.reward for output in outputs]),
        end=np.array([output.end for output in outputs], dtype=np.uint8),
    )
    freeze((*tables, *(array for mealy in mealys for array in mealy)))
    return LabelledWorld(tuple(labels), on_map, outputs, tables, mealys)


def _check_labelled(machine: RewardMachine, what: str) -> None:
    """Raise MachineError unless guards of a machine read propositions only and its rewards are constants."""
    machine.refuse_large(what)
    for edge, leaf in leaves_by_edge(machine):
        if isinstance(leaf, Feature):
            raise MachineError(
                f"{place(machine.source, edge.line)}{what}: edge {describe(edge)} reads {write(leaf)}, and labels do "
                "not tell it; take a machine of the kind boolean, or constants as rewards"
            )
    if machine.has_potential:
        raise MachineError(f"{place(machine.source)}{what}: the machine has a potential, which labels do not tell")


def _tabulate(machine: RewardMachine, labels: Sequence[Label], profile: Profile, numbers: dict[Output, int]) -> Mealy:
    """Return a machine by label, its start state first; `numbers` of outputs is updated with new ones."""
    names = {leaf for leaf in leaves_read([machine]) if isinstance(leaf, Proposition)}
    columns = {leaf: np.array([leaf.name in label for label in labels]) for leaf in names}
    part = TableEvaluator(machine, _LabelTable(tuple(labels), columns), profile).run()  # type: ignore[arg-type]
    first = machine.states.index(machine.start)
    order = [first, *(u for u in range(len(machine.states)) if u != first)]
    place_of = np.argsort(np.array([*order, len(order)]))  # the end goes to itself, and is never read
    delta = place_of[part.delta[:, order]]
    pairs = zip(part.reward[:, order].ravel().tolist(), part.outcome[:, order].ravel().tolist(), strict=True)
    output = [numbers.setdefault(Output(*pair), len(numbers)) for pair in pairs]
    return Mealy(
        delta=np.where(part.outcome[:, order] == LIVE, delta, 0).astype(np.uint32),
        output=np.array(output, dtype=np.uint32).reshape(delta.shape),
    )
