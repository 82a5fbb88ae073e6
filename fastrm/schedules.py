"""Settings that change while a run goes on: a number as a function of the steps made.

A schedule is evaluated every `GRID` steps, and its value holds until the next evaluation, whatever the ticks of the log
are and in whatever pieces a run is made. In files and result files a schedule is its text.
"""

from __future__ import annotations

import math
import re

from fastrm.checks import check_number
from fastrm.errors import ConfigError, shown

GRID = 1000
"""Steps between two evaluations."""
_FORMS = {"linear": "start, end, steps", "exponential": "start, end, half_life", "harmonic": "start, scale"}


class Schedule(str):
    """A schedule, written as people write it in a file.

    >>> epsilon = linear(1.0, 0.2, 4000)
    >>> epsilon
    'linear(1, 0.2, 4000)'
    >>> [round(epsilon.at(step), 3) for step in (0, 999, 1000, 4000, 9000)]
    [1.0, 1.0, 0.8, 0.2, 0.2]
    """

    __slots__ = ("_form", "_numbers")
    _form: str
    _numbers: tuple[float, ...]

    def __new__(cls, text: str) -> Schedule:
        """Read a schedule.

        Raises
        ------
        ConfigError
            When it is none, or a number is out of range.
        """
        if not isinstance(text, str):
            raise ConfigError(f"{shown(text)}: a schedule is text, such as 'linear(1, 0.1, 50000)'")
        match = re.fullmatch(r"\s*([a-z]+)\s*\(([^()]*)\)\s*", text)
        if match is None or match[1] not in _FORMS:
            forms = ", ".join(f"{name}({arguments})" for name, arguments in _FORMS.items())
            raise ConfigError(f"{shown(text)}: must be a number or a schedule: {forms}")
        form, names = match[1], _FORMS[match[1]].split(", ")
        words = [word.strip().replace("_", "") for word in match[2].split(",")]
        if len(words) != len(names):
            raise ConfigError(f"{shown(text)}: write {form}({_FORMS[form]})")
        numbers = tuple(_number(text, name, word) for name, word in zip(names, words, strict=True))
        self = super().__new__(cls, f"{form}({', '.join(map(_format, numbers))})")
        self._form, self._numbers = form, numbers
        return self

    def __reduce__(self) -> tuple[type[Schedule], tuple[str]]:
        return Schedule, (str(self),)

    def at(self, step: int) -> float:
        """Return the value in force at a step: that of the last multiple of `GRID`."""
        made, start = step // GRID * GRID, self._numbers[0]
        if self._form == "harmonic":
            return start * self._numbers[1] / (self._numbers[1] + made)
        end, pace = self._numbers[1:]
        if self._form == "linear":
            share = min(made / pace, 1.0)
            return start * (1.0 - share) + end * share  # both ends are met to the bit
        return end + (start - end) * math.pow(0.5, made / pace)


def linear(start: float, end: float, steps: float) -> Schedule:
    """Return a schedule that goes from `start` to `end` linearly within `steps` steps, and stays there.

    >>> linear(1.0, 0.05, 500_000).at(250_000)
    0.525
    """
    return _build("linear", start, end, steps)


def exponential(start: float, end: float, half_life: float) -> Schedule:
    """Return a schedule whose distance to `end` halves every `half_life` steps.

    >>> exponential(1.0, 0.0, 10_000).at(20_000)
    0.25
    """
    return _build("exponential", start, end, half_life)


def harmonic(start: float, scale: float) -> Schedule:
    """Return the schedule ``start * scale / (scale + step)``, which satisfies the conditions of Robbins and Monro.

    >>> harmonic(0.5, 100_000).at(100_000)
    0.25
    """
    return _build("harmonic", start, scale)


def value_at(setting: float | str, step: int) -> float:
    """Return the value of a setting, a number or a schedule, at a step.

    >>> value_at(0.1, 5000), value_at("linear(1, 0, 10000)", 5000)
    (0.1, 0.5)
    """
    if not isinstance(setting, str):
        return float(setting)
    return (setting if isinstance(setting, Schedule) else Schedule(setting)).at(step)


def final(setting: float | str, steps: int) -> float:
    """Return the value of a setting in the last of `steps` steps."""
    return value_at(setting, steps - 1)


def check_rate(name: str, value: object) -> float | Schedule:
    """Return `value`, a number from 0 to 1 or a schedule of such; raise ConfigError unless it is one."""
    if not isinstance(value, str):
        check_number(name, value, 0, 1)
        return value  # type: ignore[return-value]
    try:
        return Schedule(value)
    except ConfigError as problem:
        raise ConfigError(f"{name}={problem}") from None


def _build(form: str, *numbers: float) -> Schedule:
    for name, number in zip(_FORMS[form].split(", "), numbers, strict=True):
        check_number(name, number)
    return Schedule(f"{form}({', '.join(_format(float(number)) for number in numbers)})")


def _format(number: float) -> str:
    return repr(number).removesuffix(".0")


def _number(text: str, name: str, word: str) -> float:
    """Read a number of a schedule: values are from 0 to 1, paces are above 0."""
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    is_value = name in ("start", "end")
    if not (0 <= number <= 1 if is_value else 0 < number < 1e18):
        raise ConfigError(f"{shown(text)}: {name} must be a number {'from 0 to 1' if is_value else 'above 0'}")
    return number
