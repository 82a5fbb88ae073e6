"""Every error that a user can cause, and its words: what, where, and the cure, in one line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class FastrmError(Exception):
    """Base of all errors raised on purpose; the command line turns it into exit code 2."""


class MapError(FastrmError):
    """A map, or a setup string that should become one, cannot be used."""


class MachineError(FastrmError):
    """A reward machine cannot be read, is malformed, or does not fit the map."""


class ConfigError(FastrmError):
    """A setting is unknown, has the wrong type, or is out of range."""


class MissingExtra(ConfigError, ImportError):
    """Something needs a package that only an extra installs; an ImportError too, as importers expect."""


class StoreError(FastrmError):
    """A result file cannot be read, written, or used for this."""


class RunError(FastrmError):
    """An experiment ended early through no fault of its arguments; exit code 1, not 2."""


class DiskError(StoreError, RunError):
    """Results could not be saved while an experiment ran."""


class FastrmWarning(UserWarning):
    """Something legal that is probably not what was meant."""


def shown(value: object) -> str:
    r"""Return a value as messages quote it: at most 60 characters, on one line, control characters escaped.

    >>> shown("a-b"), shown("\x1b[31m"), len(shown("x" * 1000)), len(shown(10**5000))
    ("'a-b'", "'\\x1b[31m'", 60, 60)
    """
    if isinstance(value, str | bytes | bytearray):
        text = repr(value[:60])  # the rest would be cut off anyway
    elif isinstance(value, int) and value.bit_length() > 10_000:
        text = hex(value)  # Python does not write as many decimal digits
    else:
        try:
            text = repr(value)
        except Exception:  # of a foreign object, which may do anything
            text = object.__repr__(value)
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:200])
    return text if len(text) <= 60 else f"{text[:57]}..."


def place(source: str, line: int | None = None) -> str:
    """Return the ``file:line: `` prefix of a message.

    >>> place("gold.rm", 4)
    'gold.rm:4: '
    """
    return f"{source}:{line}: " if line else f"{source}: "


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Return `` (did you mean x?)`` for the nearest known word, or an empty string.

    >>> did_you_mean("glod", ["gold", "wood"])
    ' (did you mean gold?)'
    >>> did_you_mean("B", "abc")
    ' (did you mean b?)'
    >>> did_you_mean("zzz", ["gold"])
    ''
    """
    if not isinstance(word, str) or len(word) > 100:  # nothing known is as long, and comparing takes time
        return ""
    options = sorted(set(known))
    folded = {option.lower(): option for option in options}
    near = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=0.6)
    return f" (did you mean {folded[near[0]]}?)" if near else ""


def printable(text: str) -> str:
    r"""Return text for a terminal or a picture: one line, with control characters and the like shown, not obeyed.

    >>> print(printable("a\x1b[2Jb\n\u202ec"))
    a\x1b[2Jb\n\u202ec
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
