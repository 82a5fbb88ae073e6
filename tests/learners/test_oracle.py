"""Kernels and oracle are equal: the same trajectory, the same Q to the last bit, the same log."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from fastrm import ConfigError, FastrmError, GridMap, RewardMachine, compile
from fastrm.kernels import rng
from fastrm.kernels.contracts import AGENT
from fastrm.learners import Batch, train, train_many

import naive
from compare import ANY_MACHINE, FAILURE_OPTIONS, PROFILES, assert_equal
from machine_specs import machine_text, sequence_spec
from random_problems import machines, maps
from sizes import either

STEPS = 300
CHANGES = [
    {}, {"alpha": 0.3, "gamma": 0.99, "epsilon": 0.5}, {"q_init": 0.0, "limit": 7}, {"limit": 1},
    {"self_loop_options": True, "r_min": -0.5, "r_max": 2.0, "controller_alpha": 0.25, "limit": 9},
    {"slip": 0.3}, {"slip": 1.0, "limit": 12, "gamma": 0.5},
    {"trace_decay": 1.0, "gamma": 0.99, "planning": 0}, {"trace_decay": 0.0, "planning": 1, "limit": 7},
]  # fmt: skip
CERTAIN = [changes for changes in CHANGES if "slip" not in changes]
SLIPPING = ("qrm", "crm", "hrm", "sarsa")
"""Learners that move on ice every day, too; the others are relatives, for each of which another kernel is compiled."""


def test_splitmix64_and_xoroshiro128pp_meet_their_published_vectors():
    """Splitmix64 from seed 1234567; xoroshiro128++ from state (1, 2), as published with the generators."""
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    mix = naive.splitmix64(1234567)
    assert [next(mix) for _ in range(4)] == published
    agents = np.zeros(1, dtype=AGENT)
    rng.seed_runs(agents, np.array([1234567], dtype=np.uint64))
    assert [int(agents[0]["rng0"]), int(agents[0]["rng1"])] == published[:2]
    published = [393217, 669327710093319, 1732421326133921491, 11394790081659126983, 9555452776773192676]
    drawn = np.empty(5, dtype=np.uint64)
    rng.fill(np.uint64(1), np.uint64(2), drawn)
    assert drawn.tolist() == published
    oracle = naive.xoroshiro128pp(1, 2)
    assert [next(oracle) for _ in range(5)] == published


def oracle_and_batch(text, specs, algo, seed, profile, *, steps=STEPS, shaping=False, metric="manhattan", **settings):
    """Make the oracle and a batch with the same settings; skip problems that do not compile."""
    try:
        parsed = [RewardMachine.parse(machine_text(spec)) for spec in specs]
        problem = compile(GridMap.parse(text), parsed, profile=profile, metric=metric, slip=settings.get("slip", 0))
    except FastrmError:
        assume(False)
    limit = settings.pop("limit", 25)
    optimum = [0.5 + 0.25 * i for i in range(len(specs))]
    oracle = naive.LEARNERS[algo](
        text, specs, seed, profile=FAILURE_OPTIONS[profile], shaping=shaping, metric=metric, limit=limit,
        optimum=optimum, **settings,
    )  # fmt: skip
    settings.pop("slip", None)
    batch = Batch(
        problem, algo, steps=steps, seeds=[seed], shaping=shaping, episode_limit=limit, optimum=optimum,
        episodes=True, **settings,
    )  # fmt: skip
    return oracle, batch


@pytest.mark.filterwarnings("ignore::fastrm.FastrmWarning")
@pytest.mark.parametrize("tasks", [1, 2], ids=["single", "multi"])
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("shaping", [False, True], ids=["plain", "shaped"])
@pytest.mark.parametrize("algo", ANY_MACHINE)
def test_kernels_equal_the_oracle(algo, shaping, profile, tasks):
    compared, examples = (
        [],
        either(40, 10) if algo in ("qrm", "crm", "hrm") else either(10, 3),
    )  # the others are relatives of QRM

    @settings(max_examples=examples)
    @given(
        maps(fences=True),
        st.lists(machines(with_gaps=profile == "icarte2022", guided=True), min_size=tasks, max_size=tasks),
        st.integers(0, 2**64 - 1),
        st.sampled_from(["manhattan", "geodesic"]),
        st.sampled_from(either(CHANGES, CHANGES if algo in SLIPPING else CERTAIN)),
    )
    def check(text, specs, seed, metric, changes):
        oracle, batch = oracle_and_batch(
            text, specs, algo, seed, profile, shaping=shaping, metric=metric, tick=37, window=5, **changes
        )
        cells = batch.problem.terrain.cells
        for _ in range(STEPS):
            me = batch.state.agents[0]
            here = tuple(cells[int(me["s"])].tolist()), batch.problem.states[int(me["u"])]
            assert here == (oracle.s, oracle.u)
            batch.advance(1)
            oracle.step()
        assert_equal(oracle, batch)
        whole = oracle_and_batch(
            text, specs, algo, seed, profile, shaping=shaping, metric=metric, tick=37, window=5, **changes
        )[1]
        whole.advance(STEPS)
        assert_equal(oracle, whole)
        compared.append(1)

    check()
    assert len(compared) >= 0.75 * examples, f"only {len(compared)} problems compiled"


@pytest.mark.filterwarnings("ignore::fastrm.FastrmWarning")
@pytest.mark.parametrize("algo", either(ANY_MACHINE, ["crm", "sarsa"]))  # the others begin as SARSA does
def test_kernels_equal_the_oracle_from_several_starts(algo):
    compared = []

    @settings(max_examples=either(40, 10))
    @given(maps(several=True), machines(), st.integers(0, 2**64 - 1))
    def check(text, spec, seed):
        oracle, batch = oracle_and_batch(text, [spec], algo, seed, "clean", tick=37, window=5)
        batch.advance(STEPS)
        assert_equal(oracle.run(STEPS), batch)
        compared.append(1)

    check()
    assert len(compared) >= either(25, 5)


@pytest.mark.filterwarnings("ignore::fastrm.FastrmWarning")
@pytest.mark.parametrize("profile", FAILURE_OPTIONS)
def test_hrm_equals_the_oracle_where_tasks_can_fail_with_options_to_failures_and_without(profile):
    compared = []

    @settings(max_examples=either(60, 12))
    @given(
        maps(),
        st.lists(machines(fails=True, with_gaps=profile.startswith("icarte2022")), min_size=1, max_size=2),
        st.integers(0, 2**64 - 1),
        st.booleans(),
        st.sampled_from(CHANGES),
    )
    def check(text, specs, seed, shaping, changes):
        oracle, batch = oracle_and_batch(
            text, specs, "hrm", seed, profile, shaping=shaping, tick=37, window=5, **changes
        )
        batch.advance(STEPS)
        assert_equal(oracle.run(STEPS), batch)
        compared.append(1)

    check()
    assert len(compared) >= either(30, 5), f"only {len(compared)} problems compiled"


@pytest.mark.parametrize("algo", ANY_MACHINE)
def test_kernels_equal_the_oracle_on_the_paper_s_machines(algo):
    text = GridMap.generate("2a1b1c", size=9, seed=2).render()
    for kind in ("boolean", "numeric-boolean", "numeric"):
        specs = [sequence_spec("a-b-c", kind, closer="any")]
        oracle, batch = oracle_and_batch(text, specs, algo, 7, "icarte2022", steps=6000, tick=1000, limit=200)
        oracle.run(6000)
        batch.advance(6000)
        assert_equal(oracle, batch)


@pytest.mark.parametrize("algo", either(ANY_MACHINE, SLIPPING))
def test_a_move_slips_to_either_side_as_often_as_said(algo):
    """One step from the middle of a cross whose arms say where the move went (chi-squared, p 0.001)."""
    grid = GridMap.parse("XXXXX\nXXaXX\nXdAbX\nXXcXX\nXXXXX\n")
    ends = "".join(f"u0 -> {x} when {x} reward {k + 1}\n" for k, x in enumerate("abcd"))
    machine = RewardMachine.parse(f"start u0\nsuccess a b c d\n{ends}u0 -> u0 otherwise reward 0\n")
    problem = compile(grid, machine, slip=0.3)
    runs = train_many(problem, algo=algo, steps=1, seeds=range(8000), alpha=1.0, gamma=0.0, tick=1, optimum=[1.0],
                      r_max=0.0, q_init=0.0)  # fmt: skip
    turned = [0, 0, 0, 0]
    for run in runs:
        went = int(run.reward[0]) - 1
        (chosen,) = np.flatnonzero(run.q[problem.start].any(axis=0))
        turned[(went - chosen) % 4] += 1
    expected = [0.7 * 8000, 0.15 * 8000, 0.0, 0.15 * 8000]
    assert turned[2] == 0
    assert sum((n - e) ** 2 / e for n, e in zip(turned, expected, strict=True) if e) < 13.8


def small_problem(task="a-b", kind="boolean", **settings):
    return compile(GridMap.generate("2a2b", size=8, seed=3), RewardMachine.sequence(task, kind=kind), **settings)


def test_a_machine_of_one_state_makes_crm_equal_qrm():
    problem = small_problem("a", "numeric")
    one, other = (train(problem, algo=algo, steps=5000, seed=4, tick=100) for algo in ("qrm", "crm"))
    assert one.q.tobytes() == other.q.tobytes()
    assert np.array_equal(one.score, other.score, equal_nan=True)


@pytest.mark.parametrize("algo", ["qrm", "crm"])
def test_shaping_equals_a_shifted_initialisation(algo):
    """Shaped values are p(s, u, a) - Phi(u), where p is learned without shaping from q_init + Phi(u).

    The powers of two below make every operation exact, so the two runs agree to the bit.
    """
    machine = RewardMachine.sequence("a-b", terminal_reward=4.0)
    problem = compile(GridMap.generate("2a2b", size=6, seed=3), machine)
    phi = np.array([machine.potentials(0.5)[name] for name in machine.states])
    steps, settings = 60, {"alpha": 0.5, "gamma": 0.5, "q_init": 2.0, "episode_limit": 30, "tick": 10}
    shaped = train(problem, algo=algo, steps=steps, seed=1, shaping=True, **settings)
    plain = Batch(problem, algo, steps=steps, seeds=[1], **settings)
    q = plain.state.q
    if algo == "qrm":
        q[:, :2] += phi[:, None, None]
    else:
        q[..., :2] += phi
    plain.advance(steps)
    (run,) = plain.results()
    assert (run.q - phi[:, None]).tobytes() == shaped.q.tobytes()
    assert run.episodes.tolist() == shaped.episodes.tolist()
    assert not np.array_equal(shaped.q, train(problem, algo=algo, steps=steps, seed=1, **settings).q)


@pytest.mark.parametrize("algo", ANY_MACHINE)
def test_learning_rate_zero_leaves_q_alone(algo):
    run = train(small_problem(), algo=algo, steps=2000, alpha=0.0, controller_alpha=0.0, q_init=1.25)
    assert (run.q == 1.25).all()
    assert run.controller is None or (run.controller == 1.25).all()


@pytest.mark.parametrize("algo", ANY_MACHINE)
@pytest.mark.parametrize("task", ["a", "a-b"])
def test_what_a_run_has_learned_so_far_does_not_change_when_it_goes_on(algo, task):
    batch = Batch(small_problem(task), algo, steps=2000, seeds=[1])
    batch.advance(1000)
    then = batch.result(0).q
    kept = then.copy()
    batch.advance(1000)
    assert np.array_equal(then, kept) and not np.array_equal(batch.result(0).q, kept)


def test_a_batch_refuses_what_is_no_seed():
    for seed in (1.7, "3", -1, True):
        with pytest.raises(ConfigError, match=r"seed=.*must be a whole number"):
            Batch(small_problem(), "qrm", steps=10, seeds=[seed])


@pytest.mark.parametrize("algo", ANY_MACHINE)
def test_another_seed_gives_another_trajectory(algo):
    one, other = (train(small_problem(), algo=algo, steps=500, seed=seed) for seed in (1, 2))
    assert not np.array_equal(one.q, other.q)


@pytest.mark.parametrize("algo", ANY_MACHINE)
def test_a_batch_of_seeds_equals_each_seed_alone(algo):
    seeds = [5, 0, 2**64 - 1, 7, 7, 123456789, 3, 1, 2]
    problem = small_problem(kind="numeric", profile="icarte2022")
    batch = train_many(problem, algo=algo, steps=3000, seeds=seeds, tick=500, episodes=True)
    assert [run.seed for run in batch] == seeds
    for run in batch:
        alone = train(problem, algo=algo, steps=3000, seed=run.seed, tick=500, episodes=True)
        assert run.q.tobytes() == alone.q.tobytes()
        for name in ("reward", "completions", "episodes"):
            assert getattr(run, name).tobytes() == getattr(alone, name).tobytes()
        assert np.array_equal(run.score, alone.score, equal_nan=True)
        assert run.greedy_paths == alone.greedy_paths
        assert all(np.array_equal(x, y) for x, y in zip(run.episode_log, alone.episode_log, strict=True))


@pytest.mark.parametrize("algo", ANY_MACHINE)
def test_exploration_and_ties_are_uniform(algo):
    """With epsilon 1, or with all values equal, every action is taken a quarter of the time (chi-squared, p 0.001)."""
    problem = compile(GridMap.parse("XXXXX\nX   X\nX A X\nX  aX\nXXXXX\n"), RewardMachine.sequence("a"))
    for changes in ({"epsilon": 1.0}, {"epsilon": 0.0}):
        runs = train_many(problem, algo=algo, steps=1, seeds=range(4000), alpha=1.0, gamma=0.0, tick=1, **changes)
        counts = [sum(run.q[problem.start, 0, a] != 2.0 for run in runs) for a in range(4)]
        assert sum(counts) == 4000
        assert sum((count - 1000) ** 2 / 1000 for count in counts) < 16.3


@pytest.mark.parametrize("algo", ANY_MACHINE)
def test_learners_find_shortest_paths(algo):
    problem = small_problem("a-b-a")
    run = train(problem, algo=algo, steps=200_000, seed=0)
    assert run.greedy_length is not None
    path = run.greedy_path
    assert len(path) == run.greedy_length + 1 and path[0] == problem.grid.start
    if algo != "hrm":
        assert run.solved and run.greedy_length == problem.shortest[0]


def test_a_run_that_never_finishes_says_so():
    run = train(small_problem(), algo="qrm", steps=3, seed=0)
    assert run.greedy_length is None and not run.solved
    assert run.step.tolist() == [3] and math.isnan(run.score[0])


def test_scores_are_nan_before_the_first_episode_and_ticks_are_whole():
    run = train(small_problem(), algo="qrm", steps=25, seed=0, tick=10, episode_limit=1000, epsilon=0.0, q_init=0.0)
    assert run.step.tolist() == [10, 20]
    assert math.isnan(run.score[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"steps": 0}, "steps=0: must be a whole number from 1"),
        ({"steps": 1.5}, "steps=1.5"),
        ({"seed": -1}, "seed=-1: must be a whole number from 0 to 18446744073709551615"),
        ({"seed": 2**64}, "seed="),
        ({"seed": True}, "seed=True"),
        ({"alpha": 1.1}, "alpha=1.1: must be a number from 0 to 1"),
        ({"alpha": float("nan")}, "alpha=nan"),
        ({"gamma": -0.1}, "gamma=-0.1: must be a number from 0 to 1"),
        ({"epsilon": "lots"}, "epsilon='lots'"),
        ({"q_init": float("inf")}, "q_init=inf: must be a finite number"),
        ({"q_init": float("nan")}, "q_init=nan"),
        ({"episode_limit": 0}, "episode_limit=0: must be a whole number from 1"),
        ({"tick": 0}, "tick=0"),
        ({"window": 0}, "window=0"),
        ({"self_loop_options": 1}, "self_loop_options=1"),
        ({"shaping": "yes"}, "shaping='yes'"),
        ({"algo": "qmr"}, r"algo='qmr': must be one of qrm, crm, hrm, .* \(did you mean qrm\?\)"),
        ({"optimum": [0.0]}, "optimum="),
        ({"optimum": [1.0, 2.0]}, "optimum="),
        ({"gama": 0.5}, r"gama: no such setting \(did you mean gamma\?\)"),
    ],
)
def test_settings_out_of_range_are_refused_by_name(arguments, message):
    with pytest.raises(ConfigError, match=message):
        train(small_problem(), **arguments)
    if "seed" in arguments:
        with pytest.raises(ConfigError, match=message):
            train_many(small_problem(), seeds=[arguments["seed"]])


def test_no_seeds_are_refused():
    with pytest.raises(ConfigError, match="give at least one seed"):
        train_many(small_problem(), seeds=[])


@pytest.mark.parametrize("algo", ANY_MACHINE)
def test_values_that_tend_to_0_become_0_and_no_smaller_number_is_stored(algo):
    """With a reward of 0 values halve at each visit; without the rule they stick at 5e-324."""
    problem = compile(GridMap.parse("XXXX\nXAaX\nXXXX"), RewardMachine.sequence("a", terminal_reward=0.0))
    run = train(problem, algo, steps=24_000, seed=0, tick=1000, optimum=[1.0], epsilon=1.0, r_max=0.0)
    tables = [run.q] if run.controller is None else [run.q, run.controller]
    for table in tables:
        assert ((table == 0) | (np.abs(table) >= 2.0**-1022)).all() and not np.signbit(table).any()
        assert (table == 0).any()


def test_a_surviving_option_is_judged_by_its_own_machine_and_state():
    """Task 0 wants a, task 1 wants b; cut off after two steps an option for a goes on through episodes of task 1."""
    grid = "XXXXXXX\nXb A aX\nXXXXXXX\n"
    specs = [sequence_spec("a", "boolean"), sequence_spec("b", "boolean")]
    parsed = [RewardMachine.parse(machine_text(spec)) for spec in specs]
    problem = compile(GridMap.parse(grid), parsed, profile="icarte2022")
    batch = Batch(problem, "hrm", steps=400, seeds=[3], episode_limit=2, optimum=[1.0, 1.0], tick=100)
    held = []
    for _ in range(400):
        batch.advance(1)
        agent = batch.state.agents[0]
        held.append((int(agent["option"]), int(agent["episodes"]) % 2, int(agent["completions"])))
    in_force = [(option, task) for option, task, _ in held if option < 2]
    assert (0, 1) in in_force and (1, 0) in in_force  # each also plays the other's episodes
