"""Clocks and counts: what a machine declares beside its states, and what edges do to them.

::

    clock t 0..20           # adds 1 at every move and stays at its top, which is "20 or more"
    count n 0..8            # changes by edges only
    count m -3..3 saturate  # stays at the end that it would leave

    u0 -> u1    when a & n < 8    reward n    do t = 0, n += 1

Both begin at 0. An edge may end with actions: ``=`` sets a clock or count, ``+=`` and ``-=`` change a count.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from fastrm.errors import MachineError, did_you_mean, shown
from fastrm.machines.language.expressions import FEATURES, FOLDS, MAX_NAME
from fastrm.machines.language.tokens import Statement, fault
from fastrm.worlds import RESERVED, split_object

WORDS = RESERVED | FEATURES.keys() | FOLDS.keys() | {
    "name", "states", "start", "success", "failure", "score", "potential", "clock", "count", "saturate", "agenda"
}  # fmt: skip
"""Words of the language, which name no clock or count."""
MOST_VALUES = 1024
_NAME = re.compile(rf"[A-Za-z_][A-Za-z0-9_]{{0,{MAX_NAME - 1}}}")
_WHOLE = re.compile(r"-?[0-9]{1,9}")


@dataclass(frozen=True)
class Variable:
    """A clock or a count; raises MachineError unless it is one.

    >>> Variable("t", 0, 20, is_clock=True).within(21), Variable("n", 0, 8).within(9)
    (20, None)
    """

    name: str
    low: int
    high: int
    is_clock: bool = False
    saturates: bool = False
    """Whether it stays at the end of its range that it would leave, as clocks do."""
    line: int | None = field(default=None, compare=False)
    """Line of the file it was read from, for messages."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise MachineError(
                f"{self.kind} name {shown(self.name)}: use at most {MAX_NAME} letters, digits and underscores, "
                "a letter or underscore first"
            )
        if self.name in WORDS:
            raise MachineError(f"{self.kind} {self.name}: is a word of the language; choose another name")
        if split_object(self.name)[1] is not None:
            raise MachineError(f"{self.kind} {self.name}: is the name of a single object; choose another name")
        for end in (self.low, self.high):
            if not isinstance(end, int) or isinstance(end, bool):
                raise MachineError(f"{self.what}: a range joins two whole numbers, as in 0..20")
        if self.low > self.high:
            raise MachineError(f"{self.what}: an empty range; write the smaller number first")
        if self.high - self.low >= MOST_VALUES:
            raise MachineError(f"{self.what}: {self.high - self.low + 1} values; at most {MOST_VALUES} are supported")
        if self.is_clock and self.low:
            raise MachineError(f"{self.what}: a clock begins at 0; write 0..{max(self.high, 0)}")
        if not self.low <= 0 <= self.high:
            raise MachineError(f"{self.what}: a count begins at 0, which its range must hold")
        object.__setattr__(self, "saturates", self.is_clock or self.saturates)

    @property
    def kind(self) -> str:
        """Whether it is a clock or a count, as a word."""
        return "clock" if self.is_clock else "count"

    @property
    def what(self) -> str:
        """Name it in a message: ``clock t 0..20``."""
        return f"{self.kind} {self.name} {shown(self.low)}..{shown(self.high)}"

    def write(self) -> str:
        """Return its statement."""
        return f"{self.kind}   {self.name} {self.low}..{self.high}" + (
            " saturate" if self.saturates and not self.is_clock else ""
        )

    def within(self, value: int) -> int | None:
        """Return the value shown instead of some value, None if it would leave the range."""
        nearest = min(max(value, self.low), self.high)
        return nearest if self.saturates or nearest == value else None


@dataclass(frozen=True)
class Action:
    """What an edge does to a clock or count: ``=``, ``+=`` or ``-=`` and a whole number."""

    name: str
    sign: str
    number: int

    def apply(self, value: int) -> int:
        """Return the value after it, whatever the range."""
        return self.number if self.sign == "=" else value + (self.number if self.sign == "+=" else -self.number)

    def write(self) -> str:
        """Return it as text."""
        return f"{self.name} {self.sign} {self.number}"


