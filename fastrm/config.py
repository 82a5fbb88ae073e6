"""Decisions as frozen dataclasses: validated when made, stored whole with the results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, takewhile
from typing import Any, Literal, Self

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_choice, check_known, check_number, check_truth, check_whole
from fastrm.errors import ConfigError, shown
from fastrm.schedules import check_rate

ProfileName = Literal["clean", "icarte2022"]
"""Profiles by name, for editors to complete; single switches may follow a name."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Where the literature is ambiguous: the choices a learner and the compiler make.

    ``clean`` makes the plain choice everywhere; ``icarte2022`` repeats the code of Toro Icarte et al. (JAIR 2022).

    Examples
    --------
    >>> Profile.named("icarte2022").prune
    True
    """

    qrm_bootstraps_at_limit: bool = True
    """QRM: does the update of the step that hits the episode limit bootstrap?"""
    option_survives_limit: bool = False
    """HRM: does an option cut off by the episode limit go on in the next episode?"""
    prune: bool = False
    """CRM and HRM: update only machine states (and options) in the image of the previous event over all states."""
    falls_off: bool = False
    """A move that opens no edge ends the episode (else it is an error when compiling)."""
    merge_terminals: bool = False
    """HRM: treat all terminals of a machine as one."""
    failure_options: bool = False
    """HRM: also make options of edges to failures (else only where a state would have no option)."""

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            check_truth(name, getattr(self, name))

    @classmethod
    def named(cls, name: str) -> Profile:
        """Return a profile by name: ``clean`` or ``icarte2022``, with single switches set as in the other one.

        Raises
        ------
        ConfigError
            With the nearest name of a profile or switch.

        Examples
        --------
        >>> Profile.named("icarte2022 - prune - falls_off") == Profile.named(
        ...     "clean + qrm_bootstraps_at_limit + option_survives_limit + merge_terminals + failure_options"
        ... )
        True
        """
        words = name.split() if isinstance(name, str) else [name]
        check_choice("profile", words[0] if words else "", PROFILES)
        sign, other = ("-", PROFILES["clean"]) if words[0] == "icarte2022" else ("+", PROFILES["icarte2022"])
        switches = words[2::2]
        if len(words) % 2 == 0 or words[1::2] != [sign] * len(switches):
            raise ConfigError(f"profile={shown(name)}: switches are written as in '{words[0]} {sign} prune'")
        for switch in switches:
            check_choice("profile switch", switch, cls.__dataclass_fields__)
        return replace(PROFILES[words[0]], **{switch: getattr(other, switch) for switch in switches})


PROFILES = {
    "clean": Profile(),
    "icarte2022": Profile(
        qrm_bootstraps_at_limit=False,
        option_survives_limit=True,
        prune=True,
        falls_off=True,
        merge_terminals=True,
        failure_options=True,
    ),
}


class NotGiven:
    """Marks a default that a problem may replace with its own; a number that was given is kept, even an equal one."""


class _DefaultInt(NotGiven, int):
    pass


class _DefaultFloat(NotGiven, float):
    pass


RATES = ("alpha", "epsilon", "controller_alpha")
"""Settings that may follow a schedule."""


@dataclass(frozen=True, kw_only=True)
class LearnerConfig:
    """The settings of a learner; the defaults are the paper's.

    Every field can also be given to `fastrm.train` by its name, as in ``train(problem, gamma=0.99)``.

    Raises
    ------
    ConfigError
        When a value has the wrong type or is out of range.

    Examples
    --------
    >>> LearnerConfig(alpha=1.5)
    Traceback (most recent call last):
    fastrm.errors.ConfigError: alpha=1.5: must be a number from 0 to 1
    """

    alpha: float | str = _DefaultFloat(0.5)
    """Learning rate: a number, or a schedule such as ``linear(0.5, 0.1, 500000)`` (`fastrm.linear` and others).
    A problem may have a default of its own (`Problem.defaults`)."""
    gamma: float = 0.9
    """Discount factor."""
    epsilon: float | str = 0.1
    """Probability of a random action (or option); a number or a schedule. The unit of the score uses its last value."""
    q_init: float | str = _DefaultFloat(2.0)
    """Initial value of every table entry: a number, or a multiple of the machine's terminal reward such as ``0.1 R``.
    A problem may have a default of its own (`Problem.defaults`)."""
    episode_limit: int = _DefaultInt(1000)
    """Steps after which an episode is cut off; 600 on Water world, if it is not given."""
    tick: int | Literal["log"] = 10_000
    """Steps between two rows of the log, a shorter run having one row at its end; ``"log"`` for rows at 1 000, 2 000,
    5 000, 10 000, ... and the last step."""
    window: int | None = None
    """Episodes a score is averaged over; by default 100, or 1000 with several tasks."""
    r_max: float = 1.0
    """HRM: what an option earns for reaching its goal."""
    r_min: float = 0.0
    """HRM: what an option earns when the machine goes elsewhere."""
    controller_alpha: float | str = 0.5
    """HRM: learning rate of the controller; a number or a schedule."""
    self_loop_options: bool = False
    """HRM: also make options of edges that stay in their state."""

    trace_decay: float = 0.8
    """Q(lambda): its lambda, what is left of a trace after a step beside the discount."""
    planning: int = 5
    """Dyna: updates from memory after every step."""
    plan: Literal["auto", "exact", "nearest"] = "auto"
    """Coupled: pursue what the best order begins with, or what is nearest; ``auto``: exact up to 12 stages."""
    per: Literal["object", "type"] = "object"
    """Coupled: a column for every object of a type, or one for all, which heads for the nearest."""
    walk: float = 0.5
    """Learn: probability that an episode walks to labels that were met, in place of following the policy."""
    compress: bool = True
    """Learn: leave moves that read and pay nothing out of traces."""
    max_states: int = 256
    """Learn: how many states a machine may have that explains the traces."""
    features: Literal["memory", "sight"] = "memory"
    """Water world: tiles of position, velocity and time, or of what is seen of the nearest balls."""

    def __post_init__(self) -> None:
        for name in RATES:
            if not isinstance(getattr(self, name), NotGiven):
                object.__setattr__(self, name, check_rate(name, getattr(self, name)))
        for name in ("gamma", "trace_decay", "walk"):
            check_number(name, getattr(self, name), 0, 1)
        if not isinstance(self.q_init, str):
            check_number("q_init", self.q_init)
        elif multiple_of_reward(self.q_init) is None:
            raise ConfigError(f"q_init={shown(self.q_init)}: must be a number, or such as '0.1 R'")
        for name in ("r_max", "r_min"):
            check_number(name, getattr(self, name))
        check_whole("episode_limit", self.episode_limit, 1, 2**62)
        _check_tick(self.tick)
        if self.window is not None:
            check_whole("window", self.window, 1, 10**6)
        check_whole("planning", self.planning, 0, 10_000)
        check_choice("plan", self.plan, ("auto", "exact", "nearest"))
        check_choice("per", self.per, ("object", "type"))
        check_choice("features", self.features, ("memory", "sight"))
        check_whole("max_states", self.max_states, 1, 1024)
        check_truth("self_loop_options", self.self_loop_options)
        check_truth("compress", self.compress)

    @property
    def not_given(self) -> tuple[str, ...]:
        """The settings that a problem may replace with its own defaults."""
        return tuple(name for name in self.__dataclass_fields__ if isinstance(getattr(self, name), NotGiven))

    def filled(self, defaults: Mapping[str, Any]) -> LearnerConfig:
        """Return the settings, with other defaults for what was not given."""
        return replace(self, **{name: value for name, value in defaults.items() if name in self.not_given})

    @property
    def is_scheduled(self) -> bool:
        """Whether a rate changes while a run goes on."""
        return any(isinstance(getattr(self, name), str) for name in RATES)

    def count_ticks(self, steps: int) -> int:
        """Return how many rows the log of a run of `steps` has.

        >>> LearnerConfig(tick=1000).count_ticks(20_500), LearnerConfig(tick="log").count_ticks(20_500)
        (20, 6)
        """
        tick = self.tick_within(steps)
        return len(log_ticks(steps)) if tick == "log" else steps // tick

    def tick_within(self, steps: int) -> int | Literal["log"]:
        """Return the tick of a run of `steps`: all of it, if it is shorter than a tick.

        >>> LearnerConfig(tick=1000).tick_within(20_500), LearnerConfig(tick=1000).tick_within(300)
        (1000, 300)
        """
        return self.tick if self.tick == "log" else min(self.tick, steps)

    def steps_at_ticks(self, steps: int) -> Array:
        """Return the steps made at every row of the log.

        >>> LearnerConfig(tick=5000).steps_at_ticks(20_500).tolist()
        [5000, 10000, 15000, 20000]
        >>> LearnerConfig(tick="log").steps_at_ticks(20_500).tolist()
        [1000, 2000, 5000, 10000, 20000, 20500]
        """
        tick = self.tick_within(steps)
        return np.array(log_ticks(steps)) if tick == "log" else (1 + np.arange(steps // tick)) * tick


def multiple_of_reward(q_init: float | str) -> float | None:
    """Read an initial value such as ``"0.1 R"``, R being the terminal reward; None if it is not of this form.

    >>> multiple_of_reward("0.1 R"), multiple_of_reward("R"), multiple_of_reward(2.0)
    (0.1, 1.0, None)
    """
    match = re.fullmatch(r"(?:([0-9]{1,9}(?:\.[0-9]{1,9})?) ?)?R", q_init) if isinstance(q_init, str) else None
    return None if match is None else float(match[1] or 1)


def log_ticks(steps: int) -> list[int]:
    """Return 1 000, 2 000, 5 000, 10 000, ... below a number of steps, and that number.

    >>> log_ticks(10_000), log_ticks(300)
    ([1000, 2000, 5000, 10000], [300])
    """
    marks = (digit * 10**power for power in range(3, len(str(steps))) for digit in (1, 2, 5))
    return list(chain(takewhile(lambda mark: mark < steps, marks), [int(steps)]))


def _check_tick(tick: object) -> None:
    """Raise ConfigError unless `tick` is a whole number of steps or ``log``."""
    if not isinstance(tick, str):
        check_whole("tick", tick, 1, 2**62)
    elif tick != "log":
        raise ConfigError(f"tick={shown(tick)}: must be a whole number of steps, or 'log'")


@dataclass(frozen=True, kw_only=True)
class FigureConfig:
    """How learning curves are drawn; what is None is chosen by the figure.

    These are keywords of `fastrm.plots.learning_curves`, options of ``plot`` and keys of the table ``[figure]``.

    Raises
    ------
    ConfigError
        When a value has the wrong type or is out of range.

    Examples
    --------
    >>> FigureConfig(xscale="lin")
    Traceback (most recent call last):
    fastrm.errors.ConfigError: xscale='lin': must be one of log, linear (did you mean linear?)
    """

    methods: tuple[str, ...] | None = None
    """Methods to draw, in this order; all by default."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What methods are called, such as ``{crm-num = "CRM"}``."""
    colours: Mapping[str, Any] = field(default_factory=dict)
    """Colours of methods, such as ``{crm-num = "tab:red"}``: any that matplotlib knows."""
    value: Literal["score", "greedy"] | None = None
    """What curves show, by default the score; ``greedy`` is the length of a shortest path divided by that of the greedy
    policy, 0 where it does not finish, for experiments with ``greedy_ticks``."""
    xscale: Literal["log", "linear"] | None = None
    """Axis of steps, by default log. A linear one ends, row by row, soon after the last median has settled."""
    title: str | None = None
    """Written above the panels."""
    xlabel: str | None = None
    """Written below the panels. On a linear axis numbers then say ``20k`` for 20 000 steps."""
    ylabel: str | None = None
    """Written beside the panels."""
    legend: bool | None = None
    """Put names into a legend, in the order of methods, and not at the ends of curves."""
    bands: bool | None = None
    """Shade the 25-75 % of the runs; by default where a panel has at most three methods."""
    width: float | None = None
    """Inches of the figure; where setups do not fit beside each other they go on below."""

    def __post_init__(self) -> None:
        if self.methods is not None:
            if not isinstance(self.methods, list | tuple) or not self.methods:
                raise ConfigError(f"methods={shown(self.methods)}: must be a list of methods, such as ['crm-num']")
            object.__setattr__(self, "methods", tuple(self.methods))
        for name in ("names", "colours"):
            if not isinstance(getattr(self, name), Mapping):
                raise ConfigError(f"{name}={shown(getattr(self, name))}: must be a table by method")
        if self.xscale is not None:
            check_choice("xscale", self.xscale, ("log", "linear"))
        if self.value is not None:
            check_choice("value", self.value, ("score", "greedy"))
        texts = {name: getattr(self, name) for name in ("title", "xlabel", "ylabel")}
        given = {name: text for name, text in texts.items() if text is not None}
        for name, text in (given | {f"names[{shown(key)}]": text for key, text in self.names.items()}).items():
            if not isinstance(text, str):
                raise ConfigError(f"{name}={shown(text)}: must be a text")
        for key, colour in self.colours.items():
            parts = colour if isinstance(colour, list | tuple) else [colour]
            if not all(isinstance(part, str | int | float) for part in parts):
                raise ConfigError(f"colours[{shown(key)}]={shown(colour)}: must be a text or a list of numbers")
        for name in ("legend", "bands"):
            if getattr(self, name) is not None:
                check_truth(name, getattr(self, name))
        if self.width is not None:
            check_number("width", self.width, 2, 40)

    @classmethod
    def read(cls, table: object, methods: Iterable[str]) -> Self:
        """Read a table of settings; raise ConfigError for unknown ones, and for methods that are not among these."""
        if not isinstance(table, Mapping):
            raise ConfigError(f"{shown(table)}: must be a table of settings, such as {{xscale = 'linear'}}")
        for name in table:
            check_known(name, cls.__dataclass_fields__, table)
        figure, known = cls(**table), tuple(methods)
        for key in ("methods", "names", "colours"):
            for method in getattr(figure, key) or ():
                check_choice(key, method, known)
        return figure
