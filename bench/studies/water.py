"""Water world: the published episodes beside the exact optimum, and what a study of kinds of reward shows.

From the second episode on the reference starts an agent with the velocity of the first action of the whole run, which
its logs do not tell. So the fewest steps are the least over all five. In the reference a wrong ball in the last state
of t10 pays what success pays. An episode that was paid sooner than any completion can be has fallen off in this way.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fastrm.experiments import WaterRow
from fastrm.machines import RewardMachine
from fastrm.problems import compile
from fastrm.results import Estimate, over_maps, share_over_maps
from fastrm.worlds import PUSH, PUSHES, WaterWorld

from .claim import Share
from .findings import share_above
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
    """Share of the episodes paid that were shorter than any completion: at least so many fell off."""
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


class Cell(NamedTuple):
    """The runs of a study on one task, kind of reward, optimism and way of learning."""

    way: str
    task: str
    kind: str
    optimism: float
    runs: int
    area: Estimate
    """Mean score over the whole run, over worlds."""
    completes: Estimate
    """Share of greedy policies that complete the task from the world's start."""
    ratio: float
    """Median of their steps to the fewest."""


class Gap(NamedTuple):
    """How much one kind of reward scores above another on the same worlds, tasks and seeds."""

    way: str
    one: str
    two: str
    optimism: float
    task: str
    area: Estimate
    above: Share
    """Worlds on which `one` is above `two` on average; its verdict is that on "`one` is above `two`"."""


def water_cells(rows: Sequence[WaterRow]) -> Iterator[Cell]:
    """Yield a summary of every task, kind, optimism and way."""
    for key in dict.fromkeys((row.way, row.task, row.kind, row.optimism) for row in rows):
        mine = [row for row in rows if (row.way, row.task, row.kind, row.optimism) == key]
        worlds = np.array([row.world for row in mine])
        ratios = [row.greedy_length / row.shortest for row in mine if row.greedy_length]
        yield Cell(
            *key, len(mine), over_maps(np.array([row.area for row in mine]), worlds),
            share_over_maps(np.array([float(row.greedy_length > 0) for row in mine]), worlds),
            float(np.median(ratios)) if ratios else math.inf,
        )  # fmt: skip


def water_gaps(rows: Sequence[WaterRow], pairs: Sequence[tuple[str, str]]) -> Iterator[Gap]:
    """Yield, per way, optimism and task, and over all tasks, how much one kind scores above another."""
    found = {(row.way, row.kind, row.optimism, row.task, row.world, row.seed): row.area for row in rows}
    tasks = list(dict.fromkeys(row.task for row in rows))
    for (one, two), way, optimism in itertools.product(
        pairs, dict.fromkeys(row.way for row in rows), dict.fromkeys(row.optimism for row in rows)
    ):
        for task in ("all", *tasks):
            both = [
                (key[4], area - found[key[0], two, *key[2:]])
                for key, area in found.items()
                if key[:3] == (way, one, optimism) and task in ("all", key[3]) and (key[0], two, *key[2:]) in found
            ]
            if both:
                worlds, gaps = (np.array(column) for column in zip(*both, strict=True))
                yield Gap(way, one, two, optimism, task, over_maps(gaps, worlds), share_above(gaps, worlds))
