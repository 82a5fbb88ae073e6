"""Where the agent moves: text or a recipe becomes a map. Knows nothing of rewards."""

from fastrm.worlds.grid import GridMap
from fastrm.worlds.layouts import APPENDIX_NEAREST, APPENDIX_SHORTEST, WATER, parse_recipe
from fastrm.worlds.moves import ACTIONS, DOWN, LEFT, OFFSETS, RIGHT, UP, flat_offsets
from fastrm.worlds.table import (
    RESERVED,
    TableWorld,
    World,
    check_layout_of,
    count_starts,
    find_grid,
    generate_grid,
    generate_world,
    is_label,
    kind_of_text,
    layout_of,
    load_world,
    read_world,
    split_world,
    write_world,
)
from fastrm.worlds.tiles import FLOOR, FLOOR_TOO, OBJECT_IN_WORDS, START, WALL, Cell, is_object, split_object
from fastrm.worlds.water import (
    COLOURS,
    FASTEST,
    PACE,
    PUSH,
    PUSHES,
    WATER_ACTIONS,
    WATER_LIMIT,
    Ball,
    Point,
    WaterWorld,
    check_water,
)

__all__ = [
    "ACTIONS", "APPENDIX_NEAREST", "APPENDIX_SHORTEST", "COLOURS", "DOWN", "FASTEST", "FLOOR", "FLOOR_TOO", "LEFT",
    "OBJECT_IN_WORDS", "OFFSETS", "PACE", "PUSH", "PUSHES", "RESERVED", "RIGHT", "START", "UP", "WALL", "WATER",
    "WATER_ACTIONS", "WATER_LIMIT", "Ball", "Cell", "GridMap", "Point", "TableWorld", "WaterWorld", "World",
    "check_layout_of", "check_water", "count_starts", "find_grid", "flat_offsets", "generate_grid", "generate_world",
    "is_label", "is_object", "kind_of_text", "layout_of", "load_world", "parse_recipe", "read_world", "split_object",
    "split_world", "write_world",
]  # fmt: skip
