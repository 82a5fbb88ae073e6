"""Worlds whose actions have several outcomes by chance: learners against the oracle, values against plain loops."""

import random

import numpy as np
import pytest
from gymnasium.envs.toy_text.cliffwalking import CliffWalkingEnv
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
from gymnasium.envs.toy_text.taxi import TaxiEnv
from test_table_worlds import MACHINE, TEXT, random_tables, value_iteration

import fastrm
from fastrm.errors import ConfigError
from fastrm.exact import critical_reward, score_ceiling
from fastrm.kernels.exact import arrival
from fastrm.learners import Batch, hrm_fixed_point

import naive
from compare import ANY_MACHINE, assert_equal
from sizes import either

WORLDS = either(
    dict.fromkeys(ANY_MACHINE, ((2, 3, 4, 5, 8, 16), (1, 2, 3, 7, 16), 3)),
    dict.fromkeys(ANY_MACHINE, ((5, 8), (1, 3, 16), 1)) | {"crm": ((2, 4), (1, 2, 16), 3)},
)
"""Numbers of actions and of outcomes, and most starts for each learner. A kernel is compiled for every number of blocks
of four actions."""


def random_chances(seed, actions, outcomes, most):
    """Make a random table whose actions have outcomes by chance, some of which never happen."""
    next_s, labels, starts = random_tables(seed, actions, most)
    draw = random.Random(f"chance {seed}")
    n_s, n_k = len(next_s), draw.choice(outcomes)
    weights = [[[draw.choice([0, 1, 1, 2, 5]) for _ in range(n_k)] for _ in row] for row in next_s]
    for row in weights:
        for chances in row:
            chances[draw.randrange(n_k)] += 1
    next_s = [[[there, *(draw.randrange(n_s) for _ in range(n_k - 1))] for there in row] for row in next_s]
    for row in weights:
        row[0][0] += 1  # the circle of all cells can always be gone
    return next_s, labels, starts, [[[w / sum(chances) for w in chances] for chances in row] for row in weights]


@pytest.mark.parametrize("algo", either([*WORLDS], ["crm"]))
def test_learners_equal_the_oracle_where_chance_decides(algo):
    for seed in range(either(12, 6)):
        next_s, labels, starts, probability = random_chances(seed, *WORLDS[algo])
        world = fastrm.TableWorld(next_s, labels, starts, probability=probability)
        problem = fastrm.compile(world, fastrm.RewardMachine.parse(TEXT))
        oracle = naive.LEARNERS[algo](
            naive.TableWorld(next_s, labels, starts, probability), [MACHINE], seed, limit=25, tick=37, window=5
        )
        batch = Batch(
            problem, algo, steps=300, seeds=[seed], episode_limit=25, tick=37, window=5, optimum=[1.0], episodes=True
        )
        batch.advance(300)
        assert_equal(oracle.run(300), batch)


@pytest.mark.parametrize("algo", either(["qrm", "crm", "hrm", "dyna"], ["crm"]))
@pytest.mark.parametrize("slip", either([0.25, 1.0], [0.25]))
def test_slip_is_three_outcomes_to_the_bit(algo, slip):
    """In the order next action, the action itself, previous action."""
    next_s, labels, starts = random_tables(3, (4,), 3)
    three = [[[row[(a + turn) % 4] for turn in (1, 0, 3)] for a in range(4)] for row in next_s]
    shares = [[[slip / 2, 1 - slip, slip / 2]] * 4] * len(next_s)
    machine = fastrm.RewardMachine.parse(TEXT)
    slips = fastrm.compile(fastrm.TableWorld(next_s, labels, starts), machine, slip=slip)
    by_chance = fastrm.compile(fastrm.TableWorld(three, labels, starts, probability=shares), machine)
    runs = [
        fastrm.train(problem, algo, steps=5_000, optimum=[1.0], tick=1000, episode_limit=40)
        for problem in (slips, by_chance)
    ]
    assert runs[0].q.tobytes() == runs[1].q.tobytes() and runs[0].reward.tobytes() == runs[1].reward.tobytes()
    assert runs[0].episodes[-1] > 100


