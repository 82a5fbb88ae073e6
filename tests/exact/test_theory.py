"""The statements of docs/explanation/theory.md, each checked exactly; a map that is called the smallest is so."""

import itertools
import re
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from fastrm import FastrmError, GridMap, RewardMachine, compile, guarantee, solve, task, train
from fastrm.exact import critical_reward, value_range
from fastrm.worlds import ACTIONS

THEORY = (Path(__file__).parents[2] / "docs/explanation/theory.md").read_text(encoding="utf-8")
RIGHT, LEFT = ACTIONS.index("right"), ACTIONS.index("left")
numeric = partial(RewardMachine.sequence, kind="numeric", terminal_reward=0)
step_by_step = partial(RewardMachine.sequence, kind="numeric-boolean", terminal_reward=1)


def drawn(*rows):
    """Return the map with these inner rows."""
    ring = "X" * (len(rows[0]) + 2)
    return GridMap.parse("\n".join([ring, *(f"X{row}X" for row in rows), ring]))


def judge(rows, machine, gamma=0.9, **settings):
    return guarantee(compile(drawn(*rows), machine, **settings), gamma)


def maps_of(size, tiles, needed):
    """Yield the rows of all maps of so many cells in one or two rows, mirror images left and right once."""
    for height in (1, 2):
        for drawing in itertools.product(tiles, repeat=size) if size % height == 0 and size // height >= height else ():
            width = size // height
            rows = ["".join(drawing[r * width : (r + 1) * width]) for r in range(height)]
            if drawing.count("A") == 1 and set(needed) <= set(drawing) and rows <= [row[::-1] for row in rows]:
                yield rows


def misled(size, tiles, machine, gamma, **settings):
    """Return how many maps of a size there are, and those on which some optimal policy takes no shortest path."""
    count, found = 0, []
    letters = {edge.guard.name for edge in machine.edges if hasattr(edge.guard, "name")}
    for rows in maps_of(size, tiles, letters):
        try:
            count, answer = count + 1, judge(rows, machine, gamma, **settings)
        except FastrmError:  # walled off
            count -= 1
            continue
        if not answer.is_shortest:
            found.append("/".join(rows))
    return count, found


@pytest.mark.parametrize(
    ("r", "verdict"), [(1.4999999999, "shortest"), (1.5, "shortest for some optimal policies only")]
)
def test_the_bound_for_one_object_is_tight(r, verdict):
    """At gamma 1/2 and R = 1: (1 - 1/4) / (1/2)."""
    assert judge(["A.a"], step_by_step("a", step_reward=r), 0.5).verdict == verdict
    assert judge(["A.a"], step_by_step("a", step_reward=r), 0.5).critical_step_reward == pytest.approx(1.5, rel=1e-15)


@pytest.mark.parametrize(
    ("r", "verdict"), [(0.0999999999, "shortest"), (0.1, "shortest for some optimal policies only")]
)
def test_the_bound_for_several_objects_is_tight(r, verdict):
    answer = judge(["aA.a"], step_by_step("a", step_reward=r, closer="any"))
    assert answer.verdict == verdict and answer.critical_reward == pytest.approx(10 * r, rel=1e-15)


def test_the_bound_for_several_objects_holds_for_sequences_on_open_maps_where_arrivals_pay_r():
    machine = step_by_step("a-b", step_reward=0.0999999999, closer="any")
    assert [misled(size, "Aab.", machine, 0.9) for size in (3, 4, 5)] == [(3, []), (48, []), (126, [])]
    at_the_bound = step_by_step("a-b", step_reward=0.1, closer="any")
    assert [len(misled(size, "Aab.", at_the_bound, 0.9)[1]) for size in (3, 4, 5)] == [0, 11, 33]
    for seed in range(20):
        grid = GridMap.generate("2a2b2c", size=11, seed=seed)
        for tasks in ("a-b", "a-b-c", "c-a-b-c"):
            answer = guarantee(compile(grid, step_by_step(tasks, step_reward=0.05, closer="any")), 0.9)
            assert answer.is_shortest and answer.critical_step_reward == pytest.approx(0.1, rel=1e-12)


