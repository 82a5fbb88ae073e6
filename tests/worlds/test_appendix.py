"""Generated maps with the distances that the paper's appendix prints."""

import pytest

from fastrm import GridMap, MapError, RewardMachine, compile, hrm_fixed_point
from fastrm.experiments import suite_file
from fastrm.worlds import find_grid, generate_grid, parse_recipe
from fastrm.worlds.layouts import APPENDIX_NEAREST, APPENDIX_SHORTEST


def lengths(grid):
    problems = [compile(grid, RewardMachine.sequence(task)) for task in ("a", "a-b", "a-b-c")]
    return tuple(hrm_fixed_point(p).length for p in problems), tuple(p.shortest[0] for p in problems)


@pytest.mark.parametrize("seed", range(30))
def test_distances_are_the_printed_ones(seed):
    grid = generate_grid("appendix", seed=seed)
    assert lengths(grid) == (APPENDIX_NEAREST, APPENDIX_SHORTEST)
    assert grid.size == (41, 41) and grid.start == (20, 20)
    cells = [cell for cells in grid.objects.values() for cell in cells]
    assert sorted(abs(r - 20) + abs(c - 20) for r, c in grid.objects["a"]) == [20, 21] and len(cells) == 6


def test_maps_differ_by_seed_and_not_by_run():
    assert generate_grid("appendix", seed=1) == GridMap.generate("appendix", seed=1) == find_grid("appendix", seed=1)
    assert len({generate_grid("appendix", seed=k).rows for k in range(30)}) == 30


@pytest.mark.parametrize("name", ["appendix.map", "appendix-axis.map"])
def test_the_maps_drawn_by_hand_have_them_too(name):
    assert lengths(GridMap.load(suite_file(name))) == (APPENDIX_NEAREST, APPENDIX_SHORTEST)


def test_other_sizes_and_obstacles_are_refused():
    assert parse_recipe("appendix").setup == "appendix"
    for settings in ({"size": 21}, {"walls": 0.1}, {"layout": "rooms"}):
        with pytest.raises(MapError, match="setup 'appendix': has 41 x 41 cells and no obstacles; leave out"):
            GridMap.generate("appendix", **settings)
