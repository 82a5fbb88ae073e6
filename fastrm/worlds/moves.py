"""The four actions, the moves that a map allows, and the steps from cell to cell."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from fastrm.worlds.tiles import WALL, Cell, Fence

Tiles = npt.NDArray[np.uint8]

ACTIONS = ("up", "right", "down", "left")
"""Clockwise: a move that slips goes to a neighbour in this circle."""
OFFSETS = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""What each action adds to row and column."""
UP, RIGHT, DOWN, LEFT = range(len(ACTIONS))
MOST_ACTIONS = 16
"""Actions of a world that is not a grid."""


def flat_offsets(width: int) -> tuple[int, ...]:
    """Return what each action adds to the number of a cell, cells being numbered row by row."""
    return tuple(row * width + column for row, column in OFFSETS)


def cells_where(mask: npt.NDArray[np.bool_]) -> list[Cell]:
    """Return the marked cells of a map in reading order."""
    rows, columns = np.nonzero(mask)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def passable(tiles: Tiles, fences: Iterable[Fence]) -> npt.NDArray[np.bool_]:
    """Return for every ``[row, column, action]`` whether the move leads to another cell."""
    floor = tiles != ord(WALL)
    moves = np.zeros((*tiles.shape, len(ACTIONS)), dtype=np.bool_)
    moves[1:, :, UP] = floor[:-1]
    moves[:, :-1, RIGHT] = floor[:, 1:]
    moves[:-1, :, DOWN] = floor[1:]
    moves[:, 1:, LEFT] = floor[:, :-1]
    moves &= floor[:, :, None]
    for (row, column), there in fences:
        forth, back = (DOWN, UP) if there[0] > row else (RIGHT, LEFT)
        moves[row, column, forth] = moves[there][back] = False
    return moves


def steps_from(cell: Cell, moves: npt.NDArray[np.bool_], limit: int = -1) -> npt.NDArray[np.int64]:
    """Return the fewest steps from a cell to every other, -1 where there is no path within the limit."""
    height, width, n_actions = moves.shape
    flat, offsets = moves.reshape(-1, n_actions), flat_offsets(width)
    steps = np.full(height * width, -1)
    frontier, length = np.array([cell[0] * width + cell[1]]), 0
    steps[frontier] = 0
    while frontier.size and length != limit:
        length += 1
        reached = np.concatenate([frontier[flat[frontier, a]] + offsets[a] for a in range(n_actions)])
        frontier = np.unique(reached[steps[reached] < 0])
        steps[frontier] = length
    return steps.reshape(height, width)


def all_in_reach(goals: Iterable[Cell], moves: npt.NDArray[np.bool_]) -> bool:
    """Return whether all goals can be reached from the centre."""
    steps = steps_from((len(moves) // 2, len(moves) // 2), moves)
    return all(steps[goal] >= 0 for goal in goals)
