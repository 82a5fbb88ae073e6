"""Traces: what was read and paid in episodes, as people give them and as lines of JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from fastrm.errors import ConfigError, printable, shown
from fastrm.problems import Label
from fastrm.textfile import read_text, replace_file
from fastrm.worlds import RESERVED

End = Literal["success", "failure"] | None
ENDS: tuple[End, ...] = (None, "success", "failure")
"""How an episode may end, by the numbers LIVE, SUCCESS and FAILURE."""


class Trace(NamedTuple):
    """What one episode read and was paid, move by move.

    >>> Trace(["a", "", "b"], [0, 0, 1], "success")
    Trace(labels=['a', '', 'b'], rewards=[0, 0, 1], end='success')
    """

    labels: Sequence[str]
    """What held after every move: nothing, a proposition, or several with blanks between them."""
    rewards: Sequence[float]
    """What every move was paid."""
    end: End = None
    """How the last move ended the episode; None where it was cut off."""


class Steps(NamedTuple):
    """A checked trace."""

    labels: list[Label]
    rewards: list[float]
    end: int
    """LIVE, SUCCESS or FAILURE, of the last step."""


def check_traces(traces: object) -> list[Steps]:
    """Return traces, each a `Trace` or a table of the same fields, in one form; messages count from 1.

    Raises
    ------
    ConfigError
        Naming trace and step.
    """
    if isinstance(traces, str | bytes | Mapping) or not isinstance(traces, Iterable):
        raise ConfigError(f"traces={shown(traces)}: must be a list of traces; load_traces reads a file of them")
    return [_check_trace(f"trace {i}", trace) for i, trace in enumerate(traces, 1)]


def _check_trace(where: str, trace: Any) -> Steps:
    """Return one trace in the form that engines read."""
    if isinstance(trace, Mapping):
        if unknown := [key for key in trace if key not in Trace._fields]:
            raise ConfigError(f"{where}: {shown(unknown[0])} is unknown; a trace has labels, rewards and end")
        missing = [key for key in ("labels", "rewards") if key not in trace]
        if missing:
            raise ConfigError(f"{where}: has no {missing[0]}; a trace has labels, rewards and end")
        trace = Trace(**trace)
    if not isinstance(trace, tuple) or len(trace) not in (2, 3):
        raise ConfigError(f"{where}: {shown(trace)} must be a Trace or a table with labels, rewards and end")
    labels, rewards, end = Trace(*trace)
    for name, column in (("labels", labels), ("rewards", rewards)):
        is_list = isinstance(column, Sequence | np.ndarray) and not isinstance(column, str)
        if not is_list or getattr(column, "ndim", 1) == 0:
            raise ConfigError(f"{where}: {name}={shown(column)}: must be a list")
    if len(labels) != len(rewards):
        raise ConfigError(f"{where}: {len(labels)} labels and {len(rewards)} rewards; give one of each for every move")
    if end is not None and not (isinstance(end, str) and end in ENDS):
        raise ConfigError(f"{where}: end={shown(end)}: must be 'success', 'failure' or null")
    if end is not None and not len(labels):
        raise ConfigError(f"{where}: ends in {end} without a move; leave it out")
    read = [_read_label(f"{where}, step {j}", label) for j, label in enumerate(labels, 1)]
    paid = [_read_reward(f"{where}, step {j}", reward) for j, reward in enumerate(rewards, 1)]
    return Steps(read, paid, ENDS.index(end))


def _read_label(where: str, label: object) -> Label:
    """Return the propositions of a label, in alphabetical order."""
    if not isinstance(label, str):
        raise ConfigError(f"{where}: label {shown(label)}: must be a text, such as 'a', or '' where nothing holds")
    for name in (names := label.split()):
        if not (name.isascii() and name.isidentifier()) or name in RESERVED:
            raise ConfigError(
                f"{where}: label {shown(name)}: a proposition is a letter or a name, such as a or coffee, and no word "
                "of machines such as when"
            )
    return tuple(sorted(set(names)))


def _read_reward(where: str, reward: Any) -> float:
    """Return a reward that is a finite number; 0 has no sign."""
    is_number = isinstance(reward, int | float | np.integer | np.floating) and not isinstance(reward, bool)
    try:
        found = float(reward) if is_number else math.nan
    except OverflowError:  # an integer beyond all floats
        found = math.inf
    if not math.isfinite(found):
        raise ConfigError(f"{where}: reward {shown(reward)}: must be a finite number")
    return found + 0.0


def load_traces(path: str | Path) -> list[Trace]:
    """Read traces from a file with one of them a line, as JSON.

    A line looks like ``{"labels": ["a", "", "b"], "rewards": [0, 0, 1], "end": "success"}``; `end` is null, or left
    out, where an episode was cut off.

    Raises
    ------
    ConfigError
        Naming file and line.
    """
    source, found = printable(str(path)), []
    for number, line in enumerate(read_text(path, ConfigError).split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            raise ConfigError(
                f"{source}:{number}: not JSON; a line is one trace, with labels, rewards and end"
            ) from None
        if not isinstance(value, dict):
            raise ConfigError(f"{source}:{number}: {shown(value)}: must be a table with labels, rewards and end")
        _check_trace(f"{source}:{number}", value)
        found.append(Trace(**value))
    if not found:
        raise ConfigError(f"{source}: has no traces; write one a line, as JSON")
    return found


def save_traces(traces: Iterable[Trace], path: str | Path) -> None:
    """Write traces to a file, one a line, as JSON; `load_traces` reads them."""
    lines = []
    for steps in check_traces(traces):
        names = [" ".join(label) for label in steps.labels]
        lines.append(json.dumps({"labels": names, "rewards": steps.rewards, "end": ENDS[steps.end]}))
    replace_file(path, "".join(f"{line}\n" for line in lines).encode(), ConfigError)
