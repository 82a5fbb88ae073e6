"""Checks of arguments: each raises ConfigError with one line that names the setting and what it must be."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Container, Iterable, Mapping
from typing import cast

import numpy as np

from fastrm.errors import ConfigError, did_you_mean, shown


def check_number(name: str, value: object, low: float = -math.inf, high: float = math.inf) -> None:
    """Raise ConfigError unless `value` is a finite number in [low, high]."""
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not is_number or not abs(cast(float, value)) <= 1e300 or not low <= cast(float, value) <= high:
        bounds = f"a number from {low:g} to {high:g}" if math.isfinite(low) else "a finite number"
        text = str(value) if isinstance(value, np.generic) and is_number else shown(value)
        raise ConfigError(f"{name}={text}: must be {bounds}")


def check_whole(name: str, value: object, low: int, high: int) -> None:
    """Raise ConfigError unless `value` is an integer in [low, high]."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or not low <= cast(int, value) <= high:
        text = str(value) if isinstance(value, np.generic) and is_whole else shown(value)
        raise ConfigError(f"{name}={text}: must be a whole number from {low} to {high}")


def check_truth(name: str, value: object) -> None:
    """Raise ConfigError unless `value` is True or False."""
    if not isinstance(value, bool):
        raise ConfigError(f"{name}={shown(value)}: must be True or False")


def is_plain(text: str) -> bool:
    r"""Return whether a text holds no control characters and nothing that cannot be stored as UTF-8.

    >>> is_plain("a-b"), is_plain("\x1b[31m"), is_plain("\ud800")
    (True, False, False)
    """
    return all(unicodedata.category(c) not in ("Cc", "Cs", "Zl", "Zp") for c in text)


def check_choice(name: str, value: object, choices: Iterable[str], refused: Container[str] = ()) -> None:
    """Raise ConfigError unless `value` is one of the choices, with the nearest one that is not refused elsewhere."""
    options = tuple(choices)
    if not isinstance(value, str) or value not in options:
        near = did_you_mean(value, (option for option in options if option not in refused))
        raise ConfigError(f"{name}={shown(value)}: must be one of {', '.join(options)}{near}")


def check_known(name: str, known: Iterable[str], given: Container[str] = (), others: Iterable[str] = ()) -> None:
    """Raise ConfigError unless a setting is known, with the nearest one, or nearest other argument, not given yet."""
    options = tuple(known)
    if name not in options:
        word = name if isinstance(name, str) and name.isidentifier() and len(name) <= 60 else shown(name)
        near = did_you_mean(name, (option for option in (*options, *others) if option not in given))
        raise ConfigError(f"{word}: no such setting{near}; there are {', '.join(options)}")


def refuse_given(settings: Mapping[str, object], because: str, spell: Callable[[str], str] = str) -> None:
    """Raise ConfigError if a setting is not None; `spell` turns its name into that of the message."""
    for name, value in settings.items():
        if value is not None:
            raise ConfigError(f"{spell(name)} {because}")
