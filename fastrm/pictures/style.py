"""Colours that colour-blind readers tell apart (Okabe and Ito, and three more), the same in all pictures."""

from __future__ import annotations

OBJECT_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6D1F", "#666666", "#5E4FA2")
"""One per type of object, in alphabetical order."""


def object_colour(k: int) -> str:
    """Return the colour of the k-th type of object."""
    return OBJECT_COLOURS[k % len(OBJECT_COLOURS)]


def rgb(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue of a colour.

    >>> rgb("#0072B2")
    (0, 114, 178)
    """
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
