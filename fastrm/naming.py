"""Maps and machines as people name them: a file, or a setup and a task."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from fastrm.errors import ConfigError
from fastrm.machine import Kind, RewardMachine
from fastrm.maps import GridMap

Spell = Callable[[str], str]


def find_grid(
    name: str | Path, *, size: int | None = None, seed: int | None = None, spell: Spell = str
) -> GridMap:  # fmt: skip
    """Load a map file, or generate a setup such as ``2a2b2c``; `spell` says how messages call a setting."""
    if re.fullmatch(r"([0-9]+[a-zH])+", str(name)) and not Path(name).exists():
        return GridMap.generate(str(name), size=41 if size is None else size, seed=0 if seed is None else seed)
    _refuse({"size": size, "seed": seed}, f"a setup such as 1a1b1c, but {str(name)!r} names a map file", spell)
    return GridMap.load(name)


def find_machine(
    name: str | Path,
    *,
    kind: Kind | None = None,
    terminal_reward: float | None = None,
    closer: Literal["nearest", "any"] | None = None,
    spell: Spell = str,
) -> RewardMachine:
    """Load a machine file, or build a task such as ``a-b-c``; `spell` says how messages call a setting."""
    if re.fullmatch(r"[A-Za-z](-[A-Za-z])*", str(name)) and not Path(name).exists():
        return RewardMachine.sequence(
            str(name), kind=kind or "boolean", terminal_reward=terminal_reward, closer=closer or "nearest"
        )
    given: dict[str, Any] = {"kind": kind, "terminal_reward": terminal_reward, "closer": closer}
    _refuse(given, f"a task such as a-b-c, but {str(name)!r} names a machine file", spell)
    return RewardMachine.load(name)


def _refuse(settings: dict[str, Any], but: str, spell: Spell) -> None:
    """Refuse settings that a file does not have."""
    for setting, value in settings.items():
        if value is not None:
            raise ConfigError(f"{spell(setting)} goes with {but}")
