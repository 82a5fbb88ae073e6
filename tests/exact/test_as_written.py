"""Rewards as written: where floats round, ties and thresholds are settled from the expressions."""

import re
from fractions import Fraction

import numpy as np
import pytest

from fastrm import GridMap, RewardMachine, compile, guarantee, lint, solve
from fastrm.exact import critical_reward

GRID = GridMap.parse("XXXXXX\nXaAb X\nX   cX\nXXXXXX")


def two_ways(one_step, two_steps, last="0"):
    """Return a problem whose shortest path pays one reward, and a path that is a step longer pays two."""
    text = (
        f"start u\nsuccess done\nu -> done when a reward {one_step}\nu -> w when b reward {two_steps}\n"
        f"u -> u otherwise reward -100\nw -> done otherwise reward {last}\n"
    )
    return compile(GRID, RewardMachine.parse(text))


@pytest.mark.parametrize(
    ("one_step", "two_steps"),
    [
        ("0.3", "0.1*3"),
        ("0.1*3", "0.3"),
        ("0.3", "0.1 + 0.2"),
        ("0.7 / 7", "0.1"),
        ("1/3", "1 - 2/3"),
        ("-(0.1*3)", "-0.3"),
        ("0.3", "min(0.1*3, 1)"),
        ("0.3", "0.1*d(c) + 0.1"),  # c is two steps from b
        ("0", "1000000000 * (0.1*3 - 0.3)"),  # 5.6e-8 in floats
        ("0.3", "0.3 * to_go()"),  # one step is left
    ],
)
def test_rewards_that_are_equal_as_written_tie(one_step, two_steps):
    answer = guarantee(two_ways(one_step, two_steps), 0.5)
    assert answer.verdict == "shortest for some optimal policies only"
    assert answer.solution.error_bound < 1e-6


@pytest.mark.parametrize(
    ("one_step", "two_steps", "verdict"),
    [
        ("0.3", "0.3 + 0.00000000000000000001", "detour (+1 step)"),  # the same float
        ("0.3", "0.1*3 - 0.00000000000000000001", "shortest"),  # a larger float
        ("0.3", "1/(0.1*3 - 0.3)", "detour (+1 step)"),  # no rational: what floats make of it, 1.8e16, counts
    ],
)
def test_rewards_that_differ_as_written_do_not_tie(one_step, two_steps, verdict):
    assert guarantee(two_ways(one_step, two_steps), 0.5).verdict == verdict


def test_a_sum_of_rewards_on_the_way_ties_too():
    """0.1 * 3 now and nothing later, or 0.1 now and 0.4 after a step at gamma 1/2."""
    assert guarantee(two_ways("0.1*3", "0.1", "0.2*2"), 0.5).verdict == "shortest for some optimal policies only"
    assert guarantee(two_ways("0.1*3", "0.1", "0.2*2 + 1/1000000000000000000"), 0.5).verdict == "detour (+1 step)"


@pytest.mark.parametrize(("more", "verdict"), [("105", "detour (+1 step)"), ("095", "shortest")])
def test_successes_that_differ_by_less_than_floats_can_tell_are_not_counted_in_steps(more, verdict):
    """Nothing else pays, and a step costs 1e-16 of the success: two steps for 1.05e-16 more are worth it."""
    text = (
        "start u\nsuccess done\nu -> done when a reward 1\nu -> w when b\nu -> u otherwise\n"
        f"w -> done otherwise reward 1 + 0.000000000000000{more}\n"
    )
    assert guarantee(compile(GRID, RewardMachine.parse(text)), 0.9999999999999999).verdict == verdict


def test_the_critical_reward_is_found_from_the_expressions():
    """Waiting for ever pays 0.3 / (1 - gamma), so R* is 3/5, or 3 with gamma 9/10."""
    text = "start u\nsuccess done\nu -> done when a reward 1\nu -> u otherwise reward 0.1*3\n"
    problem = compile(GRID, RewardMachine.parse(text))
    assert critical_reward(problem, 0.5) == Fraction(3, 5)
    assert critical_reward(problem, 0.9) == 3


def test_a_loop_that_pays_nothing_as_written_is_not_said_to_be_farmed():
    text = "start u\nsuccess done\nu -> done when a reward 1\nu -> u otherwise reward 0.1*3 - 0.3\n"
    assert lint(RewardMachine.parse(text), GRID) == []


EXPRESSIONS = [
    "0.1*d(a)", "d_before(b)/3 - 0.7", "max(0.1*3, 0.1*d(c))", "0.5 - 0.1*to_go()", "-(d(a)*d(b)/7)", "2*d(a) - 3",
    "0.1", "-d(c)", "min(d(a), 0.3) * 1.1", "(0.1 + 0.2) * (d_before(a) + to_go()) / 9",
]  # fmt: skip


@pytest.mark.parametrize("text", EXPRESSIONS)
@pytest.mark.parametrize("profile", ["clean", "icarte2022"])
def test_written_rewards_are_those_of_plain_python_in_fractions(text, profile):
    """On every move of two machines side by side; where the reference's profile falls off, the last edge pays."""
    more = "" if profile == "icarte2022" else "\nw -> w when c reward 0.1"
    rules = (
        f"start u\nsuccess done\nu -> w when b reward {text}\nu -> u otherwise reward 0.2\nw -> w when !a & !c{more}"
    )
    machines = [RewardMachine.parse(f"{rules}\nw -> done when a reward {paid}") for paid in (text, 1)]
    problem = compile(GRID, machines, profile=profile)
    tables, steps = problem.tables, problem.steps_to_go
    numbers = re.sub(r"(?<![\w.])(\d+(\.\d+)?)", r"Fraction('\1')", text)
    for s, a, u in np.ndindex(*tables.next_s.shape, tables.n_u):
        e, s_next = int(tables.event[s, a]), int(tables.next_s[s, a])
        ends, u_next = tables.outcome[e, u] != 0, int(tables.delta[e, u])
        left = 0 if ends else int(steps[s_next, u_next])
        names = {
            "Fraction": Fraction, "min": min, "max": max, "to_go": lambda left=left: left, "a": "a", "b": "b", "c": "c",
            "d": lambda x, s=s_next: int(problem.terrain.distance(x)[s]),
            "d_before": lambda x, s=s: int(problem.terrain.distance(x)[s]),
        }  # fmt: skip
        if (u_next != u or ends) and u != 3:
            assert problem.written(e, u) == eval(numbers, names), (text, s, a, u)  # noqa: S307 - our own text
        else:
            assert problem.written(e, u) == Fraction(repr(float(problem.plain[e, u])))
        off = abs(Fraction(float(problem.plain[e, u])) - problem.written(e, u))
        rounding = problem.written.rounding
        assert off <= (0 if rounding is None else Fraction(float(rounding[e, u]))) + Fraction(2) ** -53


def test_values_enclose_those_of_the_rewards_as_written():
    best = solve(two_ways("0", "1000000000 * (0.1*3 - 0.3)"), 0.5)
    start = best.tables.starts[0], best.first_u
    assert best.value[start] > 1e-8 and 0 <= best.value[start] <= best.error[start] < 2e-7
