"""Thresholds: where verdicts change, and the closed forms on all small grids."""

import itertools
import math
import random
from dataclasses import replace
from pathlib import Path

import pytest

from fastrm import ConfigError, FastrmError, GridMap, RewardMachine, compile, guarantee
from fastrm.exact import critical_reward, reward_phases
from fastrm.kernels.contracts import SUCCESS
from fastrm.machines.language import Number

from sizes import either
from small_problems import with_terminal_reward

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


def forced(*rewards):
    """Return a machine that waits for a, pays -100 a step until then, and ends some moves later whatever they are."""
    first, *rest, last = rewards
    lines = ["start u0", "success done", f"u0 -> u1 when a reward {first}", "u0 -> u0 otherwise reward -100"]
    lines += [f"u{k} -> u{k + 1} otherwise reward {paid}" for k, paid in enumerate(rest, 1)]
    return RewardMachine.parse("\n".join([*lines, f"u{len(rest) + 1} -> done otherwise reward {last}"]))


@pytest.mark.parametrize(("terminal", "verdict"), [(-1400, "shortest"), (-1469, "shortest"), (-1470, "never finishes")])
def test_a_success_that_comes_by_itself_later_has_its_threshold_far_below_zero(terminal, verdict):
    """Never going to a returns -1000, going there 190 + 0.81 R."""
    answer = guarantee(compile(GridMap.parse("XXXX\nXAaX\nXXXX"), forced(100, 100, terminal)), 0.9)
    assert answer.verdict == verdict
    assert answer.critical_reward == pytest.approx(-1190 / 0.81, rel=1e-15)
    assert answer.critical_scale == (math.inf if verdict == "shortest" else None)


def test_where_every_path_is_a_shortest_one_all_terminal_rewards_do():
    machine = RewardMachine.parse("start u\nsuccess done\nu -> v otherwise reward 3\nv -> done otherwise reward -7")
    answer = guarantee(compile(GridMap.parse("XXXX\nXAaX\nXXXX"), machine), 0.9)
    assert (answer.verdict, answer.critical_reward, answer.critical_scale) == ("shortest", -math.inf, math.inf)


def random_problem(rng):
    """Return a small map and the text of a machine; about half of its states are left sooner or later by any move."""
    height, width = rng.randint(1, 3), rng.randint(2, 4)
    tiles = [*"Aab", *rng.choices("ab  X", k=20)][: height * width]
    rng.shuffle(tiles)
    rows = ["".join(tiles[r * width : (r + 1) * width]) for r in range(height)]
    grid = "\n".join(["X" * (width + 2), *(f"X{row}X" for row in rows), "X" * (width + 2)])
    states = [f"u{k}" for k in range(rng.randint(1, 4))]
    onward = dict(itertools.pairwise([*states, "done"]))
    lost, lures = rng.random() < 0.2, rng.random() < 0.3
    lines = [f"states {' '.join(states)}", "start u0", "success done", *(["failure lost"] if lost else [])]
    for state in states:
        elsewhere = [onward[state], state, *states, *(["lost"] if lost else [])]
        guard = rng.choice(["a", "b", "closer(a)", "closer(b) & !a", "d(a) <= 1"])
        target = onward[state] if rng.random() < 0.8 else rng.choice(elsewhere)
        lines.append(f"{state} -> {target} when {guard} reward {100 if lures else random_reward(rng)}")
        target = state if rng.random() < 0.5 else rng.choice(elsewhere)
        paid = -100 if lures and target == state else random_reward(rng)
        lines.append(f"{state} -> {target} otherwise reward {paid}")
    return grid, "\n".join(lines)


def random_reward(rng):
    numbers = ["0", "0.1", "1", "-1", f"{rng.uniform(-100, 100):.3g}"]
    return rng.choice([*numbers, "-d(a)", "0.5 - 0.1*d(b)", "d_before(a) / 3"])


def bisected(holds):
    """Return the threshold of a verdict that holds from some terminal reward on, by halving alone."""
    low, high = -1.0, 1.0
    while not holds(high):
        high *= 4
    while holds(low):
        low *= 4
        if low < -1e15:
            return -math.inf
    while high - low > 1e-11 * (abs(low) + abs(high)) + 1e-13:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return (low + high) / 2


@pytest.mark.filterwarnings("ignore::fastrm.FastrmWarning")
def test_the_critical_reward_is_the_one_that_bisecting_exact_verdicts_finds():
    """On 60 random problems, on 3 000 with FASTRM_FULL=1; some thresholds lie far below 0, some paths are forced."""
    rng, found, far_below = random.Random(7), [], 0
    wanted = either(3000, 60)
    while len(found) < wanted:
        text, rules = random_problem(rng)
        gamma = rng.choice([0.3, 0.5, 0.9, 0.97])
        try:
            grid, machine = GridMap.parse(text), RewardMachine.parse(rules)
            problem = compile(grid, machine)
        except FastrmError:
            continue

        def holds(terminal, grid=grid, machine=machine, gamma=gamma):
            edges = [replace(e, reward=Number(terminal)) if e.target == "done" else e for e in machine.edges]
            return guarantee(compile(grid, replace(machine, edges=tuple(edges))), gamma).is_shortest

        critical = guarantee(problem, gamma).critical_reward
        assert critical == pytest.approx(bisected(holds), rel=1e-9, abs=1e-11), (text, rules, gamma)
        found.append(critical)
        on_the_way = problem.plain[problem.tables.outcome != SUCCESS]
        far_below += -math.inf < critical < -(abs(on_the_way).max() + 1) / (1 - gamma)
    assert found.count(-math.inf) >= wanted / 100 and far_below >= wanted / 100


@pytest.mark.parametrize("ask", [critical_reward, reward_phases])
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"gamma": 1}, "gamma=1: .* below 1"),
        ({"gamma": 0}, "gamma=0: must be above 0"),
        ({"gamma": None}, "gamma=None: must be a number"),
        ({"gamma": 0.9, "machine": 1}, "machine=1: must be a whole number from 0 to 0"),
        ({"gamma": 0.9, "machine": -1}, "machine=-1: must be a whole number from 0 to 0"),
    ],
)
def test_thresholds_refuse_a_discount_or_machine_that_does_not_fit(ask, settings, said):
    problem = compile(GridMap.generate("1a1b", size=7, seed=0), RewardMachine.sequence("a-b", kind="numeric"))
    with pytest.raises(ConfigError, match=said):
        ask(problem, **settings)
