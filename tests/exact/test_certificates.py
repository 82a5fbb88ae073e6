"""Rewards that cannot mislead: certified on random maps, tasks, obstacles and discounts, beside those that can."""

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from fastrm import ConfigError, FastrmError, GridMap, compile, guarantee, hrm_fixed_point, lint, solve, task
from fastrm.kernels.contracts import LIVE

from sizes import either

PROBLEMS = either(500, 90)
LAYOUTS = [{}, {"walls": 0.15}, {"walls": 0.3}, {"layout": "rooms"}, {"layout": "maze"}, {"layout": "deceptive"}]
DISCOUNTS = [1e-6, 0.01, 0.1, 0.3, 0.5, 0.9, 0.99, 0.999]


def random_task(rng, depth=2):
    """Write a random task over a, b, c."""
    if depth == 0 or rng.random() < 0.3:
        return rng.choice("abc")
    parts = [random_task(rng, depth - 1) for _ in range(rng.randint(2, 3))]
    form = rng.choice(["then", "any order", "or", "times"])
    if form == "then":
        return "(" + "-".join(parts) + ")"
    if form == "any order":
        return "{" + ",".join(parts) + "}"
    return "(" + "|".join(parts) + ")" if form == "or" else f"{rng.randint(1, 2)}*{parts[0]}"


def random_problems(count, seed=0):
    """Yield maps, tasks and discounts; what cannot be done on its map is left out."""
    rng = random.Random(seed)
    found = 0
    while found < count:
        setup = "".join(f"{rng.randint(1, 2)}{letter}" for letter in "abc") + rng.choice(["", "1n", "3n"])
        text = random_task(rng, 3) + (" !n" if "n" in setup else "")
        try:
            grid = GridMap.generate(setup, size=rng.randint(7, 13), seed=rng.randrange(10**6), **rng.choice(LAYOUTS))
            compile(grid, task(text))
        except FastrmError:
            continue
        found += 1
        yield grid, text, rng.choice(DISCOUNTS), rng.choice([1e-3, 1.0, 50.0])


def test_potentials_and_steps_to_go_are_certified_on_random_problems():
    """So they are for every discount; the paper's kinds, on the same problems, are not."""
    fails, states = Counter(), Counter()
    for grid, text, gamma, scale in random_problems(PROBLEMS):
        for kind, settings in (
            ("potential", {"scale": scale}), ("distance-to-go", {}), ("numeric", {}), ("numeric-boolean", {}),
        ):  # fmt: skip
            problem = compile(grid, task(text, kind=kind, **settings), metric="geodesic")
            verdict = guarantee(problem, gamma)
            fails[kind] += not verdict.is_shortest
            if kind in ("potential", "distance-to-go"):
                assert verdict.verdict == "shortest", (grid.render(), text, kind, gamma)
                assert verdict.length == problem.shortest[0]
            states[problem.tables.n_u] += 1
    print(f"\nnot shortest, of {PROBLEMS}: {dict(fails)}; machine states up to {max(states)}")
    assert max(states) > 10
    assert fails["numeric"] > 0 and fails["numeric-boolean"] > 0  # the problems are hard enough to mislead


@pytest.mark.parametrize("gamma", [1e-9, 0.01, 0.5, 0.999999999])
def test_long_ways_are_certified_although_powers_of_gamma_vanish(gamma):
    """1 397 steps on more pairs than rational arithmetic is used for."""
    grid = GridMap.generate("1a1b1c", 81, seed=0, layout="maze")
    for kind in ("boolean", "potential", "distance-to-go"):
        verdict = guarantee(compile(grid, task("a-b-c", kind=kind)), gamma)
        assert verdict.verdict == "shortest" and verdict.shortest == 1397


def test_gamma_one_is_refused_with_a_potential():
    problem = compile(GridMap.generate("1a", 7), task("a", kind="potential"))
    with pytest.raises(ConfigError, match="gamma=1: a potential keeps optimal policies only where gamma is below 1"):
        guarantee(problem, gamma=1.0)


def test_values_with_a_potential_are_those_of_plain_value_iteration_on_the_rewards_paid():
    for grid, text, gamma, scale in random_problems(25, seed=1):
        if gamma > 0.95:
            continue
        problem = compile(grid, task(text, kind="potential", scale=scale), gamma=gamma)
        best, tables = solve(problem, gamma), problem.tables
        value = np.zeros((len(tables.next_s), tables.reward.shape[1]))
        ahead = tables.outcome[tables.event] == LIVE
        for _ in range(600):
            then = value[tables.next_s[:, :, None], tables.delta[tables.event]]
            value[:, : tables.n_u] = (tables.reward[tables.event] + gamma * then * ahead).max(axis=1)[:, : tables.n_u]
        size = 1 + np.abs(value).max()
        assert np.abs(best.value - value[:, : tables.n_u]).max() <= best.error_bound + 1e-12 * size


@pytest.mark.parametrize(
    ("kind", "scale", "lengths"),
    [("distance-to-go", 1, [26, 32]), ("potential", 0.01, [27, 40]), ("potential", 1, [None, None])],
)
def test_what_hrm_settles_on_on_the_appendix_map(kind, scale, lengths):
    """Options paid by the steps to go know what comes after and pass by the nearest target.

    A small potential changes nothing, a large one leads options astray: it is not 0 where they end, so that ending
    costs what is still to go.
    """
    grid = GridMap.load(Path(__file__).parents[2] / "bench" / "suites" / "appendix.map")
    machines = [task(text, kind=kind, scale=scale) for text in ("a-b", "a-b-c")]
    assert [hrm_fixed_point(compile(grid, machine)).length for machine in machines] == lengths


def test_what_hrm_settles_on_does_not_depend_on_the_discount_of_compiling():
    grid, machine = GridMap.generate("1a1b", 11, seed=4), task("a-b", kind="potential", scale=0.1)
    values = {hrm_fixed_point(compile(grid, machine, gamma=gamma), gamma=0.5).value for gamma in (0.5, 0.9)}
    assert len(values) == 1


@pytest.mark.parametrize("kind", ["potential", "distance-to-go"])
def test_the_linter_finds_nothing_to_farm_or_put_off(kind):
    grid = GridMap.generate("2a2b2n", size=15, seed=1)
    assert lint(task("a-b !n", kind=kind), grid) == []


def test_the_witness_of_a_potential_earns_what_its_path_is_paid():
    grid = GridMap.generate("1a1b", size=11, seed=4)
    problem = compile(grid, task("a-b", kind="potential", scale=0.5), gamma=0.8)
    witness = guarantee(problem, gamma=0.8).witness
    tables, s, u, earned = problem.tables, problem.tables.starts[0], 0, 0.0
    cells = {tuple(cell): i for i, cell in enumerate(problem.terrain.cells.tolist())}
    for k, cell in enumerate(witness.path[1:]):
        a = tables.next_s[s].tolist().index(cells[cell])
        e = tables.event[s, a]
        earned += 0.8**k * tables.reward[e, u]
        s, u = cells[cell], int(tables.delta[e, u])
    assert witness.optimal_return == pytest.approx(earned, rel=1e-12)
    assert witness.shortest_return == pytest.approx(earned, rel=1e-12)
    assert guarantee(problem, gamma=0.8).critical_reward <= 0
