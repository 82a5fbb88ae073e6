"""Layouts of generated maps: where start and objects stand."""

from __future__ import annotations

import hashlib

import numpy as np

from fastrm.fences import FLOOR, START, WALL
from fastrm.reach import Tiles


def place_objects(letters: str, size: int, key: str) -> Tiles:
    """Return the ASCII codes of a square map with the start in the centre and objects at random."""
    tiles = np.full((size, size), ord(WALL), dtype=np.uint8)
    tiles[1:-1, 1:-1] = ord(FLOOR)
    inner, centre = size - 2, size // 2 - 1
    tiles[size // 2, size // 2] = ord(START)
    for letter, spot in zip(letters, _sample(key, len(letters), inner * inner - 1), strict=True):
        row, column = divmod(spot + (spot >= centre * inner + centre), inner)
        tiles[row + 1, column + 1] = ord(letter)
    return tiles


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
