"""Moves that slip: expected values against plain loops, learners against expectations, environments, refusals."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from fastrm import (
    ConfigError,
    FastrmError,
    GridMap,
    RewardMachine,
    compile,
    guarantee,
    hrm_fixed_point,
    optimal_arps,
    solve,
    task,
    train,
)
from fastrm.env import RewardMachineEnv, RewardMachineVectorEnv
from fastrm.exact import critical_reward
from fastrm.exact.tabular import solve_rewards

import naive
from machine_specs import machine_text
from random_problems import machines, maps
from sizes import either

SLIPS = [0.1, 0.5, 1.0]


def outcomes(machine, state, cell, a, slip):
    """Return probability, next state, next cell, reward and outcome of the three moves an action may become."""
    shares = [(1 - slip, a), (slip / 2, (a + 1) % 4), (slip / 2, (a + 3) % 4)]
    moves = [(share, machine.world.move(cell, direction)) for share, direction in shares]
    return [(share, *machine.step(state, cell, there), there) for share, there in moves]


def expected_values(machine, gamma, slip, sweeps):
    cells = machine.world.reachable()
    moves = {
        (s, u): [outcomes(machine, u, s, a, slip) for a in range(4)] for s in cells for u in machine.states
    }  # fmt: skip
    value = dict.fromkeys(moves, 0.0)
    for _ in range(sweeps):
        value = {
            pair: max(
                sum(p * (r + (0.0 if end else gamma * value[s, u])) for p, u, r, end, s in ways) for ways in actions
            )
            for pair, actions in moves.items()
        }
    return value, moves


@pytest.mark.filterwarnings("ignore::fastrm.FastrmWarning")
def test_expected_values_are_within_their_bounds_of_a_plain_loop():
    compared = []

    @settings(max_examples=either(40, 16))
    @given(maps(fences=True), machines(guided=True), st.sampled_from(SLIPS), st.sampled_from([0.3, 0.9]))
    def check(text, spec, slip, gamma):
        try:
            problem = compile(GridMap.parse(text), RewardMachine.parse(machine_text(spec)), slip=slip)
        except FastrmError:
            assume(False)
        best = solve(problem, gamma)
        world = naive.World(text)
        machine = naive.Machine(0, spec, world, naive.CLEAN, gamma)
        value, moves = expected_values(machine, gamma, slip, 500)
        for i, cell in enumerate(problem.terrain.cells.tolist()):
            for u, state in enumerate(problem.states):
                pair = tuple(cell), state
                assert abs(best.value[i, u] - value[pair]) <= best.error[i, u] + 1e-12 * (1 + abs(value[pair]))
                q = [sum(p * (r + (0 if end else gamma * value[s, v])) for p, v, r, end, s in ways)
                     for ways in moves[pair]]  # fmt: skip
                for a in range(4):
                    is_best = q[a] >= max(q) - 1e-11 * (1 + abs(max(q)))
                    assert bool(best.optimal[i, u] >> a & 1) == is_best or abs(q[a] - max(q)) < 1e-8 * (1 + abs(q[a]))
        assert best.error_bound <= 1e-9 * (1 + np.abs(best.value).max())
        compared.append(1)

    check()
    assert len(compared) >= either(30, 12)


def exact_value(problem, policy, gamma):
    """Solve for the value of a policy in rationals, the numbers of the problem taken as they are stored."""
    tables, slip, n_u = problem.tables, Fraction(problem.slip), problem.tables.n_u
    pairs = [(s, u) for s in range(len(tables.next_s)) for u in range(n_u)]

    def row(s, u, a):
        line, paid = {}, Fraction(0)
        for share, turn in ((1 - slip, 0), (slip / 2, 1), (slip / 2, 3)):
            e, there = tables.event[s, (a + turn) % 4], int(tables.next_s[s, (a + turn) % 4])
            paid += share * Fraction(float(tables.reward[e, u]))
            if tables.outcome[e, u] == 0:
                pair = there, int(tables.delta[e, u])
                line[pair] = line.get(pair, 0) + share * Fraction(gamma)
        return line, paid

    system = {}
    for s, u in pairs:
        line, paid = row(s, u, int(policy[s, u]))
        system[s, u] = {k: -v for k, v in line.items()} | {None: paid}
        system[s, u][s, u] = system[s, u].get((s, u), 0) + 1
    for pivot in pairs:  # Gauss and Jordan
        lead = system[pivot].pop(pivot)
        mine = {k: v / lead for k, v in system[pivot].items()}
        system[pivot] = {**mine, pivot: Fraction(1)}
        for other in pairs:
            if other != pivot and (factor := system[other].pop(pivot, 0)):
                for k, v in mine.items():
                    system[other][k] = system[other].get(k, 0) - factor * v
    value = {pair: system[pair].get(None, Fraction(0)) for pair in pairs}
    best = {
        pair: max(paid + sum(share * value[k] for k, share in line.items())
                  for line, paid in (row(*pair, a) for a in range(4)))
        for pair in pairs
    }  # fmt: skip
    return value, all(best[pair] == value[pair] for pair in pairs)


@pytest.mark.parametrize("gamma", [0.3, 0.97])
@pytest.mark.parametrize("slip", [0.1, 1.0])
@pytest.mark.parametrize("kind", ["numeric", "numeric-boolean"])
def test_bounds_hold_against_rational_arithmetic(kind, slip, gamma):
    problem = compile(GridMap.parse("XXXXX\nXA  X\nX baX\nXXXXX\n"), task("a-b", kind=kind), slip=slip)
    best = solve(problem, gamma)
    value, optimal = exact_value(problem, best.policy, gamma)
    assert optimal
    gaps = {pair: abs(Fraction(float(best.value[pair])) - value[pair]) for pair in value}
    assert all(gaps[pair] <= Fraction(float(best.error[pair])) for pair in value)
    assert any(gaps.values())  # there is something to bound


@pytest.mark.parametrize("slip", [0.0, *SLIPS])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_reward_per_step_length_and_success_follow_from_the_distribution_over_time(slip, epsilon):
    text = "XXXXXX\nXA  nX\nX  a X\nX b  X\nXXXXXX\n"
    spec = {
        "states": ["u0", "u1"], "start": "u0", "success": ["done"], "failure": ["lost"], "score": "task",
        "edges": [("u0", ("prop", "a"), "u1", ("num", 0)), ("u0", ("prop", "n"), "lost", ("num", 0)),
                  ("u0", "otherwise", "u0", ("num", 0)), ("u1", ("prop", "b"), "done", ("num", 1)),
                  ("u1", "otherwise", "u1", ("num", 0))],
    }  # fmt: skip
    problem = compile(GridMap.parse(text), RewardMachine.parse(machine_text(spec)), slip=slip)
    best = solve(problem)
    machine = naive.Machine(0, spec, naive.World(text), naive.CLEAN, 0.9)
    number = {tuple(cell): i for i, cell in enumerate(problem.terrain.cells.tolist())}
    after = cache(lambda u, s, a: list(outcomes(machine, u, s, a, slip)))
    mass, arps, success, steps = {(machine.world.start, machine.start): 1.0}, 0.0, 0.0, 0.0
    for t in range(1, 3000):
        later = {}
        for (s, u), m in mass.items():
            policy = int(best.policy[number[s], problem.states.index(u)])
            for a in range(4):
                share = m * (epsilon / 4 + (1 - epsilon) * (a == policy))
                for p, v, _, end, there in after(u, s, a):
                    if end == "success":
                        arps, success, steps = arps + share * p / t, success + share * p, steps + share * p * t
                    elif end is None:
                        later[there, v] = later.get((there, v), 0.0) + share * p
        mass = later
    assert best.arps(epsilon) == pytest.approx(arps, rel=1e-10)
    assert best.success_probability(epsilon) == pytest.approx(success, rel=1e-10)
    assert best.expected_length(epsilon) == pytest.approx(steps / success, rel=1e-9)


def test_a_policy_that_loops_for_ever_has_no_length():
    best = solve(compile(GridMap.generate("1a1b", 15, seed=1), task("a-b", kind="numeric", terminal_reward=0)))
    assert best.length is None and best.success_probability() == 0.0 and best.expected_length() == float("inf")


def test_slip_zero_is_the_solver_of_certain_paths():
    grid = GridMap.generate("2a2b", size=9, seed=4)
    machine = RewardMachine.sequence("a-b")
    plain, none = compile(grid, machine), compile(grid, machine, slip=0)
    assert solve(plain).value.tobytes() == solve(none).value.tobytes()
    tiny = solve(compile(grid, machine, slip=1e-12))
    assert np.allclose(tiny.value, solve(plain).value, rtol=1e-9)


def test_a_wall_beside_the_way_changes_the_best_policy():
    """Sliding off a ledge costs the task, so the optimum keeps away from it although that way is longer."""
    grid = GridMap.parse("XXXXXXX\nX     X\nX     X\nXA   aX\nXnnnnnX\nXXXXXXX\n")
    machine = RewardMachine.parse(
        "start u0\nsuccess done\nfailure lost\nu0 -> done when a reward 1\nu0 -> lost when n reward 0\n"
        "u0 -> u0 otherwise reward 0\n"
    )
    sure, careful = (solve(compile(grid, machine, slip=slip), gamma=0.99) for slip in (0, 0.4))
    assert sure.length == 4
    assert careful.length > 4
    along = solve_rewards(careful.problem, careful.reward, 0.99)
    assert along.success_probability() > 0.8


def test_the_unit_of_the_score_falls_with_slip_and_learners_reach_it():
    grid = GridMap.generate("1a1b", size=9, seed=1)
    problems = [compile(grid, RewardMachine.sequence("a-b"), slip=slip) for slip in (0, 0.2)]
    certain, slippery = (optimal_arps(problem)[0] for problem in problems)
    assert slippery < certain
    run = train(problems[1], algo="crm", steps=400_000, seed=0, alpha=0.1)
    assert 0.9 < run.score[-1] < 1.1


def test_questions_about_certain_paths_are_refused_where_moves_slip():
    problem = compile(GridMap.generate("1a", size=7, seed=1), RewardMachine.sequence("a"), slip=0.1)
    for ask in (guarantee, hrm_fixed_point, lambda p: critical_reward(p, 0.9)):
        with pytest.raises(ConfigError, match=r"slip=0\.1: .* is about certain paths; compile with slip=0"):
            ask(problem)
    with pytest.raises(ConfigError, match="gamma=1: expected values with slip need a gamma below 1"):
        solve(problem, gamma=1.0)
    for slip in (-0.1, 1.1, "some", float("nan")):
        with pytest.raises(ConfigError, match="slip="):
            compile(GridMap.generate("1a", size=7, seed=1), RewardMachine.sequence("a"), slip=slip)
    with pytest.raises(ConfigError, match="slip: belongs to the problem"):
        train(problem, slip=0.2)


def test_environments_slip_as_often_as_said_and_repeat_with_their_seed():
    grid = GridMap.generate("1a", size=21, seed=1)
    problem = compile(grid, RewardMachine.sequence("a"), slip=0.3)

    def moves(env, seed, n=3000):
        here, found = env.reset(seed=seed)[1]["cell"], []
        for _ in range(n):
            _, _, terminated, truncated, info = env.step(1)
            row, column = info["cell"]
            found.append((row - here[0], column - here[1]))
            if terminated or truncated or column >= 18 or not 2 <= row <= 18:
                info = env.reset()[1]
            here = info["cell"]
        return found

    env = RewardMachineEnv(problem)
    found = moves(env, 3)
    assert found == moves(env, 3) != moves(env, 4)
    shares = [found.count(step) / len(found) for step in ((0, 1), (1, 0), (-1, 0), (0, -1))]
    assert np.allclose(shares, [0.7, 0.15, 0.15, 0.0], atol=0.03)
    vector = RewardMachineVectorEnv(4000, problem)
    vector.reset(seed=1)
    observation, *_ = vector.step(np.ones(4000, dtype=np.int64))
    there, counts = np.unique(observation[:, 0], return_counts=True)
    start = problem.tables.next_s[problem.tables.starts[0]]
    share = dict(zip(there.tolist(), (counts / 4000).tolist(), strict=True))
    assert share[int(start[1])] == pytest.approx(0.7, abs=0.03)
    assert share[int(start[0])] == pytest.approx(0.15, abs=0.03)
    assert len(share) == 3
