"""Maps with the distances that the appendix of *Numeric Reward Machines* prints; where things stand is drawn at random.

From the start the nearest a is 20 steps away and the other 21. The shortest a-b takes 27 steps through the nearest a
and 26 through the other, the shortest a-b-c 40 and 32. So who always goes to the nearest object takes the longer route.
"""

from __future__ import annotations

import hashlib

from fastrm.worlds.tiles import FLOOR, START, WALL, Cell

SIZE = 41
APPENDIX_NEAREST, APPENDIX_SHORTEST = (20, 27, 40), (20, 26, 32)
"""Lengths of a, a-b and a-b-c from nearest object to nearest object, and of shortest routes."""
_LEGS = ((20, 7, 13), (21, 5, 6))  # from the start to each a, on to its b, on to its c


def appendix_rows(seed: int) -> tuple[str, ...]:
    """Return the rows of such a map, 41 x 41; the same for a seed on every machine."""
    start, count = (SIZE // 2, SIZE // 2), 0
    while True:
        routes = []
        for legs in _LEGS:
            here, route = start, []
            for leg in legs:
                here = _at_distance(here, leg, f"{seed}/{count}")
                count += 1
                route.append(here)
            routes.append(route)
        if _fits(start, *routes):
            break
    rows = [[WALL] * SIZE, *([WALL, *FLOOR * (SIZE - 2), WALL] for _ in range(SIZE - 2)), [WALL] * SIZE]
    rows[start[0]][start[1]] = START
    for route in routes:
        for letter, (row, column) in zip("abc", route, strict=True):
            rows[row][column] = letter
    return tuple("".join(row) for row in rows)


def _at_distance(cell: Cell, steps: int, key: str) -> Cell:
    """Draw a cell so many steps away."""
    inside = range(1, SIZE - 1)
    ring = [
        (row, column)
        for row in inside
        for column in {cell[1] + steps - abs(row - cell[0]), cell[1] - steps + abs(row - cell[0])}
        if column in inside and abs(row - cell[0]) <= steps
    ]
    digest = hashlib.blake2b(f"fastrm appendix {key}".encode(), digest_size=8).digest()
    return sorted(ring)[int.from_bytes(digest, "little") % len(ring)]


def _fits(start: Cell, near: list[Cell], far: list[Cell]) -> bool:
    """Say whether objects drawn leg by leg have all the distances, each nearest object being the only nearest one."""
    (a1, b1, c1), (a2, b2, c2) = near, far
    if len({start, *near, *far}) < 7:
        return False

    def steps(one: Cell, two: Cell) -> int:
        return abs(one[0] - two[0]) + abs(one[1] - two[1])

    to_c = {b: min(steps(b, c) for c in (c1, c2)) for b in (b1, b2)}
    through = [steps(start, a) + min(steps(a, b) + to_c[b] for b in (b1, b2)) for a in (a1, a2)]
    two = [steps(start, a) + min(steps(a, b) for b in (b1, b2)) for a in (a1, a2)]
    only = steps(a1, b1) < steps(a1, b2) and steps(b1, c1) < steps(b1, c2)
    return only and two == [27, 26] and through == [40, 32]
