"""Grid kernels: batch steps, labels, distances."""

import itertools

from numba import njit

from fastrm import GridMap, RewardMachine, compile
from fastrm.kernels.episode import step
from fastrm.problems import survey

import naive

ROOM = GridMap.parse("XXXXXXX\nXA  b X\nX X a X\nX X  aX\nX a   X\nXXXXXXX")


@njit
def step_of(tables, s, u, a):
    return step(tables, s, u, a)


def test_the_step_rule_moves_like_the_oracle_in_kernels_and_in_python():
    problem, world = compile(ROOM, RewardMachine.sequence("a-b")), naive.World(ROOM.render())
    cells = [tuple(cell) for cell in problem.terrain.cells.tolist()]
    for s, u, a in itertools.product(range(len(cells)), range(2), range(4)):
        there = world.move(cells[s], a)
        s_next, u_next, e = step_of(problem.tables, s, u, a)
        assert cells[s_next] == there and u_next == (u + 1 if world.tile[there] == "ab"[u] else u)
        taken = problem.step(s, u, a)
        assert (taken.s, taken.u, taken.event) == (s_next, u_next, e)
        assert taken.is_success == (not taken.is_live) == (u_next == 2) and taken.reward == (u_next == 2)


def test_distances_are_those_of_the_oracle_in_both_metrics():
    for metric in ("manhattan", "geodesic"):
        terrain, world = survey(ROOM, metric), naive.World(ROOM.render(), metric)
        for letter in "ab":
            distance = terrain.distance(letter)
            for s, cell in enumerate(terrain.cells.tolist()):
                assert distance[s] == world.nearest(tuple(cell), letter)
