"""Learn a machine and a policy at once, and say exactly what the machine is worth."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastrm.arrays import read_only
from fastrm.checks import check_choice
from fastrm.errors import ConfigError, FastrmWarning, shown
from fastrm.inference.engines import ENGINES, unproven
from fastrm.inference.learner import Hypothesis, machine_of
from fastrm.inference.verdict import Difference, Equivalence, compare
from fastrm.inference.writing import write_learned
from fastrm.kernels.contracts import Mealy
from fastrm.learners import Run, train
from fastrm.machines import RewardMachine
from fastrm.problems import Problem, by_labels


@dataclass(frozen=True, eq=False)
class Learned:
    """A machine that was learned, the verdict on it, and how it came about; `learn` makes one."""

    machine: RewardMachine
    """The last hypothesis."""
    verdict: Equivalence
    """Whether it is right; the learner did not see this."""
    log: tuple[Hypothesis, ...]
    """Every hypothesis, the first being that nothing pays."""
    run: Run
    """Curves, and the policy: the plan by the machine over the moves that were made."""

    @property
    def equivalent_on_map(self) -> bool:
        """Whether no walk on the map shows a difference from the true machine."""
        return self.verdict.on_map

    @property
    def equivalent(self) -> bool:
        """Whether no sequence of labels does."""
        return self.verdict.everywhere

    @property
    def witness(self) -> Difference | None:
        """A shortest difference, None where there is none."""
        return self.verdict.witness

    @property
    def regret(self) -> float:
        """Discounted reward lost by acting best for the machine; see `Equivalence.regret`."""
        return self.verdict.regret

    def __repr__(self) -> str:
        verdict = "right everywhere" if self.equivalent else "right on this map" if self.equivalent_on_map else "wrong"
        greedy, shortest = self.run.greedy_length, self.run.shortest[0]
        length = "never finishes" if greedy is None else f"greedy {greedy:g} steps"
        return (
            f"<Learned a machine of {len(self.machine.states)} states, {verdict}: {length}, shortest {shortest:g}, "
            f"{len(self.log)} hypotheses>"
        )


def learn(
    problem: Problem,
    steps: int = 1_000_000,
    seed: int = 0,
    walk: float = 0.5,
    engine: str = "merge",
    compress: bool = True,
    **settings: Any,
) -> Learned:
    """Learn the machine of a problem from the labels and rewards of its moves, and act by it meanwhile.

    The learner sees labels, rewards and ends, never the machine. Only the verdict at the end knows it.

    Parameters
    ----------
    problem : Problem
        A map or a table with one machine whose rewards follow from labels.
    steps : int
        Environment steps.
    seed : int
        Seed of the run; the same seed gives the same run to the last bit.
    walk : float
        Probability that an episode walks to labels met before, in place of following the policy. Without walks a wrong
        machine can last: the policy that is best for it may never show that it is wrong.
    engine : {"merge", "smallest"}
        How a machine is made of traces; see `infer`.
    compress : bool
        Leave moves that read and pay nothing out of traces; right where they never change the machine.
    **settings
        Other arguments of `fastrm.train`, and fields of `LearnerConfig`, such as ``epsilon=0.2``.

    Returns
    -------
    Learned
        The machine, the verdict on it, the log and the policy.

    Raises
    ------
    ConfigError
        When there is no table of the machine's states, moves are not certain, or a setting is out of range.
    MachineError
        When what is paid does not follow from labels, as for numeric machines.

    Examples
    --------
    >>> import fastrm
    >>> problem = fastrm.compile(fastrm.GridMap.generate("1a1b", size=9, seed=1), fastrm.task("a-b"))
    >>> found = learn(problem, steps=50_000)
    >>> found
    <Learned a machine of 2 states, right everywhere: greedy 11 steps, shortest 11, 3 hypotheses>
    >>> found.equivalent, found.regret, found.log[-1].states
    (True, 0.0, 2)
    """
    check_choice("engine", engine, ENGINES)
    by_labels(problem, what="learn")
    run = train(problem, f"learn-{engine}", steps=steps, seed=seed, walk=walk, compress=compress, **settings)
    if engine == "smallest" and not run.more["proven"]:
        warnings.warn(unproven(machine_of(run.more)), FastrmWarning, stacklevel=2)
    return read_learned(run)


def read_learned(run: Run) -> Learned:
    """Return the machine that a run of ``learn-merge`` or ``learn-smallest`` ended with, and the verdict on it.

    Raises
    ------
    ConfigError
        When the run learned no machine, or does not know its problem.
    """
    if not isinstance(run, Run):
        raise ConfigError(f"run={shown(run)}: must be a Run, as fastrm.train returns one")
    if run.problem is None or "delta" not in run.more:
        raise ConfigError(f"run: {run.algo} learned no machine; train learn-merge, or call fastrm.learn")
    world, machine = by_labels(run.problem, what="learn"), machine_of(run.more)
    labels = world.labels[: world.on_map]
    log = tuple(Hypothesis.read(row) for row in run.more["log"].tolist())
    n_v, unread = machine.delta.shape[1], len(world.labels) - len(labels)
    whole = Mealy(
        delta=read_only(np.vstack([machine.delta, np.tile(np.arange(n_v, dtype=np.uint32), (unread, 1))])),
        output=read_only(np.vstack([machine.output, np.zeros((unread, n_v), dtype=np.uint32)])),
    )
    return Learned(
        write_learned(machine, labels, world.outputs),
        compare(world, run.problem.actions, whole, float(run.config.gamma)),
        log,
        run,
    )
