"""Layouts of generated maps: the same start and objects, with other obstacles between them.

``open``
    No obstacles.
``walls`` (a density)
    That share of the inner cells is wall, uniformly among the placements that leave every object within reach.
``rooms``
    3 x 3 rooms, or 2 x 2 on small maps, with one door in every wall that two of them share.
``maze``
    A perfect maze, by randomised depth-first search from the start: one way and only one between any two cells.
``deceptive``
    A cup of fences in front of every object, open towards the start. An agent that follows the Manhattan distance
    walks into a dead end, one step from the object and a long way round. A bar reaches `w` cells to both sides, arms
    `h` cells towards the start; both are an eighth of the side, or less where cups would cut off an object or a dead
    end. Another object of the type right beside the dead end is fenced off from it, too. ::

           a
        +-+-+-+
        |     |
        + + + +
        |     |
        + + + +
           A

Start and objects are where the open map of the same setup, size and seed has them. Randomness is BLAKE2b of setup,
size, seed and layout: the same map on every machine, Python and numpy. A *recipe* is a setup such as 2a2b2c, alone or
with its obstacles, as people write it.

The setup ``appendix`` has the distances that the appendix of *Numeric Reward Machines* prints, at random places. From
the start the nearest a is 20 steps away and the other 21. The shortest a-b takes 27 steps through the nearest a and 26
through the other, the shortest a-b-c 40 and 32. So an agent that always goes to the nearest object takes the longer
route.
"""

from __future__ import annotations

import hashlib
import re
from itertools import product
from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np
import numpy.typing as npt

from fastrm.errors import MapError, did_you_mean, shown
from fastrm.worlds.moves import Tiles, all_in_reach, cells_where, passable, steps_from
from fastrm.worlds.tiles import FLOOR, OBJECT, START, WALL, Cell, Fence

MAX_ATTEMPTS = 1000
Layout = Literal["open", "rooms", "maze", "deceptive"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)


def check_layout(walls: object, layout: object) -> str:
    """Return the obstacles as recipes name them, empty for an open map; raise MapError if there are no such.

    >>> check_layout(0.2, "open"), check_layout(0, "rooms")
    ('walls 0.2', 'rooms')
    """
    number = int | float | np.integer | np.floating
    if isinstance(walls, bool) or not isinstance(walls, number) or not 0 <= walls < 1:
        raise MapError(
            f"walls={shown(walls)}: must be a number from 0 to below 1, the share of inner cells that are wall"
        )
    if not isinstance(layout, str) or layout not in LAYOUTS:
        near = did_you_mean(layout, ("open",) if walls else LAYOUTS)
        raise MapError(f"layout={shown(layout)}: no such layout{near}; there are {', '.join(LAYOUTS)}")
    if walls and layout != "open":
        raise MapError(
            f"walls={shown(walls)} goes with the open layout, not with {shown(layout)}; leave one of the two out"
        )
    if walls:
        return f"walls {float(walls)!r}"
    return "" if layout == "open" else str(layout)


def place_objects(letters: str, size: int, key: str) -> Tiles:
    """Return the ASCII codes of a square map with the start in the centre and objects at random."""
    tiles, inner, centre = _open_map(size), size - 2, size // 2 - 1
    for letter, spot in zip(letters, _sample(key, len(letters), inner * inner - 1), strict=True):
        row, column = divmod(spot + (spot >= centre * inner + centre), inner)
        tiles[row + 1, column + 1] = ord(letter)
    return tiles


