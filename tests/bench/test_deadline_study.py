"""The study of deadlines: chances by hand, and what its rows are taken for."""

import math

import pytest

from fastrm import GridMap
from fastrm.bench.studies import deadline

import naive


def chance_by_hand(text, k, slip):
    """Return the largest probability of reaching b from a in at most k moves, by dynamic programming."""
    world = naive.World(text)
    (a,), cells = world.objects("a"), world.reachable()
    value = dict.fromkeys(cells, 0.0)
    for _ in range(k):
        worth = {}
        for cell in cells:
            ahead = [world.move(cell, m) for m in range(4)]
            worth[cell] = [1.0 if world.holds("b", cell, there) else value[there] for there in ahead]
        value = {
            cell: max((1 - slip) * w[m] + slip / 2 * (w[(m + 1) % 4] + w[(m - 1) % 4]) for m in range(4))
            for cell, w in worth.items()
        }
    return value[a]


@pytest.mark.parametrize("slip", [0.05, 0.4])
def test_the_chance_of_a_deadline_is_that_of_dynamic_programming(slip):
    grid = GridMap.generate("1a1b", size=8, seed=5)
    d = deadline.apart(grid)
    for k in (d, d + 1, 2 * d):
        assert deadline.chance(grid, k, slip) == pytest.approx(chance_by_hand(grid.render(), k, slip), abs=1e-9)


def test_a_deadline_below_the_distance_is_refused_and_the_distance_is_not():
    for grid in deadline.maps_of_suite(2):
        d = deadline.apart(grid)
        assert deadline.is_refused(grid, d - 1) and not deadline.is_refused(grid, d)


def test_prices_are_ratios_of_medians_by_map_and_runs_that_never_get_there_are_infinite():
    steps = {(0, math.inf): [100, 300, 200], (0, 1.0): [400, 500, None], (1, math.inf): [100], (1, 1.0): [float("nan")]}
    rows = [
        {"map": number, "factor": factor, "label": "qrm-bool", "steps_to_90": value, "solved": 1}
        for (number, factor), values in steps.items()
        for value in values
    ]
    assert deadline.price(rows, "qrm-bool", 1.0).tolist() == [2.5, math.inf]
    every = [row | {"label": label} for row in rows for label in ("qrm-bool", "crm-bool", "qrm-num", "crm-num")]
    more = [row | {"factor": factor} for row in every for factor in deadline.FACTORS if row["factor"] == 1]
    claims = deadline.judge({"runs": [row for row in every if row["factor"] != 1] + more})
    assert [name[:2] for name, _, _ in claims] == ["K3", "K4", "K5"]
    assert "qrm-bool: 2 of 2 maps" in claims[0][2] and claims[2][1] == "undecided"