def expected_values(world, machine, gamma, sweeps=600):
    """Return the optimal values {(cell, state): value} by plain value iteration."""
    pairs = [(s, u) for s in world.reachable() for u in machine.states]
    value = dict.fromkeys(pairs, 0.0)
    for _ in range(sweeps):
        better = {}
        for s, u in pairs:
            worth = []
            for a in range(world.n_actions):
                worth.append(0.0)
                for share, there in world.outcomes(s, a):
                    u_next, reward, end = machine.step(u, s, there)
                    worth[-1] += share * (reward if end else reward + gamma * value[there, u_next])
            better[s, u] = max(worth)
        value = better
    return value


@pytest.mark.parametrize("seed", range(either(20, 6)))
def test_exact_answers_are_expectations_over_outcomes(seed):
    next_s, labels, starts, probability = random_chances(seed, (2, 5, 16), (1, 3, 16), 3)
    world = fastrm.TableWorld(next_s, labels, starts, probability=probability)
    problem = fastrm.compile(world, fastrm.RewardMachine.parse(TEXT))
    best = fastrm.solve(problem, gamma=0.9)
    plain = naive.TableWorld(next_s, labels, starts, probability)
    machine = naive.Machine(0, MACHINE, plain, naive.CLEAN, 0.9)
    for (s, u), value in expected_values(plain, machine, 0.9).items():
        column = problem.states.index(u)
        assert abs(best.value[s, column] - value) <= best.error[s, column] + 1e-12 <= 1e-9
    names = ["u0", "u1"]
    policy = {(s, (0, name)): int(best.policy[s, u]) for s in range(world.n_cells) for u, name in enumerate(names)}
    for epsilon, limit in ((0.0, 40), (0.3, 7)):
        ceiling = score_ceiling(problem, epsilon, limit)[0]
        assert ceiling == pytest.approx(naive.ceiling(machine, epsilon, 0.0, limit), rel=1e-12, abs=1e-15)
        unit = arrival.total_reward(
            problem.tables, problem.tables.reward, best.policy, 0, epsilon, 0.0, limit, limit, 0.0,
            *(np.empty(problem.steps_to_go.shape) for _ in range(2)),
        )[0]  # fmt: skip
        assert unit == pytest.approx(naive.total(machine, policy, epsilon, 0.0, limit), rel=1e-12, abs=1e-12)
        assert best.arps(epsilon, horizon=limit) == pytest.approx(mean_arps(plain, machine, policy, epsilon, limit))


def mean_arps(world, machine, policy, epsilon, limit):
    """Return the expected success / length of an episode, by pushing the distribution over pairs forward."""
    mass = {(s, machine.start): 1 / len(world.starts) for s in world.starts}
    total = 0.0
    for t in range(1, limit + 1):
        then = {}
        for (s, u), here in mass.items():
            for a in range(world.n_actions):
                chosen = epsilon / world.n_actions + (1 - epsilon) * (policy[s, u] == a)
                for share, there in world.outcomes(s, a):
                    u_next, _, end = machine.step(u, s, there)
                    total += here * chosen * share / t if end == "success" else 0.0
                    if not end:
                        then[there, u_next] = then.get((there, u_next), 0.0) + here * chosen * share
        mass = then
    return total


def test_questions_about_certain_paths_are_refused_where_chance_decides():
    next_s, labels, starts, probability = random_chances(1, (5,), (3,), 1)
    world = fastrm.TableWorld(next_s, labels, starts, probability=probability)
    problem = fastrm.compile(world, fastrm.RewardMachine.parse(TEXT))
    for ask in (fastrm.guarantee, fastrm.check, hrm_fixed_point, lambda p: critical_reward(p, 0.9)):
        with pytest.raises(ConfigError, match=r"table>: moves have several outcomes by chance: .* certain paths; take"):
            ask(problem)
    with pytest.raises(ConfigError, match="gamma=1: expected values by chance need a gamma below 1"):
        fastrm.solve(problem, gamma=1)
    with pytest.raises(ConfigError, match=r"slip=0\.1: <table> gives the probabilities of its moves; leave slip out"):
        fastrm.compile(world, fastrm.RewardMachine.parse(TEXT), slip=0.1)


def label_of(s, a, s_next, reward, terminated):
    """Name the transitions of the three worlds that pay more or less than a step."""
    return {1: "goal", 20: "delivered", -10: "illegal", -100: "cliff"}.get(reward, "over" if terminated else None)


