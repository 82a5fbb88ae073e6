"""Sweeps: settings of the learners that have several values in one experiment, crossed with each other.

Settings are taken in the order of `LearnerConfig`, whatever the order of a file; the last one changes fastest.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np

from fastrm.arrays import Array
from fastrm.config import LearnerConfig
from fastrm.errors import ConfigError, did_you_mean, shown
from fastrm.experiments.methods import Method
from fastrm.learners import registry

Sweep = tuple[tuple[str, tuple[Any, ...]], ...]
"""Settings and their values."""
SETTINGS = tuple(field.name for field in fields(LearnerConfig))
MOST_VARIANTS = 10_000
"""Combinations of values; each is a learner's whole configuration in memory."""


def read_learner(given: object) -> tuple[LearnerConfig, Sweep]:
    """Read settings of the learners, lists meaning several values; return them with the first ones, and the sweep.

    Raises
    ------
    ConfigError
        When a setting is unknown, its values are none or doubled, or one of them is out of range.

    >>> learner, sweep = read_learner({"alpha": [0.1, 0.5], "epsilon": 0.2})
    >>> learner.alpha, learner.epsilon, sweep
    (0.1, 0.2, (('alpha', (0.1, 0.5)),))
    """
    if isinstance(given, LearnerConfig):
        return given, ()
    if not isinstance(given, Mapping):
        raise ConfigError(f"learner={shown(given)}: must be a table of settings, such as LearnerConfig(tick=1000)")
    for name in given:
        if name not in SETTINGS:
            near, known = did_you_mean(name, SETTINGS), ", ".join(sorted(SETTINGS))
            raise ConfigError(f"unknown key 'learner.{str(name)[:40]}'{near}; there are {known}")
    lists = {name: _values(name, given[name]) for name in SETTINGS if name in given and _is_list(given[name])}
    plain = {name: value for name, value in given.items() if name not in lists}
    learner = LearnerConfig(**plain, **{name: values[0] for name, values in lists.items()})
    sweep = tuple((name, _checked(learner, name, values)) for name, values in lists.items())
    count = math.prod(len(values) for _, values in sweep)
    if count > MOST_VARIANTS:
        raise ConfigError(f"learner: its lists cross to {count} combinations; at most {MOST_VARIANTS} can be run")
    return learner, sweep


def check_is_read(sweep: Sweep, methods: Sequence[Method], optimism: float | None) -> None:
    """Refuse a setting that no method reads: all its values would give the same runs."""
    for name, _ in sweep:
        readers = [
            method
            for method in methods
            if name in (*registry.COMMON, *registry.find(method.algo).settings)
            and (name != "q_init" or method.shaping or (method.optimism is None and optimism is None))
        ]
        if not readers:
            labels = ", ".join(method.label for method in methods)
            raise ConfigError(f"{name}: none of the methods ({labels}) reads it, so that its values make no difference")


def as_table(learner: LearnerConfig, sweep: Sweep) -> dict[str, Any]:
    """Return all settings as one table, those with several values as tuples."""
    return asdict(learner) | dict(sweep)


def variants_of(learner: LearnerConfig, sweep: Sweep) -> tuple[LearnerConfig, ...]:
    """Return the settings of every combination of values; just the learner's where nothing is swept."""
    names = [name for name, _ in sweep]
    crossed = itertools.product(*(values for _, values in sweep))
    return tuple(replace(learner, **dict(zip(names, values, strict=True))) for values in crossed)


def column_of(values: Sequence[Any]) -> list[Any]:
    """Return the values of a setting as its coordinate holds them: as numbers, or all as text where some are text.

    >>> column_of([0, 5]), column_of([0.1, "linear(1, 0.1, 5000)"]), column_of([False, True])
    ([0.0, 5.0], ['0.1', 'linear(1, 0.1, 5000)'], ['false', 'true'])
    """
    if any(isinstance(value, str | bool) for value in values):
        return [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
    return [float(value) for value in values]


def stored_column(sweep: Sweep, name: str, variants: Array) -> Array:
    """Return the coordinate of runs of some variants for a swept setting, text as bytes."""
    axis = [setting for setting, _ in sweep].index(name)
    which = np.unravel_index(variants, [len(values) for _, values in sweep])[axis]
    column = column_of(sweep[axis][1])
    stored: Array = np.array([value.encode() if isinstance(value, str) else value for value in column])[which]
    return stored


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)


def _values(name: str, given: Any) -> tuple[Any, ...]:
    """Return the values of a list, as plain Python has them."""
    if name == "tick":
        raise ConfigError("tick: takes one value, as all runs of a file have their ticks in common")
    values = tuple(value.item() if isinstance(value, np.generic) else value for value in given)
    if not values:
        raise ConfigError(f"{name}=[]: an empty list; give the values to run")
    return values


def _checked(learner: LearnerConfig, name: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values as the configuration keeps them; refuse what it does not take, and what occurs twice."""
    if None in values:
        raise ConfigError(f"{name}: a list holds values; leave out None")
    kept = tuple(getattr(replace(learner, **{name: value}), name) for value in values)
    column = column_of(kept)
    for k, value in enumerate(column):
        if value in column[:k]:
            raise ConfigError(f"{name}: {values[k]} is given twice; leave one out")
    return kept
