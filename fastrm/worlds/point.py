"""The point mass: a point in a box that a force pushes, on a lattice of positions and velocities.

Position (x, y) and velocity (vx, vy) are whole numbers: the box has places 0 to side - 1 on either axis, y grows
upwards, and a velocity is a number of places a step. A move adds -1, 0 or 1 to each part of the velocity and clips it
to `fastest`. Then the point goes abs(vx) places along x, one after the other, and abs(vy) places along y. It stops
before the border of the box and before walls, and that part of its velocity becomes 0. Targets are *discs*: the name of
a disc holds after a move that ends at most its radius away from its centre.

So the world is finite: (side (2 fastest + 1))^2 cells, 499 849 by default, and nine actions.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_whole
from fastrm.errors import MapError, printable, shown
from fastrm.textfile import check_path, read_text, replace_file
from fastrm.worlds.layouts import parse_setup, write_point_recipe
from fastrm.worlds.table import MOST_CELLS, NAME, RESERVED, TableWorld
from fastrm.worlds.water import draw_uniform

FORCES = tuple(product((-1, 0, 1), repeat=2))
"""By action: the force along x and along y."""
POINT_ACTIONS = ("down left", "left", "up left", "down", "none", "up", "down right", "right", "up right")
SIDES, SPEEDS, MOST_SHAPES = (5, 401), (1, 10), 64
"""Smallest and largest side and top speed of a box, and the most discs, or walls, in it."""
MAX_ATTEMPTS = 1000
KEY = "point mass"
"""The only key of a file of a point mass."""

PointCell = tuple[int, int, int, int]
"""Position and velocity: x, y, vx, vy."""


class Disc(NamedTuple):
    """A target: all places at most `radius` away from its centre."""

    name: str
    x: int
    y: int
    radius: int


class Block(NamedTuple):
    """A rectangle of wall, its last places included."""

    left: int
    bottom: int
    right: int
    top: int


@dataclass(frozen=True)
class PointMass:
    """A box with a point to push around and discs to reach.

    Make one with `generate`, `load` or from its parts, and a problem of it with `fastrm.compile`. There it is a table
    like every `TableWorld`, so that exact tools, learners and experiments work on it.

    Raises
    ------
    MapError
        When something is out of range, overlaps, or lies outside the box.

    Examples
    --------
    >>> world = PointMass.generate(seed=3)
    >>> world
    <PointMass <point 1a1b1c seed 3>: 101 x 101 places, top speed 3, 1 a, 1 b, 1 c>
    >>> PointMass.parse(world.to_json()) == world
    True
    >>> small = PointMass([("a", 8, 8, 1)], start=(2, 2), side=11)
    >>> import fastrm
    >>> fastrm.compile(small, fastrm.task("a")).shortest
    (3,)
    """

    discs: tuple[Disc, ...]
    """The targets; several may have the same name."""
    start: tuple[int, int] = (50, 50)
    """Where episodes begin."""
    velocity: tuple[int, int] = (0, 0)
    """The velocity at the beginning."""
    walls: tuple[Block, ...] = ()
    """Rectangles that the point cannot enter."""
    side: int = 101
    """Places along each axis: 5 to 401."""
    fastest: int = 3
    """The largest velocity along each axis, in places a step: 1 to 10."""
    source: str = field(default="<point mass>", compare=False)
    """Where it came from, for messages."""

    def __post_init__(self) -> None:
        for name, kind in (("start", None), ("velocity", None), ("discs", Disc), ("walls", Block)):
            object.__setattr__(self, name, _read_tuple(getattr(self, name), kind))
        for fault in self._faults():
            raise MapError(f"{self.source}: {fault}")

    def _faults(self) -> Iterator[str]:
        """Yield what is wrong with the world."""
        for name, value, (low, high) in (("side", self.side, SIDES), ("fastest", self.fastest, SPEEDS)):
            if not _is_whole(value, low, high):
                yield f"{name}={shown(value)}: must be a whole number from {low} to {high}"
                return
        if self.n_cells > MOST_CELLS:
            most = f"at most {MOST_CELLS} are possible"
            yield f"side {self.side} and fastest {self.fastest} make {self.n_cells} cells; {most}"
        if not _are_whole(self.start, 2, 0, self.side - 1):
            yield f"start={shown(self.start)}: must be two whole numbers from 0 to {self.side - 1}"
            return
        if not _are_whole(self.velocity, 2, -self.fastest, self.fastest):
            yield f"velocity={shown(self.velocity)}: must be two whole numbers from -{self.fastest} to {self.fastest}"
        for name, shapes, kind, least in (("discs", self.discs, Disc, 1), ("walls", self.walls, Block, 0)):
            fits = isinstance(shapes, tuple) and least <= len(shapes) <= MOST_SHAPES
            if not fits or not all(isinstance(shape, kind) for shape in shapes):
                yield f"{name}: must be a list of {least} to {MOST_SHAPES} of ({', '.join(kind._fields)})"
                return
        for k, disc in enumerate(self.discs):
            if not isinstance(disc.name, str) or not NAME.fullmatch(disc.name) or disc.name in RESERVED:
                yield f"disc {k}: name {shown(disc.name)}: must be a name such as a or gold, and no word of machines"
            if not _are_whole(disc[1:3], 2, 0, self.side - 1) or not _is_whole(disc.radius, 0, self.side):
                yield (
                    f"disc {k} {shown(tuple(disc))}: x and y must be whole numbers from 0 to {self.side - 1}, the "
                    f"radius one from 0 to {self.side}"
                )
                return
        for k, block in enumerate(self.walls):
            is_inside = _are_whole(block, 4, 0, self.side - 1)
            if not is_inside or block.left > block.right or block.bottom > block.top:
                yield (
                    f"wall {k} {shown(tuple(block))}: must be left, bottom, right and top, whole numbers from 0 to "
                    f"{self.side - 1}, left <= right and bottom <= top"
                )
                return
        if not self.is_open[self.start]:
            yield f"start={self.start}: lies in a wall; move one of them"
            return
        for k, disc in enumerate(self.discs):
            if not (self.reach(disc) & self.within_reach).any():
                yield f"disc {k} ({disc.name}): walls cut it off from the start; open a way, or move the disc"

    @property
    def n_cells(self) -> int:
        """How many cells there are: positions times velocities."""
        return (self.side * (2 * self.fastest + 1)) ** 2

    @cached_property
    def is_open(self) -> Array:
        """Whether the point can be in a place, [x, y]."""
        places = np.ones((self.side, self.side), dtype=np.bool_)
        for left, bottom, right, top in self.walls:
            places[left : right + 1, bottom : top + 1] = False
        return places

    @cached_property
    def within_reach(self) -> Array:
        """Whether the point can come to a place, [x, y]: a point at rest can make a single step to either side."""
        seen = np.zeros_like(self.is_open)
        seen[self.start], count = True, 0
        while count < (count := int(seen.sum())):
            for axis, by in product((0, 1), (-1, 1)):
                moved = np.roll(seen, by, axis)
                moved[(slice(None),) * axis + (0 if by == 1 else -1,)] = False  # nothing comes in from behind
                seen |= moved & self.is_open
        return seen

    def reach(self, disc: Disc) -> Array:
        """Mark the places of a disc, [x, y]."""
        return self._squares(disc) <= disc.radius**2

    def _squares(self, disc: Disc) -> Array:
        x, y = np.ogrid[: self.side, : self.side]
        squares: Array = (x - disc.x) ** 2 + (y - disc.y) ** 2
        return squares

    def distance(self, disc: Disc) -> Array:
        """Return the distance of every place from a disc, int32 [x, y], in places, rounded up: 0 in the disc alone.

        >>> PointMass([("a", 4, 0, 1)], (2, 2), side=5).distance(Disc("a", 4, 0, 1))[:, 0]
        array([3, 2, 1, 0, 0], dtype=int32)
        """
        away = np.ceil(np.sqrt(self._squares(disc))).astype(np.int32)
        return np.maximum(away - disc.radius, 0)

    def discs_of(self, name: str) -> tuple[Disc, ...]:
        """Return the discs of a name."""
        return tuple(disc for disc in self.discs if disc.name == name)

    def number(self, x: int, y: int, vx: int = 0, vy: int = 0) -> int:
        """Return the number of a cell, as `table` has it; raise MapError unless the point can be in it.

        >>> PointMass([("a", 4, 0, 1)], (2, 2), side=5).number(2, 2)
        612
        """
        limits = (0, self.side - 1), (0, self.side - 1), (-self.fastest, self.fastest), (-self.fastest, self.fastest)
        if not all(_is_whole(value, *limit) for value, limit in zip((x, y, vx, vy), limits, strict=True)):
            raise MapError(
                f"{self.source}: cell {shown((x, y, vx, vy))}: must be x and y from 0 to {self.side - 1}, and a "
                f"velocity from -{self.fastest} to {self.fastest} along each"
            )
        if not self.is_open[x, y]:
            raise MapError(f"{self.source}: cell {(x, y, vx, vy)} lies in a wall; give another")
        speeds = 2 * self.fastest + 1
        return int(((x * speeds + vx + self.fastest) * self.side + y) * speeds + vy + self.fastest)

    def cells(self, numbers: Any) -> Array:
        """Return x, y, vx and vy of numbered cells, int32 [n, 4]."""
        speeds = 2 * self.fastest + 1
        rest, vy = np.divmod(np.asarray(numbers, dtype=np.int64), speeds)
        rest, y = np.divmod(rest, self.side)
        x, vx = np.divmod(rest, speeds)
        return np.stack([x, y, vx - self.fastest, vy - self.fastest], axis=-1).astype(np.int32)

    def rest_numbers(self) -> Array:
        """Return the numbers of all cells where the point is at rest, within reach and in no disc."""
        free = self.within_reach.copy()
        for disc in self.discs:
            free &= ~self.reach(disc)
        speeds, (x, y) = 2 * self.fastest + 1, np.nonzero(free)
        return (((x * speeds + self.fastest) * self.side + y) * speeds + self.fastest).astype(np.uint32)

    @cached_property
    def table(self) -> TableWorld:
        """The same world as a table."""
        speeds, fastest = 2 * self.fastest + 1, self.fastest
        x, vx, y, vy = np.indices((self.side, speeds, self.side, speeds), dtype=np.int32, sparse=True)
        along_x, along_y = self._slide(self.is_open), self._slide(self.is_open.T)
        shape = self.side, speeds, self.side, speeds
        next_s = np.empty((*shape, len(FORCES)), dtype=np.uint32)
        for action, (fx, fy) in enumerate(FORCES):
            i, j = (np.clip(v + force, 0, speeds - 1) for v, force in ((vx, fx), (vy, fy)))
            x_next, vx_next = along_x[0][x, i, y], along_x[1][x, i, y]
            y_next, vy_next = along_y[0][y, j, x_next], along_y[1][y, j, x_next]
            next_s[..., action] = ((x_next * speeds + vx_next + fastest) * self.side + y_next) * speeds
            next_s[..., action] += (vy_next + fastest).astype(np.uint32)
        labels: dict[int, list[str]] = {}
        for name in sorted({disc.name for disc in self.discs}):
            held = np.logical_or.reduce([self.reach(disc) for disc in self.discs_of(name)])
            for s in np.flatnonzero(np.broadcast_to(held[:, None, :, None], shape)).tolist():
                labels.setdefault(s, []).append(name)
        start = self.number(*self.start, *self.velocity)
        return TableWorld(next_s.reshape(-1, len(FORCES)), labels, start, names=POINT_ACTIONS, source=self.source)

    def _slide(self, is_open: Array) -> tuple[Array, Array]:
        """Return where a point comes to along the first axis of places, and its velocity then.

        Both are int32 [place, velocity + fastest, place across].
        """
        shape = self.side, 2 * self.fastest + 1, self.side
        at, velocity, across = (index.copy() for index in np.indices(shape, dtype=np.int32))
        velocity -= self.fastest
        for k in range(1, self.fastest + 1):
            ahead = at + np.sign(velocity)
            is_free = (ahead >= 0) & (ahead < self.side)
            is_free[is_free] = is_open[ahead[is_free], across[is_free]]
            goes = np.abs(velocity) >= k
            at = np.where(goes & is_free, ahead, at)
            velocity[goes & ~is_free] = 0
        return at, velocity

    @classmethod
    def generate(cls, seed: int = 0, setup: str = "1a1b1c", side: int = 101, walls: int = 0) -> Self:
        """Return a world with discs, and walls, at random places; the same seed gives the same world on every machine.

        The point begins at rest in the middle. The radius of discs is 6 % of the side; no two of them overlap, none
        holds the start, and walls leave a way to all of them.

        Parameters
        ----------
        seed : int
            Of all draws.
        setup : str
            Counts and names of discs, as in ``2a1b``.
        side : int
            Places along each axis.
        walls : int
            How many walls there are.

        Raises
        ------
        MapError
            When there is no room for all of them.

        Examples
        --------
        >>> PointMass.generate(seed=3, setup="2a", side=21).discs
        (Disc(name='a', x=4, y=15, radius=1), Disc(name='a', x=12, y=9, radius=1))
        """
        check_whole("seed", seed, 0, 2**64 - 1)
        check_whole("side", side, *SIDES)
        check_whole("walls", walls, 0, MOST_SHAPES)
        source = f"<{write_point_recipe(setup, side, walls)} seed {seed}>"
        draw, radius, middle = draw_uniform(f"point/{setup}/{side}/{seed}"), max(1, round(0.06 * side)), side // 2
        discs: list[Disc] = []
        for name in [letter for letter, count in parse_setup(setup) for _ in range(count)]:
            for _ in range(MAX_ATTEMPTS):
                x, y = (radius + int(next(draw) * (side - 2 * radius)) for _ in range(2))
                others = [((middle, middle), 0), *((disc[1:3], disc.radius) for disc in discs)]
                if all(math.dist((x, y), place) > radius + other + 1 for place, other in others):
                    break
            else:
                raise MapError(f"{source}: no room for disc {len(discs) + 1}; take fewer discs or a larger side")
            discs.append(Disc(name, x, y, radius))
        world = cls(tuple(discs), (middle, middle), side=side, source=source)
        draw = draw_uniform(f"point/{setup}/{side}/{seed}/walls")  # discs are where they are without walls
        for _ in range(walls):
            for _ in range(MAX_ATTEMPTS):
                long, thick = (max(1, round(share * side)) for share in (0.15 + 0.25 * next(draw), 0.04))
                wide, high = (long, thick) if next(draw) < 0.5 else (thick, long)
                left, bottom = (int(next(draw) * (side - size + 1)) for size in (wide, high))
                block = Block(left, bottom, left + wide - 1, bottom + high - 1)
                if (found := world._with_wall(block)) is not None:
                    world = found
                    break
            else:
                raise MapError(f"{source}: no room for wall {len(world.walls) + 1}; take fewer walls")
        return world

    def _with_wall(self, block: Block) -> Self | None:
        """Return the world with another wall; None if that covers the start, a disc or a wall, or cuts places off."""
        places = np.zeros_like(self.is_open)
        places[block.left : block.right + 1, block.bottom : block.top + 1] = True
        is_taken = np.logical_or.reduce([~self.is_open, *map(self.reach, self.discs)])
        if places[self.start] or (places & is_taken).any():
            return None
        try:
            world = replace(self, walls=(*self.walls, block))
        except MapError:
            return None
        return world if bool((world.within_reach == world.is_open).all()) else None

    def to_json(self) -> str:
        """Return the world as the text of a file that `load` reads; worlds that are equal have equal texts."""
        table = {
            "side": self.side, "fastest": self.fastest, "start": list(self.start), "velocity": list(self.velocity),
            "discs": [list(disc) for disc in self.discs], "walls": [list(block) for block in self.walls],
        }  # fmt: skip
        return json.dumps({KEY: table}) + "\n"

    def save(self, path: str | Path) -> None:
        """Write the world to a file; raise MapError where that cannot be written."""
        replace_file(path, self.to_json().encode(), MapError)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a world that `save` wrote; nothing in the file is executed."""
        return cls.parse(read_text(check_path(path, MapError), MapError), printable(str(path)))

    @classmethod
    def parse(cls, text: str, source: str = "<text>") -> Self:
        """Read a world from the text of `to_json`."""
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as problem:
            raise MapError(f"{source}: not JSON: {problem}") from None
        table = found.get(KEY) if isinstance(found, dict) and len(found) == 1 else None
        keys = ("side", "fastest", "start", "velocity", "discs", "walls")
        if not isinstance(table, dict) or not {*table} <= {*keys} or "discs" not in table:
            raise MapError(f'{source}: expected {{"{KEY}": {{"discs": ...}}}} and no keys but {", ".join(keys)}')
        return cls(**table, source=source)

    def __repr__(self) -> str:
        names = dict.fromkeys(disc.name for disc in self.discs)
        discs = ", ".join(f"{len(self.discs_of(name))} {name}" for name in names)
        walls = f", {len(self.walls)} walls" if self.walls else ""
        return f"<PointMass {self.source}: {self.side} x {self.side} places, top speed {self.fastest}, {discs}{walls}>"


def _is_whole(value: object, low: float = -math.inf, high: float = math.inf) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _are_whole(values: object, count: int, low: int, high: int) -> bool:
    return isinstance(values, tuple) and len(values) == count and all(_is_whole(value, low, high) for value in values)


def _read_tuple(value: Any, kind: type[Disc] | type[Block] | None) -> Any:
    """Return a list as a tuple, its rows as discs or blocks; what is none is left for the checks."""
    if not isinstance(value, list | tuple):
        return value
    if kind is None:
        return tuple(value)
    fits = [isinstance(row, list | tuple) and len(row) == len(kind._fields) for row in value]
    return tuple(kind(*row) if is_row else row for row, is_row in zip(value, fits, strict=True))
