"""One report of everything that is known."""

from fastrm import GridMap, RewardMachine, check, compile

FARM = """
start u0
success done
u0 -> done when b reward 1
u0 -> u0 when a reward 1
u0 -> u0 otherwise reward 0
"""


def test_a_machine_is_judged_by_its_own_rewards_wherever_it_stands():
    grid = GridMap.parse("XXXXXX\nXA abX\nXXXXXX")
    farm, plain = RewardMachine.parse(FARM), RewardMachine.sequence("a-b")
    for machines, accused in (([farm, plain], 0), ([plain, farm], 1)):
        problem = compile(grid, machines)
        for k in range(2):
            kinds = [finding.kind for finding in check(problem, 0.9, k).findings]
            assert ("farming" in kinds) == (k == accused)
            assert check(problem, 0.9, k).guarantee.is_shortest == (k != accused)
