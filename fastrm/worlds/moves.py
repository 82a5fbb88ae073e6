"""Which moves a map allows, and how many steps lead from cell to cell."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from fastrm.worlds.fences import WALL, Cell, Fence

Tiles = npt.NDArray[np.uint8]


def passable(tiles: Tiles, fences: Iterable[Fence]) -> npt.NDArray[np.bool_]:
    """Tell for every ``[row, column, action]`` whether the move (up, right, down, left) leads to another cell."""
    floor = tiles != ord(WALL)
    moves = np.zeros((*tiles.shape, 4), dtype=np.bool_)
    moves[1:, :, 0] = floor[:-1]
    moves[:, :-1, 1] = floor[:, 1:]
    moves[:-1, :, 2] = floor[1:]
    moves[:, 1:, 3] = floor[:, :-1]
    moves &= floor[:, :, None]
    for (row, column), there in fences:
        forth, back = (2, 0) if there[0] > row else (1, 3)
        moves[row, column, forth] = moves[there][back] = False
    return moves


def steps_from(cell: Cell, moves: npt.NDArray[np.bool_], limit: int = -1) -> npt.NDArray[np.int64]:
    """Return the steps from a cell to every other, -1 where no way leads or it is longer than the limit."""
    height, width, _ = moves.shape
    flat, offsets = moves.reshape(-1, 4), (-width, 1, width, -1)
    steps = np.full(height * width, -1)
    frontier, length = np.array([cell[0] * width + cell[1]]), 0
    steps[frontier] = 0
    while frontier.size and length != limit:
        length += 1
        reached = np.concatenate([frontier[flat[frontier, a]] + offsets[a] for a in range(4)])
        frontier = np.unique(reached[steps[reached] < 0])
        steps[frontier] = length
    return steps.reshape(height, width)


def all_in_reach(goals: Iterable[Cell], moves: npt.NDArray[np.bool_]) -> bool:
    """Say whether ways lead from the centre to all goals."""
    steps = steps_from((len(moves) // 2, len(moves) // 2), moves)
    return all(steps[goal] >= 0 for goal in goals)
