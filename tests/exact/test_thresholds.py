"""Thresholds: where verdicts change, and the closed forms on all small grids."""

import itertools
from pathlib import Path

import pytest

from fastrm import (
    GridMap,
    RewardMachine,
    compile,
    guarantee,
)

from brute_force import with_terminal_reward

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("kind", ["numeric-boolean", "numeric"])
def test_the_critical_reward_parts_shortest_from_not_shortest(kind):
    for seed, (setup, task, gamma) in enumerate(
        itertools.product(["1a1b1c", "2a2b2c"], ["a", "a-b", "a-b-c"], [0.6, 0.9, 0.95])
    ):
        grid = GridMap.generate(setup, size=13, seed=seed)
        critical = guarantee(with_terminal_reward(grid, task, kind, 1.0, closer="any"), gamma).critical_reward
        margin = 1e-4 * abs(critical)
        above = guarantee(with_terminal_reward(grid, task, kind, critical + margin, closer="any"), gamma)
        below = guarantee(with_terminal_reward(grid, task, kind, critical - margin, closer="any"), gamma)
        assert (above.is_shortest, below.is_shortest) == (True, False), (setup, task, gamma, critical)


def all_small_grids(targets):
    """Yield every open grid up to 4 x 4 with the start anywhere and the targets at the given cells."""
    for height, width in itertools.product(range(1, 5), repeat=2):
        for cells in targets(height, width):
            for start in itertools.product(range(height), range(width)):
                if start in cells:
                    continue
                rows = [["X"] * (width + 2) for _ in range(height + 2)]
                for r, c in itertools.product(range(height), range(width)):
                    rows[r + 1][c + 1] = "A" if (r, c) == start else "a" if (r, c) in cells else " "
                yield GridMap.parse("\n".join("".join(row) for row in rows)), height, width


@pytest.mark.parametrize("gamma", [0.5, 0.9])
def test_the_closed_form_for_one_target_holds_on_all_small_grids(gamma):
    """r* = R (1 - gamma^2) / gamma: beside the target, stepping away and back pays gamma r / (1 - gamma^2) in all."""
    terminal, checked = 7.0, 0
    for grid, height, width in all_small_grids(lambda h, w: [{cell} for cell in itertools.product(range(h), range(w))]):
        ours = guarantee(with_terminal_reward(grid, "a", "numeric-boolean", terminal), gamma).critical_step_reward
        ((row, column),) = grid.objects["a"]
        room = max(row - 1, height - row) + max(column - 1, width - column)
        if height == 1:  # the target blocks the way to the other side
            room = column - 1 if grid.start[1] < column else width - column
        elif width == 1:
            room = row - 1 if grid.start[0] < row else height - row
        if room == 1:  # nowhere to step back to
            assert ours == float("inf")
        else:
            assert ours == pytest.approx(terminal * (1 - gamma**2) / gamma, rel=1e-6)
            checked += 1
    assert checked > 750


@pytest.mark.parametrize("gamma", [0.5, 0.9])
def test_the_closed_form_for_two_corner_targets_holds_on_all_small_grids(gamma):
    """r* = R (1 - gamma): with targets in opposite corners every move comes closer to one of them."""
    terminal, checked = 7.0, 0
    for grid, height, width in all_small_grids(lambda h, w: [{(0, 0), (h - 1, w - 1)}] if h * w > 2 else []):
        machine = RewardMachine.sequence("a", kind="numeric-boolean", terminal_reward=terminal, closer="any")
        ours = guarantee(compile(grid, machine), gamma).critical_step_reward
        if (height, width) in [(1, 3), (3, 1), (2, 2)]:  # no two free cells side by side: a move finishes or bumps
            assert ours == float("inf")
        else:
            assert ours == pytest.approx(terminal * (1 - gamma), rel=1e-6)
            checked += 1
    assert checked > 60


def test_the_gamma_interval_ends_where_the_verdict_changes():
    machine = RewardMachine.sequence("a-b", kind="numeric", terminal_reward=100.0)
    problem = compile(GridMap.generate("1a1b", size=11, seed=4), machine)
    low, high = guarantee(problem, 0.9).gamma_interval
    assert 0 < low < high <= 1
    assert guarantee(problem, low + 1e-5).is_shortest and not guarantee(problem, low - 1e-5).is_shortest
