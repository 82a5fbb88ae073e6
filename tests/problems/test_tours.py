"""Shortest tours by Held and Karp are the shortest paths of the machines that watch the same tasks."""

import random

import pytest

from fastrm import GridMap, MachineError, TableWorld, compile, task
from fastrm.problems import find_tour

TASKS = [
    "a",
    "{a,b,c}",
    "{a,b,c,d,e,f}",
    "a-{b,c}-a",
    "{a-b,c-d}",
    "{a-b,a-c}-d",
    "3*a",
    "{2*a,b}",
    "{a,b}-{c,d}-{a,b}",
]


@pytest.mark.parametrize("text", TASKS)
def test_a_shortest_tour_is_as_long_as_a_shortest_path_of_the_machine(text):
    rng = random.Random(text)
    for objects in (1, 1, 2, 2, 2):
        setup = "".join(f"{objects}{letter}" for letter in "abcdef")
        grid = GridMap.generate(setup, size=9, seed=rng.randrange(10**6), walls=rng.choice([0.0, 0.3]))
        problem = compile(grid, task(text))
        tour = problem.tour
        nearest = find_tour(problem.terrain, problem.machines[0].agenda, is_shortest=False)
        assert tour.length == problem.shortest[0] <= nearest.length
        assert {grid.rows[row][column] for row, column in tour.stops} == set(text) & set("abcdef")


def test_tours_are_sought_on_maps_alone():
    """In a table moves cannot be taken back, and a label may belong to a move instead of a cell."""
    letters = "abcdefghijklmnop"
    next_s = [[(s + 1) % 16, s] for s in range(16)]
    for labels in (dict(enumerate(letters)), {(s, 1): letter for s, letter in enumerate(letters)}):
        world = TableWorld(next_s, labels)
        assert compile(world, task("{a,p}")).tour is None
        with pytest.raises(MachineError, match="is learned on maps, and <table> is a world of another shape"):
            compile(world, task("{" + ",".join(letters) + "}"))
