"""Tiles of Water world: which of them a state lies in, and where their weights are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastrm.kernels._jit import part
from fastrm.kernels.water import N_PUSHES


# fmt: off
class Tilings(NamedTuple):
    """Which tiles a state lies in. Of the two sets of features only one is in use; the other's arrays are empty.

    *Memory* (`is_sight` false): tile k is ``x[k, x_state] + y[k, y_state] + t[k, time]``, the same for all machine
    states. *Sight*: for every machine state, and every group of colours that it looks at, tiles of offset and relative
    velocity of the nearest ball: ``floor((value + shift) / width)``.
    """

    is_sight: bool
    x:        np.ndarray  # int64   [K, n_x]
    y:        np.ndarray  # int64   [K, n_y]
    t:        np.ndarray  # int64   [K, T + 1]
    groups:   np.ndarray  # int64   [n_u, n_g]         a bit per colour; 0 where a state has fewer groups
    base:     np.ndarray  # int64   [n_u, n_g, n_k]    number of the first tile of a tiling
    width:    np.ndarray  # float64 [n_k, 2]           of offsets, of velocities
    shift:    np.ndarray  # float64 [n_k, 2]
    sides:    np.ndarray  # int64   [n_k, 2]           tiles along an offset, along a velocity
    count:    np.ndarray  # int64   [n_u]              K of every machine state
    n_tiles:  int
# fmt: on


@part
def _row(me, state, tile, size, is_new):
    """Return the first weight of a tile's row; a tile that has none gets a new one, or row 0 if it may not."""
    row = np.int64(state.row_of[tile])
    if row == 0 and is_new:
        me["rows"] += 1
        row = me["rows"]
        state.row_of[tile] = row
    return row * size


@part
def _look(physics, t, x, y, sees):
    """Overwrite `sees` with what the agent sees of every ball."""
    for b in range(physics.colour.size):
        dx, dy = physics.balls[t, b, 0] - physics.x[x, 0], physics.balls[t, b, 1] - physics.y[y, 0]
        sees[b, 0], sees[b, 1] = dx, dy
        sees[b, 2], sees[b, 3] = physics.balls[t, b, 2] - physics.x[x, 1], physics.balls[t, b, 3] - physics.y[y, 1]
        sees[b, 4] = dx * dx + dy * dy


@part
def find_rows(setting, me, state, t, x, y, rows, is_new):
    """Overwrite `rows` with the first weights of all tiles that a state lies in, for every machine state."""
    tilings, n_u = setting.tilings, setting.machines.n_u
    if not tilings.is_sight:
        for k in range(tilings.x.shape[0]):
            tile = tilings.x[k, x] + tilings.y[k, y] + tilings.t[k, t]
            row = _row(me, state, tile, n_u * N_PUSHES, is_new)
            for u in range(n_u):
                rows[u, k] = row + u * N_PUSHES
        return
    _look(setting.physics, t, x, y, state.sees)
    sees = state.sees
    for u in range(n_u):
        n = 0
        for g in range(tilings.groups.shape[1]):
            colours = tilings.groups[u, g]
            if colours == 0:
                continue
            nearest, least = -1, np.inf
            for b in range(setting.physics.colour.size):
                if colours >> setting.physics.colour[b] & 1 and sees[b, 4] < least:
                    nearest, least = b, sees[b, 4]
            for k in range(tilings.width.shape[0]):
                tile = np.int64(0)
                for j in range(4):
                    value = (sees[nearest, j] + tilings.shift[k, j >> 1]) / tilings.width[k, j >> 1]
                    tile = tile * tilings.sides[k, j >> 1] + np.int64(np.floor(value))
                rows[u, n] = _row(me, state, tilings.base[u, g, k] + tile, N_PUSHES, is_new)
                n += 1
