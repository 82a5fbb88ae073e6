"""Which learners there are, and what a learner is. Names are known without importing Numba.

A learner is one kernel file, one file in this room, and its name here. Learners of others are made known with
`register` and then work wherever a name of a learner does.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, cast

from fastrm.arrays import Array
from fastrm.checks import check_choice, check_known
from fastrm.config import LearnerConfig, Profile
from fastrm.errors import ConfigError, shown
from fastrm.machines import KINDS, SHORT_KINDS

if TYPE_CHECKING:
    from fastrm.kernels.contracts import Setting, Span, State
    from fastrm.learners.plain import PlainLearner
    from fastrm.problems import Problem

LearnerName = Literal[
    "qrm", "crm", "hrm", "sarsa", "expected-sarsa", "double-q", "q-lambda", "dyna", "coupled",
    "learn-merge", "learn-smallest",
]  # fmt: skip
"""Learners that come with fastrm, for editors to complete; registered ones have other names."""
BUILT_IN: dict[str, str] = {
    "qrm": "qrm.Qrm",
    "crm": "crm.Crm",
    "hrm": "hrm.Hrm",
    "sarsa": "sarsa.Sarsa",
    "expected-sarsa": "sarsa.ExpectedSarsa",
    "double-q": "double_q.DoubleQ",
    "q-lambda": "q_lambda.QLambda",
    "dyna": "dyna.Dyna",
    "coupled": "coupled.Coupled",
    "learn-merge": "fastrm.inference.learner.LearnMerge",
    "learn-smallest": "fastrm.inference.learner.LearnSmallest",
}
"""Module, of this room unless it is named whole, imported when a learner is first asked for, and class."""

PLACES = {"water": "Water world", "agenda": "agendas of more than 1024 machine states"}
"""How messages name the kinds of problems that few learners take."""

COMMON = ("gamma", "epsilon", "episode_limit", "tick", "window", "falls_off")
"""What every run depends on: the episode, the log, and the unit of its score."""

FROM_FILE = "fastrm_learner_file_"
"""How names of modules begin that were files on the command line; other processes load the files themselves."""

AGENDAS = ("coupled",)
"""The learners of agendas, which learn no other tasks."""
OF_MACHINES = ("learn-merge", "learn-smallest")
"""The learners of machines, of which files tell whether these are right."""
LINEAR = ("qrm", "crm")
"""Learners that Water world has too, with sums of weights in place of tables."""

_known: dict[str, Learner] = {}


class Values(NamedTuple):
    """What one run has learned."""

    q: Array
    """[cell, column, action], a column per machine state or whatever else the learner tells apart."""
    more: Mapping[str, Array] = {}
    """What else it learned, by name."""


class View(NamedTuple):
    """What the greedy policies of all runs act by, as views of the learner's tables; see `Learner.view`."""

    q: Array
    """[run, cell, column, action]"""
    twin: Any = None
    """Another such table: the policy acts by the mean of both."""
    first: Any = None
    """Where columns are options: those from ``first[u]`` to ``first[u + 1] - 1`` leave machine state u."""
    controller: Any = None
    """The values of options, [run, cell, option]; one is kept until its machine state is left."""
    tour: Any = None
    """What `coupled` plans by."""


