"""Water world: the published episodes beside the exact optimum.

From the second episode on the reference starts an agent with the velocity of the first action of the whole run, which
its logs do not tell. So the fewest steps are the least over all five. In the reference a wrong ball in the last state
of t10 pays what success pays. An episode that was paid sooner than any completion can be has fallen off in this way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fastrm.machines import RewardMachine
from fastrm.problems import compile
from fastrm.worlds import PUSH, PUSHES, WaterWorld

from .parity import ALGORITHMS, machine_file, published_runs, water_file

WATER_WORLDS = ("M1", "M3")
"""Worlds whose episodes were published."""
WATER_TASK = "t10"
LAST_EPISODES = 1000


@dataclass(frozen=True)
class WaterOptimum:
    """Fewest steps of a task in the reference's own terms; at rest, and pushed up, right, down, left at the start."""

    world: str
    paid: tuple[int, ...]
    """To be paid, by completing the task or by falling off."""
    completed: tuple[int, ...]
    """To complete the task."""


@dataclass(frozen=True)
class WaterRecord:
    """The published episodes of one algorithm on one world."""

    world: str
    algorithm: str
    runs: int
    episodes: int
    paid: int
    """Episodes that were paid."""
    best: int
    """Steps of the shortest of them, 0 where none was."""
    settled: float
    """Median steps of the last 1000 of every run that were paid, NaN where none was."""
    fell_off: float
    """Share of the episodes paid that were shorter than any completion: at least this share fell off."""
    fewest_paid: int
    """Fewest steps to be paid, from any velocity."""
    fewest_completed: int
    """Fewest steps to complete the task, from any velocity."""

    @property
    def is_possible(self) -> bool:
        """Whether no episode is shorter than the optimum."""
        return not self.paid or self.best >= self.fewest_paid


def water_optima(folder: Path) -> list[WaterOptimum]:
    """Search for the fewest steps on the worlds whose episodes were published."""
    machine, path = RewardMachine.load(machine_file(folder, "water", WATER_TASK)), water_file(folder)
    found = []
    for name in WATER_WORLDS:
        problems = [
            compile(WaterWorld.load(path, name, (PUSH * x, PUSH * y)), machine, "icarte2022") for x, y in PUSHES
        ]
        found.append(WaterOptimum(name, *(tuple(column) for column in zip(
            *((problem.soonest_paid[0], problem.shortest[0]) for problem in problems), strict=True
        ))))  # fmt: skip
    return found


def water_records(folder: Path, optima: list[WaterOptimum]) -> Iterator[WaterRecord]:
    """Score the published episodes against the optima.

    Raises
    ------
    StoreError
        When the folder is not there or only half copied.
    """
    for optimum in optima:
        for algorithm in ALGORITHMS:
            logs = published_runs(folder, algorithm, "water-single", optimum.world)
            lengths = [log.length[log.reward > 0] for log in logs]
            paid, last = np.concatenate(lengths), np.concatenate([steps[-LAST_EPISODES:] for steps in lengths])
            yield WaterRecord(
                world=optimum.world,
                algorithm=algorithm,
                runs=len(logs),
                episodes=sum(len(log.length) for log in logs),
                paid=len(paid),
                best=int(paid.min()) if paid.size else 0,
                settled=float(np.median(last)) if paid.size else math.nan,
                fell_off=float((paid < min(optimum.completed)).mean()) if paid.size else 0.0,
                fewest_paid=min(optimum.paid),
                fewest_completed=min(optimum.completed),
            )
