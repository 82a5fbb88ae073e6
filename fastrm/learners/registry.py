"""Which learners there are, and what a learner is. Names are known without importing Numba.

A learner is one kernel file, one file in this room, and its name here. Learners of others are made known with
`register` and then work wherever a name of a learner does.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from fastrm.arrays import Array
from fastrm.checks import check_choice
from fastrm.errors import ConfigError

if TYPE_CHECKING:
    from fastrm.config import LearnerConfig
    from fastrm.kernels.contracts import Setting, Span, State
    from fastrm.problems import Problem

BUILT_IN = ("qrm", "crm", "hrm")
"""Modules of this room, each with a `LEARNER`, imported when it is first asked for."""

COMMON = ("gamma", "epsilon", "episode_limit", "tick", "window", "falls_off")
"""What every run depends on: the episode, the log, and the unit of its score."""

_known: dict[str, Learner] = {}


class Values(NamedTuple):
    """What one run has learned."""

    q: Array
    """[cell, column, action], a column per machine state or whatever else the learner tells apart."""
    more: Mapping[str, Array] = {}
    """What else it learned, by name."""


class Learner(Protocol):
    """How a table of values is made, changed and followed."""

    name: str
    """What people type: lower-case letters and digits."""
    semantics: int
    """Rises only when the same seed gives another curve."""
    settings: tuple[str, ...]
    """Fields of `LearnerConfig` and `Profile` it reads beside the `COMMON` ones: these, and no others, enter run_id."""

    per_state: bool
    """Whether the columns of its values are machine states, so that they can be drawn state by state."""

    def begin(self, problem: Problem, reward: Array, config: LearnerConfig, n: int) -> tuple[Array, Any]:
        """Return the tables of n runs in the layout of the kernel, and what else it needs: ``State.q, State.own``."""

    def advance(self, setting: Setting, state: State, span: Span) -> None:
        """Call the kernel."""

    def values(self, problem: Problem, state: State, i: int) -> Values:
        """Return what run i has learned."""

    def follow(self, problem: Problem, values: Values, u: int, path: Array) -> tuple[int, int]:
        """Write the cells that the greedy policy visits from column u on into `path`; return length and outcome."""


def names() -> tuple[str, ...]:
    """Return the names of all learners, those that come with fastrm first.

    >>> names()[:3]
    ('qrm', 'crm', 'hrm')
    """
    return tuple(dict.fromkeys((*BUILT_IN, *_known)))


def find(name: str) -> Learner:
    """Return a learner by name."""
    check_choice("algo", name, names())
    if name not in _known:
        register(importlib.import_module(f"fastrm.learners.{name}").LEARNER)
    return _known[name]


def register(learner: Learner) -> None:
    """Make a learner known by its name.

    Raises
    ------
    ConfigError
        When the name is not a word, or another learner has it.
    """
    name = learner.name
    if not (isinstance(name, str) and name.isascii() and name.isalnum() and name == name.lower()):
        raise ConfigError(f"learner {name!r}: a name is lower-case letters and digits, such as sarsa")
    other = _known.get(name)
    if other is not None and type(other) is not type(learner):
        raise ConfigError(f"learner {name!r}: there is one of this name already; choose another name")
    _known[name] = learner


def forget(name: str) -> None:
    """Undo `register`."""
    _known.pop(name, None)


def semantics() -> dict[str, int]:
    """Return the semantics number of every learner."""
    return {name: find(name).semantics for name in names()}