def _open_map(size: int) -> Tiles:
    tiles = np.full((size, size), ord(WALL), dtype=np.uint8)
    tiles[1:-1, 1:-1] = ord(FLOOR)
    tiles[size // 2, size // 2] = ord(START)
    return tiles


def scatter_walls(tiles: Tiles, density: float, key: str, source: str) -> Tiles:
    """Return a map with that share of its inner cells turned into wall and every object within reach of the start."""
    inner = (tiles.shape[0] - 2) * (tiles.shape[1] - 2)
    free, count = np.flatnonzero(tiles == ord(FLOOR)), round(inner * density)
    if count > free.size:
        raise MapError(
            f"{source}: {count} walls do not fit; {free.size} cells are free beside start and objects; "
            "lower walls or enlarge size"
        )
    if count == 0:
        return tiles
    objects = _objects(tiles)
    for attempt in range(MAX_ATTEMPTS):
        ranks = _draws(f"walls {key}/{density!r}/{attempt}", free.size)
        chosen = free[ranks <= np.partition(ranks, count - 1)[count - 1]][:count]  # equal ranks could be one more
        walled = tiles.copy()
        walled.flat[chosen] = ord(WALL)
        if all_in_reach(objects, passable(walled, ())):
            return walled
    raise MapError(
        f"{source}: no solvable map in {MAX_ATTEMPTS} attempts; lower walls, enlarge size or try another seed"
    )


def build_fences(layout: Layout, tiles: Tiles, key: str, source: str) -> frozenset[Fence]:
    """Return the fences that a layout puts on an open map."""
    if layout == "rooms":
        return _rooms(len(tiles), key, source)
    if layout == "maze":
        return _maze(len(tiles), key)
    return _cups(tiles, source) if layout == "deceptive" else frozenset()


def _rooms(size: int, key: str, source: str) -> frozenset[Fence]:
    inner = size - 2
    if inner < 4:
        raise MapError(f"{source}: rooms of at least 2 x 2 cells do not fit; enlarge size to 6 or more")
    many = 3 if inner >= 6 else 2
    cuts = [1 + inner * k // many for k in range(many + 1)]  # room k: cells from cuts[k] to below cuts[k + 1]
    below, right = np.zeros((2, size, size), dtype=np.bool_)
    doors = iter(_draws(f"rooms {key}", 2 * many * (many - 1)).tolist())
    for line, room in product(cuts[1:-1], range(many)):
        low, high = cuts[room], cuts[room + 1]
        below[line - 1, low:high] = right[low:high, line - 1] = True
        below[line - 1, low + next(doors) % (high - low)] = False
        right[low + next(doors) % (high - low), line - 1] = False
    return _as_fences(below, right)


def _maze(size: int, key: str) -> frozenset[Fence]:
    ring = np.ones((size, size), dtype=np.uint8)
    ring[1:-1, 1:-1] = 0
    seen = bytearray(ring.tobytes())  # cells are numbered row by row
    draws = iter(_draws(f"maze {key}", (size - 2) ** 2).tolist())
    here, way = size // 2 * (size + 1), [0]  # cell 0, in the ring, marks the end
    seen[here] = 1
    left, reached = [], []
    while here:
        ahead = []  # spelt out for speed
        if not seen[here - size]:
            ahead.append(here - size)
        if not seen[here + 1]:
            ahead.append(here + 1)
        if not seen[here + size]:
            ahead.append(here + size)
        if not seen[here - 1]:
            ahead.append(here - 1)
        if ahead:
            way.append(here)
            left.append(here)
            here = ahead[next(draws) % len(ahead)]
            reached.append(here)
            seen[here] = 1
        else:
            here = way.pop()
    joined = np.sort(np.array([left, reached], dtype=np.int64), axis=0)
    below, right = np.zeros((2, size, size), dtype=np.bool_)
    below[1:-2, 1:-1] = right[1:-1, 1:-2] = True
    across = joined[1] - joined[0] == 1
    right.flat[joined[0, across]] = below.flat[joined[0, ~across]] = False
    return _as_fences(below, right)


def _cups(tiles: Tiles, source: str) -> frozenset[Fence]:
    """Put a cup in front of every object, as large as the other cups permit, and check the finished map."""
    cells, centre = _objects(tiles), len(tiles) // 2
    cells.sort(key=lambda cell: -abs(cell[0] - centre) - abs(cell[1] - centre))  # far cups go round near ones
    cure = "enlarge size, take fewer objects or try another seed"
    sizes = [max(1, len(tiles) // 8)]
    while sizes[-1] > 1:
        sizes.append(sizes[-1] * 3 // 4)
    tried = (_fit_cups(tiles, cells, sizes[k:]) for k in range(len(sizes)))
    fences = next((found for found in tried if found is not None), None)
    if fences is None:
        raise MapError(f"{source}: cups in front of the objects shut one of them off; {cure}")
    moves = passable(tiles, fences)
    for cell in cells:
        front = _shift(cell, _step_to_start(cell, tiles))
        near = steps_from(front, moves, limit=2)  # no way is 2 steps long, so others are 3 or more
        if near[cell] >= 0 or (tiles[front] != tiles[cell] and tiles[cell] in tiles[near == 1]):
            raise MapError(f"{source}: no dead end in front of {chr(tiles[cell])} at {cell}; {cure}")
    return fences


def _fit_cups(tiles: Tiles, cells: list[Cell], sizes: list[int]) -> frozenset[Fence] | None:
    """Give each cell the first of the sizes that leaves objects and dead ends within reach; None if none does."""
    fences: frozenset[Fence] = frozenset()
    goals = cells + [_shift(cell, _step_to_start(cell, tiles)) for cell in cells]
    for cell in cells:
        tried = (fences | _cup(cell, tiles, size) for size in sizes)
        found = next((more for more in tried if all_in_reach(goals, passable(tiles, more))), None)
        if found is None:
            return None
        fences = found
    return fences


def _cup(cell: Cell, tiles: Tiles, reach: int) -> frozenset[Fence]:
    """Return the fences of a cup whose bar reaches `reach` cells to both sides and whose arms are as long."""
    towards = _step_to_start(cell, tiles)
    aside = (towards[1], towards[0])
    front = _shift(cell, towards)
    pairs = [(_shift(cell, aside, k), _shift(front, aside, k)) for k in range(-reach, reach + 1)]
    for end, out in ((-reach, -reach - 1), (reach, reach + 1)):
        along = [_shift(front, towards, k) for k in range(reach)]
        pairs += [(_shift(here, aside, end), _shift(here, aside, out)) for here in along]
    if tiles[front] != tiles[cell]:  # an object of the type beside the dead end would give it a way on
        sides = [_shift(front, step) for step in (towards, aside, (-aside[0], -aside[1]))]
        pairs += [(front, side) for side in sides if tiles[side] == tiles[cell]]
    last = len(tiles) - 2
    return frozenset((min(p), max(p)) for p in pairs if min(*p[0], *p[1]) > 0 and max(*p[0], *p[1]) <= last)


def _step_to_start(cell: Cell, tiles: Tiles) -> Cell:
    """Return the step from a cell towards the start, along the axis on which it is farther away."""
    rows, columns = len(tiles) // 2 - cell[0], len(tiles) // 2 - cell[1]
    return (1 if rows > 0 else -1, 0) if abs(rows) >= abs(columns) else (0, 1 if columns > 0 else -1)


def _shift(cell: Cell, step: Cell, times: int = 1) -> Cell:
    return cell[0] + times * step[0], cell[1] + times * step[1]


def _objects(tiles: Tiles) -> list[Cell]:
    return cells_where((tiles != ord(WALL)) & (tiles != ord(FLOOR)) & (tiles != ord(START)))


def _as_fences(below: npt.NDArray[np.bool_], right: npt.NDArray[np.bool_]) -> frozenset[Fence]:
    """Return the fences below and right of the marked cells."""
    size = len(below)
    cells = list(product(range(size), range(size)))  # shared, as the fences of a maze are many
    fences: list[Fence] = []
    for marked, step in ((below, size), (right, 1)):
        here = np.flatnonzero(marked)
        there = map(cells.__getitem__, (here + step).tolist())
        fences += zip(map(cells.__getitem__, here.tolist()), there, strict=True)
    return frozenset(fences)


def _draws(key: str, count: int) -> npt.NDArray[Any]:
    """Return `count` numbers below 2 ** 32, sixteen from every BLAKE2b of the key and a counter."""
    digests = (hashlib.blake2b(f"fastrm {key} {k}".encode()).digest() for k in range(-(-count // 16)))
    return np.frombuffer(b"".join(digests), dtype="<u4")[:count]


def _sample(key: str, count: int, population: int) -> list[int]:
    """Draw `count` different numbers below `population`: a sparse Fisher-Yates shuffle driven by BLAKE2b."""
    moved: dict[int, int] = {}
    drawn = []
    for i in range(count):
        digest = hashlib.blake2b(f"fastrm map {key} {i}".encode(), digest_size=16).digest()
        j = i + int.from_bytes(digest, "little") % (population - i)
        drawn.append(moved.get(j, j))
        moved[j] = moved.get(i, i)
    return drawn


APPENDIX = "appendix"
"""The setup whose distances are those of the paper's appendix."""


def parse_setup(setup: str) -> list[tuple[str, int]]:
    """Split ``2a1b`` into ``[("a", 2), ("b", 1)]``.

    >>> parse_setup("2a10b")
    [('a', 2), ('b', 10)]
    """
    if not isinstance(setup, str) or not re.fullmatch(rf"([0-9]{{1,9}}{OBJECT})+", setup):
        has_words = isinstance(setup, str) and " " in setup.strip()
        hint = "; obstacles are given apart: walls=0.2 or layout='rooms'" if has_words else ""
        raise MapError(f"setup {shown(setup)}: expected counts and object letters such as 2a2b2c{hint}")
    pairs = [(letter, int(count)) for count, letter in re.findall(rf"([0-9]+)({OBJECT})", setup)]
    letters = [letter for letter, _ in pairs]
    for letter, count in pairs:
        if count == 0:
            raise MapError(f"setup {shown(setup)}: the count of {letter} is 0; leave the letter out")
        if letters.count(letter) > 1:
            raise MapError(f"setup {shown(setup)}: {letter} is given twice; add the counts up")
    return pairs


class Recipe(NamedTuple):
    """What `GridMap.generate` needs besides size and seed."""

    setup: str
    walls: float = 0
    layout: Layout = "open"


WATER, POINT = "water", "point"
"""The setup of generated water worlds, and the word that setups of point masses begin with."""


def parse_recipe(text: str) -> Recipe:
    """Read a setup, alone or followed by its obstacles, and check it without generating a map.

    >>> parse_recipe("1a1b1c walls 0.2")
    Recipe(setup='1a1b1c', walls=0.2, layout='open')
    >>> parse_recipe("1a1b1c maze").layout
    'maze'
    >>> parse_recipe("point 2a1b  walls 3").setup
    'point 2a1b walls 3'
    """
    words = text.split() if isinstance(text, str) else []
    if words[:1] == [POINT]:
        return Recipe(write_point_recipe(*parse_point_recipe(text)))
    if words in ([APPENDIX], [WATER]):
        return Recipe(words[0])
    try:
        parse_setup(words[0] if words else "")
        return Recipe(words[0], *_parse_obstacles(*words[1:]))
    except MapError as error:
        others = ", ".join(layout for layout in LAYOUTS if layout != "open")
        raise MapError(
            f"map {shown(text)}: {error}; write a setup such as 2a2b2c, alone or with one of: walls 0.2, {others}"
        ) from None


def write_point_recipe(setup: str, side: int = 101, walls: int = 0) -> str:
    """Return the setup of a point mass as people write it.

    >>> write_point_recipe("1a", side=21, walls=2)
    'point 1a side 21 walls 2'
    """
    return f"{POINT} {setup}" + f" side {side}" * (side != 101) + f" walls {walls}" * (walls != 0)


def parse_point_recipe(text: str) -> tuple[str, int, int]:
    """Read the setup of a point mass: counts and names of its discs, the side of its box, and the number of walls.

    >>> parse_point_recipe("point 1a1b side 21"), parse_point_recipe("point 1a walls 2 side 51")
    (('1a1b', 21, 0), ('1a', 51, 2))
    """
    _, setup, *rest = *text.split(), *[""] * (len(text.split()) < 2)
    try:
        parse_setup(setup)
        numbers = dict(zip(rest[::2], map(int, rest[1::2]), strict=True))
        if len(rest) > 2 * len(numbers) or not numbers.keys() <= {"side", "walls"}:
            raise ValueError
    except (MapError, ValueError) as error:
        reason = f"{error}; write" if isinstance(error, MapError) else "expected"
        raise MapError(
            f"map {shown(text)}: {reason} point and a setup such as 1a1b1c, and if need be 'side 51' or 'walls 3'"
        ) from None
    return setup, numbers.get("side", 101), numbers.get("walls", 0)


def _parse_obstacles(word: str = "open", *rest: str) -> tuple[float, Layout]:
    """Read the words after the setup."""
    if word not in ("walls", *LAYOUTS):
        raise MapError(f"no such layout as {shown(word)}{did_you_mean(word, ('walls',) if rest else LAYOUTS)}")
    if word != "walls":
        if rest:
            raise MapError(f"nothing goes after {word}")
        return 0, cast("Layout", word)
    try:
        (density,) = map(float, rest)
    except ValueError:
        raise MapError("walls takes one number, from 0 to below 1") from None
    check_layout(density, "open")
    return density, "open"


def looks_like_recipe(text: str) -> bool:
    """Return whether a text is meant as a recipe, well formed or not.

    >>> looks_like_recipe("2a2b wals 0.1"), looks_like_recipe("office.map")
    (True, False)
    """
    is_setup = re.fullmatch(rf"([0-9]+{OBJECT})+( .*)?", text) is not None
    return is_setup or text == APPENDIX or text.split()[:1] == [POINT]


APPENDIX_SIDE = 41
APPENDIX_NEAREST, APPENDIX_SHORTEST = (20, 27, 40), (20, 26, 32)
"""Lengths of a, a-b and a-b-c from nearest object to nearest object, and of shortest routes."""
_LEGS = ((20, 7, 13), (21, 5, 6))  # from the start to each a, on to its b, on to its c


def place_appendix(seed: int) -> Tiles:
    """Return the ASCII codes of a map with the distances of the appendix."""
    start, count = (APPENDIX_SIDE // 2, APPENDIX_SIDE // 2), 0
    routes: list[list[Cell]] = []
    while not routes or not _fits(start, *routes):
        routes = []
        for legs in _LEGS:
            route = [start]
            for leg in legs:
                route.append(_at_distance(route[-1], leg, f"{seed}/{count}"))
                count += 1
            routes.append(route[1:])
    tiles = _open_map(APPENDIX_SIDE)
    for route in routes:
        for letter, cell in zip("abc", route, strict=True):
            tiles[cell] = ord(letter)
    return tiles


def _at_distance(cell: Cell, steps: int, key: str) -> Cell:
    """Draw a cell that is `steps` steps away."""
    inside = range(1, APPENDIX_SIDE - 1)
    ring = [
        (row, column)
        for row in inside
        for column in {cell[1] + steps - abs(row - cell[0]), cell[1] - steps + abs(row - cell[0])}
        if column in inside and abs(row - cell[0]) <= steps
    ]
    digest = hashlib.blake2b(f"fastrm appendix {key}".encode(), digest_size=8).digest()
    return sorted(ring)[int.from_bytes(digest, "little") % len(ring)]


def _steps(one: Cell, two: Cell) -> int:
    return abs(one[0] - two[0]) + abs(one[1] - two[1])


def _fits(start: Cell, near: list[Cell], far: list[Cell]) -> bool:
    """Return whether objects drawn leg by leg have all the distances, each nearest object being the only nearest."""
    (a1, b1, c1), (a2, b2, c2) = near, far
    if len({start, *near, *far}) < 7:
        return False
    to_c = {b: min(_steps(b, c) for c in (c1, c2)) for b in (b1, b2)}
    through = [_steps(start, a) + min(_steps(a, b) + to_c[b] for b in (b1, b2)) for a in (a1, a2)]
    two = [_steps(start, a) + min(_steps(a, b) for b in (b1, b2)) for a in (a1, a2)]
    only = _steps(a1, b1) < _steps(a1, b2) and _steps(b1, c1) < _steps(b1, c2)
    return only and two == [27, 26] and through == [40, 32]