def read_variable(statement: Statement) -> Variable:
    """Read a statement that begins with ``clock`` or ``count``."""
    (keyword, begin), *words = [(match[0], match.start()) for match in re.finditer(r"\S+", statement.text)]
    low, dots, high = words[1][0].partition("..") if len(words) > 1 else ("", "", "")
    if not dots:
        raise fault(
            f"expected a name and a range, such as '{keyword} {'t' if keyword == 'clock' else 'n'} 0..20'", begin
        )
    for word, place in words[2:]:
        if word != "saturate" or keyword == "clock" or len(words) > 3:
            cure = (
                "a clock always stays at its top" if word == "saturate" else "only a count may be followed by saturate"
            )
            raise fault(f"unexpected {word[:40]!r}; {cure}", place)
    if not (_WHOLE.fullmatch(low) and _WHOLE.fullmatch(high)):
        found = f"{keyword} {words[0][0][:40]} {words[1][0][:40]}"
        raise fault(f"{found}: a range joins two whole numbers, as in 0..20", words[1][1])
    try:
        return Variable(words[0][0], int(low), int(high), keyword == "clock", len(words) > 2, statement.number)
    except MachineError as problem:
        raise fault(str(problem), words[0][1]) from None


_ACTION = re.compile(r"\s*(?P<name>[^\s=+-]+)\s*(?P<sign>[+-]?=)\s*(?P<number>\S+)\s*")


def read_actions(text: str, offset: int, variables: Mapping[str, Variable]) -> tuple[Action, ...]:
    """Read what stands behind ``do``; columns count from `offset` places before the text."""
    actions: dict[str, Action] = {}
    for part in _parts(text):
        begin, match = offset + part.start(), _ACTION.fullmatch(part[0])
        if match is None or re.search(r"\s", match["number"].strip()):
            raise fault(f"do: expected an action such as 't = 0' or 'n += 1', found {part[0].strip()[:40]!r}", begin)
        name, where, sign = match["name"], begin + match.start("name"), match["sign"]
        variable = find_variable(name, variables, where)
        if not _WHOLE.fullmatch(match["number"]):
            raise fault(f"do: {match['number'][:40]!r} is no whole number", begin + match.start("number"))
        if name in actions:
            raise fault(f"do: {name} is changed twice; keep one action", where)
        if variable.is_clock and sign != "=":
            raise fault(f"do: clock {name} advances by itself; set it, as in {name} = 0, or declare a count", where)
        actions[name] = Action(name, sign, int(match["number"]))
        if sign == "=" and not variable.low <= actions[name].number <= variable.high:
            raise fault(f"do: {variable.what} cannot be set to {actions[name].number}", where)
    return tuple(actions.values())


def _parts(text: str) -> Iterator[re.Match[str]]:
    """Yield the parts between commas, of which there is at least one."""
    return re.finditer(r"[^,]+|(?<=,)(?=,|$)|^(?=,|$)", text)


def find_variable(name: str, variables: Mapping[str, Variable], where: int) -> Variable:
    """Return the clock or count of a name; raise MachineError about a place if there is none."""
    if name not in variables:
        near = did_you_mean(name, variables) or "; declare it, as in 'count n 0..8'"
        raise fault(f"do: {name[:40]!r} is no clock or count{near}", where)
    return variables[name]


def check_actions(actions: object, names: Collection[str]) -> str:
    """Return what is wrong with the actions of an edge, which only programs can write; empty if nothing is."""
    if not isinstance(actions, tuple) or not all(isinstance(action, Action) for action in actions):
        return f"actions={shown(actions)}: must be a tuple of actions"
    if unknown := [action.name for action in actions if action.name not in names]:
        return f"actions change {shown(unknown[0])}, which is no clock or count of the machine"
    return ""
