"""Verdicts and values on small maps against the truth in rationals, and Bellman's equation."""

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, example, given, settings, strategies as st

from fastrm import FastrmError, GridMap, RewardMachine, compile, guarantee, solve
from fastrm.machines.reward_kinds import PAPER_KINDS

from brute_force import truth_of
from machine_specs import machine_text
from random_problems import machines, maps
from sizes import either

ROOT = Path(__file__).parents[2]


tiny_maps = st.builds(
    lambda height, width, order, extra: tiny_map(height, width, order, extra),
    st.integers(1, 2), st.integers(3, 4), st.permutations(range(8)), st.integers(0, 2),
)  # fmt: skip


def tiny_map(height, width, order, extra):
    cells = [cell for cell in order if cell < height * width]
    tiles = dict(zip(cells, ["A", "a", "b", "a", "b"][: 3 + extra], strict=False))
    rows = ["".join(tiles.get(r * width + c, " ") for c in range(width)) for r in range(height)]
    return "\n".join(["X" * (width + 2), *(f"X{row}X" for row in rows), "X" * (width + 2)])


def test_verdicts_and_optima_agree_with_brute_force_on_random_problems():
    verdicts = []

    @settings(max_examples=either(260, 110))
    @given(
        tiny_maps,
        st.sampled_from(["a", "a-b", "b-a"]),
        st.sampled_from(PAPER_KINDS),
        st.sampled_from([-3, 0, 0.1, 0.5, 1, 2, 5, 40, 1000]),
        st.sampled_from([0.3, 0.5, 0.9, 0.97, 0.9995]),
        st.sampled_from(["nearest", "any"]),
    )
    @example("XXXXXX\nXAaabX\nXXXXXX", "a", "numeric-boolean", 0, 0.5, "nearest")  # a tie of paths
    def check(text, task, kind, terminal, gamma, closer):
        machine = RewardMachine.sequence(task, kind=kind, terminal_reward=terminal, closer=closer)
        try:
            problem = compile(GridMap.parse(text), machine)
        except FastrmError:
            assume(False)
        ours, truth = guarantee(problem, gamma), truth_of(problem, gamma)
        ((_, verdict),), optimum = truth.verdicts, truth.value[truth.starts[0]]
        assert ours.verdict == verdict
        assert ours.is_shortest == (verdict == "shortest")
        value = ours.solution.value[problem.tables.starts[0], problem.tables.first_u[0]]
        bound = ours.solution.error[problem.tables.starts[0], problem.tables.first_u[0]]
        assert abs(Fraction(float(value)) - optimum) <= bound + 1e-15 * abs(optimum)
        assert bound <= (1e-11 if gamma <= 0.97 else 1e-8) * (1 + abs(optimum))  # bounds grow with 1 / (1 - gamma)
        verdicts.append(verdict.split(" (")[0])

    check()
    assert len(verdicts) >= either(200, 80)
    assert {"shortest", "never finishes", "shortest for some optimal policies only"} <= set(verdicts)


@pytest.mark.filterwarnings("ignore::fastrm.FastrmWarning")
def test_verdicts_agree_with_brute_force_on_machines_with_everything():
    verdicts = []

    @settings(max_examples=either(150, 40))
    @given(tiny_maps, machines(), st.sampled_from([0.5, 0.9]))
    def check(text, spec, gamma):
        try:
            problem = compile(GridMap.parse(text), RewardMachine.parse(machine_text(spec).replace("(c)", "(a)")))
        except FastrmError:
            assume(False)
        assert guarantee(problem, gamma).verdict == truth_of(problem, gamma).verdicts[0][1]
        verdicts.append(1)

    check()
    assert len(verdicts) >= either(50, 30)


@pytest.mark.filterwarnings("ignore::fastrm.FastrmWarning")
@settings(max_examples=60)
@given(maps(), machines(), st.sampled_from([0.5, 0.9, 0.99]))
def test_values_satisfy_bellman_s_equation_within_their_bounds(text, spec, gamma):
    try:
        problem = compile(GridMap.parse(text), RewardMachine.parse(machine_text(spec)))
    except FastrmError:
        assume(False)
    best, tables = solve(problem, gamma), problem.tables
    padded = np.zeros((len(best.value), tables.reward.shape[1]))
    padded[:, : tables.n_u] = best.value
    for s, u in itertools.product(range(len(best.value)), range(tables.n_u)):
        events = tables.event[s]
        q = [
            tables.reward[e, u] + gamma * padded[tables.next_s[s, a], tables.delta[e, u]] for a, e in enumerate(events)
        ]
        assert abs(max(q) - best.value[s, u]) <= 2 * best.error[s, u] + 1e-15
        assert q[best.policy[s, u]] >= max(q) - 4 * best.error.max() - 1e-15
