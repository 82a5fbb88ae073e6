"""What HRM settles on, known without training."""

from pathlib import Path

import pytest

from fastrm import GridMap, RewardMachine, TableWorld, compile, hrm_fixed_point, train
from fastrm.machines.reward_kinds import PAPER_KINDS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("kind", PAPER_KINDS)
def test_hrm_takes_27_and_40_on_the_appendix_map_where_26_and_32_are_optimal(kind):
    grid = GridMap.load(ROOT / "bench" / "suites" / "appendix.map")
    for task, ours, optimum in [("a", 20, 20), ("a-b", 27, 26), ("a-b-c", 40, 32)]:
        problem = compile(grid, RewardMachine.sequence(task, kind=kind, closer="any"))
        fixed = hrm_fixed_point(problem)
        assert (fixed.length, fixed.optimal_length, fixed.shortest) == (ours, optimum, optimum)
        assert fixed.regret >= 0 and fixed.extra_steps == ours - optimum
        assert len(fixed.path) == ours + 1


def test_trained_hrm_settles_where_the_fixed_point_says():
    grid = GridMap.load(ROOT / "bench" / "suites" / "appendix.map")
    problem = compile(grid, RewardMachine.sequence("a-b-c", kind="numeric-boolean", closer="any"))
    assert train(problem, algo="hrm", steps=2_000_000, seed=1).greedy_length == hrm_fixed_point(problem).length == 40
    assert train(problem, algo="crm", steps=2_000_000, seed=1).greedy_length == 32


def test_hrm_s_fixed_point_is_optimal_where_the_machine_has_one_option_and_one_target_a_stage():
    for seed in range(5):
        problem = compile(GridMap.generate("1a1b1c", size=11, seed=seed), RewardMachine.sequence("a-b-c"))
        assert hrm_fixed_point(problem).regret == pytest.approx(0, abs=1e-12)


def test_a_loop_is_told_from_a_failure_in_the_same_cell():
    """One cell: action 0 finds gold, action 1 quits and fails, action 2 stays and is paid for ever."""
    text = "start u\nsuccess done\nfailure lost\nu -> done when gold\nu -> lost when quit & !gold reward {}\n"
    world = TableWorld([[0, 0, 0]], {(0, 0): "gold", (0, 1): "quit"})
    for paid, fails in ((-5, False), (50, True)):
        machine = RewardMachine.parse(text.format(paid) + "u -> u otherwise reward 1\n")
        bound = hrm_fixed_point(compile(world, machine))
        assert (bound.path, bound.length, bound.fails) == ((0, 0), None, fails)
