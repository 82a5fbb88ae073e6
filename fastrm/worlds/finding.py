"""Any world by its name, its file or its text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fastrm.checks import refuse_given
from fastrm.errors import MapError, shown
from fastrm.textfile import check_path, exists, read_text
from fastrm.worlds.grid import GridMap
from fastrm.worlds.layouts import POINT, WATER, looks_like_recipe, parse_point_recipe, parse_recipe
from fastrm.worlds.point import KEY, PointMass
from fastrm.worlds.table import TableWorld
from fastrm.worlds.tiles import START
from fastrm.worlds.water import WaterWorld

World = GridMap | TableWorld | WaterWorld | PointMass


def kind_of_text(text: str) -> str:
    """Return what a text describes: a ``map``, a ``table``, a ``water`` world or a ``point`` mass."""
    if not text.lstrip().startswith("{"):
        return "map"
    return "table" if '"next_s"' in text else "point" if text.lstrip(" \n{").startswith(f'"{KEY}"') else "water"


def read_world(text: str, source: str = "<text>") -> World:
    """Read a map, or the text that `to_json` of another world wrote."""
    kind = kind_of_text(text)
    if kind == "water":
        return WaterWorld.parse(text, source=source)
    if kind == "point":
        return PointMass.parse(text, source)
    return TableWorld.from_json(text, source) if kind == "table" else GridMap.parse(text, source)


def count_starts(text: str) -> int:
    r"""Return how many start cells a map or world has, given as text.

    >>> count_starts("XXXXX\nXA AX\nXXXXX")
    2
    """
    kind = kind_of_text(text)
    return text.count(START) if kind == "map" else len(TableWorld.from_json(text).starts) if kind == "table" else 1


def weigh(text: str) -> int:
    """Return how large the tables of a world are, given as text: a number by which worlds compare."""
    return 50 * PointMass.parse(text).n_cells if kind_of_text(text) == "point" else len(text)


def write_world(world: World) -> str:
    """Return a world as text that `read_world` reads."""
    return world.render() if isinstance(world, GridMap) else world.to_json()


def layout_of(world: World) -> GridMap | None:
    """Return the map that pictures of a world show, None where there is none."""
    return world if isinstance(world, GridMap) else world.layout if isinstance(world, TableWorld) else None


def names_cells_by_number(world: World) -> bool:
    """Return whether cells of a world have no coordinates, so that people name them by their numbers."""
    return isinstance(world, TableWorld) and world.layout is None


def check_layout_of(world: World) -> GridMap:
    """Return the map that pictures of a world show; refuse a world without one."""
    grid = layout_of(world)
    if grid is None:
        raise MapError(f"{world.source}: this world has no layout, so it cannot be drawn; give layout to TableWorld")
    return grid


def split_world(path: str | Path) -> tuple[str, str | None]:
    """Split the name of a file from that of one of its worlds.

    >>> split_world("worlds.json:M1"), split_world("office.map")
    (('worlds.json', 'M1'), ('office.map', None))
    """
    file, found, world = str(path).rpartition(".json:")
    return (f"{file}.json", world) if found else (str(path), None)


def load_world(path: str | Path) -> World:
    """Read a map file, or a world in a file whose name ends in ``.json``, as in ``worlds.json:M1``."""
    file, world = split_world(path)
    if Path(file).suffix != ".json":
        return GridMap.load(file)
    kind = kind_of_text(read_text(file, MapError))
    if world is not None or kind == "water":
        return WaterWorld.load(file, world)
    return PointMass.load(file) if kind == "point" else TableWorld.load(file)


def find_grid(
    name: str | Path, *, size: int | None = None, seed: int | None = None, spell: Callable[[str], str] = str
) -> World:
    """Load a map file or a world, or generate one; `spell` tells how messages name a setting."""
    check_path(name, MapError)
    if str(name) == WATER and not exists(name):
        refuse_given({"size": size}, "is for maps; Water world is 400 x 400", spell)
        return WaterWorld.generate(0 if seed is None else seed)
    if str(name).split()[:1] == [POINT] and not exists(name):
        refuse_given({"size": size}, "is for maps; write point 1a1b1c side 51 in the setup", spell)
        return generate_world(str(name), seed=0 if seed is None else seed)
    if looks_like_recipe(str(name)) and not exists(name):
        return generate_grid(str(name), size=41 if size is None else size, seed=0 if seed is None else seed)
    if not Path(split_world(name)[0]).suffix and not exists(name):
        raise MapError(f"{shown(str(name))}: no such map file, and no setup such as 1a1b or '1a1b walls 0.2'")
    refuse_given(
        {"size": size, "seed": seed},
        f"goes with a setup such as 1a1b1c, but {shown(str(name))} names a map file",
        spell,
    )
    return load_world(name)


def generate_world(text: str, size: int = 41, seed: int = 0) -> GridMap | WaterWorld | PointMass:
    """Generate the world of a setup: the map of a recipe, ``water``, or such as ``point 1a1b1c``."""
    if text.split()[:1] == [POINT]:
        return PointMass.generate(seed, *parse_point_recipe(text))
    return WaterWorld.generate(seed) if text == WATER else generate_grid(text, size, seed)


def generate_grid(text: str, size: int = 41, seed: int = 0) -> GridMap:
    """Generate the map of a recipe such as ``1a1b1c``, ``1a1b1c walls 0.2`` or ``1a1b1c rooms``.

    >>> generate_grid("1a1b1c walls 0.2", size=9, seed=3)
    <GridMap <1a1b1c walls 0.2 size 9 seed 3>: 9 x 9, 1 a, 1 b, 1 c>
    """
    setup, walls, layout = parse_recipe(text)
    return GridMap.generate(setup, size, seed, walls=walls, layout=layout)
