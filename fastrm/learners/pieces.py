"""What runs share, whether they learn tables or weights: rates, logs, and the pieces in which they advance."""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_known
from fastrm.config import LearnerConfig, Profile, log_ticks
from fastrm.errors import ConfigError, shown
from fastrm.exact import ScoreUnit
from fastrm.kernels.contracts import EPISODE, TASK, Log, Rule, Span
from fastrm.schedules import value_at


def rule_at(profile: Profile, config: LearnerConfig, step: int) -> Rule:
    """Return how to learn from a step on."""
    return Rule(
        alpha=value_at(config.alpha, step),
        gamma=float(config.gamma),
        explore_below=threshold(value_at(config.epsilon, step)),
        limit=np.uint64(config.episode_limit),
        bootstraps_at_limit=profile.qrm_bootstraps_at_limit,
        option_survives=profile.option_survives_limit,
        prune=profile.prune,
        controller_alpha=value_at(config.controller_alpha, step),
    )


def threshold(probability: float) -> np.uint64:
    """Return what the upper half of a draw must be below for something of this probability to happen."""
    return np.uint64(math.floor(probability * 2**32))


def check_units(optimum: Sequence[float | ScoreUnit], machines: int) -> tuple[ScoreUnit, ...]:
    """Return what scores are measured by, as a user gave it: a positive number per machine, or such a unit."""
    try:
        units = tuple(unit if isinstance(unit, ScoreUnit) else ScoreUnit(float(unit)) for unit in optimum)
    except (TypeError, ValueError):
        units = ()
    if len(units) != machines or not all(math.inf > unit.one - unit.zero > 0 for unit in units):
        raise ConfigError(f"optimum={shown(optimum)}: must be a positive number per machine ({machines})")
    return units


def tabulate_tasks(first_u: Array, own_score: Sequence[bool] | Array, units: Sequence[ScoreUnit]) -> Array:
    """Return a row of `TASK` per machine."""
    tasks = np.zeros(len(units), dtype=TASK)
    tasks["first_u"], tasks["own_score"] = first_u, own_score
    tasks["by_total"] = [unit.by_total for unit in units]
    tasks["base"] = [unit.zero for unit in units]
    tasks["optimum"] = [unit.one - unit.zero for unit in units]
    return tasks


def blank_log(config: LearnerConfig, steps: int, machines: int, runs: int, room: int) -> Log:
    """Return logs of so many runs, with room for so many episodes each."""
    ticks = config.count_ticks(steps)
    window = config.window or (100 if machines == 1 else 1000)
    return Log(
        ring=np.zeros((runs, window)),
        ended=np.zeros((runs, room), dtype=EPISODE),
        episodes=np.zeros((runs, ticks), dtype=np.int64),
        completions=np.zeros((runs, ticks), dtype=np.int64),
        reward=np.zeros((runs, ticks)),
        score=np.full((runs, ticks), math.nan),
    )


def next_span(config: LearnerConfig, steps: int, done: int, target: int) -> Span:
    """Return the next piece of the way to a step: whole ticks, of equal length, or a part of one."""
    tick = config.tick
    if tick == "log":
        ticks = log_ticks(steps)
        row = bisect.bisect_right(ticks, done)
        end = ticks[row]
    else:
        row = done // tick
        end = (row + 1) * tick
        if done % tick == 0 and end <= target:
            return Span((target - done) // tick, tick, row)
    return Span(1, min(end, target) - done, row if end <= target else -1)


def check_settings(config: object, settings: Mapping[str, Any], more: tuple[str, ...] = ()) -> None:
    """Refuse what is no setting of a learner; `more` names others that could have been meant."""
    for name in settings:
        if name in ("profile", "metric", "slip"):
            raise ConfigError(f"{name}: belongs to the problem; give it to fastrm.compile(grid, machine, {name}=...)")
        check_known(name, (*LearnerConfig.__dataclass_fields__, *more))
    if config is not None and not isinstance(config, LearnerConfig):
        raise ConfigError(f"config={shown(config)}: must be a LearnerConfig")
