"""The ceiling of the score: no policy that must explore passes it, and a policy made for exploring comes close."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from fastrm import ConfigError, FastrmError, GridMap, RewardMachine, compile, optimal_arps, solve, train_many
from fastrm.exact import score_ceiling
from fastrm.kernels.contracts import FAR, LIVE, SUCCESS

import naive
from machine_specs import machine_text
from random_problems import machines, maps
from sizes import either
from small_problems import corridor

PROBLEMS = either(200, 25)
LIMIT, EPSILON = 200, 0.1
pytestmark = pytest.mark.filterwarnings("ignore::fastrm.FastrmWarning")


def boolean_twin(spec):
    """Return a machine with the same states and edges that pays 1 for success, else 0."""
    pay = [("num", 1 if edge[2] in spec["success"] else 0) for edge in spec["edges"]]
    return spec | {"edges": [(*edge[:3], paid) for edge, paid in zip(spec["edges"], pay, strict=True)]}


def problem_of(text, spec, slip=0.0):
    """Compile a random problem that is scored by success and can succeed; pass over others."""
    try:
        problem = compile(GridMap.parse(text), RewardMachine.parse(machine_text(spec | {"score": "task"})), slip=slip)
    except FastrmError:
        assume(False)
    assume(problem.shortest[0] < FAR)
    return problem


class Play:
    """All moves of a problem as arrays, to push values back and masses forward in time."""

    def __init__(self, problem, epsilon, limit):
        tables, n_u = problem.tables, problem.tables.n_u
        self.problem, self.epsilon, self.limit, self.shape = problem, epsilon, limit, (len(tables.next_s), n_u)
        event = tables.event[:, None, :], np.arange(n_u)[None, :, None]
        outcome = tables.outcome[event]
        self.wins, self.live = outcome == SUCCESS, outcome == LIVE
        self.to = np.where(self.live, tables.next_s[:, None, :].astype(np.int64) * n_u + tables.delta[event], 0)
        self.starts = tables.starts, int(tables.first_u[0])

    def worths(self, value, t):
        """Return what every action is worth in every pair if it is step t: [n_s, n_u, n_a]."""
        return np.where(self.wins, 1 / t, np.where(self.live, value.reshape(-1)[self.to], 0.0))

    def push(self, mass, policy):
        """Return the masses one step later."""
        share = mass[..., None] * (self.epsilon / 4 + (1 - self.epsilon) * (np.arange(4) == policy[..., None]))
        return np.bincount(self.to[self.live], share[self.live], mass.size).reshape(self.shape)

    def improved(self, policy=None):
        """Return the stationary policy whose actions are worth most on average over the times at which play is there.

        Play follows a stationary policy, or, without one, the best that depends on the time.
        """
        worths, policies, value = [], [], np.zeros(self.shape)
        for t in range(self.limit, 0, -1):
            worth = self.worths(value, t)
            actions = worth.argmax(axis=-1) if policy is None else policy
            chosen = np.take_along_axis(worth, actions[..., None], axis=-1)[..., 0]
            value = self.epsilon * worth.mean(axis=-1) + (1 - self.epsilon) * chosen
            worths.append(worth)
            policies.append(actions)
        mass, total = np.zeros(self.shape), np.zeros((*self.shape, 4))
        mass[self.starts] = 1.0 / len(self.starts[0])
        for worth, actions in zip(reversed(worths), reversed(policies), strict=True):
            total += mass[..., None] * worth
            mass = self.push(mass, actions)
        return total.argmax(axis=-1)


def best_stationary_arps(problem, epsilon, limit):
    """Return the expected reward per step of a good policy that does not depend on the time."""
    play, found, policy = Play(problem, epsilon, limit), [], None
    for _ in range(4):
        policy = play.improved(policy)
        found.append(replace(solve(problem), policy=policy.astype(np.int8)).arps(epsilon, horizon=limit))
    return max(found)


@settings(max_examples=60)
@given(
    maps(fences=True), machines(), st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.sampled_from([0.0, 0.3]),
    st.sampled_from([1, 6, 25]),
)  # fmt: skip
def test_the_ceiling_equals_the_oracle_s(text, spec, epsilon, slip, limit):
    problem = problem_of(text, spec, slip)
    machine = naive.Machine(0, spec, naive.World(text), naive.CLEAN, 0.9)
    (ceiling,) = score_ceiling(problem, epsilon, limit)
    assert ceiling == pytest.approx(naive.ceiling(machine, epsilon, slip, limit), rel=1e-12, abs=1e-15)
    assert ceiling >= solve(problem).arps(epsilon, limit) * (1 - 1e-12)


def test_no_learner_settles_above_the_ceiling_and_a_policy_made_for_exploring_reaches_it():
    """Settled scores are means over the last tenth of the steps; their noise is that between seeds."""
    seeds, excess, reached, settled_at = 32, [], [], []

    @settings(max_examples=PROBLEMS)
    @given(maps(), machines(), st.booleans())
    def check(text, spec, twin):
        problem = problem_of(text, boolean_twin(spec) if twin else spec)
        assume(problem.shortest[0] >= 3)
        (ceiling,) = score_ceiling(problem, EPSILON, LIMIT)
        reached.append(best_stationary_arps(problem, EPSILON, LIMIT) / ceiling)
        for algo in ("qrm", "crm", "hrm"):
            runs = train_many(problem, algo, steps=30_000, seeds=range(seeds), tick=1000, episode_limit=LIMIT)
            settled = np.array([run.score[-3:].mean() for run in runs])
            noise = settled.std(ddof=1) / math.sqrt(seeds)
            highest = ceiling / runs[0].unit[0]
            excess.append((settled.mean() - highest) / max(noise, 1e-9))
            if twin:  # what is learned is what is scored
                settled_at.append(settled.mean() / highest)

    check()
    print(f"{len(reached)} problems: excess at most {max(excess):.2f} standard errors, reached {min(reached):.6f}")
    assert len(reached) >= PROBLEMS
    assert max(excess) <= 4
    assert 0.995 <= min(reached) <= 1 + 1e-12
    assert np.median(settled_at) > 0.98  # it is no loose bound either


def test_equally_short_paths_differ_in_how_well_they_bear_random_steps():
    """The unit is no ceiling: on this map a perfect learner settles above 1."""
    problem = compile(GridMap.generate("1a1b1c", size=41, seed=1), RewardMachine.sequence("a-b-c"))
    (unit,), (ceiling,) = optimal_arps(problem), score_ceiling(problem)
    assert ceiling / unit == pytest.approx(1.0276361, abs=1e-7)
    assert best_stationary_arps(problem, EPSILON, 1000) / ceiling > 0.995


def test_machines_with_a_score_of_their_own_have_no_ceiling_and_hopeless_ones_one_of_0():
    text = "start u\nsuccess done\nu -> done when a\nu -> u otherwise\n"
    own = RewardMachine.parse("score own\n" + text)
    problem = compile(corridor(2), [own, RewardMachine.sequence("a")])
    assert math.isnan(score_ceiling(problem)[0]) and score_ceiling(problem, 0.0)[1] == 0.5
    assert math.isnan(solve(problem).ceiling()) and solve(problem, machine=1).ceiling() == score_ceiling(problem)[1]
    assert score_ceiling(problem, 0.1, 1)[1] == 0.0


def test_very_long_horizons_are_bounded_not_waited_for():
    problem = compile(corridor(12), RewardMachine.sequence("a"))
    assert score_ceiling(problem, 0.1, 2**62)[0] == pytest.approx(score_ceiling(problem, 0.1, 5000)[0], rel=1e-9)
    with pytest.raises(
        ConfigError, match=r"horizon=.*: episodes that go on after 100000 steps matter.* between .* and"
    ):
        score_ceiling(compile(corridor(600), RewardMachine.sequence("a")), 1.0, 2**62)
    with pytest.raises(ConfigError, match="horizon=0"):
        score_ceiling(problem, 0.1, 0)