def test_both_bounds_hold_on_maps_with_walls_if_distances_are_geodesic():
    for seed in range(10):
        for machine, setup in (
            (step_by_step("a", step_reward=0.2111111111), "1a"),
            (step_by_step("a", step_reward=0.0999999999, closer="any"), "3a"),
            (step_by_step("a-b-a", step_reward=0.0999999999, closer="any"), "2a2b"),
        ):
            grid = GridMap.generate(setup, size=9, seed=seed, walls=0.3)
            assert guarantee(compile(grid, machine, metric="geodesic"), 0.9).is_shortest


@pytest.mark.parametrize(
    ("objects", "column", "r", "closer", "bound"),
    [("One object", 0, 0.21, "nearest", (1 - 0.9**2) / 0.9), ("Two objects", 1, 0.099, "any", 1 - 0.9)],
)
def test_both_bounds_are_false_with_walls_and_manhattan_distance_on_the_maps_of_the_page(
    objects, column, r, closer, bound
):
    _, page = THEORY.split("### Both bounds are false with walls and Manhattan distance")
    drawing = page.split("```")[1].splitlines()[2:]
    rows = [row for row in (line.ljust(17)[17 * column :][:17].strip() for line in drawing) if row]
    machine = partial(step_by_step, "a", closer=closer)
    answer = judge(rows, machine(step_reward=r))
    critical = answer.critical_step_reward
    assert answer.verdict == "never finishes" and critical < r < bound
    for factor, is_shortest in ((1 - 1e-9, True), (1 + 1e-9, False)):
        assert judge(rows, machine(step_reward=factor * critical)).is_shortest == is_shortest
    assert judge(rows, machine(step_reward=r), metric="geodesic").is_shortest
    told = re.findall(r"\d+\.\d+|\d+(?= steps)", page.split(f"*{objects}.*")[1].split("\n-")[0].split("\n\n")[0])
    numbers = r, bound, answer.shortest, answer.witness.shortest_return, answer.witness.optimal_return, critical
    assert [f"{number:.{len(text.partition('.')[2])}f}" for number, text in zip(numbers, told, strict=True)] == told


def test_it_is_false_for_the_nearest_object_and_this_is_the_smallest_map():
    machine = step_by_step("a-b", step_reward=0.09)
    assert [misled(size, "Aab.", machine, 0.9) for size in (3, 4)] == [(3, []), (48, [])]
    assert misled(5, "Aab.", machine, 0.9) == (126, ["aA.ab"])
    answer = judge(["aA.ab"], machine)
    assert answer.verdict == "detour (+2 steps)" and (answer.length, answer.shortest) == (5, 3)
    assert answer.witness.optimal_return == pytest.approx(0.96561, abs=1e-12)
    assert answer.witness.shortest_return == pytest.approx(0.891, abs=1e-12)
    assert answer.critical_step_reward == pytest.approx(0.0606144151, abs=1e-10)


@pytest.mark.parametrize("gamma", [0.1, 0.5, 0.9, 0.99])
def test_the_lowest_distance_leads_to_shortest_paths_for_one_type_of_target(gamma):
    counts = [(1, []), (5, []), (28, []), (39, []), (193, [])]
    assert [misled(size, "Aa.", numeric("a"), gamma) for size in (2, 3, 4, 5, 6)] == counts
    for seed in range(5):
        for metric, walls in (("manhattan", 0), ("geodesic", 0.25)):
            grid = GridMap.generate("3a", size=13, seed=seed, walls=walls)
            answer = guarantee(compile(grid, numeric("a"), metric=metric), gamma)
            assert answer.is_shortest and answer.critical_reward < -1


def test_it_is_false_for_sequences_and_these_are_the_smallest_maps():
    assert [misled(size, "Aab.", numeric("a-b"), 0.9) for size in (5, 6)] == [(126, []), (1092, [])]
    assert misled(7, "Aab.", numeric("a-b"), 0.9) == (
        2113, ["aA....b", "a.A.bba", "a.A...b", "a..A..b", "a...A.b", "a....Ab"],
    )  # fmt: skip
    answer = judge(["aA....b"], numeric("a-b"))
    assert answer.verdict == "never finishes" and answer.witness.loop == ((1, 2),)
    assert answer.witness.optimal_return == pytest.approx(-10, abs=1e-12)
    assert answer.witness.shortest_return == pytest.approx(-11.82969, abs=1e-12)
    assert answer.critical_reward == pytest.approx(1.82969 / 0.531441, rel=1e-12)


