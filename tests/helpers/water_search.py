"""Searches in the oracle of Water world: every row of actions, one after the other."""

import copy

import naive_water


def copied(pool):
    """Return a world in motion that moves on its own."""
    other = copy.copy(pool)
    other.position, other.speed = list(pool.position), list(pool.speed)
    other.balls = [[colour, list(position), list(speed)] for colour, position, speed in pool.balls]
    return other


def successors(pool, u, spec):
    """Yield what each action leads to: the world, the machine state, the reward and the outcome."""
    for action in range(5):
        after = copied(pool)
        moved = after.step(action)
        yield after, *naive_water.machine_step(spec, u, moved, pool.delayed)


def fewest_steps(pool, spec, limit, is_sought=lambda outcome, reward: outcome == "success"):
    """Return the fewest steps to an end that is sought, by default a success; None if the limit comes first."""
    frontier = {None: (pool, spec["start"])}
    for t in range(1, limit + 1):
        found = {}
        for here, u in frontier.values():
            for after, u_next, reward, outcome in successors(here, u, spec):
                if outcome and is_sought(outcome, reward):
                    return t
                if not outcome:
                    key = *after.position, *after.speed, tuple(after.touching), tuple(after.waiting), u_next
                    found[key] = after, u_next
        frontier = found
    return None


def best_return(pool, u, spec, gamma, moves):
    """Return the largest discounted reward of so many moves, and the steps on which rows of moves that earn it end.

    Steps are negative for a failure, 0 for no end. Rewards that differ by rounding are taken for equal.
    """
    ways = []
    for after, u_next, reward, outcome in successors(pool, u, spec):
        worth, ends = reward, {{"success": 1, "failure": -1, None: 0}[outcome]}
        if not outcome and moves > 1:
            later, ends = best_return(after, u_next, spec, gamma, moves - 1)
            worth, ends = reward + gamma * later, {end + (end > 0) - (end < 0) for end in ends}
        ways.append((worth, ends))
    best = max(worth for worth, _ in ways)
    return best, set().union(*(ends for worth, ends in ways if best - worth <= 1e-12 * abs(best)))
