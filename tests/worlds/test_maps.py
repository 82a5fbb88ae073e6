import copy

import numpy as np
import pytest

from fastrm import GridMap, MapError

SMALL = "XXXXX\nXA bX\nX a X\nXXXXX\n"


def test_a_map_shows_its_size_start_and_objects():
    grid = GridMap.parse(SMALL)
    assert grid.size == (4, 5)
    assert grid.start == (1, 1)
    assert dict(grid.objects) == {"a": ((2, 2),), "b": ((1, 3),)}


def test_dots_and_spaces_are_the_same_floor():
    assert GridMap.parse(SMALL) == GridMap.parse(SMALL.replace(" ", "."))


def test_render_and_parse_are_inverse():
    for seed in range(20):
        grid = GridMap.generate("3a2b1H", size=9, seed=seed)
        assert GridMap.parse(grid.render()) == grid


def test_windows_line_ends_and_blank_lines_around_a_map_do_not_matter():
    assert GridMap.parse("\n\n" + SMALL.replace("\n", "\r\n") + "\n") == GridMap.parse(SMALL)


FENCED = """
+-+-+-+
|A  |a|
+ +-+ +
|  X b|
+-+-+-+
"""


def test_walls_may_stand_between_cells():
    grid = GridMap.parse(FENCED)
    assert grid.size == (4, 5) and grid.start == (1, 1) and grid.objects["a"] == ((1, 3),)
    assert grid.fences == {((1, 2), (1, 3)), ((1, 2), (2, 2))}
    open_moves = {(r, c, a) for r, c, a in np.argwhere(grid.passable()).tolist()}
    assert open_moves == {(1, 1, 1), (1, 1, 2), (1, 2, 3), (2, 1, 0), (1, 3, 2), (2, 3, 0)}
    assert grid.render() == FENCED.lstrip() and GridMap.parse(grid.render()) == grid
    assert grid != GridMap(grid.rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("|A  |a|", "|A  |a "), r":3: open border in column 7; close it with \|"),
        (("+-+-+-+\n|A", "+-+ +-+\n|A"), r":2: open border in column 4; close it with -"),
        (("|A  |a|", "|A- |a|"), r":3: expected \| or a space in column 3, found '-'"),
        (("+ +-+ +", "+ +|+ +"), ":4: expected .* in column 4, found '\\|'"),
        (("+ +-+ +", "+ --+ +"), r":4: expected \+ in column 3, found '-'"),
        (("+ +-+ +", "+ +-+"), ":4: 5 characters, but line 2 has 7; make all equally long"),
        (("+ +-+ +\n", ""), "odd number of lines and columns, found 4 and 7"),
        (("|A  |a|", "|A  |?|"), r":3: unknown tile '\?' in column 6"),
        (("|A  |a|", "|   |a|"), "no start cell"),
    ],
)
def test_bad_walls_between_cells_are_refused_with_their_place(change, message):
    with pytest.raises(MapError, match=message):
        GridMap.parse(FENCED.replace(*change))


def test_walls_between_cells_that_are_no_neighbours_are_refused():
    rows = GridMap.parse(FENCED).rows
    for wall in (((1, 1), (2, 2)), ((0, 1), (1, 1)), ((1, 2), (1, 1)), ((1, 3), (1, 4)), ((2, 1), (3, 1))):
        with pytest.raises(MapError, match="must be neighbours inside the outer walls"):
            GridMap(rows, fences=frozenset({wall}))


def test_generated_maps_are_pinned_for_ever():
    """The placement is part of the results: it must never depend on machine, Python or numpy version."""
    assert dict(GridMap.generate("2a2b2c", size=41, seed=3).objects) == {
        "a": ((8, 30), (25, 27)),
        "b": ((7, 28), (10, 13)),
        "c": ((23, 39), (30, 35)),
    }


def test_generation_covers_all_cells_uniformly():
    counts: dict = {}
    for seed in range(4800):
        (cell,) = GridMap.generate("1a", size=7, seed=seed).objects["a"]
        counts[cell] = counts.get(cell, 0) + 1
    assert len(counts) == 24
    assert (3, 3) not in counts  # the start
    chi_squared = sum((count - 200) ** 2 / 200 for count in counts.values())
    assert chi_squared < 49.7  # 23 degrees of freedom, p = 0.001