class Learner(Protocol):
    """How a table of values is made, changed and followed."""

    name: str
    """What people type: lower-case letters, digits and hyphens between them."""
    semantics: int
    """Rises only when the same seed gives another curve."""
    settings: tuple[str, ...]
    """What enters run_id beside the `COMMON` settings: the fields of `LearnerConfig` and `Profile` that it reads, and
    those of its attributes that change what it learns."""

    per_state: bool
    """Whether the columns of its values are machine states, so that they can be drawn state by state."""

    def begin(self, problem: Problem, reward: Array, config: LearnerConfig, n: int) -> tuple[Array, Any]:
        """Return the tables of n runs in the layout of the kernel, and what else it needs: ``State.q, State.own``."""

    def advance(self, setting: Setting, state: State, span: Span) -> None:
        """Call the kernel."""

    def values(self, problem: Problem, state: State, i: int) -> Values:
        """Return what run i has learned."""

    def view(self, problem: Problem, state: State) -> View:
        """Return what the greedy policies act by, for greedy curves alone; without it these cost more time."""

    def actor(self, problem: Problem, run: Any) -> Any:
        """Return the greedy policy of a run, for learners that act by more than a cell and a machine state.

        It is a function of `Episode.place` and of a dictionary, in which it may keep what it likes along an episode; it
        returns the values of all actions.
        """

    def put(self, problem: Problem, state: State, i: int, values: Values) -> None:
        """Let run i begin with values that some run learned: the inverse of `values`, for warm starts alone."""

    def follow(self, problem: Problem, values: Values, s: int, u: int, path: Array) -> tuple[int, int]:
        """Write the cells that the greedy policy visits from cell s, column u on into `path`.

        Return length and outcome.
        """


def names(kind: str = "tabular") -> tuple[str, ...]:
    """Return the names of all learners of a kind of problem, those that come with fastrm first.

    >>> names()[:3], names("water"), names("agenda")
    (('qrm', 'crm', 'hrm'), ('qrm', 'crm'), ('coupled',))
    """
    if kind == "tabular":
        return tuple(dict.fromkeys((*BUILT_IN, *_known)))
    return LINEAR if kind == "water" else AGENDAS


def check_name(where: str, name: str, kind: str = "tabular") -> None:
    """Raise ConfigError unless a kind of problem has such a learner; those of agendas alone are not suggested."""
    check_choice(where, name, names(kind), refused=AGENDAS if kind == "tabular" else ())


def find(name: str, kind: str = "tabular") -> Learner:
    """Return the learner that a name means on a kind of problem, `Problem.kind`."""
    check_name("algo" if kind == "tabular" else f"algo on {PLACES[kind]}", name, kind)
    if kind == "water":
        found: Learner = importlib.import_module("fastrm.learners.linear").LEARNERS[name]
        return found
    if name not in _known:
        module, _, kind = BUILT_IN[name].rpartition(".")
        home = module if "." in module else f"fastrm.learners.{module}"
        _known[name] = getattr(importlib.import_module(home), kind)()
    return _known[name]


def settings_of(name: str, kinds: Collection[str]) -> set[str]:
    """Return the settings that a learner reads on some kinds of problems."""
    return {setting for kind in kinds if name in names(kind) for setting in find(name, kind).settings}


def register(learner: Learner | PlainLearner) -> None:
    """Make a learner known by its name, in this process and in those that it starts.

    It then works wherever the name of a learner does: in `fastrm.train`, in experiments and in their files.

    Parameters
    ----------
    learner : Learner or PlainLearner
        An object with the attributes and methods of `fastrm.custom.Learner`, or of `fastrm.custom.PlainLearner`.

    Raises
    ------
    ConfigError
        When the name is not a word, another learner has it, or the learner lacks something.

    Examples
    --------
    >>> import fastrm
    >>> from fastrm.learners.qrm import Qrm
    >>> class Cautious(Qrm):
    ...     name = "cautious"
    >>> fastrm.register(Cautious())
    >>> grid, machine = fastrm.GridMap.generate("1a", size=7), fastrm.RewardMachine.sequence("a")
    >>> fastrm.train(fastrm.compile(grid, machine), "cautious", steps=20_000).solved
    True
    >>> forget("cautious")
    """
    if isinstance(learner, type):
        raise ConfigError(f"learner {shown(learner.__name__)}: a class; register an object, {learner.__name__}()")
    name = getattr(learner, "name", None)
    if not (isinstance(name, str) and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)):
        raise ConfigError(f"learner {shown(name)}: a name is lower-case letters, digits and hyphens, such as my-sarsa")
    if name.rpartition("-")[2] in {"rs", *(kind.rpartition("-")[2] for kind in (*SHORT_KINDS, *KINDS))}:
        raise ConfigError(f"learner {shown(name)}: its last word would be read as shaping or as a kind of machine")
    if name in BUILT_IN or origin(_known.get(name, learner)) != origin(learner):
        raise ConfigError(f"learner {shown(name)}: there is one of this name already; choose another name")
    is_plain = hasattr(learner, "act") or hasattr(learner, "learn")
    kernel = ("semantics", "settings", "per_state", "begin", "advance", "values", "follow")
    for member in ("begin", "act", "learn") if is_plain else kernel:
        if not hasattr(learner, member):
            protocol = "PlainLearner" if is_plain else "Learner"
            raise ConfigError(f"learner {shown(name)}: has no {shown(member)}; see fastrm.custom.{protocol}")
    made = cast("Learner", importlib.import_module("fastrm.learners.plain").adapt(learner) if is_plain else learner)
    for setting, value in own_settings(made).items():
        if not isinstance(value, bool | int | float | str):
            raise ConfigError(
                f"learner {shown(name)}: {setting}={shown(value)}: must be a number, text or a truth value"
            )
    _known[name] = made


