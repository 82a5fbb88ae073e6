"""Methods: a learner on a kind of machine, as people name it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Self, cast

from fastrm.errors import ConfigError, did_you_mean, printable, shown
from fastrm.learners import registry
from fastrm.machines import KINDS, SHORT_KINDS, Kind, KindName, find_kind


@dataclass(frozen=True, kw_only=True)
class Method:
    """A learner on a kind of machine; written ``crm-rs-bool``, or ``crm-rs`` for tasks that are files.

    ``crm-rs-boolean`` means the same; the short name is the one that is stored.

    With ``@0.5`` at the end values start in the middle of the true ones, between the smallest (0) and the largest (1)
    value of a cell and state from which the task can be completed.

    >>> Method.parse("crm-rs-bool")
    Method(algo='crm', shaping=True, kind='boolean', optimism=None)
    >>> Method.parse("hrm-num@0.5").optimism
    0.5
    >>> Method.parse("crm-numeric-boolean").label
    'crm-num-bool'
    >>> Method.parse("q-lambda-num-bool").algo
    'q-lambda'
    """

    algo: str
    shaping: bool = False
    kind: Kind | None = None
    optimism: float | None = None
    """Where initial values lie between the smallest (0) and the largest (1) true value; None for the q_init as set."""

    @classmethod
    def parse(cls, label: str) -> Self:
        """Read a method's name; its learner must be known.

        Raises
        ------
        ConfigError
            With the nearest name.
        """
        method = cls.read(label)
        if method.algo not in registry.names():
            raise _unknown(label)
        return method

    @classmethod
    def read(cls, label: str) -> Self:
        """Read a method's name, such as a result file has, whether or not its learner is known here."""
        name, at, optimism = str(label).partition("@")
        if at and not re.fullmatch(r"-?[0-9]{1,6}(\.[0-9]{1,6})?", optimism):
            raise ConfigError(
                f"method {shown(label)}: after @ comes where initial values lie between the smallest (0) and "
                f"the largest (1) true value, as in {printable(name[:40])}@0.5"
            )
        kind = max((k for k in (*SHORT_KINDS, *KINDS) if name.endswith(f"-{k}")), key=len, default="")
        rest = name.removesuffix(f"-{kind}")
        algo = rest.removesuffix("-rs")
        shaping = algo != rest
        if at and shaping:
            raise ConfigError(
                f"method {shown(label)}: -rs (shaping) moves the initial values itself; leave out -rs or @{optimism}"
            )
        found = find_kind(cast(KindName, kind)) if kind else None
        return cls(algo=algo, shaping=shaping, kind=found, optimism=float(optimism) if at else None)

    @property
    def label(self) -> str:
        """The method's name."""
        short = [name for name, kind in SHORT_KINDS.items() if kind == self.kind]
        start = "" if self.optimism is None else f"@{self.optimism:.12g}"
        return "-".join([self.algo, *(["rs"] if self.shaping else []), *short]) + start

    def at(self, optimism: float | None) -> Self:
        """Return the method with other initial values.

        >>> Method.parse("crm-pot@0.5").at(None).label
        'crm-pot'
        """
        return replace(self, optimism=optimism)


def read_warm_starts(given: object, methods: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Read which method starts with what another has learned; return the pairs in the order of the methods.

    Raises
    ------
    ConfigError
        When one of them is not a method of the experiment, or a method would start with what it learns itself.

    >>> read_warm_starts({"crm-numeric": "crm-bool"}, ["crm-bool", "crm-num"])
    (('crm-num', 'crm-bool'),)
    """
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for pair in given.items() for name in pair):
        raise ConfigError(f"warm_start={shown(given)}: must be a table such as {{crm-num = 'crm-bool'}}")
    found: dict[str, str] = {}
    for pair in given.items():
        one, source = (Method.read(label).label for label in pair)
        for label in (one, source):
            if label not in methods:
                near = did_you_mean(label, methods)
                raise ConfigError(f"warm_start: {shown(label)} is not among the methods{near}; add it to them")
        if one in found:
            raise ConfigError(f"warm_start: {shown(one)} is given twice; leave one out")
        found[one] = source
    for label in found:
        chain = [label]
        while (source := found.get(chain[-1], "")) and source not in chain:
            chain.append(source)
        if source:
            way = " <- ".join([*chain[chain.index(source) :], source])
            raise ConfigError(f"warm_start: {way} leads back to where it began; leave one out")
    return tuple((label, found[label]) for label in methods if label in found)


def check_kind(method: Method) -> None:
    """Refuse a method whose learner cannot learn its kind of reward, or from shaped rewards."""
    kinds = getattr(registry.find(method.algo), "kinds", None)
    if kinds is None:
        return
    cure = replace(method, shaping=False, kind=kinds[0] if method.kind else None).label
    if method.shaping:
        raise ConfigError(f"method {shown(method.label)}: {method.algo} learns no shaped rewards; write {cure}")
    if method.kind is not None and method.kind not in kinds:
        raise ConfigError(
            f"method {shown(method.label)}: {method.algo} learns tasks of kind {', '.join(kinds)} alone; write {cure}"
        )


def check_warm_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Refuse warm starts between learners that keep other kinds of values."""
    for label, source in pairs:
        one, two = (registry.find(Method.read(name).algo) for name in (label, source))
        if one.name != two.name and not (one.per_state and two.per_state):
            raise ConfigError(
                f"warm_start: {label} cannot start with what {source} has learned: {two.name} and {one.name} do not "
                f"keep the same kind of values; name a method of {one.name}"
            )
        if not hasattr(one, "put"):
            raise ConfigError(f"warm_start: {one.name} has no 'put', so it cannot begin with what was learned")


def check_learner(algo: str, source: str) -> None:
    """Insist that a learner of a result file is known here."""
    if algo not in registry.names():
        raise ConfigError(
            f"{printable(source)}: learner {shown(algo)} is not known here; name its file with --learner FILE, or make "
            "it known with fastrm.register"
        )


def _unknown(label: object) -> ConfigError:
    algos = registry.names()
    known = [f"{a}{rs}-{k}" for a in algos for rs in ("", "-rs") for k in (*SHORT_KINDS, *KINDS)]
    return ConfigError(
        f"method {shown(label)} is unknown{did_you_mean(str(label), known)}; write a learner ({', '.join(algos)}, or "
        f"your own with --learner FILE), then -rs if it is shaped, "
        f"then a kind of reward (-{', -'.join(SHORT_KINDS)}), then @0.5 if initial values "
        "are to lie half-way between the true ones"
    )


method_of = cache(Method.read)
"""Return the method of a label in a result file; each label is read once."""
