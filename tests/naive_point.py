"""The point mass, slow and obvious: one move at a time, in plain numbers. Nothing is imported from the package.

A world is a dict with side, fastest, start, velocity, discs (name, x, y, radius) and walls (left, bottom, right, top).
"""

from fractions import Fraction

FORCES = [(fx, fy) for fx in (-1, 0, 1) for fy in (-1, 0, 1)]


def in_wall(world, x, y):
    """Return whether a place is outside the box or in a wall."""
    if not (0 <= x < world["side"] and 0 <= y < world["side"]):
        return True
    return any(left <= x <= right and bottom <= y <= top for left, bottom, right, top in world["walls"])


def push(world, cell, action):
    """Return the cell that an action leads to."""
    x, y, *velocity = cell
    for axis in (0, 1):
        changed = velocity[axis] + FORCES[action][axis]
        if abs(changed) <= world["fastest"]:
            velocity[axis] = changed
    for axis in (0, 1):
        step = (velocity[axis] > 0) - (velocity[axis] < 0)
        for _ in range(abs(velocity[axis])):
            there = (x + step, y) if axis == 0 else (x, y + step)
            if in_wall(world, *there):
                velocity[axis] = 0
                break
            x, y = there
    return x, y, *velocity


def labels(world, cell):
    """Return the names that hold in a cell."""
    x, y, *_ = cell
    return {name for name, cx, cy, r in world["discs"] if (x - cx) ** 2 + (y - cy) ** 2 <= r * r}


def distance(world, cell, name):
    """Return by how many places the nearest disc of a name would have to grow to hold the point."""
    x, y, *_ = cell
    squares = [((x - cx) ** 2 + (y - cy) ** 2, r) for one, cx, cy, r in world["discs"] if one == name]
    more = 0
    while not any(square <= (r + more) ** 2 for square, r in squares):
        more += 1
    return more


def steps_to(world, cell, name):
    """Return the fewest moves until a name holds."""
    reached, seen, steps = {cell}, {cell}, 0
    while not any(name in labels(world, one) for one in reached):
        reached = {push(world, one, action) for one in reached for action in range(9)} - seen
        seen |= reached
        steps += 1
    return steps


def paid(world, cell, there, name, kind, terminal, is_last):
    """Return what a move pays that looks for a name, in rationals; and whether it arrives."""
    if name in labels(world, there):
        return Fraction(terminal) if is_last else Fraction(1, 10) if kind == "numeric-boolean" else Fraction(0), True
    if kind == "numeric":
        return -Fraction(distance(world, there, name)), False
    is_closer = distance(world, there, name) < distance(world, cell, name)
    return Fraction(1, 10) if kind == "numeric-boolean" and is_closer else Fraction(0), False


def moves(world, targets, kind, terminal, move):
    """Return the moves of every pair of cell and state that can be reached, and the first pair.

    ``move(paid, pair, outcome)`` makes one.
    """
    first = (*world["start"], *world["velocity"]), 0
    found, todo = {}, [first]
    while todo:
        cell, u = todo.pop()
        if (cell, u) in found:
            continue
        choices = []
        for action in range(9):
            there, is_last = push(world, cell, action), u == len(targets) - 1
            reward, arrives = paid(world, cell, there, targets[u], kind, terminal, is_last)
            is_over = arrives and is_last
            choices.append(move(reward, (there, u + arrives), "success" if is_over else "live"))
            todo += [] if is_over else [choices[-1][1]]
        found[cell, u] = choices
    return found, first
