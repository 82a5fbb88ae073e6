"""Worlds as text, whether they are maps or tables, and the map that pictures of one show."""

from __future__ import annotations

from pathlib import Path

from fastrm.errors import MapError
from fastrm.textfile import read_text
from fastrm.worlds.grid import GridMap
from fastrm.worlds.table.world import TableWorld
from fastrm.worlds.tiles import START


def read_world(text: str, source: str = "<text>") -> GridMap | TableWorld:
    """Read a map, or a world that `TableWorld.to_json` wrote."""
    return TableWorld.from_json(text, source) if text.lstrip().startswith("{") else GridMap.parse(text, source)


def count_starts(text: str) -> int:
    r"""Return how many start cells a map or world has, given as text.

    >>> count_starts("XXXXX\nXA AX\nXXXXX")
    2
    """
    return len(read_world(text).starts) if text.lstrip().startswith("{") else text.count(START)


def write_world(world: GridMap | TableWorld) -> str:
    """Return a world as text that `read_world` reads."""
    return world.to_json() if isinstance(world, TableWorld) else world.render()


def layout_of(world: GridMap | TableWorld) -> GridMap | None:
    """Return the map that pictures of a world show, None where there is none."""
    return world if isinstance(world, GridMap) else world.layout


def check_layout_of(world: GridMap | TableWorld) -> GridMap:
    """Return the map that pictures of a world show; refuse a world without one."""
    grid = layout_of(world)
    if grid is None:
        raise MapError(f"{world.source}: this world has no layout, so it cannot be drawn; give layout to TableWorld")
    return grid


def load_world(path: str | Path) -> GridMap | TableWorld:
    """Read a map file, or a world in a file whose name ends in ``.json``."""
    return TableWorld.load(path) if Path(path).suffix == ".json" else GridMap.load(path)


def holds_table(path: str | Path) -> bool:
    """Say whether a JSON file is that of a table, and not of water worlds; what cannot be read is taken for one."""
    try:
        return '"next_s"' in read_text(path, MapError)
    except MapError:
        return True