def slowness(name: str) -> int:
    """Return how many times slower than a kernel a learner is, about."""
    return int(getattr(find(name), "slowness", 1))


def own_settings(learner: Learner) -> dict[str, Any]:
    """Return the settings of a learner that are attributes of it, and none of `LearnerConfig` or `Profile`.

    Raises
    ------
    ConfigError
        When it has no such attribute.
    """
    shared = [field.name for kind in (LearnerConfig, Profile) for field in fields(kind)]
    written, own = _written(learner), [setting for setting in learner.settings if setting not in shared]
    for setting in own:
        if not hasattr(written, setting):
            check_known(setting, shared, learner.settings)
    return {setting: getattr(written, setting) for setting in own}


def check_shared(setting: str) -> None:
    """Raise ConfigError, with the cure, for a setting that only one of the learners here has."""
    for name, learner in _known.items():
        if setting in own_settings(learner):
            kind = type(_written(learner)).__name__
            cure = f"register {kind}(...) with another {setting}, under another name"
            raise ConfigError(f"{setting}: is an attribute of the learner {shown(name)}; {cure}")


def _written(learner: object) -> object:
    """Return the object that somebody wrote: of a learner in plain Python the one inside its adapter."""
    return getattr(learner, "prototype", learner)


def origin(learner: object) -> tuple[str, str]:
    """Return file and name of a learner's class: one file may be imported, and named on the command line besides."""
    kind = type(_written(learner))
    return getattr(sys.modules.get(kind.__module__), "__file__", None) or kind.__module__, kind.__qualname__


def known() -> dict[str, Learner]:
    """Return the learners that were asked for or registered so far."""
    return dict(_known)


def forget(name: str) -> None:
    """Undo `register`."""
    _known.pop(name, None)


def custom_learners() -> tuple[tuple[str, str, dict[str, Any]], ...]:
    """Return module, class and attributes of learners that do not come with fastrm, for `register_all` elsewhere.

    Raises
    ------
    ConfigError
        When a class is of the main program, which another process does not import.
    """
    found = []
    for learner in (_written(learner) for name, learner in _known.items() if name not in BUILT_IN):
        kind = type(learner)
        if kind.__module__ == "__main__":
            raise ConfigError(f"learner {kind.__name__}: worker processes need its class in a module of its own")
        if not kind.__module__.startswith(FROM_FILE):
            found.append((kind.__module__, kind.__qualname__, dict(vars(learner))))
    return tuple(found)


def register_all(learners: Iterable[tuple[str, str, dict[str, Any]]]) -> None:
    """Register learners by module, class and attributes."""
    for module, name, attributes in learners:
        kind = getattr(importlib.import_module(module), name)
        learner = kind.__new__(kind)
        vars(learner).update(attributes)
        register(learner)


def semantics() -> dict[str, int]:
    """Return the semantics number of every learner."""
    return {name: find(name).semantics for name in names()}
