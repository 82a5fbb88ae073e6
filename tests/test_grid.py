"""Grid kernels: batch steps, labels, distances."""

import numpy as np

from fastrm import GridMap
from fastrm.kernels import distances
from fastrm.problems.terrain import Terrain

import naive

ROOM = GridMap.parse("XXXXXXX\nXA  b X\nX X a X\nX X  aX\nX a   X\nXXXXXXX")


def test_a_batch_of_agents_moves_like_the_oracle_and_reads_its_labels():
    terrain, world = Terrain.survey(ROOM), naive.World(ROOM.render())
    cells = [tuple(cell) for cell in terrain.cells.tolist()]
    rng = np.random.default_rng(0)
    s = rng.integers(0, len(cells), size=500).astype(np.uint32)
    label = np.empty(500, dtype=np.uint8)
    for _ in range(20):
        before, a = s.copy(), rng.integers(0, 4, size=500)
        distances.step(terrain.next_s, terrain.labels(), s, a, label)
        for i in range(500):
            there = world.move(cells[before[i]], int(a[i]))
            assert cells[s[i]] == there and chr(label[i]) == world.tile[there]


def test_distances_are_those_of_the_oracle_in_both_metrics():
    for metric in ("manhattan", "geodesic"):
        terrain, world = Terrain.survey(ROOM, metric), naive.World(ROOM.render(), metric)
        for letter in "ab":
            distance = terrain.distance(letter)
            for s, cell in enumerate(terrain.cells.tolist()):
                assert distance[s] == world.nearest(tuple(cell), letter)