LAKE = "failure drowned\nu -> done when goal reward 1\nu -> drowned when over reward 0\nu -> u otherwise reward 0"
TAXI = "u -> done when delivered reward 20\nu -> u when illegal reward -10\nu -> u otherwise reward -1"
CLIFF = "u -> done when over reward -1\nu -> u when cliff reward -100\nu -> u otherwise reward -1"
ENVIRONMENTS = {
    "lake": (lambda: FrozenLakeEnv(map_name="4x4"), LAKE, 0.99, "crm", {"q_init": 0.0, "epsilon": 0.4}),
    "wide lake": (lambda: FrozenLakeEnv(map_name="8x8"), LAKE, 0.99, None, {}),
    "taxi in the rain": (lambda: TaxiEnv(is_rainy=True), TAXI, 0.95, "qrm", {"q_init": 20.0}),
    "cliff": (CliffWalkingEnv, CLIFF, 0.9, "crm", {"q_init": 0.0}),
    "slippery cliff": (lambda: CliffWalkingEnv(is_slippery=True), CLIFF, 0.9, "qrm", {"q_init": 0.0}),
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_worlds_of_gymnasium_have_the_values_of_plain_value_iteration_and_learners_near_them(name):
    make, rules, gamma, algo, settings = ENVIRONMENTS[name]
    env = make()
    world = fastrm.TableWorld.from_gymnasium(env, label_of)
    assert world.starts.tolist() == np.flatnonzero(env.initial_state_distrib).tolist()
    assert (world.probability is None) == (name == "cliff") and (world.layout is None) == ("taxi" in name)
    problem = fastrm.compile(world, fastrm.RewardMachine.parse(f"start u\nsuccess done\n{rules}"))
    best, expected = fastrm.solve(problem, gamma=gamma), value_iteration(env.P, gamma)
    assert np.abs(best.value[:, 0] - expected).max() <= 1e-10
    if algo is not None:
        run = fastrm.train(problem, algo, steps=3_000_000, gamma=gamma, alpha="harmonic(0.5, 20000)", **settings)
        learned = run.q[world.starts, 0].max(axis=1).mean()
        assert learned == pytest.approx(best.start_value, rel=0.1)
        if name == "lake":  # the greedy policy loses little by what it has not learned
            played = run.evaluate(4000)
            assert not played.is_exact and abs(played.success - best.success_probability(horizon=1000)) < 0.05


def test_greedy_curves_end_with_the_likeliest_outcomes_as_greedy_lengths_do():
    next_s, labels, starts, probability = random_chances(4, (5,), (3,), 1)
    problem = fastrm.compile(
        fastrm.TableWorld(next_s, labels, starts, probability=probability), fastrm.RewardMachine.parse(TEXT)
    )
    runs = [
        fastrm.train(problem, algo, steps=2000, tick=500, seed=seed, optimum=[1.0], greedy=True)
        for algo in ("crm", either("double-q", "qrm"))
        for seed in range(4)
    ]
    lengths = [np.nan if run.greedy_length is None else run.greedy_length for run in runs]
    assert np.array_equal([run.greedy_curve[-1] for run in runs], lengths, equal_nan=True)
    assert len({*lengths}) > 1 and np.isfinite(lengths).any()


ICE = fastrm.TableWorld(
    [[[0, 0], [0, 0], [1, 0]], [[1, 1], [1, 1], [2, 1]], [[2, 2]] * 3],
    {2: "gold"}, 0, probability=[[[0.8, 0.2]] * 3] * 3,
)  # fmt: skip
"""The last of three actions leads on, four times in five."""


def test_a_walk_without_chance_shows_the_labels_of_the_likeliest_outcomes():
    machine = fastrm.RewardMachine.parse("start u\nsuccess done\nu -> done when gold reward 1\nu -> u otherwise")
    run = fastrm.train(fastrm.compile(ICE, machine), "crm", steps=2000)
    assert [moment.label for moment in run.walk()] == ["", "", "gold"] and run.walk()[-1].success


def test_potentials_are_paid_where_chance_decides():
    text = "start u\nsuccess done\npotential 0.1\nu -> done when gold reward 1\nu -> u otherwise"
    plain, paid = (
        fastrm.solve(fastrm.compile(ICE, fastrm.RewardMachine.parse(each)))
        for each in (text.replace("potential 0.1\n", ""), text)
    )
    phi = -0.1 * np.array([2.0, 1.0])
    assert np.allclose(paid.value[:2, 0], plain.value[:2, 0] - phi)