def test_it_is_false_with_walls_and_manhattan_distance_and_this_is_the_smallest_map():
    assert [misled(size, "AaX.", numeric("a"), 0.5) for size in (3, 4, 5)] == [(6, []), (56, []), (81, [])]
    assert misled(6, "AaX.", numeric("a"), 0.5) == (801, ["AXa/...", ".../AXa"])
    answer = judge(["AXa", "..."], numeric("a"), 0.5)
    assert answer.verdict == "never finishes" and answer.critical_reward == 2
    assert (answer.witness.optimal_return, answer.witness.shortest_return) == (-4, -4.25)
    assert misled(6, "AaX.", numeric("a"), 0.5, metric="geodesic") == (801, [])


def test_three_cases_of_the_distance_pay_the_terminal_reward_for_bumping_into_walls():
    """Closer r, farther 0, else R: bumping leaves the distance as it is."""
    text = (
        "start u\nsuccess done\nu -> done when a reward 1000\nu -> u when d(a) < d_before(a) & !a reward 0.1\n"
        "u -> u when d(a) > d_before(a) reward 0\nu -> u when d(a) == d_before(a) & !a reward 1000\n"
    )
    answer = judge(["A.a"], RewardMachine.parse(text))
    assert answer.verdict == "never finishes" and answer.witness.loop == ((1, 1),)
    assert answer.witness.optimal_return == pytest.approx(10_000, rel=1e-12)
    assert answer.witness.shortest_return == pytest.approx(900.1, rel=1e-12)
    mended = RewardMachine.parse(text.replace("d(a) == d_before(a) & !a reward 1000", "d(a) == d_before(a) & !a"))
    assert judge(["A.a"], mended).verdict == "shortest"


def test_a_terminal_reward_on_every_arrival_makes_a_b_take_27_steps_instead_of_26():
    grid = GridMap.load(Path(__file__).parents[2] / "bench" / "suites" / "appendix.map")
    for terminal in (1e3, 1e6, 1e9):
        on_all, on_last = (
            RewardMachine.sequence("a-b", kind="numeric-boolean", arrival=arrival, terminal_reward=terminal)
            for arrival in ("terminal", "step")
        )
        answer = guarantee(compile(grid, on_all), 0.9)
        assert (answer.length, answer.shortest) == (27, 26)
        assert guarantee(compile(grid, on_last), 0.9).length == 26
    first, second = 0.9**19 + 0.9**26, 0.9**20 + 0.9**25
    assert answer.witness.optimal_return == pytest.approx(1e9 * first, rel=1e-6)
    assert answer.witness.shortest_return == pytest.approx(1e9 * second, rel=1e-6)


def walks(distance, steps):
    """Yield the distances before each move of all walks to 0 that change it by at most one a step."""
    if distance == 0 or steps == 0:
        yield from [()] if distance == 0 else []
        return
    for change in (-1, 0, 1):
        yield from ((distance, *rest) for rest in walks(distance + change, steps - 1))


def test_a_walk_of_three_and_twice_one_steps_returns_at_most_minus_7_724_and_none_returns_minus_9_959():
    returns = {walk: -sum(0.9**t * d for t, d in enumerate(walk)) for walk in walks(3, 9)}
    assert min(map(len, returns)) == 3 and returns[3, 2, 1] == pytest.approx(-5.61, abs=1e-12)
    away_once = {w: v for w, v in returns.items() if len(w) == 5 and all(a != b for a, b in itertools.pairwise(w))}
    assert max(away_once, key=away_once.get) == (3, 2, 1, 2, 1)
    assert max(away_once.values()) == pytest.approx(-7.7241, abs=1e-12)
    assert len(returns) == 814 and not any(abs(value + 9.959) < 5e-4 for value in returns.values())
    problem = compile(drawn("A...a"), numeric("a"))  # d after the move is 3, 2, 1; then R = 0
    assert guarantee(problem, 0.9).witness.optimal_return == pytest.approx(-5.61, abs=1e-12)
    cell, paid = problem.tables.starts[0], []
    for action in (RIGHT, RIGHT, RIGHT, LEFT, RIGHT, RIGHT):
        cell, _, _, reward, _ = problem.step(cell, 0, action)
        paid.append(reward)
    assert sum(0.9**t * reward for t, reward in enumerate(paid)) == pytest.approx(-7.7241, abs=1e-12)


