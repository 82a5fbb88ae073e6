"""Which moves a map allows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from fastrm.fences import WALL, Fence

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
