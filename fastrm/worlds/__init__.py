"""Where the agent moves: text or a recipe becomes a map. Knows nothing of rewards."""

from fastrm.worlds.finding import (
    World,
    check_layout_of,
    count_starts,
    find_grid,
    generate_grid,
    generate_world,
    kind_of_text,
    layout_of,
    load_world,
    names_cells_by_number,
    read_world,
    split_world,
    weigh,
    write_world,
)
from fastrm.worlds.grid import GridMap
from fastrm.worlds.layouts import APPENDIX_NEAREST, APPENDIX_SHORTEST, WATER, parse_recipe
from fastrm.worlds.moves import ACTIONS, DOWN, LEFT, OFFSETS, RIGHT, UP, flat_offsets
from fastrm.worlds.point import FORCES, POINT_ACTIONS, Block, Disc, PointCell, PointMass
from fastrm.worlds.table import RESERVED, TableWorld, is_label
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
    "ACTIONS", "APPENDIX_NEAREST", "APPENDIX_SHORTEST", "COLOURS", "DOWN", "FASTEST", "FLOOR", "FLOOR_TOO", "FORCES",
    "LEFT", "OBJECT_IN_WORDS", "OFFSETS", "PACE", "POINT_ACTIONS", "PUSH", "PUSHES", "RESERVED", "RIGHT", "START", "UP",
    "WALL", "WATER", "WATER_ACTIONS", "WATER_LIMIT", "Ball", "Block", "Cell", "Disc", "GridMap", "Point", "PointCell",
    "PointMass", "TableWorld", "WaterWorld", "World", "check_layout_of", "check_water", "count_starts", "find_grid",
    "flat_offsets", "generate_grid", "generate_world", "is_label", "is_object", "kind_of_text", "layout_of",
    "load_world", "names_cells_by_number", "parse_recipe", "read_world", "split_object", "split_world", "weigh",
    "write_world",
]  # fmt: skip
