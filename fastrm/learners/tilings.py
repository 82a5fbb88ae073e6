"""Tiles of Water world: the two sets of features that linear learners choose from."""

from __future__ import annotations

import math

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_choice
from fastrm.errors import ConfigError
from fastrm.kernels.tilings import Tilings
from fastrm.problems import WaterProblem
from fastrm.worlds import COLOURS, FASTEST, PUSH, WATER_LIMIT

FEATURE_SETS = ("memory", "sight")
SPACE_WIDTHS = (80, 80, 40, 40, 20, 20, 10, 10)
TIME_WIDTHS = (16, 16, 8, 8, 4, 4, 2, 2)
LATEST = 100
"""Memory: widths of positions and of time, and up to when time counts. Every second tiling is shifted by half."""
OFFSET_WIDTHS, SPEED_WIDTH = (160, 80, 40, 20), 60
"""Sight: widths of offsets, and of relative velocities."""
MAX_TILES = 1 << 31


def lay_tiles(problem: WaterProblem, features: str) -> Tilings:
    """Return the tiles of a set of features.

    Raises
    ------
    ConfigError
        When there is no such set, or a world so large that it has too many tiles.
    """
    check_choice("features", features, FEATURE_SETS)
    tilings = _remember(problem) if features == "memory" else _see(problem)
    if tilings.n_tiles > MAX_TILES:
        raise ConfigError(f"features={features!r}: {tilings.n_tiles} tiles; take a smaller box")
    for array in tilings:
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    return tilings


def _remember(problem: WaterProblem) -> Tilings:
    """Tile positions, velocities and time."""
    physics, n_k = problem.physics, len(SPACE_WIDTHS)
    x, y = (np.zeros((n_k, len(axis)), dtype=np.int64) for axis in (physics.x, physics.y))
    time = np.zeros((n_k, WATER_LIMIT + 1), dtype=np.int64)
    speeds = round(2 * FASTEST / PUSH) + 1
    at = np.minimum(np.arange(WATER_LIMIT + 1), LATEST)
    base = 0
    for k, (space, span) in enumerate(zip(SPACE_WIDTHS, TIME_WIDTHS, strict=True)):
        shift, late = (space / 2, span / 2) if k % 2 else (0.0, 0.0)
        side = math.floor((problem.world.side + shift) / space) + 1
        times, kinds = math.floor((LATEST + late) / span) + 1, speeds if k else 1
        # tiles are numbered by x, y, speed along x, speed along y, time, the last changing fastest
        x[k] = _axis(physics.x, space, shift, side * kinds * kinds * times, kinds * times, k)
        y[k] = _axis(physics.y, space, shift, kinds * kinds * times, times, k)
        time[k] = base + np.floor((at + late) / span).astype(np.int64)
        base += side * side * kinds * kinds * times
    nothing = np.zeros((0, 0), dtype=np.int64)
    count = np.full(problem.tables.n_u, n_k, dtype=np.int64)
    empty = np.zeros((0, 2))
    return Tilings(
        False, x, y, time, nothing, nothing.reshape(0, 0, 0), empty, empty, nothing.reshape(0, 2), count, base
    )


def _axis(states: Array, space: float, shift: float, place_stride: int, speed_stride: int, k: int) -> Array:
    place = np.floor((states[:, 0] + shift) / space).astype(np.int64)
    speed = np.rint((states[:, 1] + FASTEST) / PUSH).astype(np.int64) if k else np.zeros(len(states), dtype=np.int64)
    return place * place_stride + speed * speed_stride


def _see(problem: WaterProblem) -> Tilings:
    """Tile what is seen of the nearest ball of each colour that a machine state wants, and of any other colour."""
    present = {ball.colour for ball in problem.world.balls}
    groups: list[list[int]] = []
    for wanted in problem.wanted:
        looks = [1 << COLOURS.index(colour) for colour in wanted]
        rest = sum(1 << COLOURS.index(colour) for colour in present - set(wanted))
        groups.append(looks + ([rest] if rest else []))
    most, n_k = max(map(len, groups)), len(OFFSET_WIDTHS)
    width = np.array([(offset, SPEED_WIDTH) for offset in OFFSET_WIDTHS], dtype=np.float64)
    farthest = np.array([problem.world.side, FASTEST + np.abs(problem.physics.balls[..., 2:]).max()])
    lowest = np.ceil(farthest / width) * width  # so that no tile has a negative number
    shift = lowest + np.where(np.arange(n_k)[:, None] % 2, width / 2, 0.0)
    sides = np.floor((farthest + shift) / width).astype(np.int64) + 1
    size = (sides[:, 0] * sides[:, 1]) ** 2
    base = np.zeros((len(groups), most, n_k), dtype=np.int64)
    table, next_tile = np.zeros((len(groups), most), dtype=np.int64), 0
    for u, looks in enumerate(groups):
        for g, colours in enumerate(looks):
            table[u, g] = colours
            for k in range(n_k):
                base[u, g, k] = next_tile
                next_tile += int(size[k])
    count = np.array([len(looks) * n_k for looks in groups], dtype=np.int64)
    empty = np.zeros((0, 0), dtype=np.int64)
    return Tilings(True, empty, empty, empty, table, base, width, shift, sides, count, next_tile)