def test_the_critical_reward_grows_like_a_power_of_the_length():
    """On `aA...b`, m steps from a to b: waiting costs 1 / (1 - gamma), the leg the sum of gamma^j (m - j)."""
    gamma, found = Fraction(9, 10), {}
    for m in (6, 7, 10, 20, 40, 80):
        problem = compile(drawn("aA" + "." * (m - 2) + "b"), numeric("a-b"))
        found[m] = critical_reward(problem, 0.9)
        leg = sum(gamma**j * (m - j) for j in range(1, m))
        assert found[m] == (leg - 1 / (1 - gamma)) / gamma**m
    assert [round(float(found[m]), 2) for m in (6, 7, 10)] == [3.44, 12.64, 61.32]
    per_step = [float(found[m] * gamma**m) / m for m in (20, 40, 80)]  # towards gamma / (1 - gamma)
    assert per_step == pytest.approx([4.547, 6.533, 7.750], abs=0.001)


@pytest.mark.parametrize(("gamma", "misled_by_distance"), [(0.1, 9), (0.5, 16), (0.9, 12), (0.99, 2)])
def test_potentials_and_the_distance_to_go_are_safe(gamma, misled_by_distance):
    """On 21 maps, on many of which minus the distance to the next target is not."""
    unsafe = 0
    for seed, text in enumerate(["a", "a-b", "a-b-c", "{a,b}-c", "a|b-c", "2*a-b", "a-c !b"]):
        for layout in ({}, {"walls": 0.2}, {"layout": "maze"}):
            grid = GridMap.generate("2a1b2c", size=9, seed=seed, **layout)
            safe = [task(text, kind="distance-to-go"), *(task(text, kind="potential", scale=c) for c in (0.01, 1, 100))]
            assert {guarantee(compile(grid, machine), gamma).verdict for machine in safe} == {"shortest"}
            nearest = task(text, kind="numeric", terminal_reward=0)
            unsafe += not guarantee(compile(grid, nearest), gamma).is_shortest
    assert unsafe == misled_by_distance


def test_the_bound_for_the_nearest_object_holds_for_sequences_of_any_length_and_is_tight():
    bound = (1 - 0.9**2) / 0.9
    for text in ("a-b", "a-b-a-b", "b-a-b-a-b-a-b-a"):
        for factor, is_shortest in ((1 - 1e-9, True), (1 + 1e-9, False)):
            assert judge(["A.a..b"], step_by_step(text, step_reward=factor * bound)).is_shortest == is_shortest
    assert judge(["aA.ab"], step_by_step("a-b", step_reward=0.0999999999)).verdict == "detour (+2 steps)"


def test_without_an_order_the_bound_for_the_nearest_object_is_false_and_that_for_any_is_tight():
    both = partial(task, "{a,b}", kind="numeric-boolean", terminal_reward=1)
    assert misled(3, "Aab.", both(step_reward=0.211), 0.9) == (3, [])
    assert "aA.b" in misled(4, "Aab.", both(step_reward=0.211), 0.9)[1]
    assert judge(["aA.b"], both(step_reward=0.211)).witness.optimal_return == pytest.approx(2.11, abs=1e-12)
    assert judge(["aA.b"], both(step_reward=0.211)).critical_step_reward == pytest.approx(0.1, rel=1e-12)


@pytest.mark.parametrize("gamma", [0.5, 0.9, 0.99])
def test_minus_a_distance_is_safe_down_to_a_terminal_reward_of_minus_one_over_one_minus_gamma(gamma):
    for factor, verdict in ((1 - 1e-9, "shortest"), (1 + 1e-9, "never finishes")):
        for kind in ("numeric", "distance-to-go"):
            machine = task("a", kind=kind, terminal_reward=-factor / (1 - gamma))
            assert judge(["Aa"], machine, gamma).verdict == verdict
    for seed in range(8):
        grid = GridMap.generate("1a1b1c", size=9, seed=seed, walls=0.2)
        for kind, settings in (("offset", {"offset": "legs"}), ("offset", {}), ("distance-to-go", {})):
            problem = compile(grid, task("a-b-c-a", kind=kind, **settings), metric="geodesic")
            assert guarantee(problem, gamma).critical_reward <= -1 / (1 - gamma) * (1 - 1e-9)


