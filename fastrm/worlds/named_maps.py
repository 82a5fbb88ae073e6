"""Maps by the names people give them: a file, or the recipe of a generated map."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fastrm.checks import refuse_given
from fastrm.errors import MapError, shown
from fastrm.textfile import check_path, exists
from fastrm.worlds.grid import GridMap
from fastrm.worlds.recipes import looks_like_recipe, parse_recipe
from fastrm.worlds.table import TableWorld, load_world


def find_grid(
    name: str | Path, *, size: int | None = None, seed: int | None = None, spell: Callable[[str], str] = str
) -> GridMap | TableWorld:
    """Load a map file or a world, or generate a recipe such as ``2a2b2c``; `spell` says how messages call a setting."""
    check_path(name, MapError)
    if looks_like_recipe(str(name)) and not exists(name):
        return generate_grid(str(name), size=41 if size is None else size, seed=0 if seed is None else seed)
    if not Path(name).suffix and not exists(name):
        raise MapError(f"{shown(str(name))}: no such map file, and no setup such as 1a1b or '1a1b walls 0.2'")
    refuse_given(
        {"size": size, "seed": seed},
        f"goes with a setup such as 1a1b1c, but {shown(str(name))} names a map file",
        spell,
    )
    return load_world(name)


def generate_grid(text: str, size: int = 41, seed: int = 0) -> GridMap:
    """Generate the map of a recipe such as ``1a1b1c``, ``1a1b1c walls 0.2`` or ``1a1b1c rooms``.

    >>> generate_grid("1a1b1c walls 0.2", size=9, seed=3)
    <GridMap <1a1b1c walls 0.2 size 9 seed 3>: 9 x 9, 1 a, 1 b, 1 c>
    """
    setup, walls, layout = parse_recipe(text)
    return GridMap.generate(setup, size, seed, walls=walls, layout=layout)
