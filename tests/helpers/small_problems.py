"""Small problems that several tests look at."""

from fastrm import GridMap, RewardMachine, TableWorld, WaterWorld, compile, task


def with_terminal_reward(grid, task, kind, reward, **settings):
    return compile(grid, RewardMachine.sequence(task, kind=kind, terminal_reward=reward, **settings))


def corridor(length):
    return GridMap.parse(f"{'X' * (length + 3)}\nXA{' ' * (length - 1)}aX\n{'X' * (length + 3)}")


def of_each_kind():
    """Return a problem of each kind of world and machine, with a learner for it, by name."""
    letters = "abcdefghijk"
    agenda = GridMap.generate("".join(f"1{x}" for x in letters), size=13, seed=3)
    table = TableWorld([[1, 2], [2, 0], [0, 1]], {2: "a"})
    return {
        "grid": (compile(GridMap.generate("1a1b", size=9, seed=1), task("a-b")), "crm"),
        "table": (compile(table, task("a")), "hrm"),
        "water": (compile(WaterWorld.generate(3), task("a")), "crm"),
        "agenda": (compile(agenda, task("{" + ",".join(letters) + "}")), "coupled"),
    }