OFFSET_BY_HAND = """
start   u0
success done
u0 -> u1    when a     reward -span()
u0 -> u0    otherwise  reward -(d(a) + span())
u1 -> done  when b     reward 0
u1 -> u1    otherwise  reward -d(b)
"""


def test_an_offset_is_not_enough_with_several_objects_and_these_are_the_smallest_maps():
    machine = RewardMachine.parse(OFFSET_BY_HAND)
    assert [misled(size, "Aab.", machine, 0.9) for size in (3, 4, 5)] == [(3, []), (48, []), (126, [])]
    count, found = misled(6, "Aab.", machine, 0.9)
    assert (count, found[2]) == (1092, "aA..ab") and all(max(map(map_text.count, "ab")) > 1 for map_text in found)


def any_order_by_hand(letters):
    """Return the machine that pays minus the distance to the nearest target, and span() for every other one left."""
    lines = ["start u", "success done"]
    for count in range(len(letters)):
        for done in itertools.combinations(letters, count):
            left = [letter for letter in letters if letter not in done]
            offset = f"{len(left) - 1} * span()"
            nearest = f"min({', '.join(f'd({x})' for x in left)})" if len(left) > 1 else f"d({left[0]})"
            for x in left:
                there = "u" + "".join(sorted((*done, x))) if len(left) > 1 else "done"
                lines.append(f"u{''.join(done)} -> {there} when {x} reward -({offset})")
            lines.append(f"u{''.join(done)} -> u{''.join(done)} otherwise reward -({nearest} + {offset})")
    return RewardMachine.parse("\n".join([*lines, ""]))


def test_an_offset_is_not_enough_without_an_order():
    answer = judge(["aAbc"], any_order_by_hand("abc"))
    assert (answer.verdict, answer.shortest) == ("detour (+1 step)", 4)
    assert judge(["aAbc"], RewardMachine.sequence("a-b-c", kind="offset")).is_shortest


def local_potential_by_hand(factor):
    return RewardMachine.parse(
        "start u\nsuccess done\nu -> done when a reward 1 + d_before(a)\n"
        f"u -> u otherwise reward d_before(a) - {factor} * d(a)\n"
    )


def test_a_potential_must_be_paid_at_the_discount_of_the_learner_or_it_misleads_on_two_cells():
    for size in (2, 3, 4):
        assert misled(size, "Aa.", local_potential_by_hand(0.9), 0.9)[1] == []
    answer = judge(["Aa"], local_potential_by_hand(0.7))
    assert answer.verdict == "never finishes" and answer.witness.optimal_return == pytest.approx(3)
    assert answer.witness.shortest_return == 2


def test_a_theorem_bounds_the_critical_reward_of_distances_within_a_factor_linear_in_the_length():
    for seed in range(10):
        grid = GridMap.generate("2a2b2c", size=9, seed=seed, walls=0.2)
        for text in ("a-b", "a-b-c", "{a,b}-c", "a|b-c"):
            answer = guarantee(compile(grid, numeric("a-b") if text == "a-b" else task(text, kind="numeric")), 0.9)
            length = answer.shortest
            assert answer.critical_reward <= (length - 1) / (0.9 ** (length - 1) * (1 - 0.9) ** 2)


@pytest.mark.parametrize(("share", "is_enough"), [(1.0, True), (0.5, False)])
def test_values_that_begin_at_the_largest_true_value_never_fall_below_the_true_ones(share, is_enough):
    grid = GridMap.generate("2a1b", size=9, seed=2)
    for kind in ("numeric-boolean", "local-potential", "boolean"):
        problem = compile(grid, task("a-b", kind=kind))
        largest = value_range(problem, 0.9)[1]
        run = train(problem, "crm", steps=20_000, seed=1, q_init=share * largest)
        best, problem = solve(problem, 0.9), problem.at(0.9)
        tables = problem.tables
        after = tables.delta[tables.event]
        paid = tables.reward[tables.event]
        below = 0.0
        for u in range(tables.n_u):
            ends = tables.outcome[tables.event, u] != 0
            later = np.where(ends, 0.0, best.value[tables.next_s, np.where(ends, 0, after[:, :, u])])
            below = max(below, float((paid[:, :, u] + 0.9 * later - run.q[:, u, :]).max()))
        assert (below <= 1e-9 * largest) == is_enough, (kind, below)
