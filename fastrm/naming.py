"""Maps and machines as people name them: a file, a setup with or without obstacles, a task."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from fastrm.errors import ConfigError, MachineError, MapError, did_you_mean
from fastrm.machines.machine import Kind, RewardMachine
from fastrm.machines.tasks import task
from fastrm.worlds.grid import GridMap, parse_setup
from fastrm.worlds.layouts import LAYOUTS, Layout, check_layout

Spell = Callable[[str], str]


def find_grid(
    name: str | Path, *, size: int | None = None, seed: int | None = None, spell: Spell = str
) -> GridMap:  # fmt: skip
    """Load a map file, or generate a recipe such as ``2a2b2c``; `spell` says how messages call a setting."""
    if re.fullmatch(r"([0-9]+[a-zH])+( .*)?", str(name)) and not Path(name).exists():
        return generate_grid(str(name), size=41 if size is None else size, seed=0 if seed is None else seed)
    if not Path(name).suffix and not Path(name).exists():
        raise MapError(f"{str(name)!r}: no such map file, and no setup such as 1a1b or '1a1b walls 0.2'")
    _refuse({"size": size, "seed": seed}, f"a setup such as 1a1b1c, but {str(name)!r} names a map file", spell)
    return GridMap.load(name)


class Recipe(NamedTuple):
    """What `GridMap.generate` needs beside size and seed."""

    setup: str
    walls: float = 0
    layout: Layout = "open"


def parse_recipe(text: str) -> Recipe:
    """Read a setup, alone or followed by its obstacles, and check it without generating a map.

    >>> parse_recipe("1a1b1c walls 0.2")
    Recipe(setup='1a1b1c', walls=0.2, layout='open')
    >>> parse_recipe("1a1b1c maze").layout
    'maze'
    """
    words = text.split() if isinstance(text, str) else []
    try:
        parse_setup(words[0] if words else "")
        recipe = Recipe(words[0], *_obstacles(*words[1:]))
    except MapError as error:
        others = ", ".join(layout for layout in LAYOUTS if layout != "open")
        raise MapError(
            f"map {text!r}: {error}; write a setup such as 2a2b2c, alone or with one of: walls 0.2, {others}"
        ) from None
    return recipe


def generate_grid(text: str, size: int = 41, seed: int = 0) -> GridMap:
    """Generate the map of a recipe such as ``1a1b1c``, ``1a1b1c walls 0.2`` or ``1a1b1c rooms``.

    >>> generate_grid("1a1b1c walls 0.2", size=9, seed=3)
    <GridMap <1a1b1c walls 0.2 size 9 seed 3>: 9 x 9, 1 a, 1 b, 1 c>
    """
    setup, walls, layout = parse_recipe(text)
    return GridMap.generate(setup, size, seed, walls=walls, layout=layout)


def _obstacles(word: str = "open", *rest: str) -> tuple[float, Layout]:
    """Read the words after the setup."""
    if word not in ("walls", *LAYOUTS):
        raise MapError(f"no such layout as {word!r}{did_you_mean(word, ('walls', *LAYOUTS))}")
    if word != "walls":
        if rest:
            raise MapError(f"nothing goes after {word}")
        return 0, cast("Layout", word)
    try:
        (density,) = map(float, rest)
    except ValueError:
        raise MapError("walls takes one number, from 0 to below 1") from None
    check_layout(density, "open")
    return density, "open"


def find_machine(
    name: str | Path,
    *,
    kind: Kind | None = None,
    terminal_reward: float | None = None,
    closer: Literal["nearest", "any"] | None = None,
    spell: Spell = str,
) -> RewardMachine:
    """Load a machine file, or build a task such as ``a-b-c``; `spell` says how messages call a setting."""
    if re.fullmatch(r"[a-zH]|[^./\\]*[-{}|*!()][^./\\]*", str(name)) and not Path(name).exists():
        return task(str(name), kind=kind or "boolean", terminal_reward=terminal_reward, closer=closer or "nearest")
    if not Path(name).suffix and not Path(name).exists():
        try:
            task(str(name))
        except MachineError as problem:
            raise MachineError(f"{problem} (nor is there a machine file of this name)") from None
    given: dict[str, Any] = {"kind": kind, "terminal_reward": terminal_reward, "closer": closer}
    _refuse(given, f"a task such as a-b-c, but {str(name)!r} names a machine file", spell)
    return RewardMachine.load(name)


def _refuse(settings: dict[str, Any], but: str, spell: Spell) -> None:
    """Refuse settings that a file does not have."""
    for setting, value in settings.items():
        if value is not None:
            raise ConfigError(f"{spell(setting)} goes with {but}")
