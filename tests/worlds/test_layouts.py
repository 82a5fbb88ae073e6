from collections import Counter

import numpy as np
import pytest

from fastrm import GridMap, MapError
from fastrm.worlds import generate_grid, parse_recipe
from fastrm.worlds.layouts import Recipe

OBSTACLES = [
    {"walls": 0.05}, {"walls": 0.2}, {"walls": 0.35}, {"layout": "rooms"}, {"layout": "maze"}, {"layout": "deceptive"},
]  # fmt: skip
MAPS = [(setup, size, seed) for setup in ("1a", "1a1b1c", "2a2b2c") for size in (9, 12, 15, 21) for seed in range(10)]
MAPS += [("2a2b2c", 41, seed) for seed in range(10)]
obstacles = pytest.mark.parametrize("obstacle", OBSTACLES, ids=lambda obstacle: "-".join(map(str, obstacle.values())))


def generate_all(obstacle):
    """Yield an open map beside the one with obstacles, where there is one."""
    refused = 0
    for setup, size, seed in MAPS:
        try:
            grid = GridMap.generate(setup, size, seed, **obstacle)
        except MapError:
            refused += 1
        else:
            yield GridMap.generate(setup, size, seed), grid
    assert refused <= (len(MAPS) // 4 if obstacle.get("layout") == "deceptive" else 0)


def neighbours(grid, cell):
    """Yield the cells that one move leads to, read off tiles and fences."""
    row, column = cell
    for there in ((row - 1, column), (row, column + 1), (row + 1, column), (row, column - 1)):
        if grid.rows[there[0]][there[1]] != "X" and (min(cell, there), max(cell, there)) not in grid.fences:
            yield there


def steps_from(grid, cell):
    steps, frontier = {cell: 0}, [cell]
    for here in frontier:
        for there in neighbours(grid, here):
            if there not in steps:
                steps[there] = steps[here] + 1
                frontier.append(there)
    return steps


def inner_cells(grid):
    return [(row, column) for row in range(1, grid.size[0] - 1) for column in range(1, grid.size[1] - 1)]


@obstacles
def test_every_object_can_be_reached(obstacle):
    for _, grid in generate_all(obstacle):
        steps = steps_from(grid, grid.start)
        assert all(cell in steps for cells in grid.objects.values() for cell in cells), grid


@obstacles
def test_start_and_objects_stand_where_the_open_map_has_them(obstacle):
    for bare, grid in generate_all(obstacle):
        assert (grid.start, grid.objects) == (bare.start, bare.objects)
        assert grid.rows == bare.rows or "walls" in obstacle


@obstacles
def test_maps_with_obstacles_can_be_rendered_and_read_again(obstacle):
    for _, grid in generate_all(obstacle):
        assert GridMap.parse(grid.render()) == grid


@obstacles
def test_obstacles_depend_on_the_arguments_only(obstacle):
    grids = [GridMap.generate("1a1b", size, seed, **obstacle) for size in (15, 16) for seed in range(8)]
    assert len({grid.render() for grid in grids}) == len(grids)
    assert GridMap.generate("1a1b", np.int64(15), np.int64(0), **obstacle) == grids[0]


def test_no_obstacles_are_the_open_map():
    bare = GridMap.generate("2a2b2c", 21, 3)
    for same in ({"walls": 0}, {"walls": 0.0}, {"layout": "open"}, {"walls": np.float64(0), "layout": "open"}):
        grid = GridMap.generate("2a2b2c", 21, 3, **same)
        assert grid == bare and grid.source == bare.source == "<2a2b2c size 21 seed 3>"


def test_the_density_of_walls_is_exact():
    for size in (5, 8, 21, 41):
        for density in (0.01, 0.1, 0.2, 1 / 3):
            grid = GridMap.generate("1a1b", size, 5, walls=density)
            inside = Counter(grid.rows[row][column] for row, column in inner_cells(grid))
            assert inside["X"] == round(density * (size - 2) ** 2)
            assert not grid.fences


def test_walls_fall_on_all_free_cells_alike():
    counts: Counter = Counter()
    for seed in range(2400):
        grid = GridMap.generate("1a", 7, seed, walls=0.04)
        counts.update(cell for cell in inner_cells(grid) if grid.rows[cell[0]][cell[1]] == "X")
    assert len(counts) == 24 and counts.total() == 2400
    assert sum((count - 100) ** 2 / 100 for count in counts.values()) < 49.7  # 23 degrees of freedom, p = 0.001


def test_equal_densities_of_any_type_are_the_same_map():
    assert GridMap.generate("1a", 9, walls=0.25) == GridMap.generate("1a", 9, walls=np.float32(0.25))


@pytest.mark.parametrize("size", [4, 5, 6, 13, 40, 61])
def test_a_maze_has_exactly_one_way_between_any_two_cells(size):
    for seed in range(5):
        grid = GridMap.generate("1a", size, seed, layout="maze")
        cells = inner_cells(grid)
        open_edges = sum(len(list(neighbours(grid, cell))) for cell in cells) // 2
        assert open_edges == len(cells) - 1
        assert len(steps_from(grid, grid.start)) == len(cells)


def test_mazes_branch_in_all_directions():
    """The first step from the start is up, right, down and left equally often."""
    first: Counter = Counter()
    for seed in range(400):
        grid = GridMap.generate("1a", 5, seed, layout="maze")
        exits = list(neighbours(grid, grid.start))
        first.update(exits if len(exits) == 1 else [])
    assert set(first) == {(1, 2), (2, 3), (3, 2), (2, 1)}
    assert sum((count - first.total() / 4) ** 2 * 4 / first.total() for count in first.values()) < 16.3  # p = 0.001


@pytest.mark.parametrize(
    ("size", "sides"),
    [(6, [2, 2]), (7, [2, 3]), (8, [2, 2, 2]), (9, [2, 2, 3]), (10, [2, 3, 3]), (21, [6, 6, 7]), (41, [13] * 3)],
)
def test_rooms_have_one_door_in_every_wall_they_share(size, sides):
    room_of = {k + 1: room for k, room in enumerate(np.repeat(range(len(sides)), sides).tolist())}
    grid = GridMap.generate("1a1b", size, 1, layout="rooms")
    doors: Counter = Counter()
    for row, column in inner_cells(grid):
        for there in ((row + 1, column), (row, column + 1)):
            if max(there) < size - 1:
                rooms = tuple((room_of[r], room_of[c]) for r, c in ((row, column), there))
                fenced = ((row, column), there) in grid.fences
                assert rooms[0] != rooms[1] or not fenced
                doors[rooms] += rooms[0] != rooms[1] and not fenced
    shared = {pair: count for pair, count in doors.items() if pair[0] != pair[1]}
    assert len(shared) == 2 * len(sides) * (len(sides) - 1)
    assert set(shared.values()) == {1}


def test_doors_may_be_anywhere_in_a_wall():
    grids = [GridMap.generate("1a", 11, seed, layout="rooms") for seed in range(60)]
    for side in ([((4, c), (3, c)) for c in (4, 5, 6)], [((r, 6), (r, 7)) for r in (4, 5, 6)]):
        doors = Counter(k for grid in grids for k, pair in enumerate(side) if (min(pair), max(pair)) not in grid.fences)
        assert len(doors) == 3 and doors.total() == 60 and min(doors.values()) > 8


def front_of(grid, cell):
    (row, column), (start_row, start_column) = cell, grid.start
    if abs(start_row - row) >= abs(start_column - column):
        return row + int(np.sign(start_row - row)), column
    return row, column + int(np.sign(start_column - column))


def assert_deceptive(grid):
    for cells in grid.objects.values():
        for cell in cells:
            front = front_of(grid, cell)
            assert front in steps_from(grid, grid.start), grid
            assert steps_from(grid, front)[cell] >= 7, grid  # round the smallest cup

            def distance(there, cells=cells):
                return min(abs(row - there[0]) + abs(column - there[1]) for row, column in cells)

            assert distance(front) <= 1
            assert all(distance(there) >= distance(front) for there in neighbours(grid, front)), grid


def test_the_cell_in_front_of_a_deceptive_object_is_a_dead_end():
    for _, grid in generate_all({"layout": "deceptive"}):
        assert_deceptive(grid)


def test_cups_grow_with_the_map():
    for size, way_round in ((9, 7), (21, 11), (41, 23)):
        grid = next(
            grid
            for grid in (GridMap.generate("1a", size, seed, layout="deceptive") for seed in range(100))
            if all(size // 4 < k < 3 * size // 4 for k in grid.objects["a"][0])  # the border does not clip the cup
        )
        (cell,) = grid.objects["a"]
        assert steps_from(grid, front_of(grid, cell))[cell] == way_round  # 2 w + 2 h + 3


def test_objects_close_together_get_cups_that_leave_a_way():
    behind = GridMap.generate("1a1b1c", 41, 3, layout="deceptive")
    assert behind.objects["a"] == ((20, 24),) and behind.objects["c"] == ((20, 25),)
    assert_deceptive(behind)
    in_line = GridMap.generate("2a2b2c", 41, 18, layout="deceptive")
    assert in_line.objects["c"] == ((19, 22), (19, 24))  # the first stands beside the dead end of the second
    assert_deceptive(in_line)
    crowded = 0
    for seed in range(40):
        try:
            assert_deceptive(GridMap.generate("5a5b5c", 31, seed, layout="deceptive"))
        except MapError as error:
            assert "shut one of them off; enlarge size, take fewer objects or try another seed" in str(error)
            crowded += 1
    assert crowded <= 8


PINNED = {
    "walls 0.3": """
XXXXXXXXX
XX      X
X  X   XX
X XX  X X
X XXAXXXX
Xa   XX X
X   X  bX
XX      X
XXXXXXXXX
""",
    "rooms": """
+-+-+-+-+-+-+-+
|             |
+ + + + + + + +
|   |   |     |
+ +-+-+ +-+ +-+
|       |     |
+ + + + + + + +
|   |  A      |
+ +-+-+ +-+-+ +
|a      |     |
+ + + + + + + +
|   |   |    b|
+ + + + + + + +
|   |         |
+-+-+-+-+-+-+-+
""",
    "maze": """
+-+-+-+-+-+-+-+
|             |
+ +-+-+-+ +-+-+
| | |   |     |
+ + + + +-+-+ +
|   | | |   | |
+ +-+ + + + + +
| |   |A| | | |
+ + +-+-+ + + +
|a|   |   | | |
+ +-+ + +-+ + +
|   |   |   |b|
+-+ +-+-+ +-+ +
|       |     |
+-+-+-+-+-+-+-+
""",
    "deceptive": """
+-+-+-+-+-+-+-+
|             |
+ + + + + + + +
|             |
+ + + + + + + +
|             |
+ +-+ + + + + +
| |    A      |
+ + + + + +-+ +
|a|         | |
+ + + + + + + +
| |         |b|
+ +-+ + + + + +
|           | |
+-+-+-+-+-+-+-+
""",
}


@pytest.mark.parametrize("name", PINNED)
def test_layouts_are_pinned_for_ever(name):
    """Obstacles are part of the results: they must never depend on machine, Python or numpy version."""
    assert generate_grid(f"1a1b {name}", 9, 1).render() == PINNED[name].lstrip()


def test_the_source_of_a_map_names_its_obstacles():
    for text in ("1a1b1c walls 0.2", "1a1b1c rooms", "1a1b1c maze", "1a1b1c deceptive", "1a1b1c"):
        assert generate_grid(text, 41, 4).source == f"<{text} size 41 seed 4>"


def test_recipes_say_what_to_generate():
    assert parse_recipe("1a1b1c") == Recipe("1a1b1c", 0, "open") == parse_recipe("1a1b1c open")
    assert parse_recipe("1a1b1c walls 0.2") == Recipe("1a1b1c", 0.2, "open")
    for layout in ("rooms", "maze", "deceptive"):
        assert parse_recipe(f" 1a1b1c  {layout} ") == Recipe("1a1b1c", 0, layout)
        assert generate_grid(f"1a1b1c {layout}", 21, 2) == GridMap.generate("1a1b1c", 21, 2, layout=layout)
    assert generate_grid("1a1b1c", 21, 2) == GridMap.generate("1a1b1c", 21, 2)
    assert generate_grid("1a1b1c walls 0.2", 21, 2) == GridMap.generate("1a1b1c", 21, 2, walls=0.2)


DENSITY = "must be a number from 0 to below 1, the share of inner cells that are wall"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"walls": -0.1}, f"walls=-0.1: {DENSITY}"),
        ({"walls": 1}, f"walls=1: {DENSITY}"),
        ({"walls": float("nan")}, f"walls=nan: {DENSITY}"),
        ({"walls": "0.2"}, f"walls='0.2': {DENSITY}"),
        ({"walls": False}, f"walls=False: {DENSITY}"),
        ({"walls": None}, f"walls=None: {DENSITY}"),
        (
            {"layout": "room"},
            "layout='room': no such layout (did you mean rooms?); there are open, rooms, maze, deceptive",
        ),
        ({"layout": None}, "layout=None: no such layout; there are open, rooms, maze, deceptive"),
        (
            {"walls": 0.2, "layout": "maze"},
            "walls=0.2 goes with the open layout, not with 'maze'; leave one of the two out",
        ),
        (
            {"walls": 0.99},
            "<2a1b walls 0.99 size 9 seed 0>: 49 walls do not fit; 45 cells are free beside start and objects; "
            "lower walls or enlarge size",
        ),
        (
            {"walls": 0.7, "size": 21},
            "<2a1b walls 0.7 size 21 seed 0>: no solvable map in 1000 attempts; "
            "lower walls, enlarge size or try another seed",
        ),
        (
            {"layout": "rooms", "size": 5},
            "<2a1b rooms size 5 seed 0>: rooms of at least 2 x 2 cells do not fit; enlarge size to 6 or more",
        ),
        (
            {"layout": "deceptive", "size": 5},
            "<2a1b deceptive size 5 seed 0>: cups in front of the objects shut one of them off; "
            "enlarge size, take fewer objects or try another seed",
        ),
    ],
)
def test_obstacles_that_cannot_be_are_refused_in_one_line_with_the_cure(arguments, message):
    with pytest.raises(MapError) as caught:
        GridMap.generate("2a1b", **{"size": 9, **arguments})
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1a roms", "no such layout as 'roms' (did you mean rooms?)"),
        ("1a Maze", "no such layout as 'Maze' (did you mean maze?)"),
        ("1a wals 0.2", "no such layout as 'wals' (did you mean walls?)"),
        ("1a 0.2", "no such layout as '0.2'"),
        ("1a rooms 3", "nothing goes after rooms"),
        ("1a walls", "walls takes one number, from 0 to below 1"),
        ("1a walls many", "walls takes one number, from 0 to below 1"),
        ("1a walls 0.2 rooms", "walls takes one number, from 0 to below 1"),
        ("1a walls 1.5", f"walls=1.5: {DENSITY}"),
        ("maze", "setup 'maze': expected counts and object letters such as 2a2b2c"),
        ("1a1a maze", "setup '1a1a': a is given twice; add the counts up"),
        ("", "setup '': expected counts and object letters such as 2a2b2c"),
        (3, "setup '': expected counts and object letters such as 2a2b2c"),
    ],
)
def test_bad_recipes_are_refused_with_the_text_and_the_layouts_there_are(text, message):
    cure = "write a setup such as 2a2b2c, alone or with one of: walls 0.2, rooms, maze, deceptive"
    for read in (parse_recipe, generate_grid):
        with pytest.raises(MapError) as caught:
            read(text)
        assert str(caught.value) == f"map {text!r}: {message}; {cure}"
