"""Runs that learn side by side do what each does alone, and what the oracle does, to the bit."""

from itertools import product

import pytest
from hypothesis import assume, given, settings, strategies as st

from fastrm import FastrmError, GridMap, RewardMachine, compile
from fastrm.learners import Batch, batch as batch_module

import naive
from compare import ANY_MACHINE, PROFILES, assert_equal
from machine_specs import machine_text
from random_problems import machines, maps
from sizes import either

THREE = ("qrm", "crm", "hrm")
NUMBERS = (1, 2, 3, 5, 7)
"""Of seeds: below, at and above three side by side, with one or two left over."""


@pytest.mark.filterwarnings("ignore::fastrm.FastrmWarning")
@pytest.mark.parametrize("slip", [0.0, 0.3])
@pytest.mark.parametrize("tasks", [1, 2])
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("algo", ANY_MACHINE)
def test_every_run_beside_others_equals_the_oracle(algo, profile, tasks, slip):
    @settings(max_examples=either(6, 2) if algo in THREE else either(3, 1))  # the others are relatives of QRM
    @given(
        maps(fences=True),
        st.lists(machines(with_gaps=profile == "icarte2022", guided=True), min_size=tasks, max_size=tasks),
        st.integers(0, 2**32),
        st.sampled_from(NUMBERS),
    )
    def check(text, specs, seed, number):
        try:
            parsed = [RewardMachine.parse(machine_text(spec)) for spec in specs]
            problem = compile(GridMap.parse(text), parsed, profile=profile, slip=slip)
        except FastrmError:
            assume(False)
        optimum, seeds = [0.5 + 0.25 * i for i in range(tasks)], [seed + 7 * i for i in range(number)]
        batch = Batch(
            problem, algo, steps=111, seeds=seeds, episode_limit=25, optimum=optimum, episodes=True, tick=37, window=5
        )
        batch.advance(60)  # in the middle of a tick
        batch.advance(51)
        for i, one in enumerate(seeds):
            oracle = naive.LEARNERS[algo](
                text, specs, one, profile=PROFILES[profile], limit=25, optimum=optimum, tick=37, window=5, slip=slip
            )
            oracle.run(111)
            assert_equal(oracle, batch, i)

    check()


def contents(batch):
    """Return everything that a batch learned and logged, as bytes."""
    own = batch.state.own
    arrays = [
        batch.state.q,
        batch.state.agents,
        *batch.state.log,
        *([own.controller] if hasattr(own, "controller") else []),
    ]
    return [array.tobytes() for array in arrays]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(("algo", "states"), [*product(THREE, (3, 6, 14, 17)), *product(ANY_MACHINE[3:], (3,))])
def test_rows_of_any_width_and_any_number_of_seeds_give_the_runs_alone(algo, states, number):
    task = "-".join("ab"[i % 2] for i in range(states))
    problem = compile(GridMap.generate("2a2b", size=8, seed=3), RewardMachine.sequence(task, kind="numeric"))
    together = Batch(problem, algo, steps=3000, seeds=range(number), tick=700, optimum=[1.0], episode_limit=100)
    together.advance(3000)
    for i in range(number):
        alone = Batch(problem, algo, steps=3000, seeds=[i], tick=700, optimum=[1.0], episode_limit=100)
        alone.advance(3000)
        assert together.state.q[i].tobytes() == alone.state.q[0].tobytes()
        assert together.state.agents[i] == alone.state.agents[0]
        assert together.state.log.score[i].tobytes() == alone.state.log.score[0].tobytes()


@pytest.mark.parametrize("algo", either(ANY_MACHINE, ["qrm", "crm"]))  # the others move as QRM does
def test_fetching_ahead_changes_nothing(algo, monkeypatch):
    problem = compile(GridMap.generate("2a2b", size=8, seed=3), RewardMachine.sequence("a-b-a-b", kind="numeric"))
    found = []
    for most in (batch_module.CACHED_BYTES, 0):
        monkeypatch.setattr(batch_module, "CACHED_BYTES", most)
        batch = Batch(problem, algo, steps=3000, seeds=range(4), tick=500, optimum=[1.0])
        batch.advance(3000)
        found.append((batch.setting.far, contents(batch)))
    assert [far for far, _ in found] == [None, True] and found[0][1] == found[1][1]
