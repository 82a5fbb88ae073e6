"""Paths so long that floating point cannot tell their returns apart."""

from pathlib import Path

import numpy as np
import pytest

from fastrm import GridMap, RewardMachine, compile, guarantee

from small_problems import corridor

ROOT = Path(__file__).parents[2]


def test_a_boolean_path_of_400_steps_is_judged_right():
    verdict = guarantee(compile(corridor(400), RewardMachine.sequence("a")), 0.9)
    assert verdict.verdict == "shortest"
    assert verdict.witness.optimal_return == pytest.approx(0.9**399, rel=1e-12)


@pytest.mark.parametrize(("factor", "verdict"), [(0.999, "shortest"), (1.001, "never finishes")])
def test_a_tiny_reward_far_below_machine_precision_decides(factor, verdict):
    """Bumping into the wall pays x a step, finishing 1 after 400: shortest just when x / (1 - gamma) < gamma^399."""
    bump = factor * 0.1 * 0.9**399
    text = (
        "start u\nsuccess done\nu -> done when a reward 1\n"
        f"u -> u when !a & d(a) == 400 reward {bump!r}\nu -> u otherwise\n"
    )
    assert guarantee(compile(corridor(400), RewardMachine.parse(text)), 0.9).verdict == verdict


def test_cancelling_rewards_that_floats_cannot_tell_apart_are_judged_right():
    """On the way 1e9 is paid and taken back; what decides is a reward of 1e-12 for the longer way."""
    grid = GridMap.parse("XXXXXX\nXA  aX\nXb   X\nXXXXXX\n")

    def verdict(extra):
        text = (
            "start u\nsuccess done\n"
            f"u -> w when b reward {extra!r}\nu -> done when a reward 1000000000\nu -> u otherwise\n"
            "w -> done when a reward 1000000000\nw -> w otherwise\n"
        )
        return guarantee(compile(grid, RewardMachine.parse(text)), 0.5).verdict

    loss = 1e9 * (0.25 - 0.0625)  # what two more steps cost
    assert verdict(loss) == "shortest for some optimal policies only"
    assert verdict(float(np.nextafter(loss, 0))) == "shortest"
    assert verdict(float(np.nextafter(loss, 1e10))) == "detour (+2 steps)"


def test_ties_too_many_for_rational_arithmetic_are_said_to_be_undecided(monkeypatch):
    import fastrm.exact.values as module

    monkeypatch.setattr(module, "EXACT_LIMIT", 3)
    grid = GridMap.parse("XXXXXXX\nXA   aX\nX     X\nXXXXXXX\n")
    machine = RewardMachine.sequence("a", terminal_reward=0.0)  # nothing pays: every move is optimal
    verdict = guarantee(compile(grid, machine), 0.9)
    assert verdict.verdict == "undecided" and "cannot tell apart" in verdict.reason
    monkeypatch.setattr(module, "EXACT_LIMIT", 3000)
    assert guarantee(compile(grid, machine), 0.9).verdict == "shortest for some optimal policies only"
