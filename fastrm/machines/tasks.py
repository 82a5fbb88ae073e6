"""Machines by name: a file, or a task in a few characters, built in any kind."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Unpack

from fastrm.checks import check_truth, refuse_given
from fastrm.errors import ConfigError, MachineError, shown
from fastrm.machines import terms
from fastrm.machines.language.drafts import MAX_STAGES, Agenda
from fastrm.machines.machine import RewardMachine
from fastrm.machines.reward_kinds import KindName, PaymentSettings, find_kind
from fastrm.textfile import check_path, exists
from fastrm.worlds import GridMap, is_label, is_object, split_object


def task(
    text: str,
    kind: KindName = "boolean",
    *,
    used_up: bool = False,
    grid: GridMap | None = None,
    **payment: Unpack[PaymentSettings],
) -> RewardMachine:
    """Build the smallest machine that watches a task.

    Parameters
    ----------
    text : str
        ``a-b`` (a, then b), ``{a,b}`` (both, in any order), ``a|b`` (one), ``3*a`` (three times), ``a within 9``
        (in 9 moves at most), ``( )`` to group, and at the end ``!n`` (never n: the episode fails there); see `terms`. A
        target is the letter of an object, or a name of several letters such as ``coffee`` that a world has as a label.
        At most 10 targets in any order, at most 1024 machine states. A Boolean task of visits in turn and in any order
        may have up to 32 visits; where it needs more machine states, only ``coupled`` learns it.
    kind : {"boolean", "numeric-boolean", "numeric", "offset", "potential", "local-potential", "distance-to-go"}
        What the machine pays on the way (see `reward_kinds`); the short names ``bool``, ``num-bool``, ``num``,
        ``offset``, ``pot``, ``local`` and ``dtg`` mean the same. A numeric machine with several targets pays minus the
        distance to the nearest. ``offset`` is for different targets in turn.
    used_up : bool
        What ``3*a`` counts: with True three different objects, so that one is used up by standing on it; by default
        three readings of the label, of one object or of several. Nothing else in a task uses objects up.
    grid : GridMap, optional
        The map to check the task against; needed where objects are used up, and the machine is then made for its
        objects.
    **payment
        As for `RewardMachine.sequence`: ``terminal_reward``, ``failure_reward``, ``step_reward``, ``closer``,
        ``distance``, ``arrival``, ``scale``, ``offset``.

    Raises
    ------
    MachineError
        Naming the place in the text.
    ConfigError
        When a setting is unknown or out of range.

    Examples
    --------
    >>> print(task("{a,b} !n", kind="numeric", terminal_reward=100).write(), end="")
    name    {a,b} !n numeric
    states  u0 u1 u2
    start   u0
    success done
    failure failed
    <BLANKLINE>
    u0 -> u1      when a     reward 0
    u0 -> u2      when b     reward 0
    u0 -> failed  when n     reward -10000
    u0 -> u0      otherwise  reward -min(d(a), d(b))
    u1 -> done    when b     reward 100
    u1 -> failed  when n     reward -10000
    u1 -> u1      otherwise  reward -d(b)
    u2 -> done    when a     reward 100
    u2 -> failed  when n     reward -10000
    u2 -> u2      otherwise  reward -d(a)
    """
    check_truth("used_up", used_up)
    if grid is not None and not isinstance(grid, GridMap):
        raise ConfigError(f"grid={shown(grid)}: must be a GridMap")
    if used_up and grid is None:
        raise ConfigError("used_up=True: needs the map whose objects are used up: task(..., grid=grid)")
    objects = {letter: len(cells) for letter, cells in grid.objects.items()} if grid is not None else {}
    is_plain = not used_up and find_kind(kind) == "boolean" and payment.get("terminal_reward") in (None, 1)
    if is_plain and (large := large_agenda(text)) is not None:
        return _large_machine(large, text)
    automaton = terms.automaton(text, objects if used_up else None)
    for label in automaton.labels if grid is not None else ():
        letter = split_object(label)[0]
        if letter not in objects and any(label in automaton.targets(u) for u in range(len(automaton.moves))):
            column = text.index(letter) + 1
            raise MachineError(f"task {text[:60]!r}, column {column}: this map has no {label}")
    return RewardMachine.from_automaton(automaton, text, kind, payment)


def _large_machine(agenda: Agenda, text: str) -> RewardMachine:
    """Return the Boolean machine of an agenda, its states unlisted."""
    name = " ".join(f"{text} boolean".split())
    states = tuple(f"u{i}" for i in range(len(agenda.statements() or ())))
    return RewardMachine(
        start="u0", states=states, edges=(), success=("done",), name=name, source=f"<{name}>", large=agenda
    )


def large_agenda(text: str) -> Agenda | None:
    """Return the agenda of a task with too many machine states to list; None if it is small, or no agenda."""
    agenda = terms.agenda(text)
    if agenda is None or len(agenda.targets) > MAX_STAGES or agenda.statements() is None:
        return None
    return agenda if agenda.sets() is None else None


def find_machine(
    name: str | Path,
    *,
    kind: KindName | None = None,
    terminal_reward: float | None = None,
    closer: Literal["nearest", "any"] | None = None,
    offset: Literal["size", "legs"] | float | None = None,
    spell: Callable[[str], str] = str,
) -> RewardMachine:
    """Load a machine file, or build a task such as ``a-b-c``; `spell` turns a setting's name into that of messages."""
    check_path(name, MachineError)
    if (looks_like_task(str(name)) or is_label(str(name))) and not exists(name):
        return task(
            str(name),
            kind="boolean" if kind is None else kind,
            terminal_reward=terminal_reward,
            closer="nearest" if closer is None else closer,
            offset="size" if offset is None else offset,
        )
    if not Path(name).suffix and not exists(name):
        try:
            task(str(name))
        except MachineError as problem:
            raise MachineError(f"{problem} (and there is no machine file of this name)") from None
    given: dict[str, Any] = {"kind": kind, "terminal_reward": terminal_reward, "closer": closer, "offset": offset}
    refuse_given(given, f"goes with a task such as a-b-c, but {shown(str(name))} names a machine file", spell)
    return RewardMachine.load(name)


def check_task(text: str) -> None:
    """Raise MachineError unless a text is a task."""
    if large_agenda(text) is None:
        terms.automaton(text)


def looks_like_task(text: str) -> bool:
    """Return whether a text is meant as a task, well formed or not: a letter, or some operator and no part of a path.

    >>> looks_like_task("a-b"), looks_like_task("tasks/a-b.rm")
    (True, False)
    """
    return is_object(text) or re.fullmatch(r"[^./\\]*[-{}|*!()][^./\\]*", text) is not None
