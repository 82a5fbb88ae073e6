"""One run, or many seeds of one run, of a learner on a compiled problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastrm.config import LearnerConfig
from fastrm.learners.batch import PIECE_STEPS, Batch, Run
from fastrm.problems import Problem


def train(
    problem: Problem,
    algo: str = "qrm",
    *,
    steps: int = 1_000_000,
    seed: int = 0,
    shaping: bool = False,
    optimum: Sequence[float] | None = None,
    episodes: bool = False,
    config: LearnerConfig | None = None,
    **settings: Any,
) -> Run:
    """Train one learner.

    Parameters
    ----------
    problem : Problem
        The compiled map and machines.
    algo : str
        The learner: ``qrm``, ``crm``, ``hrm``, or another that was registered.
    steps : int
        Environment steps.
    seed : int
        Seed of the run, below 2^64; the same seed gives the same run to the last bit.
    shaping : bool
        Learn from rewards shaped by the potentials of the machine.
    optimum : sequence of float, optional
        The unit of the score, per machine; by default the exact `optimal_arps` for this gamma and epsilon. Machines
        with `score own` that earn no reward per step are scored by totals; see `fastrm.exact.score_units`.
    episodes : bool
        Keep reward and length of every episode.
    config : LearnerConfig, optional
        The learner's settings.
    **settings
        Fields of `LearnerConfig` to change, such as ``gamma=0.99``.

    >>> import fastrm
    >>> grid = fastrm.GridMap.generate("1a1b", size=9, seed=1)
    >>> problem = fastrm.compile(grid, fastrm.RewardMachine.sequence("a-b"))
    >>> run = train(problem, algo="crm", steps=50_000, seed=0)
    >>> run.greedy_length == problem.shortest[0]
    True
    """
    return train_many(
        problem, algo, steps=steps, seeds=[seed], shaping=shaping, optimum=optimum, episodes=episodes, config=config,
        **settings,
    )[0]  # fmt: skip


def train_many(
    problem: Problem,
    algo: str = "qrm",
    *,
    steps: int = 1_000_000,
    seeds: Sequence[int] = (0,),
    shaping: bool = False,
    optimum: Sequence[float] | None = None,
    episodes: bool = False,
    config: LearnerConfig | None = None,
    **settings: Any,
) -> list[Run]:
    """Train one learner with many seeds; every run equals the one `train` gives for its seed."""
    batch = Batch(
        problem, algo, steps=steps, seeds=seeds, shaping=shaping, optimum=optimum, episodes=episodes, config=config,
        **settings,
    )  # fmt: skip
    for _ in range(0, steps, piece := max(1, PIECE_STEPS // len(seeds))):  # Ctrl-C is noticed in between
        batch.advance(piece)
    return batch.results()
