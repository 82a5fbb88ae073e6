"""Water world: an agent and coloured balls in a box, all of them discs that pass through each other.

Balls move in straight lines and bounce off the walls; the agent is pushed up, right, down or left. A move adds `PUSH`
to a component of the agent's velocity, clips it to `FASTEST`, and moves everything by `PACE` times its velocity. A disc
that reaches beyond a wall is put against it and its velocity reversed.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

from fastrm.checks import check_whole
from fastrm.errors import ConfigError, MapError, did_you_mean, printable, shown
from fastrm.textfile import check_path, read_text

COLOURS = ("a", "b", "c", "d", "e", "f")
WATER_ACTIONS = ("none", "up", "right", "down", "left")
PUSHES = ((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0))
"""By action: in which direction of x and y the agent is pushed; y grows upwards."""
PUSH, FASTEST, PACE, BALL_SPEED = 30.0, 90.0, 0.1, 30.0
SIDE, RADIUS = 400.0, 15.0
MAX_BALLS, MAX_SIDE = 16, 10_000.0
WATER_LIMIT = 600
"""Steps after which an episode is cut off."""

Point = tuple[float, float]

_KEYS = ("agent", "balls", "side", "radius")


class Ball(NamedTuple):
    """A ball at the beginning of an episode."""

    colour: str
    position: Point
    velocity: Point


@dataclass(frozen=True)
class WaterWorld:
    """A box with an agent and coloured balls, as an episode begins.

    Make one with `load` or `generate`, and a problem of it with `fastrm.compile`.

    Raises
    ------
    MapError
        When it is no world: borders that overlap, balls outside, unknown colours, numbers that are none.

    Examples
    --------
    >>> world = WaterWorld.generate(seed=3)
    >>> world
    <WaterWorld <water seed 3>: 12 balls, 2 a, 2 b, 2 c, 2 d, 2 e, 2 f>
    >>> WaterWorld.parse(world.to_json()) == world
    True
    """

    agent: Point
    """Where the agent begins."""
    balls: tuple[Ball, ...]
    """The balls, at most 16."""
    velocity: Point = (0.0, 0.0)
    """The agent's velocity at the beginning: multiples of 30, at most 90."""
    side: float = SIDE
    """Side of the box."""
    radius: float = RADIUS
    """Radius of the agent and of every ball."""
    name: str = field(default="water", compare=False)
    """What the world is called in a file."""
    source: str = field(default="<water>", compare=False)
    """Where it came from, for messages."""

    def __post_init__(self) -> None:
        for fault in self._faults():
            raise MapError(f"{self.source}: {fault}")

    def _faults(self) -> Iterator[str]:
        """Yield what is wrong with the world."""
        for name, value in (("side", self.side), ("radius", self.radius)):
            if not _is_number(value) or not 0 < value <= MAX_SIDE:
                yield f"{name} {shown(value)}: must be a number above 0 and at most {MAX_SIDE:g}"
                return
        if 2 * self.radius >= self.side:
            yield (
                f"radius {self.radius:g} in a box of side {self.side:g}: the borders overlap; the side must be more "
                "than twice the radius"
            )
        yield from self._odd_point("the agent", "position", self.agent, 0.0, self.side)
        allowed = tuple(k * PUSH for k in range(-3, 4))
        if not _is_point(self.velocity) or any(v not in allowed for v in self.velocity):
            yield f"velocity {shown(self.velocity)}: both parts must be one of {', '.join(f'{v:g}' for v in allowed)}"
        if not isinstance(self.balls, tuple) or not 1 <= len(self.balls) <= MAX_BALLS:
            yield f"must have 1 to {MAX_BALLS} balls"
            return
        fastest = (self.side - 2 * self.radius) / PACE
        for i, ball in enumerate(self.balls):
            if not isinstance(ball, Ball) or ball.colour not in COLOURS:
                colour = ball.colour if isinstance(ball, Ball) else ball
                near = did_you_mean(colour, COLOURS) if isinstance(colour, str) else ""
                yield f"ball {i}: unknown colour {shown(colour)}{near}; use one of {', '.join(COLOURS)}"
                return
            yield from self._odd_point(f"ball {i}", "position", ball.position, 0.0, self.side)
            yield from self._odd_point(f"ball {i}", "velocity", ball.velocity, -fastest, fastest)

    def _odd_point(self, who: str, what: str, point: object, low: float, high: float) -> Iterator[str]:
        if not _is_point(point):
            yield f"{who}: {what} {shown(point)}: must be two finite numbers"
        elif not all(low <= value <= high for value in point):  # type: ignore[attr-defined]
            yield f"{who}: {what} {shown(point)}: both must be from {low:g} to {high:g}"

    @classmethod
    def load(cls, path: str | Path, world: str | None = None, velocity: Point = (0.0, 0.0)) -> Self:
        """Read a world from a JSON file.

        Parameters
        ----------
        path : str or Path
            A file of one or more worlds by name; see `to_json`.
        world : str, optional
            Which of them, such as ``"M3"``; may be left out where the file holds one.
        velocity : pair of float
            The agent's velocity at the beginning.

        Raises
        ------
        MapError
            When the file cannot be read, has no such world, or the world is none.
        """
        return cls.parse(read_text(path, MapError), world, velocity, printable(str(path)))

    @classmethod
    def parse(cls, text: str, world: str | None = None, velocity: Point = (0.0, 0.0), source: str = "<text>") -> Self:
        """Read a world from JSON text; see `load`."""
        worlds = _read_worlds(text, source)
        names = [printable(name) for name in worlds]
        if world is None and len(worlds) > 1:
            raise MapError(f"{source}: holds {len(worlds)} worlds; name one of {', '.join(names)}")
        name = next(iter(worlds)) if world is None else world
        if not isinstance(name, str) or name not in worlds:
            near = did_you_mean(name, names) if isinstance(name, str) else ""
            raise MapError(f"{source}: no world {shown(name)}{near}; it has {', '.join(names)}")
        where = f"{source} {printable(name)}"
        return cls(**_read_world(worlds[name], where), velocity=_pair(velocity), name=name, source=where)

    @classmethod
    def names(cls, path: str | Path) -> tuple[str, ...]:
        """Return the names of the worlds in a file."""
        return tuple(_read_worlds(read_text(path, MapError), printable(str(path))))

    @classmethod
    def generate(cls, seed: int = 0, velocity: Point = (0.0, 0.0)) -> Self:
        """Return a world like the reference's: an agent at rest, two balls of each colour, none of them in touch.

        Positions are uniform in the box, directions of balls uniform. The same seed gives the same world on every
        machine.

        >>> WaterWorld.generate(seed=3).balls[0].colour
        'a'
        """
        check_whole("seed", seed, 0, 2**64 - 1)
        draw = draw_uniform(f"water/{seed}")
        low, high = RADIUS, SIDE - RADIUS
        agent = low + (high - low) * next(draw), low + (high - low) * next(draw)
        balls = []
        for colour in COLOURS:
            for _ in range(2):
                place = agent
                while math.dist(place, agent) <= 4 * RADIUS:
                    place = low + (high - low) * next(draw), low + (high - low) * next(draw)
                balls.append(Ball(colour, place, _direction(draw)))
        source = f"<water seed {seed}>"
        return cls(agent=agent, balls=tuple(balls), velocity=_pair(velocity), name=f"seed{seed}", source=source)

    def to_json(self) -> str:
        """Return the world as the text of a file that `load` reads; the velocity at the start is not part of it."""
        balls = [{"colour": b.colour, "position": list(b.position), "velocity": list(b.velocity)} for b in self.balls]
        table: dict[str, Any] = {"agent": list(self.agent), "balls": balls}
        if (self.side, self.radius) != (SIDE, RADIUS):
            table |= {"side": self.side, "radius": self.radius}
        return json.dumps({self.name: table}, indent=1) + "\n"

    def save(self, path: str | Path) -> None:
        """Write the world to a file.

        Raises
        ------
        MapError
            When the file cannot be written.
        """
        try:
            Path(check_path(path, MapError)).write_text(self.to_json(), encoding="utf-8")
        except OSError as problem:
            raise MapError(f"{printable(str(path))}: cannot be written: {problem.strerror or problem}") from None

    def __repr__(self) -> str:
        counts = {colour: sum(ball.colour == colour for ball in self.balls) for colour in COLOURS}
        colours = ", ".join(f"{count} {colour}" for colour, count in counts.items() if count)
        return f"<WaterWorld {self.source}: {len(self.balls)} balls, {colours}>"


