"""Short golden curves: they change only together with the semantics number of a learner."""

import hashlib

import pytest

from fastrm import GridMap, RewardMachine, compile, task, train
from fastrm.learners import registry

GOLDEN = {
    ("qrm", "clean", False): "29032a3b97f97153",
    ("qrm", "icarte2022", True): "7c39508b99e9ea45",
    ("crm", "clean", False): "ab436ef0269c761e",
    ("crm", "icarte2022", True): "f5e2162ed7320588",
    ("hrm", "clean", False): "d04a300c49918129",
    ("hrm", "icarte2022", True): "766febeadd2539ee",
    ("sarsa", "clean", False): "bea9436c38b9b9ac",
    ("sarsa", "icarte2022", True): "348fdf621d864f2c",
    ("expected-sarsa", "clean", False): "1f39a0fb56308391",
    ("expected-sarsa", "icarte2022", True): "04ee7cfd9e409423",
    ("double-q", "clean", False): "95072a4cc70de63f",
    ("double-q", "icarte2022", True): "5925a6b9ee2cd388",
    ("q-lambda", "clean", False): "9c974202ba055198",
    ("q-lambda", "icarte2022", True): "8712236b9f354f43",
    ("dyna", "clean", False): "220691dc6b5a1c6b",
    ("dyna", "icarte2022", True): "90f6ad618e3cdfb8",
}


BEYOND = {"qrm": "69829ca5c0eec19f", "crm": "e3374d573d3b849c", "hrm": "822f3aa002910afd"}
FAILURE_OPTIONS = {"clean + failure_options": "24dd50de50dcc520", "icarte2022": "d8110850a1d4d9f3"}
"""Curves of HRM with options to failures, taken at semantics 2, which always had them."""


def digest(algo, profile, shaping):
    tasks = [RewardMachine.sequence("a-b-c", kind="numeric"), RewardMachine.sequence("b-a", kind="numeric-boolean")]
    return digest_of(compile(GridMap.generate("2a2b1c", size=9, seed=5), tasks, profile=profile), algo, shaping)


def digest_of(problem, algo, shaping, optimum=(1, 1)):
    run = train(
        problem, algo=algo, steps=20_000, seed=11, shaping=shaping, tick=1000, episode_limit=150, optimum=optimum
    )
    arrays = [run.episodes, run.completions, run.reward, run.score, run.q]
    arrays += [] if run.controller is None else [run.controller]
    return hashlib.blake2b(b"".join(array.tobytes() for array in arrays), digest_size=8).hexdigest()


def test_the_semantics_numbers_are_those_the_curves_were_taken_at():
    relatives = dict.fromkeys(
        ("sarsa", "expected-sarsa", "double-q", "q-lambda", "dyna", "coupled", "learn-merge", "learn-smallest"), 1
    )
    assert registry.semantics() == {"qrm": 2, "crm": 2, "hrm": 3, **relatives}


@pytest.mark.parametrize("case", GOLDEN)
def test_the_same_seed_gives_the_same_curve_as_ever(case):
    assert digest(*case) == GOLDEN[case]


def test_coupled_learning_gives_the_same_curve_as_ever():
    problem = compile(GridMap.generate("2a1b1c1d", size=9, seed=5, walls=0.2), task("{a-b,c,d}"), slip=0.1)
    assert digest_of(problem, "coupled", shaping=False, optimum=[1]) == "1af6d05cf469e015"


def test_learning_the_machine_gives_the_same_curve_as_ever():
    problem = compile(GridMap.generate("2a1b1c", size=9, seed=5, walls=0.2), task("{a,b}-c"))
    assert digest_of(problem, "learn-merge", shaping=False, optimum=[1]) == "fa59c1c121186898"


def beyond(profile="clean"):
    grid = GridMap.generate("2a2b1c1n", size=9, seed=5, walls=0.2)
    tasks = [task("{a,b}-c !n", kind="potential"), task("a|2*b", kind="distance-to-go")]
    return compile(grid, tasks, profile=profile, slip=0.2)


@pytest.mark.parametrize("algo", BEYOND)
def test_slip_tasks_and_potentials_give_the_same_curve_as_ever(algo):
    assert digest_of(beyond(), algo, shaping=False) == BEYOND[algo]


@pytest.mark.parametrize("profile", FAILURE_OPTIONS)
def test_hrm_with_options_to_failures_gives_the_same_curve_as_ever(profile):
    assert digest_of(beyond(profile), "hrm", shaping=False) == FAILURE_OPTIONS[profile]


@pytest.mark.parametrize(
    ("profile", "base", "shaping"),
    [("clean + failure_options", "clean", False), ("icarte2022 - failure_options", "icarte2022", True)],
)
def test_options_to_failures_change_no_bit_where_no_machine_can_fail(profile, base, shaping):
    assert digest("hrm", profile, shaping) == GOLDEN["hrm", base, shaping]
