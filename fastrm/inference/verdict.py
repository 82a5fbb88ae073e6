"""Whether a machine is the right one: on a map, where a walk shows the first difference, and everywhere.

Two machines are *equivalent on the map* when no walk makes them pay or end differently. A breadth-first search on
(cell, state of one, state of the other) decides that, and its first difference is the shortest witness. They are
*equivalent everywhere* when they are equal as automata over all labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fastrm.arrays import Array
from fastrm.exact import check_gamma
from fastrm.inference.traces import ENDS, End
from fastrm.kernels.contracts import Labelled, Mealy
from fastrm.kernels.inference import plan, product
from fastrm.machines import RewardMachine
from fastrm.problems import LabelledWorld, Problem, by_labels

LONG_ENOUGH = 1000
"""Steps that a policy is followed beyond what it takes to go round, so that later rewards hardly count."""


@dataclass(frozen=True)
class Difference:
    """The shortest sequence of labels after which two machines pay or end differently."""

    labels: tuple[str, ...]
    """What holds after every move."""
    rewards: tuple[float, ...]
    """What the problem's machine pays."""
    other_rewards: tuple[float, ...]
    """What the other machine pays."""
    end: End
    """How the last move ends the episode by the problem's machine; None where it goes on."""
    other_end: End
    """The same by the other machine."""
    actions: tuple[str, ...] | None = None
    """Moves from the start that read these labels; None where the map has no such walk."""
    start: int | None = None
    """Number of the cell where the walk begins."""

    def __str__(self) -> str:
        return (
            f"{', '.join(label or '-' for label in self.labels)}: pays {_describe(self.rewards, self.end)}, and by the "
            f"other machine {_describe(self.other_rewards, self.other_end)}"
        )


def _describe(rewards: tuple[float, ...], end: End) -> str:
    """Describe the last move."""
    return f"{rewards[-1]:g}" + (f" and ends in {end}" if end else "")


@dataclass(frozen=True)
class Equivalence:
    """Whether a machine pays and ends as the machine of a problem does; `equivalent` makes one."""

    on_map: bool
    """Whether no walk on the map shows a difference."""
    everywhere: bool
    """Whether no sequence of labels does; see `fastrm.equivalent` for which labels count."""
    witness: Difference | None
    """A shortest difference: a walk, or where none is on the map a sequence of labels; None where there is none."""
    states_searched: int
    """Pairs of cell and both machine states that the search on the map saw."""
    regret: float
    """Discounted reward that is lost by acting best for the other machine: the optimum of the problem minus what such
    a policy earns there, the mean over starts. Of several best actions it takes the last."""

    def __repr__(self) -> str:
        verdict = "everywhere" if self.everywhere else "on this map" if self.on_map else f"not: {self.witness}"
        return f"<Equivalence {verdict}>"


def equivalent(problem: Problem, machine: RewardMachine, gamma: float = 0.9) -> Equivalence:
    """Return whether a machine pays and ends as the machine of a problem does, on its map and everywhere.

    All labels of the map count, and besides each proposition that one of the two machines reads, alone.

    Parameters
    ----------
    problem : Problem
        A map or a table with one machine whose rewards follow from labels.
    machine : RewardMachine
        The machine that may be wrong.
    gamma : float
        Discount of the regret.

    Returns
    -------
    Equivalence
        The verdict, which is exact, with a shortest witness.

    Raises
    ------
    MachineError
        When a machine reads distances, or pays what labels do not tell.
    ConfigError
        When moves are not certain, the problem has several machines, or there is no table of its states.

    Examples
    --------
    >>> import fastrm
    >>> problem = fastrm.compile(fastrm.GridMap.generate("1a1b", size=9, seed=1), fastrm.task("a-b"))
    >>> found = equivalent(problem, fastrm.task("b"))
    >>> found.on_map, found.witness.labels[-1], found.witness.rewards[-1], found.witness.other_rewards[-1]
    (False, 'b', 0.0, 1.0)
    """
    check_gamma(gamma)
    world = by_labels(problem, machine, what="equivalent")
    return compare(world, problem.actions, world.machines[1], gamma)