def check_water(world: object) -> WaterWorld:
    """Return a water world; raise ConfigError for anything else."""
    if not isinstance(world, WaterWorld):
        raise ConfigError(f"world={shown(world)}: must be a WaterWorld, or a file such as worlds.json:M3")
    return world


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_point(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(map(_is_number, value))


def _pair(value: Any) -> Any:
    """Return a pair of floats; what is none is left for the check."""
    pair = tuple(value) if isinstance(value, list) else value
    return tuple(map(float, pair)) if _is_point(pair) else value


def _read_worlds(text: str, source: str) -> dict[str, Any]:
    """Return what a file says of its worlds, by name."""
    try:
        worlds = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as problem:
        raise MapError(f"{source}: not JSON: {problem}") from None
    if not isinstance(worlds, dict) or not worlds:
        raise MapError(f'{source}: expected worlds by name, such as {{"M0": {{"agent": ..., "balls": ...}}}}')
    return worlds


def _refuse_constant(word: str) -> float:
    raise ValueError(f"{word} is not a number that a world can hold")


def _read_world(table: object, where: str) -> dict[str, Any]:
    """Return the fields of a world from its part of a file."""
    if not isinstance(table, Mapping):
        raise MapError(f"{where}: expected a table with agent and balls, found {shown(table)}")
    for key in table:
        if key not in _KEYS:
            near = did_you_mean(key, {*_KEYS} - table.keys())
            raise MapError(f"{where}: unknown key {shown(key)}{near}; it may have {', '.join(_KEYS)}")
    balls = table.get("balls")
    if "agent" not in table or not isinstance(balls, list):
        raise MapError(f"{where}: needs the keys agent and balls, a list")
    found = []
    for i, ball in enumerate(balls):
        if not isinstance(ball, Mapping) or set(ball) != {"colour", "position", "velocity"}:
            raise MapError(f"{where}: ball {i}: needs the keys colour, position and velocity, and no others")
        found.append(Ball(ball["colour"], _pair(ball["position"]), _pair(ball["velocity"])))
    sizes = {name: _float(table[name]) for name in ("side", "radius") if name in table}
    return {"agent": _pair(table["agent"]), "balls": tuple(found), **sizes}


def _float(value: Any) -> Any:
    return float(value) if _is_number(value) else value


def draw_uniform(key: str) -> Iterator[float]:
    """Yield numbers from 0 to below 1 that depend on a text alone."""
    count = 0
    while True:
        block = hashlib.blake2b(f"{key}/{count}".encode()).digest()
        for k in range(0, len(block), 8):
            yield (int.from_bytes(block[k : k + 8], "little") >> 11) * 2.0**-53
        count += 1


def _direction(draw: Iterator[float]) -> Point:
    """Return a velocity of a ball, its direction uniform; without functions that differ between machines."""
    while True:
        x, y = 2 * next(draw) - 1, 2 * next(draw) - 1
        length = math.sqrt(x * x + y * y)
        if 0.01 < length <= 1:
            return BALL_SPEED * (x / length), BALL_SPEED * (y / length)