def test_a_full_map_can_be_generated():
    grid = GridMap.generate("4a4b", size=5)
    assert " " not in grid.render().replace("\n", "")


@pytest.mark.parametrize("setup", ["", "a", "1", "1A", "0a", "1a1a", "-1a", "1a 1b", "1ä", "x" * 1000])
def test_malformed_setups_are_refused(setup):
    with pytest.raises(MapError, match="setup"):
        GridMap.generate(setup)


def test_a_setup_that_does_not_fit_is_refused_with_the_numbers():
    with pytest.raises(MapError, match="9 objects do not fit; a map of size 5 has 8 free cells"):
        GridMap.generate("9a", size=5)


@pytest.mark.parametrize("arguments", [{"size": 2}, {"size": 10**9}, {"size": 4.0}, {"seed": "x"}, {"size": True}])
def test_bad_sizes_and_seeds_are_refused(arguments):
    with pytest.raises(MapError, match=next(iter(arguments))):
        GridMap.generate("1a", **arguments)


def test_a_hash_reads_as_wall_and_is_written_as_x():
    grid = GridMap.parse("####\n#A.#\n##a#\n#XX#\n")
    assert grid.render() == "XXXX\nXA X\nXXaX\nXXXX\n" and grid == GridMap.parse(grid.render())
    fenced = GridMap.parse(FENCED.replace("|A  |a|", "|A #|a|"))
    assert fenced == GridMap.parse(FENCED.replace("|A  |a|", "|A X|a|"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("XXXX\nXA X\nXXX\n", r"m\.txt:3: 3 tiles, but line 1 has 4"),
        ("XXXX\nX  X\nXXXX\n", r"m\.txt: no start cell; mark one with A"),
        ("XXXX\nXA  \nXXXX\n", r"m\.txt:2: open border"),
        ("XX X\nXA X\nXXXX\n", r"m\.txt:1: open border"),
        ("XXXX\nXA?X\nXXXX\n", r"m\.txt:2: unknown tile '\?' in column 3"),
        ("XXXX\nXA\tX\nXXXX\n", r"m\.txt:2: unknown tile '\\t'"),
        ("", r"m\.txt: empty"),
        (" \n\n", r"m\.txt: empty"),
    ],
)
def test_bad_maps_are_refused_in_one_line_that_names_file_line_and_cure(tmp_path, text, message):
    path = tmp_path / "m.txt"
    path.write_text(text)
    with pytest.raises(MapError, match=message) as caught:
        GridMap.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"), [(b"XX\0XX", "binary file"), (b"\xff\xfe\xfa", "not UTF-8"), (b"\x89PNG\r\n", "not UTF-8")]
)
def test_binary_files_are_refused(tmp_path, data, message):
    path = tmp_path / "m.txt"
    path.write_bytes(data)
    with pytest.raises(MapError, match=message):
        GridMap.load(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(MapError, match="cannot be read: No such file"):
        GridMap.load(tmp_path / "nowhere.txt")
    with pytest.raises(MapError, match="a folder, pipe or device"):
        GridMap.load(tmp_path)


def test_maps_can_be_copied():
    for grid in (GridMap.parse(SMALL), GridMap.parse(FENCED)):
        assert grid.objects
        assert copy.deepcopy(grid) == grid  # by the way that pickling takes
        assert copy.deepcopy(grid).objects == grid.objects


def test_dots_are_floor_however_a_map_is_made():
    assert GridMap(("XXXX", "XA.X", "XXXX")) == GridMap.parse("XXXX\nXA X\nXXXX")
    with pytest.raises(MapError, match="fences: must be pairs of cells"):
        GridMap(("XXXX", "XA.X", "XXXX"), fences=frozenset({(1, 2)}))


def test_places_in_a_map_of_one_fenced_row_are_right():
    with pytest.raises(MapError, match=r"x:2: unknown tile '\?' in column 6"):
        GridMap.parse("+-+-+-+\n|A a ?|\n+-+-+-+", "x")
