"""The optimum and the verdict by enumeration of all paths in rationals, and small problems to try them on."""

from pathlib import Path

from hypothesis import assume

from fastrm import (
    GridMap,
    RewardMachine,
    compile,
)
from fastrm.kernels.contracts import LIVE, SUCCESS
from fastrm.machines.language import as_written

ROOT = Path(__file__).parents[2]


def lassos(problem, u, limit):
    """Yield the rewards of every path from the start that ends or returns to a pair it visited, and how it ends."""
    tables, count = problem.tables, 0
    stack = [((tables.starts[0], u), [], [])]
    while stack:
        (s, v), trail, paid = stack.pop()
        for s_next, e in {(int(tables.next_s[s, a]), int(tables.event[s, a])) for a in range(4)}:
            count += 1
            if limit is not None:
                assume(count < limit)
            rewards = [*paid, problem.written(e, v)]
            there = s_next, int(tables.delta[e, v])
            visited = [*trail, (s, v)]
            if tables.outcome[e, v] != LIVE:
                yield rewards, None, bool(tables.outcome[e, v] == SUCCESS)
            elif there in visited:
                yield rewards, visited.index(there), False
            else:
                stack.append((there, visited, rewards))


def discounted(rewards, loop, gamma):
    powers = [gamma**k for k in range(len(rewards))]
    if loop is None:
        return sum(p * r for p, r in zip(powers, rewards, strict=True))
    around = sum(gamma**k * r for k, r in enumerate(rewards[loop:]))
    before = sum(p * r for p, r in zip(powers[:loop], rewards[:loop], strict=True))
    return before + gamma**loop * around / (1 - gamma ** (len(rewards) - loop))


def brute_force(problem, gamma, limit=200_000):
    """Return the optimum and the verdict by looking at every path."""
    exact = as_written(gamma)
    found = {}
    for rewards, loop, succeeds in lassos(problem, int(problem.tables.first_u[0]), limit):
        key = discounted(rewards, loop, exact)
        found.setdefault(key, set()).add(len(rewards) if succeeds else "loop" if loop is not None else "failure")
    optimum, goal = max(found), problem.shortest[0]
    lengths = found[optimum]
    finishing = [length for length in lengths if isinstance(length, int)]
    if lengths == {goal}:
        return optimum, "shortest"
    if not finishing:
        return optimum, "never finishes" if "loop" in lengths else "ends in failure"
    if min(finishing) == goal:
        return optimum, "shortest for some optimal policies only"
    extra = min(finishing) - goal
    return optimum, f"detour (+{extra} step{'s' if extra > 1 else ''})"


def with_terminal_reward(grid, task, kind, reward, **settings):
    return compile(grid, RewardMachine.sequence(task, kind=kind, terminal_reward=reward, **settings))


def corridor(length):
    return GridMap.parse(f"{'X' * (length + 3)}\nXA{' ' * (length - 1)}aX\n{'X' * (length + 3)}")