def compare(world: LabelledWorld, actions: tuple[str, ...], other: Mealy, gamma: float) -> Equivalence:
    """Return the verdict on a machine by labels."""
    tables, truth = world.tables, world.machines[0]
    walk, seen = find_difference(tables, truth, other)
    word = None if walk is not None else find_difference(_all_labels(world, truth), truth, other)[0]
    witness = None
    if walk is not None:
        start, moves = walk
        labels = np.array(_labels_on(tables, start, moves))
        witness = _difference(world, other, labels, tuple(actions[a] for a in moves), start)
    elif word is not None:
        witness = _difference(world, other, np.array(word[1]))
    return Equivalence(walk is None, walk is None and word is None, witness, seen, regret(world, other, gamma))


def find_difference(tables: Labelled, truth: Mealy, other: Mealy) -> tuple[tuple[int, list[int]] | None, int]:
    """Return start and actions of the shortest difference, None where there is none, and how many nodes were seen."""
    n_s, n_a = tables.next_s.shape
    n_v = truth.delta.shape[1] * other.delta.shape[1]
    before, queue = np.empty((2, n_s * n_v), dtype=np.int64)
    node, a, seen = product.first_difference(tables, truth, other, before, queue)
    if node < 0:
        return None, int(seen)
    actions = [int(a)]
    while before[node] >= 0:
        node, a = divmod(int(before[node]), n_a)
        actions.append(a)
    return (int(node) // n_v, actions[::-1]), int(seen)


def _all_labels(world: LabelledWorld, truth: Mealy) -> Labelled:
    """Return a world of one cell in which every action reads another label: its walks are all sequences of labels."""
    n_l = len(world.labels)
    return world.tables._replace(
        next_s=_frozen(np.zeros((1, n_l), dtype=np.uint32)),
        label=_frozen(np.arange(n_l, dtype=np.uint32)[None]),
        starts=_frozen(np.zeros(1, dtype=np.uint32)),
    )


def _frozen(array: Array) -> Array:
    """Make an array read-only."""
    array.flags.writeable = False
    return array


def _labels_on(tables: Labelled, s: int, actions: list[int]) -> list[int]:
    """Return the labels that a walk reads, by number."""
    labels = []
    for a in actions:
        labels.append(int(tables.label[s, a]))
        s = int(tables.next_s[s, a])
    return labels


def _difference(
    world: LabelledWorld, other: Mealy, labels: Array, actions: tuple[str, ...] | None = None, start: int | None = None
) -> Difference:
    """Return what both machines do along some labels."""
    paid = []
    for machine in (world.machines[0], other):
        v, outputs = 0, []
        for x in labels.tolist():
            outputs.append(world.outputs[int(machine.output[x, v])])
            v = int(machine.delta[x, v])
        paid.append(outputs)
    return Difference(
        labels=tuple(" ".join(world.labels[x]) for x in labels.tolist()),
        rewards=tuple(output.reward for output in paid[0]),
        other_rewards=tuple(output.reward for output in paid[1]),
        end=ENDS[paid[0][-1].end],
        other_end=ENDS[paid[1][-1].end],
        actions=actions,
        start=start,
    )


def regret(world: LabelledWorld, other: Mealy, gamma: float) -> float:
    """Return what acting best for a machine loses, the mean over starts; see `Equivalence.regret`."""
    best, found = (evaluate(world, machine, gamma) for machine in (world.machines[0], other))
    return lost_by(best, found)


def lost_by(best: float, found: float) -> float:
    """Return the difference of two discounted rewards, 0 where it may be rounding."""
    return best - found if best - found > 1e-12 * abs(best) else 0.0


def evaluate(world: LabelledWorld, machine: Mealy, gamma: float) -> float:
    """Return the discounted reward of acting best for a machine while the true one pays, the mean over starts."""
    tables, truth = world.tables, world.machines[0]
    q = best_values(tables, machine, _frozen(np.ones(tables.next_s.shape, dtype=np.uint8)), 0.0, gamma)
    path = np.empty(q.shape[0] * q.shape[1] * truth.delta.shape[1] + LONG_ENOUGH, dtype=np.int64)
    return float(np.mean([plan.follow(tables, truth, machine, q, gamma, np.uint64(s), path)[2] for s in tables.starts]))


def best_values(tables: Labelled, machine: Mealy, seen: Array, unseen: float, gamma: float) -> Array:
    """Return the best values by a machine over the moves that were seen, [cell, state, action]."""
    (n_s, n_a), n_v = tables.next_s.shape, machine.delta.shape[1]
    value, q = np.empty((n_s, n_v)), np.empty((n_s, n_a, n_v))
    plan.solve(tables, machine, seen, unseen, gamma, value)
    plan.fill(tables, machine, seen, unseen, gamma, value, q)
    return np.ascontiguousarray(q.swapaxes(1, 2))
