"""Small problems that several tests look at."""

from fastrm import GridMap, RewardMachine, compile


def with_terminal_reward(grid, task, kind, reward, **settings):
    return compile(grid, RewardMachine.sequence(task, kind=kind, terminal_reward=reward, **settings))


def corridor(length):
    return GridMap.parse(f"{'X' * (length + 3)}\nXA{' ' * (length - 1)}aX\n{'X' * (length + 3)}")
